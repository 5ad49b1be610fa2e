"""Fixtures that several modules of runs share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.stream.scripted_runs import Answer, CountingDetector, install_detector


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], CountingDetector]:
    """Puts a scripted detector in the place of the real one."""
    return partial(install_detector, monkeypatch)
