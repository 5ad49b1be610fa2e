"""Turns errors into one line and a status; the only place that ends the process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType

from config.errors import ConfigError
from engines.errors import KveilError
from stream.cli.terminal import say
from stream.errors import DEBUG

__all__ = ["INTERRUPTED", "ending", "on_leaving"]

INTERRUPTED = 130
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def _no_file() -> str:
    return "nothing was published under the final name"


_LEFT: ContextVar[Callable[[], str]] = ContextVar("left_behind", default=_no_file)


def on_leaving(told: Callable[[], str]) -> None:
    """Says in other words what is left behind if the command is broken off.

    Commands that write files need not call this: without it, it is said that no output has its
    final name.

    Args:
        told: asked at the end, after the command has tidied up.
    """
    _LEFT.set(told)


@contextmanager
def ending() -> Iterator[None]:
    """Runs a command; a known error becomes one line on stderr and its exit status.

    SIGTERM and SIGHUP, as a closed terminal sends it, are treated like Ctrl-C; under `nohup`
    SIGHUP stays ignored. A network that hangs cannot be joined, so the process ends without
    waiting for its thread.
    """
    heard = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield
    except (KveilError, ConfigError) as error:
        _say(str(error))
        _leave(error.exit_code)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:  # the command framework turns Ctrl-C into this
        if end.code == INTERRUPTED:
            _interrupted()
        _flush_or_leave()
        raise
    except Exception as defect:  # a traceback can hold paths and values of people
        if os.environ.get(DEBUG):
            raise
        kind = type(defect).__name__
        _say(f"internal error ({kind}); {_LEFT.get()()}; set {DEBUG}=1 to see where")
        _leave(1)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupted() -> None:
    _say(f"interrupted; {_LEFT.get()()}")
    _leave(INTERRUPTED)


def _say(line: str) -> None:
    say(f"kveil: {' '.join(line.split())}")


def _leave(status: int) -> None:
    with suppress(KveilError, OSError, ValueError):
        sys.stdout.flush()
    os._exit(status)


def _flush_or_leave() -> None:
    """Writes what is left to stdout before the interpreter would, and fails as a command does."""
    try:
        sys.stdout.flush()
    except KveilError as error:
        _say(str(error))
        _leave(error.exit_code)
    except OSError:  # whoever read it has gone, and is told nothing
        _leave(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt
