"""What the headers of coded H.264 pictures tell: fields of one frame, and frames that are missing.

A decoder shows two fields as one frame, and is silent about frames that are not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["FieldPairs"]


class _Field(NamedTuple):
    """A coded field: its frame's number, and whether it holds the bottom lines."""

    frame_num: int
    is_bottom: bool


class _Slice(NamedTuple):
    """The picture that a slice belongs to: its frame's number, and which field, if any."""

    frame_num: int
    is_field: bool
    is_bottom: bool

    @property
    def field(self) -> _Field | None:
        """The field; None for a frame."""
        return _Field(self.frame_num, self.is_bottom) if self.is_field else None


class _Sequence(NamedTuple):
    """What of a sequence's parameters is needed to read a slice's header."""

    frame_num_bits: int
    has_colour_planes: bool
    may_have_fields: bool
    may_have_gaps: bool


@dataclass(slots=True)
class FieldPairs:
    """Tells second fields of H.264, which the decoder shows within the frame of the first.

    ITU-T H.264: 7.3.2.1.1 (sequence parameters), 7.3.3 (slice header), 7.4.1.2.4 (pairing).
    What cannot be read is no second field, so that it is missed if it does not come.

    Attributes:
        length_bytes: size of the length before each unit; 0 where start codes are between them.
        sequence: parameters of the sequence read last.
        open: the field that ended the packet before and has no counterpart yet.
        absent: reference frames that are missing right before the packet read last.
    """

    length_bytes: int = 0
    sequence: _Sequence | None = None
    open: _Field | None = None
    absent: int = 0
    _reference: int | None = None

    @classmethod
    def of(cls, header: bytes | None) -> FieldPairs:
        """Starts from the container's codec header (ISO/IEC 14496-15, 5.3.3.1, or units)."""
        pairs = cls()
        if header and header[0] == 1 and len(header) > 8:
            pairs.length_bytes = (header[4] & 3) + 1
            pairs._read(header[8:])
        elif header:
            pairs.is_second(header, is_key=True)
        return pairs

    def is_second(self, packet: bytes, *, is_key: bool) -> bool:
        """Whether a packet is the second field of the one before and nothing else.

        Args:
            packet: the coded picture.
            is_key: whether decoding may start with it. Parameters elsewhere are damage.
        """
        fields: list[_Field | None] = []
        self.absent = 0
        for unit in self._units(packet):
            kind = unit[0] & 31 if unit else 0
            if kind == 7 and is_key and not fields:
                self._read(unit)
            elif kind in (1, 5):
                piece = self._slice(unit)
                found = piece.field if piece is not None else None
                if not fields:
                    self._count_absent(unit, piece)
                if not fields or fields[-1] != found:
                    fields.append(found)
        is_second = len(fields) == 1 and self._is_counterpart(fields[0])
        for found in fields or [None]:
            self.open = None if self._is_counterpart(found) else found
        return is_second

    def _is_counterpart(self, found: _Field | None) -> bool:
        return (
            self.open is not None
            and found is not None
            and found == _Field(self.open.frame_num, not self.open.is_bottom)
        )

    def _units(self, packet: bytes) -> Iterator[bytes]:
        if not self.length_bytes:
            yield from packet.split(b"\0\0\1")[1:]
            return
        at = 0
        while at + self.length_bytes < len(packet):
            start = at + self.length_bytes
            at = start + int.from_bytes(packet[at:start])
            yield packet[start:at]

    def _read(self, unit: bytes) -> None:
        with contextlib.suppress(ValueError):
            self.sequence = _sequence(_Bits(unit[1:1024]))

    def _count_absent(self, unit: bytes, piece: _Slice | None) -> None:
        """Numbers of reference frames grow by one (7.4.3); what is in between is missing."""
        if self.sequence is None or piece is None or self.sequence.may_have_gaps:
            self._reference = None
            return
        is_reference, is_restart = bool(unit[0] & 0x60), unit[0] & 31 == _RESTART
        if not is_restart and self._reference is not None:
            step = (piece.frame_num - self._reference) % (1 << self.sequence.frame_num_bits)
            self.absent = max(0, step - 1)
        if is_reference:
            self._reference = piece.frame_num
        elif self.absent:
            self._reference = piece.frame_num - 1

    def _slice(self, unit: bytes) -> _Slice | None:
        """The picture that a slice belongs to; None where that cannot be read."""
        if self.sequence is None:
            return None
        bits = _Bits(unit[1:40])
        try:
            for _ in range(3):
                bits.golomb()
            if self.sequence.has_colour_planes:
                bits.read(2)
            number = bits.read(self.sequence.frame_num_bits)
            is_field = self.sequence.may_have_fields and bits.read(1) == 1
            return _Slice(number, is_field, is_field and bits.read(1) == 1)
        except ValueError:
            return None


