"""A stream's faces, drawn by a crew: each track by one member, which remembers it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from engines.blending.face_layers import Laid
from engines.blending.patches import PlacedPlanes
from engines.errors import EngineFault
from engines.pictures import Picture
from engines.types import Box, Face, Frame
from stream.crew.crew import FaceCrew
from stream.crew.frame_use import Asked, FrameUse
from stream.crew.member import Member
from stream.crew.messages import (
    DrawFaces,
    DrawnFace,
    SentFace,
    SentFrame,
    picture_bytes,
    show_picture,
)
from stream.crew.shared_blocks import MappedBlock
from stream.finding.unseen_tracks import forget_unseen
from stream.pipeline.replacement import Replacement
from stream.swap.face_drawing import FaceDrawer, Wearing

__all__ = ["CrewDrawing"]

_CROWD: Final = 2
"""Faces in a frame from which other processes are worth their memory and their start."""
_FAULT: Final = "engine_fault"
_FACE_ROOM: Final = 6
"""Areas of layers, in those of the face's box, that fit their block; what does not takes a slower
way."""
_LAYER_BYTES: Final = 11
"""Of one pixel."""
_OPAQUE: Final = 0.9
"""Least weight of a layer over the landmarks of the face that it hides."""


@dataclass(slots=True)
class _Wearer:
    """Who draws a track; None for this process."""

    face: Member | None = None
    seen_frame: int = 0
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class _SentPictureOf:
    """A frame in a block of its own."""

    sent: SentFrame
    block: MappedBlock


class CrewDrawing:
    """Draws one stream's faces with a crew, and alone until there are several of them.

    A member that dies or hangs costs its faces a cover in that frame; other members draw them from
    then on. Without any member all are drawn here.

    Args:
        crew: shared with other streams.
        own: draws in this process.
    """

    def __init__(self, crew: FaceCrew, own: FaceDrawer) -> None:
        self._crew = crew
        self._own = own
        self._stream = crew.stream()
        self._wearers: dict[int, _Wearer] = {}
        self._pictures: dict[int, _SentPictureOf] = {}
        self._uses: list[FrameUse] = []
        self._is_elsewhere = False

    @property
    def ahead(self) -> int:
        """Frames that members are given before the first one is completed; 0 without members."""
        return self._crew.ahead if self._is_elsewhere else 0

    def begin(self, frame: Frame, worn: Sequence[Wearing]) -> Callable[[], Replacement]:
        """Asks members for their faces; this process draws its own when they are asked for.

        Raises:
            EngineFault: too many pictures wait for members.
        """
        self._release(frame.index)
        shares: defaultdict[Member | None, list[Wearing]] = defaultdict(list)
        for one in worn:
            shares[self._member(one.track, frame.index, len(worn))].append(one)
        own = self._own.begin(frame, shares.pop(None, []))
        use = FrameUse(frame.index)
        self._uses.append(use)
        asked = [
            (faces, self._ask(member, frame, faces, use))
            for member, faces in shares.items()
            if member is not None
        ]
        self._is_elsewhere = bool(asked)

        def ended() -> Replacement:
            drawn = own()
            for faces, one in asked:
                self._take(faces, one, use, drawn)
            return drawn

        return ended

    def close(self) -> None:
        """Forgets the stream, here and at the members; idempotent.

        Waits for what is under way, and no longer than for its answer.
        """
        self._own.close()
        for wearer in self._wearers.values():
            self._dismiss(wearer)
        self._wearers.clear()
        self._crew.forget(self._stream)
        for use in self._uses:
            for one in use.asked:
                with suppress(EngineFault):
                    one.result()
            self._give_back(use)
        for picture in self._pictures.values():
            self._crew.blocks.give_back(picture.block)
        self._uses, self._pictures = [], {}

    def _member(self, track: int, index: int, faces: int) -> Member | None:
        """Who draws a track: who has drawn it, else the member with the least to do."""
        wearer = self._wearers.setdefault(track, _Wearer())
        wearer.seen_frame = index
        if wearer.face is not None and wearer.face.is_dead:
            self._dismiss(wearer)
        if wearer.face is None and (self._is_elsewhere or faces >= _CROWD):
            wearer.face = self._crew.take()
            wearer.is_told = False
        return wearer.face

    def _dismiss(self, wearer: _Wearer) -> None:
        if wearer.face is not None:
            self._crew.give_back(wearer.face)
        wearer.face = None

    def _ask(self, member: Member, frame: Frame, faces: Sequence[Wearing], use: FrameUse) -> Asked:
        own = self._sent(frame)
        blocks = [own.block]
        sent = []
        for one in faces:
            ahead = [(self._sent(seen), face) for seen, face in one.ahead]
            blocks += [seen.block for seen, _ in ahead]
            sent.append(self._sent_face(one, [(seen.sent, face) for seen, face in ahead]))
        into = self._room([one.face for one in faces], use)
        request = DrawFaces(
            self._crew.number(),
            self._stream,
            own.sent,
            tuple(sent),
            draws_foreground=self._own.draws_foreground,
            into=into.number,
        )
        asked = Asked.of(member, request, blocks, into, self._crew.deadline_s)
        use.asked.append(asked)
        return asked

    def _sent_face(self, one: Wearing, ahead: Sequence[tuple[SentFrame, Face]]) -> SentFace:
        wearer = self._wearers[one.track]
        new = None
        if not wearer.is_told:
            memory = self._own.hand_over(one.track)
            new, wearer.is_told = (one.latent, memory), True
        return SentFace(one.track, one.face, new, tuple(ahead), tuple(one.others))

    def _sent(self, frame: Frame) -> _SentPictureOf:
        """A frame where members see it; copied once."""
        known = self._pictures.get(frame.index)
        if known is None:
            block = self._crew.blocks.take(picture_bytes(frame.picture))
            shown = show_picture(frame.picture, block)
            sent = SentFrame(shown, frame.pts, frame.time_base, frame.index)
            known = self._pictures[frame.index] = _SentPictureOf(sent, block)
        return known

    def _room(self, faces: Sequence[Face], use: FrameUse) -> MappedBlock:
        """A block for the layers of faces."""
        needed = sum(_FACE_ROOM * _LAYER_BYTES * _area(face) for face in faces)
        block = self._crew.blocks.take(needed)
        use.blocks.append(block)
        return block

    def _take(
        self, faces: Sequence[Wearing], asked: Asked, use: FrameUse, drawn: Replacement
    ) -> None:
        """Waits for a member's faces; where they do not come, they are covered."""
        try:
            told = {one.track: one for one in asked.result().faces}
        except EngineFault:
            told = {}
        for one in faces:
            found = told.get(one.track)
            if found is None:
                drawn.causes[one.track] = _FAULT
                self._wearers[one.track].is_told = False  # what it knows of the track is unsure
            elif found.is_unfit:
                drawn.causes[one.track] = str(found.face)
            else:
                drawn.patches[one.track] = CrewFace(found, asked.into)

    def _release(self, index: int) -> None:
        """Gives back what frames needed that have been composed: all but the last `ahead`."""
        over = [use for use in self._uses[: -self._crew.ahead] if use.is_over]
        self._uses = [use for use in self._uses if use not in over]
        for use in over:
            self._give_back(use)
        needed = min((use.index for use in self._uses), default=index)
        for old in [number for number in self._pictures if number < needed]:
            self._crew.blocks.give_back(self._pictures.pop(old).block)
        for wearer in forget_unseen(self._wearers, index):
            self._dismiss(wearer)

    def _give_back(self, use: FrameUse) -> None:
        for block in use.blocks:
            self._crew.blocks.give_back(block)


