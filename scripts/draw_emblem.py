#!/usr/bin/env python3
"""Draws nobody's face for the covers: the average of many mixtures of donors, as a relief.

    scripts/draw_emblem.py [--mixtures 240] [--write engines/weights/nobody.png]

The mixtures are seen from the front. No picture of a person and no recogniser takes part.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from evaluation.methods.generated import surrogates_from_pack

SIZE = 128
"""Side of the relief, px."""
RAISED = 3.0
"""How often what is finer than `FINE` of the side is as strong as in the average."""
FINE = 0.0234
CONTRAST = 1.1
"""Of the face's middle, as a multiple of the range from dark to light."""


def main() -> int:
    """Draws the relief and writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mixtures", type=int, default=240)
    parser.add_argument("--write", type=Path, default=Path("engines/weights/nobody.png"))
    chosen = parser.parse_args()
    painter = surrogates_from_pack(OpenVino())
    faces = painter.neutral(painter.latents(np.arange(0, 2 * chosen.mixtures, 2)))
    average = np.stack([np.clip(face, 0, 255) for face in faces]).mean(axis=0, dtype=np.float32)
    cv2.imwrite(str(chosen.write), relief_of(average), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    print(f"{chosen.write}: the average of {chosen.mixtures} mixtures")
    return 0


def relief_of(image: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A rendered face, h×w×3 BGR 0…255, as a relief: grey, its detail raised, SIZE×SIZE."""
    small = cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    depth = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
    soft = cv2.GaussianBlur(depth, (0, 0), SIZE * FINE)
    depth = np.clip(soft + RAISED * (depth - soft), 0, 255)
    inner = depth[round(0.16 * SIZE) : round(0.9 * SIZE), round(0.2 * SIZE) : round(0.8 * SIZE)]
    low, high = np.quantile(inner, (0.02, 0.98))
    evened = 0.5 + CONTRAST * ((depth - low) / (high - low) - 0.5)
    return np.asarray(np.rint(255 * np.clip(evened, 0, 1)), np.uint8)


if __name__ == "__main__":
    sys.exit(main())
