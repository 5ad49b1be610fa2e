"""Whatever bytes come from outside, our parsers read them or raise an error of ours, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.parsers import PARSERS

pytestmark = pytest.mark.unit

ROUNDS = 60
LONGEST_S = 5.0


def harmed(seed: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes overwritten, doubled, cut or taken from elsewhere."""
    data = bytearray(seed)
    for _ in range(int(rng.integers(1, 8))):
        place, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 24))
        other = int(rng.integers(0, len(data) + 1))
        kind = int(rng.integers(0, 5))
        if kind == 0:
            data[place : place + length] = rng.bytes(length)
        elif kind == 1:
            data[place:place] = data[other : other + length] * int(rng.integers(1, 40))
        elif kind == 2:
            del data[place : place + length]
        elif kind == 3:
            data[place : place + 1] = bytes([int(rng.choice([0, 1, 0x7F, 0x80, 0xFF]))])
        else:
            data[place : place + 8] = b"\xff" * int(rng.integers(1, 9))
    return bytes(data)


@pytest.mark.parametrize("name", PARSERS)
def test_seeds_are_known_and_harmed_ones_are_refused(name: str, tmp_path: Path) -> None:
    parser, rng = PARSERS[name], np.random.default_rng(3)
    for seed in (*parser.seeds, b""):
        for data in (seed, *(harmed(seed, rng) for _ in range(ROUNDS))):
            start = time.process_time()
            try:
                parser.read(data, tmp_path)
            except parser.refuses:
                pass
            except Exception as error:
                pytest.fail(f"{type(error).__name__}: {error} of {data!r}")
            assert time.process_time() - start < LONGEST_S, data