@dataclass(frozen=True, slots=True)
class CrewFace:
    """The layers of a face that a member has drawn; see `FaceLayers`."""

    drawn: DrawnFace
    block: MappedBlock

    def front(self, picture: Picture, others: Sequence[Box]) -> Laid | None:
        """What was found in front of the face when it was drawn."""
        front = self.drawn.front
        return None if front is None else front.seen_in(self.block.content)

    def face(self, picture: Picture, face: Face) -> Laid | str:
        """What hides the face; looked at once more, since it comes from elsewhere."""
        if isinstance(self.drawn.face, str):
            return self.drawn.face
        placed = self.drawn.face.seen_in(self.block.content)
        return placed if _is_over(placed, face, picture) else "layer does not hide the face"


def _is_over(placed: PlacedPlanes, face: Face, picture: Picture) -> bool:
    """Whether a layer hides all landmarks of a face that lie in the picture."""
    columns, rows = np.floor(face.landmarks_px).astype(np.int64).T
    inside = (rows >= 0) & (rows < picture.height) & (columns >= 0) & (columns < picture.width)
    rows, columns = rows[inside] - placed.top, columns[inside] - placed.left
    alpha = placed.layer.weights[0]
    height, width = alpha.shape
    if not ((rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)).all():
        return False
    return bool((alpha[rows, columns] >= _OPAQUE).all())


def _area(face: Face) -> int:
    """Of a face's box, px."""
    x0, y0, x1, y1 = face.box_px.tolist()
    return max(1, int((x1 - x0) * (y1 - y0)))
