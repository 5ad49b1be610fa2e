"""What is written into the shared log: one entry per change of the gallery.

The log is the gallery: every worker applies the same entries in the same order and so holds the
same people and clusters. An entry's place in the log (1, 2, …) is the id of the record that it
makes, so ids are never reused within a window and mean nothing outside it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from engines.types import Embedding
from gallery.errors import SealBroken

__all__ = ["Entry", "Joined", "Same", "Settled", "decoded", "encoded"]


@dataclass(frozen=True, slots=True)
class Joined:
    """A new record takes a slot of a cluster.

    Attributes:
        person: record that stands for the person; its own id, or that of the record it may be
            the same person as.
        cluster: id of the cluster's first record; its own id where it opens a cluster.
        slot: place in the cluster, from 0.
        is_apart: seen together with the record it resembles, so never merged with it.
        cluster_bin: attributes that all people of the cluster share; "" for none.
        own_bin: the person's attributes; "" where unknown.
        embedding: (D,) float32, unit length; kept with half precision.
    """

    person: int
    cluster: int
    slot: int
    is_apart: bool
    cluster_bin: str
    own_bin: str
    embedding: Embedding


@dataclass(frozen=True, slots=True)
class Same:
    """A record was found to be the same person as another one.

    Attributes:
        record: from now on stands for `other`.
        other: the record that stays.
    """

    record: int
    other: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A record's surrogate within one scope: which of its draws it is, from now on.

    Attributes:
        record: whose.
        place: 8 bytes that stand for the scope's domain; they tell nothing without the secret.
        draw: how many draws of the record's place come before it.
    """

    record: int
    place: bytes
    draw: int


Entry = Joined | Same | Settled

_JOINED = struct.Struct("<cQQIBHHH")
_SAME = struct.Struct("<cQQ")
_SETTLED = struct.Struct("<cQ8sB")


def encoded(entry: Entry) -> bytes:
    """Compact bytes of an entry; seal them before they leave the process.

    >>> decoded(encoded(Same(record=7, other=3)))
    Same(record=7, other=3)
    """
    if isinstance(entry, Same):
        return _SAME.pack(b"S", entry.record, entry.other)
    if isinstance(entry, Settled):
        return _SETTLED.pack(b"D", entry.record, entry.place, entry.draw)
    cluster_bin, own_bin = entry.cluster_bin.encode(), entry.own_bin.encode()
    head = _JOINED.pack(
        b"J", entry.person, entry.cluster, entry.slot, entry.is_apart,
        len(cluster_bin), len(own_bin), entry.embedding.size,
    )  # fmt: skip
    return head + cluster_bin + own_bin + entry.embedding.astype("<f2").tobytes()


def decoded(raw: bytes) -> Entry:
    """The entry that `encoded` made bytes of.

    Raises:
        SealBroken: not an entry; written by another version.
    """
    try:
        if raw[:1] == b"S":
            return Same(*_SAME.unpack(raw)[1:])
        if raw[:1] == b"D":
            return Settled(*_SETTLED.unpack(raw)[1:])
        kind, person, cluster, slot, apart, a, b, size = _JOINED.unpack_from(raw)
        start = _JOINED.size
        bins = raw[start : start + a], raw[start + a : start + a + b]
        values = np.frombuffer(raw, "<f2", offset=start + a + b)
        if kind != b"J" or values.size != size:
            raise ValueError("unknown kind or wrong size")
        embedding = values.astype(np.float32)
        return Joined(
            person, cluster, slot, bool(apart), bins[0].decode(), bins[1].decode(), embedding
        )
    except (struct.error, ValueError) as error:
        raise SealBroken(f"the store holds an unknown entry ({error}); purge it") from None
