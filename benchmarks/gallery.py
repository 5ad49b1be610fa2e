"""How long joining takes and how much a person weighs: ``python -m benchmarks.gallery``.

People are drawn from a normal distribution whose variance decays over the axes, so that of 128
axes 38 are effective; the bundled embedder's faces have 66 (`python -m gallery.thresholds LFW`
prints the number). A join is a whole `Gallery.assign` for a newcomer: recognise, place, seal,
append, index, draw the surrogate (of noise), account. Both wall time and the process's own CPU time
are printed; on a busy machine the latter is what the code itself costs.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import psutil
import typer
from numpy.typing import NDArray

from gallery.buffer import Buffer
from gallery.entries import Joined, encoded
from gallery.gallery import Gallery
from gallery.ledger import Ledger
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings, Thresholds
from gallery.simulation import NoiseMaker
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Store

__all__ = ["GalleryBench", "bench_gallery", "crowd_embeddings", "growth", "shown"]

_NEWCOMERS = 300


@dataclass(frozen=True, slots=True)
class GalleryBench:
    """Figures at one size.

    Attributes:
        store: "memory", "redis" or "memory + ledger file".
        people: people known before the newcomers.
        join_ms, join_p95_ms, join_cpu_ms: a newcomer's join; wall median and 95th percentile,
            mean CPU time of this process.
        distances: computed to recognise somebody, median; the index's own measure of cost.
        return_ms: recognising somebody who comes back, wall median.
        recognised: share of those who come back that are recognised.
        catch_up_s: a new worker takes all people in.
        bytes_per_person: growth of this process's memory, per person.
    """

    store: str
    people: int
    join_ms: float
    join_p95_ms: float
    join_cpu_ms: float
    distances: float
    return_ms: float
    recognised: float
    catch_up_s: float
    bytes_per_person: float


def crowd_embeddings(count: int, dimensions: int, seed: int = 0) -> NDArray[np.float32]:
    """Embeddings of different people, (count, dimensions) float32, unit length.

    >>> crowd_embeddings(3, 8).shape
    (3, 8)
    """
    draws = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    spread = np.exp(-3.35 * np.arange(dimensions) / dimensions, dtype=np.float32)
    draws *= spread
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True), dtype=np.float32)


def bench_gallery(
    name: str, store: Store, people: int, k: int, dimensions: int, ledger_folder: Path | None = None
) -> GalleryBench:
    """Fill a store, then measure newcomers and people who come back.

    Args:
        name: for the table.
        store: empty; it is left filled.
        people: known before the measurement.
        k: people of a full cluster.
        dimensions: of the embeddings.
        ledger_folder: record releases there, flushed to the disk; None keeps them in memory.
    """
    settings = GallerySettings(
        k=k, max_people=2 * people + 10 * _NEWCOMERS, thresholds=Thresholds(0.75, 0.75)
    )
    ring = SecretRing.ephemeral()
    crowd = crowd_embeddings(people + _NEWCOMERS, dimensions)
    before = psutil.Process().memory_info().rss
    ledger = Ledger(k, "swap", ledger_folder)
    gallery = Gallery(settings, NoiseMaker(), store, ring, ledger)
    gallery.probe()
    _fill(store, ring, settings, crowd[:people], gallery.window)
    begun = time.perf_counter()
    gallery.probe()
    catch_up_s = time.perf_counter() - begun
    grown = psutil.Process().memory_info().rss - before
    wall_s, cpu_s = _joins(gallery, crowd[people:])
    work = [gallery.search_work(embedding) for embedding in crowd[people:]]
    return_s, recognised = _returns(gallery, crowd[:people])
    gallery.close()
    return GalleryBench(
        store=name,
        people=people,
        join_ms=1e3 * statistics.median(wall_s),
        join_p95_ms=1e3 * float(np.quantile(wall_s, 0.95)),
        join_cpu_ms=1e3 * cpu_s,
        distances=statistics.median(work),
        return_ms=1e3 * statistics.median(return_s),
        recognised=recognised,
        catch_up_s=catch_up_s,
        bytes_per_person=grown / people,
    )


def shown(rows: Sequence[GalleryBench]) -> str:
    """The figures as a table."""
    head = (
        f"{'store':22}{'people':>8}{'join ms':>9}{'p95 ms':>8}{'CPU ms':>8}{'distances':>11}"
        f"{'back ms':>9}{'recognised':>12}{'fill s':>8}{'B/person':>10}"
    )
    lines = [
        f"{row.store:22}{row.people:8d}{row.join_ms:9.2f}{row.join_p95_ms:8.2f}"
        f"{row.join_cpu_ms:8.2f}{row.distances:11.0f}{row.return_ms:9.2f}{row.recognised:12.4f}"
        f"{row.catch_up_s:8.1f}{row.bytes_per_person:10.0f}"
        for row in rows
    ]
    return "\n".join([head, *lines])


def growth(fewer: GalleryBench, more: GalleryBench) -> str:
    """How a search's cost grows from one size to the next, and what n log n in all allows."""
    allowed = float(np.log(more.people) / np.log(fewer.people))
    return (
        f"From {fewer.people} to {more.people} people a search computes "
        f"{more.distances / fewer.distances:.2f} times the distances; n log n in all allows "
        f"{allowed:.2f} times, a scan would need {more.people / fewer.people:.0f}."
    )


