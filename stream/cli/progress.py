"""Progress on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from stream.cli.terminal import say
from stream.file_names import shown
from stream.files.run_progress import UNWATCHED, RunProgress, Unwatched

__all__ = ["progress_for"]


class _Plain(Unwatched):
    """Lines without a bar, for logs."""

    def say(self, text: str) -> None:
        """One line on stderr."""
        say(text)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Frames per second of the current file."""
        return Text(f"{task.speed:.1f} fps" if task.speed else "", style="progress.data.speed")


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, visible=False)

    def begin(self, name: str, frames: int | None) -> None:
        """Restarts the bar for the next file."""
        self._bar.reset(self._task, total=frames, description=shown(name), visible=True)

    def advance(self, written: int) -> None:
        """Moves the bar."""
        self._bar.update(self._task, completed=written)

    def say(self, text: str) -> None:
        """One line above the bar."""
        self._bar.console.print(shown(text), highlight=False, soft_wrap=True, markup=False)


@contextmanager
def progress_for(quiet: bool) -> Iterator[RunProgress]:
    """A bar with fps and time left on a terminal, plain lines in a log, nothing if quiet."""
    if quiet:
        yield UNWATCHED
        return
    if not sys.stderr.isatty():
        yield _Plain()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar)
