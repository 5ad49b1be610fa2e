"""Frames on their way through the tracker: held back, then released."""

from __future__ import annotations

from dataclasses import dataclass

from engines.types import Track

__all__ = ["FrameTracks", "HeldFrame"]


@dataclass(frozen=True, slots=True)
class FrameTracks:
    """All faces of one frame, final.

    Attributes:
        frame_index: number of the frame in its stream.
        tracks: its faces, by id. Cover each; only confirmed tracks that are not doubtful
            are worth a surrogate.
        is_unknown: the detector failed here: cover the whole frame.
    """

    frame_index: int
    tracks: tuple[Track, ...]
    is_unknown: bool


@dataclass(slots=True)
class HeldFrame:
    """A frame pushed but not yet released.

    Attributes:
        frame: number of the frame in its stream.
        time_s: its time on the stream's clock.
        scene: number of its scene; changes when a cut turns out to be a flash.
        is_unknown: the detector failed here.
        drift_px: how far the picture as a whole has moved since the stream began, dx and dy.
    """

    frame: int
    time_s: float
    scene: int
    is_unknown: bool
    drift_px: tuple[float, float] = (0.0, 0.0)
