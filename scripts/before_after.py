#!/usr/bin/env python3
"""Lays frames of a clip over the same frames of its anonymized twin, in one picture.

    scripts/before_after.py ORIGINAL ANONYMIZED PICTURE [--frames 3] [--width 480]

The picture in the readme: `kveil demo`, then this on the two clips of its folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

_GAP_PX = 8


def main() -> None:
    """Writes the picture; its suffix says as what."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("original", type=Path)
    parser.add_argument("anonymized", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--frames", type=int, default=3, help="columns, spread over the clip")
    parser.add_argument("--width", type=int, default=480, help="of a frame, px")
    chosen = parser.parse_args()
    clips = (chosen.original, chosen.anonymized)
    sheet = np.concatenate([row(clip, chosen.frames, chosen.width) for clip in clips])
    cv2.imwrite(str(chosen.picture), sheet, [cv2.IMWRITE_JPEG_QUALITY, 88])


def row(clip: Path, count: int, width: int) -> NDArray[np.uint8]:
    """Frames spread over a clip, from the middle of each part, side by side with white gaps."""
    with av.open(str(clip)) as container:
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    shown = [frames[len(frames) * (2 * i + 1) // (2 * count)] for i in range(count)]
    height = round(width * shown[0].shape[0] / shown[0].shape[1])
    sized = [cv2.resize(one, (width, height), interpolation=cv2.INTER_AREA) for one in shown]
    gap = (0, _GAP_PX, 0, _GAP_PX)
    framed = [
        cv2.copyMakeBorder(one, *gap, cv2.BORDER_CONSTANT, value=(255, 255, 255)) for one in sized
    ]
    return np.concatenate(framed, axis=1).astype(np.uint8)


if __name__ == "__main__":
    main()
