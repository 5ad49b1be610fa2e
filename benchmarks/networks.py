"""What each network of the pack costs per face, in batches and in every precision it may run in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from engines.backends.backend import Precision
from engines.backends.choice import Choice, choose_detector
from engines.detectors.gate import HardwareBackend
from engines.errors import EngineError
from engines.models.catalogue import centerface_path
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack
from stream.network_speeds import run_of

__all__ = ["BATCHES", "BatchSpeed", "batch_speeds", "batch_table", "gates_told"]

BATCHES: Final = (1, 4, 8, 16)
"""Faces in one run."""
_RUNS: Final = 15
_ROLES: Final = ("landmarker", "lids", "generator")
"""In the order of a frame; the last paints people who were not seen before."""


@dataclass(frozen=True, slots=True)
class BatchSpeed:
    """Times of one network in one precision.

    Attributes:
        network: its role in the pack.
        precision: that was asked for.
        ms: of one face, median of several runs, by `BATCHES`; empty where it does not run.
        fault: why it does not.
    """

    network: str
    precision: Precision
    ms: tuple[float, ...] = ()
    fault: str = ""


def batch_speeds(backend: HardwareBackend) -> Iterator[BatchSpeed]:
    """Times the networks of the bundled pack, data in and out included.

    Raises:
        ModelMissing, ModelRejected: a network is absent or damaged.
    """
    pack = read_pack(bundled_pack())
    embedder = read_pack(bundled_pack() / "embedder").path("embedder.onnx")
    paths = [(role, pack.path(f"{role}.onnx")) for role in _ROLES] + [("embedder", embedder)]
    for role, path in paths:
        for precision in ("fp32", *backend.reduced):
            yield _timed(backend, role, path, precision)


def gates_told(backend: HardwareBackend) -> Iterator[str]:
    """What the gates of the detector and of the painting networks say of each half precision."""
    for precision in backend.reduced:
        chosen = choose_detector(centerface_path(), Choice(backend, ""), precision=precision)
        yield f"detector: {chosen.reason.removeprefix('; ')}"
        _, gate = swapper_from_pack(backend, precision=precision)
        if gate is not None:
            yield f"painting: {gate.told()}"


def batch_table(speeds: Sequence[BatchSpeed]) -> str:
    """The times as a Markdown table, ms per face."""
    heads = " | ".join(f"batch {count}" for count in BATCHES)
    lines = [f"| network | precision | {heads} |", "|---|---|" + "---|" * len(BATCHES)]
    for one in speeds:
        cells = [f"{ms:.2f}" for ms in one.ms] or [one.fault] + ["–"] * (len(BATCHES) - 1)
        lines.append(f"| {one.network} | {one.precision} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _timed(backend: HardwareBackend, role: str, path: Path, precision: Precision) -> BatchSpeed:
    try:
        session = backend.load(path, precision=precision)
        try:
            ms = tuple(_median_ms(run_of(session, count)) / count for count in BATCHES)
        finally:
            session.close()
    except EngineError as fault:
        return BatchSpeed(role, precision, fault=str(fault))
    return BatchSpeed(role, precision, ms)


def _median_ms(run: Callable[[], object]) -> float:
    """Of several runs; the first ones, which compile and allocate, do not count."""
    spent = []
    for turn in range(_RUNS + 3):
        start = time.perf_counter()
        run()
        if turn >= 3:
            spent.append((time.perf_counter() - start) * 1e3)
    return median(spent)
