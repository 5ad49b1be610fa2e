"""Builds the TensorRT engines of the networks that are there, ahead of the first run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engines.backends.backend import Precision, Session
from engines.backends.networks import model_bytes, stripped
from engines.backends.tensorrt_build import (
    BuildRequest,
    TensorrtName,
    cached_engine,
    engine_path,
    shape_ranges,
)
from engines.detectors.loading import detector_from_model
from engines.errors import EngineFault, ModelRejected
from engines.models.catalogue import Listed, buildable_of

__all__ = ["Built", "built", "loaded_network"]

_BLANK: Final = (64, 64, 3)


@dataclass(frozen=True, slots=True)
class Built:
    """One engine.

    Attributes:
        model: name of the network's pack.
        file: of the network.
        capability: compute capability.
        precision: arithmetic.
        nbytes: size of the engine.
        seconds: of the build; 0 where it was there.
        path: in the cache.
        fault: why there is none; empty where there is.
    """

    model: str
    file: str
    capability: str
    precision: Precision
    nbytes: int = 0
    seconds: float = 0.0
    path: Path | None = None
    fault: str = ""


def built(
    listed: Listed,
    capabilities: Sequence[str],
    precisions: Sequence[Precision],
    cache: Path,
    runtime: TensorrtName = "auto",
) -> Iterator[Built]:
    """Build every network of a pack for every capability and precision.

    A network that cannot be built gives a row with its fault, and the others go on.

    Args:
        listed: the pack.
        capabilities: such as `8.6`; `current` for the GPU of this machine.
        precisions: of the arithmetic.
        cache: folder of engines.
        runtime: which TensorRT.

    Raises:
        BackendMissing: TensorRT is not installed.
        ModelMissing, ModelRejected: a file is absent, damaged or no network.
        OSError: the cache cannot be written.
    """
    if listed.fault:
        raise ModelRejected(listed.fault)
    for name in buildable_of(listed):
        content = loaded_network(listed, name)
        ranges = shape_ranges(content)
        for capability in capabilities:
            for precision in precisions:
                row = Built(listed.name, name, capability, precision)
                yield _built(
                    row, content, BuildRequest(precision, capability, ranges, runtime), cache
                )


def _built(row: Built, content: bytes, request: BuildRequest, cache: Path) -> Built:
    known = (row.model, row.file, row.capability, row.precision)
    was_there = engine_path(content, request, cache).is_file()
    start = time.perf_counter()
    try:
        path = cached_engine(content, request, cache)
    except ModelRejected as fault:
        return Built(*known, seconds=time.perf_counter() - start, fault=str(fault))
    seconds = 0.0 if was_there else time.perf_counter() - start
    return Built(*known, path.stat().st_size, seconds, path)


def loaded_network(listed: Listed, name: str) -> bytes:
    """A network as the runtime is given it: detectors have their preparation built in.

    Raises:
        ModelMissing, ModelRejected: the file is absent, damaged or no network.
    """
    content = model_bytes(listed.pack.path(name))
    if listed.kind != "detector":
        return stripped(content)
    recorder = _Recorder()
    detector = detector_from_model(recorder, content)
    try:
        detector.detect(np.zeros(_BLANK, np.uint8), min_score=0.5)
    except EngineFault:
        if recorder.content:
            return recorder.content
    raise ModelRejected(f"the detector {name} loads no network; it cannot be built")


class _Recorder:
    """A backend that keeps what it is asked to load."""

    name = "recorder"

    def __init__(self) -> None:
        self.content = b""

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Session:
        """Keep the network and refuse to run it."""
        self.content = model_bytes(model)
        raise EngineFault("only the network is wanted")
