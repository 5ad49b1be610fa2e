"""What donors' textures lack is painted back for mixtures of donors, and for nobody else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.errors import EngineFault, ModelRejected
from engines.stylegan.details import DETAIL_SCALE, DonorDetails, load_details, write_details
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
SIZE = 16
DONORS = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
TONES = np.linspace(-0.5, 0.5, 6, dtype=np.float32)


def bank(folder: Path, donors: Float32 = DONORS) -> DonorDetails:
    """One tone for each donor, more of it in red."""
    differences = np.zeros((len(donors), 3, SIZE, SIZE), np.float32)
    differences += TONES[: len(donors), None, None, None]
    differences[:, 0] += 0.2
    path = folder / "details.npz"
    write_details(path, differences)
    return load_details(path, donors)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(0.1, 1), min_size=3, max_size=3),
)
@settings(max_examples=60)
def test_weights_of_a_mixture_are_those_it_was_mixed_with(
    members: list[int], shares: list[float]
) -> None:
    wanted = np.zeros(6, np.float32)
    wanted[members] = shares[: len(members)]
    wanted /= wanted.sum()
    details = DonorDetails(DONORS, (b"",) * 6, SIZE)
    assert np.allclose(details.weights_of(wanted @ DONORS), wanted, atol=1e-3)


def test_details_of_a_mixture_are_mixed_by_the_same_weights(tmp_path: Path) -> None:
    details = bank(tmp_path)
    mixed = details.of_latent(0.75 * DONORS[0] + 0.25 * DONORS[5])
    tone = 0.75 * TONES[0] + 0.25 * TONES[5]
    assert mixed.shape == (3, SIZE, SIZE)
    assert np.allclose(mixed[0], tone + 0.2, atol=0.03)
    assert np.allclose(mixed[1:], tone, atol=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_strangers_get_nothing(tmp_path: Path, seed: int) -> None:
    stranger = np.random.default_rng(90 + seed).standard_normal(40).astype(np.float32)
    details = bank(tmp_path)
    assert not details.weights_of(stranger).any()
    assert not details.of_latent(stranger).any()


def test_differences_come_back_as_they_were_written(tmp_path: Path) -> None:
    smooth = np.linspace(-0.8, 0.8, SIZE, dtype=np.float32)
    differences = np.zeros((2, 3, SIZE, SIZE), np.float32) + smooth
    differences[1] = differences[1].transpose(0, 2, 1)
    path = tmp_path / "details.npz"
    write_details(path, differences)
    details = load_details(path, DONORS[:2])
    for donor, wanted in zip(DONORS, differences, strict=False):
        assert np.abs(details.of_latent(donor) - wanted).max() < 12 / DETAIL_SCALE


def spoiled(path: Path, fault: str) -> None:
    """Breaks one thing of a bank."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    if fault == "no archive":
        path.write_bytes(b"not this one")
        return
    if fault == "no sizes":
        del arrays["size"]
    elif fault == "cut off":
        arrays["pictures"] = arrays["pictures"][:-5]
    elif fault == "out of order":
        arrays["ends"] = arrays["ends"][[1, 0, *range(2, len(arrays["ends"]))]]
    elif fault == "huge":
        arrays["size"] = np.array(1 << 20)
    np.savez(path, allow_pickle=False, **arrays)


@pytest.mark.parametrize("fault", ["no archive", "no sizes", "cut off", "out of order", "huge"])
def test_damaged_bank_is_refused(tmp_path: Path, fault: str) -> None:
    bank(tmp_path)
    path = tmp_path / "details.npz"
    spoiled(path, fault)
    with pytest.raises(ModelRejected, match=r"details\.npz"):
        load_details(path, DONORS)


def test_bank_that_unpacks_to_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "details.npz"
    zeros = np.zeros(4_000_000, np.uint8)
    np.savez_compressed(path, pictures=zeros, ends=np.array([zeros.size]), size=np.array(8))
    with pytest.raises(ModelRejected, match="unpacks to more"):
        load_details(path, np.eye(1, 4, dtype=np.float32))


def test_bank_of_other_donors_is_refused(tmp_path: Path) -> None:
    bank(tmp_path)
    with pytest.raises(ModelRejected, match="does not fit"):
        load_details(tmp_path / "details.npz", DONORS[:5])


@pytest.mark.parametrize("content", [b"no picture", None])
def test_damaged_picture_is_refused_when_it_is_needed(
    tmp_path: Path, content: bytes | None
) -> None:
    """The planted fault: no picture at all, or one of another size."""
    whole = bank(tmp_path)
    other = whole.pictures[1] if content is None else content
    size = 2 * SIZE if content is None else SIZE
    details = DonorDetails(DONORS, (other, *whole.pictures[1:]), size)
    with pytest.raises(EngineFault):
        details.of_latent(DONORS[0])


def test_bundled_bank_knows_mixtures_of_its_donors_and_no_stranger() -> None:
    pack = read_pack(bundled_pack())
    donors = donor_latents(pack)[:, 0]
    details = load_details(pack.path("details.npz"), donors)
    mixed = np.asarray(0.6 * donors[3] + 0.4 * donors[11], np.float32)
    weights = details.weights_of(mixed)
    assert np.allclose(weights[[3, 11]], [0.6, 0.4], atol=0.02)
    assert np.count_nonzero(weights) == 2
    assert details.of_latent(mixed).std() > 0.01
    stranger = np.random.default_rng(1).permutation(mixed)
    assert not details.weights_of(stranger).any()
