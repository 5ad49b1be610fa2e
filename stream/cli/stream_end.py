"""What a live stream leaves behind when it ends, and whether that is what was asked for."""

from __future__ import annotations

from pathlib import Path

from stream.errors import InputUnreadable
from stream.live.assembly import RECORDING
from stream.live.errors import SinkLost
from stream.live.live_stream import StreamStatus
from stream.live.recording import recording_folder
from stream.live.running_stream import RunningStream

__all__ = ["account_of", "raise_failure"]


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


def raise_failure(status: StreamStatus) -> None:
    """Ends with an error where a stream that has stopped did not do what was asked for.

    Args:
        status: after the stop.

    Raises:
        InputUnreadable: the source never gave a picture.
        SinkLost: an output never took a picture, or was lost at the end.
    """
    if not status.counts.get("frames_in"):
        raise InputUnreadable(status.trouble or "the source gave no picture")
    for name, state in status.sinks.items():
        if state != "ok":
            raise SinkLost(state)
        if not status.taken[name]:
            raise SinkLost(f"{name} got nothing: no picture was ready in time; run for longer")


def _part(status: StreamStatus, name: str, folder: str) -> str:
    place = f"recorded in {folder}" if name == RECORDING else f"published to {name}"
    taken, state = status.taken[name], status.sinks[name]
    words = f"{taken} pictures were {place}" if taken else f"nothing was {place}"
    return words if state == "ok" else f"{words}: {state}"
