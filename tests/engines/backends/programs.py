"""Programs that load a runtime in a process of their own."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]


def ran(program: str) -> subprocess.CompletedProcess[str]:
    """What a Python program did that was run in the project's root."""
    words = [sys.executable, "-c", program]
    return subprocess.run(
        words, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=120
    )
