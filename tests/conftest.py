"""Rules of collection and shared fixtures."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Neither a deadline nor how fast examples are drawn: both measure the machine.
settings.register_profile("kveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kveil")

CATEGORIES = {"unit", "data", "gpu", "redis", "browser", "rtsp", "slow", "torch"}
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Ctrl-C works in tests, and in what they start, even where a shell started them without it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test module says what it needs; a forgotten marker stops the run."""
    for item in items:
        is_doctest = item.__class__.__name__ == "DoctestItem"
        if not is_doctest and not CATEGORIES & {mark.name for mark in item.iter_markers()}:
            raise pytest.UsageError(
                f"{item.nodeid}: declare `pytestmark = pytest.mark.unit` (or one of "
                f"{', '.join(sorted(CATEGORIES))}) at the top of the module"
            )


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Third-party faces, clips and models, beside the checkout; skips where absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs ../shared/data beside the checkout")
    return SHARED_DATA
