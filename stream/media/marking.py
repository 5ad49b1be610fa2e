"""The machine-readable mark: what a program reads to know that faces are synthetic.

Three carriers. In H.264 and H.265 a user-data message (SEI, ITU-T H.264 annex D.1.7) rides on
every key frame and so survives remuxing. In containers, the IPTC digital source type is
written into the metadata, and in pictures into their XMP (ISO 16684-1), as IPTC asks for.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final, Literal

__all__ = [
    "CONTAINER_MARK",
    "MARK_TEXT",
    "SEI_UUID",
    "XMP_MARK",
    "mark_in_bitstream",
    "marked",
    "sei_nal",
]

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
XMP_MARK: Final = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" '
    'xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" '
    f'Iptc4xmpExt:DigitalSourceType="{_SOURCE_TYPE}"/>'
    '</rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
)
"""The same of a picture; the packet's id is the one that all XMP has."""


def marked(metadata: Mapping[str, str]) -> dict[str, str]:
    """A container's metadata with the mark; what stands there stays, before it.

    >>> marked({"comment": "Lisbon"})["comment"].split(". ")[0]
    'Lisbon; Faces are synthetic or covered'
    """
    said = {key: f"{metadata[key]}; " for key in CONTAINER_MARK if metadata.get(key)}
    return dict(metadata) | {key: said.get(key, "") + text for key, text in CONTAINER_MARK.items()}


def sei_nal(codec: Literal["h264", "hevc"] = "h264") -> bytes:
    """The network abstraction unit that carries the mark, with its start code.

    >>> sei_nal()[:6].hex(), sei_nal("hevc")[:7].hex()
    ('000000010605', '000000014e0105')
    """
    payload = SEI_UUID.bytes + MARK_TEXT.encode("ascii")
    size = b"\xff" * (len(payload) // 255) + bytes([len(payload) % 255])
    head = b"\x06" if codec == "h264" else b"\x4e\x01"
    body = _escaped(head + b"\x05" + size + payload + b"\x80")
    return b"\x00\x00\x00\x01" + body


def mark_in_bitstream(bitstream: bytes) -> bool:
    """Whether an elementary stream of H.264 or H.265 carries the mark.

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
