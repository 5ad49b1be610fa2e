"""Runs deface on a clip and prints its speed and what it found, as JSON.

A process of its own (`python -m benchmarks.deface_run CLIP OUT COVER`), so that neither tool's
threads and memory weigh on the other's measurement.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

__all__ = ["main"]

_THRESHOLD = 0.2  # deface's default
_MASK_SCALE = 1.3  # likewise


def main() -> None:
    """Covers the faces of the clip, `solid` or `blur`, with deface's defaults otherwise."""
    from deface.centerface import CenterFace
    from deface.deface import video_detect

    clip, target, cover = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    found = {"frames": 0, "faces": 0}
    network = CenterFace(in_shape=None, backend="auto")
    detect = network.__call__

    def counting(frame: object, threshold: float) -> tuple[object, object]:
        boxes, landmarks = detect(frame, threshold=threshold)
        found["frames"] += 1
        found["faces"] += len(boxes)
        return boxes, landmarks

    start = time.perf_counter()
    video_detect(
        ipath=str(clip),
        opath=str(target),
        centerface=counting,
        threshold=_THRESHOLD,
        enable_preview=False,
        cam=False,
        nested=False,
        replacewith=cover,
        mask_scale=_MASK_SCALE,
        ellipse=cover == "blur",
        draw_scores=False,
        ffmpeg_config={"codec": "libx264"},
    )
    print(json.dumps(found | {"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
