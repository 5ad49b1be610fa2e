"""Grain follows the picture around a patch, focus the face that it hides."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending import harmony
from engines.blending.harmony import MOST_SIDE, Retouch, retouched, sized_patch
from engines.blending.patches import Patch, defect_of
from engines.face.alignment import crop_from_picture, identity_mask
from engines.pictures import Picture, picture_from_bgr
from engines.stylegan.topology import BROW_LEFT_SLICE
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIDE = 128


def scene(blur: float = 0.0, grain: float = 0.0) -> NDArray[np.uint8]:
    """Rectangles with hard edges, 256×256, out of focus and noisy as asked for."""
    random = np.random.default_rng(7)
    image = np.full((256, 256, 3), 120, np.uint8)
    for _ in range(60):
        x, y = (int(v) for v in random.integers(0, 230, 2))
        w, h = (int(v) for v in random.integers(12, 60, 2))
        tone = int(random.integers(20, 235))
        cv2.rectangle(image, (x, y), (x + w, y + h), (tone, tone, tone), -1)
    soft = cv2.GaussianBlur(image, (0, 0), blur) if blur else image
    noisy = soft + random.normal(0, grain, image.shape) if grain else soft
    return np.clip(noisy, 0, 255).astype(np.uint8)


def skin(grain: float = 0.0) -> NDArray[np.uint8]:
    """Pores all over, 256×256, noisy as asked for."""
    random = np.random.default_rng(5)
    pores = cv2.GaussianBlur(random.normal(0, 40, (256, 256)), (0, 0), 1.0)[..., None]
    noisy = np.full((256, 256, 3), 120) + pores + random.normal(0, max(grain, 0.01), (256, 256, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def patch_at(scale: float = 1.0, size: int = SIDE) -> Patch:
    """A sharp, clean patch over the middle of the scene, `scale` crop px per frame px."""
    painted = cv2.resize(scene()[64:192, 64:192], (size, size)).astype(np.float32)
    alpha = identity_mask(size).astype(np.float32)
    place = np.array([[scale, 0, -64 * scale], [0, scale, -64 * scale]], np.float32)
    return Patch(painted, alpha, place)


def retouch_of(picture: Picture, patch: Patch) -> Retouch:
    """What a patch lacks beside what its crop shows of the picture."""
    head = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    return harmony.retouch_of(harmony.seen_head(picture, patch, head), patch)


def test_clean_sharp_surroundings_ask_for_nothing() -> None:
    found = retouch_of(picture_from_bgr(scene()), patch_at())
    assert found.blur < 0.4
    assert found.grain < 1.0


@pytest.mark.parametrize("blur", [1.2, 2.0])
def test_blur_of_the_picture_is_measured(blur: float) -> None:
    found = retouch_of(picture_from_bgr(scene(blur)), patch_at())
    assert found.blur == pytest.approx(blur, rel=0.3)


@pytest.mark.parametrize("grain", [3.0, 6.0])
def test_grain_of_the_surroundings_is_measured(grain: float) -> None:
    # Grey takes the mean of three channels of independent noise.
    expected = grain * np.linalg.norm([0.114, 0.587, 0.299])
    found = retouch_of(picture_from_bgr(scene(grain=grain)), patch_at())
    assert found.grain == pytest.approx(expected, rel=0.35)


def under_patch(above: NDArray[np.uint8], around: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One picture where the patch lies, another one around it."""
    inside = np.zeros((256, 256, 1), np.float32)
    inside[64:192, 64:192, 0] = patch_at().alpha
    return np.rint(around * (1 - inside) + above * inside).astype(np.uint8)


def test_grain_under_the_patch_is_not_looked_at() -> None:
    first, second = (
        retouch_of(picture_from_bgr(under_patch(scene(grain=grain), scene(grain=2.0))), patch_at())
        for grain in (0.0, 8.0)
    )
    assert first.grain == pytest.approx(second.grain, abs=0.5)


def test_face_of_soft_edges_and_fine_skin_keeps_its_fine_details() -> None:
    """Edges of cheeks and lips are wide in focus too; their width alone would blur the skin."""
    pores = np.random.default_rng(3).normal(0, 14, (256, 256, 1))
    smooth = scene(2.0).astype(np.float32)
    rough = np.clip(smooth + cv2.GaussianBlur(pores, (0, 0), 0.8)[..., None], 0, 255)
    soft = retouch_of(picture_from_bgr(under_patch(scene(2.0), scene(2.0))), patch_at())
    fine = retouch_of(picture_from_bgr(under_patch(rough.astype(np.uint8), scene(2.0))), patch_at())
    assert soft.blur > 1.4
    assert fine.blur < 0.8 * soft.blur


