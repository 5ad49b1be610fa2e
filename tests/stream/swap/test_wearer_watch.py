"""Who takes another's place on a track does not wear the other's surrogate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.pictures import picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from stream.swap.wearer_watch import WearerWatch

pytestmark = pytest.mark.unit

SIZE = 32
RATE = 25
FRAMES = 100
CHANGE = 60
"""First frame of the second person, where there is one."""


class ToneReader:
    """Dark faces are one person, bright ones another; a grey one is told as half of each."""

    def __init__(self) -> None:
        self.looks = 0
        self.runs = 0

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.looks += len(crops)
        self.runs += 1
        angle = crops.mean(axis=(1, 2, 3)) / 255 * np.pi / 2
        return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def frame_of(index: int, tone: int) -> Frame:
    picture = picture_from_bgr(np.full((160, 160, 3), tone, np.uint8))
    return Frame(picture, index, Fraction(1, RATE), index)


def face(side: float = 80.0, nose: float = 0.5) -> Face:
    share = np.array([[0.3, 0.4], [0.7, 0.4], [nose, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)
    box = np.array([40, 40, 40 + side, 40 + side * 1.2], np.float32)
    return Face(box, (share * np.float32(side) + np.float32(40)).astype(np.float32), 0.9)


def dark_then_bright(index: int) -> int:
    return 10 if index < CHANGE else 245


class Watched:
    """A track that is lent a surrogate whenever its name has none, frame by frame."""

    def __init__(
        self,
        tones: Callable[[int], int],
        ahead: int,
        faces: Callable[[int], Face] = lambda index: face(),
        is_fit: Callable[[int], bool] = lambda index: True,
    ) -> None:
        self.reader = ToneReader()
        self.names: list[int] = []
        self.covered: list[int] = []
        self._frames = [frame_of(index, tones(index)) for index in range(FRAMES)]
        self._faces = [faces(index) for index in range(FRAMES)]
        watch, lent, now = WearerWatch(self.reader, SIZE), set[int](), 0
        watch.foresee(lambda track: self._places[now + 1 : now + 1 + ahead])
        for now, frame in enumerate(self._frames):
            tracks = [Track(7, self._faces[now], TrackState.DETECTED, now, True)]
            watch.look(frame, tracks if is_fit(now) else [])
            (named,), unsure = watch.named(frame, tracks)
            self.names.append(named.id)
            if not is_fit(now) or named.id in unsure:
                self.covered.append(now)
            elif named.id not in lent:
                lent.add(named.id)
                watch.lent(frame, 7, self.reader.embed(self._crop(now))[0])

    @property
    def _places(self) -> Sequence[tuple[Frame, Face]]:
        return list(zip(self._frames, self._faces, strict=True))

    def _crop(self, index: int) -> NDArray[np.uint8]:
        return np.full((1, SIZE, SIZE, 3), self._frames[index].picture.bgr()[0, 0, 0], np.uint8)

    def carried(self) -> int:
        """Frames in which the second person wears the first one's surrogate."""
        worn = [index for index in range(CHANGE, FRAMES) if index not in self.covered]
        return sum(self.names[index] == 7 for index in worn)


def test_second_person_of_a_recording_never_wears_the_firsts_surrogate() -> None:
    watched = Watched(dark_then_bright, ahead=25)
    assert watched.carried() == 0
    assert watched.names[-1] != 7
    assert len(watched.covered) <= 0.7 * RATE
    assert watched.names[: CHANGE - 20] == [7] * (CHANGE - 20)


def test_second_person_of_a_live_stream_is_found_out_soon() -> None:
    watched = Watched(dark_then_bright, ahead=5)
    assert watched.carried() <= 0.3 * RATE
    assert watched.names[-1] != 7


def test_second_person_after_a_gap_is_found_out_at_once() -> None:
    away = range(CHANGE - 4, CHANGE)
    watched = Watched(dark_then_bright, ahead=5, is_fit=lambda index: index not in away)
    assert watched.carried() == 0
    assert watched.names[-1] != 7


