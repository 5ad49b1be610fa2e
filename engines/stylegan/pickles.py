"""Reads network pickles without running anything they contain.

The official StyleGAN2-ADA and StyleGAN3 files are pickles that carry source code to execute;
rosinality-style checkpoints are torch archives. Both are read here by an unpickler that knows
a short list of names and turns each into plain data: tensors become numpy arrays, persistent
objects become `StoredModule`, source code is dropped unread. Any other name is refused.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, cast

import numpy as np
import numpy.typing as npt

from engines.errors import ModelMissing, ModelRejected

__all__ = ["StoredModule", "read_checkpoint", "tensors_of"]

Array = npt.NDArray[np.generic]

_MOST_BYTES: Final = 4 << 30
_LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C
_STORAGES: Final = {
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "DoubleStorage": np.float64,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}


@dataclass(slots=True)
class StoredModule:
    """A network as a file describes it; nothing of it can run.

    Attributes:
        class_name: what it was, such as `Generator`.
        state: its attributes; parameters, buffers and modules as dictionaries.
    """

    class_name: str
    state: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _StorageType:
    dtype: type[np.generic]


class _Inert(dict[str, object]):
    """Stands for `EasyDict`: a dictionary that takes a state and ignores its type."""

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.update(state)


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...

    def readline(self) -> bytes: ...


class _PlainUnpickler(pickle.Unpickler):
    """Knows a closed list of names, each bound to a harmless stand-in."""

    def __init__(self, file: _Readable, storages: Callable[[object], Array] | None = None) -> None:
        super().__init__(file)
        self._storages = storages

    def find_class(self, module: str, name: str) -> object:
        """Give the stand-in for a name, or refuse the file."""
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        known = _NAMES.get((module, name))
        if known is None:
            raise ModelRejected(
                f"the file asks for {module}.{name}, which no network needs; it is not loaded"
            )
        return known

    def persistent_load(self, pid: object) -> Array:
        """Give the storage behind a persistent id."""
        if self._storages is None:
            raise ModelRejected("the file refers to data that it does not hold; get it again")
        return self._storages(pid)


def read_checkpoint(path: Path) -> object:
    """Read a network pickle, a torch archive or a legacy torch file.

    Returns:
        Plain data: dictionaries, numbers, numpy arrays and `StoredModule`.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is damaged, too large, or asks for anything unknown.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ModelRejected(f"{path.name} is larger than {_MOST_BYTES} bytes; not loaded")
        with path.open("rb") as file:
            if zipfile.is_zipfile(file):
                return _from_archive(file)
            file.seek(0)
            if _is_legacy(file):
                file.seek(0)
                return _from_legacy(file)
            file.seek(0)
            return _PlainUnpickler(file).load()
    except FileNotFoundError as error:
        raise ModelMissing(f"there is no file {path.name}") from error
    except ModelRejected:
        raise
    except Exception as error:  # a hostile pickle can raise whatever it likes
        raise ModelRejected(f"{path.name} is damaged or no network: {error}") from error


def tensors_of(module: object, prefix: str = "") -> dict[str, Array]:
    """Flatten a module's parameters and buffers to arrays by dotted name.

    Raises:
        ModelRejected: this is no module, or it is nested without end.

    >>> inner = StoredModule("FC", {"_parameters": {"weight": np.zeros(2)}})
    >>> list(tensors_of(StoredModule("Net", {"_modules": {"fc0": inner}})))
    ['fc0.weight']
    """
    if not isinstance(module, StoredModule) or prefix.count(".") > 20:
        raise ModelRejected("the file holds no network where one should be")
    found: dict[str, Array] = {}
    for kind in ("_parameters", "_buffers"):
        part = module.state.get(kind, {})
        for name, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, np.ndarray):
                found[f"{prefix}{name}"] = value
    modules = module.state.get("_modules", {})
    for name, value in modules.items() if isinstance(modules, dict) else ():
        found |= tensors_of(value, f"{prefix}{name}.")
    return found


