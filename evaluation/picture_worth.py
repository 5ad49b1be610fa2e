"""What the painted faces of a clip look like beside the original: seam, skin and sharpness.

Measures P4, P5 and P6 of the evaluation face by face and frame by frame. The same figures of the
original, encoded once more and compared with itself in the same places, are the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engines.pictures import BgrImage
from engines.types import Face
from evaluation.metrics.seam import seam
from evaluation.metrics.sharpness import sharpness_ratio
from evaluation.metrics.skin import skin_difference
from evaluation.painted_area import Mask, is_swapped, painted_area, window_around

__all__ = ["HEAD", "PictureMeter", "Values", "row"]

_LEAST_PX: Final = 40.0
"""Size from which faces are measured."""

HEAD: Final = (
    "| clip | faces | swapped | P4 gradient median · 95 % (floor) | P4 colour step median · 95 % "
    "(floor) | P5 ΔE median · 95 % (floor) | of swapped | P6 median (floor) |\n"
    "|---|---|---|---|---|---|---|---|\n"
    "| wanted | | | 0.8–1.25 · ≤ 1.6 | 0.8–1.25 · ≤ 1.6 | ≤ 2 · ≤ 5 | | 0.75–1.2 |"
)


@dataclass(slots=True)
class Values:
    """The values of each measure, one for each face and frame where it could be taken.

    Attributes:
        gradient: P4, slope across the rim, a ratio.
        step: P4, colour step across the rim, a ratio.
        skin: P5, ΔE2000.
        sharpness: P6, a ratio.
    """

    gradient: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    skin: list[float] = field(default_factory=list)
    sharpness: list[float] = field(default_factory=list)

    def add(self, original: BgrImage, other: BgrImage, mask: Mask, face: Face) -> None:
        """Takes in one face of one frame, all in the same pixels."""
        rim = seam(original, other, mask)
        if rim is not None:
            self.gradient.append(rim.gradient)
            self.step.append(rim.step)
        colour = skin_difference(original, other, mask, face.landmarks_px)
        if colour is not None:
            self.skin.append(colour)
        fine = sharpness_ratio(original, other, mask)
        if fine is not None:
            self.sharpness.append(fine)

    def extend(self, other: Values) -> None:
        """Takes in the values of another clip."""
        self.gradient += other.gradient
        self.step += other.step
        self.skin += other.skin
        self.sharpness += other.sharpness


@dataclass(slots=True)
class PictureMeter:
    """Measures a clip frame by frame.

    Attributes:
        faces: faces of at least 40 px.
        swapped: those that were neither left bare nor covered; only they are measured.
        painted: what was measured of them.
        floor: the same of the original, encoded once more.
    """

    faces: int = 0
    swapped: int = 0
    painted: Values = field(default_factory=Values)
    floor: Values = field(default_factory=Values)

    def add(
        self,
        original: BgrImage,
        anonymized: BgrImage,
        encoded_again: BgrImage,
        faces: Sequence[Face],
    ) -> None:
        """Takes in the next frame.

        Args:
            original: H×W×3 uint8 BGR.
            anonymized: the same frame afterwards.
            encoded_again: the original after the encoder that wrote the anonymized clip.
            faces: found in the original.
        """
        for face in faces:
            if face.size_px < _LEAST_PX:
                continue
            self.faces += 1
            if not is_swapped(original, anonymized, face):
                continue
            self.swapped += 1
            height, width = original.shape[:2]
            window = window_around(face, height, width)
            before, after, again = map(window.cut, (original, anonymized, encoded_again))
            own = window.moved(face)
            mask = painted_area(before, after, own)
            self.painted.add(before, after, mask, own)
            self.floor.add(before, again, mask, own)

    def extend(self, other: PictureMeter) -> None:
        """Takes in another clip."""
        self.faces += other.faces
        self.swapped += other.swapped
        self.painted.extend(other.painted)
        self.floor.extend(other.floor)


def row(name: str, meter: PictureMeter) -> str:
    """One line of the table under `HEAD`.

    >>> row("empty", PictureMeter())
    '| empty | 0 | 0 | – (–) | – (–) | – (–) | – | – (–) |'
    """
    painted, floor = meter.painted, meter.floor
    cells = [
        f"{_both(painted.gradient)} ({_both(floor.gradient)})",
        f"{_both(painted.step)} ({_both(floor.step)})",
        f"{_both(painted.skin)} ({_both(floor.skin)})",
        f"{len(painted.skin) / meter.swapped:.0%}" if meter.swapped else "–",
        f"{_median(painted.sharpness)} ({_median(floor.sharpness)})",
    ]
    return f"| {name} | {meter.faces} | {meter.swapped} | {' | '.join(cells)} |"


def _both(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{_median(values)} · {np.quantile(values, 0.95):.2f}"


def _median(values: Sequence[float]) -> str:
    return f"{np.median(values):.2f}" if values else "–"
