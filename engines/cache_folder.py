"""Where kveil keeps what it can make again: compiled networks, engines, verdicts."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Kveil's folder in the user's cache (XDG Base Directory Specification); not made here."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "kveil"
