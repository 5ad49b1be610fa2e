"""Three workers and two mailboxes: decode, anonymize, encode, overlapped.

Closing flows downstream: the source ends, its mailbox closes, the anonymizer flushes, the
second mailbox closes, the sink finishes. Cancelling goes to everyone at once: a fault in
one worker, or the cancellation of the task, breaks both mailboxes and closes the source,
and the sink removes what it had begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from engines.blending.compositor import Composite
from engines.errors import EngineFault
from engines.types import Frame
from stream.errors import MailboxClosed
from stream.media.ends import Sink, Source
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.mailbox import Mailbox, Receiver, Sender
from stream.pipeline.stage_clock import StageClock

__all__ = ["run_pipeline"]

_CAPACITY = 4
Progress = Callable[[int], None]


async def run_pipeline(
    source: Source,
    anonymizer: Anonymizer,
    sink: Sink,
    clock: StageClock,
    on_written: Progress | None = None,
    verdict: Callable[[], None] | None = None,
) -> None:
    """Runs a source to its end, through the anonymizer, into the sink.

    Args:
        source: gives the frames; closed at the end, whatever happens.
        anonymizer: closed at the end as well.
        sink: finished after the last composite, or aborted.
        clock: gets the stages `decode` and `encode`.
        on_written: told the number of composites written, from the sink's thread.
        verdict: asked once everything is written and before anything is published; what
            it raises keeps the output from being published.

    Raises:
        KveilError: the first fault of a worker; the sink was aborted.
        asyncio.CancelledError: likewise.
    """
    frames = Mailbox[Frame](_CAPACITY, on_full="wait")
    composites = Mailbox[Composite](_CAPACITY, on_full="wait")

    def break_off() -> None:
        frames.receiver.cancel()
        composites.receiver.cancel()
        source.close()

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:
            break_off()
            raise

    workers = (
        lambda: _decode(source, frames.sender, clock),
        lambda: _anonymize(frames.receiver, anonymizer, composites.sender),
        lambda: _encode(composites.receiver, sink, anonymizer, clock, on_written, verdict),
    )
    try:
        async with asyncio.TaskGroup() as group:
            for work in workers:
                group.create_task(_run_in_thread(partial(guarded, work), break_off))
    except BaseExceptionGroup as faults:
        raise _root_cause(faults) from None
    finally:
        anonymizer.close()
        source.close()
        sink.abort()


async def _run_in_thread(work: Callable[[], None], break_off: Callable[[], None]) -> None:
    """Runs blocking work; on cancellation tells it to stop and waits until it has."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        break_off()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise


def _decode(source: Source, outbox: Sender[Frame], clock: StageClock) -> None:
    frames = source.frames()
    while True:
        with clock.measure("decode"):
            frame = next(frames, None)
        if frame is None:
            break
        outbox.send(frame)
    outbox.close()


def _anonymize(inbox: Receiver[Frame], anonymizer: Anonymizer, outbox: Sender[Composite]) -> None:
    for frame in inbox:
        for composite in anonymizer.push(frame):
            outbox.send(composite)
    for composite in anonymizer.flush():
        outbox.send(composite)
    outbox.close()


def _encode(
    inbox: Receiver[Composite],
    sink: Sink,
    anonymizer: Anonymizer,
    clock: StageClock,
    on_written: Progress | None,
    verdict: Callable[[], None] | None,
) -> None:
    for composite in inbox:
        with clock.measure("encode"):
            sink.write(composite)
        anonymizer.tally.written += 1
        if on_written:
            on_written(anonymizer.tally.written)
    if anonymizer.tally.written != anonymizer.tally.read:
        raise EngineFault(
            f"{anonymizer.tally.read} frames went in and {anonymizer.tally.written} came out; "
            "nothing was published"
        )
    if verdict:
        verdict()
    sink.finish()


def _root_cause(faults: BaseExceptionGroup[BaseException]) -> BaseException:
    """The fault that broke the mailboxes, not the workers that then found them broken."""
    leaves = [
        _root_cause(fault) if isinstance(fault, BaseExceptionGroup) else fault
        for fault in faults.exceptions
    ]
    return next((leaf for leaf in leaves if not isinstance(leaf, MailboxClosed)), leaves[0])
