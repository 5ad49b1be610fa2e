"""The methods by name: the swap, and every cover."""

from __future__ import annotations

from engines.blending.covers import COVERS, NamedCover
from stream.errors import UsageRefused

__all__ = ["SWAP", "method_cover", "method_warning"]

SWAP = "swap"
"""The method that replaces faces; every other one is the name of a cover."""


def method_cover(method: str, look: str = "muted") -> NamedCover:
    """What lies over a face without a patch.

    Args:
        method: `swap`, or the name of a cover.
        look: the name of the cover that goes with `swap`.

    Raises:
        UsageRefused: there is no such method.

    >>> method_cover("swap").name, method_cover("swap", "solid").name, method_cover("blur").name
    ('muted', 'solid', 'blur')
    """
    name = look if method == SWAP else method
    if name not in COVERS:
        raise UsageRefused(f"no method is named `{method}`; `kveil methods` lists them")
    return COVERS[name]


def method_warning(method: str) -> str:
    """Why a method does not stop recognition; empty for those that do.

    >>> method_warning("solid"), bool(method_warning("blur"))
    ('', True)
    """
    cover = method_cover(method)
    return f"{method} does not stop recognition: {cover.warning}" if cover.warning else ""
