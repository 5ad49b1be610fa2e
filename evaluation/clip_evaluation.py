"""One pair of clips, evaluated and recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from evaluation.clip_controls import run_clip_controls, run_quality_controls
from evaluation.clip_goals import goals_record
from evaluation.clip_quality import ClipQuality
from evaluation.clips import FramePair, paired
from evaluation.errors import ClipsDiffer
from evaluation.exposure import Exposure, FaceFinder, Keep, Sighting, measure_exposure
from evaluation.face_geometry import GeometryProbe
from evaluation.metrics.intervals import Z95
from evaluation.recognisers import Recogniser
from evaluation.reports.clip_record import CLIP_SCHEMA, Record, exposure_record
from evaluation.run_journal import file_hash

__all__ = ["MOST_RECOGNISABLE", "evaluate_clips", "file_record", "gate"]

MOST_RECOGNISABLE = 0.005
"""Share of face-frames that the worst recogniser may still match beyond the footage's floor."""
_LEAST_CHAINS: Final = math.ceil(Z95**2 * (1 - MOST_RECOGNISABLE) / MOST_RECOGNISABLE)
"""Followed faces of equal length without any match whose upper bound is within that share."""


def evaluate_clips(
    original: Path,
    anonymized: Path,
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    *,
    keep: Keep | None = None,
    geometry: GeometryProbe | None = None,
) -> Record:
    """Runs A12 and A6 with their controls; clips that do not match are a failed verdict.

    Args:
        original: the clip as recorded.
        anonymized: what was made of it.
        finder: detector for the originals.
        judges: recognisers that took no part in making the anonymized clip.
        keep: gets every sighting, for contact sheets.
        geometry: networks of pose and landmarks; without them neither is measured.

    Returns:
        The record, ready for JSON. Its verdict is `failed` where something was found,
        `incomplete` where nothing was, among too few people to promise it of others, and
        `passed` where there were enough. Where the clips differ in frames, size or time it
        is `failed` with the reason, without figures: they would be of other moments.

    Raises:
        FacesUnreadable: one of them is no clip.
        EngineFault: a network failed.
    """
    record: Record = {
        "schema": CLIP_SCHEMA,
        "kveil": metadata.version("kveil"),
        "original": file_record(original),
        "anonymized": file_record(anonymized),
    }
    quality = ClipQuality(finder, judges, geometry or GeometryProbe())

    def keep_both(seen: Sighting, pair: FramePair) -> None:
        quality.keep(seen, pair)
        if keep is not None:
            keep(seen, pair)

    try:
        exposure = measure_exposure(
            paired(original, anonymized),
            finder,
            judges,
            keep=keep_both,
        )
    except ClipsDiffer as fault:
        return record | {"verdict": "failed", "reasons": [str(fault)]}
    same = paired(original, original)
    controls = run_clip_controls(same, finder, judges, floors=exposure.floors)
    record["A12"] = figures = exposure_record(exposure, controls, judges, finder.name)
    left = quality.figures()
    probe = geometry or GeometryProbe()
    same = paired(original, original)
    blind = not run_quality_controls(same, finder, judges, probe).hold()
    figures["quality"] = left.as_dict() | {"controls_hold": not blind}
    record["goals"] = goals_record(left)
    failed = []
    if blind:
        failed.append("the controls of quality do not hold: its figures say nothing")
    if not controls.hold(judges):
        failed.append("the controls do not hold: the figures say nothing")
    found, untold = gate(exposure, judges)
    verdict = "failed" if failed or found else "incomplete" if untold else "passed"
    return record | {"verdict": verdict, "reasons": failed + found + untold}


def gate(exposure: Exposure, judges: Sequence[Recogniser]) -> tuple[list[str], list[str]]:
    """What was found that must not be, and what too few people leave open; in words.

    The upper bound must be within the limit. Where only the rate is, the clip shows no
    fault, yet too few people for a promise about others.
    """
    found, untold = [], []
    bare = exposure.bare()
    if bare.hits:
        found.append(f"{bare.hits} of {bare.probes} face-frames are bare")
    identified = {judge.name: exposure.identified(judge.name) for judge in judges}
    name = max(identified, key=lambda one: (identified[one].rate, identified[one].upper))
    worst = identified[name]
    if worst.rate > MOST_RECOGNISABLE:
        found.append(
            f"{worst.hits} of {worst.probes} face-frames are identified by "
            f"{name} ({worst.rate:.2%}, more than {MOST_RECOGNISABLE:.1%})"
        )
    elif worst.upper > MOST_RECOGNISABLE:
        untold.append(
            f"too few people to tell: {worst.hits} of {worst.probes} face-frames of "
            f"{worst.groups} followed faces are identified by {name}, which allows up to "
            f"{worst.upper:.1%} of all, and {MOST_RECOGNISABLE:.1%} are wanted: none of "
            f"{_LEAST_CHAINS} would show that"
        )
    return found, untold


def file_record(path: Path) -> Record:
    """Name, size and SHA-256 of a file."""
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": file_hash(path)}
