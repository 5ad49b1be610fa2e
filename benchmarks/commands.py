"""`kveil bench`: the measured tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.clips import measure_clip, table_of

__all__ = ["bench"]


def bench(
    clips: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Clips; the demo clip where none is named.", exists=True, dir_okay=False
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="What kveil does: solid, swap, …; may be repeated. Where kveil swaps, deface "
            "blurs; else it covers solidly too.",
        ),
    ] = None,
    deface: Annotated[bool, typer.Option(help="Run deface on the same clips too.")] = True,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each tool; medians are shown.")] = 1,
    faces: Annotated[
        bool, typer.Option("--faces", help="Only what one swapped face costs, by step.")
    ] = False,
    crowd: Annotated[
        bool,
        typer.Option(
            "--crowd", help="Only how fast eight faces are swapped, by one process and by several."
        ),
    ] = False,
    networks: Annotated[
        bool,
        typer.Option(
            "--networks", help="Only what each network costs per face, in batches, and its gates."
        ),
    ] = False,
    as_service: Annotated[
        bool,
        typer.Option("--as-service", help="With --faces: under the memory settings of a service."),
    ] = False,
) -> None:
    """Measure kveil, deface and the codec floor on the same clips, in one run."""
    import tempfile

    from stream.files.demo_clip import write_demo_clip
    from stream.pipeline.methods import method_cover

    for one in method or []:
        method_cover(one)
    if faces:
        _faces(as_service)
        return
    if crowd:
        _crowd()
        return
    if networks:
        _networks()
        return
    with tempfile.TemporaryDirectory(prefix="kveil-bench-") as folder:
        if not clips:
            clips = [Path(folder) / "demo.mp4"]
            write_demo_clip(clips[0])
        measures = []
        for clip in clips:
            for one in method or ["solid"]:
                typer.echo(f"measuring {clip.name}, {one}", err=True)
                measures.append(measure_clip(clip, method=one, with_deface=deface, rounds=rounds))
    typer.echo(table_of(measures))


def _faces(as_service: bool) -> None:
    from benchmarks.calls import measure_face_calls
    from benchmarks.face import cost_table, measure_faces
    from config.loading import load_settings
    from stream.allocator import keep_memory_flat

    if as_service:
        keep_memory_flat()
    typer.echo(cost_table(measure_faces(load_settings())))
    typer.echo(measure_face_calls(load_settings()).told())


def _crowd() -> None:
    from benchmarks.crowd import crowd_table, measure_crowd
    from config.loading import load_settings

    typer.echo(crowd_table(measure_crowd(load_settings())))


def _networks() -> None:
    from benchmarks.networks import batch_speeds, batch_table, gates_told
    from config.loading import load_settings
    from engines.backends.choice import choose_backend

    settings = load_settings()
    choice = choose_backend(
        settings.detection.backend, settings.device, threads=settings.limits.threads
    )
    typer.echo(f"{choice.backend.name} {choice.backend.version} on {choice.backend.processor}")
    typer.echo(batch_table(list(batch_speeds(choice.backend))))
    for line in gates_told(choice.backend):
        typer.echo(line)
