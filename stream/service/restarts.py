"""What a reload cannot apply: sections that are read once, when the service starts."""

from __future__ import annotations

from typing import Final

from config.service import ServiceSettings

__all__ = ["sections_awaiting_restart"]

_APPLIED: Final[dict[str, bool | set[str]]] = {
    "streams": True,
    "access": {"tokens"},
    "sources": {"hosts", "networks", "schemes", "folders", "devices"},
}
"""What a reload applies: whole sections, or keys of them."""


def sections_awaiting_restart(in_force: ServiceSettings, wanted: ServiceSettings) -> list[str]:
    """Names of the sections in which something differs that only a restart applies.

    >>> sections_awaiting_restart(ServiceSettings(), ServiceSettings(live={"fps": 30}))
    ['live']
    """
    before = in_force.model_dump(exclude=_APPLIED)
    after = wanted.model_dump(exclude=_APPLIED)
    return [name for name in before if before[name] != after[name]]
