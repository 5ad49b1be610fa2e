"""A process that hangs keeps nobody waiting, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest

from engines.errors import EngineFault
from engines.types import Face
from stream.crew import member as members
from stream.crew.member import Member
from stream.crew.messages import Answer, DrawFaces, Hello, SentFace, SentFrame, SentPicture
from stream.crew.shared_blocks import SharedBlocks, can_share

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(not can_share(), reason="needs memory without a name"),
]


@contextmanager
def hung_member(blocks: SharedBlocks) -> Iterator[Member]:
    """One that reads nothing."""
    member = Member(Hello("auto", "cpu", "fp32"), blocks)
    try:
        os.kill(member._process.pid, signal.SIGSTOP)
        yield member
    finally:
        member.kill()


def large_request(number: int, block: int) -> DrawFaces:
    """More than a socket holds."""
    picture = SentPicture(block, ((8, 8),), "gray", 8, "bt601", False)
    face = Face(np.zeros(4, np.float32), np.zeros((5, 2), np.float32), 0.9)
    sent = SentFace(1, face, (np.zeros(1 << 20, np.float32), None), (), ())
    return DrawFaces(
        number,
        1,
        SentFrame(picture, 0, Fraction(1, 25), 0),
        (sent,),
        draws_foreground=False,
        into=block,
    )


def is_done_soon(work: Callable[[], object]) -> bool:
    """Whether it returns; where it does not, a thread is left."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


def crew_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("kveil-crew")}


def test_process_that_reads_nothing_keeps_nobody_waiting_and_can_be_ended() -> None:
    blocks, answers, before = SharedBlocks(), list[Future[Answer]](), crew_threads()
    with hung_member(blocks) as member:
        block = blocks.take(64)

        def ask() -> None:
            answers.extend(member.ask(large_request(one, block.number), [block]) for one in (1, 2))
            member.forget(1)

        assert is_done_soon(ask)
        assert len(crew_threads() - before) == 2
        assert not any(answer.done() for answer in answers)
        assert is_done_soon(member.kill)
        assert member.is_dead
        for answer in [*answers, member.ask(large_request(3, block.number), [block])]:
            with pytest.raises(EngineFault, match="has died"):
                answer.result(0)
    assert crew_threads() == before
    blocks.close()


def test_process_that_lets_too_much_wait_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_MOST_UNSENT", 3)
    blocks, before = SharedBlocks(), crew_threads()
    with hung_member(blocks) as member:
        block = blocks.take(64)
        answers = [member.ask(large_request(one, block.number), [block]) for one in range(1, 9)]
        for answer in answers:
            with pytest.raises(EngineFault, match="has died"):
                answer.result(10)
        assert member.is_dead
    assert crew_threads() == before
    blocks.close()
