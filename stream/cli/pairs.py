"""Settings of the commands that take any of them by `--set KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from config.loading import load_settings
from config.presets import Preset
from config.settings import Settings
from stream.errors import UsageRefused

__all__ = ["settings_from_command"]


def settings_from_command(
    preset: Preset, config: Path | None, flags: Mapping[str, object], pairs: Iterable[str]
) -> Settings:
    """Settings as a command was given them.

    Args:
        preset: starting point.
        config: YAML file.
        flags: values of the command's own options by dotted key; None where not given.
        pairs: `KEY=VALUE`, which weigh most.

    Raises:
        FileInvalid: the file cannot be read, says something twice, or is no mapping.
        SettingInvalid: an unknown key or a value out of range.
        UsageRefused: a pair without an equals sign.
    """
    given = {key: value for key, value in flags.items() if value is not None}
    return load_settings(preset=preset, file=config, flags=given | _flags_from_pairs(pairs))


def _flags_from_pairs(pairs: Iterable[str]) -> dict[str, object]:
    """Values by dotted key.

    Raises:
        UsageRefused: a pair without an equals sign.

    >>> _flags_from_pairs(["privacy.k=7", "gallery.session=night"])
    {'privacy.k': '7', 'gallery.session': 'night'}
    """
    given: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageRefused(f"--set takes KEY=VALUE, not `{pair}`; see `kveil config keys`")
        given[key.strip()] = value
    return given