def test_face_that_is_out_of_focus_before_sharp_things_gets_a_soft_patch() -> None:
    found = retouch_of(picture_from_bgr(under_patch(scene(2.0), scene())), patch_at())
    assert found.blur == pytest.approx(2.0, rel=0.3)


def test_face_that_is_in_focus_before_soft_things_stays_sharp() -> None:
    """The planted fault: in portraits whose background is out of focus faces were blurred."""
    found = retouch_of(picture_from_bgr(under_patch(scene(), scene(2.5))), patch_at())
    assert found.blur < 0.6


def test_face_without_edges_takes_the_focus_of_what_is_around_it() -> None:
    image = np.full((256, 256, 3), 120, np.uint8)
    for x, y in ((68, 68), (178, 68), (68, 178), (178, 178)):
        cv2.rectangle(image, (x, y), (x + 10, y + 10), (230, 230, 230), -1)
    soft = np.asarray(cv2.GaussianBlur(image, (0, 0), 1.5), np.uint8)
    sharp, softer = (retouch_of(picture_from_bgr(one), patch_at()).blur for one in (image, soft))
    assert sharp < 0.6
    assert softer == pytest.approx(1.5, rel=0.3)


def patch_of_skin(blur: float = 0.0) -> Patch:
    """A clean patch over the middle of the skin, as soft as asked for."""
    pixels = skin()[64:192, 64:192].astype(np.float32)
    soft = cv2.GaussianBlur(pixels, (0, 0), blur) if blur else pixels
    return replace(patch_at(), pixels=np.asarray(soft, np.float32))


def test_a_soft_patch_over_a_face_in_focus_becomes_crisper_within_bounds() -> None:
    soft = patch_of_skin(0.7)
    found = retouch_of(picture_from_bgr(skin()), soft)
    assert 1.1 < found.crispness < 1.85
    made = retouched(soft, Retouch(0.0, 0.0, found.crispness), (1, 2))
    steps = [
        float(np.abs(np.diff(one.pixels, axis=0)).mean()) for one in (soft, made, patch_of_skin())
    ]
    assert 1.05 * steps[0] < steps[1] < 1.2 * steps[2]


@pytest.mark.parametrize("grain", [0.0, 6.0])
def test_a_patch_as_sharp_as_its_face_stays_so_in_any_grain(grain: float) -> None:
    """The planted fault: grain taken for details would be added twice."""
    found = retouch_of(picture_from_bgr(skin(grain)), patch_of_skin())
    assert found.crispness == pytest.approx(1.0, abs=0.05)


def test_pores_over_smooth_skin_become_fainter_and_lashes_stay() -> None:
    patch, smooth = patch_of_skin(), np.asarray(cv2.GaussianBlur(skin(), (0, 0), 1.2), np.uint8)
    for y in range(80, 180, 20):
        cv2.rectangle(smooth, (70, y), (186, y + 4), (10, 10, 10), -1)
        cv2.rectangle(patch.pixels, (6, y - 64), (122, y - 60), (10, 10, 10), -1)
    found = retouch_of(picture_from_bgr(smooth), patch)
    assert found.blur < 0.3
    assert 0.5 <= found.crispness < 0.9
    flat = np.full_like(patch.pixels, 120)
    flat[::8, ::8] += 4
    flat[60:64] = 20
    made = retouched(replace(patch, pixels=flat), Retouch(0.0, 0.0, 0.5), (1, 2)).pixels
    assert np.ptp(made[:40]) < 0.75 * np.ptp(flat[:40])
    np.testing.assert_allclose(made[62], flat[62], atol=2)


