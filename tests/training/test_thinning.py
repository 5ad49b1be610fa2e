"""Donors are thinned out by how they look now, attributes and all, to a pack that still loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from training import thinning
from training.choosing import Shown
from training.nearest import Nearness

pytestmark = pytest.mark.unit

PEOPLE = 8
Float32 = npt.NDArray[np.float32]


def write_donors(folder: Path) -> None:
    """Eight donors of two ages, each named by the first number of its latent."""
    latents = np.zeros((PEOPLE, 1, 512), np.float16)
    latents[:, 0, 0] = np.arange(PEOPLE)
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": latents,
        "mean": np.zeros((12, 512), np.float32),
        "attribute.age": np.arange(PEOPLE, dtype=np.int16) % 2,
        "values.age": np.array(["young", "old"]),
    }
    np.savez_compressed(folder / "donors.npz", allow_pickle=False, **arrays)


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack whose people 0 and 2 look the same, as do 1 and 3."""
    write_donors(tmp_path)
    np.save(tmp_path / "split.npy", np.zeros(4, bool))
    looks = np.eye(PEOPLE, dtype=np.float32)
    looks[2], looks[3] = looks[0], looks[1]

    def shown(*given: object) -> Shown:
        assert isinstance(given[2], np.ndarray)
        assert given[2].shape == (PEOPLE, 12, 512)
        return Shown({"edgeface": looks}, np.zeros(PEOPLE, np.float32))

    def nearness(pictures: Float32, *_: object) -> dict[str, Nearness]:
        cosines = np.linspace(0, 0.5, len(pictures), dtype=np.float32)
        return {"edgeface": Nearness(cosines, cosines, looks[: len(pictures)])}

    monkeypatch.setattr(thinning, "shown", shown)
    monkeypatch.setattr(thinning, "nearness", nearness)
    monkeypatch.setattr(thinning, "portraits", lambda *given: (given[2], given[2]))
    monkeypatch.setattr(thinning, "is_real_adult", lambda _: np.ones(4, bool))
    for name in ("unlisted_swapper", "load_shape_model"):
        monkeypatch.setattr(thinning, name, lambda *_: None)
    return tmp_path


def test_of_two_that_look_alike_one_is_left_and_keeps_its_attributes(pack: Path) -> None:
    facts = thinning.write(pack, pack, pack, 6, 1)
    with np.load(pack / "donors.npz", allow_pickle=False) as file:
        left = file["latents"][:, 0, 0].astype(int)
        assert len(left) == len(set(left.tolist())) == 6
        assert len({0, 2} & set(left.tolist())) == len({1, 3} & set(left.tolist())) == 1
        assert file["attribute.age"].tolist() == (left % 2).tolist()
        assert file["mean"].shape == (12, 512)
        assert file["values.age"].tolist() == ["young", "old"]
    assert facts["donors"] == 6
    assert facts["nearest_donors_most_edgeface"] == pytest.approx(0.5)
