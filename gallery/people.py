"""Who is who: from a track's embeddings to a known or a new person.

A track's embedding is the mean over its sharpest frames (`SharpestMean`). `PeopleIndex` holds one
embedding per record in an HNSW graph (Malkov and Yashunin 2018; usearch), so that a search costs
about log n, and says who is known, who is perhaps known, and who is new.

The graph is approximate: it can miss a known person, who is then enrolled a second time.
`python -m benchmarks.gallery` prints how often.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from engines.types import Embedding
from gallery.errors import EmbeddingsRejected
from gallery.settings import Thresholds

__all__ = ["PeopleIndex", "SharpestMean", "Sighting", "unit_embedding"]

_NEIGHBOURS = 8
_RECENT = 4
_BULK = 64
_FEW = 2048
_CONNECTIVITY = 12
_ADD_EFFORT = 200
"""Few links, carefully chosen: a search's cost then grows with log n from 10,000 people on."""
_ROUNDING = 2.0**-11
"""Most that half precision can take from the cosine of two unit vectors."""


def unit_embedding(values: NDArray[np.floating]) -> Embedding:
    """A checked embedding of unit length.

    Args:
        values: (D,) floating, any length but zero.

    Returns:
        (D,) float32, unit length, a copy.

    Raises:
        EmbeddingsRejected: another shape, not finite, or all but zero.

    >>> unit_embedding(np.array([3.0, 4.0])).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    wide = np.asarray(values, dtype=np.float64)
    if wide.ndim != 1 or wide.size < 2 or not np.isfinite(wide).all():
        raise EmbeddingsRejected("an embedding must be one finite vector; check the recogniser")
    length = float(np.linalg.norm(wide))
    if length < 1e-6:
        raise EmbeddingsRejected("an embedding of zero length says nothing; check the recogniser")
    return (wide / length).astype(np.float32)


class SharpestMean:
    """The embedding of a track: the mean over its sharpest frames, of bounded memory.

    Args:
        limit: frames that are kept. When it grows, noise averages out, and blurred frames
            come in.

    >>> mean = SharpestMean(limit=1)
    >>> mean.add(np.array([1.0, 0.0], np.float32), sharpness=1.0)
    >>> mean.add(np.array([0.0, 1.0], np.float32), sharpness=5.0)
    >>> mean.embedding().tolist()
    [0.0, 1.0]
    """

    def __init__(self, limit: int = 5) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        self._limit = limit
        self._kept: list[tuple[float, int, Embedding]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, embedding: Embedding, sharpness: float) -> None:
        """Take a frame in, if it is among the sharpest so far.

        Args:
            embedding: (D,) float32, any length.
            sharpness: any measure that grows with it; NaN counts as the least.

        Raises:
            EmbeddingsRejected: not a finite vector.
        """
        sharpness = float("-inf") if np.isnan(sharpness) else sharpness
        self._added += 1
        item = (sharpness, -self._added, unit_embedding(embedding))
        if len(self._kept) < self._limit:
            heapq.heappush(self._kept, item)
        else:
            heapq.heappushpop(self._kept, item)

    def embedding(self) -> Embedding:
        """The mean of the frames kept, of unit length.

        Raises:
            EmbeddingsRejected: no frame yet, or frames that cancel each other.
        """
        if not self._kept:
            raise EmbeddingsRejected("the track has no frame with a face to embed yet")
        return unit_embedding(np.mean([kept[2] for kept in self._kept], axis=0))


@dataclass(frozen=True, slots=True)
class Sighting:
    """What an embedding tells.

    Attributes:
        known: the record that it matches; None where nobody does, all who do are excluded, or
            an excluded one of somebody else matches better.
        resembles: records of different people that it may be, best first: those that match and
            are not known for it, and any in doubt; empty for a stranger and beside a known one.
    """

    known: int | None
    resembles: tuple[int, ...]


class PeopleIndex:
    """Embeddings of one window, one per record.

    The graph only proposes; what it proposes is compared by the embeddings as the log keeps
    them, so that its coarse numbers (8 bits) decide nothing near a threshold. Few people, and
    the latest ones, are compared one by one.

    Args:
        thresholds: when two embeddings are one person.
        search_effort: candidates that a search examines.
    """

    def __init__(self, thresholds: Thresholds, search_effort: int = 64) -> None:
        self._thresholds = thresholds
        self._effort = search_effort
        self._graph: Index | None = None
        self._records: NDArray[np.int64] = np.empty(0, np.int64)
        self._kept: NDArray[np.float16] = np.empty((0, 0), np.float16)
        self._count = 0
        self._indexed = 0

    def __len__(self) -> int:
        return self._count

    @property
    def dimensions(self) -> int:
        """D; 0 before the first embedding."""
        return int(self._kept.shape[1])

    @property
    def memory_bytes(self) -> int:
        """Bytes that the index holds."""
        graph = 0 if self._graph is None else int(self._graph.memory_usage)
        return graph + self._kept.nbytes + self._records.nbytes

    def add(self, records: Collection[int], embeddings: NDArray[np.float32]) -> None:
        """Take new records in; the graph takes them in batches, so that most calls cost nothing.

        Args:
            records: n ids, not yet present.
            embeddings: (n, D) float32, unit length.

        Raises:
            EmbeddingsRejected: another D than before.
        """
        self._require(embeddings.shape[1])
        end = self._count + len(embeddings)
        if end > len(self._records):
            self._grow(max(end, 2 * _FEW, len(self._records) * 3 // 2), embeddings.shape[1])
        self._kept[self._count : end] = embeddings
        self._records[self._count : end] = list(records)
        self._count = end
        if end - self._indexed >= _RECENT:
            self._index_recent()

    def sight(
        self,
        embedding: Embedding,
        person_of: Callable[[int], tuple[int, int]],
        excluded: Collection[int] = (),
    ) -> Sighting:
        """Who this may be.

        Args:
            embedding: (D,) float32, unit length.
            person_of: gives the record that stands for a record, and its person.
            excluded: records that it cannot be: their owners are in view on other tracks.

        Raises:
            EmbeddingsRejected: another D than before.
        """
        if not len(self):
            return Sighting(None, ())
        resembles: dict[int, int] = {}
        for score, key in self._nearest(embedding):
            if score < self._thresholds.doubt - _ROUNDING:
                break
            record, person = person_of(key)
            # Whoever matches less than somebody in view is hardly the one: the recogniser errs.
            is_likest = not resembles.keys() - {person}
            if score >= self._thresholds.match and record not in excluded and is_likest:
                return Sighting(record, ())
            resembles.setdefault(person, record)
        return Sighting(None, tuple(resembles.values()))

    def search_work(self, embedding: Embedding) -> int:
        """Distances that a search computes: its cost, whatever else the machine does.

        Raises:
            EmbeddingsRejected: another D than before.
        """
        self._require(embedding.size)
        if self._graph is None or self._count <= _FEW:
            return self._count
        found = self._graph.search(embedding, _NEIGHBOURS, threads=1)
        return int(found.computed_distances) + self._count - self._indexed

    def _nearest(self, embedding: Embedding) -> list[tuple[float, int]]:
        """Cosines and records, best first."""
        self._require(embedding.size)
        start = 0
        rows = np.empty(0, np.int64)
        if self._graph is not None and self._count > _FEW:
            found = self._graph.search(embedding, _NEIGHBOURS, threads=1)
            rows, start = found.keys.astype(np.int64), self._indexed
        rows = np.concatenate([rows, np.arange(start, self._count)])
        cosines = self._kept[rows].astype(np.float32) @ embedding
        best = np.argsort(-cosines, kind="stable")[:_NEIGHBOURS]
        return list(zip(cosines[best].tolist(), self._records[rows[best]].tolist(), strict=True))

    def _grow(self, capacity: int, dimensions: int) -> None:
        kept, records = self._kept, self._records
        self._kept = np.empty((capacity, dimensions), np.float16)
        self._records = np.empty(capacity, np.int64)
        self._kept[: len(kept)] = kept.reshape(len(kept), dimensions)
        self._records[: len(records)] = records

    def _index_recent(self) -> None:
        """Move the latest records into the graph."""
        if self._graph is None:
            self._graph = Index(
                ndim=self.dimensions,
                metric="cos",
                dtype="i8",
                connectivity=_CONNECTIVITY,
                expansion_add=_ADD_EFFORT,
                expansion_search=self._effort,
            )
        rows = np.arange(self._indexed, self._count, dtype=np.uint64)
        threads = 1 if len(rows) < _BULK else 0
        self._graph.add(rows, self._kept[self._indexed : self._count].astype(np.float32),
                        threads=threads)  # fmt: skip
        self._indexed = self._count

    def _require(self, dimensions: int) -> None:
        if self.dimensions not in (0, dimensions):
            raise EmbeddingsRejected(
                f"embeddings have {dimensions} numbers, the gallery holds {self.dimensions}; "
                "use one recogniser, or purge the gallery after a change"
            )
