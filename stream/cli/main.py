"""The command `kveil`: one file per subcommand, other rooms' commands by entry point."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

import typer

from engines.errors import BackendMissing, import_failure
from stream.allocator import keep_memory_warm
from stream.cli.anonymize_command import anonymize
from stream.cli.bench_command import bench
from stream.cli.config_command import config_app
from stream.cli.demo_command import demo
from stream.cli.doctor_command import doctor
from stream.cli.exits import ending
from stream.cli.methods_command import methods
from stream.cli.models_command import models_app
from stream.cli.serve_command import serve
from stream.cli.stream_command import stream
from stream.cli.terminal import prepare_standard_streams
from stream.memory_dumps import forbid_memory_dumps

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
app.command()(methods)
app.command()(stream)
app.command()(serve)
app.add_typer(config_app, name="config")
app.add_typer(models_app, name="models")


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and end."),
) -> None:
    if version:
        typer.echo(f"kveil {metadata.version('kveil')}")
        raise typer.Exit


def _add_commands_of_other_rooms(words: Sequence[str]) -> None:
    """Adds what other rooms bring; they are imported only when asked for, or for the help."""
    asked = next((word for word in words if not word.startswith("-")), "")
    own = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    own |= {info.name or "" for info in app.registered_groups}
    if asked in own:
        return
    for entry in metadata.entry_points(group=_COMMANDS):
        if asked in ("", entry.name):
            _add(entry)


def _add(entry: metadata.EntryPoint) -> None:
    try:
        command = entry.load()
    except ImportError as fault:
        advice = f"`kveil {entry.name}` needs it; pip install 'kveil[evaluate,redis,serve]'"
        raise BackendMissing(import_failure(str(fault.name), advice, fault)) from None
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=entry.name)
    else:
        app.command(name=entry.name)(command)


def main() -> None:
    """Entry point of the console script."""
    forbid_memory_dumps()
    prepare_standard_streams()
    keep_memory_warm()
    with ending():
        _add_commands_of_other_rooms(sys.argv[1:])
        app()


if __name__ == "__main__":
    main()
