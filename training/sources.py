"""What the table of prepared crops says of them: who is photographed, and how sharply."""

import json
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

ADULT: Final = 16
"""Years."""
FRONTAL_YAW_DEG: Final = 25.0
"""Heads turned less than this show enough of both sides to find directions on."""

Float32 = npt.NDArray[np.float32]


def is_real_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops show a photographed person of at least ADULT years, bool[N].

    Children and generated people resemble each other: directions found on them make people
    who do too.
    """
    rows = json.loads((data / "names.json").read_text())
    return np.array(
        [row["source"] == "utkface" and float(row["age"] or 0) >= ADULT for row in rows], np.bool_
    )


def is_known_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops are real adults and not held out, bool[N]."""
    held = np.load(data / "split.npy")
    return np.asarray(is_real_adult(data) & ~held, np.bool_)


def is_sharp_adult(data: Path) -> npt.NDArray[np.bool_]:
    """Which crops the generator learns from: the sharper half of the real adults, bool[N]."""
    adults, sharpness = is_real_adult(data), sharpness_of(data)
    return np.asarray(adults & (sharpness >= np.median(sharpness[adults])), np.bool_)


def lends(data: Path, yaw_deg: Float32, limit_deg: float) -> npt.NDArray[np.bool_]:
    """Which crops people are made of, bool[N]: not held out, real adults, facing the camera.

    Args:
        data: folder of prepared crops.
        yaw_deg: float32[N].
        limit_deg: largest turn to either side.
    """
    return np.asarray(is_known_adult(data) & (np.abs(yaw_deg) < limit_deg), np.bool_)


def sharpness_of(data: Path) -> Float32:
    """Sharpness of every crop as its table states it, float32[N]."""
    rows = json.loads((data / "names.json").read_text())
    return np.array([float(row["sharpness"]) for row in rows], np.float32)
