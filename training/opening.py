"""Opens the mouths of photographed faces, to learn from: the jaw of a mesh drops.

One photograph in a hundred shows lips that are a third of the eyes' distance apart or more, and
what learns from so few reads such mouths half shut. The mesh of a face is therefore deformed as a
jaw does it, and the picture on it (`training.turning`); where its points come to lie is known.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from engines.face.face_look import eyes_of
from engines.stylegan.drawing import rise
from engines.stylegan.mouth import draw_mouth, usual_inside
from engines.stylegan.topology import LIPS_INNER, LIPS_OUTER, MESH_INDEX, OVAL

__all__ = ["opened", "with_mouth"]

_TEMPLES: Final = (234, 454)
_MIDDLE: Final = len(LIPS_INNER) // 2
_JAW: Final = (-0.15, 0.75)
"""From where above the line of the mouth, and to where below it, places come to move with the jaw,
shares of the way to the chin."""
_ASIDE: Final = (0.6, 1.1)
_HINGE: Final = 0.7
"""From where to where sideways places move less, shares of the face's half width, and how much
less."""
_BACK: Final = 0.3
"""How far a jaw goes back as it drops, shares of how far it drops."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def opened(mesh: Float32, gap: float) -> Float32:
    """The mesh of a face whose lips part farther.

    Args:
        mesh: float32[468, 3] in a crop whose eyes lie level.
        gap: how much farther, distances of the eyes.

    Returns:
        float32[468, 3], a new one.
    """
    line = _line_of_mouth(mesh)
    corners = mesh[[LIPS_OUTER[0], LIPS_OUTER[_MIDDLE]], :2]
    chin = float(mesh[list(OVAL), 1].max())
    below = (mesh[:, 1] - line) / max(chin - float(corners[:, 1].mean()), 1e-3)
    lips = corners[:, 0]
    aside = np.abs(mesh[:, 0] - lips.mean())
    wide = float(np.abs(mesh[list(_TEMPLES), 0] - lips.mean()).max())
    jaw = rise(below, *_JAW) * (1 - _HINGE * rise(aside / np.float32(wide), *_ASIDE))
    reach = np.square(aside / max(float(np.abs(lips - lips.mean()).max()), 1e-3))
    lip = np.sqrt(np.clip(1 - reach, 0, 1))
    share = np.where(reach < 1, np.maximum(lip, jaw) * (below > 0), jaw)
    left, right = eyes_of(mesh[MESH_INDEX])
    drop = share * np.float32(gap * float(np.hypot(*(right - left))))
    moved = mesh.copy()
    moved[:, 1] += drop
    moved[:, 2] += np.float32(_BACK) * drop
    return np.asarray(moved, np.float32)


def with_mouth(picture: UInt8, points: Float32) -> UInt8:
    """An RGB picture uint8[S, S, 3] with teeth, tongue and dark drawn between its lips.

    What a photograph shows between lips that were hardly open is teeth or less, and drawn out.

    Args:
        picture: as above.
        points: float32[POINTS, 3] of its face, crop units.
    """
    pixels = picture[..., ::-1].astype(np.float32)
    draw_mouth(pixels, points, usual_inside(points, 1.0))
    return np.ascontiguousarray(pixels.clip(0, 255).astype(np.uint8)[..., ::-1])


def _line_of_mouth(mesh: Float32) -> Float32:
    """How low the line between the lips lies at each point of a mesh: float32[468]."""
    inner = mesh[list(LIPS_INNER), :2]
    lower, upper = inner[: _MIDDLE + 1], inner[np.r_[_MIDDLE : len(inner), 0]]
    sides = [lip[lip[:, 0].argsort()] for lip in (lower, upper)]
    low = [np.interp(mesh[:, 0], side[:, 0], side[:, 1]) for side in sides]
    return np.asarray(np.mean(low, axis=0), np.float32)
