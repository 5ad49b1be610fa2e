"""Draws the faces of people who wear a surrogate, anew in every frame.

This is the light path: crop, read the control, smooth it over time, paint, match the picture
around. It knows tracks by their number and nothing of people, so it can run in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.blending.compositor import Patch
from engines.blending.harmony import sized_patch
from engines.blending.patch_matching import PatchMatching
from engines.blending.patches import hides, is_finite, reaching
from engines.face.alignment import crop_from_picture, scale_of
from engines.face.control_reading import ControlReader, Painter
from engines.face.face_look import stacked
from engines.face.sameness import HARDLY_CHANGED, MOST_ALIKE, likeness_under
from engines.face.swapper import DOUBT_LIMIT, Control
from engines.face.temporal_consistency import TemporalConsistency
from engines.pictures import BgrImage
from engines.types import Box, Face, Frame, Latent
from stream.finding.unseen_tracks import forget_unseen
from stream.pipeline.replacement import Replacement
from stream.swap.control_smoothing import Steady
from stream.swap.control_track import ControlTrack

__all__ = ["FaceDrawer", "FaceDrawing", "FaceMemory", "Wearing"]

_COMPARED_SHARE: Final = 0.2
"""What a new likeness of a patch and what it hides counts beside the ones before."""
_SURELY: Final = 0.04
"""Likeness by which patches must differ more from what they hide, in the mean, than the compositor
asks of each, and by twice that after one that hardly did. Larger: fewer faces flip, and more are
covered."""
_MOST_AT_ONCE: Final = 16
_REFUSED: Final = "unpaintable"
"""Why a face is covered whose surrogate would not hide it."""


@dataclass(frozen=True, slots=True)
class Wearing:
    """A face that is to be drawn.

    Attributes:
        track: its number in the stream.
        face: where it is in the frame.
        latent: the surrogate's.
        ahead: where it is in frames that have not left yet, as far as they matter.
        others: boxes x0 y0 x1 y1 px of the frame's other faces.
    """

    track: int
    face: Face
    latent: Latent
    ahead: Sequence[tuple[Frame, Face]] = ()
    others: Sequence[Box] = ()


class FaceDrawing(Protocol):
    """Draws the faces of one stream, here or in other processes."""

    @property
    def ahead(self) -> int:
        """Frames that it pays to begin before the first of them is completed.

        It is 0 where nobody else works on what was begun.
        """

    def begin(self, frame: Frame, worn: Sequence[Wearing]) -> Callable[[], Replacement]:
        """Begins on the faces of a frame, and gives how to get them.

        Called once for each frame, in their order, at most `ahead` times before the first one's are
        got and laid.

        Raises:
            EngineFault: nothing can be drawn; what is given may raise it as well.
        """

    def close(self) -> None:
        """Forgets the stream."""


@dataclass(slots=True)
class FaceMemory:
    """What is remembered of one track.

    Attributes:
        seen_frame: index of the last frame in which it was drawn.
        control: what was read of it.
        painted: what was painted of it last.
        matching: what the pictures around it look like.
        likeness: of what is painted and what it hides, lately; None before the first patch.
        was_same: whether its last patch hardly differed from what it hides.
    """

    seen_frame: int = 0
    control: ControlTrack = field(default_factory=lambda: ControlTrack(DOUBT_LIMIT))
    painted: TemporalConsistency = field(default_factory=TemporalConsistency)
    matching: PatchMatching = field(default_factory=PatchMatching)
    likeness: float | None = None
    was_same: bool = False

    def shows_the_same(self, face: Face, patch: Patch, head: BgrImage) -> bool:
        """Whether a patch hardly differs from the face that it hides, now or lately.

        After one that hardly did, they must differ more.

        Args:
            face: in the frame.
            patch: that hides it.
            head: what the patch's crop shows of the frame.
        """
        found = likeness_under(face, patch, head)
        before = found if self.likeness is None else self.likeness
        self.likeness = before + _COMPARED_SHARE * (found - before)
        limit = MOST_ALIKE - (2 if self.was_same else 1) * _SURELY
        self.was_same = found >= MOST_ALIKE or self.likeness >= limit
        return self.was_same


_Ready = tuple[Wearing, FaceMemory, Steady]
"""A face with the control that it is painted by."""


class FaceDrawer:
    """Draws the faces of one stream in this process.

    Args:
        painter: control and generator.
        draws_foreground: what is in front of a face is drawn again.
    """

    ahead: Final = 0

    def __init__(self, painter: Painter, *, draws_foreground: bool) -> None:
        self._painter = painter
        self._reader = ControlReader(painter)
        self.draws_foreground = draws_foreground
        self._memories: dict[int, FaceMemory] = {}

    def begin(self, frame: Frame, worn: Sequence[Wearing]) -> Callable[[], Replacement]:
        """Faces that are drawn when they are asked for; see `FaceDrawing.begin`."""
        return lambda: self.draw(frame, worn)

    def hand_over(self, track: int) -> FaceMemory | None:
        """Forgets a track and gives what is remembered of it, for another process."""
        return self._memories.pop(track, None)

    def take_over(self, track: int, memory: FaceMemory | None) -> None:
        """Goes on with a track as another process has left it, or begins anew."""
        self._memories[track] = memory or FaceMemory()

    def draw(self, frame: Frame, worn: Sequence[Wearing]) -> Replacement:
        """Draws faces.

        Raises:
            EngineFault: a network failed.
        """
        drawn = Replacement()
        for start in range(0, len(worn), _MOST_AT_ONCE):
            self._draw_batch(frame, worn[start : start + _MOST_AT_ONCE], drawn)
        forget_unseen(self._memories, frame.index)
        return drawn

    def close(self) -> None:
        """Forgets the stream."""
        self._memories.clear()

    def _draw_batch(self, frame: Frame, worn: Sequence[Wearing], drawn: Replacement) -> None:
        known = [(one, self._memories.setdefault(one.track, FaceMemory())) for one in worn]
        self._look(frame, known)
        ready: list[_Ready] = []
        for one, memory in known:
            memory.seen_frame = frame.index
            steady = memory.control.steady(frame.index, frame.time_s)
            if steady is None:
                drawn.causes[one.track] = memory.control.cause
            else:
                ready.append((one, memory, steady))
        sizes = [self._size_for(steady) for *_, steady in ready]
        for size in sorted(set(sizes)):
            alike = [one for one, own in zip(ready, sizes, strict=True) if own == size]
            self._paint(frame, alike, size, drawn)

    def _size_for(self, steady: Steady) -> int:
        """The least size at which a face can be painted without being enlarged, px."""
        side_px = 1 / scale_of(steady.crop_from_frame(1))
        return next((size for size in self._painter.sizes if size >= side_px), self._painter.size)

    def _paint(self, frame: Frame, ready: Sequence[_Ready], size: int, drawn: Replacement) -> None:
        """Paints faces at one size; each gets a patch or a cause."""
        rendered = self._painter.paint(
            _joined([steady for *_, steady in ready]),
            np.stack([one.latent for one, *_ in ready]),
            size,
        )
        for row, (one, memory, steady) in enumerate(ready):
            occlusion = steady.occlusion if self.draws_foreground else None
            patch = rendered.patch(row, steady.crop_from_frame(size), occlusion)
            patch = reaching(one.face, patch)
            if not (rendered.is_usable[row] and hides(one.face, patch)):
                memory.control.hide()
                drawn.causes[one.track] = _REFUSED
                continue
            if is_finite(patch.pixels):  # others are for the compositor to refuse
                patch = _sized_and_steadied(patch, steady.points, frame.index, memory)
                head = crop_from_picture(frame.picture, patch.crop_from_frame, len(patch.alpha))
                at = (frame.index, one.track)
                patch = memory.matching.matched(frame.picture, patch, head, *at)
                if memory.shows_the_same(one.face, patch, head):
                    drawn.causes[one.track] = HARDLY_CHANGED
                    continue
            drawn.patches[one.track] = patch

    def _look(self, frame: Frame, known: Sequence[tuple[Wearing, FaceMemory]]) -> None:
        """Reads control off this frame, and off the next ones where they are at hand."""
        wanted: list[tuple[FaceMemory, Frame, Face]] = []
        for one, memory in known:
            for seen, face in [(frame, one.face), *one.ahead]:
                if not memory.control.knows(seen.index):
                    wanted.append((memory, seen, face))
        for start in range(0, len(wanted), _MOST_AT_ONCE):
            part = wanted[start : start + _MOST_AT_ONCE]
            looks = self._reader.looks([(seen, face) for _, seen, face in part], is_lit=False)
            for (memory, seen, _), look in zip(part, looks, strict=True):
                if not memory.control.is_lit(look.index):
                    look = self._reader.lit(look, seen)
                memory.control.add(look, seen.picture)


def _joined(steady: Sequence[Steady]) -> Control:
    return Control(
        np.stack([one.points for one in steady]),
        np.stack([one.light for one in steady]),
        np.array([one.doubt for one in steady], np.float32),
        contrast=np.array([one.contrast for one in steady], np.float32),
        usual=stacked([one.usual for one in steady]),
        inside=stacked([one.inside for one in steady]),
        raised=np.array([one.raised for one in steady], np.float32),
        gap=np.array([one.gap for one in steady], np.float32),
    )


def _sized_and_steadied(
    patch: Patch, points: NDArray[np.float32], index: int, memory: FaceMemory
) -> Patch:
    """The patch at the frame's scale, as calm as what it hides."""
    return memory.painted.steadied(sized_patch(patch), points, index, memory.control.flow)