def test_hairs_of_brows_over_smooth_skin_stay() -> None:
    """The planted fault: brows over filtered skin became smears."""
    points = np.asarray(drawn_face()[:, :2], np.float32)
    x, y = (points[BROW_LEFT_SLICE].mean(axis=0) * SIDE).astype(int)
    pixels = np.full((SIDE, SIDE, 3), 120, np.float32)
    pixels[:, ::3] += 6
    place, alpha = np.eye(2, 3, dtype=np.float32), np.ones((SIDE, SIDE), np.float32)
    patch = Patch(pixels, alpha, place, points=np.stack([points, points]))
    made = retouched(patch, Retouch(0.0, 0.0, 0.4), (1, 2)).pixels
    around = np.s_[y - 2 : y + 2, x - 6 : x + 6]
    cheek = np.s_[y + SIDE // 4 : y + SIDE // 4 + 4, x - 6 : x + 6]
    assert made[around].std() > 0.9 * pixels[around].std()
    assert made[cheek].std() < 0.7 * pixels[cheek].std()


def test_brows_over_a_softer_head_become_as_faint_as_its_own() -> None:
    """The planted fault: eyes and brows stand out of a soft picture as if drawn on it."""
    points = np.stack([np.asarray(drawn_face()[:, :2], np.float32)] * 2)
    patch = replace(patch_of_skin(), points=points)
    soft = np.clip(120 + 0.6 * (skin().astype(np.float32) - 120), 0, 255).astype(np.uint8)
    found = retouch_of(picture_from_bgr(soft), patch)
    assert found.features == pytest.approx(0.6, abs=0.1)
    assert retouch_of(picture_from_bgr(skin()), patch).features > 0.9
    x, y = (points[0, BROW_LEFT_SLICE].mean(axis=0) * SIDE).astype(int)
    around = np.s_[y - 2 : y + 2, x - 6 : x + 6]
    made = retouched(patch, Retouch(0.0, 0.0, features=0.6), (1, 2)).pixels
    assert made[around].std() < 0.85 * patch.pixels[around].std()


def test_lines_of_glasses_make_no_skin_crisper() -> None:
    worn = skin()
    for x in (80, 130):
        cv2.rectangle(worn, (x, 100), (x + 40, 130), (10, 10, 10), 2)
    found = retouch_of(picture_from_bgr(worn), patch_of_skin())
    assert found.crispness == pytest.approx(1.0, abs=0.1)


def test_face_in_the_dark_that_shows_no_details_gets_a_soft_patch() -> None:
    """A crisp face would be the only one in a dark hall."""
    dark = np.full((256, 256, 3), 20, np.uint8)
    dark[::3] += 1
    found = retouch_of(picture_from_bgr(dark), patch_at())
    assert found.blur > 2


def test_retouched_patch_is_softer_and_noisier_and_still_sound() -> None:
    patch = patch_at()
    soft = retouched(patch, Retouch(2.0, 0.0), (1, 0))
    noisy = retouched(patch, Retouch(0.0, 5.0), (1, 0))
    assert (
        np.abs(np.diff(soft.pixels, axis=1)).max()
        < 0.5 * np.abs(np.diff(patch.pixels, axis=1)).max()
    )
    assert (noisy.pixels - patch.pixels).std() == pytest.approx(5.0, rel=0.2)
    assert not defect_of(soft)
    assert not defect_of(noisy)


def test_same_seed_gives_the_same_grain_and_another_frame_another() -> None:
    first, again = (retouched(patch_at(), Retouch(0.0, 5.0), (1, 7)) for _ in range(2))
    other = retouched(patch_at(), Retouch(0.0, 5.0), (1, 8))
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)


@pytest.mark.parametrize(("scale", "side"), [(2.0, 64), (1.0, 128), (0.5, 256), (0.1, MOST_SIDE)])
def test_patch_takes_the_size_that_its_face_has(scale: float, side: int) -> None:
    sized = sized_patch(patch_at(scale))
    assert sized.pixels.shape == (side, side, 3)
    assert not defect_of(sized)
    corner = np.array([64 + SIDE / scale, 64 + SIDE / scale, 1])
    assert np.allclose(sized.crop_from_frame @ corner, [side, side], atol=0.01)


def test_face_at_the_edge_of_the_frame_is_measured_inside_it() -> None:
    patch = Patch(patch_at().pixels, patch_at().alpha, np.eye(2, 3, dtype=np.float32))
    outside = Patch(
        patch.pixels,
        patch.alpha,
        patch.crop_from_frame + np.float32(60) * np.array([[0, 0, 1], [0, 0, 1]], np.float32),
    )
    assert np.isfinite(retouch_of(picture_from_bgr(scene()), outside).grain)
