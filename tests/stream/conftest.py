"""Fixtures that several modules of runs share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from stream.live.live_encoder import LiveEncoder
from tests.stream.scripted_runs import Answer, CountingDetector, install_detector


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], CountingDetector]:
    """Puts a scripted detector in the place of the real one."""
    return partial(install_detector, monkeypatch)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codec of every live encoder that is made."""
    found: list[str] = []
    opened = LiveEncoder._opened

    def counted(self: LiveEncoder) -> object:
        found.append(self._codec)
        return opened(self)

    monkeypatch.setattr(LiveEncoder, "_opened", counted)
    return found
