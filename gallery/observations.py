"""What workers of a rehearsal saw, and whether it fits together over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
import redis
from numpy.typing import NDArray

from engines.types import Embedding
from gallery.buffer import Buffer
from gallery.settings import GallerySettings

__all__ = ["Observation", "broken_promises", "buffer_faults", "clear_biometrics", "read_seen"]


@dataclass(frozen=True, slots=True)
class Observation:
    """A worker lent a face to a human.

    Attributes:
        human: who it really was.
        window, record: whom the gallery took it for.
        cluster: name of the cluster.
        face: name of the surrogate.
        k_real: candidates that the gallery claimed.
    """

    human: int
    window: str
    record: int
    cluster: str
    face: str
    k_real: int

    def line(self) -> bytes:
        """One line of a file."""
        return json.dumps(asdict(self)).encode() + b"\n"


def read_seen(folder: Path) -> list[Observation]:
    """Observations of all workers; lines that a killed worker cut short are left out."""
    seen: list[Observation] = []
    for path in sorted(folder.glob("seen-*.jsonl")):
        raw = path.read_bytes()
        lines = raw[: raw.rfind(b"\n") + 1].splitlines()
        seen += [Observation(**json.loads(line)) for line in lines]
    return seen


def broken_promises(seen: Iterable[Observation], k: int) -> list[str]:
    """What two workers, or one at two times, did that does not fit together.

    Within a window a human has one record and a record one human, one face and one cluster;
    no two records share a face; no cluster has lent faces to more than k humans; the claimed
    number of candidates does not change.

    >>> a = Observation(1, "w", 7, "c", "f", 3)
    >>> broken_promises([a, Observation(2, "w", 8, "c", "f", 3)], 3)
    ['two records of window w wear face f']
    """
    faults: list[str] = []
    known: dict[tuple[str, str, str | int], tuple[str | int, ...]] = {}
    lent: dict[tuple[str, str], set[int]] = {}

    def once(what: str, window: str, key: str | int, *value: str | int) -> bool:
        return known.setdefault((what, window, key), value) == value

    for one in seen:
        w = one.window
        if not once("human", w, one.human, one.record):
            faults.append(f"human {one.human} of window {w} was split over two records")
        if not once("record", w, one.record, one.human, one.cluster, one.face, one.k_real):
            faults.append(f"record {one.record} of window {w} changed")
        if not once("face", w, one.face, one.record):
            faults.append(f"two records of window {w} wear face {one.face}")
        lent.setdefault((w, one.cluster), set()).add(one.human)
    faults += [f"cluster {c} of window {w} holds {len(humans)} humans"
               for (w, c), humans in lent.items() if len(humans) > k]  # fmt: skip
    return faults


def buffer_faults(buffer: Buffer, settings: GallerySettings) -> list[str]:
    """What is wrong with the clusters that the log itself yields; empty where all is well."""
    faults: list[str] = []
    for name, cluster in buffer.clusters.items():
        if len(cluster.people) > settings.k or len(set(cluster.people)) != len(cluster.people):
            faults.append(f"cluster {name} holds {len(cluster.people)} people")
        slots = [buffer.records[record].slot for record in cluster.records]
        if slots != list(range(len(slots))):
            faults.append(f"cluster {name} has slots {slots}")
    placed = [record for cluster in buffer.clusters.values() for record in cluster.records]
    if sorted(placed) != sorted(buffer.records):
        faults.append("a record is in no cluster, or in two")
    return faults


def clear_biometrics(
    embeddings: Iterable[Embedding], folders: Iterable[Path], client: redis.Redis | None
) -> list[str]:
    """Places where bytes of an embedding stand in clear.

    Runs of two float32 numbers and of four float16 numbers of each embedding are looked for
    at every byte of every file, key and value.
    """
    pieces: set[bytes] = set()
    for embedding in embeddings:
        for kind in ("<f4", "<f2"):
            raw = embedding.astype(np.dtype(kind)).tobytes()
            pieces |= {raw[i : i + 8] for i in range(0, len(raw) - 7, 8)}
    wanted = np.frombuffer(b"".join(sorted(pieces)), dtype="<u8")
    return [name for name, raw in _everything(folders, client) if _holds(raw, wanted)]


def _holds(raw: bytes, wanted: NDArray[np.uint64]) -> bool:
    """Whether any of these 8-byte words stands anywhere in the bytes."""
    for offset in range(8):
        count = (len(raw) - offset) // 8
        if count > 0 and np.isin(np.frombuffer(raw, "<u8", count, offset), wanted).any():
            return True
    return False


def _everything(folders: Iterable[Path], client: redis.Redis | None) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield str(path), path.read_bytes()
    for key in client.scan_iter("*") if client else ():
        yield repr(key), bytes(key)
        if client and client.type(key) == b"stream":
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", client.xrange(key))
            for number, fields in entries:
                for name, value in fields.items():
                    yield f"{key!r} {number!r} {name!r}", value
        elif client:
            yield f"{key!r} dumped", client.dump(key) or b""
