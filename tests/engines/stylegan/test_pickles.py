from __future__ import annotations

import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.pickles import StoredModule, read_checkpoint, tensors_of
from tests.engines.stylegan.pickle_writing import MAGIC, Named, Persistent, legacy, pickled

pytestmark = pytest.mark.unit

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)


def official(module: object, source: str = "") -> bytes:
    """A network pickle as StyleGAN2-ADA writes it."""
    return pickled({"G_ema": module, "training_set_kwargs": Named("dnnlib.util", "EasyDict")})


def generator(weight: object, source: str = "raise SystemExit") -> Named:
    meta = {
        "type": "class",
        "version": 6,
        "module_src": source,
        "class_name": "Generator",
        "state": {
            "z_dim": 512,
            "_parameters": OrderedDict(weight=weight),
            "_buffers": OrderedDict(),
            "_modules": OrderedDict(),
        },
    }
    return Named("torch_utils.persistence", "_reconstruct_persistent_obj", meta)


def tensor(
    content: bytes, size: tuple[int, ...] = (2, 3), stride: tuple[int, ...] = (3, 1)
) -> Named:
    storage = Named("torch.storage", "_load_from_bytes", content)
    return Named(
        "torch._utils", "_rebuild_tensor_v2", storage, 0, size, stride, False, OrderedDict()
    )


def archive(path: Path, member: bytes = b"") -> Path:
    """A checkpoint as torch writes it now, in rosinality's layout."""
    kind = Named("torch", "FloatStorage", ...)
    pid = Persistent(("storage", kind, "0", "cpu", 6))
    rebuilt = Named(
        "torch._utils", "_rebuild_tensor_v2", pid, 0, (2, 3), (3, 1), False, OrderedDict()
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/data.pkl", pickled({"g_ema": OrderedDict({"conv1.weight": rebuilt})}))
        file.writestr("net/data/0", member or WEIGHT.tobytes())
    return path


def test_official_pickle_gives_its_weights(tmp_path: Path) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(official(generator(tensor(legacy(WEIGHT.ravel())))))
    content = read_checkpoint(path)
    assert isinstance(content, dict)
    module = content["G_ema"]
    assert isinstance(module, StoredModule)
    assert module.class_name == "Generator"
    assert module.state["z_dim"] == 512
    assert np.array_equal(tensors_of(module)["weight"], WEIGHT)


def test_source_code_in_the_file_is_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    path = tmp_path / "network.pkl"
    source = f"open({str(trap)!r}, 'w')"
    path.write_bytes(official(generator(tensor(legacy(WEIGHT.ravel())), source)))
    read_checkpoint(path)
    assert not trap.exists()


def test_archive_gives_its_weights(tmp_path: Path) -> None:
    content = read_checkpoint(archive(tmp_path / "rosinality.pt"))
    assert isinstance(content, dict)
    assert np.array_equal(content["g_ema"]["conv1.weight"], WEIGHT)


def test_legacy_checkpoint_gives_its_data(tmp_path: Path) -> None:
    path = tmp_path / "old.pt"
    path.write_bytes(legacy(WEIGHT.ravel()))
    assert np.array_equal(np.asarray(read_checkpoint(path)), WEIGHT.ravel())


class Hostile:
    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (str(self.trap),))


def test_pickle_that_runs_a_command_is_refused(tmp_path: Path) -> None:
    path, trap = tmp_path / "network.pkl", tmp_path / "trap"
    path.write_bytes(pickle.dumps({"G_ema": Hostile(trap)}))
    with pytest.raises(ModelRejected, match="mkdir"):
        read_checkpoint(path)
    assert not trap.exists()


def test_hostile_pickle_inside_a_tensor_is_refused(tmp_path: Path) -> None:
    path, trap = tmp_path / "network.pkl", tmp_path / "trap"
    inner = pickled(MAGIC) + pickled(1001) + pickled({}) + pickle.dumps(Hostile(trap))
    path.write_bytes(official(generator(tensor(inner))))
    with pytest.raises(ModelRejected):
        read_checkpoint(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("os", "system"),
        ("torch", "load"),
        ("torch.nn.modules.linear", "Linear"),
        ("numpy", "load"),
        ("engines.stylegan.pickles", "read_checkpoint"),
    ],
)
def test_unknown_names_are_refused(tmp_path: Path, module: str, name: str) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(pickled(Named(module, name, "x")))
    with pytest.raises(ModelRejected):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "name",
    [
        ("torch._utils", "_rebuild_tensor_v2"),
        ("torch_utils.persistence", "_reconstruct_persistent_obj"),
        ("dnnlib.util", "EasyDict"),
        ("numpy", "ndarray"),
    ],
)
def test_state_for_a_known_name_is_refused(tmp_path: Path, name: tuple[str, str]) -> None:
    content = b"\x80\x03c" + "\n".join(name).encode() + b"\nN}X\x08\x00\x00\x00__call__K\x01s\x86b."
    path = tmp_path / "network.pkl"
    path.write_bytes(content)
    with pytest.raises(ModelRejected):
        read_checkpoint(path)


