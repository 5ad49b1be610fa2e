"""What numpy writes into a pickle, read without numpy's own constructors.

Official network pickles hold a few numpy numbers and short arrays among their settings. numpy's
constructors take raw buffers and object types from a file; these stand-ins take a handful of
plain numeric types and check every length.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected

__all__ = ["StoredArray", "StoredType", "plain", "scalar_of"]

_KINDS: Final = {
    "f2": np.float16,
    "f4": np.float32,
    "f8": np.float64,
    "i4": np.int32,
    "i8": np.int64,
    "u1": np.uint8,
    "b1": np.bool_,
}
_MOST_VALUES: Final = 1 << 20
"""Values of an array among the settings; weights never are numpy arrays."""


class StoredType:
    """A numeric type by its letters, such as `f8`.

    Args:
        letters: kind and bytes.

    Raises:
        ModelRejected: it is no plain number.
    """

    __slots__ = ("dtype",)

    def __init__(self, letters: object, *_: object) -> None:
        kind = _KINDS.get(letters.lstrip("<|=")) if isinstance(letters, str) else None
        if kind is None:
            raise ModelRejected("the file holds values that are no plain numbers; not loaded")
        self.dtype = np.dtype(kind)

    def __setstate__(self, state: object) -> None:
        """Take the byte order; everything else follows from the letters."""
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", "|", "="):
            raise ModelRejected("the file's numbers are in foreign byte order; not loaded")


class StoredArray:
    """An array that is empty until its state comes."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: npt.NDArray[np.generic] = np.zeros(0, np.float32)

    @classmethod
    def empty(cls, *_: object) -> StoredArray:
        """What numpy's `_reconstruct` gives; shape and type arrive with the state."""
        return cls()

    @classmethod
    def from_buffer(
        cls, content: object, kind: object, shape: object, order: object
    ) -> StoredArray:
        """What protocol 5 writes instead of a state.

        Raises:
            ModelRejected: the parts do not fit each other.
        """
        made = cls()
        data = bytes(content) if isinstance(content, bytes | bytearray) else content
        made.__setstate__((1, shape, kind, order == "F", data))
        return made

    def __setstate__(self, state: object) -> None:
        """Take version, shape, type, order and bytes.

        Raises:
            ModelRejected: they do not fit each other.
        """
        if not isinstance(state, tuple) or len(state) != 5:
            raise ModelRejected("an array among the settings is damaged; the file is not loaded")
        _, shape, kind, is_fortran, content = state
        if not isinstance(kind, StoredType) or not isinstance(content, bytes):
            raise ModelRejected("an array among the settings is no array of numbers; not loaded")
        if not isinstance(shape, tuple) or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ModelRejected("an array among the settings has an impossible shape; not loaded")
        count = math.prod(shape)
        if count > _MOST_VALUES or count * kind.dtype.itemsize != len(content):
            raise ModelRejected("an array among the settings has another length; not loaded")
        flat = np.frombuffer(content, kind.dtype)
        self.values = flat.reshape(shape, order="F" if is_fortran else "C")


def scalar_of(kind: object, content: object) -> float:
    """One numpy number as a Python number.

    Raises:
        ModelRejected: the bytes are no such number.

    >>> scalar_of(StoredType("f8"), np.float64(0.5).tobytes())
    0.5
    """
    if isinstance(content, str):  # protocols before 3 write bytes as text
        content = content.encode("latin1")
    if not isinstance(kind, StoredType) or not isinstance(content, bytes):
        raise ModelRejected("a number in the file is no number; it is not loaded")
    if len(content) != kind.dtype.itemsize:
        raise ModelRejected("a number in the file is damaged; it is not loaded")
    return float(np.frombuffer(content, kind.dtype)[0])


def plain(value: object) -> object:
    """A setting as Python and numpy know it: stored arrays become numpy arrays.

    >>> plain(3)
    3
    """
    return value.values if isinstance(value, StoredArray) else value
