from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.openvino import OpenVino
from engines.stylegan import topology
from engines.stylegan.pack import bundled_pack, donor_latents, load_role, read_pack
from engines.stylegan.retouch import Retouch
from engines.stylegan.warp import load_texture_frame

pytestmark = pytest.mark.unit

SIZE = 128
RETOUCH = Retouch(load_texture_frame(bundled_pack() / "shape.npz"), SIZE)
SKIN = np.array([0.15, 0.0, -0.1], np.float32)
LUMA = np.array([0.299, 0.587, 0.114], np.float32)

Float32 = npt.NDArray[np.float32]


def skin() -> Float32:
    """A texture that is all skin, float32[3, SIZE, SIZE]."""
    return np.ascontiguousarray(np.broadcast_to(SKIN[:, None, None], (3, SIZE, SIZE)))


def part(texture: Float32, top: float, bottom: float, left: float, right: float) -> Float32:
    """A window of a texture, bounds in crop units; a view."""
    rows, columns = (
        slice(round(a * SIZE), round(b * SIZE)) for a, b in ((top, bottom), (left, right))
    )
    return texture[:, rows, columns]


FOREHEAD = (0.1, 0.18, 0.3, 0.7)
CHEEK = (0.5, 0.6, 0.25, 0.35)
BEARD = (0.86, 0.98, 0.35, 0.65)
LIPS = (0.75, 0.83, 0.4, 0.6)


def test_plain_skin_stays() -> None:
    assert np.allclose(RETOUCH(skin()), skin(), atol=1e-3)


@pytest.mark.parametrize("right", [0.42, 0.7], ids=["strand", "fringe"])
def test_hair_on_a_forehead_becomes_skin(right: float) -> None:
    texture = skin()
    part(texture, 0.0, 0.2, 0.3, right)[:] -= 0.8
    found = part(RETOUCH(texture), *FOREHEAD)
    assert float(np.abs(found - SKIN[:, None, None]).max()) < 0.26
    assert float(np.abs(part(texture, *FOREHEAD) - SKIN[:, None, None]).max()) > 0.7


@pytest.mark.parametrize("where", [BEARD, LIPS], ids=["beard", "lips"])
def test_what_is_dark_below_the_brows_stays(where: tuple[float, float, float, float]) -> None:
    texture = skin()
    part(texture, *where)[:] -= 0.6
    middle = np.median(part(RETOUCH(texture), *where), axis=(1, 2))
    assert np.allclose(middle, SKIN - 0.6, atol=0.06)
    assert abs(float(LUMA @ middle - LUMA @ (SKIN - 0.6))) < 0.01


MARK = (0.55, 0.6, 0.22, 0.27)
TWIN = (0.55, 0.6, 0.73, 0.78)


def test_a_mark_on_one_side_goes_and_one_on_both_stays() -> None:
    stained, freckled = skin(), skin()
    for texture, places in ((stained, (MARK,)), (freckled, (MARK, TWIN))):
        for place in places:
            part(texture, *place)[:] -= 0.3

    def depth(texture: Float32) -> float:
        return float((part(skin(), *MARK) - part(RETOUCH(texture), *MARK)).mean())

    assert depth(stained) < 0.4 * depth(freckled)
    assert depth(freckled) > 0.1


def test_light_and_hue_are_alike_on_both_sides() -> None:
    texture = skin()
    texture[:, :, : SIZE // 2] += np.float32(0.2)
    found = RETOUCH(texture)
    assert np.abs(found - found[..., ::-1])[:, 40:110, 30:52].max() < 0.01
    assert abs(float(found.mean() - texture.mean())) < 0.03


def test_skin_is_of_one_hue_and_as_bright_as_it_was() -> None:
    chin = (0.86, 0.93, 0.4, 0.6)
    for added in (np.full(3, 0.4, np.float32), np.array([0.5, -0.2, -0.2], np.float32)):
        texture = skin()
        part(texture, *chin)[:] += added[:, None, None]
        apart = np.median(part(RETOUCH(texture), *chin), axis=(1, 2)) - SKIN
        assert float(LUMA @ apart) == pytest.approx(float(LUMA @ added), abs=0.02)
        hue, wanted = (np.abs(each - LUMA @ each).max() for each in (apart, added))
        assert hue < max(0.5 * wanted, 0.06)


def test_what_lies_beyond_the_face_does_not_show_at_its_rim() -> None:
    texture = skin()
    outside = RETOUCH._rim == 1
    texture[:, outside] += np.float32(0.8)
    points = load_texture_frame(bundled_pack() / "shape.npz").points * SIZE
    column, row = points[topology.OVAL_SLICE][:, :2].round().astype(int).T
    found = RETOUCH(texture)[:, row.clip(0, SIZE - 1), column.clip(0, SIZE - 1)]
    assert np.abs(found - SKIN[:, None]).mean() < 0.1


def test_specks_on_skin_are_bounded_and_details_of_features_kept() -> None:
    texture = skin()
    specks = 0.4 * np.random.default_rng(3).choice([-1, 1], (SIZE, SIZE)).astype(np.float32)
    found = RETOUCH(texture + specks) - skin()
    cheek, lips = (float(part(found, *where).std()) for where in (CHEEK, LIPS))
    assert cheek < 0.16
    assert lips > 0.38


def test_a_texture_that_is_given_is_not_changed() -> None:
    texture = skin()
    part(texture, *FOREHEAD)[:] -= 0.8
    before = texture.copy()
    RETOUCH(texture)
    assert np.array_equal(texture, before)


def test_donors_keep_no_dark_hair_on_the_forehead() -> None:
    pack = read_pack(bundled_pack())
    generator = load_role(OpenVino(), pack, "generator")
    textures = generator.run({"latents": donor_latents(pack, 24)})["texture"]
    retouch = Retouch(load_texture_frame(pack.path("shape.npz")), textures.shape[-1])
    before = np.mean([darkest(one) for one in textures])
    after = np.mean([darkest(retouch(one)) for one in textures])
    assert after < 0.85 * before


def darkest(texture: Float32) -> float:
    """How much darker than the cheeks the darkest fiftieth of a forehead is."""
    size = texture.shape[-1]
    luma = texture.mean(axis=0)
    cheeks, forehead = (
        luma[round(top * size) : round(bottom * size), size // 4 : -size // 4]
        for top, bottom in ((0.48, 0.62), (0.1, 0.18))
    )
    return float(np.median(cheeks) - np.quantile(forehead, 0.02))


def test_no_stripes_run_out_over_the_chin() -> None:
    """The planted fault: the last row of a texture was drawn out in stripes over the chin."""
    texture = skin()
    texture[:, :, ::4] -= 0.2
    found = RETOUCH(texture)
    last, cheek = found[:, -1, SIZE // 3 : -SIZE // 3], part(found, *CHEEK)
    assert np.ptp(last, axis=1).max() < 0.02
    assert np.ptp(cheek, axis=2).max() > 0.05
