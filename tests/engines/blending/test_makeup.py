"""Make-up of a surrogate becomes as weak as the head's own, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.harmony import retouch_of, retouched, seen_head
from engines.blending.makeup import NO_MAKEUP, Makeup, makeup_of, without_makeup
from engines.blending.patches import Patch
from engines.face.alignment import identity_mask
from engines.pictures import picture_from_bgr
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIDE = 256
POINTS = np.asarray(drawn_face()[:, :2], np.float32)
SKIN = np.array([110.0, 140.0, 190.0], np.float32)
EYES = ((EYE_LEFT_SLICE, PUPIL_IMAGE_LEFT), (EYE_RIGHT_SLICE, PUPIL_IMAGE_RIGHT))

Float32 = NDArray[np.float32]


def filled(pixels: Float32, outline: Float32, colour: Float32 | float) -> None:
    """What an outline encloses in a colour, or in so much of what is there."""
    mask = np.zeros(pixels.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round(outline * SIDE).astype(np.int32)], 1)
    inside = mask > 0
    pixels[inside] = colour * pixels[inside] if isinstance(colour, float) else colour


def face_with(
    *, shadow: float = 1.0, iris: float = 60.0, red: float = 1.0, dark: float = 1.0
) -> Float32:
    """Skin with so much of its brightness on the lids, irises, and lips so much redder."""
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    for lids, pupil in EYES:
        eye = POINTS[lids]
        width = float(np.ptp(eye[:, 0]))
        filled(pixels, eye.mean(axis=0) + 1.5 * (eye - eye.mean(axis=0)), shadow)
        filled(pixels, eye, np.full(3, 225, np.float32))
        turn = np.linspace(0, 2 * np.pi, 32)
        ring = POINTS[pupil] + 0.18 * width * np.stack([np.cos(turn), np.sin(turn)], 1)
        filled(pixels, np.asarray(ring, np.float32), np.full(3, iris, np.float32))
    hue = np.array([1.0, 1 / red, 1.0], np.float32) * SKIN * np.float32(dark)
    filled(pixels, POINTS[LIPS_OUTER_SLICE], hue)
    filled(pixels, POINTS[LIPS_INNER_SLICE], np.array([40, 40, 60], np.float32))
    return pixels


@pytest.mark.parametrize(
    ("name", "strong", "weak"),
    [
        ("lids", {"shadow": 0.4}, {"shadow": 0.8}),
        ("irises", {"iris": 140.0}, {"iris": 70.0}),
        ("lip_red", {"red": 1.6}, {"red": 1.2}),
        ("lip_dark", {"dark": 0.5}, {"dark": 0.8}),
    ],
)
def test_what_stands_out_becomes_as_weak_as_the_heads(
    name: str, strong: dict[str, float], weak: dict[str, float]
) -> None:
    pixels, wanted = face_with(**strong), makeup_of(face_with(**weak), POINTS)
    own = makeup_of(pixels, POINTS)
    assert getattr(own, name) > getattr(wanted, name) + 0.1
    without_makeup(pixels, POINTS, own.gains_to(wanted))
    away = abs(getattr(makeup_of(pixels, POINTS), name) - getattr(wanted, name))
    assert away < 0.4 * (getattr(own, name) - getattr(wanted, name))


def test_nobody_is_made_up() -> None:
    """The planted fault: a plain surrogate got the lipstick of the head that wears it."""
    pixels = face_with()
    before = pixels.copy()
    own, made_up = makeup_of(pixels, POINTS), makeup_of(face_with(shadow=0.4, red=1.6), POINTS)
    without_makeup(pixels, POINTS, own.gains_to(replace(made_up, irises=own.irises)))
    assert np.array_equal(pixels, before)


def test_it_is_told_alike_in_any_light() -> None:
    pixels = face_with(shadow=0.5, red=1.4)
    told = [makeup_of(pixels * np.float32(lamp), POINTS) for lamp in (0.6, 1.0)]
    for name in ("lids", "irises", "lip_red", "lip_dark"):
        assert getattr(told[0], name) == pytest.approx(getattr(told[1], name), abs=0.05)


def test_nothing_changes_but_lids_irises_and_lips() -> None:
    pixels = face_with(shadow=0.4, iris=140.0, red=1.6)
    before = pixels.copy()
    without_makeup(pixels, POINTS, Makeup(0.4, 0.4, 0.4, 0.4))
    changed = np.argwhere(np.abs(pixels - before).max(axis=2) > 1)[:, ::-1] / SIDE
    parts = [POINTS[part] for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, LIPS_OUTER_SLICE)]
    boxes = [(part.min(axis=0) - 0.09, part.max(axis=0) + 0.09) for part in parts]
    near = np.any([((changed >= low) & (changed <= high)).all(axis=1) for low, high in boxes], 0)
    assert len(changed) > 100
    assert near.all()


def test_what_is_between_the_lips_stays() -> None:
    pixels = face_with(red=1.6, dark=0.5)
    before = pixels.copy()
    without_makeup(pixels, POINTS, Makeup(1.0, 1.0, 0.3, 0.4))
    x, y = (POINTS[LIPS_INNER_SLICE].mean(axis=0) * SIDE).astype(int)
    assert pixels[y, x] == pytest.approx(before[y, x], abs=2)


def test_shut_eyes_tell_no_iris_and_the_mean_keeps_what_was_told() -> None:
    points = POINTS.copy()
    for lids, _ in EYES:
        points[lids, 1] = points[lids, 1].mean()
    told = makeup_of(face_with(), points)
    assert np.isnan(told.irises)
    kept = Makeup(1.0, 0.5, 1.0, 1.0).followed_by(told, 0.36)
    assert kept.irises == pytest.approx(0.5)


@pytest.mark.parametrize("away", [0.0, 0.8, -5.0, 40.0])
def test_small_faces_and_those_beyond_the_picture_are_left_alone(away: float) -> None:
    for places in (POINTS + np.float32(away), POINTS * np.float32(0.02) + np.float32(0.5)):
        pixels = face_with(shadow=0.5)
        makeup_of(pixels, np.asarray(places, np.float32))
        without_makeup(pixels, np.asarray(places, np.float32), Makeup(0.5, 0.5, 0.5, 0.5))
        assert np.isfinite(pixels).all()
        assert 0 <= pixels.min() <= pixels.max() <= 255


def test_a_patch_loses_its_make_up_on_a_plain_head() -> None:
    """The planted fault: smoky eyes and lipstick on a child."""
    head = face_with().astype(np.uint8)
    both = np.stack([POINTS, POINTS])
    alpha = identity_mask(SIDE).astype(np.float32)
    place = np.eye(2, 3, dtype=np.float32)
    patch = Patch(face_with(shadow=0.5, red=1.6), alpha, place, points=both)
    found = retouch_of(seen_head(picture_from_bgr(head), patch, head), patch)
    made = makeup_of(retouched(patch, found, (1, 2)).pixels, POINTS)
    own = makeup_of(patch.pixels, POINTS)
    assert made.lids < 0.7 * own.lids
    assert made.lip_red < 0.6 * own.lip_red
    bare = replace(patch, points=None)
    plain = retouch_of(seen_head(picture_from_bgr(head), bare, head), bare)
    assert np.isnan(plain.makeup.lids) == np.isnan(NO_MAKEUP.lids)
