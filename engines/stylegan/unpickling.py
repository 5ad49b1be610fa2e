"""A pickle reader that costs no more than the file it reads.

A pickle is a program: twelve bytes of it may ask for any amount of memory, and a container that
holds itself twice, again and again, takes for ever to hash or to print. Here keys are words, what
a call is given is counted against the file's own size, and operations that no network needs are
unknown.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, Final

from engines.errors import ModelRejected

__all__ = ["BoundedUnpickler", "StoredModule", "refuse_unfolding", "word_of"]

_LEAST_BUDGET: Final = 16 << 20
_FOLD: Final = 4
"""Bytes that calls may be given for each byte of the file; sound files need less than two."""
_ENTRY_BYTES: Final = 64
"""What an entry of a container costs where it is copied."""
_MOST_ENTRIES: Final = 10_000
_MOST_INT_BYTES: Final = 16
_MOST_NESTING: Final = 20
_MOST_UNFOLDED: Final = 1 << 20
_READERS: Final[Mapping[int, Callable[[Any], None]]] = pickle._Unpickler.dispatch  # noqa: SLF001
_UNKNOWN: Final = frozenset(
    code[0]
    for code in (
        pickle.EXT1,  # extensions are looked up past `find_class`
        pickle.EXT2,
        pickle.EXT4,
        pickle.INST,
        pickle.OBJ,
        pickle.NEWOBJ_EX,
        pickle.LONG4,
    )
)


@dataclass(slots=True)
class StoredModule:
    """A network as a file describes it; nothing of it can run.

    Attributes:
        class_name: what it was, such as `Generator`.
        state: its attributes; parameters, buffers and modules as dictionaries.
    """

    class_name: str
    state: dict[str, object] = field(default_factory=dict)


# The interpreter's own reader in Python, not in C: the latter allocates whatever number of
# memo places a file names, and its operations cannot be replaced.
class BoundedUnpickler(pickle._Unpickler):  # noqa: SLF001
    """Reads plain containers; names are left to `find_class`.

    Args:
        file: the pickle, in memory, so that reading past its end allocates nothing.
        size: bytes of the whole file, which bound what calls may be given.
        kinds: types that may be made without a call, and given a state.
    """

    stack: list[Any]
    append: Callable[[object], None]
    read: Callable[[int], bytes]
    pop_mark: Callable[[], list[Any]]
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        code: operation for code, operation in _READERS.items() if code not in _UNKNOWN
    }

    def __init__(self, file: BinaryIO, size: int, kinds: tuple[type, ...]) -> None:
        super().__init__(file)
        self._left = max(_LEAST_BUDGET, _FOLD * size)
        self._kinds = kinds

    def _charge(self, *given: object) -> None:
        for value in given:
            if isinstance(value, str | bytes | bytearray):
                self._left -= len(value)
            elif isinstance(value, list | tuple | dict | set | frozenset):
                if len(value) > _MOST_ENTRIES:
                    raise ModelRejected("the file has too long a list; it is not loaded")
                self._left -= _ENTRY_BYTES * len(value)
            if self._left < 0:
                raise ModelRejected("the file unfolds to more than it holds; it is not loaded")

    def load_call(self) -> None:
        """Calls a stand-in with a tuple."""
        given = self.stack.pop()
        if not isinstance(given, tuple):
            raise ModelRejected("the file calls in an unknown way; it is not loaded")
        self._charge(given)
        self._charge(*given)
        self.stack[-1] = self.stack[-1](*given)

    def load_new(self) -> None:
        """Makes an empty object."""
        given, kind = self.stack.pop(), self.stack.pop()
        if given or not any(kind is known for known in self._kinds):
            raise ModelRejected("the file makes objects in an unknown way; it is not loaded")
        self.append(kind())

    def load_state(self) -> None:
        """Gives an object its state; what takes none is left as it is."""
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) not in self._kinds:
            raise ModelRejected("the file tries to change its reader; it is not loaded")
        self._charge(state)
        if isinstance(state, tuple):
            self._charge(*state)
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)

    def load_buffer(self) -> None:
        """Reads a bytearray, which the interpreter's reader allocates before it reads."""
        (length,) = struct.unpack("<Q", self.read(8))
        content = self.read(length)
        if len(content) != length:
            raise ModelRejected("the file ends before its data; get it again")
        self.append(bytearray(content))

    def load_whole(self) -> None:
        """Reads a whole number; longer ones only cost time when they are multiplied."""
        length = self.read(1)[0]
        if length > _MOST_INT_BYTES:
            raise ModelRejected("the file has too large a number; it is not loaded")
        self.append(int.from_bytes(self.read(length), "little", signed=True))

    def load_written(self) -> None:
        """Reads a whole number or a truth value that is written out."""
        _READERS[pickle.INT[0]](self)
        self._refuse_large()

    def load_written_long(self) -> None:
        """Reads a whole number that is written out."""
        _READERS[pickle.LONG[0]](self)
        self._refuse_large()

    def _refuse_large(self) -> None:
        if self.stack[-1].bit_length() > 8 * _MOST_INT_BYTES:
            raise ModelRejected("the file has too large a number; it is not loaded")

    def load_item(self) -> None:
        """Puts one item into a dictionary."""
        value, key = self.stack.pop(), self.stack.pop()
        _fill(self.stack[-1], [key, value])

    def load_items(self) -> None:
        """Puts items into a dictionary."""
        items = self.pop_mark()
        _fill(self.stack[-1], items)

    def load_dictionary(self) -> None:
        """Makes a dictionary of items."""
        made: dict[object, object] = {}
        _fill(made, self.pop_mark())
        self.append(made)

    def load_entry(self) -> None:
        """Puts one entry at the end of a list."""
        value = self.stack.pop()
        _list_of(self.stack[-1]).append(value)

    def load_entries(self) -> None:
        """Puts entries at the end of a list."""
        items = self.pop_mark()
        _list_of(self.stack[-1]).extend(items)

    def load_members(self) -> None:
        """Puts words into a set."""
        items = self.pop_mark()
        if not isinstance(self.stack[-1], set):
            raise ModelRejected("the file adds to what is no set; it is not loaded")
        self.stack[-1].update(map(word_of, items))

    def load_frozen(self) -> None:
        """Makes a set of words that does not change."""
        self.append(frozenset(map(word_of, self.pop_mark())))

    dispatch |= {
        pickle.REDUCE[0]: load_call,
        pickle.NEWOBJ[0]: load_new,
        pickle.BUILD[0]: load_state,
        pickle.BYTEARRAY8[0]: load_buffer,
        pickle.LONG1[0]: load_whole,
        pickle.INT[0]: load_written,
        pickle.LONG[0]: load_written_long,
        pickle.SETITEM[0]: load_item,
        pickle.SETITEMS[0]: load_items,
        pickle.DICT[0]: load_dictionary,
        pickle.APPEND[0]: load_entry,
        pickle.APPENDS[0]: load_entries,
        pickle.ADDITEMS[0]: load_members,
        pickle.FROZENSET[0]: load_frozen,
    }


