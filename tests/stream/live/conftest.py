"""Rules of collection of the live tests, and what they share."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

collect_ignore = ["gst_server.py"]  # runs under the system's Python, which has GStreamer


@pytest.fixture
def logged() -> Iterator[Sequence[MutableMapping[str, Any]]]:
    """Events as they are logged, whatever a service of another test has configured."""
    structlog.reset_defaults()
    with capture_logs() as events:
        yield events
