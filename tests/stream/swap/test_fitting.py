"""Surrogates are tried on: whoever happens to resemble the subject is drawn again, and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, TypedDict, Unpack

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.scenes import coded_picture, moved_face
from engines.backends.openvino import OpenVino
from engines.blending.compositor import compose
from engines.errors import EngineFault
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.face.control_reading import ControlReader
from engines.face.embedder import FaceEmbedder, PersonThresholds, embedder_from_pack
from engines.face.swapper import Control, Swapper
from engines.face.trying_on import TRIED, Subject, subject_from_frame, tried_on
from engines.pictures import picture_from_bgr
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.types import Embedding, Face, Frame, Latent, Surrogate, Track, TrackState
from gallery.assignments import NO_OFFER
from gallery.donors import DonorPopulation, DonorRecipe, read_donors
from gallery.draws import DRAWS
from gallery.gallery import Gallery
from gallery.settings import GallerySettings
from gallery.surrogates import DonorMaker
from stream.swap.face_drawing import FaceDrawer, Wearing
from stream.swap.fitting import TRYING_ON, Fitting
from stream.swap.lending import GalleryLender

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
    return swapper_from_pack(backend)[0], *embedder_from_pack(backend)


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


def gallery_of(donors: int = 120, faces: NDArray[np.float32] | None = None) -> Gallery:
    """Without faces of its donors the first draws are tried on."""
    known = read_donors(read_pack(bundled_pack()).path("donors.npz"))
    told = np.zeros((0, 0), np.float32) if faces is None else faces
    population = DonorPopulation(known.latents[:donors], faces=told)
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


WHO = np.array([1, 0], np.float32)


@pytest.mark.parametrize("enlarged", [0.4, 1.0, 2.0])
def test_surrogate_tried_on_small_is_as_alike_as_one_that_is_shown(enlarged: float) -> None:
    swapper, embedder, _ = bundled()
    others = read_donors(read_pack(bundled_pack()).path("donors.npz")).latents[90:95]
    bgr = cv2.resize(stranger().picture.bgr(), None, fx=enlarged, fy=enlarged)
    picture = coded_picture(np.asarray(bgr, np.uint8))
    face = moved_face(FACE, enlarged, np.zeros(2))
    frame = Frame(picture, 0, Fraction(1, 25), 0)
    (look,) = ControlReader(swapper).looks([(frame, face)])
    small = subject_from_frame(picture, face, look)
    assert small is not None
    place = kveil_from_landmarks(face.landmarks_px, 128)
    crops, rows = tried_on(swapper, [small] * 5, others)
    assert len(rows) == 5
    drawn = FaceDrawer(swapper, draws_foreground=True).draw(
        frame, [Wearing(number, face, one) for number, one in enumerate(others)]
    )
    shown = []
    for number in range(5):
        fresh = replace(frame, picture=picture.copy())
        track = replace(TRACK, id=number, face=face)
        composite = compose(fresh, [track], {number: drawn.patches[number]})
        assert composite.outcomes[0].result == "swapped"
        shown.append(crop_from_picture(composite.picture, place, 128))
    own = embedder.embed(crop_from_picture(picture, place, 128)[None])[0]
    tried, full = embedder.embed(crops) @ own, embedder.embed(np.stack(shown)) @ own
    assert np.abs(tried - full).max() < 0.06


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


MISFITS = Subject.misfits


@pytest.fixture(autouse=True)
def _hair_of_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeness alone decides, unless a test says otherwise."""
    monkeypatch.setattr(Subject, "misfits", lambda _, crops, __: np.zeros(len(crops), np.float32))


@lru_cache(maxsize=1)
def stranger() -> Frame:
    return subject(read_donors(read_pack(bundled_pack()).path("donors.npz")).latents[99])


def at(index: int) -> Frame:
    return replace(stranger(), index=index, pts=index)


def hidden(index: int) -> Frame:
    grey = picture_from_bgr(np.full((384, 384, 3), 90, np.uint8))
    return Frame(grey, index, Fraction(1, 25), index)


def lender_of(
    embedder: CountingEmbedder, gallery: Gallery | None = None, **how: Unpack[How]
) -> GalleryLender:
    fitting = Fitting(bundled()[0], embedder, LIMITS, **how)
    return GalleryLender(gallery or gallery_of(), "door", None, fitting)


def lent(likeness: Sequence[float]) -> tuple[Surrogate | str, CountingEmbedder, GalleryLender]:
    """What somebody gets whom the draws resemble that much, at 0.4."""
    embedder = CountingEmbedder(likeness)
    lender = lender_of(embedder)
    lender.see(stranger(), [TRACK])
    return lender.lend(stranger(), TRACK, WHO), embedder, lender


