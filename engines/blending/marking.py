"""The visible mark that a picture was altered by synthesis (EU AI Act, Article 50).

A mark only adds: it is an opaque badge of fixed text over a corner of a composite, so it can
bare nothing that a cover or a surrogate hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.compositor import Composite

__all__ = ["Corner", "MarkStyle", "mark"]

Corner = Literal["top-left", "top-right", "bottom-left", "bottom-right"]
_FONT: Final = cv2.FONT_HERSHEY_SIMPLEX
_INK_BGR: Final = (255, 255, 255)
_PAPER_BGR: Final = (70, 46, 26)


@dataclass(frozen=True, slots=True)
class MarkStyle:
    """How the mark looks.

    Attributes:
        text: what it says; letters, digits and signs of ASCII.
        corner: where it stands.
        height_share: height of the badge over height of the picture; larger is easier to
            read and hides more.
    """

    text: str = "AI: faces synthetic"
    corner: Corner = "bottom-left"
    height_share: float = 0.045


def mark(composite: Composite, style: MarkStyle) -> None:
    """Paints the badge into the composite, in place.

    A picture too small for a readable badge gets one as large as fits.

    Args:
        composite: finished; its outcomes stay as they are.
        style: text, place and size.
    """
    picture = composite.picture
    badge = _badge(style.text, max(12, round(picture.height * style.height_share)))
    badge = badge[: picture.height, : picture.width]
    height, width = badge.shape[:2]
    down, right = picture.grid
    is_low, is_right = style.corner.startswith("bottom"), style.corner.endswith("right")
    top = (picture.height - height) // down * down if is_low else 0
    left = (picture.width - width) // right * right if is_right else 0
    picture.blend(top, left, badge, np.ones((height, width), np.float32))


@lru_cache(maxsize=16)
def _badge(text: str, height: int) -> NDArray[np.float32]:
    """height×w×3 float32 BGR, 0…255; even in both directions so that chroma aligns."""
    scale = height / 36.0
    thickness = max(1, round(scale * 1.6))
    (width, _), _ = cv2.getTextSize(text, _FONT, scale, thickness)
    rows, columns = height + height % 2, width + height
    image = np.full((rows, columns + columns % 2, 3), _PAPER_BGR, np.uint8)
    at = (height // 2, round(height * 0.70))
    cv2.putText(image, text, at, _FONT, scale, _INK_BGR, thickness, cv2.LINE_AA)
    return image.astype(np.float32)
