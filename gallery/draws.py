"""Draws of one place: the faces that a person may get there, until one of them is settled.

A donor may happen to resemble the subject. Whoever asks the gallery then takes the next draw of the
same place: another main donor of the same bin, and where all of them resemble the subject, one of
the next wider bin, and so on. What is taken is settled for the person and the scope, so that the
person gets it again.
"""

from __future__ import annotations

from dataclasses import replace

from gallery.donors import DRAWS, WIDER_DRAWS
from gallery.secrets import KeyedRandom
from gallery.surrogates import AnyFace, Face, LoneFace

__all__ = ["DRAWS", "WIDER_DRAWS", "draws_of", "settled_place", "wider_draws_of"]

_MOST_DRAWS = 256
"""A draw's number is one byte of a record, see `gallery.entries.Settled`."""


def draws_of(face: AnyFace, settled: int | None = None) -> list[AnyFace]:
    """The draws of a place in their order; the settled one alone where there is one."""
    numbers = range(DRAWS) if settled is None else [settled]
    return [replace(face, draw=draw) for draw in numbers]


def wider_draws_of(face: Face | LoneFace) -> list[Face | LoneFace]:
    """Further draws of the same place, of the next wider bin than the face's own is of.

    None beyond those that a record of the log can name, which are of two wider bins.
    """
    step = 0 if face.draw < DRAWS else (face.draw - DRAWS) // WIDER_DRAWS + 1
    first = DRAWS + step * WIDER_DRAWS
    if first + WIDER_DRAWS > _MOST_DRAWS:
        return []
    return [replace(face, draw=draw) for draw in range(first, first + WIDER_DRAWS)]


def settled_place(face: Face) -> bytes:
    """8 bytes that stand for the scope's domain in the log; nothing links them to others."""
    return KeyedRandom(face.secret, "settled", *face.domain).token(8)
