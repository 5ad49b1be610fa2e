"""What is known of a recording before it is processed: format, clock, tags, tracks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from engines.pictures import Layout, Matrix
from stream.media.ends import StreamShape
from stream.media.light import MasteringLight
from stream.media.projection import Projection

__all__ = [
    "ColourTags",
    "Fields",
    "MediaProbe",
    "SourceReport",
    "matrix_from_tag",
    "quarter_turns",
    "turned_matrix",
]

Fields = Literal["", "tff", "bff"]
"""Progressive; top field first; bottom field first."""

_FULL_RANGE = 2
_UPRIGHT = (65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)


@dataclass(frozen=True, slots=True)
class ColourTags:
    """How sample values become light: code points of ITU-T H.273, 2 where unspecified.

    Attributes:
        primaries: chromaticities of the primaries; 1 BT.709, 9 BT.2020.
        transfer: transfer characteristics; 1 BT.709, 16 PQ, 18 HLG.
        matrix: matrix coefficients; 1 BT.709, 5 and 6 BT.601, 9 BT.2020.
        range: 0 unspecified, 1 limited, 2 full.
    """

    primaries: int = 2
    transfer: int = 2
    matrix: int = 2
    range: int = 0

    @property
    def is_full_range(self) -> bool:
        """Whether luma spans all code values."""
        return self.range == _FULL_RANGE


@dataclass(frozen=True, slots=True)
class MediaProbe:
    """Format of one input, as far as a sink must know it to write the like.

    Attributes:
        path: the file.
        kind: a video or an image.
        container: the demuxer's name, or the image format.
        codec: name of the video coding, such as `h264`.
        pixel_format: the decoder's pixel format.
        layout: planes of the frames' pictures.
        bit_depth: significant bits of a sample.
        shape: size and clock of the frames as they are handed out.
        colour: colour tags of the first frame.
        sample_aspect: width over height of a pixel as shown.
        display_matrix: nine integers of the container's display matrix, None where absent.
        turns: quarter turns anticlockwise by which frames were turned upright, 0…3.
        has_timestamps: the container says when frames are shown.
        duration_s: length by the header, None where unknown.
        dropped: what does not pass to the output, in words without values.
        fields: which field of an interlaced picture is shown first; empty where progressive.
        light: how it was mastered for high dynamic range, None where untold.
        track: number of the video track among all tracks of the file.
        lost: what is missed in any output, one line each.
        has_opacity: pictures may be transparent in places, which is left out.
        projection: how it is shown as 360° or 3D, None for a flat picture for both eyes.
    """

    path: Path
    kind: Literal["video", "image"]
    container: str
    codec: str
    pixel_format: str
    layout: Layout
    bit_depth: int
    shape: StreamShape
    colour: ColourTags = ColourTags()
    sample_aspect: Fraction = Fraction(1)
    display_matrix: tuple[int, ...] | None = None
    turns: int = 0
    has_timestamps: bool = True
    duration_s: float | None = None
    dropped: tuple[str, ...] = ()
    fields: Fields = ""
    light: MasteringLight | None = None
    track: int = 0
    lost: tuple[str, ...] = ()
    has_opacity: bool = False
    projection: Projection | None = None

    @property
    def coded_size(self) -> tuple[int, int]:
        """(height, width) as coded in the file, before any rotation on display, px."""
        height, width = self.shape.height, self.shape.width
        return (width, height) if self.turns % 2 else (height, width)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a source met while it was read.

    Attributes:
        frames: frames handed out.
        damaged: of these, frames that the decoder concealed or guessed.
        replaced: of these, frames that could not be decoded at all and came as a grey picture.
        rescaled: frames whose size or format differed from the first frame's.
        is_truncated: the file ended before its own header says.
        warnings: one line each, without personal data.
    """

    frames: int = 0
    damaged: int = 0
    replaced: int = 0
    rescaled: int = 0
    is_truncated: bool = False
    warnings: tuple[str, ...] = field(default=())


_MATRICES: Mapping[int, Matrix] = {
    1: "bt709",
    4: "bt601",
    5: "bt601",
    6: "bt601",
    7: "bt709",
    9: "bt2020",
    10: "bt2020",
}


def matrix_from_tag(tag: int, height: int) -> Matrix:
    """The Y'CbCr matrix of a tag; unspecified means BT.601 below 720 lines, else BT.709.

    >>> matrix_from_tag(9, 2160), matrix_from_tag(2, 480), matrix_from_tag(2, 720)
    ('bt2020', 'bt601', 'bt709')
    """
    return _MATRICES.get(tag, "bt601" if height < 720 else "bt709")


def turned_matrix(
    display_matrix: tuple[int, ...] | None, clockwise_deg: int
) -> tuple[int, ...] | None:
    """A display matrix with a further turn behind it; None for none at all.

    Args:
        display_matrix: nine integers in FFmpeg's order, or None.
        clockwise_deg: 0, 90, 180 or 270.

    >>> turned_matrix(None, 90)[:5]
    (0, 65536, 0, -65536, 0)
    >>> quarter_turns(turned_matrix(None, 90)), quarter_turns(turned_matrix(None, 270))
    (3, 1)
    >>> turned_matrix(turned_matrix(None, 90), 270)[:5]
    (65536, 0, 0, 0, 65536)
    """
    if clockwise_deg == 0:
        return display_matrix
    a, b, u, c, d, v, x, y, w = display_matrix or _UPRIGHT
    for _ in range(clockwise_deg // 90):
        a, b, c, d, x, y = -b, a, -d, c, -y, x
    return a, b, u, c, d, v, x, y, w


def quarter_turns(display_matrix: tuple[int, ...] | None) -> int:
    """Quarter turns anticlockwise that bring the coded picture upright, 0…3.

    Mirroring is left to the player: it does not keep a face from being found.

    Args:
        display_matrix: nine integers in FFmpeg's order, or None.

    >>> quarter_turns((0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30))
    3
    >>> quarter_turns((-65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30))
    0
    """
    if display_matrix is None:
        return 0
    a, b, _, c, d = display_matrix[:5]
    determinant = a * d - b * c
    if determinant == 0:
        return 0
    # The coded direction (right, down) that is shown as up: the matrix's inverse on (0, -1).
    right, down = c / determinant, -a / determinant
    return round(math.atan2(right, -down) / (math.pi / 2)) % 4
