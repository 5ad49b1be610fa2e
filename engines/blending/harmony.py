"""Makes a painted face look taken by the same camera as the face that it hides.

Grain and focus say something of the camera and nothing of the person. Grain is measured
in the ring around the patch, never on the face. Focus is a matter of distance, and of movement:
what is around a face may be out of focus where it is not, as in most portraits, and sharp where it
is not. So the patch is made as soft as the strongest edges of the face that it hides, by one
number, and as those around it only where the face has no edges. Where it is softer than what it
hides, its own fine details are strengthened, by one number again, and less than twice; where that
is smoother, as under make-up and filters of phones, those of the patch become fainter. Those
of brows, eyes and lips become as strong as the head's own, both ways.
A face without any edges or details is out of focus.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.beard_shade import (
    beard_shades,
    is_shade_felt,
    shade_gains,
    without_beard_shade,
)
from engines.blending.beards import BelowJaw, beard_hair, below_jaw, hair_shown, with_beard
from engines.blending.brows import (
    BROW_GAINS,
    BROW_WARMTHS,
    brow_darkness,
    brow_warmth,
    with_brows,
)
from engines.blending.fine_details import (
    FLAT,
    fine_of,
    fine_share,
    fineness,
    on_features,
    strength,
    with_fine_details,
    with_luma,
)
from engines.blending.focus import MOST_BLUR, edge_width, slopes_of
from engines.blending.grain import grain, grain_of
from engines.blending.makeup import NO_MAKEUP, Makeup, makeup_of, without_makeup
from engines.blending.patches import Patch, identity_mask_of
from engines.face.alignment import scale_of
from engines.face.crop_regions import inside_of
from engines.pictures import BgrImage, Picture
from engines.stylegan.drawing import brightness

__all__ = ["Retouch", "SeenHead", "retouch_of", "retouched", "seen_head", "sized_patch"]

LEAST_SIDE: Final = 32
MOST_SIDE: Final = 512
"""Sides between which a patch is brought to the frame's own scale, px; larger costs more."""
_MOST_GRAIN: Final = 10.0
_MOST_CRISP: Final = 1.8
"""How much stronger fine details become at most; more shows noise of the texture."""
_LEAST_CRISP: Final = 0.35
"""How much of fine details is left at least where skin is smoother than painted."""
_MOST_FEATURES: Final = (0.5, 1.3)
"""How much fainter, and how much stronger, fine details of brows, eyes and lips become at most."""
_SAME_CRISP: Final = 0.05
_SAME_BROWS: Final = 0.05
"""Gain, and warmth, of brows that are left as they are."""
_RIM_BLUR: Final = 1.5
"""Blur of a patch's rim over that of the picture; smaller shows an edge in blurred pictures."""
_OUT_OF_FOCUS: Final = 0.7
"""Blur from which that is done, px; smaller paints over sharp hair beside a face."""
_BLURS: Final = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Shares of a blur that are tried, the most first."""
_SAME_FOCUS: Final = 0.3
_SAME_GRAIN: Final = 0.5

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Retouch:
    """What a patch lacks to look like the picture around it.

    Attributes:
        blur: standard deviation of the blur to apply, px of the frame.
        grain: standard deviation of the noise to add, grey levels.
        crispness: how much stronger its fine details are to become; below 1, how much fainter
            those that are as faint as pores.
        features: how much stronger the fine details of brows, eyes and lips are to become; below
            1, how much fainter.
        beard_blue: how much darker its jaw is to become for a beard below it, grey levels.
        beard_green: the same of green.
        beard_red: the same of red.
        hair_blue: how much darker a beard that is drawn is than skin, a share of it, up to 0.
        hair_green: the same of green.
        hair_red: the same of red.
        lip_shade: how much of the dark on its upper lip is to be left.
        chin_shade: the same of its chin.
        brows: how much more its brows are to stand out from the skin; below 1, how much less.
        brow_warmth: how much warmer they are to become, see `engines.blending.brows`.
        makeup: how much of its lids, irises and lips is to be left, see `Makeup.gains_to`.
    """

    blur: float
    grain: float
    crispness: float = 1.0
    features: float = 1.0
    beard_blue: float = 0.0
    beard_green: float = 0.0
    beard_red: float = 0.0
    hair_blue: float = 0.0
    hair_green: float = 0.0
    hair_red: float = 0.0
    lip_shade: float = 1.0
    chin_shade: float = 1.0
    brows: float = 1.0
    brow_warmth: float = 0.0
    makeup: Makeup = NO_MAKEUP

    def followed_by(self, other: Retouch, share: float) -> Retouch:
        """A running mean with `share` of the new one.

        >>> Retouch(1.0, 2.0).followed_by(Retouch(2.0, 4.0), 0.5).grain
        3.0
        """
        *ours, _ = astuple(self)
        *theirs, _ = astuple(other)
        mean = (old + share * (new - old) for old, new in zip(ours, theirs, strict=True))
        return replace(Retouch(*mean), makeup=self.makeup.followed_by(other.makeup, share))


def sized_patch(patch: Patch) -> Patch:
    """The same patch at about one pixel of its own per pixel of the frame.

    Args:
        patch: of any size; between `LEAST_SIDE` and `MOST_SIDE` px afterwards.
    """
    size = patch.alpha.shape[0]
    scale = scale_of(patch.crop_from_frame)
    side = int(np.clip(round(size / max(scale, 1e-3)), LEAST_SIDE, MOST_SIDE))
    if side == size:
        return patch
    is_smaller = side < size
    how = cv2.INTER_AREA if is_smaller else cv2.INTER_CUBIC
    # In whole levels: the grain to come is larger, and enlarging is several times as quick.
    painted = np.clip(np.rint(patch.pixels), 0, 255).astype(np.uint8)
    pixels = cv2.resize(painted, (side, side), interpolation=how).astype(np.float32)
    way = cv2.INTER_AREA if is_smaller else cv2.INTER_LINEAR
    alpha = np.asarray(cv2.resize(patch.alpha, (side, side), interpolation=way), np.float32)
    place = patch.crop_from_frame * np.float32(side / size)
    alpha[identity_mask_of(patch, side)] = 1.0
    return replace(patch, pixels=pixels, alpha=alpha, crop_from_frame=place)


@dataclass(frozen=True, slots=True)
class SeenHead:
    """What a head shows that patches over it are compared with, whoever they show.

    Attributes:
        hidden: bool[S, S], what they hide.
        edge: deviation of the blur of the strongest edges, px; NaN without edges.
        noise: deviation of the grain around, grey levels.
        finest: how strong the finest details are beside less fine ones.
        fine: deviation of the fine details, grey levels.
        fine_features: how strong they are on brows, eyes and lips, lashes and lines above all, grey
            levels; 0 where that is not told.
        brows: how dark brows are; 0 where that is not told.
        brow_warmth: how warm they are; NaN where that is not told.
        makeup: of its lids, irises and lips.
        beard: what is dark below its jaw; None without.
        hair: of `hair_shown`.
        shades: of its upper lip and chin, see `beard_shades`.
    """

    hidden: NDArray[np.bool_]
    edge: float
    noise: float
    finest: float
    fine: float
    fine_features: float
    brows: float
    brow_warmth: float
    makeup: Makeup
    beard: BelowJaw | None
    hair: Float32
    shades: Float32


def seen_head(picture: Picture, patch: Patch, head: BgrImage) -> SeenHead:
    """Looks at what a patch hides, and at what is around it.

    Args:
        picture: the frame as it came.
        patch: at the frame's scale, see `sized_patch`; its pixels do not count.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    inside = inside_of(picture, patch.crop_from_frame, len(head))
    hidden, ring = patch.alpha >= 1, _ring(patch, inside)
    seen, points = brightness(head), None if patch.points is None else patch.points[0]
    slopes, noise, fine = slopes_of(seen), grain_of(seen, ring), fine_of(seen)
    face = edge_width(slopes, hidden)
    return SeenHead(
        hidden,
        edge_width(slopes, ring) if np.isnan(face) else face,
        noise,
        fine_share(seen, noise, hidden),
        fineness(fine, noise, hidden),
        0.0 if points is None else strength(fine, noise, on_features(points, len(seen))),
        0.0 if points is None else brow_darkness(seen, points),
        float("nan") if points is None else brow_warmth(head, points),
        NO_MAKEUP if points is None else makeup_of(head, points),
        below_jaw(patch, head, np.asarray(inside > 0, np.bool_)),
        np.zeros(3, np.float32) if points is None else hair_shown(head, points),
        np.full(2, np.nan, np.float32) if points is None else beard_shades(head, points),
    )


