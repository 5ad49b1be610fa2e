from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelRejected
from engines.stylegan.numpy_pickles import StoredArray, StoredType, plain, scalar_of
from engines.stylegan.pickles import read_checkpoint

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("letters", ["O8", "V16", "S4", "M8", "", None, 3, ">f8"])
def test_types_that_are_no_numbers_are_refused(letters: object) -> None:
    with pytest.raises(ModelRejected):
        StoredType(letters)


@pytest.mark.parametrize("state", [None, (), (3, ">"), (3, "<", None, None, None, -1, -1, 0)])
def test_only_native_byte_order_is_taken(state: object) -> None:
    kind = StoredType("f8")
    if isinstance(state, tuple) and state[1:2] == ("<",):
        kind.__setstate__(state)
        assert scalar_of(kind, np.float64(2).tobytes()) == 2
    else:
        with pytest.raises(ModelRejected):
            kind.__setstate__(state)


@pytest.mark.parametrize("content", [b"", b"1234567", None, 1.0])
def test_damaged_number_is_refused(content: object) -> None:
    with pytest.raises(ModelRejected):
        scalar_of(StoredType("f8"), content)


@pytest.mark.parametrize(
    "state",
    [
        None,
        (1, (2,), StoredType("f8"), False),
        (1, (2,), "f8", False, bytes(16)),
        (1, (3,), StoredType("f8"), False, bytes(16)),
        (1, (-2,), StoredType("f8"), False, bytes(16)),
        (1, (1 << 40,), StoredType("f8"), False, bytes(16)),
        (1, 2, StoredType("f8"), False, bytes(16)),
        (1, (2,), StoredType("f8"), False, [0.0, 0.0]),
    ],
)
def test_array_that_does_not_fit_itself_is_refused(state: object) -> None:
    with pytest.raises(ModelRejected):
        StoredArray.empty().__setstate__(state)


def test_array_keeps_its_order() -> None:
    values = np.arange(6.0).reshape(2, 3)
    stored = StoredArray.empty()
    stored.__setstate__((1, (2, 3), StoredType("f8"), True, values.tobytes("F")))
    assert np.array_equal(np.asarray(plain(stored)), values)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_gives_the_same_numbers(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "n.pkl"
    said = {"size": np.array([36, 36]), "rate": np.float64(16), "hooks": {1, 2}, "step": 1 << 40}
    path.write_bytes(pickle.dumps(said, protocol))
    read = read_checkpoint(path)
    assert isinstance(read, dict)
    assert np.asarray(plain(read["size"])).tolist() == [36, 36]
    assert (read["rate"], read["hooks"], read["step"]) == (16.0, {1, 2}, 1 << 40)
