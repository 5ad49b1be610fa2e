"""Reads network pickles without running anything they contain.

The official StyleGAN2-ADA and StyleGAN3 files are pickles that carry source code to execute;
rosinality-style checkpoints are torch archives. Both are read here by an unpickler that knows
a short list of names and turns each into plain data: tensors become numpy arrays, persistent
objects become `StoredModule`, source code is dropped unread. Any other name is refused. What a
file may cost is bounded by its own size: no storage, archive, call or nesting unfolds to more.
"""

import io
import math
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.numpy_pickles import StoredArray, StoredType, scalar_of
from engines.stylegan.unpickling import (
    BoundedUnpickler,
    StoredModule,
    refuse_unfolding,
    word_of,
)

__all__ = ["StoredModule", "read_checkpoint", "tensors_of"]

Array = npt.NDArray[np.generic]

_MOST_BYTES: Final = 2 << 30
_MOST_PARTS: Final = 20_000
"""Modules and tensors of a network; the largest official one has about 500."""
_MOST_DEPTH: Final = 20
_MOST_AXES: Final = 32
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


@dataclass(frozen=True, slots=True)
class _StorageType:
    dtype: type[np.generic]


class _Inert(dict[str, object]):
    """Stands for `EasyDict` and the like: a dictionary that takes a state as its items."""

    def __init__(self) -> None:
        super().__init__()

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.update(state)


class _Maker:
    """A stand-in that may be called; no pickle can give it a state, hence another meaning."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., object]) -> None:
        self._make = make

    def __call__(self, *values: object) -> object:
        return self._make(*values)

    def __setstate__(self, state: object) -> None:
        raise ModelRejected("the file tries to change its reader; it is not loaded")


class _PlainUnpickler(BoundedUnpickler):
    """Knows a closed list of names, each bound to a harmless stand-in."""

    def __init__(
        self,
        file: BinaryIO,
        size: int,
        storages: Callable[[object], Array] | None = None,
        *,
        is_nested: bool = False,
    ) -> None:
        super().__init__(file, size, (_Inert, OrderedDict, StoredArray, StoredType))
        self._storages = storages
        self._is_nested = is_nested

    def find_class(self, module: str, name: str) -> object:
        """Give the stand-in for a name, or refuse the file."""
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if module.startswith(("dnnlib.tflib", "tensorflow")):
            raise ModelRejected(
                "this is a TensorFlow pickle; convert it with `legacy.py` of stylegan3 and "
                "import the result"
            )
        known = _NAMES.get((module, name))
        if known is None or (self._is_nested and known is _FROM_BYTES):
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
        made = _read(path)
        refuse_unfolding(made)
    except FileNotFoundError as error:
        raise ModelMissing(f"there is no file {path.name}") from error
    except ModelRejected:
        raise
    except Exception as error:  # a hostile pickle can raise whatever it likes
        is_other = isinstance(error, KeyError)  # an opcode that no pickle has
        reason = "it is no pickle" if is_other else str(error) or type(error).__name__
        raise ModelRejected(f"{path.name} is damaged or no network: {reason}") from error
    return made


def tensors_of(module: object, prefix: str = "") -> dict[str, Array]:
    """Flatten a module's parameters and buffers to arrays by dotted name.

    Raises:
        ModelRejected: this is no module, or it is nested without end.

    >>> inner = StoredModule("FC", {"_parameters": {"weight": np.zeros(2)}})
    >>> list(tensors_of(StoredModule("Net", {"_modules": {"fc0": inner}})))
    ['fc0.weight']
    """
    found: dict[str, Array] = {}
    _gather(module, prefix, found, [0])
    return found


def _gather(module: object, prefix: str, found: dict[str, Array], parts: list[int]) -> None:
    parts[0] += 1
    if not isinstance(module, StoredModule) or prefix.count(".") > _MOST_DEPTH:
        raise ModelRejected("the file holds no network where one should be")
    for kind in ("_parameters", "_buffers"):
        part = module.state.get(kind, {})
        for name, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, np.ndarray):
                found[f"{prefix}{name}"] = value
    if parts[0] + len(found) > _MOST_PARTS:
        raise ModelRejected("the network has too many parts; it is not loaded")
    modules = module.state.get("_modules", {})
    for name, value in modules.items() if isinstance(modules, dict) else ():
        if value is not None:
            _gather(value, f"{prefix}{name}.", found, parts)


def _read(path: Path) -> object:
    with path.open("rb") as file:
        if zipfile.is_zipfile(file):
            return _from_archive(file)
    content = path.read_bytes()
    if _is_legacy(content):
        return _from_legacy(content)
    return _PlainUnpickler(io.BytesIO(content), len(content)).load()


def _from_archive(file: BinaryIO) -> object:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        size = file.seek(0, io.SEEK_END)
        if sum(member.file_size for member in members) > size:
            raise ModelRejected("the archive unpacks to more than it holds; it is not loaded")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ModelRejected("the archive is compressed, which torch never does; not loaded")
        names = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(names) != 1:
            raise ModelRejected("the archive is no torch checkpoint")
        folder = names[0].removesuffix("data.pkl")
        made: dict[str, Array] = {}

        def storage(pid: object) -> Array:
            kind, key, count = _storage_id(pid)
            if key not in made:
                content = archive.read(f"{folder}data/{key}")
                made[key] = np.frombuffer(content, kind.dtype, count).copy()
            return made[key]

        return _PlainUnpickler(io.BytesIO(archive.read(names[0])), size, storage).load()


def _is_legacy(content: bytes) -> bool:
    try:
        made = _PlainUnpickler(io.BytesIO(content), len(content)).load()
    except Exception:  # any other file is simply not of this kind
        return False
    return isinstance(made, int) and made == _LEGACY_MAGIC


def _from_legacy(content: bytes) -> object:
    """Magic, protocol and system, then the object, the storages' keys, and their bytes."""
    file, size = io.BytesIO(content), len(content)
    if _PlainUnpickler(file, size, is_nested=True).load() != _LEGACY_MAGIC:
        raise ModelRejected("the file is no torch checkpoint")
    _PlainUnpickler(file, size, is_nested=True).load()
    _PlainUnpickler(file, size, is_nested=True).load()
    waiting: dict[str, Array] = {}
    left = [size]

    def storage(pid: object) -> Array:
        kind, key, count = _storage_id(pid)
        if key not in waiting:
            left[0] -= count * np.dtype(kind.dtype).itemsize
            if left[0] < 0:
                raise ModelRejected("the file's data are larger than the file; it is not loaded")
            waiting[key] = np.zeros(count, kind.dtype)
        return waiting[key]

    made = _PlainUnpickler(file, size, storage, is_nested=True).load()
    keys = _PlainUnpickler(file, size, is_nested=True).load()
    for key in keys if isinstance(keys, list) else []:
        target = waiting.get(str(word_of(key)))
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
    name = str(word_of(key))
    if not name.isalnum():
        raise ModelRejected("the file's data have an odd name; it is not loaded")
    return kind, name, count


