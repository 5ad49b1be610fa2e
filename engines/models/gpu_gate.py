"""Whether a GPU may be taken by itself: its networks answer as the processor's do, and sooner.

The detector must find the same drawn faces, and be faster; every other network must give the
same values on its probe. The verdict is kept under networks, GPU, processor and versions, so
that only the first start pays for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from engines.backends.networks import model_bytes, model_sha256
from engines.detectors.gate import (
    HardwareBackend,
    compared_detectors,
    gates_file,
    keep_verdict,
    kept_verdict,
)
from engines.detectors.loading import detector_from_model
from engines.errors import EngineError, ModelMissing
from engines.models.probes import PARITY_CEILING, probes_for, relative_error
from engines.stylegan.pack import Pack

__all__ = ["gpu_fault"]

_PASSED: Final = "passed"
_LEAST_SPEEDUP: Final = 1.05
_UNUSED: Final = frozenset({"encoder.onnx"})
"""Networks of a pack that no run loads."""


def gpu_fault(
    gpu: HardwareBackend,
    processor: HardwareBackend,
    detector: Path | bytes,
    packs: Sequence[Pack] = (),
    cache: Path | None = None,
) -> str:
    """Why a GPU is not taken by itself; empty where it passes.

    Args:
        gpu: a runtime on it.
        processor: the runtime that it would replace.
        detector: ONNX file or its bytes.
        packs: whose networks will run on it as well.
        cache: file of verdicts; the user's where None.
    """
    path = cache or gates_file()
    key = _key(gpu, processor, detector, packs)
    known = kept_verdict(path, key)
    if known is not None:
        return "" if known[0] == _PASSED else known[1]
    try:
        fault = next(_faults(gpu, processor, model_bytes(detector), packs), "")
    except ModelMissing as missing:  # such as engines that may be built any time
        return str(missing)
    except EngineError as error:
        fault = str(error)
    keep_verdict(path, key, "failed" if fault else _PASSED, fault)
    return fault


def _faults(
    gpu: HardwareBackend, processor: HardwareBackend, detector: bytes, packs: Sequence[Pack]
) -> Iterator[str]:
    exact = detector_from_model(processor, detector, "fp32")
    quick = detector_from_model(gpu, detector, "fp32")
    comparison = compared_detectors(exact, quick)
    if comparison.defect:
        yield f"its detector {comparison.defect}"
    elif comparison.speedup < _LEAST_SPEEDUP:
        yield f"its detector is {comparison.speedup:.2f} times as fast as the processor's"
    for pack in packs:
        for name in sorted(pack.sha256):
            if name.endswith(".onnx") and name not in _UNUSED:
                error = _error_of(gpu, processor, pack, name)
                if not error <= PARITY_CEILING:
                    yield f"its {name} is off by {error:.3f} of the largest value"


def _error_of(gpu: HardwareBackend, processor: HardwareBackend, pack: Pack, name: str) -> float:
    """Largest difference of the two answers to a probe, as a share of the largest value."""
    path = pack.path(name)
    with closing(processor.load(path)) as exact, closing(gpu.load(path)) as quick:
        probe = probes_for(exact.inputs, pack)
        wanted, given = exact.run(probe), quick.run(probe)
    return max(relative_error(given[port], values) for port, values in wanted.items())


def _key(
    gpu: HardwareBackend,
    processor: HardwareBackend,
    detector: Path | bytes,
    packs: Sequence[Pack],
) -> str:
    parts = ["gpu", model_sha256(detector)]
    for one in (gpu, processor):
        parts += [one.name, one.version, one.processor]
    parts += [f"{name} {digest}" for pack in packs for name, digest in sorted(pack.sha256.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
