"""What a live stream leaves behind when it ends, and whether that is what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engines.errors import EngineFault
from stream.errors import InputUnreadable
from stream.live.assembly import RECORDING
from stream.live.errors import SinkLost
from stream.live.live_stream import StreamStatus
from stream.live.recording import recording_folder
from stream.live.running_stream import RunningStream

__all__ = ["account_of", "raise_failure", "refuse_stuck"]


def account_of(running: RunningStream, recordings: str) -> str:
    """What each output has got, in one line; nothing in it is secret.

    Args:
        running: the stream, stopped.
        recordings: folder of the recordings of all streams; empty where none are made.
    """
    status = running.live.status()
    parts = [
        _part(status, name, str(recording_folder(Path(recordings), running.spec.name)))
        for name in status.sinks
    ]
    covered = running.anonymizers.tally.frames(0, 0).covered_fully
    if covered:
        parts.append(f"frames covered in full: {covered}")
    return "; ".join(parts) or "nothing was published"


def refuse_stuck(stuck: Sequence[str]) -> None:
    """Ends with an error where threads would not leave.

    Args:
        stuck: their names.

    Raises:
        EngineFault: there are any.
    """
    if stuck:
        raise EngineFault(f"{len(stuck)} threads did not end: {', '.join(stuck)}")


def raise_failure(status: StreamStatus, stuck: Sequence[str] = ()) -> None:
    """Ends with an error where a stream that has stopped did not do what was asked for.

    Threads that would not leave are told of where nothing says why: one that waits for a server
    which cannot be reached is no fault of its own.

    Args:
        status: after the stop.
        stuck: names of threads that would not leave.

    Raises:
        InputUnreadable: the source never gave a picture.
        SinkLost: an output never took a picture, or was lost at the end.
        EngineFault: threads would not leave.
    """
    if not status.counts.get("frames_in"):
        raise InputUnreadable(status.trouble or "the source gave no picture")
    for state in status.sinks.values():
        if state != "ok":
            raise SinkLost(state)
    refuse_stuck(stuck)
    for name in status.sinks:
        if not status.taken[name]:
            raise SinkLost(f"{name} got nothing: no picture was ready in time; run for longer")


def _part(status: StreamStatus, name: str, folder: str) -> str:
    place = f"recorded in {folder}" if name == RECORDING else f"published to {name}"
    taken, state = status.taken[name], status.sinks[name]
    words = f"{taken} pictures were {place}" if taken else f"nothing was {place}"
    return words if state == "ok" else f"{words}: {state}"
