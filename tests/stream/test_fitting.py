"""Surrogates are tried on: whoever happens to resemble the subject is drawn again, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.alignment import crop_from_picture, kveil_from_landmarks
from engines.backends.openvino import OpenVino
from engines.embedder import FaceEmbedder, PersonThresholds, embedder_from_pack
from engines.pictures import picture_from_bgr
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.swapper import Control, Swapper
from engines.types import Embedding, Face, Frame, Latent, Surrogate, Track, TrackState
from gallery.assignments import NO_OFFER
from gallery.donors import DonorPopulation, DonorRecipe, read_donors
from gallery.draws import DRAWS
from gallery.gallery import Gallery
from gallery.settings import GallerySettings
from gallery.surrogates import DonorMaker
from stream.fitting import Fitting
from stream.lending import GalleryLender

pytestmark = pytest.mark.unit

SIDE = 256
FACE = Face(
    np.array([0.1, 0.05, 0.9, 1.05], np.float32) * np.float32(SIDE) + np.float32(SIDE / 4),
    np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.75], [0.64, 0.75]], np.float32)
    * np.float32(SIDE) + np.float32(SIDE / 4),
    0.9,
)  # fmt: skip
TRACK = Track(1, FACE, TrackState.DETECTED, 5, True)


@lru_cache(maxsize=1)
def bundled() -> tuple[Swapper, FaceEmbedder, PersonThresholds]:
    backend = OpenVino(threads=1)
    return swapper_from_pack(backend)[0], *embedder_from_pack(backend, 60.0)


def subject(latent: Latent) -> Frame:
    """A picture of the very person whom a latent paints."""
    swapper, _, _ = bundled()
    points = points_at_rest(load_shape_model(read_pack(bundled_pack()).path("shape.npz")))
    control = Control(points, np.zeros((1, 2, 4, 4, 3), np.float32), np.zeros(1, np.float32))
    painted = swapper.paint(control, latent[None])
    alpha = painted.alpha[0, :, :, None]
    picture = np.full((SIDE * 3 // 2, SIDE * 3 // 2, 3), 120, np.float32)
    inner = picture[SIDE // 4 : SIDE // 4 + SIDE, SIDE // 4 : SIDE // 4 + SIDE]
    inner[:] = alpha * painted.pixels[0] + (1 - alpha) * inner
    return Frame(picture_from_bgr(np.clip(picture, 0, 255).astype(np.uint8)), 0, Fraction(1, 25), 0)


def embedding_of(frame: Frame) -> Embedding:
    crop = crop_from_picture(frame.picture, kveil_from_landmarks(FACE.landmarks_px, 128), 128)
    found: Embedding = bundled()[1].embed(crop[None])[0]
    return found


def gallery_of(donors: int = 40) -> Gallery:
    known = read_donors(read_pack(bundled_pack()).path("donors.npz"))
    population = DonorPopulation(known.latents[:donors])
    maker = DonorMaker(population, DonorRecipe(accent=0.0))
    return Gallery(GallerySettings(k=3), maker, session="night")


def test_donor_equal_to_the_subject_is_drawn_again_and_counted() -> None:
    swapper, embedder, thresholds = bundled()
    gallery = gallery_of()
    planted = gallery.assign("door", 1, np.eye(128, dtype=np.float32)[0], None, 0.0, tries_on=True)
    assert planted.surrogate is not None
    frame = subject(planted.surrogate.latent)
    lender = GalleryLender(gallery, "door", None, Fitting(swapper, embedder, thresholds))
    gallery.visible("door", [1], 0.0)
    given = lender.lend(frame, TRACK, embedding_of(frame))
    assert isinstance(given, Surrogate)
    assert not np.array_equal(given.latent, planted.surrogate.latent)
    assert lender.counts().redrawn >= 1
    again = gallery.assign("door", 1, None, None, 1.0)
    assert again.is_settled
    assert again.surrogate is not None
    assert np.array_equal(again.surrogate.latent, given.latent)


LIMITS = PersonThresholds(0.9, 0.8, alike=0.4, too_alike=0.5)


class CountingEmbedder:
    """Tells in order what each crop's likeness to the subject is."""

    def __init__(self, likeness: Sequence[float]) -> None:
        self.left = list(likeness)
        self.calls: list[int] = []

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.calls.append(len(crops))
        cosines = np.array([self.left.pop(0) for _ in crops], np.float32)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)


def lent(likeness: Sequence[float]) -> tuple[Surrogate | str, CountingEmbedder, GalleryLender]:
    """What somebody gets whom the draws resemble that much, at 0.4."""
    embedder = CountingEmbedder(likeness)
    lender = GalleryLender(gallery_of(), "door", None, Fitting(bundled()[0], embedder, LIMITS))
    frame = subject(read_donors(read_pack(bundled_pack()).path("donors.npz")).latents[99])
    lender.see(frame, [TRACK])
    return lender.lend(frame, TRACK, np.array([1, 0], np.float32)), embedder, lender


def test_first_draw_that_does_not_resemble_is_painted_once_and_taken() -> None:
    given, embedder, lender = lent([0.39])
    assert isinstance(given, Surrogate)
    assert embedder.calls == [1]
    assert lender.counts().redrawn == 0


@pytest.mark.parametrize(
    ("likeness", "batches", "redrawn"),
    [
        ([0.4, 0.9, 0.5, 0.1, 0.0], [1, 4], 3),
        ([0.4] * 8 + [0.39, *[0.9] * 3], [1, 4, DRAWS - 5], 8),
    ],
)
def test_other_draws_are_painted_in_batches_and_the_first_unlike_one_is_taken(
    likeness: list[float], batches: list[int], redrawn: int
) -> None:
    given, embedder, lender = lent(likeness)
    assert isinstance(given, Surrogate)
    assert embedder.calls == batches
    assert lender.counts().redrawn == redrawn


def test_where_all_draws_resemble_a_little_the_least_alike_is_taken() -> None:
    given, embedder, lender = lent([0.48, 0.45, 0.41, *[0.49] * (DRAWS - 3)])
    assert isinstance(given, Surrogate)
    assert embedder.calls == [1, 4, DRAWS - 5]
    assert lender.counts().redrawn == 2


def test_subject_whom_all_draws_resemble_is_covered() -> None:
    given, embedder, lender = lent([0.7] * DRAWS)
    assert given == "too_alike"
    assert embedder.calls == [1, 4, DRAWS - 5]
    assert lender.counts().redrawn == DRAWS


def test_face_that_cannot_be_painted_just_now_is_covered_and_nothing_settled() -> None:
    gallery = gallery_of()
    lender = GalleryLender(
        gallery, "door", None, Fitting(bundled()[0], CountingEmbedder([]), LIMITS)
    )
    noise = np.random.default_rng(0).integers(0, 255, (384, 384, 3)).astype(np.uint8)
    frame = Frame(picture_from_bgr(noise), 0, Fraction(1, 25), 0)
    lender.see(frame, [TRACK])
    answer = lender.lend(frame, TRACK, np.array([1, 0], np.float32))
    assert answer == "pose_or_occlusion"
    assert gallery.buffer.settled == {}
    assert len(gallery.draws("door", 1).surrogates) == DRAWS


def test_offer_that_the_gallery_took_back_is_covered_and_nothing_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Gallery, "draws", lambda *_: NO_OFFER)
    given, embedder, lender = lent([0.9] * DRAWS)
    assert given == "no_surrogate"
    assert embedder.calls == [1]
    assert lender.counts().redrawn == 0
