"""Turns errors into one line and a status; the only place that ends the process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from config.errors import ConfigError
from engines.errors import KveilError
from stream.errors import DEBUG

__all__ = ["INTERRUPTED", "ending", "on_leaving"]

INTERRUPTED = 130


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

    SIGTERM is treated like Ctrl-C. A network that hangs cannot be joined, so the process
    ends without waiting for its thread.
    """
    previous = signal.signal(signal.SIGTERM, _interrupt)
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
        raise
    except Exception as defect:  # a traceback can hold paths and values of people
        if os.environ.get(DEBUG):
            raise
        kind = type(defect).__name__
        _say(f"internal error ({kind}); {_LEFT.get()()}; set {DEBUG}=1 to see where")
        _leave(1)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupted() -> None:
    _say(f"interrupted; {_LEFT.get()()}")
    _leave(INTERRUPTED)


def _say(line: str) -> None:
    print(f"kveil: {' '.join(line.split())}", file=sys.stderr)  # noqa: T201


def _leave(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt
