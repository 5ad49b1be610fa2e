"""Pickles that would cost more than they hold, written operation by operation."""

from __future__ import annotations

import pickle
import struct
import tracemalloc
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelRejected
from engines.stylegan.pickles import read_checkpoint
from engines.stylegan.unpickling import StoredModule, refuse_unfolding
from tests.engines.stylegan.pickle_writing import Named, legacy, pickled

pytestmark = pytest.mark.unit

DOUBLED = b")" + b"2\x86" * 60
"""An empty tuple, then sixty times a pair of twice what is there."""
_MOST_TRACED = 64 << 20


def read(tmp_path: Path, content: bytes) -> object:
    path = tmp_path / "network.pkl"
    path.write_bytes(content)
    return read_checkpoint(path)


@pytest.mark.parametrize(
    "start",
    [
        pickle.BYTEARRAY8 + struct.pack("<Q", 1 << 28),
        pickle.BINBYTES8 + struct.pack("<Q", 1 << 28),
        pickle.BINUNICODE8 + struct.pack("<Q", 1 << 28),
        pickle.BINBYTES + struct.pack("<I", (1 << 32) - 1),
        pickle.BINUNICODE + struct.pack("<I", (1 << 32) - 1),
        pickle.LONG4 + struct.pack("<i", (1 << 31) - 1),
        pickle.FRAME + struct.pack("<Q", 1 << 28),
    ],
    ids=["bytearray", "bytes8", "text8", "bytes", "text", "number", "frame"],
)
@pytest.mark.parametrize("length", [None, (1 << 64) - 1])
def test_length_beyond_the_file_is_refused_and_costs_nothing(
    tmp_path: Path, start: bytes, length: int | None
) -> None:
    if length is not None and len(start) == 9:
        start = start[:1] + struct.pack("<Q", length)
    tracemalloc.start()
    try:
        with pytest.raises(ModelRejected):
            read(tmp_path, b"\x80\x05" + start + b".")
        assert tracemalloc.get_traced_memory()[1] < _MOST_TRACED
    finally:
        tracemalloc.stop()


def test_bytearray_within_the_file_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, pickle.dumps({"a": bytearray(b"abc")}, 5)) == {"a": bytearray(b"abc")}


@pytest.mark.parametrize(
    "content",
    [
        b"}" + DOUBLED + b"K\x01s.",
        b"}(" + DOUBLED + b"K\x01u.",
        b"(" + DOUBLED + b"K\x01d.",
        b"\x8f(" + DOUBLED + b"\x90.",
        b"(" + DOUBLED + b"\x91.",
        b"cbuiltins\nset\n(" + DOUBLED + b"l\x85R.",
        b"ccollections\nOrderedDict\n(" + DOUBLED + b"K\x01\x86l\x85R.",
        b"cdnnlib.util\nEasyDict\n(" + DOUBLED + b"K\x01\x86l\x85R.",
        b"ctorch\ndevice\n" + DOUBLED + b"\x85R.",
    ],
    ids=["item", "items", "dict", "members", "frozen", "set", "ordered", "easy", "device"],
)
def test_doubled_tuples_are_no_words(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ModelRejected):
        read(tmp_path, b"\x80\x04" + content)


def test_doubled_tuples_are_refused_as_a_setting(tmp_path: Path) -> None:
    with pytest.raises(ModelRejected, match="nests"):
        read(tmp_path, b"\x80\x04}X\x01\x00\x00\x00a" + DOUBLED + b"s.")


def test_wide_lists_in_lists_are_refused() -> None:
    value: object = 0
    for _ in range(5):
        value = [value] * 100
    with pytest.raises(ModelRejected, match="unfolds"):
        refuse_unfolding({"a": StoredModule("Net", {"b": value})})


def test_shared_settings_and_circles_of_dictionaries_are_let_through() -> None:
    shared = [1, 2, [3]]
    circle: dict[str, object] = {"a": shared, "b": (shared, shared)}
    circle["self"] = circle
    refuse_unfolding(circle)


def called(name: str, arguments: bytes, times: int) -> bytes:
    """A pickle that gives one argument to one name, again and again."""
    return (
        b"\x80\x04c" + name.replace(" ", "\n").encode() + b"\nq\x00" + arguments + b"\x85q\x01"
        b"0(" + b"h\x00h\x01R" * times + b"t."
    )


def text(length: int) -> bytes:
    return b"X" + struct.pack("<I", length) + b"a" * length


def numbers(count: int) -> bytes:
    return b"(" + b"K\x00" * count + b"l"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_codecs encode", text(1 << 20)),
        ("torch device", text(1 << 20)),
        ("torch Size", numbers(9_000)),
        ("builtins set", numbers(9_000)),
        ("torch Size", numbers(20_000)),
    ],
    ids=["encode", "device", "size", "set", "long"],
)
def test_one_argument_for_many_calls_is_refused(
    tmp_path: Path, name: str, arguments: bytes
) -> None:
    content = called(name, arguments, 2_000)
    tracemalloc.start()
    try:
        with pytest.raises(ModelRejected, match=r"unfolds|too long"):
            read(tmp_path, content)
        assert tracemalloc.get_traced_memory()[1] < _MOST_TRACED
    finally:
        tracemalloc.stop()


def test_one_tensors_data_for_many_tensors_is_refused(tmp_path: Path) -> None:
    data = legacy(np.zeros(1 << 18, np.float32))
    content = b"B" + struct.pack("<I", len(data)) + data
    with pytest.raises(ModelRejected, match="unfolds"):
        read(tmp_path, called("torch.storage _load_from_bytes", content, 100))


def test_tensor_larger_than_its_data_is_refused(tmp_path: Path) -> None:
    storage = Named("torch.storage", "_load_from_bytes", legacy(np.zeros(4, np.float32)))
    repeated = Named("torch._utils", "_rebuild_tensor_v2", storage, 0, (1 << 20, 4), (0, 1))
    with pytest.raises(ModelRejected, match="impossible size"):
        read(tmp_path, pickled(repeated))


@pytest.mark.parametrize(
    "content",
    [
        b"\x8a\x20" + b"\x7f" * 32 + b".",
        b"I" + b"9" * 100 + b"\n.",
        b"L" + b"9" * 100 + b"L\n.",
    ],
    ids=["long", "int", "written"],
)
def test_number_of_hundreds_of_bits_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ModelRejected, match="too large"):
        read(tmp_path, b"\x80\x02" + content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x82\x01.",
        b"(cdnnlib.util\nEasyDict\no.",
        b"(idnnlib.util\nEasyDict\n.",
        b"cdnnlib.util\nEasyDict\n)}\x92.",
        b"cdnnlib.util\nEasyDict\nK\x01\x85\x81.",
        b"ctorch\nFloatStorage\nX\x01\x00\x00\x00O\x85b.",
        b"cdnnlib.util\nEasyDict\nX\x01\x00\x00\x00aR.",
        b"X\x01\x00\x00\x00aK\x01a.",
        b"](K\x01K\x02u.",
        b"](K\x01\x90.",
    ],
    ids=["ext", "obj", "inst", "newex", "new", "state", "call", "append", "items", "members"],
)
def test_operation_that_no_network_needs_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ModelRejected):
        read(tmp_path, b"\x80\x04" + content)


def test_containers_of_all_protocols_are_read(tmp_path: Path) -> None:
    value = {"a": [1, -(1 << 40), True, None, 0.5, "é"], "b": (1, (2,)), 3: b"x", "c": {"w"}}
    for protocol in (2, 3, 4, 5):
        assert read(tmp_path, pickle.dumps(value, protocol)) == value
    plain = {"a": [1, 1 << 40, True], "b": (1, (2,))}
    for protocol in (0, 1):
        assert read(tmp_path, pickle.dumps(plain, protocol)) == plain


def test_ordered_dictionary_of_pairs_is_read(tmp_path: Path) -> None:
    pairs = Named("collections", "OrderedDict", [["b", 1], ["a", 2]])
    assert read(tmp_path, pickled(pairs)) == OrderedDict(b=1, a=2)


def test_state_of_an_ordered_dictionary_is_left_out(tmp_path: Path) -> None:
    made = b"ccollections\nOrderedDict\n)RX\x01\x00\x00\x00aK\x01s"
    content = read(tmp_path, b"\x80\x02" + made + b"}X\x05\x00\x00\x00itemsNsb.")
    assert isinstance(content, OrderedDict)
    assert list(content.items()) == [("a", 1)]
