"""Retouches a surrogate's texture before it is worn: forehead and rim bare, skin even and clean.

Faces made of photographs keep shreds of their parents' fringes on the forehead, and a generator
that saw few crops draws specks on cheeks. Neither moves as hair or skin does, and both look painted
on. Hair next to a face is the head's own, see `engines.reshaping`; so what is darker than the skin
of the cheeks above the brows is replaced by the skin beside it (normalised convolution, Knutsson
and Westin 1993), and fine detail is held within bounds everywhere but on brows, eyes, nose and
mouth. Skin runs on over the face's rim, where a texture shows what was behind people. Broad light
and hue become alike on both sides: a face has the lamp of its subject alone. Skin, brows and beards
get one hue, but for what comes with brightness. What one side of a face alone shows plainly, a
stain or the shred of a rim of glasses, is taken for the generator's and left out. Where a chin
runs out of the texture, nothing is left that could be drawn out in stripes. All this is done
once for a person and sees nothing of a subject.

Retouching makes surrogates alike: without it fewer pairs pass for one person, as fringes and what
stood behind people tell them apart (docs/training.md). So below the brows it bounds neither how
bright places of a face are, nor how dark.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.crop_regions import disc, filled
from engines.stylegan import topology
from engines.stylegan.drawing import rise
from engines.stylegan.warp import TextureFrame

__all__ = ["Retouch"]

_CHEEKS: Final = ((0.25, 0.48), (0.75, 0.48), (0.75, 0.62), (0.25, 0.62))
"""Corners of the part whose median is the skin's colour, crop units of the texture."""
_OVER: Final = 0.06
"""How far beyond the outline a forehead is retouched, crop units: the warp shows a little of it."""
_FEATHER: Final = 0.04
_APART: Final = 0.03
"""Widths over which retouching of the forehead, and of skin beside the features, begins."""
_FEATURE: Final = 0.016
"""How far features are wider than their landmarks' hull."""
_SEEN: Final = 0.012
_DARKER: Final = 0.2
"""Deviation of the blur through which hair is told from skin, crop units, and how much darker it
is, of the texture's range from -1 to 1."""
_SPREAD: Final = 0.08
"""Deviation of the blur that carries skin to where hair was, crop units."""
_COARSE: Final = 4
_CHEEK_WEIGHT: Final = 0.1
"""Weight of the cheeks' colour there; what is all fringe takes it."""
_AS_DARK: Final = 0.1
_DARKEST: Final = 0.06
"""How much darker than that skin a forehead may be unchanged, and by how much more at most."""
_MARK: Final = 0.05
_GRAIN: Final = 0.008
"""Deviations of blurs, crop units: finer than the first and coarser than the second is a mark."""
_SEEN_MARK: Final = (0.05, 0.12)
"""How much brighter or darker than its twin a place is from which on it counts as a mark, in part
and wholly: people are told apart by less."""
_EDGE: Final = 0.004
"""Deviation of the blur that softens where marks are left out, crop units."""
_SKIN_DETAIL: Final = 0.04
_FINE: Final = 0.01
"""Most that skin differs from its blur, and the deviation of that."""
_BROAD: Final = 0.03
_MOST_HUE: Final = 0.03
"""Deviation of the blur, crop units, that tells broad light, and how far from the cheeks' hue the
rest of a face may be."""
_RIM: Final = 0.05
_RUN_OUT: Final = 0.012
"""Width of the face's rim, which takes on the skin inside it, and the deviation of the blur that
carries that: what lies beyond an outline is not skin."""
_HUE_SOFT: Final = 0.03
"""Deviation of the blur through which skin's hue is seen; nothing finer is left of it."""
_HUE_OF_LIGHT: Final = np.array([0.055, -0.013, -0.08], np.float32)
"""Hue that comes with brightness in textures, RGB: shade is bluer, for it is taken from all colours
of warm light alike. A line through the skin and brows of the pack's people."""
_END: Final = (0.95, 1.0)
_END_SOFT: Final = 0.06
"""From where to where down a texture its rows become even, and the deviation of the blur along
them: the last one goes on over the end of a chin, and would be drawn out in stripes."""
_SURE: Final = 0.9
_FAINT: Final = 1e-4
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)
_FEATURES: Final = (
    topology.LIPS_OUTER_SLICE,
    topology.EYE_LEFT_SLICE,
    topology.EYE_RIGHT_SLICE,
    topology.BROW_LEFT_SLICE,
    topology.BROW_RIGHT_SLICE,
    topology.NOSE_BASE_SLICE,
)
_COLOURFUL: Final = (
    topology.LIPS_OUTER_SLICE,
    topology.EYE_LEFT_SLICE,
    topology.EYE_RIGHT_SLICE,
)