def _from_archive(file: io.BufferedReader) -> object:
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
            raise ModelRejected("the archive unpacks to too much; it is not loaded")
        names = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(names) != 1:
            raise ModelRejected("the archive is no torch checkpoint")
        folder = names[0].removesuffix("data.pkl")

        def storage(pid: object) -> Array:
            kind, key, count = _storage_id(pid)
            content = archive.read(f"{folder}data/{key}")
            return np.frombuffer(content, kind.dtype, count).copy()

        return _PlainUnpickler(io.BytesIO(archive.read(names[0])), storage).load()


def _is_legacy(file: io.BufferedReader) -> bool:
    try:
        return bool(_PlainUnpickler(file).load() == _LEGACY_MAGIC)
    except Exception:  # any other file is simply not of this kind
        return False


def _from_legacy(file: io.BufferedIOBase) -> object:
    """Magic, protocol and system, then the object, the storages' keys, and their bytes."""
    reader = cast(_Readable, file)
    if _PlainUnpickler(reader).load() != _LEGACY_MAGIC:
        raise ModelRejected("the file is no torch checkpoint")
    _PlainUnpickler(reader).load()
    _PlainUnpickler(reader).load()
    waiting: dict[str, Array] = {}

    def storage(pid: object) -> Array:
        kind, key, count = _storage_id(pid)
        return waiting.setdefault(key, np.zeros(count, kind.dtype))

    made = _PlainUnpickler(reader, storage).load()
    keys = _PlainUnpickler(reader).load()
    for key in keys if isinstance(keys, list) else []:
        target = waiting.get(str(key))
        count = int.from_bytes(file.read(8), "little")
        if target is None or count != target.size:
            raise ModelRejected("the file's data do not fit its description; get it again")
        target[:] = np.frombuffer(file.read(target.nbytes), target.dtype)
    return made


def _storage_id(pid: object) -> tuple[_StorageType, str, int]:
    if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
        raise ModelRejected("the file refers to data in an unknown way; it is not loaded")
    kind, key, count = pid[1], pid[2], pid[4]
    if not isinstance(kind, _StorageType) or not isinstance(count, int):
        raise ModelRejected("the file's data have an unknown type; it is not loaded")
    if not 0 <= count * np.dtype(kind.dtype).itemsize <= _MOST_BYTES:
        raise ModelRejected("the file's data have an impossible size; it is not loaded")
    name = str(key)
    if not name.isalnum():
        raise ModelRejected("the file's data have an odd name; it is not loaded")
    return kind, name, count


def _storage_from_bytes(content: bytes) -> Array:
    made = _from_legacy(io.BytesIO(content))
    if not isinstance(made, np.ndarray):
        raise ModelRejected("a tensor's data are no tensor's data; the file is not loaded")
    return made


def _tensor(
    storage: Array, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object
) -> Array:
    """View `storage` as a tensor, within its bounds, in place until the storage is filled."""
    if len(size) != len(stride) or min((*size, *stride, offset, 0)) < 0:
        raise ModelRejected("a tensor has an impossible shape; the file is not loaded")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= storage.size:
        raise ModelRejected("a tensor reaches beyond its data; the file is not loaded")
    step = storage.itemsize
    if math.prod(size) * step > _MOST_BYTES:
        raise ModelRejected("a tensor has an impossible size; the file is not loaded")
    return np.lib.stride_tricks.as_strided(
        storage[offset:], size, tuple(s * step for s in stride), writeable=False
    )


def _parameter(data: Array, *_: object) -> Array:
    return data


def _module(meta: dict[str, object]) -> StoredModule:
    """A persistent object: its state is kept, its source code is not looked at."""
    state = meta.get("state")
    if meta.get("type") != "class" or not isinstance(state, dict):
        raise ModelRejected("a stored object is no class; the file is not loaded")
    return StoredModule(str(meta.get("class_name", "")), state)


_NAMES: Final[dict[tuple[str, str], object]] = {
    ("builtins", "set"): set,
    ("collections", "OrderedDict"): OrderedDict,
    ("dnnlib.util", "EasyDict"): _Inert,
    ("torch_utils.persistence", "_reconstruct_persistent_obj"): _module,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch.storage", "_load_from_bytes"): _storage_from_bytes,
    ("torch", "Size"): tuple,
}
