"""JSON that others wrote, such as manifests and records."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["value_from_json"]


def value_from_json(text: str | bytes) -> Any:
    """The value; whatever is wrong with the text is one kind of error.

    Raises:
        ValueError: it is no JSON, no UTF-8, or nested too deep.

    >>> value_from_json("[1, 2]")
    [1, 2]
    >>> value_from_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: nested too deep
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
