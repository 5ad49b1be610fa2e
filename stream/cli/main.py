"""The command `kveil`: one file per subcommand, other rooms' commands by entry point."""

from __future__ import annotations

from importlib import metadata

import typer

from stream.cli.anonymize_command import anonymize
from stream.cli.bench_command import bench
from stream.cli.config_command import config_app
from stream.cli.demo_command import demo
from stream.cli.doctor_command import doctor
from stream.cli.exits import ending
from stream.cli.models_command import models_app

__all__ = ["app", "main"]

_COMMANDS = "kveil.commands"

app = typer.Typer(
    name="kveil",
    help="Anonymizes faces in live and recorded video, fail-closed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(anonymize)
app.command()(doctor)
app.command()(bench)
app.command()(demo)
app.add_typer(config_app, name="config")
app.add_typer(models_app, name="models")


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and end."),
) -> None:
    if version:
        typer.echo(f"kveil {metadata.version('kveil')}")
        raise typer.Exit


def _add_commands_of_other_rooms() -> None:
    for entry in metadata.entry_points(group=_COMMANDS):
        command = entry.load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=entry.name)
        else:
            app.command(name=entry.name)(command)


def main() -> None:
    """Entry point of the console script."""
    with ending():
        _add_commands_of_other_rooms()
        app()


if __name__ == "__main__":
    main()
