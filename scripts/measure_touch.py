#!/usr/bin/env python3
"""What anonymizing changes without need, and how many faces it swaps: measures P2 and P3.

    scripts/measure_touch.py CLIPS WORK [--only CLIP …] [--method NAME] [--every N]

CLIPS holds original clips. WORK gets the anonymized ones and what two detectors that the product
does not use found in the originals; whatever is there is not made again. True faces are those
on which both agree. Finds of one alone are kept as pictures in WORK, for somebody to look at,
and count neither way; nor do the faces of `docs/settled_faces.toml`, at which somebody has looked,
nor a place where a face of any kind was known just before and is just after.
A second table says where false tracks lie and why faces change between surrogate and cover.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from engines.backends.openvino import OpenVino
from engines.detectors.scrfd import Scrfd
from engines.detectors.yunet import YuNet
from engines.pictures import BgrImage
from engines.types import Face
from evaluation.clips import decoded, paired
from evaluation.consensus import LEAST_SCORE, Consensus, bridged, consensus, steadied
from evaluation.exposure import FaceFinder
from evaluation.false_tracks import FalseKind
from evaluation.finders import FrameFinder
from evaluation.finding_cache import CachedFinder
from evaluation.recognisers import models_folder
from evaluation.settled_faces import boxes_at, read_settled_faces
from evaluation.touch import Touch, TouchMeter
from stream.files.report import RunReport

SETTLED = Path(__file__).parents[1] / "docs" / "settled_faces.toml"
NETWORKS = ("scrfd_500m_bnkps.onnx", "face_detection_yunet_2026may.onnx")
_INPUT_PX = 640
_CLEAR = 0.5
_CROP_PX = 96
_MOST_CROPS = 120
_HEAD = (
    "| clip | needless pixels % | false tracks / min | swapped ≥ 40 px % | switches / 10 s "
    "| bare ≥ 16 px | faces | disputed |\n|---|---|---|---|---|---|---|---|"
)
_HEAD_OF_CAUSES = (
    "| clip | false tracks beside a face | before or after one | elsewhere "
    "| switches, by why the face was covered |\n|---|---|---|---|---|"
)


@dataclass(slots=True)
class Judges:
    """Two detectors with what they already know of a clip.

    Attributes:
        finders: the two.
        crops: pictures of what one of them alone found.
    """

    finders: tuple[FaceFinder, FaceFinder]
    crops: list[BgrImage]

    def true_faces(self, clip: Path, every: int) -> list[Consensus]:
        """The faces of every so many frames, settled by the frames around them."""
        images = (still.image for place, still in enumerate(decoded(clip)) if place % every == 0)
        found = []
        for image in images:
            found.append(consensus(*(finder.find(image) for finder in self.finders)))
            for face in found[-1].disputed:
                self._keep(image, face)
        return steadied(found)

    def found_again(self, image: BgrImage) -> list[Face]:
        """Faces that either finds clearly."""
        found = [face for finder in self.finders for face in finder.find(image)]
        return [face for face in found if face.score >= _CLEAR]

    def _keep(self, image: BgrImage, face: Face) -> None:
        x0, y0, x1, y1 = (round(float(value)) for value in face.box_px)
        rim = (x1 - x0) // 2
        crop = image[max(0, y0 - rim) : y1 + rim, max(0, x0 - rim) : x1 + rim]
        if len(self.crops) < _MOST_CROPS and crop.size:
            self.crops.append(np.asarray(cv2.resize(crop, (_CROP_PX, _CROP_PX)), np.uint8))


def main() -> int:
    """Prints the table."""
    chosen = arguments()
    chosen.work.mkdir(parents=True, exist_ok=True)
    scaled = scaled_finders(chosen.models or models_folder())
    clips = sorted(clip for clip in chosen.clips.iterdir() if clip.is_file())
    print(_HEAD)
    causes = []
    for clip in clips:
        if not chosen.only or clip.name in chosen.only:
            touch = measured(clip, scaled, chosen)
            run = RunReport.model_validate_json(run_of(clip, chosen).read_text())
            print(row(clip.name, touch, switches_per_10_s(run, touch.seconds)), flush=True)
            causes.append(row_of_causes(clip.name, touch, run))
    print("\n".join(["", _HEAD_OF_CAUSES, *causes]))
    return 0


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--method", default="swap")
    parser.add_argument("--only", action="append", default=[], help="names of clips")
    parser.add_argument("--every", type=int, default=1, help="look at one frame in so many")
    parser.add_argument("--models", type=Path, help="folder of the two detectors' networks")
    return parser.parse_args()


def scaled_finders(models: Path) -> tuple[FrameFinder, FrameFinder]:
    """The two detectors, told apart by their files."""
    paths = [models / name for name in NETWORKS]
    marks = [f"{one.stem} {hashlib.sha256(one.read_bytes()).hexdigest()[:12]}" for one in paths]
    backend, size = OpenVino(), (_INPUT_PX, _INPUT_PX)
    return (
        FrameFinder(Scrfd(backend, paths[0], fixed=size), marks[0], least_score=LEAST_SCORE),
        FrameFinder(YuNet(backend, paths[1], fixed=size), marks[1], least_score=LEAST_SCORE),
    )


def measured(clip: Path, scaled: Sequence[FrameFinder], chosen: argparse.Namespace) -> Touch:
    """The figures of one clip."""
    target, run = chosen.work / f"{clip.name}.{chosen.method}.mkv", run_of(clip, chosen)
    if not (target.exists() and run.exists()):
        command = ["kveil", "anonymize", str(clip), "-o", str(target), "--method", chosen.method]
        command += ["--report", str(run), "--overwrite"]
        subprocess.run(command, check=True, stdout=sys.stderr)
    first, second = (
        CachedFinder(finder, chosen.work / f"{clip.name}.{number}.found.json")
        for number, finder in enumerate(scaled)
    )
    judges, meter = Judges((first, second), []), TouchMeter()
    true = with_settled(judges.true_faces(clip, chosen.every), clip.name, chosen.every)
    for pair in paired(clip, target):
        if pair.index % chosen.every == 0:
            again = judges.found_again(pair.anonymized)
            faces = true[pair.index // chosen.every]
            time_s = pair.time_s if pair.time_s is not None else pair.index / 25
            meter.add(pair.original, pair.anonymized, faces, again, time_s)
    for cached in (first, second):
        cached.save()
    if judges.crops:
        cv2.imwrite(str(chosen.work / f"{clip.name}.disputed.png"), np.hstack(judges.crops))
    return meter.touch


def with_settled(frames: Sequence[Consensus], name: str, every: int) -> list[Consensus]:
    """The faces of looks at a clip, with those that were settled by eye and what lies between."""
    settled = read_settled_faces(SETTLED)
    return bridged(
        [
            replace(frame, by_eye=tuple(boxes_at(settled, name, look * every)))
            for look, frame in enumerate(frames)
        ]
    )


def run_of(clip: Path, chosen: argparse.Namespace) -> Path:
    """The report of the run over a clip."""
    place: Path = chosen.work / f"{clip.name}.{chosen.method}.run.json"
    return place


def switches_per_10_s(run: RunReport, seconds: float) -> float:
    """Changes between surrogate and cover in 10 s of swapped face.

    Args:
        run: over the clip.
        seconds: the clip's length.
    """
    frame_s = seconds / max(run.frames.written, 1)
    return 10 * run.faces.switches / max(run.faces.swapped * frame_s, 1e-9)


def row(name: str, touch: Touch, switches: float) -> str:
    """One line of the table."""
    return (
        f"| {name} | {100 * touch.needless_share:.2f} | {touch.false_tracks_a_minute:.0f} "
        f"| {100 * touch.swapped_share:.0f} | {switches:.1f} | {touch.bare} | {touch.faces} "
        f"| {touch.disputed} |"
    )


def row_of_causes(name: str, touch: Touch, run: RunReport) -> str:
    """One line of the table of causes: how many, not how often."""
    kinds: list[FalseKind] = ["beside", "before or after", "nothing"]
    places = " | ".join(str(touch.false_kinds.get(kind, 0)) for kind in kinds)
    causes = Counter(run.faces.switches_by_cause).most_common()
    return f"| {name} | {places} | {', '.join(f'{cause} {n}' for cause, n in causes) or '–'} |"


if __name__ == "__main__":
    sys.exit(main())
