"""`kveil anonymize`: files, folders and images in, the same without identities out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from config.presets import Preset
from stream.cli.exits import on_leaving
from stream.cli.pairs import settings_from_command
from stream.cli.progress import progress_for

__all__ = ["anonymize"]


def _place(text: str) -> Path:
    """A path as it was given; nothing is no place, least of all the folder one is in."""
    if not text:
        raise typer.BadParameter("the name is empty; give a file or a folder")
    return Path(text)


def _output(text: str) -> Path:
    """The same of an output; a name that ends in a slash is a folder, made if need be."""
    place = _place(text)
    if text.endswith(os.sep):
        from stream.media.writing.partial_file import made_folder

        made_folder(place)
    return place


Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="Videos, images, or folders of them.",
        show_default=False,
        metavar="INPUTS",
        parser=_place,
    ),
]


def anonymize(
    inputs: Inputs,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="File, or folder for several inputs.",
            metavar="PATH",
            parser=_output,
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(help="swap, or a cover; `kveil methods` lists them."),
    ] = None,
    k: Annotated[int | None, typer.Option(help="People that share a cluster, at least.")] = None,
    below_k: Annotated[
        Literal["swap", "cover"] | None, typer.Option(help="While fewer people are known.")
    ] = None,
    preset: Annotated[
        Preset, typer.Option(help="Starting point for a kind of camera.")
    ] = "default",
    config: Annotated[Path | None, typer.Option(help="YAML file of settings.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of `kveil config keys`."),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None, typer.Option(help="Where networks run.")
    ] = None,
    audio: Annotated[Literal["copy", "drop"] | None, typer.Option(help="Keep the sound.")] = None,
    codec: Annotated[
        Literal["same", "h264", "hevc", "av1", "vp9", "vp8", "mjpeg"] | None,
        typer.Option(help="Coding of the pictures; `same` as the input's. h264 is the fastest."),
    ] = None,
    video_track: Annotated[
        str | None,
        typer.Option(
            "--video-track",
            help="Number of the video track, from 1; by default the one that players take.",
            metavar="N|default|all",
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report to this JSON file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace outputs.")] = False,
    keep_metadata: Annotated[
        bool, typer.Option("--keep-metadata", help="Keep titles, GPS, dates and chapters.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Work in segments; continue an interrupted run.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Status 6 where a privacy promise was not kept.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Anonymize every face in videos, images or folders of them."""
    from stream.files.file_runs import run_files

    flags: dict[str, object] = {
        "method": method,
        "privacy.k": k,
        "privacy.below_k": below_k,
        "device": device,
        "source.video_track": video_track,
        "output.audio": audio,
        "output.codec": codec,
        "output.keep_metadata": keep_metadata or None,
        "privacy.strict": strict or None,
    }
    kept = "what was finished stays, nothing unfinished has its final name"
    kept += "; the same command goes on with it" if resume else ""
    on_leaving(lambda: kept)
    chosen = settings_from_command(preset, config, flags, settings or [])
    with progress_for(quiet) as progress:
        run_files(
            inputs,
            output,
            chosen,
            overwrite=overwrite,
            resume=resume,
            report_path=report,
            progress=progress,
        )
