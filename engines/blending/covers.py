"""Covers by name: what is drawn over a face that gets no surrogate.

The ad hoc methods are those of k-Same (Newton, Sweeney and Malin 2003, section 5.2) and of
FPSP (2023, section 4.2), kept for comparison; all but the solid ones leave the person
recognisable, if not to the eye then to software, and say so in `warning`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending import obscuring
from engines.blending.muted_cover import CELLS, Ellipses, figure
from engines.face.crop_regions import finite_box
from engines.pictures import BgrImage
from engines.types import Box, Landmarks

__all__ = ["COVERS", "DEFAULT_COVER", "DEFAULT_MARGIN", "Cover", "NamedCover", "cover_named"]
__all__ += ["ellipses_over", "grown_box"]

DEFAULT_MARGIN: Final = 1.2
"""Width of a cover over width of the face's box: less leaves slivers of faces bare."""


_TURNED: Final = (0.3, 0.45)
"""Distance of the nose from the middle of the box, over its width, of a head that begins to
hide an ear and of one seen from the side."""
_BEHIND: Final = 0.3
"""Widths of the box by which the cover of a head seen from the side reaches behind it."""


class Painter(Protocol):
    """Draws over the crop of one face."""

    def __call__(self, crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
        """Gives the crop painted over.

        Args:
            crop: h×w×3 uint8 BGR, at least 1×1; not changed.
            landmarks: (5, 2) float32, px of the crop; may lie outside it or not be finite.
            box: (4,) float32, the detected face in px of the crop; may reach outside.

        Returns:
            A new h×w×3 uint8 BGR array.
        """


class Cover(Protocol):
    """One way to cover a face."""

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def is_safe(self) -> bool:
        """Whether nothing of the original survives where it is drawn."""

    @property
    def is_partial(self) -> bool:
        """Whether some pixels of the crop are left as they were."""

    @property
    def is_soft(self) -> bool:
        """Whether it is the plain ellipse in the colours around the head, which ends softly."""

    def paint(self, crop: BgrImage, landmarks: Landmarks, box: Box | None = None) -> BgrImage:
        """Gives the crop painted over, as a new h×w×3 uint8 BGR array."""


@dataclass(frozen=True, slots=True)
class NamedCover:
    """A cover and what users should know of it.

    Attributes:
        name: as users write it.
        painter: the drawing.
        warning: one line that says why it does not protect; empty where it does.
        is_partial: some pixels of the crop are left as they were.
        is_soft: it is the plain ellipse in the colours around the head, which ends softly.
    """

    name: str
    painter: Painter
    warning: str = ""
    is_partial: bool = False
    is_soft: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether nothing of the original survives where it is drawn."""
        return not self.warning

    def paint(self, crop: BgrImage, landmarks: Landmarks, box: Box | None = None) -> BgrImage:
        """Draws over a crop.

        Args:
            crop: h×w×3 uint8 BGR; not changed.
            landmarks: (5, 2) float32, px of the crop.
            box: (4,) float32 detected face in px of the crop; the whole crop where None.

        Returns:
            A new h×w×3 uint8 BGR array.
        """
        height, width = crop.shape[:2]
        whole = np.array([0, 0, width, height], np.float32)
        return self.painter(crop, landmarks, whole if box is None else box)


def grown_box(box: NDArray[np.floating], margin: float, landmarks: Landmarks | None = None) -> Box:
    """The region that a cover takes: the box grown, with room for forehead and chin.

    Detectors box a face from brows or hairline to lips or chin, each in its own way; the
    top therefore gains more than the bottom. Of a head seen from the side they box what lies
    before the ear; ear and back of the head identify as well, so that side gains most.

    Args:
        box: (4,) x0 y0 x1 y1 px.
        margin: width of the region over width of the box; larger hides more hair and
            ears, smaller shows more of the scene. At least 1.
        landmarks: (5, 2) px, of which the nose tells whether the head is turned; None or not
            finite: not turned.

    Returns:
        (4,) float32 x0 y0 x1 y1 px.

    >>> grown_box(np.array([0.0, 0.0, 100.0, 100.0]), 1.3).round(2).tolist()
    [-15.0, -25.0, 115.0, 120.0]
    """
    x0, y0, x1, y1 = (float(value) for value in box)
    width, height, extra = x1 - x0, y1 - y0, (margin - 1) / 2
    top, bottom = (extra + 0.10) * height, (extra + 0.05) * height
    behind_left = behind_right = 0.0
    if landmarks is not None and landmarks.shape == (5, 2) and math.isfinite(landmarks[2, 0]):
        nose = (float(landmarks[2, 0]) - (x0 + x1) / 2) / width
        from_front, from_side = _TURNED
        turned = min(max((abs(nose) - from_front) / (from_side - from_front), 0.0), 1.0)
        behind_left = _BEHIND * turned * width if nose > 0 else 0.0
        behind_right = _BEHIND * turned * width if nose < 0 else 0.0
    left, right = extra * width + behind_left, extra * width + behind_right
    return np.array([x0 - left, y0 - top, x1 + right, y1 + bottom], np.float32)


def ellipses_over(box: NDArray[np.floating], landmarks: Landmarks, margin: float) -> Ellipses:
    """Where the soft cover of a face lies.

    Args:
        box: (4,) x0 y0 x1 y1 px.
        landmarks: (5, 2) px.
        margin: see `grown_box`.
    """
    face = grown_box(box, margin).astype(np.float64)
    return Ellipses(face, grown_box(box, margin, landmarks).astype(np.float64))


def muted(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """The soft cover over a crop, with the usual margin.

    >>> crop = np.full((40, 40, 3), 110, np.uint8)
    >>> crop[10:30, 10:30] = np.where(np.indices((20, 20)).sum(0) % 2, 240, 160)[..., None]
    >>> box = np.array([8, 8, 32, 32], np.float32)
    >>> painted = muted(crop, np.full((5, 2), np.nan, np.float32), box)
    >>> painted[0, 0].tolist(), painted[20, 20].tolist()
    ([110, 110, 110], [183, 183, 183])
    """
    face = np.array(finite_box(box, *crop.shape[:2]))
    colours = np.asarray(cv2.resize(crop, (CELLS, CELLS), interpolation=cv2.INTER_AREA), np.uint8)
    height, width = crop.shape[:2]
    made = figure(colours, height, width, ellipses_over(face, landmarks, DEFAULT_MARGIN))
    laid = crop + made.alpha[..., None] * (made.pixels.astype(np.float32) - crop)
    return np.asarray(np.clip(np.rint(laid), 0, 255), np.uint8)


def cover_named(name: str) -> NamedCover:
    """The cover with this name.

    Raises:
        KeyError: there is none; the message lists the names.

    >>> cover_named("solid").is_safe, cover_named("blur").is_safe
    (True, False)
    """
    if name not in COVERS:
        raise KeyError(f"no cover is named {name!r}; choose one of {', '.join(COVERS)}")
    return COVERS[name]


def _pixels_only(draw: Callable[[BgrImage], BgrImage]) -> Painter:
    def painter(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:  # noqa: ARG001
        return draw(crop)

    return painter


_PAPER: Final = "k-Same 2003, table 1"
_ALL: Final = (
    NamedCover("solid", obscuring.solid),
    NamedCover("muted", muted, is_partial=True, is_soft=True),
    NamedCover("ellipse", obscuring.ellipse, is_partial=True),
    NamedCover("blackout", _pixels_only(obscuring.blackout)),
    NamedCover(
        "bar-mask",
        obscuring.bar_mask,
        f"a bar over the eyes leaves the rest: 100 % recognised by parrot attack ({_PAPER})",
        is_partial=True,
    ),
    NamedCover(
        "t-mask",
        obscuring.t_mask,
        f"eyes and nose hidden leave the rest: 100 % recognised by parrot attack ({_PAPER})",
        is_partial=True,
    ),
    NamedCover(
        "mouth-only",
        obscuring.mouth_only,
        "mouth and chin are shown as they are, in grey; software recognises them",
    ),
    NamedCover(
        "mouth-only-bw",
        obscuring.mouth_only_bw,
        "mouth and chin are shown in black and white; software recognises them",
    ),
    NamedCover(
        "mosaic",
        _pixels_only(obscuring.mosaic),
        f"pixelated faces are recognised: 99 % naive, 100 % parrot ({_PAPER})",
    ),
    NamedCover(
        "blur", _pixels_only(obscuring.blur), "blurred faces are recognised, and blur can be undone"
    ),
    NamedCover(
        "cartoon",
        _pixels_only(obscuring.cartoon),
        "a cartoon keeps the outlines; software recognises them",
    ),
    NamedCover(
        "laplace",
        _pixels_only(obscuring.laplace),
        "noise per pixel averages out over a face and over frames; software recognises it",
    ),
    NamedCover(
        "negative", _pixels_only(obscuring.negative), "a negative is undone by taking it again"
    ),
    NamedCover(
        "negative-bw",
        _pixels_only(obscuring.negative_bw),
        "a negative is undone by taking it again",
    ),
    NamedCover(
        "threshold",
        _pixels_only(obscuring.threshold),
        "black and white keeps the outlines; software recognises them",
    ),
    NamedCover(
        "ordinal", _pixels_only(obscuring.ordinal), "five grey levels keep the face recognisable"
    ),
    NamedCover(
        "noise-grey",
        _pixels_only(obscuring.noise_grey),
        "random pixels are recognised unless most of the face is replaced (k-Same 2003, fig. 16)",
    ),
    NamedCover(
        "noise-bw",
        _pixels_only(obscuring.noise_bw),
        "flipped pixels are recognised unless half of the face is flipped (k-Same 2003)",
    ),
)

COVERS: Final[Mapping[str, NamedCover]] = {cover.name: cover for cover in _ALL}
"""Every cover by its name."""
DEFAULT_COVER: Final = COVERS["solid"]
"""The one whose paint no scene has."""