def retouch_of(head: SeenHead, patch: Patch) -> Retouch:
    """Compares a patch with the grain around it, and with the focus of what it hides.

    Args:
        head: under the patch.
        patch: at the frame's scale, see `sized_patch`.
    """
    painted = brightness(np.clip(patch.pixels, 0, 255).astype(np.uint8))
    own = edge_width(slopes_of(painted), head.hidden)
    wider = float(np.sqrt(np.maximum(head.edge**2 - own**2, 0.0)))
    noise = grain_of(painted, head.hidden)
    grain = min(float(np.sqrt(max(head.noise**2 - noise**2, 0.0))), _MOST_GRAIN)
    most = MOST_BLUR if np.isnan(wider) else wider
    blur = _no_softer(painted, most, head.finest, head.hidden)
    fine, left = fine_of(_softened(painted, blur)), 0.0 if blur else noise
    own_fine = fineness(fine, left, head.hidden)
    most = _MOST_CRISP if blur <= _SAME_FOCUS else 1.0
    crispness = float(np.clip(head.fine / own_fine, _LEAST_CRISP, most)) if own_fine else 1.0
    none = np.zeros(3, np.float32)
    beard = none if head.beard is None else head.beard.darker_than(patch.pixels)
    blue, green, red = (float(one) for one in beard)
    hair_blue, hair_green, hair_red = (float(one) for one in beard_hair(head.hair, beard))
    tones = (blue, green, red, hair_blue, hair_green, hair_red, *_shades(head, patch))
    features = 1.0
    if patch.points is not None and head.fine_features > 0:
        drawn = strength(fine, left, on_features(patch.points[1], len(fine)))
        drawn *= max(crispness, 1.0)
        features = float(np.clip(head.fine_features / max(drawn, FLAT), *_MOST_FEATURES))
    return Retouch(blur, grain, crispness, features, *tones, *_feature_gains(head, patch, painted))