class _Bits:
    """Reads a unit's bits, without the bytes that keep start codes out of it."""

    def __init__(self, unit: bytes) -> None:
        plain = unit.replace(b"\0\0\3", b"\0\0")
        self._value, self._left = int.from_bytes(plain), 8 * len(plain)

    def read(self, count: int) -> int:
        """An unsigned number of as many bits.

        Raises:
            ValueError: the unit is over.
        """
        if count > self._left:
            raise ValueError
        self._left -= count
        return self._value >> self._left & (1 << count) - 1

    def golomb(self) -> int:
        """An unsigned Exp-Golomb code (9.1)."""
        zeros = 0
        while not self.read(1):
            zeros += 1
        return (1 << zeros) - 1 + self.read(zeros)

    def signed_golomb(self) -> int:
        """A signed one (9.1.1)."""
        code = self.golomb()
        return (code + 1) // 2 if code % 2 else -(code // 2)


_RESTART: Final = 5
"""A picture from which numbers begin anew (table 7-1)."""
_LOW_PROFILES: Final = frozenset({66, 77, 88})
# Profiles that tell of chroma, bit depth and scaling (7.3.2.1.1).
_HIGH_PROFILES: Final = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244})


def _sequence(bits: _Bits) -> _Sequence:
    """Reads a sequence's parameters as far as they are needed.

    Raises:
        ValueError: damaged, or of a profile that does not exist.
    """
    profile = bits.read(8)
    if profile not in _LOW_PROFILES | _HIGH_PROFILES or bits.read(8) & 3:
        raise ValueError
    bits.read(8)
    bits.golomb()
    has_colour_planes = _has_colour_planes(bits) if profile in _HIGH_PROFILES else False
    frame_num_bits = bits.golomb() + 4
    _skip_picture_order(bits)
    bits.golomb()
    may_have_gaps = bool(bits.read(1))
    bits.golomb()
    bits.golomb()
    may_have_fields = not bits.read(1)
    return _Sequence(frame_num_bits, has_colour_planes, may_have_fields, may_have_gaps)


def _has_colour_planes(bits: _Bits) -> bool:
    is_444 = bits.golomb() == 3
    has_colour_planes = bool(bits.read(1)) if is_444 else False
    bits.golomb()
    bits.golomb()
    bits.read(1)
    if bits.read(1):
        for index in range(12 if is_444 else 8):
            if bits.read(1):
                _skip_scaling(bits, 16 if index < 6 else 64)
    return has_colour_planes


def _skip_scaling(bits: _Bits, size: int) -> None:
    scale = 8
    for _ in range(size):
        scale = (scale + bits.signed_golomb()) % 256
        if not scale:
            return


def _skip_picture_order(bits: _Bits) -> None:
    kind = bits.golomb()
    if kind == 0:
        bits.golomb()
    elif kind == 1:
        bits.read(1)
        bits.golomb()
        bits.golomb()
        for _ in range(bits.golomb()):
            bits.golomb()
