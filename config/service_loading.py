"""Builds `ServiceSettings` from a file and the environment, and writes a commented example."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

from config.errors import SettingInvalid
from config.service import ServiceSettings, StreamSpec
from config.yaml_reading import kind_at, mapping_from_file, value_from_text

__all__ = ["commented_yaml", "load_service"]

_PREFIX = "KVEIL_"
Node = dict[str, object] | list[object]


def load_service(
    file: Path | None,
    environment: Mapping[str, str] | None = None,
    *,
    may_be_empty: bool = True,
) -> ServiceSettings:
    """Merges file and environment and validates the result.

    Args:
        file: YAML mapping of sections.
        environment: variables; `os.environ` by default.
        may_be_empty: a file without any section stands for the defaults.

    Raises:
        FileInvalid: the file cannot be read, says something twice, is no mapping, or is empty.
        SettingInvalid: an unknown key or a value out of range.

    >>> load_service(None, {"KVEIL_LISTEN__PORT": "9000"}).listen.port
    9000
    """
    tree: dict[str, object] = {}
    if file is not None:
        tree = mapping_from_file(file, "listen", may_be_empty=may_be_empty)
    for variable, text in (os.environ if environment is None else environment).items():
        path = variable.removeprefix(_PREFIX).lower().split("__")
        if not variable.startswith(_PREFIX):
            continue
        if path[0] in ServiceSettings.model_fields:
            _put(tree, path, text, variable)
        elif path[0] in ServiceSettings.model_fields["anonymize"].default.__class__.model_fields:
            _put(tree, ["anonymize", *path], text, variable)
    try:
        return ServiceSettings.model_validate(tree)
    except ValidationError as error:
        raise SettingInvalid(_one_line(error)) from None


def commented_yaml() -> str:
    """A configuration file with every key, its default and what it means.

    >>> "port: 8080" in commented_yaml()
    True
    """
    lines = ["# Configuration of `kveil serve`: every key with its default."]
    lines += _section(ServiceSettings, ServiceSettings(), 0)
    place = lines.index("streams: []") + 1
    lines[place:place] = _stream_examples()
    return "\n".join(lines) + "\n"


def _section(model: type[BaseModel], values: BaseModel, depth: int) -> list[str]:
    lines: list[str] = []
    pad = "  " * depth
    for name, field in model.model_fields.items():
        value = getattr(values, name)
        about = field.description
        if isinstance(value, BaseModel):
            about = about or (type(value).__doc__ or "").strip()
            lines += ["", f"{pad}# {about}", f"{pad}{name}:"]
            lines += _section(type(value), value, depth + 1)
            continue
        lines += [f"{pad}# {line}" for line in (about or "").split("\n")] if about else []
        lines.append(f"{pad}{name}: {_scalar(value)}")
    return lines


def _stream_examples() -> list[str]:
    """Entries of streams as comments: a camera, a stream that comes by WHIP, and every key."""
    lines = [
        "# Streams look like this:",
        "#",
        "# streams:",
        "#   - name: entrance",
        "#     source: rtsp://user:password@camera.example/live",
        "#     sinks: [rtsp://server.example/entrance]",
        "#   - name: phone  # no source: published by WHIP at /whip/phone",
        "#     audio: pass",
        "#",
        "# Every key of a stream:",
        "#",
    ]
    for name, field in StreamSpec.model_fields.items():
        default = "" if field.is_required() else f" ({_scalar(field.default)} if left out)"
        about = " ".join((field.description or "").split())
        text = f"{name}{default}: {about}"
        lines += textwrap.wrap(text, 96, initial_indent="#   ", subsequent_indent="#     ")
    return lines


def _scalar(value: object) -> str:
    if hasattr(value, "get_secret_value"):
        value = ""
    if isinstance(value, tuple):
        value = list(value)
    dumped = yaml.safe_dump(value, default_flow_style=True, width=200).strip()
    return dumped.removesuffix("...").strip()


def _put(tree: dict[str, object], path: list[str], text: str, variable: str) -> None:
    """Sets a value deep inside; numbers in the path are places in lists."""
    value = value_from_text(text, kind_at(ServiceSettings, path), f"environment {variable}")
    node: Node = tree
    for step, following in zip(path, [*path[1:], ""], strict=True):
        is_last = following == ""
        fresh: object = value if is_last else ([] if following.isdigit() else {})
        node = _descend(node, step, fresh, is_last=is_last)


def _descend(node: Node, step: str, fresh: object, *, is_last: bool) -> Node:
    if isinstance(node, list):
        if not step.isdigit() or int(step) > min(len(node), 999):
            raise SettingInvalid(f"environment: `{step}` is not the next place of a list")
        if int(step) == len(node):
            node.append(fresh)
        elif is_last:
            node[int(step)] = fresh
        child = node[int(step)]
    else:
        if is_last or not isinstance(node.get(step), dict | list):
            node[step] = fresh
        child = node[step]
    return child if isinstance(child, dict | list) else {}


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "the configuration"
    if first["type"] == "extra_forbidden":
        return f"unknown setting `{key}`; `kveil serve --example` prints every key"
    return f"setting `{key}`: {first['msg'].removeprefix('Value error, ').lower()}"
