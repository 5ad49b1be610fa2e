"""Foreign exceptions are mapped at the border, all of them, and say what to do."""

from __future__ import annotations

import errno
import inspect

import av
import pytest

import stream.errors
from engines.errors import EngineFault, KveilError
from stream.errors import InputUnreadable, OutputNotWritable, StreamError, reading, writing

pytestmark = pytest.mark.unit

FOREIGN: list[Exception] = [
    kind(errno.EINVAL, "refused")
    for _, kind in inspect.getmembers(av.error, inspect.isclass)
    if issubclass(kind, av.FFmpegError)
]
FOREIGN += [OSError(errno.EACCES, "x"), ValueError("x"), EOFError("x"), MemoryError("x")]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda error: type(error).__name__)
def test_every_foreign_exception_is_mapped(foreign: Exception) -> None:
    with pytest.raises(InputUnreadable) as read, reading("a.mp4"):
        raise foreign
    with pytest.raises(OutputNotWritable) as written, writing("b.mp4"):
        raise foreign
    assert (read.value.exit_code, written.value.exit_code) == (3, 4)
    assert read.value.__cause__ is foreign
    assert "a.mp4" in str(read.value)
    assert "\n" not in str(read.value)


def test_own_errors_pass_as_they_are() -> None:
    with pytest.raises(EngineFault), reading("a.mp4"):
        raise EngineFault("x")


@pytest.mark.parametrize(
    ("code", "advice"),
    [(errno.ENOSPC, "free some space"), (errno.EACCES, "rights"), (errno.ENOENT, "no such file")],
)
def test_advice_says_what_to_do(code: int, advice: str) -> None:
    with pytest.raises(OutputNotWritable, match=advice), writing("b.mp4"):
        raise OSError(code, "x")


def test_drawn_tree_names_every_error() -> None:
    drawn = stream.errors.__doc__ or ""
    errors = [
        kind
        for _, kind in inspect.getmembers(stream.errors, inspect.isclass)
        if issubclass(kind, KveilError)
    ]
    assert all(kind.__name__ in drawn for kind in errors)
    assert all(kind.__name__ in stream.errors.__all__ for kind in errors if kind is not KveilError)
    assert StreamError in errors
