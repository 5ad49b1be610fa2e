"""The JSON record of a pair of clips."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from evaluation.bare import BARE_GREY_LEVELS, BARE_LIKENESS
from evaluation.clip_controls import ClipControls
from evaluation.exposure import SIZE_EDGES_PX, Exposure, size_label
from evaluation.metrics.intervals import wilson
from evaluation.recognisers import Recogniser, network_hash
from evaluation.whole_tracks import link_tracks

__all__ = ["CLIP_SCHEMA", "Record", "exposure_record"]

CLIP_SCHEMA = "kveil.evaluation.clip/1"
Record = dict[str, object]


def exposure_record(
    exposure: Exposure, controls: ClipControls, judges: Sequence[Recogniser], finder: str
) -> Record:
    """Attacks A12 and A6 with their controls, without a face or an embedding in it."""
    return {
        "finder": finder,
        "bare_below_grey_levels": BARE_GREY_LEVELS,
        "bare_from_likeness": BARE_LIKENESS,
        "frames": exposure.frames,
        "face_frames": len(exposure.sightings),
        "chains": len({seen.chain for seen in exposure.sightings}),
        "bare": exposure.bare().as_dict(),
        "chains_with_a_bare_frame": exposure.exposed_chains().as_dict(),
        "recognisable": {judge.name: _judged(exposure, judge) for judge in judges},
        "identified": {judge.name: exposure.identified(judge.name).as_dict() for judge in judges},
        "identified_with_surroundings": {
            judge.name: exposure.identified_with_surroundings(judge.name).as_dict()
            for judge in judges
        },
        "worst_recogniser": _worst(exposure, judges),
        "by_size": [_size_row(exposure, judges, *edges) for edges in _size_classes()],
        "per_frame": _frames(exposure),
        "per_chain": _chains(exposure, judges),
        "whole_tracks": {judge.name: _tracks(exposure, judge) for judge in judges},
        "controls": {
            "hold": controls.hold(judges),
            "leak": _control(controls.leak, judges),
            "cover": _control(controls.cover, judges),
        },
    }


def _judged(exposure: Exposure, judge: Recogniser) -> Record:
    cosines = [seen.cosines[judge.name] for seen in exposure.sightings]
    return {
        **exposure.recognisable(judge.name).as_dict(),
        "threshold": judge.threshold,
        "footage_thresholds": _floor(exposure, judge),
        "mean_cosine": float(np.mean(cosines)) if cosines else 0.0,
        "chance_other_faces": _rate(exposure.strangers.get(judge.name, (0, 0))),
        "false_matches_between_originals": _rate(exposure.originals.get(judge.name, (0, 0))),
        "seen_by_kveil": judge.seen_by_kveil,
        "network_sha256": network_hash(judge),
    }


def _floor(exposure: Exposure, judge: Recogniser) -> Record:
    floor = exposure.floors.get(judge.name)
    return dict(floor.by_size()) if floor else {}


def _rate(counts: tuple[int, int]) -> Record:
    lower, upper = wilson(*counts)
    rate = counts[0] / counts[1] if counts[1] else 0.0
    return {"rate": rate, "lower": lower, "upper": upper, "hits": counts[0], "probes": counts[1]}


def _worst(exposure: Exposure, judges: Sequence[Recogniser]) -> str:
    return max(judges, key=lambda judge: exposure.identified(judge.name).rate).name


def _size_classes() -> list[tuple[float, float]]:
    return [*pairwise(SIZE_EDGES_PX), (SIZE_EDGES_PX[-1], float("inf"))]


def _size_row(exposure: Exposure, judges: Sequence[Recogniser], low: float, high: float) -> Record:
    return {
        "size": size_label(low),
        "bare": exposure.bare(low, high).as_dict(),
        "recognisable": {
            judge.name: exposure.recognisable(judge.name, low, high).as_dict() for judge in judges
        },
        "identified": {
            judge.name: exposure.identified(judge.name, low, high).as_dict() for judge in judges
        },
    }


def _frames(exposure: Exposure) -> list[Record]:
    """Only frames with something exposed; the others are what should be."""
    rows: dict[int, dict[str, int]] = {}
    for seen in exposure.sightings:
        if seen.is_bare or seen.recognised_by:
            row = rows.setdefault(seen.frame, {"bare": 0, "recognisable": 0})
            row["bare"] += seen.is_bare
            row["recognisable"] += bool(seen.recognised_by)
    return [{"frame": frame, **row} for frame, row in sorted(rows.items())]


def _chains(exposure: Exposure, judges: Sequence[Recogniser]) -> list[Record]:
    rows: dict[int, Record] = {}
    for chain in sorted({seen.chain for seen in exposure.sightings}):
        own = [seen for seen in exposure.sightings if seen.chain == chain]
        rows[chain] = {
            "chain": chain,
            "first_frame": own[0].frame,
            "face_frames": len(own),
            "median_size_px": float(np.median([seen.size_px for seen in own])),
            "bare": sum(seen.is_bare for seen in own),
            "recognisable": {
                judge.name: sum(judge.name in seen.recognised_by for seen in own)
                for judge in judges
            },
        }
    return list(rows.values())


def _tracks(exposure: Exposure, judge: Recogniser) -> Record:
    linkage = link_tracks(exposure, judge)
    return {
        "matched": linkage.matched.as_dict(),
        "rank_1": linkage.rank_1.as_dict(),
        "chance_rank_1": linkage.chance,
        "spread": linkage.spread,
        "spread_of_originals": linkage.original_spread,
    }


def _control(exposure: Exposure, judges: Sequence[Recogniser]) -> Record:
    return {
        "bare": exposure.bare().as_dict(),
        "recognisable": {
            judge.name: exposure.recognisable(judge.name).as_dict() for judge in judges
        },
        "identified": {judge.name: exposure.identified(judge.name).as_dict() for judge in judges},
    }
