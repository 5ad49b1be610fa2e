"""`kveil doctor`: which hardware, engines and codecs are used, and why not others."""

from __future__ import annotations

import typer

from stream.diagnosis import diagnose

__all__ = ["doctor"]


def doctor() -> None:
    """Say what hardware, engines and codecs are used, and why not."""
    for line in diagnose():
        typer.echo(f"{line.topic:12} {line.state:8} {line.detail}")
