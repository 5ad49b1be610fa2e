"""Which points of a face the control path uses, and how they join into parts.

The 144 mesh points are a subset of the 468-point face mesh of Kartynnik et al. (2019),
"Real-time Facial Surface Geometry from Monocular Video on Mobile GPUs"; two pupil points
follow them. All coordinates are in crop units: x and y in [0, 1] across the kveil crop
(eyes at (0.30, 0.37) and (0.70, 0.37)), z in the same unit, smaller is nearer the camera.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

LIPS_OUTER: Final = (
    61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185,
)  # fmt: skip
LIPS_INNER: Final = (
    78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191,
)  # fmt: skip
EYE_IMAGE_LEFT: Final = (
    33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246,
)  # fmt: skip
EYE_IMAGE_RIGHT: Final = (
    263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466,
)  # fmt: skip
BROW_IMAGE_LEFT: Final = (46, 53, 52, 65, 55, 107, 66, 105, 63, 70)
BROW_IMAGE_RIGHT: Final = (276, 283, 282, 295, 285, 336, 296, 334, 293, 300)
OVAL: Final = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377,
    152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)  # fmt: skip
NOSE_BRIDGE: Final = (168, 6, 197, 195, 5, 4, 1)
NOSE_BASE: Final = (129, 64, 98, 97, 2, 326, 327, 294)
NOSE_BASE_END: Final = (358,)
CHEEKS: Final = (
    116, 123, 147, 187, 213, 192, 214, 207, 71, 68, 104,
    345, 352, 376, 411, 433, 416, 434, 427, 301, 298, 333,
)  # fmt: skip
"""Points of the 468-point mesh, none of ours, beyond which a head that is turned or nods is not
seen: cheeks and temples."""

_GROUPS: Final = (
    LIPS_OUTER,
    LIPS_INNER,
    EYE_IMAGE_LEFT,
    EYE_IMAGE_RIGHT,
    BROW_IMAGE_LEFT,
    BROW_IMAGE_RIGHT,
    OVAL,
    NOSE_BRIDGE,
    NOSE_BASE + NOSE_BASE_END,
)
_STARTS: Final = tuple(int(v) for v in np.cumsum([0, *(len(group) for group in _GROUPS)]))

MESH_INDEX: Final[npt.NDArray[np.int64]] = np.array(
    [index for group in _GROUPS for index in group], dtype=np.int64
)
"""Index into the 468-point mesh for each of our mesh points, int64[144]."""

MESH_POINTS: Final = len(MESH_INDEX)
PUPIL_IMAGE_LEFT: Final = MESH_POINTS
PUPIL_IMAGE_RIGHT: Final = MESH_POINTS + 1
POINTS: Final = MESH_POINTS + 2
"""Number of control points: the mesh points, then the two pupils."""

LIPS_OUTER_SLICE: Final = slice(_STARTS[0], _STARTS[1])
LIPS_INNER_SLICE: Final = slice(_STARTS[1], _STARTS[2])
EYE_LEFT_SLICE: Final = slice(_STARTS[2], _STARTS[3])
EYE_RIGHT_SLICE: Final = slice(_STARTS[3], _STARTS[4])
BROW_LEFT_SLICE: Final = slice(_STARTS[4], _STARTS[5])
BROW_RIGHT_SLICE: Final = slice(_STARTS[5], _STARTS[6])
OVAL_SLICE: Final = slice(_STARTS[6], _STARTS[7])
NOSE_BRIDGE_SLICE: Final = slice(_STARTS[7], _STARTS[8])
NOSE_BASE_SLICE: Final = slice(_STARTS[8], _STARTS[9])
