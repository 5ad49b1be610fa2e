"""Walks a simulated crowd past a gallery as long as wanted: `python -m benchmarks.gallery_soak`.

Each walk has its own people, policy and scope; every step is checked by the oracle of
`gallery.simulation`, and the ledger is read back from its files at the end of each walk.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Annotated, get_args

import typer

from gallery.settings import Attributes, BelowK, Scope
from gallery.simulation import Crowd, Violation

__all__ = ["walk"]

_STEPS = 600


def walk(crowd: Crowd, dice: random.Random, steps: int, humans: int = 30) -> None:
    """Take random steps and check the ledger at the end.

    Args:
        crowd: whom to lead.
        dice: chooses the steps; the same dice and crowd give the same walk.
        steps: how many.
        humans: how many different people there are.

    Raises:
        Violation: a promise was broken.
    """
    for _ in range(steps):
        _step(crowd, dice, humans)
    crowd.check()


def _step(crowd: Crowd, dice: random.Random, humans: int) -> None:
    draw, in_view = dice.random(), crowd.in_view
    human, stream, is_poor = dice.randrange(humans), dice.choice("ab"), dice.random() < 0.25
    if draw < 0.4 or not in_view:
        crowd.arrive(human, stream, is_poor)
    elif draw < 0.7:
        crowd.leave(dice.choice(in_view))
    elif draw < 0.9:
        crowd.ask(dice.choice(in_view), is_poor)
    elif draw < 0.94:
        crowd.misread(human, stream)
    elif draw < 0.98:
        crowd.wait(dice.choice([0.1, 3.0, 12.0, 30.0, 900.0]))
    elif draw < 0.985:
        crowd.crash()
    elif draw < 0.99:
        crowd.rotate_keys()
    else:
        crowd.lose_store()


def main(
    minutes: Annotated[float, typer.Option(help="How long.")] = 60.0,
    seed: Annotated[int, typer.Option(help="First walk's seed.")] = 0,
) -> None:
    """Walk until the time is over; exit 6 at the first broken promise."""
    ends_at = time.monotonic() + 60.0 * minutes
    walks = steps = releases = 0
    while walks == 0 or time.monotonic() < ends_at:
        dice = random.Random(seed + walks)
        below_k: BelowK = dice.choice(get_args(BelowK))
        scope: Scope = dice.choice(get_args(Scope))
        with tempfile.TemporaryDirectory() as folder:
            k, attributes = dice.choice([2, 3, 5]), dice.choice(get_args(Attributes))
            crowd = Crowd(Path(folder), below_k, scope, k=k, seed=walks, attributes=attributes)
            try:
                walk(crowd, dice, _STEPS)
            except Violation as violation:
                typer.echo(f"seed {seed + walks}, {below_k}, {scope}: {violation}", err=True)
                raise typer.Exit(6) from None
            crowd.close()
        walks, steps, releases = walks + 1, steps + crowd.steps, releases + crowd.releases
    typer.echo(f"{walks} walks, {steps} steps, {releases} releases, 0 violations")


if __name__ == "__main__":
    typer.run(main)
