"""Says which layers hold identity: `python -m evaluation.reproduction.score_layers --help`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engines.backends.openvino import OpenVino
from evaluation.methods.generated import surrogates_from_pack
from evaluation.reproduction.styleid_sections import layer_section
from evaluation.reproduction.styleid_tables import window_rows

__all__ = ["score_layers"]


def score_layers(
    pack: Annotated[Path | None, typer.Option(help="Model pack; the bundled one.")] = None,
    longest: Annotated[int, typer.Option(min=1, help="Most layers in a window.")] = 4,
    pairs: Annotated[int, typer.Option(min=2, help="Pairs of synthetic people.")] = 12,
    output: Annotated[
        Path | None, typer.Option("-o", help="Also write the scores as JSON.")
    ] = None,
) -> None:
    """Prints StyleID's Figure 3a for a generator: Eq. 3 for every window of layers and blocks."""
    rows = window_rows(surrogates_from_pack(OpenVino(), pack), range(1, longest + 1), pairs)
    typer.echo(layer_section(rows))
    if output is not None:
        output.write_text(json.dumps([asdict(one) for one in rows], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(score_layers)