def test_a_face_that_cannot_be_painted_just_now_is_tried_on_in_a_frame_ahead() -> None:
    """The planted fault: a face that was hidden as it came stayed covered for frames after it."""
    alone = lender_of(CountingEmbedder([0.3]))
    assert alone.lend(hidden(0), TRACK, WHO) == "pose_or_occlusion"
    foreseeing = lender_of(CountingEmbedder([0.3]))
    foreseeing.foresee(lambda track: [(hidden(1), FACE), (at(2), FACE)] if track == 1 else [])
    foreseeing.see(hidden(0), [TRACK])
    assert isinstance(foreseeing.lend(hidden(0), TRACK, WHO), Surrogate)


def test_a_draw_that_resembles_in_frames_ahead_alone_is_passed_over() -> None:
    """The planted fault: the first frame alone was asked, in which the first draw is unlike."""
    embedder = CountingEmbedder([0.1, 0.8, *[0.1, 0.1, 0.4, 0.4], *[0.8, 0.3]])
    gallery = gallery_of()
    lender = lender_of(embedder, gallery)
    lender.foresee(lambda _: [(at(0), FACE), (at(1), FACE)])
    lender.see(at(0), [TRACK])
    assert isinstance(lender.lend(at(0), TRACK, WHO), Surrogate)
    assert embedder.calls == [1, 1, 4, 2], "all in the present frame, the unlike in the one ahead"
    assert lender.counts().redrawn == 2, "the third draw is the first that is unlike in both"


def test_of_draws_that_resemble_a_little_the_least_alike_over_all_frames_is_taken() -> None:
    """The planted fault: the least alike in the first frame, which resembles most in the next."""
    first = [0.49, 0.41, 0.42, 0.43, 0.44, *[0.49] * (TRIED - 5)]
    embedder = CountingEmbedder([*first, 0.9, 0.8, 0.41, 0.8])
    lender = lender_of(embedder)
    lender.foresee(lambda _: [(at(0), FACE), (at(1), FACE)])
    lender.see(at(0), [TRACK])
    assert isinstance(lender.lend(at(0), TRACK, WHO), Surrogate)
    assert embedder.calls == [1, 4, TRIED - 5, 4]
    assert lender.counts().redrawn == 3, "the fourth"


def test_first_draw_that_does_not_resemble_is_painted_once_and_taken() -> None:
    given, embedder, lender = lent([0.39])
    assert isinstance(given, Surrogate)
    assert embedder.calls == [1]
    assert lender.counts().redrawn == 0


@pytest.mark.parametrize(
    ("likeness", "batches", "redrawn"),
    [
        ([0.4, 0.9, 0.5, 0.1, 0.0], [1, 4], 3),
        ([0.4] * 8 + [0.39, *[0.9] * (TRIED - 9)], [1, 4, TRIED - 5], 8),
    ],
)
def test_other_draws_are_painted_in_batches_and_the_first_unlike_one_is_taken(
    likeness: list[float], batches: list[int], redrawn: int
) -> None:
    given, embedder, lender = lent(likeness)
    assert isinstance(given, Surrogate)
    assert embedder.calls == batches
    assert lender.counts().redrawn == redrawn


def test_a_draw_that_does_not_resemble_at_all_is_passed_over_for_its_hair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: the first unlike draw, an old woman's face under a girl's hair."""
    left = [0.9, 0.8, 0.1, *[0.9] * (TRIED - 3)]
    monkeypatch.setattr(
        Subject, "misfits", lambda _, crops, __: np.array([left.pop(0) for _ in crops], np.float32)
    )
    given, _, lender = lent([0.0, 0.4, 0.05, *[0.0] * (TRIED - 3)])
    assert isinstance(given, Surrogate)
    assert lender.counts().redrawn == 2


def test_where_all_draws_resemble_a_little_the_least_alike_is_taken() -> None:
    given, embedder, lender = lent([0.48, 0.45, 0.41, *[0.49] * (TRIED - 3)])
    assert isinstance(given, Surrogate)
    assert embedder.calls == [1, 4, TRIED - 5]
    assert lender.counts().redrawn == 2


def test_of_draws_that_resemble_a_little_one_that_goes_with_the_hair_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: the moustache of the least alike draw, on a shaved man."""
    left = [0.5, 0.5, 0.6, 0.1, *[0.5] * (TRIED - 4)]
    monkeypatch.setattr(
        Subject, "misfits", lambda _, crops, __: np.array([left.pop(0) for _ in crops], np.float32)
    )
    given, _, lender = lent([0.48, 0.45, 0.41, 0.44, *[0.49] * (TRIED - 4)])
    assert isinstance(given, Surrogate)
    assert lender.counts().redrawn == 3


