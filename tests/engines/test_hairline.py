"""Where hair begins and ends is read off what is around a face, whatever colour it has."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.backends.openvino import OpenVino
from engines.errors import EngineFault, ModelRejected
from engines.hairline import Hair, HairNetwork
from engines.polar import GRID, RAYS, STEPS, UP, distances, grid_from_rays, wave
from engines.stylegan.pack import bundled_pack
from tests.engines.heads import SKIN, head_on_rays

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
PATCH = np.full(RAYS, 0.46, np.float32)
ABOVE = UP > 0.5
DARK, WALL = (25, 30, 40), (200, 195, 190)


@cache
def network() -> HairNetwork:
    return HairNetwork(OpenVino().load(bundled_pack() / "hair.onnx"))


def read(on_rays: Float32, hidden: Float32 = PATCH) -> Hair:
    return network().read(grid_from_rays(on_rays), hidden, SKIN)


class Telling:
    """A network that says what it is told, whatever it sees."""

    precision = "fp32"
    inputs = (TensorSpec("around", (1, 4, GRID, GRID), np.dtype(np.float32)),)
    outputs = (TensorSpec("hair", (1, 1, GRID, GRID), np.dtype(np.float32)),)

    def __init__(self, told: Float32) -> None:
        self.told = told
        self.fed = np.empty(0, np.float32)

    def run(self, tensors: Tensors) -> dict[str, Float32]:
        self.fed = np.asarray(tensors["around"])
        return {"hair": self.told.reshape(1, 1, GRID, GRID)}

    def close(self) -> None: ...


def telling(begins: Float32 | float, ends: float) -> Telling:
    """Sure of hair between two distances, and of none elsewhere."""
    first = np.broadcast_to(begins, RAYS)[:, None]
    is_hair = (distances() > first) & (distances() < ends)
    return Telling(grid_from_rays(np.where(is_hair, 8, -8).astype(np.float32)[..., None]))


def borders_of(session: Telling, hidden: Float32 = PATCH) -> Hair:
    black = np.zeros((GRID, GRID, 3), np.float32)
    return HairNetwork(session).read(black, hidden, SKIN)


@pytest.mark.parametrize(
    ("hair", "wall"),
    [(DARK, WALL), (DARK, (90, 60, 30)), ((40, 60, 120), (225, 220, 200)), ((30, 60, 140), WALL)],
)
def test_hair_of_any_colour_is_found(
    hair: tuple[float, float, float], wall: tuple[float, float, float]
) -> None:
    found = read(head_on_rays(0.6, 0.86, hair, wall))
    assert np.abs(found.begins - 0.6)[ABOVE].mean() < 0.09
    assert np.abs(found.ends - 0.86)[ABOVE].mean() < 0.09


def test_bald_head_has_hardly_any_hair() -> None:
    found = read(head_on_rays(0.62, 0.62))
    hairy = read(head_on_rays(0.5, 0.76))
    width, usual = ((one.ends - one.begins)[ABOVE].mean() for one in (found, hairy))
    assert width < 0.3 * usual


def test_hair_of_which_there_is_none_lies_at_the_patch() -> None:
    """Hair that came into view was looked for between there and somewhere, and seen late."""
    none = borders_of(telling(0.0, 0.0))
    assert np.array_equal(none.begins[ABOVE], PATCH[ABOVE])
    assert np.array_equal(none.ends[ABOVE], PATCH[ABOVE])


def test_hair_as_bright_as_the_wall_is_found_by_where_it_must_be() -> None:
    around = head_on_rays(0.55, 0.8, (60, 60, 60), (60, 60, 60))
    found = read(around)
    assert (found.ends - found.begins)[ABOVE].mean() > 0.1


def test_hairline_of_any_shape_is_followed() -> None:
    line = (0.6 + 0.06 * wave(2)).astype(np.float32)
    found = borders_of(telling(line, 0.9))
    assert np.abs(found.begins - line)[ABOVE].max() < 0.05
    assert np.abs(found.ends - 0.9)[ABOVE].max() < 0.05


def test_fringe_begins_at_the_patch() -> None:
    found = borders_of(telling(0.3, 0.86))
    assert np.abs(found.begins - PATCH)[ABOVE].max() < 0.03


def test_doubtful_place_counts_as_hair() -> None:
    """The planted fault: hair of which the network is not sure, and a head that would keep it."""
    doubtful = telling(0.55, 0.85)
    doubtful.told = np.where(doubtful.told > 0, np.float32(-0.8), doubtful.told)
    found = borders_of(doubtful)
    assert (found.ends - found.begins)[ABOVE].mean() > 0.2


def test_only_what_is_surely_hair_is_told_so() -> None:
    sure, doubtful = telling(0.55, 0.85), telling(0.55, 0.85)
    doubtful.told = np.where(doubtful.told > 0, np.float32(-0.8), doubtful.told)
    inside = np.broadcast_to((distances() > 0.6) & (distances() < 0.8), (RAYS, STEPS))
    told = borders_of(sure).places
    assert told[inside].min() > 0.95
    assert (
        told[~np.broadcast_to((distances() > 0.5) & (distances() < 0.9), told.shape)].max() < 0.05
    )
    assert not borders_of(doubtful).places.any()


def test_nothing_under_the_patch_is_shown_to_the_network() -> None:
    fed = []
    random = np.random.default_rng(1)
    for _ in range(2):
        session = telling(0.55, 0.85)
        around = np.full((GRID, GRID, 3), 90, np.float32)
        near = grid_from_rays((distances() < 0.44).astype(np.float32).repeat(RAYS, 0)[..., None])
        around[near > 0] = random.uniform(0, 255, 3)
        HairNetwork(session).read(around, PATCH, SKIN)
        fed.append(session.fed)
    assert np.array_equal(fed[0], fed[1])
    assert fed[0][0, 3].max() == 1


def test_network_that_fails_covers_the_face() -> None:
    with pytest.raises(EngineFault, match="hair"):
        borders_of(Telling(np.full((GRID, GRID), np.nan, np.float32)))


def test_network_of_another_kind_is_refused() -> None:
    wrong = telling(0.5, 0.8)
    wrong.outputs = (TensorSpec("hair", (1, 2, GRID, GRID), np.dtype(np.float32)),)
    with pytest.raises(ModelRejected, match="hair"):
        HairNetwork(wrong)


@given(arrays(np.int8, (GRID // 8, GRID // 8)), st.floats(0.2, 1.4))
@settings(max_examples=30, deadline=None)
def test_whatever_is_told_borders_lie_in_order_beyond_the_patch(
    told: NDArray[np.int8], radius: float
) -> None:
    hidden = np.full(RAYS, radius, np.float32)
    logits = np.kron(told, np.ones((8, 8))).astype(np.float32) / np.float32(16)
    found = borders_of(Telling(logits), hidden)
    assert np.isfinite(found.ends).all()
    assert (found.begins >= hidden).all()
    assert (found.ends >= found.begins).all()
