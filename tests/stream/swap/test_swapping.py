"""One surrogate per track, patches for faces that can be followed, causes for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from config.settings import Privacy
from engines.blending.compositor import compose
from engines.blending.covers import cover_named
from engines.blending.patches import Patch, identity_mask_of
from engines.errors import EngineFault
from engines.face.alignment import EYES, identity_mask
from engines.face.control_reading import ControlReader
from engines.face.face_look import eyes_of
from engines.face.swapper import Control, Rendered
from engines.pictures import picture_from_bgr
from engines.types import Embedding, Face, Frame, Surrogate, Track, TrackState
from stream.files.report import ClusterCounts
from stream.pipeline.replacement import Replacement
from stream.swap.swapping import SwapEveryFace
from tests.engines.stylegan.faces import drawn_face, facing, identities

pytestmark = pytest.mark.unit

SIZE = 64
LAYERS = 3


class NoisePainter:
    """Paints textured squares whose tone is the latent's first number."""

    size = SIZE
    sizes: tuple[int, ...] = (SIZE,)

    def __init__(self, usable: bool = True, doubts: Sequence[float] = ()) -> None:
        self.usable = usable
        self.latents: list[NDArray[np.float32]] = []
        self.reads = 0
        self._doubts = iter(doubts)

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        """A face whose eyes lie where the crop has them; sure of it but where told."""
        count = len(crops)
        self.reads += count
        doubt = [next(self._doubts, 0.0) for _ in range(count)]
        points = drawn_face()
        eyes = eyes_of(points)
        points[:, :2] += EYES.mean(axis=0).astype(np.float32) - eyes.mean(axis=0)
        return Control(
            np.repeat(points[None], count, axis=0),
            np.zeros((count, 2, 4, 4, 3), np.float32),
            np.array(doubt, np.float32),
        )

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        self.latents.append(latents)
        side, count = size or self.size, len(latents)
        rng = np.random.default_rng(0)
        pixels = rng.uniform(0, 60, (count, side, side, 3)).astype(np.float32)
        pixels += latents[:, 0, 0].reshape(-1, 1, 1, 1)
        alpha = np.repeat(identity_mask(side)[None].astype(np.float32), count, axis=0)
        usable = np.full(count, self.usable)
        return Rendered(pixels, alpha, identities(count), usable, facing(count))


class RowEmbedder:
    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.eye(len(crops), 8, dtype=np.float32)


class Lender:
    """Lends a latent per track; hides the tracks it was told to."""

    def __init__(self, cause: str = "", hidden: frozenset[int] = frozenset()) -> None:
        self.cause = cause
        self.hidden = hidden
        self.asked: list[int] = []

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        return self.hidden

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        self.asked.append(track.id)
        if self.cause:
            return self.cause
        return Surrogate("c", np.full((LAYERS, 512), 90.0 + 40 * track.id, np.float32), 5)

    def counts(self) -> ClusterCounts:
        return ClusterCounts(k=5)


def frame(index: int = 0) -> Frame:
    pixels = np.random.default_rng(index).integers(0, 255, (200, 300, 3)).astype(np.uint8)
    return Frame(picture_from_bgr(pixels), index, Fraction(1, 25), index)


def track(
    number: int = 1,
    *,
    state: TrackState = TrackState.DETECTED,
    left: float = 60.0,
    side: float = 60.0,
    is_confirmed: bool = True,
) -> Track:
    share = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)
    box = np.array([left, 60, left + side, 60 + side * 1.2], np.float32)
    points = (share * np.float32(side) + np.array([left, 60], np.float32)).astype(np.float32)
    return Track(number, Face(box, points, 0.9), state, 5, is_confirmed)


def swap(painter: NoisePainter | None = None, lender: Lender | None = None) -> SwapEveryFace:
    return SwapEveryFace(painter or NoisePainter(), RowEmbedder(), lender or Lender())


def _patch(replacement: Replacement) -> Patch:
    patch = replacement.patches[1]
    assert isinstance(patch, Patch)
    return patch


def test_gallery_is_asked_once_per_track() -> None:
    lender = Lender()
    subject = swap(lender=lender)
    for index in range(10):
        assert set(subject.replace(frame(index), [track()]).patches) == {1}
    assert lender.asked == [1]


def test_covered_track_asks_again_now_and_then() -> None:
    lender = Lender(cause="below_k")
    subject = swap(lender=lender)
    causes = [dict(subject.replace(frame(index), [track()]).causes) for index in range(60)]
    assert all(cause == {1: "below_k"} for cause in causes)
    assert 2 <= len(lender.asked) <= 4


