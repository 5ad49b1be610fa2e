from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Tensors
from engines.blending.patches import Patch, defect_of, identity_mask_of
from engines.errors import EngineFault, ModelRejected
from engines.face.swapper import Swapper, full_light_from_crop
from engines.stylegan.light import under_light
from engines.stylegan.relief import FLAT, ReliefModel, in_relief, relief_from_light
from engines.stylegan.topology import OVAL_SLICE
from tests.engines.backends.fake import Answer, FakeSession
from tests.engines.stylegan.faces import (
    drawn_face,
    generator_session,
    landmark_session,
    shape_model,
    texture_frame,
    turned,
)

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]

CROPS = np.random.default_rng(0).integers(0, 255, (2, 64, 64, 3)).astype(np.uint8)
LATENTS = np.random.default_rng(1).standard_normal((2, 4, 512)).astype(np.float32)
RELIEF = ReliefModel(
    np.zeros(16, np.float32),
    np.random.default_rng(4).normal(0, 0.01, (512, 16)).astype(np.float32),
)


def painting(value: float = 0.5) -> Answer:
    """Textures of noise, the same for everybody."""

    def answer(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        count = len(tensors["latents"])
        image = np.random.default_rng(2).uniform(-value, value, (count, 3, 64, 64))
        return {"texture": image.astype(np.float32)}

    return answer


def made_swapper(
    answer: Answer, spread: float = 0.01, yaw_deg: float = 0.0, relief: ReliefModel = FLAT
) -> Swapper:
    face = turned(drawn_face(), yaw_deg)
    networks = landmark_session(face, spread), generator_session(answer)
    return Swapper(*networks, shape_model(), texture_frame(), relief)


def test_sound_crops_give_opaque_identity_region() -> None:
    made = made_swapper(painting()).render(CROPS, LATENTS)
    assert made.pixels.shape == (2, 64, 64, 3)
    assert made.pixels.dtype == np.float32
    for pixels, alpha, identity in zip(made.pixels, made.alpha, made.identity, strict=True):
        patch = Patch(pixels, alpha, np.eye(2, 3, dtype=np.float32), identity)
        assert not defect_of(patch)
        assert (alpha[identity_mask_of(patch, 64)] == 1).all()
    assert made.alpha.min() == 0
    assert made.is_usable.all()


def test_only_latents_reach_the_generator_and_once() -> None:
    seen: list[dict[str, npt.NDArray[np.generic]]] = []

    def told(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        seen.append({name: np.asarray(one) for name, one in tensors.items()})
        return dict(painting()(tensors))

    swapper = made_swapper(told)
    for crops in (CROPS, CROPS[::-1]):
        swapper.render(crops, LATENTS)
    assert [set(one) for one in seen] == [{"latents"}]
    assert np.array_equal(seen[0]["latents"], LATENTS)


@pytest.fixture
def lit(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Float32, Float32]]:
    """Lights float32[2, 4, 4, 3] under which textures were brought, and where their faces are."""
    found: list[tuple[Float32, Float32]] = []

    def kept(texture: Float32, light: Float32, inside: Float32) -> Float32:
        found.append((light, inside))
        return under_light(texture, light, inside)

    monkeypatch.setattr("engines.face.swapper.under_light", kept)
    return found


def test_relief_is_the_surrogates_and_never_the_subjects(
    lit: list[tuple[Float32, Float32]],
) -> None:
    bearded = np.full((2, 64, 64, 3), 120, np.uint8)
    bearded[:, 36:56, 16:48] = 60
    swapper = made_swapper(painting(), relief=RELIEF)
    control = swapper.read(bearded)
    own = relief_from_light(full_light_from_crop(bearded[0], control.points[0]))
    assert np.abs(own).max() > 0.1
    assert np.abs(relief_from_light(control.light)).max() < 1e-4
    swapper.paint(control, LATENTS)
    fed = relief_from_light(np.stack([light for light, _ in lit]))
    lent = RELIEF.of_latents(LATENTS)
    level = relief_from_light(in_relief(control.light, lent))
    assert np.allclose(fed, level, atol=1e-4)
    assert np.corrcoef(fed.ravel(), lent.ravel())[0, 1] > 0.5


def test_other_pixels_with_the_same_light_change_nothing(
    lit: list[tuple[Float32, Float32]],
) -> None:
    flat = np.full((2, 64, 64, 3), 100, np.uint8)
    made_swapper(painting()).render(flat, LATENTS)
    stripes = flat.copy()
    stripes[:, ::2] += 50
    stripes[:, 1::2] -= 50
    made_swapper(painting()).render(stripes, LATENTS)
    for one, other in zip(lit[:2], lit[2:], strict=True):
        assert np.array_equal(one[1], other[1])
        assert np.abs(one[0] - other[0]).max() < 0.1


def test_painted_face_comes_under_the_light_of_its_subject() -> None:
    """A generator that paints everything dark is brought to the subject's brightness."""

    def dark(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        noise = np.random.default_rng(2).uniform(-0.1, 0.1, (len(tensors["latents"]), 3, 64, 64))
        return {"texture": (noise - 0.4).astype(np.float32)}

    bright = np.clip(CROPS // 8 + 130, 0, 255).astype(np.uint8)
    made = made_swapper(dark).render(bright, LATENTS)
    middle = made.pixels[:, 20:44, 20:44].mean()
    assert abs(float(middle) - float(bright.mean())) < 12


def test_light_changes_no_detail() -> None:
    lamps = (CROPS // 4 + 96, CROPS // 4 + 60)
    seen = [made_swapper(painting(value=0.3)).render(one, LATENTS).pixels[0] for one in lamps]
    bright, dark = (one - cv2.blur(one, (5, 5)) for one in seen)
    assert abs(float(seen[0].mean() - seen[1].mean())) > 20
    assert np.corrcoef(bright.ravel(), dark.ravel())[0, 1] > 0.999


def test_a_plain_subject_calms_its_surrogate() -> None:
    noisy = CROPS // 2 + 64
    plain = np.asarray(cv2.blur(noisy.transpose(1, 2, 3, 0).reshape(64, 64, 6), (9, 9)), np.uint8)
    plain = np.ascontiguousarray(plain.reshape(64, 64, 3, 2).transpose(3, 0, 1, 2))
    own = made_swapper(painting(value=0.6)).render(noisy, LATENTS)
    calm = made_swapper(painting(value=0.6)).render(plain, LATENTS)
    middle = (slice(None), slice(20, 44), slice(20, 44))
    assert calm.pixels[middle].std() < 0.75 * own.pixels[middle].std()
    assert np.allclose(calm.alpha, own.alpha, atol=0.02)


def test_doubtful_landmarks_are_not_usable() -> None:
    made = made_swapper(painting(), spread=0.2).render(CROPS, LATENTS)
    assert not made.is_usable.any()


def test_profile_is_not_usable() -> None:
    made = made_swapper(painting(), yaw_deg=70).render(CROPS, LATENTS)
    assert not made.is_usable.any()


def test_face_that_its_patch_would_not_hide_is_not_usable() -> None:
    """The planted fault: the chin of a face that reached beyond its crop stayed bare."""
    swapper = made_swapper(painting())
    control = swapper.read(CROPS)
    control.points[1, OVAL_SLICE, 1] += 0.15
    assert swapper.paint(control, LATENTS).is_usable.tolist() == [True, False]


def test_blank_picture_is_refused() -> None:
    with pytest.raises(EngineFault, match="blank"):
        made_swapper(painting(value=0.0)).render(CROPS, LATENTS)


def test_picture_with_nan_is_refused() -> None:
    def broken(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        return {"texture": np.full((2, 3, 64, 64), np.nan, np.float32)}

    with pytest.raises(EngineFault):
        made_swapper(broken).render(CROPS, LATENTS)


def test_generator_that_raises_is_a_fault() -> None:
    def broken(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
        raise RuntimeError("device lost")

    with pytest.raises(EngineFault):
        made_swapper(broken).render(CROPS, LATENTS)


def test_network_with_other_inputs_is_rejected() -> None:
    networks = landmark_session(drawn_face()), FakeSession(painting())
    with pytest.raises(ModelRejected, match="no kveil generator"):
        Swapper(*networks, shape_model(), texture_frame())