def test_a_draw_that_resembles_too_much_is_not_taken_for_its_hair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = [0.0, 2.0, *[0.0] * (TRIED - 2)]
    monkeypatch.setattr(
        Subject, "misfits", lambda _, crops, __: np.array([left.pop(0) for _ in crops], np.float32)
    )
    given, _, lender = lent([0.6, 0.49, *[0.6] * (TRIED - 2)])
    assert isinstance(given, Surrogate)
    assert lender.counts().redrawn == 1


@pytest.mark.parametrize(("enlarged", "is_told"), [(0.12, False), (1.0, True)])
def test_hair_is_told_of_faces_at_enough_pixels(enlarged: float, *, is_told: bool) -> None:
    """The planted fault: a blurred face in a crowd gets the surrogate that looks most like it."""
    swapper, _, _ = bundled()
    bgr = cv2.resize(stranger().picture.bgr(), None, fx=enlarged, fy=enlarged)
    picture, face = (
        coded_picture(np.asarray(bgr, np.uint8)),
        moved_face(FACE, enlarged, np.zeros(2)),
    )
    (look,) = ControlReader(swapper).looks([(Frame(picture, 0, Fraction(1, 25), 0), face)])
    seen = subject_from_frame(picture, face, look)
    assert seen is not None
    dark = np.full((1, 128, 128, 3), 20, np.uint8)
    assert (MISFITS(seen, dark)[0] > 0) == is_told


def test_draws_are_tried_on_whose_donors_resemble_least_by_themselves() -> None:
    """The planted fault: the first draws were tried on, of whom nearly all resembled."""
    like = np.zeros((120, 2), np.float32)
    like[:, 0] = np.linspace(-1, 1, 120)
    embedder, gallery = CountingEmbedder([*[0.9] * (TRIED - 1), 0.1]), gallery_of(faces=like)
    lender = lender_of(embedder, gallery)
    lender.see(stranger(), [TRACK])
    given = lender.lend(stranger(), TRACK, WHO)
    assert isinstance(given, Surrogate)
    assert embedder.calls == [1, 4, TRIED - 5]
    known = read_donors(read_pack(bundled_pack()).path("donors.npz")).latents[:120]
    main = int(np.abs(known - given.latent).sum(axis=(1, 2)).argmin())
    assert like[main, 0] < np.quantile(like[:, 0], 0.3)
    assert lender.counts().redrawn >= TRIED - 1


def test_subject_whom_all_draws_resemble_is_covered() -> None:
    given, embedder, lender = lent([0.7] * TRIED)
    assert given == "too_alike"
    assert embedder.calls == [1, 4, TRIED - 5]
    assert lender.counts().redrawn == DRAWS


@pytest.mark.parametrize(("blur", "is_shown"), [(0.0, False), (14.0, True)])
def test_likeness_that_blur_gives_to_all_draws_is_none_of_theirs(
    blur: float, *, is_shown: bool
) -> None:
    """At 0.7 all draws resemble the face; out of focus that says nothing of the least alike."""
    embedder = CountingEmbedder([*[0.7] * (TRIED - 1), 0.6])
    lender, frame = lender_of(embedder), stranger()
    if blur:
        soft = cv2.GaussianBlur(frame.picture.bgr(), (0, 0), blur)
        frame = replace(frame, picture=picture_from_bgr(np.asarray(soft, np.uint8)))
    lender.see(frame, [TRACK])
    given = lender.lend(frame, TRACK, WHO)
    assert isinstance(given, Surrogate) if is_shown else given == "too_alike"


def test_face_that_cannot_be_painted_just_now_is_covered_and_nothing_settled() -> None:
    gallery = gallery_of()
    lender = lender_of(CountingEmbedder([]), gallery)
    noise = np.random.default_rng(0).integers(0, 255, (384, 384, 3)).astype(np.uint8)
    frame = Frame(picture_from_bgr(noise), 0, Fraction(1, 25), 0)
    lender.see(frame, [TRACK])
    answer = lender.lend(frame, TRACK, WHO)
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


class How(TypedDict, total=False):
    """How a fitting goes on."""

    step_s: float
    clock: Callable[[], float]


class SlowEmbedder(CountingEmbedder):
    """Takes a second for each crop, by a clock of its own."""

    def __init__(self, likeness: Sequence[float]) -> None:
        super().__init__(likeness)
        self.now_s = 0.0

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.now_s += len(crops)
        return super().embed(crops)

    def clock(self) -> float:
        return self.now_s


