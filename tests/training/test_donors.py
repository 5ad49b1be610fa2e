from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest

from training import choosing
from training.axes import axes
from training.choosing import Shown, chosen_under_control, unlike
from training.mixtures import STRETCH, mixtures

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


def test_axes_are_orthonormal() -> None:
    found = axes(144)
    assert np.allclose(found.T @ found, np.eye(144), atol=1e-5)


def test_mixtures_are_as_spread_as_they_should_be() -> None:
    people = np.random.default_rng(0).standard_normal((500, 40)).astype(np.float32)
    made = mixtures(people, 2000, 1)
    assert made.std() == pytest.approx(STRETCH, rel=0.05)
    assert np.array_equal(made, mixtures(people, 2000, 1))


def test_lookalikes_are_chosen_last_and_rare_bins_first() -> None:
    random = np.random.default_rng(0)
    seen = random.standard_normal((100, 16)).astype(np.float32)
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    seen[1] = seen[0]
    bins = [{"gender": "female"}] * 90 + [{"gender": "male"}] * 10
    chosen = unlike({"edgeface": seen}, bins, 20)
    assert (chosen >= 90).sum() == 10
    assert not {0, 1} <= set(chosen.tolist())


def test_who_is_alike_to_one_recogniser_alone_is_alike() -> None:
    other, same = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[[0, 0, 2]]
    for seen in (
        {"edgeface": same, "mobilefacenet": other},
        {"edgeface": other, "mobilefacenet": same},
    ):
        assert unlike(seen, [{}, {}, {}], 2).tolist() == [0, 2]


def test_every_round_has_other_controls_and_leaves_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    people = np.eye(10, dtype=np.float32)
    people[1] = people[0]
    seeds: list[int] = []

    def shown(_: object, __: object, latents: Float32, *rest: object) -> Shown:
        seeds.append(int(str(rest[-1])))
        rows = latents[:, 0].astype(int)
        return Shown({"edgeface": people[rows]}, (rows == 9).astype(np.float32))

    monkeypatch.setattr(choosing, "shown", shown)
    monkeypatch.setattr(choosing, "ROUNDS", ((9, 0.9), (5, 1.0)))
    folder, latents = Path(), np.arange(10, dtype=np.float32)[:, None]
    left = chosen_under_control(Mock(), Mock(), latents, [{}] * 10, folder, folder, 7)
    assert seeds == [7, 8]
    assert len(left) == 5
    assert 9 not in left
    assert not {0, 1} <= set(left.tolist())
