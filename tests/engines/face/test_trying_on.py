"""Surrogates are tried on small, on a picture of their own, and only where a face is hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.alignment import crop_from_picture, identity_mask
from engines.face.face_look import Look, look_from_points
from engines.face.swapper import Control, Rendered
from engines.face.trying_on import TRIED_SIZE, Subject, subject_from_frame, tried_on
from engines.pictures import Picture, picture_from_bgr
from engines.types import Face
from tests.engines.stylegan.faces import drawn_face, facing, identities

pytestmark = pytest.mark.unit

SIZE = 64
SHARES = np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.75], [0.64, 0.75]], np.float32)
LATENTS = np.arange(8, dtype=np.float32)[:, None, None] + np.zeros((1, 2, 512), np.float32)


class TexturedPainter:
    """Paints noise about ten times the latent's first number; some rows are spoilt."""

    size = 4 * SIZE
    sizes = (SIZE, 4 * SIZE)

    def __init__(self, unusable: Sequence[int] = (), broken: Sequence[int] = ()) -> None:
        self.unusable = unusable
        self.broken = broken
        self.painted: list[int | None] = []

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        raise NotImplementedError

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        self.painted.append(size)
        side, count = size or self.size, len(latents)
        pixels = np.random.default_rng(0).uniform(0, 9, (count, side, side, 3)).astype(np.float32)
        pixels += 10 * latents[:, 0, 0].reshape(-1, 1, 1, 1)
        pixels[list(self.broken)] = np.nan
        usable = np.ones(count, np.bool_)
        usable[list(self.unusable)] = False
        alpha = np.repeat(identity_mask(side)[None].astype(np.float32), count, axis=0)
        return Rendered(pixels, alpha, identities(count), usable, facing(count))


def seen(left: float, side: float, doubt: float = 0.0) -> tuple[Face, Look]:
    """A face of a side, px of its kveil crop, and its look."""
    landmarks = SHARES * np.float32(side) + np.array([left, 60], np.float32)
    box = np.array([left, 60, left + side, 60 + side], np.float32)
    place = np.array([[1, 0, -left], [0, 1, -60]], np.float32) * np.float32(SIZE / side)
    light = np.zeros((2, 4, 4, 3), np.float32)
    look = look_from_points(7, 0.3, drawn_face(), place, SIZE, light, doubt)
    return Face(box, landmarks, 0.9), look


def photo() -> Picture:
    pixels = np.random.default_rng(1).integers(100, 255, (700, 900, 3)).astype(np.uint8)
    return picture_from_bgr(pixels)


def subject(left: float = 200.0, side: float = 300.0) -> Subject:
    made = subject_from_frame(photo(), *seen(left, side))
    assert made is not None
    return made


@pytest.mark.parametrize("side", [40.0, 128.0, 300.0, 500.0])
def test_subject_is_as_small_as_the_embedder_sees_it_and_never_enlarged(side: float) -> None:
    made = subject(side=side)
    longest = max(made.picture.height, made.picture.width)
    assert longest <= 2 * min(side, TRIED_SIZE)
    whole, small = (
        crop_from_picture(picture, place, TRIED_SIZE).astype(float)
        for picture, place in (
            (photo(), subject_crop(*seen(200.0, side))),
            (made.picture, made.crop_from_picture),
        )
    )
    assert np.abs(whole.mean(axis=(0, 1)) - small.mean(axis=(0, 1))).max() < 4


def subject_crop(face: Face, _: Look) -> NDArray[np.float32]:
    x, y = face.box_px[:2]
    side = face.box_px[2] - x
    return np.array([[1, 0, -x], [0, 1, -y]], np.float32) * np.float32(TRIED_SIZE / side)


@pytest.mark.parametrize(
    ("left", "doubt"), [(200.0, np.inf), (200.0, np.nan), (-900.0, 0.0), (2000.0, 0.0)]
)
def test_face_that_cannot_be_followed_or_lies_outside_is_no_subject(
    left: float, doubt: float
) -> None:
    assert subject_from_frame(photo(), *seen(left, 300.0, doubt)) is None


def test_face_at_the_edge_is_cut_there() -> None:
    made = subject(left=-90.0)
    assert made.picture.width < made.picture.height
    crops, rows = tried_on(TexturedPainter(), [made], LATENTS[:1])
    assert len(crops) == len(rows) == 1


def test_surrogates_are_painted_at_the_least_size_in_one_batch_and_seen_in_the_crop() -> None:
    painter, made = TexturedPainter(), subject()
    before = made.picture.bgr()
    crops, rows = tried_on(painter, [made] * 4, LATENTS[:4])
    assert painter.painted == [SIZE]
    assert rows.tolist() == [0, 1, 2, 3]
    assert crops.shape == (4, TRIED_SIZE, TRIED_SIZE, 3)
    middles = crops[:, 60:72, 60:68].mean(axis=(1, 2, 3))
    assert (np.diff(middles) > 5).all()
    assert (crops[:, :8, :8].mean(axis=(1, 2, 3)) > 120).all(), "the head around it stays"
    assert np.array_equal(made.picture.bgr(), before)


def test_faces_that_are_not_hidden_or_hold_no_numbers_are_left_out() -> None:
    crops, rows = tried_on(TexturedPainter([1], broken=[2]), [subject()] * 4, LATENTS[:4])
    assert rows.tolist() == [0, 3]
    assert len(crops) == 2
    crops, rows = tried_on(TexturedPainter([0]), [subject()], LATENTS[:1])
    assert (len(crops), len(rows)) == (0, 0)


def test_surrogate_that_hardly_changes_the_picture_goes_badly_with_anybody() -> None:
    """The planted fault: what looks like the face it hides is chosen, and covered ever after."""
    made = subject()
    same, other = made.crop(), np.asarray(made.crop()[::-1], np.uint8)
    misfits = made.misfits(np.stack([same, other]))
    assert misfits[0] > 2 > misfits[1]
    few = subject(side=40.0)
    assert few.misfits(few.crop()[None])[0] > 2