@pytest.mark.parametrize("ahead", [0, 5, 25])
def test_same_person_keeps_name_and_face(ahead: int) -> None:
    watched = Watched(lambda index: 10 + index // 2, ahead)
    assert set(watched.names) == {7}
    assert not watched.covered
    assert watched.reader.looks <= 2 + FRAMES / RATE / 0.3


@pytest.mark.parametrize("ahead", [5, 25])
def test_one_strange_picture_changes_nobody(ahead: int) -> None:
    for strange in range(30, 60):
        watched = Watched(lambda index, at=strange: 245 if index == at else 10, ahead)  # type: ignore[misc]
        assert set(watched.names) == {7}
        assert len(watched.covered) <= 0.25 * RATE


@pytest.mark.parametrize("untold", [face(side=50.0), face(nose=0.75)])
def test_small_and_turned_faces_are_not_looked_at(untold: Face) -> None:
    watched = Watched(dark_then_bright, ahead=25, faces=lambda index: untold)
    assert watched.reader.looks == 1
    assert set(watched.names) == {7}


def test_a_strange_face_that_then_turns_away_is_covered_and_then_another_person() -> None:
    strange = [face(nose=0.9 if CHANGE <= index != 66 else 0.5) for index in range(FRAMES)]
    watched = Watched(dark_then_bright, ahead=0, faces=lambda index: strange[index])
    assert watched.names[66:91] == [7] * 25
    assert set(range(66, 91)) <= set(watched.covered)
    assert watched.names[-1] != 7


def test_faces_due_in_one_frame_are_embedded_together() -> None:
    reader = ToneReader()
    watch = WearerWatch(reader, SIZE)
    tracks = [Track(number, face(), TrackState.DETECTED, 0, True) for number in range(5)]
    first, later = frame_of(0, 10), frame_of(30, 10)
    watch.named(first, tracks)
    for track in tracks:
        watch.lent(first, track.id, np.array([1, 0], np.float32))
    watch.look(later, tracks)
    assert (reader.looks, reader.runs) == (5, 1)


def test_fault_of_the_network_reaches_the_caller_and_leaves_the_face_due() -> None:
    reader = ToneReader()
    watch = WearerWatch(reader, SIZE)
    tracks = [Track(7, face(), TrackState.DETECTED, 0, True)]
    first, later = frame_of(0, 10), frame_of(30, 10)
    watch.named(first, tracks)
    watch.lent(first, 7, np.array([1, 0], np.float32))

    def fail(crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        raise EngineFault("planted")

    reader.embed, sound = fail, reader.embed  # type: ignore[method-assign]
    with pytest.raises(EngineFault):
        watch.look(later, tracks)
    reader.embed = sound  # type: ignore[method-assign]
    watch.look(later, tracks)
    assert reader.looks == 1


def test_look_without_a_number_counts_as_strange() -> None:
    reader = ToneReader()
    watch = WearerWatch(reader, SIZE)
    tracks = [Track(7, face(), TrackState.DETECTED, 0, True)]
    watch.named(frame_of(0, 10), tracks)
    watch.lent(frame_of(0, 10), 7, np.array([np.nan, np.nan], np.float32))
    watch.look(frame_of(30, 10), tracks)
    assert watch.named(frame_of(30, 10), tracks)[1] == {7}


def test_memory_does_not_grow_with_tracks_that_ended() -> None:
    watch = WearerWatch(ToneReader(), SIZE)
    for index in range(400):
        watch.named(frame_of(index, 10), [Track(index, face(), TrackState.DETECTED, 0, True)])
    assert len(watch._wearers) <= 102


def test_only_who_is_parted_goes_on_under_a_new_name() -> None:
    watch = WearerWatch(ToneReader(), SIZE)
    frame = frame_of(0, 10)
    tracks = [Track(number, face(), TrackState.DETECTED, 5, True) for number in (1, 2)]
    named, _ = watch.named(frame, tracks)
    watch.lent(frame, 2, np.array([1, 0], np.float32))
    first, second = (one.id for one in watch.parted(named, {2}))
    assert first == 1
    assert second not in (1, 2)
    again, unsure = watch.named(frame_of(1, 245), tracks)
    assert [one.id for one in again] == [1, second]
    assert not unsure
