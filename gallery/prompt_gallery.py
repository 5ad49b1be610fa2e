"""A gallery that answers live streams at once, however long its store takes.

One worker asks the gallery. Callers wait for it a few milliseconds, and not at all while it is
held up: then a track that has a surrogate keeps it, and everybody else is covered until the store
has spoken. Nobody else's lock is held meanwhile, so a store that hangs stops no stream.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from engines.types import Embedding
from gallery.assignments import NO_OFFER, Assignment, GalleryReport, Offer
from gallery.gallery import Gallery

__all__ = ["PromptGallery"]

_PATIENCE_S: Final = 0.1
"""Longest wait for an answer; when it grows, the first caller of a stall is later."""
_GOODBYE_S: Final = 5.0
_MOST_WAITING: Final = 1024
"""Questions that may wait; further newcomers are asked about again later."""
_COVERED: Final = Assignment(None, "store_unavailable")

_T = TypeVar("_T")
_Key = tuple[object, ...]


class _Question(Generic[_T]):
    """One call of the gallery, and its answer once there is one."""

    def __init__(self, ask: Callable[[], _T], take: Callable[[_T], None]) -> None:
        self._ask = ask
        self._take = take
        self.is_answered = threading.Event()

    def work(self) -> None:
        """Asks, and hands on the answer; what fails is no answer."""
        try:
            self._take(self._ask())
        finally:
            self.is_answered.set()


@dataclass(slots=True)
class _Stream:
    """What is known of one stream without asking.

    Attributes:
        judged: tracks of the newest frame that the gallery has judged, but for those that were
            covered anyway.
        hidden: those of them that must be covered.
        assignments: newest answer for each track, and when it was last asked for.
    """

    judged: frozenset[int] = frozenset()
    hidden: frozenset[int] = frozenset()
    assignments: dict[int, tuple[Assignment, float]] = field(default_factory=dict)


class PromptGallery:
    """Answers from memory where the gallery does not answer at once.

    Args:
        gallery: asked by the worker alone from now on; closed with this.
        patience_s: longest wait for an answer.
    """

    def __init__(self, gallery: Gallery, patience_s: float = _PATIENCE_S) -> None:
        self._gallery = gallery
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._waiting: OrderedDict[_Key, _Question[object]] = OrderedDict()
        self._streams: dict[str, _Stream] = {}
        self._report = gallery.report()
        self._is_held_up = False
        self._is_closed = False
        self._worker = threading.Thread(target=self._work, name="gallery", daemon=True)
        self._worker.start()

    def assign(
        self,
        stream: str,
        track: int,
        embedding: Embedding | None,
        attributes: str | None,
        time_s: float,
        *,
        tries_on: bool = False,
    ) -> Assignment:
        """What the track shows; see `Gallery.assign`.

        A track whose person the store has not told yet is covered for `store_unavailable`.
        """
        known, view = self._known(stream, track, time_s), self._view(stream)
        question = _Question(
            lambda: self._gallery.assign(
                stream, track, embedding, attributes, time_s, tries_on=tries_on
            ),
            lambda answer: self._learn(view, track, answer, time_s),
        )
        asked = self._ask(("assign", stream, track), question)
        if known is not None and known.surrogate is not None and known.is_settled:
            return known  # it keeps that, whatever the answer is
        self._wait(asked)
        return self._known(stream, track, time_s) or _COVERED

    def draws(self, stream: str, track: int) -> Offer:
        """Surrogates that the track may get; none while the store is held up."""
        found: list[Offer] = []
        question = _Question(lambda: self._gallery.draws(stream, track), found.append)
        self._wait(self._ask(("draws", stream, track), question))
        return found[0] if found else NO_OFFER

    def settle(self, stream: str, track: int, offer: int, choice: int | None) -> Assignment:
        """Lets the track have one of its draws; see `Gallery.settle`.

        While the store is held up it is covered for `store_unavailable`, and asked about again.
        """
        found: list[Assignment] = []
        view = self._view(stream)

        def learn(answer: Assignment) -> None:
            found.append(answer)
            self._settled(view, track, answer)

        question = _Question(lambda: self._gallery.settle(stream, track, offer, choice), learn)
        self._wait(self._ask(("settle", stream, track), question))
        return found[0] if found else _COVERED

    def visible(
        self, stream: str, tracks: Collection[int], time_s: float, covered: Collection[int] = ()
    ) -> frozenset[int]:
        """The tracks that must be covered in a frame; see `Gallery.visible`.

        Until the gallery has judged the frame, these are the ones that it covered before, and all
        that were not in view then, or covered anyway.
        """
        present, view = frozenset(tracks), self._view(stream)
        shown = present - frozenset(covered)
        question = _Question(
            lambda: self._gallery.visible(stream, present, time_s, present - shown),
            lambda hidden: self._judge(view, shown, hidden),
        )
        self._forget_old(stream, time_s)
        self._wait(self._ask(("visible", stream), question))
        with self._changed:
            known = self._streams.setdefault(stream, _Stream())
            return (known.hidden & present) | (shown - known.judged)

    def end(self, stream: str) -> None:
        """The stream is over; see `Gallery.end`."""
        with self._changed:
            for key in [key for key in self._waiting if stream in key[1:2]]:
                self._waiting.pop(key).is_answered.set()
            self._streams.pop(stream, None)
        ended: _Question[None] = _Question(lambda: self._gallery.end(stream), lambda _: None)
        self._wait(self._ask(("end", stream), ended))

    def report(self) -> GalleryReport:
        """Counts so far; those of before while the store is held up."""
        question = _Question(self._gallery.report, self._keep_report)
        self._wait(self._ask(("report",), question))
        return self._report

    def close(self) -> None:
        """Ends the worker and closes the gallery; idempotent.

        A worker that hangs in the store is left behind, and the gallery open with it.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._worker.join(_GOODBYE_S)
        if not self._worker.is_alive():
            self._gallery.close()

    def _ask(self, key: _Key, question: _Question[_T]) -> _Question[_T]:
        """Queues a question; an older one of the same key that still waits is replaced."""
        with self._changed:
            if self._is_closed or (
                len(self._waiting) >= _MOST_WAITING and key not in self._waiting
            ):
                question.is_answered.set()
                return question
            before = self._waiting.get(key)
            if before is not None:
                before.is_answered.set()
            self._waiting[key] = question  # type: ignore[assignment]
            self._changed.notify_all()
        return question

    def _wait(self, question: _Question[_T]) -> None:
        if not self._is_held_up and not question.is_answered.wait(self._patience_s):
            self._is_held_up = True

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                _, question = self._waiting.popitem(last=False)
            with suppress(BaseException):  # whoever asked is covered, and asks again
                question.work()
            self._is_held_up = False

    def _known(self, stream: str, track: int, time_s: float) -> Assignment | None:
        with self._changed:
            known = self._streams.setdefault(stream, _Stream())
            answer, _ = known.assignments.get(track, (None, time_s))
            if answer is not None:
                known.assignments[track] = (answer, time_s)
            return answer

    def _view(self, stream: str) -> _Stream:
        """What is known of a stream; answers that come after its end are lost with it."""
        with self._changed:
            return self._streams.setdefault(stream, _Stream())

    def _learn(self, view: _Stream, track: int, answer: Assignment, time_s: float) -> None:
        with self._changed:
            view.assignments[track] = (answer, time_s)

    def _settled(self, view: _Stream, track: int, answer: Assignment) -> None:
        with self._changed:
            if track in view.assignments:
                view.assignments[track] = (answer, view.assignments[track][1])

    def _judge(self, view: _Stream, present: frozenset[int], hidden: frozenset[int]) -> None:
        with self._changed:
            view.judged, view.hidden = present, hidden

    def _forget_old(self, stream: str, time_s: float) -> None:
        """Drops tracks that nobody has asked for in the time that the gallery keeps them."""
        oldest = time_s - self._gallery.settings.forget_track_s
        with self._changed:
            known = self._streams.setdefault(stream, _Stream())
            gone = [track for track, (_, at) in known.assignments.items() if at < oldest]
            for track in gone:
                del known.assignments[track]

    def _keep_report(self, report: GalleryReport) -> None:
        self._report = report
