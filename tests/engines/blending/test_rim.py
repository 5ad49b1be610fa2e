"""A painted face takes the tone of its head along the rim, and nothing else of it."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending import rim
from engines.blending.patches import Patch, defect_of, identity_mask_of
from engines.errors import EngineFault
from engines.face.alignment import crop_from_picture
from engines.pictures import BgrImage, Picture, picture_from_bgr
from tests.engines.stylegan.faces import identities

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SIZE, MARGIN = 128, 40
FRAME = SIZE + 2 * MARGIN
SKIN = np.array([120, 140, 190], np.float32)
HERE = np.s_[MARGIN : MARGIN + SIZE, MARGIN : MARGIN + SIZE]


def head(tone: Float32) -> Float32:
    """A head of one tone that fills the frame, float32[FRAME, FRAME, 3] BGR."""
    return np.full((FRAME, FRAME, 3), 1, np.float32) * tone.astype(np.float32)


def frame_of(pixels: Float32) -> BgrImage:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def patch_of(pixels: Float32 | None = None) -> Patch:
    """A painted face of `SKIN` with two dark eyes, opaque on its identity, over the frame's middle.

    Args:
        pixels: float32[SIZE, SIZE, 3], instead of that face.
    """
    if pixels is None:
        pixels = np.full((SIZE, SIZE, 3), 1, np.float32) * SKIN
        for x in (45, 83):
            cv2.circle(pixels, (x, 50), 6, (40, 40, 40), -1)
    place = np.array([[1, 0, -MARGIN], [0, 1, -MARGIN]], np.float32)
    patch = Patch(pixels, np.zeros((SIZE, SIZE), np.float32), place, identities(1, 1.0)[0])
    away = cv2.distanceTransform(1 - identity_mask_of(patch, SIZE).astype(np.uint8), 2, 3)
    return replace(patch, alpha=np.clip(1 - away / 8, 0, 1).astype(np.float32))


def matched_at_rim(picture: Picture, patch: Patch) -> Patch:
    """The patch in the tone of what its crop shows of the picture."""
    seen = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    match = rim.rim_match_of(rim.head_rim_of(picture, patch, seen), patch)
    return rim.matched_at_rim(patch, seen, match)


def matched(pixels: Float32, patch: Patch | None = None) -> Patch:
    return matched_at_rim(picture_from_bgr(frame_of(pixels)), patch or patch_of())


def cheeks(patch: Patch) -> Float32:
    """Mean colour below the eyes and along the rim of the identity, float32[3]."""
    must = identity_mask_of(patch, SIZE).astype(np.uint8)
    ring = (must > 0) & (cv2.erode(must, np.ones((9, 9), np.uint8)) == 0)
    ring[: SIZE // 2] = False
    return np.asarray(patch.pixels[ring].mean(axis=0), np.float32)


def fine(pixels: Float32, where: NDArray[np.bool_]) -> float:
    """Strength of what is finer than a few px."""
    return float((pixels - cv2.GaussianBlur(pixels, (0, 0), 4))[where].std())


@pytest.mark.parametrize("light", [0.8, 0.9, 1.0, 1.15])
def test_tone_of_a_darker_or_brighter_head_is_taken(light: float) -> None:
    tone = SKIN * np.float32(light)
    assert np.abs(cheeks(matched(head(tone))) - tone).max() < 4


def test_light_from_aside_is_followed_on_both_sides() -> None:
    ramp = np.linspace(0.85, 1.1, FRAME, dtype=np.float32)[None, :, None]
    made = matched(head(SKIN) * ramp).pixels
    for column in (32, 95):
        wanted = SKIN * ramp[0, MARGIN + column]
        assert np.abs(made[70:80, column].mean(axis=0) - wanted).max() < 8


def test_painted_eyes_stay_as_dark_as_they_were_painted() -> None:
    patch = patch_of()
    before = patch.pixels[50, 45] / patch.pixels[64, 64]
    for light in (0.85, 1.2):
        made = matched(head(SKIN * light))
        assert np.abs(made.pixels[50, 45] / made.pixels[64, 64] - before).max() < 0.03


def test_what_is_no_skin_of_this_face_colours_no_rim() -> None:
    """A blue wall or hood around a face leaves no blue seam on it."""
    around = head(np.array([200, 90, 40], np.float32))
    must = identity_mask_of(patch_of(), SIZE)
    around[HERE][must] = SKIN
    assert np.abs(cheeks(matched(around)) - SKIN).max() < 4


@pytest.mark.parametrize("kind", ["noise", "stripes", "checks"])
def test_nothing_fine_of_the_subject_comes_through(kind: str) -> None:
    """The planted fault would be a subject's wrinkles and features on the painted face."""
    rows, columns = np.indices((FRAME, FRAME))
    pattern = {
        "noise": np.random.default_rng(0).normal(0, 12, (FRAME, FRAME)),
        "stripes": 15.0 * np.where(rows // 3 % 2, 1, -1),
        "checks": 15.0 * np.where((rows // 4 + columns // 4) % 2, 1, -1),
    }[kind].astype(np.float32)
    plain = matched(head(SKIN * 0.9))
    rough = matched(head(SKIN * 0.9) + pattern[..., None])
    must = identity_mask_of(plain, SIZE)
    assert fine(pattern[HERE], must) > 8
    gained = rough.pixels / plain.pixels * SKIN
    assert fine(gained, must) < 0.5


def test_features_of_the_subject_are_not_looked_at() -> None:
    """Two people under the same face: whatever lies within the rim makes no difference."""
    must = identity_mask_of(patch_of(), SIZE).astype(np.uint8)
    inner = cv2.erode(must, np.ones((13, 13), np.uint8)) > 0
    made = []
    for eyes in (40, 60):
        image = head(SKIN * 0.9)
        for x in (eyes, SIZE - eyes):
            cv2.circle(image[HERE], (x, 52), 5, (30, 30, 30), -1)
        made.append(matched(image).pixels)
    assert np.abs(made[0] - made[1])[inner].max() < 0.5


def test_matched_patch_is_sound_and_opaque_on_its_identity() -> None:
    for tone in (SKIN, SKIN * 0.5, np.array([255, 0, 0], np.float32)):
        made = matched(head(tone))
        assert not defect_of(made)
        assert (made.alpha[identity_mask_of(made, SIZE)] == 1).all()
        assert (made.alpha <= patch_of().alpha + 1e-6).all()


def test_hair_over_the_forehead_stays_in_front() -> None:
    image, patch = head(SKIN), patch_of()
    must = identity_mask_of(patch, SIZE)
    image[: MARGIN + int(np.flatnonzero(must.any(axis=1))[0])] = (20, 25, 30)
    wide = replace(patch, alpha=np.maximum(patch.alpha, np.float32(0.8)))
    made = matched(image, wide)
    assert made.alpha[:4].max() < 0.2
    assert made.alpha[60, :4].min() > 0.7, "bare temples are painted"
    assert (made.alpha[must] == 1).all()


def test_painted_jaw_ends_where_the_head_ends() -> None:
    """Else painted skin fades out over what is behind the head."""
    small, side = patch_of(), 3 * SIZE
    must = identity_mask_of(small, side).astype(np.uint8)
    away = cv2.distanceTransform(1 - must, cv2.DIST_L2, 3)
    pixels = np.asarray(cv2.resize(small.pixels, (side, side)), np.float32)
    alpha = np.clip(2 - away / 8, 0, 1).astype(np.float32)
    patch = Patch(pixels, alpha, np.eye(2, 3, dtype=np.float32), small.identity)
    image = np.full((side, side, 3), 1, np.float32) * SKIN
    low = np.arange(side)[:, None] > 0.7 * side
    image[low & (away > 5)] = (240, 245, 240)
    made = matched(image, patch)
    skin, behind = (made.alpha[low & (away > one) & (away < one + 2)] for one in (1, 8))
    assert skin.mean() - behind.mean() > 0.75


@pytest.mark.parametrize("shine", [(70, 70, 60), (45, 30, 0), (-10, 5, 30)])
def test_forehead_that_shines_or_is_made_up_otherwise_is_no_hair(
    shine: tuple[int, int, int],
) -> None:
    """Else the painting would end in a line right above its brows."""
    image, patch = head(SKIN), patch_of()
    must = identity_mask_of(patch, SIZE)
    image[: MARGIN + int(np.flatnonzero(must.any(axis=1))[0])] += np.array(shine, np.float32)
    made = matched(image, patch)
    assert np.abs(made.alpha - patch.alpha).max() < 0.1
    assert np.abs(cheeks(made) - SKIN).max() < 12


def test_face_at_the_edge_of_the_frame_takes_its_tone_from_what_is_seen() -> None:
    cut = frame_of(head(SKIN * 0.85))[:, : MARGIN + 80]
    made = matched_at_rim(picture_from_bgr(np.ascontiguousarray(cut)), patch_of())
    assert np.isfinite(made.pixels).all()
    assert np.abs(made.pixels[80, 30] - SKIN * 0.85).max() < 8


def test_patch_that_is_not_placed_by_a_similarity_is_refused() -> None:
    away = replace(patch_of(), crop_from_frame=np.zeros((2, 3), np.float32))
    with pytest.raises(EngineFault):
        matched(head(SKIN), away)


def test_what_lies_beyond_the_frame_tells_no_light() -> None:
    """The planted fault: a face at the frame's edge was darkened by the black beyond it."""
    image = head(SKIN)
    cut = np.ascontiguousarray(frame_of(image)[:, : MARGIN + SIZE * 2 // 3])
    whole, part = matched(image), matched_at_rim(picture_from_bgr(cut), patch_of())
    assert np.abs(whole.pixels - part.pixels)[:, : SIZE // 2].max() < 4
