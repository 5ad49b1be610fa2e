"""Writes pickles as torch and the official StyleGAN code do, without either."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

MAGIC = 0x1950A86A20F9469CFC6C
Float32 = npt.NDArray[np.float32]


class Named:
    """Pickles as a call of a global that this process does not have."""

    def __init__(self, module: str, name: str, *arguments: object) -> None:
        self.module, self.name, self.arguments = module, name, arguments


class Persistent:
    def __init__(self, pid: tuple[object, ...]) -> None:
        self.pid = pid


class Writer(pickle._Pickler):
    """Writes `Named` as a global and its call, whatever this process can import."""

    def persistent_id(self, obj: object) -> object:
        return obj.pid if isinstance(obj, Persistent) else None

    def save(self, obj: object, *rest: object, **more: object) -> None:
        if not isinstance(obj, Named):
            super().save(obj, *rest, **more)  # type: ignore[misc]
            return
        write = vars(self)["write"]
        write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
        if obj.arguments != (...,):
            super().save(obj.arguments)  # type: ignore[misc]
            write(pickle.REDUCE)


def pickled(value: object) -> bytes:
    buffer = io.BytesIO()
    Writer(buffer, 3).dump(value)
    return buffer.getvalue()


def legacy(storage: npt.NDArray[np.float32]) -> bytes:
    """What `torch.save(storage, _use_new_zipfile_serialization=False)` writes."""
    kind = Named("torch", "FloatStorage", ...)
    pid = Persistent(("storage", kind, "0", "cpu", storage.size, None))
    parts = [pickled(MAGIC), pickled(1001), pickled({"little_endian": True}), pickled(pid)]
    return b"".join([*parts, pickled(["0"]), storage.size.to_bytes(8, "little"), storage.tobytes()])


def rebuilt(array: npt.ArrayLike) -> Named:
    """A tensor outside `torch.save`: its storage lies in the pickle as a legacy file."""
    values = np.asarray(array, np.float32)
    storage = Named("torch.storage", "_load_from_bytes", legacy(values.ravel()))
    strides = tuple(step // 4 for step in np.ascontiguousarray(values).strides[: values.ndim])
    return Named(
        "torch._utils", "_rebuild_tensor_v2", storage, 0, values.shape, strides, False,
        OrderedDict(),
    )  # fmt: skip


def module(
    class_name: str,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
    buffers: Mapping[str, npt.ArrayLike | None] | None = None,
    modules: Mapping[str, Named] | None = None,
    **attributes: object,
) -> Named:
    """A persistent object with the state that `torch.nn.Module` has."""
    state: dict[str, object] = {"training": False}
    state["_parameters"] = OrderedDict(
        (name, Named("torch._utils", "_rebuild_parameter", rebuilt(v), True, OrderedDict()))
        for name, v in (parameters or {}).items()
    )
    state["_buffers"] = OrderedDict(
        (name, None if v is None else rebuilt(v)) for name, v in (buffers or {}).items()
    )
    state |= {"_non_persistent_buffers_set": set(), "_backward_hooks": OrderedDict()}
    state |= {"_is_full_backward_hook": None, "_forward_hooks": OrderedDict()}
    state |= {"_forward_pre_hooks": OrderedDict(), "_state_dict_hooks": OrderedDict()}
    state["_modules"] = OrderedDict(modules or {})
    state |= attributes
    state |= {"_init_args": (), "_init_kwargs": Named("dnnlib.util", "EasyDict")}
    source = "raise SystemExit('source code was run')"
    meta = {"type": "class", "version": 6, "module_src": source, "class_name": class_name}
    meta_state: dict[str, object] = {**meta, "state": state}
    return Named("torch_utils.persistence", "_reconstruct_persistent_obj", meta_state)


def network_pickle(generator: Named) -> bytes:
    """A snapshot as the official training writes it, numpy named as it was then."""
    other = module("Discriminator", {"weight": np.zeros(3)})
    snapshot: dict[str, object] = {
        "training_set_kwargs": Named("dnnlib.util", "EasyDict"),
        "D": other,
    }
    snapshot |= {"augment_pipe": None, "G_ema": generator}
    return pickled(snapshot).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def write_archive(path: Path, content: Mapping[str, object], folder: str = "archive") -> Path:
    """A torch zip file; arrays become tensors whose storages are members."""
    storages: list[bytes] = []

    def stored(value: object) -> object:
        if isinstance(value, Mapping):
            made = OrderedDict((name, stored(inner)) for name, inner in value.items())
            vars(made)["_metadata"] = OrderedDict({"": {"version": 1}})
            return made
        if not isinstance(value, np.ndarray):
            return value
        kind = Named("torch", "FloatStorage", ...)
        pid = Persistent(("storage", kind, str(len(storages)), "cuda:0", value.size))
        storages.append(np.ascontiguousarray(value, np.float32).tobytes())
        strides = tuple(step // value.itemsize for step in np.ascontiguousarray(value).strides)
        return Named(
            "torch._utils", "_rebuild_tensor_v2", pid, 0, value.shape, strides, False,
            OrderedDict(),
        )  # fmt: skip

    described = pickled(stored(content))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{folder}/data.pkl", described)
        for number, data in enumerate(storages):
            file.writestr(f"{folder}/data/{number}", data)
        file.writestr(f"{folder}/version", "3\n")
    return path
