"""Everything that can be wrong with what was chosen.

ConfigError          a setting, preset or file does not hold        (exit 2)
├── SettingInvalid   a key is unknown or its value is out of range
└── FileInvalid      the configuration file is absent, no YAML mapping, or unclear
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["ConfigError", "FileInvalid", "SettingInvalid"]


class ConfigError(Exception):
    """A setting, preset or file does not hold; the message names the key and the mend."""

    exit_code: ClassVar[int] = 2
    retryable: ClassVar[bool] = False


class SettingInvalid(ConfigError):
    """A key is unknown or its value is out of range."""


class FileInvalid(ConfigError):
    """The configuration file is absent, no YAML mapping, empty, or says something twice."""