def word_of(value: object) -> str | int:
    """The value, where it is a word or a whole number; hashing and printing it is cheap.

    Raises:
        ModelRejected: it is neither.

    >>> word_of("weight")
    'weight'
    """
    if not isinstance(value, str | int):
        raise ModelRejected("the file names things by what is no word; it is not loaded")
    return value


def refuse_unfolding(content: object) -> None:
    """Refuse lists and tuples that hold each other so often that they have no end in practice.

    Args:
        content: what a file gave.

    Raises:
        ModelRejected: they are nested too deep, or too large were each a copy of its own.
    """
    waiting, seen, sizes = [content], set[int](), dict[int, int]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, StoredModule):
            waiting.append(value.state)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            _unfolded(value, 0, sizes)
            waiting.extend(value)


def _unfolded(value: object, depth: int, sizes: dict[int, int]) -> int:
    if not isinstance(value, list | tuple):
        return 1
    if id(value) not in sizes:
        if depth > _MOST_NESTING:
            raise ModelRejected("the file nests its lists too deep; it is not loaded")
        sizes[id(value)] = 1 + sum(_unfolded(part, depth + 1, sizes) for part in value)
    if sizes[id(value)] > _MOST_UNFOLDED:
        raise ModelRejected("the file unfolds to more than it holds; it is not loaded")
    return sizes[id(value)]


def _fill(target: object, items: Sequence[object]) -> None:
    """Puts keys and values, which take turns, into a dictionary."""
    if not isinstance(target, dict):
        raise ModelRejected("the file adds items to what is no dictionary; it is not loaded")
    for place in range(0, len(items), 2):
        target[word_of(items[place])] = items[place + 1]


def _list_of(target: object) -> list[object]:
    if not isinstance(target, list):
        raise ModelRejected("the file adds entries to what is no list; it is not loaded")
    return target