def _storage_from_bytes(content: bytes) -> Array:
    made = _from_legacy(content)
    if not isinstance(made, np.ndarray):
        raise ModelRejected("a tensor's data are no tensor's data; the file is not loaded")
    return made


def _tensor(
    storage: Array, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object
) -> Array:
    """View `storage` as a tensor, within its bounds, in place until the storage is filled."""
    if len(size) > _MOST_AXES or len(size) != len(stride) or min((*size, *stride, offset, 0)) < 0:
        raise ModelRejected("a tensor has an impossible shape; the file is not loaded")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= storage.size:
        raise ModelRejected("a tensor reaches beyond its data; the file is not loaded")
    step = storage.itemsize
    if math.prod(size) > storage.size:
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
    return StoredModule(str(word_of(meta.get("class_name", ""))), state)


def _device(*words: object) -> str:
    """Where a tensor lay does not matter here."""
    return ":".join(str(word_of(word)) for word in words)


def _ordered(pairs: object = ()) -> OrderedDict[str | int, object]:
    """What Python 2 gives its items as pairs."""
    if not isinstance(pairs, list | tuple):
        raise ModelRejected("the file makes a dictionary in an unknown way; it is not loaded")
    return OrderedDict((word_of(key), value) for key, value in pairs)


def _words(values: object = ()) -> set[str | int]:
    """A set."""
    if not isinstance(values, list | tuple):
        raise ModelRejected("the file makes a set in an unknown way; it is not loaded")
    return set(map(word_of, values))


def _size(values: object = ()) -> tuple[object, ...]:
    """A tensor's shape."""
    if not isinstance(values, list | tuple):
        raise ModelRejected("the file tells a size in an unknown way; it is not loaded")
    return tuple(values)


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    """What old protocols write instead of bytes."""
    if encoding != "latin1":
        raise ModelRejected("the file writes bytes in an unknown way; it is not loaded")
    return text.encode("latin1")


_FROM_BYTES: Final = _Maker(_storage_from_bytes)
_NAMES: Final[dict[tuple[str, str], object]] = {
    ("__builtin__", "set"): _Maker(_words),
    ("builtins", "set"): _Maker(_words),
    ("_codecs", "encode"): _Maker(_encoded),
    ("collections", "OrderedDict"): _Maker(_ordered),
    ("argparse", "Namespace"): _Inert,
    ("dnnlib.util", "EasyDict"): _Inert,
    ("torch_utils.persistence", "_reconstruct_persistent_obj"): _Maker(_module),
    ("torch._utils", "_rebuild_tensor_v2"): _Maker(_tensor),
    ("torch._utils", "_rebuild_parameter"): _Maker(_parameter),
    ("torch._utils", "_rebuild_parameter_with_state"): _Maker(_parameter),
    ("torch.storage", "_load_from_bytes"): _FROM_BYTES,
    ("torch", "Size"): _Maker(_size),
    ("torch", "device"): _Maker(_device),
    ("numpy", "dtype"): _Maker(StoredType),
    ("numpy", "ndarray"): StoredArray,
    ("numpy.core.multiarray", "scalar"): _Maker(scalar_of),
    ("numpy.core.multiarray", "_reconstruct"): _Maker(StoredArray.empty),
    ("numpy.core.numeric", "_frombuffer"): _Maker(StoredArray.from_buffer),
    ("numpy._core.numeric", "_frombuffer"): _Maker(StoredArray.from_buffer),
    ("numpy._core.multiarray", "scalar"): _Maker(scalar_of),
    ("numpy._core.multiarray", "_reconstruct"): _Maker(StoredArray.empty),
}
