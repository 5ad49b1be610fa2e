"""What the project promises of a swapped clip, beside what was measured of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from evaluation.clip_quality import QualityFigures
from evaluation.expressions import GAZE
from evaluation.movement import MovementBand

__all__ = ["ClipGoal", "goals_of_clip", "goals_record"]

LEAST_REDETECTED = 0.99
MOST_RECOGNISED = 0.005
MOST_POSE_DEG = 5.0
MOST_LANDMARK = 0.06
MOST_VARIANCE = 0.002
MOST_WARP = 1.3
MOST_FLICKER = 1.3
MOST_GAZE_DEG = 8.0
LEAST_CORRELATION = 0.9


@dataclass(frozen=True, slots=True)
class ClipGoal:
    """One promise.

    Attributes:
        text: what was measured, with its noise floor.
        measured: the figure.
        limit: the most it may be; for a share that must be large, the least.
        is_met: whether it is kept.
    """

    text: str
    measured: float
    limit: float
    is_met: bool


def goals_of_clip(figures: QualityFigures) -> list[ClipGoal]:
    """The goals of every figure that was measured, in the order of the report."""
    geometry, steady = figures.geometry, figures.steadiness
    goals = []
    if figures.redetected.probes:
        rate = figures.redetected.rate
        covered = figures.covered.rate
        text = f"painted faces detected again ({covered:.1%} of all are covered)"
        goals.append(ClipGoal(text, rate, LEAST_REDETECTED, rate >= LEAST_REDETECTED))
    if figures.recognised:
        name = max(figures.recognised, key=lambda one: figures.recognised[one].rate)
        goals.append(
            _most(
                f"taken for the original by {name}", figures.recognised[name].rate, MOST_RECOGNISED
            )
        )
    text = (
        f"pose error, degrees (floor {geometry.pose_floor_deg:.1f}; own face in these "
        f"surroundings {geometry.pose_surroundings_deg:.1f})"
    )
    goals.append(_most(text, geometry.pose_error_deg, MOST_POSE_DEG))
    text = (
        f"landmark error, share of the eyes' distance (floor {geometry.landmark_floor:.3f}; "
        f"without the surrogate's own face at rest {geometry.landmark_movement:.3f})"
    )
    goals.append(_most(text, geometry.landmark_error, MOST_LANDMARK))
    constancy = {name: one for name, one in figures.constancy.items() if one.tracks}
    if constancy:
        name = max(constancy, key=lambda one: constancy[one].variance)
        worst = constancy[name]
        text = f"identity variance by {name} (original {worst.original_variance:.4f})"
        goals.append(_most(text, worst.variance, MOST_VARIANCE))
    text = f"warp error ÷ original (trembling {steady.jitter:.2f})"
    goals.append(_most(text, steady.warp_error, MOST_WARP))
    goals.append(_most("flicker ÷ original", steady.flicker, MOST_FLICKER))
    goals += _movement_goals(sum(figures.movement, MovementBand()))
    return [goal for goal in goals if np.isfinite(goal.measured)]


def _movement_goals(band: MovementBand) -> list[ClipGoal]:
    text = f"gaze error, degrees (floor {band.mean(f'{GAZE} floor'):.1f})"
    goals = [_most(text, band.mean(GAZE), MOST_GAZE_DEG)]
    for name in ("lids", "mouth"):
        if name in band.following:
            found, floor = band.following[name].correlation, band.floor[name].correlation
            text = f"correlation of the gap of the {name} with the original's (floor {floor:.2f})"
            goals.append(ClipGoal(text, found, LEAST_CORRELATION, found >= LEAST_CORRELATION))
    return goals


def goals_record(figures: QualityFigures) -> list[dict[str, object]]:
    """The same for a JSON report."""
    return [asdict(goal) for goal in goals_of_clip(figures)]


def _most(text: str, measured: float, limit: float) -> ClipGoal:
    return ClipGoal(text, measured, limit, measured <= limit)
