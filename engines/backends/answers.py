"""What every backend checks of an answer before it hands it on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault, KveilError

__all__ = ["checked", "faults_told"]


def checked(outputs: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """Outputs as float32 arrays that the caller owns.

    Args:
        outputs: what the runtime gave, by name; its buffers may be reused by the next run.

    Raises:
        EngineFault: an output holds NaN or infinity.

    >>> checked({"y": np.array([1, 2])})["y"].dtype
    dtype('float32')
    """
    owned = {name: np.array(value, np.float32, order="C") for name, value in outputs.items()}
    for name, value in owned.items():
        # One sum is several times cheaper than a test of each value, and NaN or infinity
        # always survives it.
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(value.sum())
        if not math.isfinite(total) and not np.isfinite(value).all():
            raise EngineFault(f"output {name} holds NaN or infinity; the result is discarded")
    return owned


@contextmanager
def faults_told(runtime: str) -> Iterator[None]:
    """Turns whatever a runtime raises into an `EngineFault`, at the border."""
    try:
        yield
    except KveilError:
        raise
    except Exception as fault:  # each runtime has its own unrelated exception types
        kind = type(fault).__name__
        raise EngineFault(f"{runtime} failed on a run ({kind}); the result is discarded") from fault