@pytest.mark.parametrize(
    ("cause", "times"), [("pose_or_occlusion", 12), ("below_k", 3), ("too_alike", 1)]
)
def test_surrogate_that_cannot_be_tried_on_is_asked_for_sooner_than_one_that_is_too_alike(
    cause: str, times: int
) -> None:
    lender = Lender(cause=cause)
    subject = swap(lender=lender)
    for index in range(60):
        assert dict(subject.replace(frame(index), [track()]).causes) == {1: cause}
    assert len(lender.asked) == times


def test_person_who_waits_to_be_tried_on_is_not_embedded_again() -> None:
    class Counting(RowEmbedder):
        calls = 0

        def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
            self.calls += 1
            return super().embed(crops)

    embedder, lender = Counting(), Lender(cause="pose_or_occlusion")
    subject = SwapEveryFace(NoisePainter(), embedder, lender)
    for index in range(30):
        subject.replace(frame(index), [track()])
    assert len(lender.asked) == 6
    assert embedder.calls == 1


def test_two_people_wear_two_faces() -> None:
    painter = NoisePainter()
    subject = swap(painter)
    subject.replace(frame(), [track(1), track(2, left=200)])
    tones = painter.latents[0][:, 0, 0]
    assert tones[0] != tones[1]


@pytest.mark.parametrize(
    ("unfit", "cause"),
    [
        (track(state=TrackState.DOUBTFUL), "doubtful"),
        (track(state=TrackState.EXTENDED), "extended"),
        (track(is_confirmed=False), "unconfirmed"),
        (track(side=12.0), "too_small"),
    ],
)
def test_unfit_track_gets_a_cause_and_no_patch(unfit: Track, cause: str) -> None:
    lender = Lender()
    replacement = swap(lender=lender).replace(frame(), [unfit])
    assert dict(replacement.causes) == {1: cause}
    assert not replacement.patches
    assert not lender.asked


def test_face_worn_by_another_in_view_is_covered() -> None:
    replacement = swap(lender=Lender(hidden=frozenset({2}))).replace(
        frame(), [track(1), track(2, left=200)]
    )
    assert set(replacement.patches) == {1}
    assert replacement.causes[2] == "shared_face"


class Clash(Lender):
    """Two tracks come to wear one face in some frames, of which the later one is told."""

    def __init__(self, first: int, last: int = 99) -> None:
        super().__init__()
        self._frames = range(first, last + 1)

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        is_clash = frame.index in self._frames and 2 in {one.id for one in tracks}
        return frozenset({2} if is_clash else ())


def test_who_comes_to_wear_anothers_face_goes_on_with_one_that_nobody_wears() -> None:
    lender, painter = Clash(first=3), NoisePainter()
    subject = swap(painter, lender)
    for index in range(8):
        replacement = subject.replace(frame(index), [track(1), track(2, left=200)])
        assert set(replacement.patches) == {1, 2}
    assert len(lender.asked) == 3
    assert lender.asked[:2] == [1, 2]
    tones = [sorted(set(latents[:, 0, 0].tolist())) for latents in painter.latents]
    assert tones[2][0] == tones[3][0]
    assert tones[2][1] != tones[3][1]


def test_who_clashes_while_covered_anyway_stays_who_he_is() -> None:
    lender = Clash(first=3, last=5)
    subject = swap(lender=lender)
    for index in range(8):
        state = TrackState.EXTENDED if 3 <= index <= 5 else TrackState.DETECTED
        subject.replace(frame(index), [track(1), track(2, left=200, state=state)])
    assert lender.asked == [1, 2]


def test_face_that_cannot_be_followed_is_covered() -> None:
    replacement = swap(NoisePainter(usable=False)).replace(frame(), [track()])
    assert dict(replacement.causes) == {1: "unpaintable"}


def test_doubt_for_one_frame_covers_for_a_while_and_not_in_turns() -> None:
    subject = swap(NoisePainter(doubts=[0.0, 0.0, 1.0]))
    shown = [1 in subject.replace(frame(index), [track()]).patches for index in range(40)]
    assert shown[:3] == [True, True, False]
    assert np.abs(np.diff(np.array(shown, int))).sum() == 2
    assert shown[-1]


def test_patch_that_misses_the_face_is_covered_with_hysteresis() -> None:
    aside = track()
    aside.face.box_px[[0, 2]] += 60  # the box and the landmarks are two faces'
    subject = swap()
    first = subject.replace(frame(0), [aside])
    second = subject.replace(frame(1), [aside])
    third = subject.replace(frame(2), [track()])
    for told, cause in ((first, "unpaintable"), (second, "unpaintable"), (third, "settling")):
        assert dict(told.causes) == {1: cause}


