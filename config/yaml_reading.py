"""Reads what people write as YAML: files that say nothing twice, and single values."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, SecretStr

from config.errors import FileInvalid, SettingInvalid

__all__ = ["kind_at", "mapping_from_file", "value_from_text"]

_PIPE_WAIT_S: Final = 5.0
"""Silence after which a pipe is given up."""
_PIPE_BYTES: Final = 1 << 16
_LARGEST_BYTES: Final = 1 << 20
"""Of a configuration; what has more is a device or another kind of file."""
_NOTHING: Final = ("null", "~")
_UNREADABLE: Final = (yaml.YAMLError, ValueError, RecursionError)
"""What the library raises; values such as a 13th month are no errors of YAML to it."""


def mapping_from_file(file: Path, such_as: str, *, may_be_empty: bool = True) -> dict[str, object]:
    """The sections of a configuration file.

    Args:
        file: YAML.
        such_as: a section that the message names as an example.
        may_be_empty: a file without any section gives an empty mapping.

    Raises:
        FileInvalid: it cannot be read, says something twice, is no mapping, or is empty.
    """
    try:
        content = _parsed(_bytes_of(file).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise FileInvalid(f"cannot read configuration {file.name or file}: {reason}") from None
    except _StandsTwice as error:
        raise FileInvalid(f"{file.name}: {error}") from None
    except _UNREADABLE as error:
        raise FileInvalid(f"{file.name} is not valid YAML{_place_and_mend(error)}") from None
    if not content and not may_be_empty:
        raise FileInvalid(f"{file.name} is empty; write its sections again")
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise FileInvalid(f"{file.name} must hold a mapping of sections, such as `{such_as}:`")
    return {str(key): value for key, value in content.items()}


def _bytes_of(file: Path) -> bytes:
    """What a file holds, or what somebody writes into a pipe; waits a few seconds at most.

    Raises:
        OSError: it cannot be read, has no end in sight, or nobody writes into the pipe.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as stream:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            return _no_longer(stream.read(_LARGEST_BYTES + 1) or b"")
        content = b""
        while select.select([handle], [], [], _PIPE_WAIT_S)[0]:
            more = os.read(handle, _PIPE_BYTES)
            if not more and content:
                return content
            if not more:
                break
            content = _no_longer(content + more)
    raise OSError(errno.ENODATA, "nobody writes into this pipe")


def _no_longer(content: bytes) -> bytes:
    if len(content) > _LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"more than {_LARGEST_BYTES >> 20} MiB are no configuration")
    return content


def _place_and_mend(error: Exception) -> str:
    """Where a file is no YAML and what to do; nothing of what stands there, which may be secret."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    place = "" if mark is None else f" in line {mark.line + 1}"
    if isinstance(error, yaml.constructor.ConstructorError):
        return f"{place}; values are texts, numbers, lists and mappings: quote what begins with !"
    if isinstance(error, yaml.composer.ComposerError):
        return f"{place}; write one document, without `---`, and quote what begins with *"
    return f"{place}; check its indentation"


def value_from_text(text: str, kind: object, where: str) -> object:
    """The value of a setting that was given as text, outside of a file.

    Args:
        text: as given; a setting that holds text takes it as it is, others read it as YAML.
        kind: annotation of the setting; None where it is not known.
        where: what the message names.

    Raises:
        SettingInvalid: it is no YAML.

    >>> value_from_text("12345", str, "here"), value_from_text("12345", int, "here")
    ('12345', 12345)
    """
    if not text.strip() or _takes_text(kind):
        return None if text in _NOTHING and NoneType in get_args(kind) else text
    try:
        return _parsed(text)
    except _StandsTwice as error:
        raise SettingInvalid(f"{where}: {error}") from None
    except _UNREADABLE:
        raise SettingInvalid(f"{where}: its value is not valid YAML; put it in quotes") from None


def kind_at(model: type[BaseModel], path: Sequence[str]) -> object:
    """The annotation behind keys, and places in lists; None where there is no such setting.

    >>> class Door(BaseModel):
    ...     names: tuple[str, ...] = ()
    >>> kind_at(Door, ["names", "0"])
    <class 'str'>
    """
    kind: object = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(step)
            kind = None if field is None else field.annotation
        elif get_origin(kind) is tuple:
            kind = _bare(get_args(kind)[0])
        else:
            return None
    return kind


def _takes_text(kind: object) -> bool:
    kind, parts = _bare(kind), get_args(kind)
    if get_origin(kind) is Literal:
        return all(isinstance(part, str) for part in parts)
    if get_origin(kind) in (Union, UnionType):
        return all(_takes_text(part) for part in parts if part is not NoneType)
    return kind in (str, SecretStr)


def _bare(kind: object) -> object:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


class _StandsTwice(yaml.YAMLError):
    """A mapping has one key twice; YAML libraries drop the first without a word."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses a mapping that has one key twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Looks at keys as they are written, before `<<` adds those of other mappings."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                line = key.start_mark.line + 1
                raise _StandsTwice(f"`{key.value}` stands twice (line {line}); keep one of them")
            seen.add(key.value)
        return node


def _parsed(text: str) -> object:
    loader = _StrictLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
