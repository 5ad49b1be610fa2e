"""`kveil bench`: the measured table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream.bench import measure_clip, table_of

__all__ = ["bench"]


def bench(
    clips: Annotated[
        list[Path] | None, typer.Argument(help="Clips; the demo clip where none is named.")
    ] = None,
    method: Annotated[str, typer.Option(help="What kveil does: solid, swap, …")] = "solid",
    deface: Annotated[bool, typer.Option(help="Run deface on the same clips too.")] = True,
    rounds: Annotated[int, typer.Option(help="Runs of each tool; medians are shown.")] = 1,
) -> None:
    """Measure kveil, deface and the codec floor on the same clips, in one run."""
    import tempfile

    from stream.demo_clip import write_demo_clip

    with tempfile.TemporaryDirectory(prefix="kveil-bench-") as folder:
        if not clips:
            clips = [Path(folder) / "demo.mp4"]
            write_demo_clip(clips[0])
        measures = []
        for clip in clips:
            typer.echo(f"measuring {clip.name}", err=True)
            measures.append(measure_clip(clip, method=method, with_deface=deface, rounds=rounds))
    typer.echo(table_of(measures))