def spread(
    embedder: SlowEmbedder, gallery: Gallery | None = None, step_s: float = 0.5
) -> GalleryLender:
    return lender_of(embedder, gallery, step_s=step_s, clock=embedder.clock)


def answers(lender: GalleryLender, embedder: SlowEmbedder) -> tuple[list[Surrogate | str], float]:
    """What a live track gets from frame to frame, and the longest that a frame waited."""
    given, longest_s = [], 0.0
    for index in range(DRAWS + 3):
        lender.see(at(index), [TRACK])
        before_s = embedder.now_s
        given.append(lender.lend(at(index), TRACK, WHO))
        longest_s = max(longest_s, embedder.now_s - before_s)
        if given[-1] != TRYING_ON:
            break
    return given, longest_s


SITUATIONS = (
    [0.39],
    [0.4, 0.9, 0.5, 0.1],
    [0.4] * 8 + [0.39],
    [0.48, 0.45, 0.41, *[0.49] * (TRIED - 3)],
    [0.7] * TRIED,
)


@pytest.mark.parametrize("likeness", SITUATIONS)
def test_live_no_frame_waits_for_more_than_one_step_and_the_choice_is_a_files(
    likeness: list[float],
) -> None:
    galleries = gallery_of(), gallery_of()
    files = lender_of(CountingEmbedder(likeness + [0.9] * (TRIED - len(likeness))), galleries[0])
    files.see(stranger(), [TRACK])
    at_once = files.lend(stranger(), TRACK, WHO)
    embedder = SlowEmbedder(likeness)
    given, longest_s = answers(spread(embedder, galleries[1]), embedder)
    assert longest_s == 1.0, "a draw in a frame"
    assert given[:-1] == [TRYING_ON] * len(likeness), "covered until it is settled"
    assert isinstance(given[-1], str) == isinstance(at_once, str)
    live, recorded = ([*one.buffer.settled.values(), one.report().redrawn] for one in galleries)
    assert live == recorded


def test_quick_painter_tries_several_on_in_a_frame() -> None:
    embedder = SlowEmbedder([0.4] * 5 + [0.1])
    given, longest_s = answers(spread(embedder, step_s=2.5), embedder)
    assert [one == TRYING_ON for one in given] == [True, True, False]
    assert longest_s == 3.0


def test_picture_that_is_covered_meanwhile_is_not_what_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[NDArray[np.uint8]] = []
    embedder = SlowEmbedder([0.9] * DRAWS)
    embed = embedder.embed

    def noting(crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        seen.extend(crops)
        return embed(crops)

    monkeypatch.setattr(embedder, "embed", noting)
    lender = spread(embedder)
    frame = replace(stranger(), picture=stranger().picture.copy())
    lender.see(frame, [TRACK])
    lender.lend(frame, TRACK, WHO)
    height, width = frame.picture.height, frame.picture.width
    frame.picture.blend(
        0, 0, np.zeros((height, width, 3), np.float32), np.ones((height, width), np.float32)
    )
    lender.lend(frame, TRACK, WHO)
    assert seen[0][:16].max() > 100, "what is around the face is as it was"


def test_fault_while_trying_on_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = SlowEmbedder([0.4, 0.39])
    gallery = gallery_of()
    lender = spread(embedder, gallery)
    lender.see(at(0), [TRACK])
    assert lender.lend(at(0), TRACK, WHO) == TRYING_ON
    with monkeypatch.context() as broken:
        broken.setattr(embedder, "embed", fault)
        with pytest.raises(EngineFault):
            lender.lend(at(1), TRACK, WHO)
    assert gallery.buffer.settled == {}
    given, _ = answers(lender, embedder)
    assert [one == TRYING_ON for one in given] == [True, True, False]


def fault(_: object) -> NoReturn:
    raise EngineFault("planted")


def test_person_out_of_view_for_long_is_forgotten() -> None:
    lender = spread(SlowEmbedder([0.9] * DRAWS))
    lender.see(at(0), [TRACK])
    lender.lend(at(0), TRACK, WHO)
    lender.see(at(90), [])
    assert lender._trials
    lender.see(at(190), [])
    assert not lender._trials


def test_stream_that_began_anew_while_somebody_was_tried_on_settles_nothing() -> None:
    gallery = gallery_of()
    lender = spread(SlowEmbedder([0.1]), gallery)
    lender.see(at(0), [TRACK])
    assert lender.lend(at(0), TRACK, WHO) == TRYING_ON
    gallery.end("door")
    assert lender.lend(at(1), TRACK, WHO) == "no_surrogate"
    assert gallery.buffer.settled == {}
