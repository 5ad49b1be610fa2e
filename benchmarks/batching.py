"""Prints what the detector takes per picture, alone and with pictures of other streams.

Batches are run as one request; `2 threads` are two streams that ask at once, each for its own
picture, as the service does. Run from the repository: python -m benchmarks.batching
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engines.backends.backend import Session, Tensors
from engines.backends.networks import model_bytes
from engines.backends.openvino import OpenVino
from engines.detectors.image_network import network_from_images
from engines.models.catalogue import centerface_path

SIZES = ((448, 768), (736, 1280))
ROUNDS = 15


def main() -> None:
    """One row per precision, size and way of asking."""
    backend = OpenVino(threads=2)
    network = network_from_images(model_bytes(centerface_path()), is_rgb=True)
    print(f"{'precision':10}{'size':>12}{'asked for':>22}{'ms per picture':>16}")
    for precision in ("bf16", "fp32"):
        for height, width in SIZES:
            for rows in (1, 2, 4):
                session = backend.load(
                    network,
                    precision=precision,
                    shapes={"image_bgr": (rows, height, width, 3)},
                )
                pictures = np.random.default_rng(0).integers(0, 255, (rows, height, width, 3))
                given = {"image_bgr": pictures.astype(np.uint8)}
                row = f"{precision:10}{f'{width}x{height}':>12}"
                print(f"{row}{f'batch of {rows}':>22}{took(session.run, given) / rows:16.1f}")
                if rows == 1:
                    with ThreadPoolExecutor(2) as pool:

                        def both(
                            given: Tensors,
                            session: Session = session,
                            pool: ThreadPoolExecutor = pool,
                        ) -> None:
                            list(pool.map(session.run, [given, given]))

                        print(f"{row}{'2 threads':>22}{took(both, given) / 2:16.1f}", flush=True)


def took(work: Callable[[Tensors], object], given: Tensors) -> float:
    """Median ms of a call."""
    work(given)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work(given)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


if __name__ == "__main__":
    main()