def _shades(head: SeenHead, patch: Patch) -> tuple[float, float]:
    """How much of the dark of a painted upper lip and chin is to be left."""
    if patch.points is None:
        return 1.0, 1.0
    lip, chin = shade_gains(beard_shades(patch.pixels, patch.points[1]), head.shades).tolist()
    return lip, chin


def _feature_gains(head: SeenHead, patch: Patch, painted: Float32) -> tuple[float, float, Makeup]:
    """How much more painted brows are to stand out, and warmer, and how much less what is made up.

    Args:
        head: under the patch.
        patch: what is painted there.
        painted: its brightness, float32[S, S].
    """
    if patch.points is None:
        return 1.0, 0.0, NO_MAKEUP
    own = patch.points[1]
    dark = head.brows, brow_darkness(painted, own)
    gain = float(np.clip(dark[0] / dark[1], *BROW_GAINS)) if min(dark) > 0 else 1.0
    warmer = float(np.clip(head.brow_warmth - brow_warmth(patch.pixels, own), *BROW_WARMTHS))
    warmer = 0.0 if np.isnan(warmer) else warmer
    return gain, warmer, makeup_of(patch.pixels, own).gains_to(head.makeup)


def _no_softer(painted: Float32, most: float, wanted: float, where: NDArray[np.bool_]) -> float:
    """As much of a blur, px, as leaves the share of fine details that is wanted.

    Edges of a face are wide where its skin is soft, too: they tell the most that may be blurred.
    """
    if not most > _SAME_FOCUS:
        return most
    shares = (fine_share(_softened(painted, one * most), 0.0, where) for one in _BLURS)
    kept = (one * most for one, left in zip(_BLURS, shares, strict=True) if left >= wanted)
    return next(kept, 0.0)


def retouched(patch: Patch, retouch: Retouch, seed: tuple[int, int]) -> Patch:
    """Gives a patch the focus and the grain that it lacks.

    Args:
        patch: at the frame's scale, see `sized_patch`.
        retouch: how much of them.
        seed: two numbers from 0; the same ones give the same grain.

    Returns:
        A patch with the place of the old one, whose rim is as far out of focus beyond it.
    """
    tone = np.array([retouch.beard_blue, retouch.beard_green, retouch.beard_red], np.float32)
    hair = np.array([retouch.hair_blue, retouch.hair_green, retouch.hair_red], np.float32)
    changes_brows = max(abs(retouch.brows - 1), abs(retouch.brow_warmth)) > _SAME_BROWS
    shades = np.array([retouch.lip_shade, retouch.chin_shade], np.float32)
    changes_features = changes_brows or retouch.makeup.is_felt or is_shade_felt(shades)
    if patch.points is not None and changes_features:
        bare = patch.pixels.copy()
        without_beard_shade(bare, patch.points[1], shades)
        patch = replace(patch, pixels=bare)
    pixels = with_beard(patch, tone, hair).pixels
    if patch.points is not None and changes_features:
        without_makeup(pixels, patch.points[1], retouch.makeup)
        if changes_brows:
            with_brows(pixels, patch.points[1], retouch.brows, retouch.brow_warmth)
    pixels = _softened(pixels, retouch.blur)
    if max(abs(retouch.crispness - 1), abs(retouch.features - 1)) > _SAME_CRISP:
        own = None if patch.points is None else patch.points[1]
        pixels = with_fine_details(pixels, own, retouch.crispness, retouch.features)
    if retouch.grain > _SAME_GRAIN:
        pixels = with_luma(pixels, grain(patch.alpha.shape, seed) * np.float32(retouch.grain))
    if retouch.blur > _OUT_OF_FOCUS:
        soft = cv2.GaussianBlur(patch.alpha, (0, 0), retouch.blur * _RIM_BLUR)
        alpha = np.maximum(patch.alpha, np.minimum(2 * soft, 1))
        return replace(patch, pixels=pixels, alpha=np.asarray(alpha, np.float32))
    return replace(patch, pixels=pixels)


def _softened(pixels: Float32, blur: float) -> Float32:
    """Pixels under a blur, px; as they are where it is slight or unknown."""
    if not blur > _SAME_FOCUS:
        return pixels
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), blur), np.float32)


def _ring(patch: Patch, inside: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Pixels of the crop that the patch leaves visible and that lie inside the frame."""
    # Two pixels off the frame's edge, where the measures would see the black beyond it.
    inside = np.asarray(cv2.erode(inside, np.ones((5, 5), np.uint8)), np.uint8)
    return np.asarray((patch.alpha < 1) & (inside > 0), np.bool_)
