"""`kveil methods`: what can be done with a face, and what does not protect."""

from __future__ import annotations

import typer

from engines.blending.covers import COVERS
from stream.pipeline.methods import SWAP

__all__ = ["methods"]


def methods() -> None:
    """List the methods; unsafe ones say why they do not stop recognition."""
    typer.echo(f"{SWAP:15} safe    a synthetic face that a cluster of people shares")
    for name in COVERS:
        warning = COVERS[name].warning
        typer.echo(f"{name:15} {'unsafe' if warning else 'safe':7} {warning}".rstrip())
