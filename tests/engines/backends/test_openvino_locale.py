"""Two threads never compile at once: one would leave the locale as the other had set it."""

from __future__ import annotations

import threading
import time

import pytest

from engines.backends.openvino import OpenVino
from engines.errors import ModelRejected
from engines.models.catalogue import centerface_path

pytestmark = pytest.mark.unit


class SlowCore:
    """Counts who compiles at the same time."""

    def __init__(self) -> None:
        self._busy = 0
        self.most = 0

    def compile_model(self, *given: object, weights: bytes) -> object:
        self._busy += 1
        self.most = max(self.most, self._busy)
        time.sleep(0.05)
        self._busy -= 1
        raise RuntimeError("not a real one")


def test_networks_are_compiled_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, core = OpenVino(threads=1), SlowCore()
    monkeypatch.setattr(backend, "_core", core)

    def load() -> None:
        with pytest.raises(ModelRejected):
            backend.load(centerface_path())

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert core.most == 1