Float32 = npt.NDArray[np.float32]


class Retouch:
    """Retouches textures of one size; safe to use from several threads.

    Args:
        frame: the canonical face that textures are stored on.
        size: height and width S of textures, px.
    """

    def __init__(self, frame: TextureFrame, size: int) -> None:
        points = frame.points[: topology.MESH_POINTS] * np.float32(size)
        face = filled([points[topology.OVAL_SLICE]], size)
        self._size = size
        wider = cv2.dilate(face, disc(_OVER * size)) > 0
        forehead = np.asarray(_above_brows(points, size) & wider, np.bool_)
        self._is_forehead = forehead.astype(np.float32)
        self._forehead = _risen(forehead, _FEATHER * size)
        features = filled([points[part] for part in _FEATURES], size)
        bare = cv2.dilate(features, disc(_FEATURE * size)) == 0
        self._skin = np.minimum(_risen(face > 0, _APART * size), _risen(bare, _APART * size))
        self._marked = cv2.GaussianBlur(self._skin, (0, 0), _EDGE * size)[..., None]
        self._rim = (1 - _risen(face > 0, _RIM * size)) * _risen(wider, _FEATHER * size)
        self._cheeks = filled([np.array(_CHEEKS, np.float32) * size], size) > 0
        lips_and_eyes = filled([points[part] for part in _COLOURFUL], size)
        colourful = cv2.dilate(lips_and_eyes, disc(_FEATURE * size))
        rows = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
        self._end = rise(rows, *_END)[:, None, None]
        self._one_hue = _risen(colourful == 0, _APART * size)[..., None]

    @property
    def is_skin(self) -> npt.NDArray[np.bool_]:
        """Where a texture is skin, apart from features and rim, bool[S, S]."""
        return np.asarray(self._skin > _SURE, np.bool_)

    def __call__(self, texture: Float32) -> Float32:
        """Retouch a texture float32[3, S, S] RGB about [-1, 1]; the answer is a new one."""
        picture = np.ascontiguousarray(texture.transpose(1, 2, 0))
        bare = self._bare(picture)
        picture = picture + self._forehead[..., None] * (bare - picture)
        picture += self._rim[..., None] * (self._run_out(picture) - picture)
        picture += self._evening(picture)
        picture -= self._marked * self._marks(picture)
        smooth = cv2.GaussianBlur(picture, (0, 0), _FINE * self._size)
        even = smooth + _within(picture - smooth, _SKIN_DETAIL)
        picture += self._skin[..., None] * (even - picture)
        picture = self._in_one_hue(picture)
        picture += self._end * (self._ending(picture) - picture)
        return np.ascontiguousarray(picture.transpose(2, 0, 1), np.float32)

    def _in_one_hue(self, picture: Float32) -> Float32:
        """The picture with skin of even hue, as broad as light is; float32[S, S, 3]."""
        light = (picture @ _LUMA)[..., None]
        hue = picture - light - _HUE_OF_LIGHT * light
        own = np.median(hue[self._cheeks], axis=0)
        soft = self._blurred_widely(np.asarray(hue - own, np.float32), _HUE_SOFT)
        even = own + _within(soft, _MOST_HUE)
        return np.asarray(picture + self._one_hue * (even - hue), np.float32)

    def _run_out(self, picture: Float32) -> Float32:
        """The picture as the skin of the face runs on over its rim; float32[S, S, 3]."""
        weight = (1 - self._rim) ** 2
        parts = np.dstack([picture * weight[..., None], weight])
        spread = self._blurred_widely(parts, _RUN_OUT)
        skin = spread[..., :3] + np.float32(_FAINT) * np.median(picture[self._cheeks], axis=0)
        return np.asarray(skin / (spread[..., 3:] + np.float32(_FAINT)), np.float32)

    def _ending(self, picture: Float32) -> Float32:
        """The picture without what differs along its rows; float32[S, S, 3]."""
        soft = cv2.GaussianBlur(picture, (0, 0), _END_SOFT * self._size, sigmaY=_FAINT)
        return np.asarray(soft, np.float32)

    def _evening(self, picture: Float32) -> Float32:
        """What makes broad light and hue alike on both sides, float32[S, S, 3]."""
        broad = cv2.GaussianBlur(picture, (0, 0), _BROAD * self._size)
        return np.asarray((broad[:, ::-1] - broad) / 2, np.float32)

    def _marks(self, picture: Float32) -> Float32:
        """What one side of a face has more of than the other, float32[S, S, 3].

        Of two mirrored places with detail of one sign the fainter is right, of two signs neither.
        """
        fine = cv2.GaussianBlur(picture, (0, 0), _GRAIN * self._size)
        detail = fine - cv2.GaussianBlur(picture, (0, 0), _MARK * self._size)
        mirrored = detail[:, ::-1]
        fainter = np.minimum(np.abs(detail), np.abs(mirrored)) * (detail * mirrored > 0)
        marks = np.asarray(detail - np.copysign(fainter, detail), np.float32)
        return marks * rise(np.abs(marks @ _LUMA), *_SEEN_MARK)[..., None]

    def _bare(self, picture: Float32) -> Float32:
        """The picture as skin runs on over its forehead; float32[S, S, 3]."""
        cheeks = np.median(picture[self._cheeks], axis=0)
        seen = cv2.GaussianBlur(picture @ _LUMA, (0, 0), _SEEN * self._size)
        darker = np.maximum(float(cheeks @ _LUMA) - seen, 0) / np.float32(_DARKER)
        weight = np.exp(-darker * darker) * self._is_forehead
        parts = np.dstack([picture * weight[..., None], weight])
        spread = self._blurred_widely(parts, _SPREAD)
        skin = spread[..., :3] + np.float32(_CHEEK_WEIGHT) * cheeks
        skin /= spread[..., 3:] + np.float32(_CHEEK_WEIGHT)
        darker = np.minimum(picture - skin + np.float32(_AS_DARK), 0)
        return np.asarray(picture - darker + _within(darker, _DARKEST), np.float32)

    def _blurred_widely(self, parts: Float32, deviation: float) -> Float32:
        """Parts float32[S, S, C] blurred, by crop units; computed at a quarter of the size."""
        side = max(self._size // _COARSE, 1)
        small = cv2.resize(parts, (side, side), interpolation=cv2.INTER_AREA)
        small = cv2.GaussianBlur(small, (0, 0), deviation * side)
        return np.asarray(cv2.resize(small, parts.shape[:2]), np.float32)


def _above_brows(points: Float32, size: int) -> npt.NDArray[np.bool_]:
    """bool[size, size], above the brows' upper edge and the line that runs on from it."""
    brows = [points[part] for part in (topology.BROW_LEFT_SLICE, topology.BROW_RIGHT_SLICE)]
    left, right = (brow[brow[:, 0].argsort()] for brow in brows)
    edge = np.concatenate([_upper(left), _upper(right)])
    rows, columns = (axis + 0.5 for axis in np.mgrid[:size, :size])
    brow_row = np.interp(columns, edge[:, 0], edge[:, 1])
    return np.asarray(rows < brow_row, np.bool_)


def _upper(brow: Float32) -> Float32:
    """Those of a brow's points, sorted by column, that lie above the line of its ends."""
    ends = np.interp(brow[:, 0], brow[[0, -1], 0], brow[[0, -1], 1])
    return brow[brow[:, 1] <= ends]


def _risen(area: npt.NDArray[np.bool_], width_px: float) -> Float32:
    """0 outside an area, rising to 1 inside it over a width; float32[S, S]."""
    depth = cv2.distanceTransform(area.astype(np.uint8), cv2.DIST_L2, 5)
    return rise(np.asarray(depth, np.float32), 0, width_px)


def _within(values: Float32, most: float) -> Float32:
    """Values bent so that none exceeds a bound; small ones stay."""
    share = values / np.float32(most)
    return np.asarray(values / np.sqrt(1 + share * share), np.float32)
