"""What a picture's opacity may still tell once its faces are covered.

An opacity channel is a second picture, which no detector looks at: black ink whose opacity draws
a photograph shows that photograph on every white page, and pixels of opacity 0 keep colours that
nobody sees and every program can read. So nothing leaves but what was searched for faces:

1. Where the opacity is 0, the colours are painted over with one grey. All other colours are
   searched as they are written.
2. Only a plain cut-out stays transparent: clear and solid areas with thin edges between them, so
   that the opacity holds no tones, and more area than edge, so that it is no raster and no line
   drawing. Any other picture is laid over the grey, searched so and written opaque: it looks
   everywhere as it did when it was searched.
3. The outline of a cut-out could still draw a face, as a stencil does. It is searched with the
   colours: the grey is one from which the visible side of the outline differs, white if possible.
   Of the greys that are tried, six lie too far apart for a pixel to be within `_NEAR` levels of
   two, so at least five sixths of any outline stand out against the best of them.
4. Whatever was laid over a cut-out is solid, and what is close to it; so is all that lies within.

What a detector does not take for a face (a black profile, a coarse stencil) is left, as it is left
in a picture without opacity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from engines.pictures import Picture, Plane

__all__ = ["CutOut", "searchable"]

_SLACK: Final = 8
"""Opacities this close to none or all are none or all: lossy formats are not exact, and what
they hold in those levels is not kept."""
_EDGE_PX: Final = 5
"""An edge is narrower; a square of this size that is neither clear nor solid holds tones."""
_NEAR: Final = 24
_FAINT: Final = 0.1
"""Share of the outline that may lie within `_NEAR` levels of white before another grey is tried."""
_GROWN_PX: Final = 3
_GREYS: Final = tuple(range(255, -1, -17))


@dataclass(frozen=True, slots=True)
class CutOut:
    """A picture that stays transparent where nothing is laid over it.

    Attributes:
        opacity: H×W uint8, 0 clear, 255 solid.
        searched: the picture's plane as it was searched, H×W or H×W×3 uint8; a copy.
    """

    opacity: NDArray[np.uint8]
    searched: Plane

    def around(self, picture: Picture) -> NDArray[np.uint8]:
        """Opacity of what became of the picture, H×W uint8: solid where anything was laid.

        Args:
            picture: of the same size and layout, edited or not.
        """
        differs = picture.planes[0] != self.searched
        laid = np.asarray(differs.any(axis=2) if differs.ndim == 3 else differs, np.uint8)
        if not laid.any():
            return self.opacity
        side = 2 * _GROWN_PX + 1
        laid = np.asarray(cv2.dilate(laid, np.ones((side, side), np.uint8)), np.uint8)
        outlines, _ = cv2.findContours(laid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        solid = self.opacity.copy()
        cv2.drawContours(solid, outlines, -1, 255, cv2.FILLED)
        return solid


def searchable(picture: Picture, opacity: NDArray[np.uint8]) -> CutOut | None:
    """Makes all of a picture visible that could ever be seen of it, in place.

    Args:
        picture: `gray` or `bgr`, 8 bits; what is clear is painted over, and all that is not solid
            where this is no plain cut-out.
        opacity: H×W uint8, 0 clear, 255 solid.

    Returns:
        The cut-out that it may stay; None where it is opaque from now on.
    """
    steps = np.arange(256)
    steps[: _SLACK + 1], steps[255 - _SLACK :] = 0, 255
    opacity = steps.astype(np.uint8)[opacity]
    if opacity.min() == 255:
        return None
    edge = _edge(opacity)
    grey = _standing_out(picture, edge)
    if not _is_plain(opacity, edge):
        _lay_over(picture, opacity, grey)
        return None
    plane = picture.planes[0]
    plane[opacity == 0] = grey
    return CutOut(opacity, plane.copy())


def _edge(opacity: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Visible pixels that are not solid or touch one that is not, H×W."""
    least = np.asarray(cv2.erode(opacity, np.ones((3, 3), np.uint8)))
    return np.asarray((opacity > 0) & (least < 255))


def _is_plain(opacity: NDArray[np.uint8], edge: NDArray[np.bool_]) -> bool:
    partial = ((opacity > 0) & (opacity < 255)).astype(np.uint8)
    # Beyond the picture's border everything counts as partial: what is cut off there is in doubt.
    is_thin = not cv2.erode(partial, np.ones((_EDGE_PX, _EDGE_PX), np.uint8)).any()
    return is_thin and bool(2 * np.count_nonzero(edge) <= np.count_nonzero(opacity))


def _standing_out(picture: Picture, edge: NDArray[np.bool_]) -> int:
    """The grey that is far from most pixels of an outline, the lightest of several."""
    plane = picture.planes[0]
    luma = plane if plane.ndim == 2 else cv2.cvtColor(plane, cv2.COLOR_BGR2GRAY)
    levels = np.bincount(luma[edge].astype(np.uint8), minlength=256)
    allowed = _FAINT * levels.sum()
    near = [int(levels[max(0, grey - _NEAR) : grey + _NEAR + 1].sum()) for grey in _GREYS]
    return _GREYS[int(np.argmin(np.maximum(near, allowed)))]


def _lay_over(picture: Picture, opacity: NDArray[np.uint8], grey: int) -> None:
    plane = picture.planes[0]
    above = Image.fromarray(plane)
    ground = Image.new(above.mode, above.size, (grey,) * len(above.getbands()))
    plane[...] = np.asarray(Image.composite(above, ground, Image.fromarray(opacity)))
