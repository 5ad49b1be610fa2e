"""`kveil demo`: a clip made and anonymized on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from config.loading import load_settings
from stream.cli.progress import progress_for
from stream.files.demo_clip import write_demo_clip

__all__ = ["demo"]


def demo(
    folder: Annotated[Path, typer.Option(help="Where the clips go.")] = Path("demo"),
    method: Annotated[str, typer.Option(help="swap, or a cover.")] = "swap",
) -> None:
    """Make a clip with a real face, anonymize it, show the report and where to look."""
    from stream.files.contact_sheet import save_before_after
    from stream.files.file_runs import run_files

    folder.mkdir(parents=True, exist_ok=True)
    clip, result, report = folder / "clip.mp4", folder / "anonymized.mp4", folder / "report.json"
    write_demo_clip(clip)
    with progress_for(False) as progress:
        run_files(
            [clip],
            result,
            load_settings(flags={"method": method}),
            overwrite=True,
            resume=False,
            report_path=report,
            progress=progress,
        )
    picture = folder / "before-after.png"
    save_before_after(clip, result, picture)
    typer.echo(report.read_text(encoding="utf-8"))
    typer.echo(f"before  {clip}\nafter   {result}\npicture {picture}\nreport  {report}")