@pytest.mark.parametrize(
    ("alike", "flips"),
    [([0.8, 0.92] * 20, 0), ([0.89, 0.92] * 20, 0), ([0.7] * 10 + [0.94] + [0.7] * 29, 2)],
    ids=["another", "hardly", "for one frame"],
)
def test_whether_a_surrogate_differs_is_not_told_anew_in_every_frame(
    alike: list[float], flips: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter(alike)
    monkeypatch.setattr("stream.swap.face_drawing.likeness_under", lambda *_: next(found))
    subject, shown = swap(), []
    for index in range(len(alike)):
        told = subject.replace(frame(index), [track()])
        shown.append(1 in told.patches)
        assert shown[-1] or told.causes[1] == "hardly changed"
    assert np.abs(np.diff(np.array(shown, int))).sum() == flips
    assert shown[0] == (alike[0] < 0.85)


def test_pixels_of_a_face_whose_eyes_were_read_elsewhere_are_followed_at_the_tracked_ones() -> None:
    class Elsewhere(NoisePainter):
        def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
            control = super().read(crops)
            control.points[..., 0] += 0.3
            return control

    face = track().face
    (look,) = ControlReader(Elsewhere()).looks([(frame(), face)])
    assert look.doubt == np.inf
    assert np.allclose(look.motion[:2], face.landmarks_px[:2].mean(axis=0))


class HandPainter(NoisePainter):
    """Sees something in front of every face, from below up to a row of the crop."""

    def __init__(self, top: int) -> None:
        super().__init__()
        self.top = top

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        sure = np.zeros((len(crops), 128, 128), np.float32)
        sure[:, self.top :] = 0.9
        return replace(super().read(crops), occlusion=sure)


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_hand_before_the_face_comes_with_the_patch_where_that_is_wanted(is_drawn: bool) -> None:
    wanted = Privacy(foreground="drawn" if is_drawn else "hidden")
    subject = SwapEveryFace(HandPainter(top=100), RowEmbedder(), Lender(), wanted)
    patch = _patch(subject.replace(frame(), [track(side=80.0)]))
    assert (patch.occlusion is not None) == is_drawn
    assert patch.alpha[identity_mask_of(patch, len(patch.alpha))].min() == 1


def test_a_face_of_which_too_much_is_hidden_is_told_from_one_that_is_not_read() -> None:
    (look,) = ControlReader(HandPainter(top=40)).looks([(frame(), track(side=80.0).face)])
    assert look.is_hidden


def test_a_face_of_which_too_much_is_hidden_is_covered() -> None:
    replacement = swap(HandPainter(top=40)).replace(frame(), [track(side=80.0)])
    assert dict(replacement.causes) == {1: "behind_something"}


def test_eyes_read_far_from_the_tracked_ones_are_not_followed() -> None:
    class Elsewhere(NoisePainter):
        def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
            control = super().read(crops)
            control.points[..., 0] += 0.3
            return control

    replacement = swap(Elsewhere()).replace(frame(), [track()])
    assert dict(replacement.causes) == {1: "pose_or_occlusion"}


def test_frames_ahead_are_read_once() -> None:
    painter = NoisePainter()
    subject = swap(painter)
    waiting = [(frame(index), track().face) for index in range(12)]
    subject.foresee(lambda number: waiting if number == 1 else [])
    for index in range(12):
        assert 1 in subject.replace(frame(index), [track()]).patches
    assert painter.reads == 12


def test_face_that_grows_past_the_least_size_does_not_flip() -> None:
    subject = swap()
    sides = [19.0, 20.5, 19.5, 20.5, 19.5, 25.0]
    shown = [
        1
        in subject.replace(
            frame(index), [track(side=60.0 if index < 1 else sides[index - 1])]
        ).patches
        for index in range(7)
    ]
    assert shown == [True, False, False, False, False, False, True]


def test_same_frames_give_the_same_patches() -> None:
    runs = []
    for _ in range(2):
        subject = swap()
        runs.append([_patch(subject.replace(frame(index), [track()])) for index in range(6)])
    for first, second in zip(*runs, strict=True):
        assert np.array_equal(first.pixels, second.pixels)
        assert np.array_equal(first.alpha, second.alpha)
        assert np.array_equal(first.crop_from_frame, second.crop_from_frame)


class TremblingPainter(NoisePainter):
    """Paints lines that lie half a pixel beside their place in every second picture."""

    painted = 0

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        rendered = super().paint(control, latents, size)
        self.painted += 1
        across = np.arange(SIZE, dtype=np.float32) + 0.5 * (self.painted % 2)
        lines = (120 + 40 * np.sin(across / 3))[None, None, :, None]
        return replace(rendered, pixels=np.zeros_like(rendered.pixels) + lines)


def test_painted_lines_do_not_tremble_on_a_face_that_holds_still() -> None:
    subject, painter = swap(TremblingPainter()), TremblingPainter()
    calm = picture_from_bgr(np.full((200, 300, 3), 90, np.uint8))
    still = [replace(frame(index), picture=calm) for index in range(8)]
    swapped = [_patch(subject.replace(one, [track()])).pixels for one in still]
    read = painter.read(np.zeros((1, SIZE, SIZE, 3), np.uint8))
    plain = [painter.paint(read, np.zeros((1, LAYERS, 512), np.float32)).pixels[0] for _ in still]
    steps, trembling = (
        np.mean([np.abs(b - a).mean() for a, b in pairwise(one[2:])]) for one in (swapped, plain)
    )
    assert steps < 0.3 * trembling


def test_faces_are_painted_at_the_least_size_that_shows_them_whole() -> None:
    class TwoSizes(NoisePainter):
        sizes = (SIZE // 2, SIZE)

        def __init__(self) -> None:
            super().__init__()
            self.painted: dict[float, int | None] = {}

        def paint(
            self, control: Control, latents: NDArray[np.float32], size: int | None = None
        ) -> Rendered:
            self.painted |= dict.fromkeys(latents[:, 0, 0].tolist(), size)
            return super().paint(control, latents, size)

    painter = TwoSizes()
    seen = [track(1, side=100.0), track(2, side=21.0, left=200.0), track(3, side=22.0, left=240.0)]
    patches = swap(painter).replace(frame(), seen).patches
    assert set(patches) == {1, 2, 3}
    sizes = {number: painter.painted[90.0 + 40 * number] for number in patches}
    assert sizes == {1: SIZE, 2: SIZE // 2, 3: SIZE // 2}


def test_painter_fault_reaches_the_caller() -> None:
    class Faulty(NoisePainter):
        def paint(
            self, control: Control, latents: NDArray[np.float32], size: int | None = None
        ) -> Rendered:
            raise EngineFault("planted")

    with pytest.raises(EngineFault):
        swap(Faulty()).replace(frame(), [track()])


def test_more_faces_than_a_batch_all_get_patches() -> None:
    tracks = [track(number, left=4.0 + number * 2) for number in range(1, 40)]
    assert len(swap().replace(frame(), tracks).patches) == 39


def test_memory_does_not_grow_with_tracks_that_ended() -> None:
    subject = swap()
    for index in range(400):
        subject.replace(frame(index % 7), [])
        subject.replace(Frame(frame().picture, index, Fraction(1, 25), index), [track(index + 1)])
    assert len(subject._people) <= 102
    assert len(subject._drawing._memories) <= 102  # type: ignore[attr-defined]


def test_patch_hides_the_original_in_the_composite() -> None:
    original = frame()
    before = original.picture.planes[0].copy()
    replacement = swap().replace(original, [track()])
    composite = compose(original, [track()], replacement.patches, cover_named("solid"))
    assert [one.result for one in composite.outcomes] == ["swapped"]
    middle = (slice(80, 110), slice(75, 105))
    changed = (composite.picture.planes[0][middle] != before[middle]).any(axis=2)
    assert changed.mean() > 0.97


class ToneEmbedder:
    """Takes dark faces for one person and bright ones for another."""

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        is_bright = crops.mean(axis=(1, 2, 3)) > 127
        return np.asarray(np.eye(2, 8, dtype=np.float32)[is_bright.astype(int)], np.float32)


def test_who_takes_anothers_place_on_a_track_gets_a_cover_and_then_another_surrogate() -> None:
    painter, lender = NoisePainter(), Lender()
    subject = SwapEveryFace(painter, ToneEmbedder(), lender)
    worn: list[float | str] = []
    grain = np.random.default_rng(0).integers(0, 60, (200, 300, 3), np.uint8)
    for index in range(60):
        shown = picture_from_bgr(grain if index < 30 else 190 + grain)
        replacement = subject.replace(replace(frame(index), picture=shown), [track(side=90.0)])
        assert set(replacement.patches) | set(replacement.causes) == {1}
        worn.append(replacement.causes.get(1) or float(painter.latents[-1][0, 0, 0]))
    first, last = worn[0], worn[-1]
    assert isinstance(last, float)
    assert first != last
    begun = worn.index("doubtful")
    assert worn[:begun] == [first] * begun
    assert 30 <= begun <= 38
    assert first not in worn[begun:]
    assert len(lender.asked) == 2
