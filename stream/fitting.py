"""Tries surrogates on: a donor that happens to resemble the subject is found before it is shown.

A surrogate is painted over the subject's own picture as it will be shown, and the embedder compares
the result with the subject. Nothing of the comparison reaches what is painted: it only passes over
draws, which keyed randomness had dealt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, crop_from_picture, inverse_of, kveil_from_landmarks
from engines.control_reading import ControlReader, Painter
from engines.embedder import PersonThresholds
from engines.face_look import Look
from engines.patches import Patch, warped_patch
from engines.pictures import picture_from_bgr
from engines.types import Embedding, Face, Frame, Latent
from stream.face_drawing import UNFIT, FaceDrawer, FaceMemory, Wearing
from stream.track_embedding import Embedder

__all__ = ["Fit", "Fitting", "first_unlike"]

_SIZE: Final = 128
"""Side of the crops that are compared, px: what the embedder takes."""
_NEXT: Final = 4
"""Draws that are painted at once where the first one resembles; all others follow together."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fit:
    """What trying on found.

    Attributes:
        choice: place of the first draw that does not resemble the subject; None where all do,
            or none could be painted.
        cause: why none could be painted; "" where they were.
    """

    choice: int | None
    cause: str = ""


class Fitting:
    """Compares people with surrogates painted over them.

    Args:
        painter: control and generator, as they draw what is shown.
        embedder: tells people apart.
        thresholds: cosines from which a surrogate resembles its subject, and too much.
        draws_foreground: what is in front of a face is drawn again, as it will be.
    """

    def __init__(
        self,
        painter: Painter,
        embedder: Embedder,
        thresholds: PersonThresholds,
        *,
        draws_foreground: bool = False,
    ) -> None:
        self._painter = painter
        self._reader = ControlReader(painter)
        self._embedder = embedder
        self._thresholds = thresholds
        self._draws_foreground = draws_foreground

    def choose(
        self,
        frame: Frame,
        face: Face,
        embedding: Embedding,
        draws: Callable[[], Sequence[Latent]],
        first: Latent,
    ) -> Fit:
        """The first draw that does not resemble the subject; else the one that does least.

        The first one is painted alone, others only where it resembles, in two batches.

        Args:
            frame: shows the subject.
            face: where.
            embedding: (D,) float32 unit vector of the subject.
            draws: gives the latents of all draws, the first one's included.
            first: latent of the first draw.

        Raises:
            EngineFault: a network failed.
        """
        (look,) = self._reader.looks([(frame, face)])
        at = (frame, face, look, embedding)
        likeness, cause = self._likeness(*at, [first])
        if cause:
            return Fit(None, cause)
        place = first_unlike(likeness, self._thresholds.alike)
        if place is not None:
            return Fit(place)
        offered = draws()
        if not offered:
            return Fit(None, "no_surrogate")
        for start, end in ((1, 1 + _NEXT), (1 + _NEXT, len(offered))):
            if part := offered[start:end]:
                found, cause = self._likeness(*at, part)
                if cause:
                    return Fit(None, cause)
                likeness = np.concatenate([likeness, found])
                place = first_unlike(likeness, self._thresholds.alike)
                if place is not None:
                    return Fit(place)
        least = int(likeness.argmin())
        is_fit = float(likeness[least]) < self._thresholds.too_alike
        return Fit(least if is_fit else None)

    def _likeness(
        self,
        frame: Frame,
        face: Face,
        look: Look,
        embedding: Embedding,
        latents: Sequence[Latent],
    ) -> tuple[Float32, str]:
        """Cosines (N,) float32, infinite where nothing could be painted, and why not."""
        drawer = FaceDrawer(self._painter, draws_foreground=self._draws_foreground)
        for name in range(len(latents)):  # the face is read once, whoever is painted on it
            memory = FaceMemory()
            memory.control.add(look, frame.picture)
            drawer.take_over(name, memory)
        drawn = drawer.draw(frame, [Wearing(n, face, one) for n, one in enumerate(latents)])
        found = np.full(len(latents), np.inf, np.float32)
        patches = {n: one for n, one in drawn.patches.items() if isinstance(one, Patch)}
        if not patches:
            return found, next(iter(drawn.causes.values()), UNFIT)
        crop_from_frame = kveil_from_landmarks(face.landmarks_px, _SIZE)
        crop = crop_from_picture(frame.picture, crop_from_frame, _SIZE)
        rows = sorted(patches)
        crops = [_laid(crop, patches[row], crop_from_frame) for row in rows]
        found[rows] = self._embedder.embed(np.stack(crops)) @ embedding
        return found, ""


def first_unlike(likeness: Float32, alike: float) -> int | None:
    """Place of the first number below the threshold; None where there is none.

    >>> first_unlike(np.float32([0.4, np.inf, 0.1, 0.0]), 0.2)
    2
    """
    places = np.flatnonzero(likeness < alike)
    return int(places[0]) if len(places) else None


def _laid(crop: NDArray[np.uint8], patch: Patch, crop_from_frame: Similarity) -> NDArray[np.uint8]:
    """A crop uint8 S×S×3 BGR with a patch over it."""
    frame_from_crop = np.vstack([inverse_of(crop_from_frame), [0, 0, 1]])
    place = (patch.crop_from_frame.astype(np.float64) @ frame_from_crop).astype(np.float32)
    picture = picture_from_bgr(crop.copy())
    placed = warped_patch(picture, replace(patch, crop_from_frame=place))
    if placed is not None:
        picture.lay(placed.top, placed.left, placed.layer)
    return picture.bgr()
