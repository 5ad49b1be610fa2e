#!/usr/bin/env python3
"""Swaps the faces of every clip of a folder and prints what the pictures are worth (P4, P5, P6).

    scripts/measure_picture.py CLIPS WORK [--seconds 2] [--only NAME …] [--models FOLDER]

The first seconds of each clip are cut into WORK/cut; WORK/swap gets the anonymized clips and
WORK/again the cuts encoded once more as those are, which give the floor. What is there is not
made again: after a change to kveil, give another WORK. WORK/again and WORK/swap also serve
`scripts/blind_sheet.py`. Faces are found in the originals by a detector that kveil does not use.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import av

from engines.backends.openvino import OpenVino
from engines.detectors.yunet import YuNet
from evaluation.clips import paired
from evaluation.consensus import LEAST_SCORE
from evaluation.exposure import FaceFinder
from evaluation.finders import FrameFinder
from evaluation.picture_worth import HEAD, PictureMeter, row
from evaluation.recognisers import models_folder
from scripts.measure_swap import cut

NETWORK: Final = "face_detection_yunet_2026may.onnx"
_INPUT_PX: Final = 640
_LEAST_SCORE: Final = 0.6
_ENCODER: Final = {"crf": "20", "preset": "veryfast"}


def main() -> int:
    """Prints the table."""
    chosen = arguments()
    finder = yunet_finder(chosen.models or models_folder())
    everything = PictureMeter()
    print(HEAD, flush=True)
    for clip in sorted(one for one in chosen.clips.iterdir() if one.is_file()):
        if not chosen.only or clip.name in chosen.only:
            meter = measured(clip, finder, chosen)
            everything.extend(meter)
            print(row(clip.name, meter), flush=True)
    print(row("all", everything))
    return 0


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0, help="length that is cut")
    parser.add_argument("--method", default="swap")
    parser.add_argument("--only", action="append", default=[], help="name of a clip")
    parser.add_argument("--every", type=int, default=1, help="look at one frame in so many")
    parser.add_argument("--models", type=Path, help=f"folder of {NETWORK}")
    return parser.parse_args()


def yunet_finder(models: Path) -> FrameFinder:
    """The detector, which looks at frames as they are: faces under 40 px are not measured."""
    size = (_INPUT_PX, _INPUT_PX)
    detector = YuNet(OpenVino(), models / NETWORK, fixed=size)
    return FrameFinder(detector, "yunet", enlarged=1.0, least_score=LEAST_SCORE)


def measured(clip: Path, finder: FaceFinder, chosen: argparse.Namespace) -> PictureMeter:
    """The figures of one clip."""
    start, swapped, again = prepared(clip, chosen.work, chosen.seconds, chosen.method)
    meter = PictureMeter()
    both = zip(paired(start, swapped), paired(start, again), strict=True)
    for pair, floor in both:
        if pair.index % chosen.every == 0:
            found = [face for face in finder.find(pair.original) if face.score >= _LEAST_SCORE]
            meter.add(pair.original, pair.anonymized, floor.anonymized, found)
    return meter


def prepared(clip: Path, work: Path, seconds: float, method: str) -> tuple[Path, Path, Path]:
    """The cut, its anonymized version, and the cut encoded once more; made where missing."""
    name = f"{clip.name}.{seconds:g}s.mp4"
    folders = [work / kind for kind in ("cut", method, "again")]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    start, target, again = (folder / name for folder in folders)
    if not start.exists():
        cut(clip, start, seconds)
    if not target.exists():
        # Without the visible mark, which lies over faces too and is nobody's swap.
        command = ["kveil", "anonymize", str(start), "-o", str(target), "--method", method]
        for key in ("privacy.label=false", "output.encoder=libx264", "output.codec=h264"):
            command += ["--set", key]
        command += ["--set", f"output.quality={_ENCODER['crf']}"]
        command += ["--set", f"output.speed={_ENCODER['preset']}"]
        subprocess.run(command, check=True, stdout=sys.stderr)
    if not again.exists():
        encode_again(start, again)
    return start, target, again


def encode_again(clip: Path, target: Path) -> None:
    """Writes a clip anew with the encoder and the quality of the anonymized clips."""
    beside = target.with_suffix(".part.mp4")
    with av.open(str(clip)) as source, av.open(str(beside), "w") as container:
        video = source.streams.video[0]
        stream = container.add_stream("libx264", rate=video.average_rate, options=_ENCODER)
        stream.width, stream.height, stream.pix_fmt = video.width, video.height, "yuv420p"
        for frame in _plain_frames(source):
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    beside.replace(target)


def _plain_frames(source: av.container.InputContainer) -> Iterator[av.VideoFrame]:
    for frame in source.decode(video=0):
        # Each encoder chooses its own key frames.
        frame.pict_type = 0
        yield frame


if __name__ == "__main__":
    sys.exit(main())
