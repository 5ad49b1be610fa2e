"""Whose track it is: the record of its person, found, made, or found again with a better look."""

from __future__ import annotations

from collections.abc import Collection

from engines.types import Embedding
from gallery.assignments import CoverCause
from gallery.ledger import Ledger
from gallery.people import unit_embedding
from gallery.presence import Wearer
from gallery.roster import Roster

__all__ = ["Identifier"]


class Identifier:
    """Finds records of people for their tracks.

    Its methods raise what the roster and the ledger do; see `gallery.guard`.

    Args:
        roster: people of the present window.
        ledger: told of records that turn out too late to be one person.
    """

    def __init__(self, roster: Roster, ledger: Ledger) -> None:
        self._roster = roster
        self._ledger = ledger

    def identify(
        self,
        wearer: Wearer,
        embedding: Embedding | None,
        own_bin: str,
        others: Collection[tuple[str, int]],
    ) -> CoverCause | None:
        """Find or make the track's record; a cause to cover where there is none."""
        if embedding is None and not wearer.record:
            return "no_embedding"
        if wearer.record:
            self._roster.catch_up()
            if embedding is not None:
                self._compare(wearer, embedding, others)
            if wearer.window == self._roster.window:  # comparing may have met the window's end
                wearer.record = self._roster.buffer.resolve(wearer.record)
                return None
        if embedding is None:
            return "no_embedding"
        enrolment = self._roster.enrol(unit_embedding(embedding), own_bin, others)
        if enrolment.record is None:
            return "doubtful_person"
        wearer.window, wearer.record = self._roster.window, enrolment.record
        return None

    def reconsider(
        self, wearer: Wearer, embedding: Embedding, others: Collection[tuple[str, int]]
    ) -> None:
        """With a better embedding, the track's record may turn out to be a known person."""
        self._roster.catch_up()
        self._compare(wearer, embedding, others)

    def _compare(
        self, wearer: Wearer, embedding: Embedding, others: Collection[tuple[str, int]]
    ) -> None:
        """`reconsider` by what this copy knows."""
        if not wearer.record or wearer.window != self._roster.window or wearer.is_suspect:
            return
        known = self._roster.sight(unit_embedding(embedding), others).known
        mine = self._roster.buffer.resolve(wearer.record)
        if known is None or known == mine or self._roster.merge(mine, known):
            return
        records = self._roster.buffer.records
        if self._roster.window == wearer.window and records[mine].person != records[known].person:
            wearer.is_suspect = True
            self._ledger.suspect(wearer.window, mine, known)
