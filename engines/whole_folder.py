"""A folder that appears under its name only when it is complete."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_folder"]


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Gives an empty folder beside a name, which takes that name at the end of the body.

    What had the name is replaced then. If the body raises, nothing of the new folder is left and
    the old one stays.

    Raises:
        OSError: the folder cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield partial
        partial.chmod(0o755)
        if target.exists():
            old = partial.with_suffix(".old")
            target.replace(old)
            partial.replace(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