def _fill(
    store: Store,
    ring: SecretRing,
    settings: GallerySettings,
    crowd: NDArray[np.float32],
    window: str,
) -> None:
    """Append strangers as a worker would that recognised nobody."""
    buffer = Buffer(settings)
    for number, embedding in enumerate(crowd, 1):
        place = buffer.place(None, "")
        if place is None:
            raise RuntimeError("a stranger found no place; this cannot happen")
        at = (place.person, place.cluster, place.slot, False, place.cluster_bin, "")
        entry = Joined(*at, embedding)
        buffer.apply(number, entry)
        store.append(window, number - 1, ring.seal(encoded(entry), window, number))


def _joins(gallery: Gallery, newcomers: NDArray[np.float32]) -> tuple[list[float], float]:
    """Wall seconds of each join, and CPU seconds per join."""
    wall_s: list[float] = []
    cpu = time.process_time()
    for track, embedding in enumerate(newcomers, 1):
        begun = time.perf_counter()
        gallery.assign("join", track, embedding, None, float(track))
        wall_s.append(time.perf_counter() - begun)
        gallery.visible("join", [], float(track))
    return wall_s, (time.process_time() - cpu) / len(newcomers)


def _returns(gallery: Gallery, known: NDArray[np.float32]) -> tuple[list[float], float]:
    """Wall seconds of each return, and the share of people recognised.

    They come back with a cosine of about 0.85 to the first time.
    """
    dice = np.random.default_rng(1)
    wall_s: list[float] = []
    hits = 0
    picks = dice.choice(len(known), size=min(len(known), 1000), replace=False)
    noise = crowd_embeddings(len(picks), known.shape[1], seed=2)
    for track, (pick, other) in enumerate(zip(picks.tolist(), noise, strict=True), 1):
        again = known[pick] + 0.62 * other
        embedding = np.asarray(again / np.linalg.norm(again), dtype=np.float32)
        begun = time.perf_counter()
        gallery.assign("back", track, embedding, None, float(track))
        wall_s.append(time.perf_counter() - begun)
        found = gallery.record_of("back", track)
        hits += found is not None and found[1] == pick + 1
        gallery.visible("back", [], float(track))
    return wall_s, hits / len(picks)


def main(
    people: Annotated[int, typer.Option(help="Largest gallery.")] = 100_000,
    k: Annotated[int, typer.Option(help="People of a full cluster.")] = 10,
    dimensions: Annotated[int, typer.Option(help="Of an embedding.")] = 128,
    redis: Annotated[bool, typer.Option(help="Also measure a local Redis.")] = True,
) -> None:
    """Print the table, and how a join grows with the number of people."""
    sizes = sorted({max(2 * k, people // 100), max(2 * k, people // 10), people})
    rows = [bench_gallery("memory", MemoryStore(), n, k, dimensions) for n in sizes]
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        rows.append(
            bench_gallery("memory + ledger file", MemoryStore(), sizes[0], k, dimensions, ledger)
        )
        if redis:
            from gallery.stores.local_redis import LocalRedis
            from gallery.stores.redis import RedisStore

            with LocalRedis(Path(folder)) as server, server.client() as client:
                empty = int(client.info("memory")["used_memory"])
                store = RedisStore(server.url, timeout_s=10.0)
                rows.append(bench_gallery("redis", store, people, k, dimensions))
                used = int(client.info("memory")["used_memory"]) - empty
                store.close()
            typer.echo(f"Redis holds {used / people:.0f} bytes per person.")
    typer.echo(shown(rows))
    for fewer, more in itertools.pairwise(rows[: len(sizes)]):
        typer.echo(growth(fewer, more))


if __name__ == "__main__":
    typer.run(main)
