#!/usr/bin/env python3
"""How alike the surrogates of one scope are: `scripts/measure_resemblance.py MODELS`.

MODELS holds the recognisers. Surrogates are dealt as a gallery deals them, each is painted under
the control of another person held out of training, and pairs that a recogniser takes for one person
are counted: among the first hundred people of a scope, among more, and between those who come after
all donors have been dealt and the first surrogate of their main donor. Needs the crops of
`training.prepare`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from evaluation.reproduction.markdown import put_figures
from gallery.donors import DonorPopulation, read_donors, surrogate_latent
from gallery.secrets import KeyedRandom
from training.measure import RECOGNISERS, same_pairs
from training.shown import shown

Float32 = NDArray[np.float32]
PEOPLE = (100, 200, 400, 600, 900)
"""In a scope, of whom figures are told."""
AGAIN = 300
"""People who come after all donors have been dealt."""


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--secrets", type=int, default=3, help="scopes of which the mean is told")
    parser.add_argument("--doc", type=Path, help="page whose figures are replaced")
    chosen = parser.parse_args()
    pack = read_pack(bundled_pack())
    swapper, _ = swapper_from_pack(OpenVino(), pack.folder)
    shape, donors = load_shape_model(pack.path("shape.npz")), read_donors(pack.path("donors.npz"))
    scopes = [
        shown(swapper, shape, dealt(donors, secret), chosen.data, chosen.models, secret, 1).mean()
        for secret in range(chosen.secrets)
    ]
    names = list(RECOGNISERS)
    table = [f"| people of one scope | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    for people in sorted({*PEOPLE, len(donors)} - {n for n in PEOPLE if n > len(donors)}):
        first = slice(people)
        table.append(_row(f"{people}", [_pairs(scopes, name, first) for name in names]))
    last = slice(len(donors), len(donors) + AGAIN)
    table += [
        _row(f"{AGAIN} who come after", [_pairs(scopes, name, last) for name in names]),
        _row("each of them and whom he comes after", [_repeats(scopes, name) for name in names]),
    ]
    print("\n".join(table))
    if chosen.doc is not None:
        put_figures(chosen.doc, {"resemblance": "\n".join(table)})
    return 0


def dealt(donors: DonorPopulation, secret: int) -> Float32:
    """Latents of a scope, (donors + AGAIN, L, 512), in the order in which they are dealt."""
    keyed = KeyedRandom(secret.to_bytes(32), "resemblance")
    numbers = range(len(donors) + AGAIN)
    return np.stack([surrogate_latent(donors, keyed, number) for number in numbers])


def _pairs(scopes: Sequence[dict[str, Float32]], name: str, people: slice) -> float:
    limit = RECOGNISERS[name].threshold
    return float(np.mean([same_pairs(seen[name][people], limit) for seen in scopes]))


def _repeats(scopes: Sequence[dict[str, Float32]], name: str) -> float:
    """Share of those who come again who pass for the first surrogate of their main donor."""
    pairs = [(seen[name][:AGAIN], seen[name][-AGAIN:]) for seen in scopes]
    cosines = np.concatenate([(first * again).sum(axis=1) for first, again in pairs])
    return float((cosines > RECOGNISERS[name].threshold).mean())


def _row(name: str, shares: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{share:.2%}' for share in shares)} |"


if __name__ == "__main__":
    sys.exit(main())
