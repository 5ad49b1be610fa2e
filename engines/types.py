"""What flows between the rooms: frozen, slotted, typed arrays.

`Frame` → `Face` → `Track` → `Surrogate` → `Composite` (the last is in
`engines.blending.compositor`, which alone can make one). Coordinates are pixels of the full frame,
x to the right, y down, the centre of the first pixel at (0.5, 0.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from engines.pictures import Picture

__all__ = ["Box", "Embedding", "Face", "Frame", "Landmarks", "Latent", "Surrogate", "Track"]
__all__ += ["TrackState"]

Box = NDArray[np.float32]
"""(4,) float32, x0 y0 x1 y1, px."""
Landmarks = NDArray[np.float32]
"""(5, 2) float32, px: subject's right eye, left eye, nose tip, right and left mouth corner
(left to right as seen in the picture)."""
Embedding = NDArray[np.float32]
"""(D,) float32, unit length."""
Latent = NDArray[np.float32]
"""(L, 512) float32, w+."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded picture and its place in time.

    Attributes:
        picture: the pixels; the frame owns them and the compositor edits them in place.
        pts: presentation time in units of `time_base`, as the container gave it.
        time_base: seconds per unit of `pts`.
        index: number of the frame in its stream, from 0.
        stream: name of the stream; never a path or a URL with credentials.
        is_damaged: the decoder concealed or guessed parts of it.
        duration: for how long it is shown, in units of `time_base`; 0 where not known.
    """

    picture: Picture
    pts: int
    time_base: Fraction
    index: int
    stream: str = ""
    is_damaged: bool = False
    duration: int = 0

    @property
    def time_s(self) -> float:
        """Presentation time in seconds."""
        return self.pts * self.time_base.numerator / self.time_base.denominator


@dataclass(frozen=True, slots=True)
class Face:
    """One detected face.

    Attributes:
        box_px: (4,) float32 x0 y0 x1 y1.
        landmarks_px: (5, 2) float32; see `Landmarks`.
        score: detector confidence, 0…1.
    """

    box_px: Box
    landmarks_px: Landmarks
    score: float

    @property
    def size_px(self) -> float:
        """Side of a square as large as the box."""
        x0, y0, x1, y1 = self.box_px.tolist()
        return math.sqrt(max(0.0, x1 - x0) * max(0.0, y1 - y0))


class TrackState(Enum):
    """Why a track has a face in this frame."""

    DETECTED = "detected"
    """Seen by the detector in this very frame."""
    FILLED = "filled"
    """Interpolated between two detections of the same track."""
    EXTENDED = "extended"
    """Extrapolated before the first or after the last detection; also in a long gap of a track that
    was never clearly found."""
    DOUBTFUL = "doubtful"
    """Possibly another person than before: cover, never carry a surrogate over."""


@dataclass(frozen=True, slots=True)
class Track:
    """One person's face in one frame, followed over time.

    Attributes:
        id: number of the track within its stream, from 1; never reused.
        face: where the face is in this frame.
        state: how that is known.
        age_frames: frames since the track's first detection; negative before it.
        is_confirmed: seen often and clearly enough to be worth a surrogate; other
            tracks are covered.
    """

    id: int
    face: Face
    state: TrackState
    age_frames: int
    is_confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The synthetic face that a cluster lends to one person.

    Attributes:
        cluster: opaque id of the cluster it comes from.
        latent: (L, 512) float32 w+, made from donors; never from the person's own pixels.
        k_real: distinct real people of the cluster who could have caused this surrogate; 0 where
            it belongs to no cluster.
    """

    cluster: str
    latent: Latent
    k_real: int
