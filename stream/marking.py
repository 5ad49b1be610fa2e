"""The machine-readable mark: what a program reads to know that faces are synthetic.

Two carriers. In H.264 and H.265 a user-data message (SEI, ITU-T H.264 annex D.1.7) rides on
every key frame and so survives remuxing. In containers, the IPTC digital source type is
written into the metadata.
"""

from __future__ import annotations

import uuid
from typing import Final

__all__ = ["CONTAINER_MARK", "MARK_TEXT", "SEI_UUID", "mark_in_bitstream", "sei_nal"]

SEI_UUID: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "synthetic-faces.kveil")
_SOURCE_TYPE: Final = (
    "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"
)
MARK_TEXT: Final = f'{{"generator":"kveil","digitalSourceType":"{_SOURCE_TYPE}"}}'
CONTAINER_MARK: Final[dict[str, str]] = {
    "comment": f"Faces are synthetic or covered. digitalSourceType: {_SOURCE_TYPE}",
    "description": "Faces in this video were replaced or covered by kveil.",
}
"""Metadata of a container, by key."""


def sei_nal() -> bytes:
    """The H.264 network abstraction unit that carries the mark, with its start code.

    >>> sei_nal()[:6].hex()
    '000000010605'
    """
    payload = SEI_UUID.bytes + MARK_TEXT.encode("ascii")
    size = b"\xff" * (len(payload) // 255) + bytes([len(payload) % 255])
    body = _escaped(b"\x06\x05" + size + payload + b"\x80")
    return b"\x00\x00\x00\x01" + body


def mark_in_bitstream(bitstream: bytes) -> bool:
    """Whether an H.264 elementary stream carries the mark.

    >>> mark_in_bitstream(b"video" + sei_nal()), mark_in_bitstream(b"video")
    (True, False)
    """
    return SEI_UUID.bytes in bitstream or _escaped(SEI_UUID.bytes) in bitstream


def _escaped(body: bytes) -> bytes:
    """Breaks up what would look like a start code (emulation prevention)."""
    out = bytearray()
    zeros = 0
    for byte in body:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)
