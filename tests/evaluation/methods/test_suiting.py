"""Who gets whose face: donors of the person's bin, and nobody who resembles the person."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import ClassVar, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.attribute_bins import AttributeReader
from engines.face.embedder import FaceEmbedder, PersonThresholds
from engines.face.embedding_attributes import EmbeddingAttributes
from engines.face.swapper import Swapper
from evaluation.faces import PORTRAIT, Faces
from evaluation.methods import suiting
from evaluation.methods.suiting import COVERED, Suiting
from gallery.donors import DonorPopulation
from gallery.draws import DRAWS

pytestmark = pytest.mark.unit

SECRET = b"s" * 32
UNPAINTABLE = 1
"""Grey of a donor with whom nobody can be painted."""
COUNT = 40
LOOKS = np.array(["female", "male"])[np.arange(COUNT) % 2]
POPULATION = DonorPopulation(
    np.eye(COUNT, dtype=np.float32)[:, None],
    {"gender": LOOKS, "tone": np.full(COUNT, "light"), "age": np.full(COUNT, "adult")},
)
"""Each donor's latent is largest at its own number."""


class Told:
    """A picture of grey g is embedded as the unit vector at g degrees."""

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        angle = np.radians(crops.reshape(len(crops), -1)[:, 0].astype(np.float32))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


class Looks:
    """Whoever is embedded beyond 45 degrees is a woman."""

    values: ClassVar = {"age": ("young", "old")}

    def shares(self, embedding: NDArray[np.float32]) -> dict[str, dict[str, float]]:
        is_female = float(embedding[1] > embedding[0])
        return {
            "gender": {"female": is_female, "male": 1 - is_female},
            "tone": {"light": 1.0, "dark": 0.0},
            "age": {"adult": 0.4, "child": 0.5, "young": 0.1},
        }

    def shares_of(self, embeddings: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        is_high = (embeddings[:, 1] > embeddings[:, 0]).astype(np.float32)
        return {"age": np.stack([is_high, 1 - is_high], axis=1)}


def grey_hair(crops: NDArray[np.uint8], apart: NDArray[np.float32]) -> NDArray[np.float32]:
    """The lighter a face, the less it goes with anybody's hair."""
    return np.asarray(crops[:, 0, 0, 0] / 4 + 100 * apart, np.float32)


def suited(monkeypatch: pytest.MonkeyPatch, shown: NDArray[np.uint8]) -> Suiting:
    """A chooser whose painted faces are of the grey that `shown` has at the donor's number."""

    def painted(
        _: object, subjects: Sequence[object], latents: NDArray[np.float32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
        grey = shown[latents[:, 0].argmax(axis=1)]
        crops = np.broadcast_to(grey[:, None, None, None], (len(subjects), 8, 8, 3)).copy()
        rows = np.flatnonzero(grey != UNPAINTABLE)
        return crops[rows], rows

    monkeypatch.setattr(suiting, "ControlReader", lambda _: SimpleNamespace(looks=list))
    monkeypatch.setattr(
        suiting, "subject_from_frame", lambda *_: SimpleNamespace(misfits=grey_hair)
    )
    monkeypatch.setattr(suiting, "tried_on", painted)
    return Suiting(
        cast(Swapper, SimpleNamespace()),
        POPULATION,
        cast(FaceEmbedder, Told()),
        AttributeReader(cast(EmbeddingAttributes, Looks())),
        PersonThresholds(0.9, 0.8, alike=0.5, too_alike=0.6),
    )


def people(*greys: int) -> Faces:
    images = np.stack([np.full((PORTRAIT, PORTRAIT, 3), grey, np.uint8) for grey in greys])
    return Faces(images, np.zeros((len(greys), 5, 2), np.float32), np.arange(len(greys)))


def test_donors_are_of_the_persons_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = suited(monkeypatch, np.full(COUNT, 180, np.uint8))
    rows = chooser.choices(people(10, 80, 10, 80), SECRET)
    assert [LOOKS[row] for row in rows] == ["male", "female", "male", "female"]
    assert len(set(rows.tolist())) == 4


def test_donors_who_come_again_are_other_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: whoever came after all donors of the bin wore an earlier one's face."""
    chooser = suited(monkeypatch, np.full(COUNT, 180, np.uint8))
    rows = chooser.choices(people(*[10] * COUNT), SECRET)
    faces = np.stack([chooser.latent(int(row))[0] for row in rows])
    assert len(np.unique(faces.argmax(axis=1))) == COUNT // 2
    assert len(np.unique(faces, axis=0)) == COUNT
    assert {LOOKS[place] for face in faces for place in np.flatnonzero(face)} == {"male"}


def test_a_donor_that_resembles_the_person_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: most donors, painted, are the person again."""
    shown = np.full(COUNT, 10, np.uint8)
    shown[1::4] = 180
    rows = suited(monkeypatch, shown).choices(people(*[10] * 8), SECRET)
    assert all(row == COVERED or shown[row] == 180 for row in rows)
    assert sum(row != COVERED for row in rows) >= 6


def test_of_donors_who_resemble_a_little_one_that_goes_with_the_hair_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: the least alike of all, whatever the head's hair."""
    shown = np.full(COUNT, 66, np.uint8)
    shown[::2] = 65
    shown[1:COUNT:4] = 64
    rows = suited(monkeypatch, shown).choices(people(10), SECRET)
    assert shown[rows[0]] == 64


def test_of_donors_who_resemble_a_little_one_that_reads_alike_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: an old face on a girl, since her bin is that of all women."""
    shown = np.full(COUNT, 64, np.uint8)
    shown[1:COUNT:4] = 70  # as unlike as those are, and of another age than somebody of 10
    chooser = suited(monkeypatch, shown)
    old = np.cos(np.radians(67)).astype(np.float32)
    monkeypatch.setattr(
        Looks, "shares_of", lambda _, told: {"age": (told[:, :1] < old).astype(np.float32)}
    )
    rows = chooser.choices(people(10), SECRET)
    assert shown[rows[0]] == 64


def test_a_person_who_cannot_be_painted_gets_a_donor_under_the_cover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chooser = suited(monkeypatch, np.full(COUNT, UNPAINTABLE, np.uint8))
    assert LOOKS[chooser.choices(people(10), SECRET)[0]] == "male"


def test_a_person_whom_all_draws_resemble_is_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = suited(monkeypatch, np.full(COUNT, 10, np.uint8)).choices(people(10, 12), SECRET)
    assert rows.tolist() == [COVERED, COVERED]
    assert DRAWS > 1
