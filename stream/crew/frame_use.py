"""What members were asked for one frame's faces, and by when they must have answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from engines.errors import EngineFault
from stream.crew.member import Member
from stream.crew.messages import Answer, DrawFaces
from stream.crew.shared_blocks import MappedBlock

__all__ = ["Asked", "FrameUse"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a member was asked for.

    Attributes:
        member: who draws.
        answer: to come.
        into: the block that it draws into.
        end_s: by when it must have answered, monotonic s.
    """

    member: Member
    answer: Future[Answer]
    into: MappedBlock
    end_s: float

    @classmethod
    def of(
        cls,
        member: Member,
        request: DrawFaces,
        blocks: Sequence[MappedBlock],
        into: MappedBlock,
        deadline_s: float,
    ) -> Asked:
        """Asks a member.

        Args:
            member: who draws.
            request: names only blocks that are among the next two.
            blocks: that it draws from.
            into: that it draws into.
            deadline_s: how long the answer may take, from now on.
        """
        end_s = time.monotonic() + deadline_s
        return cls(member, member.ask(request, [*blocks, into]), into, end_s)

    def result(self) -> Answer:
        """The answer; a member that takes too long for it is ended.

        Raises:
            EngineFault: there is none.
        """
        try:
            return self.answer.result(max(self.end_s - time.monotonic(), 0.0))
        except TimeoutError:
            self.member.kill()
            raise EngineFault("a process that draws faces did not answer in time") from None


@dataclass(slots=True, eq=False)
class FrameUse:
    """What one frame's faces need until they are laid.

    Attributes:
        index: of the frame.
        blocks: that are given back afterwards.
        asked: of members.
    """

    index: int
    blocks: list[MappedBlock] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nobody writes into its blocks any more."""
        return all(one.answer.done() for one in self.asked)