def test_reduce_within_reduce_is_refused(tmp_path: Path) -> None:
    path, trap = tmp_path / "network.pkl", tmp_path / "trap"
    nested: object = Named("os", "mkdir", str(trap))
    for _ in range(5):
        nested = generator(Named("torch._utils", "_rebuild_parameter", nested, True, nested))
    path.write_bytes(official(nested))
    with pytest.raises(ModelRejected, match="mkdir"):
        read_checkpoint(path)
    assert not trap.exists()


def test_tensor_inside_a_tensors_data_is_refused(tmp_path: Path) -> None:
    inner = Named("torch.storage", "_load_from_bytes", legacy(WEIGHT.ravel()))
    content = pickled(MAGIC) + pickled(1001) + pickled({}) + pickled(inner) + pickled([])
    path = tmp_path / "network.pkl"
    path.write_bytes(official(generator(tensor(content))))
    with pytest.raises(ModelRejected, match="_load_from_bytes"):
        read_checkpoint(path)


def test_memo_place_beyond_all_memory_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(b"\x80\x03}r\xff\xff\xff\xff.")
    assert read_checkpoint(path) == {}


def test_tensorflow_pickle_says_how_to_convert_it(tmp_path: Path) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(pickled((Named("dnnlib.tflib.network", "Network"),)))
    with pytest.raises(ModelRejected, match=r"legacy\.py"):
        read_checkpoint(path)


def test_storage_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    kind = Named("torch", "FloatStorage", ...)
    pid = Persistent(("storage", kind, "0", "cpu", 1 << 28, None))
    parts = [pickled(MAGIC), pickled(1001), pickled({}), pickled(pid), pickled(["0"])]
    path = tmp_path / "network.pt"
    path.write_bytes(b"".join(parts))
    with pytest.raises(ModelRejected, match="larger than the file"):
        read_checkpoint(path)


def test_storage_of_several_tensors_is_counted_once(tmp_path: Path) -> None:
    kind = Named("torch", "FloatStorage", ...)
    twice = [Persistent(("storage", kind, "0", "cpu", 1000, None)) for _ in range(2)]
    parts = [pickled(MAGIC), pickled(1001), pickled({}), pickled(twice), pickled(["0"])]
    data = np.arange(1000, dtype=np.float32)
    path = tmp_path / "network.pt"
    path.write_bytes(b"".join([*parts, data.size.to_bytes(8, "little"), data.tobytes()]))
    first, second = np.asarray(read_checkpoint(path))
    assert np.array_equal(first, data)
    assert np.array_equal(second, data)


def test_compressed_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("net/data.pkl", pickled({}))
        file.writestr("net/data/0", bytes(1 << 20))
    with pytest.raises(ModelRejected, match="unpacks to more"):
        read_checkpoint(path)


def test_members_that_lie_on_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/data/0", bytes(4096))
        for number in range(1, 50):
            twin = zipfile.ZipInfo(f"net/data/{number}")
            first = file.infolist()[0]
            twin.header_offset, twin.CRC = first.header_offset, first.CRC
            twin.file_size = twin.compress_size = first.file_size
            file.filelist.append(twin)
    with pytest.raises(ModelRejected, match="unpacks to more"):
        read_checkpoint(path)


def test_numbers_of_numpy_become_plain(tmp_path: Path) -> None:
    path = tmp_path / "network.pkl"
    array = np.array([36, 36])
    content = pickled({"gain": np.float64(0.5), "size": array})
    path.write_bytes(content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    read = read_checkpoint(path)
    assert isinstance(read, dict)
    assert read["gain"] == 0.5
    assert np.array_equal(read["size"].values, array)


def test_array_of_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(pickled({"size": np.array([{}], dtype=object)}))
    with pytest.raises(ModelRejected, match="plain numbers"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("size", "stride"),
    [
        ((2, 4), (3, 1)),
        ((-1, 3), (3, 1)),
        ((2, 3), (-3, 1)),
        ((2,), (3, 1)),
        ((1 << 40, 3), (0, 1)),
    ],
)
def test_tensor_beyond_its_data_is_refused(
    tmp_path: Path, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(official(generator(tensor(legacy(WEIGHT.ravel()), size, stride))))
    with pytest.raises(ModelRejected):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"\x80", b"not a pickle", pickled(MAGIC)[:-3]])
def test_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "network.pkl"
    path.write_bytes(content)
    with pytest.raises(ModelRejected):
        read_checkpoint(path)


def test_truncated_archive_member_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRejected):
        read_checkpoint(archive(tmp_path / "short.pt", b"\0\0\0\0"))


def test_absent_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        read_checkpoint(tmp_path / "none.pkl")


def test_module_nested_without_end_is_refused() -> None:
    loop = StoredModule("Loop")
    loop.state["_modules"] = {"self": loop}
    with pytest.raises(ModelRejected):
        tensors_of(loop)


def test_module_that_holds_itself_many_times_is_refused() -> None:
    module = StoredModule("Leaf", {"_parameters": {"weight": WEIGHT}})
    for _ in range(18):
        module = StoredModule("Pair", {"_modules": {"a": module, "b": module}})
    with pytest.raises(ModelRejected, match="too many"):
        tensors_of(module)
