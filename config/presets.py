"""Named starting points for common cameras."""

from __future__ import annotations

from typing import Literal

__all__ = ["PRESETS", "Preset"]

Preset = Literal["default", "cctv", "dashcam", "drone", "webcam"]
Value = str | int | float | bool

PRESETS: dict[Preset, dict[str, dict[str, Value]]] = {
    "default": {},
    # A fixed camera with far faces: thorough looks are cheap because little changes.
    "cctv": {
        "detection": {"coarse_px": 960, "full_every_s": 0.4},
        "tracking": {"hold_s": 0.5},
    },
    # Everything moves, and faces cross the picture in a few frames.
    "dashcam": {
        "detection": {"schedule": "every", "coarse_px": 960, "full_every_s": 0.2},
    },
    # Faces of a dozen pixels, seen from above.
    "drone": {
        "detection": {
            "schedule": "every",
            "coarse_px": 1280,
            "full_px": 3840,
            "full_every_s": 0.2,
            "low_score": 0.15,
        },
        "tracking": {"hold_s": 0.4},
    },
    # One near face, short delay.
    "webcam": {
        "detection": {"coarse_px": 640, "full_px": 960},
        "tracking": {"lookahead_live_frames": 3},
    },
}
