"""What tests of the gallery share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder of a short name: sockets have no room for long ones."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)
