"""What is painted on a face stays where its pixels go, and nothing old is held where it changes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.patches import Patch
from engines.face import temporal_consistency
from engines.face.alignment import EYES
from engines.face.face_flow import FaceFlow
from engines.face.face_look import crop_with_eyes
from engines.face.temporal_consistency import TemporalConsistency
from engines.stylegan.lids import EYES as EYELIDS
from engines.stylegan.lids import drawn_together
from tests.engines.face.moving_pictures import shift, shown, textured
from tests.engines.stylegan.faces import drawn_face, drawn_look

pytestmark = pytest.mark.unit

SIZE = 96
FACE = drawn_face()
X, Y = 110.0, 100.0


def lines(x: float = 0.0, y: float = 0.0, strength: float = 60.0) -> NDArray[np.float32]:
    """A face's dark lines, `x` and `y` px beside their place."""
    across, down = np.meshgrid(np.arange(SIZE) - x, np.arange(SIZE) - y)
    wave = np.sin(across / 4) + np.sin(down / 5)
    grey = (120 + 0.5 * strength * wave).astype(np.float32)
    return np.asarray(cv2.merge([grey, grey, grey]), np.float32)


def patch_at(x: float, pixels: NDArray[np.float32]) -> Patch:
    place = crop_with_eyes(np.array([x, Y, 40, 0], np.float32), EYES, SIZE)
    return Patch(pixels, np.ones((SIZE, SIZE), np.float32), place)


def seen(*places: float) -> FaceFlow:
    """The flow of a face whose pixels lie so many px to the right in each frame."""
    flow, image = FaceFlow(), textured()
    for index, place in enumerate(places):
        flow.add(drawn_look(index, x=X + place, y=Y), shown(image, shift(place, 0)))
    return flow


