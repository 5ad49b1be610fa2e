"""Builds `Settings` from flags, environment, file and preset, in that order of weight."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Final

from pydantic import BaseModel, ValidationError

from config.errors import SettingInvalid
from config.presets import PRESETS, Preset
from config.settings import Settings
from config.yaml_reading import kind_at, mapping_from_file, value_from_text

__all__ = ["ENV_PREFIX", "load_settings", "setting_keys"]

ENV_PREFIX = "KVEIL_"
_NEARLY: Final = 0.85
"""How alike two names of variables are, from 0 to 1, for one to be a slip of the other."""
Tree = dict[str, object]


def load_settings(
    *,
    preset: Preset = "default",
    file: Path | None = None,
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Merges all sources and validates the result.

    Args:
        preset: named starting point.
        file: YAML mapping of sections.
        flags: values by dotted key, such as `{"detection.low_score": "0.1"}`; strings
            are read as YAML, but by settings that hold text themselves.
        environment: variables; `os.environ` by default.

    Raises:
        FileInvalid: the file cannot be read, says something twice, or is no mapping.
        SettingInvalid: an unknown key or a value out of range, from whichever source.

    >>> load_settings(flags={"privacy.k": "7"}, environment={}).privacy.k
    7
    """
    tree: Tree = {}
    _merge(tree, dict(PRESETS[preset]))
    if file is not None:
        _merge(tree, mapping_from_file(file, "privacy"))
    _merge(tree, _tree_from_environment(os.environ if environment is None else environment))
    for key, value in (flags or {}).items():
        _merge(tree, _nested(key.split("."), value, f"setting `{key}`"))
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise SettingInvalid(_one_line(error)) from None


def setting_keys(model: type[BaseModel] = Settings, prefix: str = "") -> dict[str, str]:
    """Every key in dotted form with its description.

    >>> "privacy.k" in setting_keys()
    True
    """
    keys: dict[str, str] = {}
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            keys |= setting_keys(annotation, f"{prefix}{name}.")
        else:
            keys[f"{prefix}{name}"] = field.description or ""
    return keys


def _tree_from_environment(environment: Mapping[str, str]) -> Tree:
    known = {key.replace(".", "__").upper(): key for key in setting_keys()}
    tree: Tree = {}
    for variable, text in environment.items():
        if not variable.startswith(ENV_PREFIX):
            continue
        name = variable.removeprefix(ENV_PREFIX).upper()
        if name in known:
            _merge(tree, _nested(known[name].split("."), text, f"environment {variable}"))
        else:
            _refuse_misspelt(variable, name, known)
    return tree


def _refuse_misspelt(variable: str, name: str, known: Collection[str]) -> None:
    """Refuses a variable that means a setting and names none; others are somebody else's.

    Raises:
        SettingInvalid: it is in a section of ours, or nearly a setting of ours.
    """
    section, has_key, _ = name.partition("__")
    near = difflib.get_close_matches(name, known, n=1, cutoff=_NEARLY)
    if near or (has_key and section in {key.partition("__")[0] for key in known}):
        told = f"did you mean {ENV_PREFIX}{near[0]}?" if near else "`kveil config keys` lists all"
        raise SettingInvalid(f"environment {variable} is no setting; {told}")


def _nested(path: list[str], value: object, where: str) -> Tree:
    if isinstance(value, str):
        value = value_from_text(value, kind_at(Settings, path), where)
    for name in reversed(path):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def _merge(tree: Tree, other: Mapping[str, object]) -> None:
    for key, value in other.items():
        here = tree.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            _merge(here, value)
        else:
            tree[key] = dict(value) if isinstance(value, dict) else value


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    key = _setting_at([str(part) for part in first["loc"]])
    if first["type"] == "extra_forbidden":
        return f"unknown setting `{key}`; `kveil config keys` lists all"
    given = "" if key.endswith("_url") else f"; got {_shown(first['input'])}"  # may hold a password
    return f"setting `{key}`: {first['msg'].lower()}{given}"


def _setting_at(location: Sequence[str]) -> str:
    """The setting at a place, without what the library adds for the kinds that it may have."""
    known = setting_keys()
    keys = [".".join(location[:length]) for length in range(1, len(location) + 1)]
    return next((key for key in keys if key in known), keys[-1] if keys else "")


def _shown(value: object) -> str:
    """A value in short: aliases of YAML can make a small file into one of gigabytes.

    >>> _shown([1, [2], "no"])
    "[1, [...], 'no']"
    """
    short = Repr()
    short.maxlevel, short.maxstring, short.maxother = 1, 80, 80
    return short.repr(value)
