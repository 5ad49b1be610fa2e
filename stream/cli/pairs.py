"""`--set KEY=VALUE`, wherever a command takes any setting."""

from __future__ import annotations

from collections.abc import Iterable

from stream.errors import UsageRefused

__all__ = ["flags_from_pairs"]


def flags_from_pairs(pairs: Iterable[str]) -> dict[str, object]:
    """Values by dotted key.

    Raises:
        UsageRefused: a pair without an equals sign.

    >>> flags_from_pairs(["privacy.k=7", "gallery.session=night"])
    {'privacy.k': '7', 'gallery.session': 'night'}
    """
    given: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageRefused(f"--set takes KEY=VALUE, not `{pair}`; see `kveil config keys`")
        given[key.strip()] = value
    return given
