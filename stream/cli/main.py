"""The command `kveil`: one file per subcommand, imported when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Final

import typer

from engines.errors import BackendMissing, import_failure
from stream.allocator import keep_memory_warm
from stream.array_threads import keep_arrays_on_one_thread
from stream.cli.exits import ending
from stream.cli.terminal import prepare_standard_streams
from stream.memory_dumps import forbid_memory_dumps

__all__ = ["add_commands", "app", "main"]

_OWN: Final = {
    "anonymize": "anonymize_command:anonymize",
    "doctor": "doctor_command:doctor",
    "demo": "demo_command:demo",
    "methods": "methods_command:methods",
    "stream": "stream_command:stream",
    "serve": "serve_command:serve",
    "config": "config_command:config_app",
    "models": "models_command:models_app",
}
"""Where this room's commands are."""
_OTHERS: Final = "kveil.commands"
"""Entry points by which other rooms bring theirs."""

app = typer.Typer(
    name="kveil",
    help="Anonymizes faces in live and recorded video, fail-closed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and end."),
) -> None:
    if version:
        typer.echo(f"kveil {metadata.version('kveil')}")
        raise typer.Exit


def add_commands(words: Sequence[str]) -> None:
    """Imports the command that is asked for and adds it to `app`; all of them for the help.

    Args:
        words: of the command line, without the program's name.

    Raises:
        BackendMissing: the command needs a package that is not installed.
    """
    asked = _asked(words)
    own = metadata.EntryPoints(
        metadata.EntryPoint(name, f"stream.cli.{place}", _OTHERS) for name, place in _OWN.items()
    )
    others = () if asked in _OWN else metadata.entry_points(group=_OTHERS)
    for entry in (*own, *others):
        if asked in ("", entry.name):
            _add(entry)


def _add(entry: metadata.EntryPoint) -> None:
    with _naming_what_is_absent(entry.name):
        command = entry.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=entry.name)
    else:
        app.command(name=entry.name)(command)


@contextmanager
def _naming_what_is_absent(command: str) -> Iterator[None]:
    """Says which package a command needs, and what installs it.

    Raises:
        BackendMissing: a package could not be imported.
    """
    try:
        yield
    except ImportError as fault:
        advice = f"`kveil {command}` needs it; pip install 'kveil[evaluate,redis,serve]'"
        raise BackendMissing(import_failure(str(fault.name), advice, fault)) from None


def _asked(words: Sequence[str]) -> str:
    """The command among the words of the command line; "" where there is none."""
    return next((word for word in words if not word.startswith("-")), "")


def main() -> None:
    """Entry point of the console script."""
    forbid_memory_dumps()
    prepare_standard_streams()
    keep_memory_warm()
    keep_arrays_on_one_thread()
    with ending():
        add_commands(sys.argv[1:])
        with _naming_what_is_absent(_asked(sys.argv[1:])):
            app()


if __name__ == "__main__":
    main()
