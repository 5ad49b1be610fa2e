"""Turns errors into one line and a status; the only place that ends the process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from config.errors import ConfigError
from engines.errors import KveilError

__all__ = ["INTERRUPTED", "ending"]

INTERRUPTED = 130
_DEBUG = "KVEIL_DEBUG"


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
        if os.environ.get(_DEBUG):
            raise
        _say(
            f"internal error ({type(defect).__name__}); nothing was published under the final "
            f"name; set {_DEBUG}=1 to see where"
        )
        _leave(1)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupted() -> None:
    _say("interrupted; nothing was published under the final name")
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
