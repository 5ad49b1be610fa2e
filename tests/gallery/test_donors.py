"""Who may be chosen, how a surrogate is made, and what a donor pack may hold."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import ModelRejected
from engines.stylegan.pack import Pack, donor_latents
from gallery.donors import (
    DonorPopulation,
    DonorRecipe,
    read_donors,
    surrogate_latent,
)
from gallery.errors import DonorPackRejected, TooFewDonors
from gallery.secrets import KeyedRandom
from gallery.surrogates import DonorMaker

pytestmark = pytest.mark.unit


def crowd(count: int = 60, layers: int = 3) -> DonorPopulation:
    random = np.random.default_rng(0)
    return DonorPopulation(
        random.normal(size=(count, layers, 512)).astype(np.float32),
        {
            "gender": np.array(["f", "m"] * (count // 2)),
            "age": np.array((["young"] * 3 + ["old"] + [""]) * (count // 5)),
        },
    )


def keyed(*context: str | int, key: bytes = b"k" * 32) -> KeyedRandom:
    return KeyedRandom(key, *context)


def test_same_key_scope_and_number_give_the_same_surrogate_again() -> None:
    first, again = (surrogate_latent(crowd(), keyed("c"), 2) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("other", [keyed("d"), keyed("c", key=b"q" * 32)])
def test_another_scope_or_secret_gives_another_surrogate(other: KeyedRandom) -> None:
    one = surrogate_latent(crowd(), keyed("c"), 2)
    assert not np.allclose(one, surrogate_latent(crowd(), other, 2))


def weights_of(number: int, recipe: DonorRecipe) -> NDArray[np.float32]:
    """What each of 40 donors gives to a surrogate, (40,) float32."""
    population = DonorPopulation(np.eye(40, 512, dtype=np.float32)[:, None])
    return surrogate_latent(population, keyed("c"), number, recipe=recipe)[0, :40]


@pytest.mark.parametrize("number", [0, 39, 40, 4000, -1, -300])
def test_a_surrogate_is_a_convex_mixture_of_two_donors(number: int) -> None:
    weights = weights_of(number, DonorRecipe(accent=0.2, accent_again=0.4))
    expected = [0.2, 0.8] if -40 <= number < 40 else [0.4, 0.6]
    assert sorted(weights[weights > 0]) == pytest.approx(expected)


@pytest.mark.parametrize("shares", [(-0.1, 0.3), (0.1, 0.5), (0.6, 0.3)])
def test_second_donor_that_would_be_the_main_one_is_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="second donor"):
        DonorRecipe(*shares)


def test_each_draw_of_a_number_has_another_main_donor() -> None:
    rows = np.eye(40, 512, dtype=np.float32)[:, None]
    population = DonorPopulation(rows, {"gender": np.array(["f", "m"] * 20)})
    wanted = {"gender": "f"}
    faces = [
        surrogate_latent(population, keyed("c"), 7, draw=draw, at_once=5, wanted=wanted)
        for draw in range(20)
    ]
    assert sorted(int(face.argmax()) for face in faces) == list(range(0, 40, 2))
    with pytest.raises(TooFewDonors, match="draw 20"):
        surrogate_latent(population, keyed("c"), 7, draw=20, at_once=5, wanted=wanted)


@pytest.mark.parametrize("first", [0, 17, 38])
def test_first_draws_of_a_cluster_are_no_early_draws_of_its_others(first: int) -> None:
    population = DonorPopulation(np.eye(40, 512, dtype=np.float32)[:, None])

    def main(number: int, draw: int = 0) -> int:
        return int(surrogate_latent(population, keyed("c"), number, draw=draw, at_once=9).argmax())

    firsts = {main(first + place) for place in range(9)}
    later = {main(first + place, draw) for place in range(9) for draw in range(1, 12)}
    assert firsts.isdisjoint(later)


@pytest.mark.parametrize("wanted", [{}, {"gender": "f"}])
@pytest.mark.parametrize("first", [0, 27, 55, 4000])
def test_places_of_a_cluster_have_different_main_donors(first: int, wanted: dict[str, str]) -> None:
    rows = np.eye(60, 512, dtype=np.float32)[:, None]
    population = DonorPopulation(rows, {"gender": np.array(["f", "m"] * 30)})
    mains = [
        surrogate_latent(population, keyed("c"), first + place, at_once=9, wanted=wanted)[0]
        for place in range(9)
    ]
    assert len(np.unique(np.stack(mains), axis=0)) == 9
    if first < 20:
        assert len({int(row.argmax()) for row in mains}) == 9


def test_everybody_has_a_main_donor_until_all_are_dealt() -> None:
    rows = np.stack([weights_of(number, DonorRecipe()) for number in range(120)])
    mains = rows.argmax(axis=1)
    assert sorted(mains[:40]) == list(range(40))
    assert np.allclose(rows[:40].max(axis=1), 0.95)
    # Donors that come again are mixed otherwise.
    assert len(np.unique(rows[:80].round(4), axis=0)) == 80
    assert np.allclose(rows[40:].max(axis=1), 0.55)


def test_numbers_below_zero_have_main_donors_of_their_own() -> None:
    rows = np.stack([weights_of(number, DonorRecipe()) for number in range(-20, 20)])
    assert sorted(rows.argmax(axis=1)) == list(range(40))


def test_look_alikes_are_not_dealt_together() -> None:
    rows = np.eye(40, 512, dtype=np.float32)[:, None]
    pairs = np.array([[row, row + 20] for row in range(20)])
    population = DonorPopulation(rows, {"gender": np.array(["f"] * 10 + ["m"] * 30)}, alike=pairs)
    for wanted, count in (({}, 20), ({"gender": "m"}, 20)):
        mains = {
            int(surrogate_latent(population, keyed("c"), n, wanted=wanted).argmax())
            for n in range(count)
        }
        assert len({main % 20 for main in mains}) == count


def test_surrogate_does_not_depend_on_which_were_asked_before() -> None:
    random = keyed("c")
    surrogate_latent(crowd(), random, 4)
    assert np.array_equal(
        surrogate_latent(crowd(), random, 1), surrogate_latent(crowd(), keyed("c"), 1)
    )


def test_wanted_attributes_narrow_the_donors() -> None:
    population = crowd()
    pool = population.matching({"gender": "f", "age": "old"}, 5)
    assert {str(population.attributes["gender"][row]) for row in pool} == {"f"}
    assert {str(population.attributes["age"][row]) for row in pool} == {"old"}


def test_least_important_attribute_is_given_up_first() -> None:
    population = crowd()
    pool = population.matching({"gender": "f", "age": "old"}, 12)
    assert {str(population.attributes["gender"][row]) for row in pool} == {"f"}
    assert len(population.matching({"gender": "f"}, 40)) == 60
    assert len(population.matching({"hat": "yes"}, 40)) == 60


def test_too_few_donors_are_refused_in_words() -> None:
    with pytest.raises(TooFewDonors, match="larger pack"):
        surrogate_latent(crowd(10), keyed("c"), 0, at_once=11)


def test_recipe_of_one_donor_is_that_donor() -> None:
    population = crowd()
    latent = surrogate_latent(population, keyed("c"), 0, recipe=DonorRecipe(accent=0.0))
    assert np.isclose(population.latents, latent, atol=1e-5).all(axis=(1, 2)).sum() == 1


def test_pack_is_read_as_it_is(tmp_path: Path) -> None:
    latents = np.random.default_rng(0).standard_normal((3, 2, 512)).astype(np.float16)
    mean = np.random.default_rng(1).standard_normal((2, 512)).astype(np.float32)
    codes, names = np.array([0, -1, 1], np.int16), np.array(["old", "young"])
    arrays = {"attribute.age": codes, "values.age": names, "mean": mean, "latents": latents}
    read = read_donors(pack(tmp_path / "donors.npz", **arrays))
    assert np.array_equal(read.latents, latents.astype(np.float32))
    assert np.array_equal(read.mean, mean)
    assert read.attributes["age"].tolist() == ["old", "", "young"]


def test_layers_that_are_the_same_are_kept_once(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((40, 1, 512)).astype(np.float32)
    mean = np.zeros((12, 512), np.float32)
    read = read_donors(pack(tmp_path / "donors.npz", latents=rows, mean=mean))
    assert read.latents.shape == (40, 12, 512)
    assert np.may_share_memory(read.latents[:, 0], read.latents[:, 11])


def pack(path: Path, **arrays: NDArray[np.generic]) -> Path:
    usable: dict[str, NDArray[np.generic]] = {
        "format": np.array("kveil donors 1"),
        "latents": np.ones((3, 2, 512), np.float32),
        "mean": np.ones((2, 512), np.float32),
    }
    np.savez(path, **(usable | arrays), allow_pickle=True)
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"format": np.array("other")}, "not a donor pack"),
        ({"embeddings": np.ones((3, 128))}, "not embeddings"),
        ({"latents": np.array([{}], dtype=object)}, "cannot read"),
        ({"latents": np.full((3, 2, 512), np.nan, np.float32)}, "NaN"),
        ({"latents": np.ones((1, 2, 512), np.float32)}, "at least 2"),
        ({"mean": np.ones((3, 512), np.float32)}, "mean"),
        ({"attribute.age": np.zeros(3, np.int16)}, "values"),
        (
            {"attribute.age": np.full(3, 7, np.int16), "values.age": np.array(["old"])},
            "codes without values",
        ),
        (
            {"attribute.age": np.zeros(2, np.int16), "values.age": np.array(["old"])},
            "one value per donor",
        ),
        ({"alike": np.array([[0, 3]])}, "look-alikes"),
        ({"faces": np.ones((2, 8), np.float32)}, "one face"),
        ({"faces": np.full((3, 8), np.nan, np.float32)}, "NaN"),
        ({"alike": np.array([[-1, 0]])}, "look-alikes"),
        ({"alike": np.array([[1, 1]])}, "look-alikes"),
        ({"alike": np.array([0, 1])}, "look-alikes"),
        ({"alike": np.array([[0.0, 1.0]])}, "look-alikes"),
    ],
)
def test_pack_that_holds_anything_unusual_is_refused(
    tmp_path: Path, arrays: dict[str, NDArray[np.generic]], message: str
) -> None:
    with pytest.raises(DonorPackRejected, match=message):
        read_donors(pack(tmp_path / "pack.npz", **arrays))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x93NUMPY"])
def test_damaged_pack_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged.npz"
    path.write_bytes(content)
    with pytest.raises(DonorPackRejected, match="cannot read"):
        read_donors(path)


def test_absent_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DonorPackRejected, match="cannot read"):
        read_donors(tmp_path / "absent.npz")


def test_pack_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gallery.donors._MAX_BYTES", 1000)
    with pytest.raises(DonorPackRejected, match="unpacks to"):
        read_donors(pack(tmp_path / "large.npz"))


def test_pack_that_claims_to_be_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    """The planted fault: a header of a few bytes ended the run with an internal error."""
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        claim, {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6, 512)}
    )
    with zipfile.ZipFile(tmp_path / "claim.npz", "w") as archive:
        archive.writestr("latents.npy", claim.getvalue())
    with pytest.raises(DonorPackRejected, match="cannot read"):
        read_donors(tmp_path / "claim.npz")
    (tmp_path / "claim.npz").rename(tmp_path / "donors.npz")
    told = hashlib.sha256((tmp_path / "donors.npz").read_bytes()).hexdigest()
    with pytest.raises(ModelRejected, match="restore the model pack"):
        donor_latents(Pack(tmp_path, "claim", {"donors.npz": told}))


def test_surrogate_of_another_bin_is_told() -> None:
    """Nine faces are needed of a bin that has one donor: the others are of the next bin."""
    ages = np.array(["old"] + ["young"] * 29)
    people = DonorPopulation(crowd(30).latents, {"age": ages})
    of_bin = [DonorMaker(people).make(keyed("c"), n, 9, "age=old", 0).is_of_bin for n in range(30)]
    assert of_bin.count(True) == 1
    assert all(DonorMaker(people).make(keyed("c"), n, 9, "age=young", 0).is_of_bin for n in (0, 8))
