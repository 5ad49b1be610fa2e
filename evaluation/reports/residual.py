"""What no attack on still faces covers: measured where it can be, else told (A13, A14)."""

from __future__ import annotations

import struct

import cv2
import numpy as np

from evaluation.reports.clip_record import Record

__all__ = ["png_chunks", "residual_rows"]

_PIXELS_ONLY = {"IHDR", "IDAT", "IEND"}


def png_chunks(content: bytes) -> list[str]:
    """Names of the chunks of a PNG; anything beside IHDR, IDAT and IEND is metadata.

    >>> png_chunks(cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1].tobytes())[0]
    'IHDR'
    """
    names, place = [], 8
    while place + 8 <= len(content):
        length, name = struct.unpack(">I4s", content[place : place + 8])
        names.append(name.decode("latin-1"))
        place += 12 + length
    return names


def residual_rows() -> list[Record]:
    """Channels beside the face: what they may tell, and how that was found out."""
    extra = set(_written_chunks()) - _PIXELS_ONLY
    metadata = (
        "a written picture holds " + ", ".join(sorted(extra))
        if extra
        else "none: a written picture holds pixels alone"
    )
    rows = (
        ("A13", "Hair, ears, clothes, background", "measured", "see the table above"),
        ("A13", "Pose, expression, light of the face", "measured", "new face alone, above"),
        ("A13", "Metadata of pictures", "measured", metadata),
        (
            "A13",
            "Names and order of files",
            "by design",
            "kveil dataset numbers people in a secret order; --mapping writes the list sealed",
        ),
        (
            "A13",
            "Voice, gait, way of speaking, time and place",
            "open",
            "not in still pictures; whoever knows a person by them needs no face",
        ),
        (
            "A12, A6",
            "Single frames of a video, whole tracks",
            "other command",
            "kveil evaluate ORIGINAL.mp4 ANONYMIZED.mp4",
        ),
        (
            "A14",
            "Faults: overload, crash, lost engine or store",
            "other command",
            "pytest tests/stream: each planted fault must emit covers, never original pixels",
        ),
    )
    return [
        {"attack": attack, "channel": channel, "state": state, "words": words}
        for attack, channel, state, words in rows
    ]


def _written_chunks() -> list[str]:
    _, encoded = cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))
    return png_chunks(encoded.tobytes())