def away(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    inner = np.s_[12:-12, 12:-12]
    return float(np.abs(first - second)[inner].mean())


def test_lines_that_tremble_are_held_where_they_were() -> None:
    flow, steady = seen(0, 0), TemporalConsistency()
    first = steady.steadied(patch_at(X, lines()), FACE, 0, flow).pixels
    trembling = lines(x=0.5, y=-0.4)
    second = steady.steadied(patch_at(X, trembling), FACE, 1, flow).pixels
    assert away(second, first) < 0.3 * away(trembling, first)


def test_what_was_painted_moves_along_with_the_pixels() -> None:
    """The head goes 7 px to the right, the landmarks say 6: the lines go 7."""
    flow, steady = seen(0, 7), TemporalConsistency()
    steady.steadied(patch_at(X, lines()), FACE, 0, flow)
    held = steady.steadied(patch_at(X + 6, lines()), FACE, 1, flow).pixels
    scale = SIZE * (EYES[1][0] - EYES[0][0]) / 40
    assert away(held, lines(x=float(scale))) < 0.4 * away(lines(), lines(x=float(scale)))


def followed(*brighter: float, strength: float = -240.0) -> float:
    """How much of a new look is missed in a face whose own pixels become so much brighter."""
    flow, steady, image = FaceFlow(), TemporalConsistency(), textured()
    for index, change in enumerate(brighter):
        changed = np.clip(image.astype(np.float32) + np.float32(change), 0, 255).astype(np.uint8)
        flow.add(drawn_look(index, x=X, y=Y), shown(changed, shift(0, 0)))
    steady.steadied(patch_at(X, lines()), FACE, 0, flow)
    other = lines(strength=strength)
    made = steady.steadied(patch_at(X, other), FACE, 1, flow).pixels
    return away(made, other) / away(lines(), other)


def test_a_new_look_is_followed_at_once_where_the_face_looks_new() -> None:
    """A blink, lips that open: the original's own pixels change there."""
    assert followed(0.0, 20.0) < 0.25


def test_a_soft_look_is_followed_as_well() -> None:
    """The planted fault: of soft lids that shut most stayed open."""
    assert followed(0.0, 20.0, strength=0.0) < 0.25


def test_eyes_that_shut_are_those_of_now_and_nothing_else_is() -> None:
    """The planted fault: lids that shut over four frames stayed half open."""
    flow, steady = seen(0, 0), TemporalConsistency()
    shut = drawn_together(FACE[None], np.zeros((1, 2), np.float32))[0]
    first = steady.steadied(patch_at(X, lines()), FACE, 0, flow).pixels
    other = lines(x=0.8)
    made = steady.steadied(patch_at(X, other), shut, 1, flow).pixels
    for lids in EYELIDS:
        x, y = np.rint(FACE[lids, :2].mean(axis=0) * SIZE).astype(int)
        eye = np.s_[y - 4 : y + 4, x - 6 : x + 6]
        assert np.abs(made - other)[eye].mean() < 0.1 * np.abs(first - other)[eye].mean()
    mouth = np.s_[round(0.7 * SIZE) : -8, 30:-30]
    assert np.abs(made - other)[mouth].mean() > 0.5 * np.abs(first - other)[mouth].mean()


def test_more_is_held_where_the_face_looks_as_it_did() -> None:
    """The planted fault: in frames shown twice, brows and lids moved on."""
    assert followed(0.0, 0.0) > followed(0.0, 20.0) + 0.1


def test_noise_is_no_new_look() -> None:
    flow, steady, image = FaceFlow(), TemporalConsistency(), textured()
    noise = np.random.default_rng(1).normal(0, 12, (2, *image.shape))
    for index, one in enumerate(noise):
        noisy = np.clip(image + one, 0, 255).astype(np.uint8)
        flow.add(drawn_look(index, x=X, y=Y), shown(noisy, shift(0, 0)))
    first = steady.steadied(patch_at(X, lines(strength=120.0)), FACE, 0, flow).pixels
    trembling = lines(x=2.4, y=-2.0, strength=120.0)
    second = steady.steadied(patch_at(X, trembling), FACE, 1, flow).pixels
    assert away(second, first) < 0.27 * away(trembling, first)


def test_light_is_that_of_now() -> None:
    flow, steady = seen(0, 0), TemporalConsistency()
    steady.steadied(patch_at(X, lines()), FACE, 0, flow)
    lit = lines() + np.linspace(0, 40, SIZE, dtype=np.float32)[None, :, None]
    made = steady.steadied(patch_at(X, lit), FACE, 1, flow).pixels
    assert away(made, lit) < 0.15 * away(lines(), lit)


def test_frame_whose_motion_is_unknown_is_painted_as_it_is() -> None:
    flow, steady = seen(0, 0), TemporalConsistency()
    steady.steadied(patch_at(X, lines()), FACE, 0, flow)
    moved = lines(x=0.5)
    assert steady.steadied(patch_at(X, moved), FACE, 5, flow).pixels is moved


def test_face_that_enters_again_takes_nothing_from_beyond_the_old_patch() -> None:
    flow, steady = seen(0, 0), TemporalConsistency()
    steady.steadied(patch_at(X - 60, lines(strength=5.0)), FACE, 0, flow)
    moved = lines(x=0.5, strength=5.0)
    made = steady.steadied(patch_at(X + 60, moved), FACE, 1, flow).pixels
    assert np.allclose(made, moved, atol=1e-3)


def test_hairs_that_tremble_stay_hairs() -> None:
    """The planted fault: lines of a pixel's width, each frame a fraction beside, became smears."""
    flow, steady = seen(*[0.0] * 9), TemporalConsistency()
    across = np.arange(SIZE, dtype=np.float32)
    for index in range(9):
        hairs = 120 + 10 * np.sin((across + 0.8 * (index % 3)) * 2 * np.pi / 4)
        pixels = np.broadcast_to(hairs[None, :, None], (SIZE, SIZE, 3)).astype(np.float32)
        made = steady.steadied(patch_at(X, pixels), FACE, index, flow).pixels
    assert made[20:-20, 20:-20].std() > 0.75 * pixels[20:-20, 20:-20].std()


def test_long_memory_keeps_lines_sharp() -> None:
    flow, steady = seen(*[0.37 * index for index in range(12)]), TemporalConsistency()
    for index in range(12):
        made = steady.steadied(patch_at(X + 0.37 * index, lines()), FACE, index, flow).pixels
    assert made[12:-12, 12:-12].std() > 0.95 * lines()[12:-12, 12:-12].std()


def held_under_a_hand() -> float:
    """How much of the frame before is kept where something else has come before the face."""
    flow, steady, image = FaceFlow(), TemporalConsistency(), textured()
    hand = image.copy()
    hand[: round(Y)] = textured(seed=5)[: round(Y)]
    for index, picture in enumerate((image, hand)):
        flow.add(drawn_look(index, x=X, y=Y), shown(picture, shift(0, 0)))
    steady.steadied(patch_at(X, lines(strength=20.0)), FACE, 0, flow)
    now = lines(x=0.5, strength=20.0)
    made = steady.steadied(patch_at(X, now), FACE, 1, flow).pixels
    return float(np.abs(made - now)[12 : round(float(EYES[0][1]) * SIZE) - 8, 12:-12].mean())


def test_less_is_held_where_pixels_do_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_under_a_hand()
    monkeypatch.setattr(temporal_consistency, "_ASTRAY", 100.0)
    assert held < 0.75 * held_under_a_hand()
