"""How far an anonymized face moves as its subject does, by how far the head is turned (P7).

A surrogate at rest has its brows, lids and lips elsewhere than the subject. What counts is that
they rise and fall together: each face's mean is taken out of its signals, and what is left of all
faces gives one correlation, and one gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evaluation.expressions import GAZE, SIGNALS

__all__ = ["BANDS_DEG", "Following", "MovementBand", "Side", "bands_of_face", "bands_of_faces"]
__all__ += ["MOVEMENT_HEAD", "row_of_band"]

BANDS_DEG: Final = tuple(pairwise((0, 15, 30, 45, 60, 75)))
"""Yaw without its sign."""
MOVEMENT_HEAD: Final = (
    "| yaw | face-frames | pose (floor) | landmarks (floor) | gaze (floor) "
    "| lids: r · gain (floor) | mouth | smile | brows |\n|---|---|---|---|---|---|---|---|---|\n"
    "| wanted | | ≤ 5° | ≤ 6 % | ≤ 8° | ≥ 0.9 | ≥ 0.9 | | |"
)

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Following:
    """Sums over frames of two signals whose means were taken out; sums of several add up.

    Attributes:
        both: of their products.
        before: of the original's square.
        after: of the anonymized one's square.
    """

    both: float = 0.0
    before: float = 0.0
    after: float = 0.0

    def __add__(self, other: Following) -> Following:
        return Following(
            self.both + other.both, self.before + other.before, self.after + other.after
        )

    @property
    def correlation(self) -> float:
        """-1…1; NaN where one does not move at all."""
        size = float(np.sqrt(self.before * self.after))
        return self.both / size if size > 0 else float("nan")

    @property
    def gain(self) -> float:
        """How far one goes where the other goes by 1; NaN where that does not move."""
        return self.both / self.before if self.before > 0 else float("nan")


@dataclass(frozen=True, slots=True)
class MovementBand:
    """Figures of the frames in which heads are turned so far; bands of several faces add up.

    Attributes:
        frames: how many.
        errors: sum over frames of pose (degrees), landmarks (shares of the eyes' distance) and
            gaze (degrees), and of their floors, where they were measured.
        following: by signal, of the anonymized face.
        floor: by signal, of a jittered crop of the original.
    """

    frames: int = 0
    errors: Mapping[str, float] = field(default_factory=dict)
    following: Mapping[str, Following] = field(default_factory=dict)
    floor: Mapping[str, Following] = field(default_factory=dict)

    def __add__(self, other: MovementBand) -> MovementBand:
        return MovementBand(
            self.frames + other.frames,
            {
                name: self.errors.get(name, 0.0) + other.errors.get(name, 0.0)
                for name in {**self.errors, **other.errors}
            },
            _summed(self.following, other.following),
            _summed(self.floor, other.floor),
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> MovementBand:
        """Bands as a JSON report has them, by `dataclasses.asdict`."""
        following, floor = (
            {name: Following(**one) for name, one in record[side].items()}
            for side in ("following", "floor")
        )
        return cls(record["frames"], record["errors"], following, floor)

    def mean(self, name: str) -> float:
        """Mean of an error over the frames; NaN unmeasured."""
        is_known = self.frames > 0 and name in self.errors
        return self.errors[name] / self.frames if is_known else float("nan")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison with the original, of one face in N frames.

    Attributes:
        errors: by name, float32[N] against the original.
        signals: as of `expressions_of`.
    """

    errors: Mapping[str, Float32]
    signals: Mapping[str, Float32]


def bands_of_face(
    yaw_deg: Float32, original: Mapping[str, Float32], after: Side, floor: Side
) -> list[MovementBand]:
    """Figures of one face, for each of `BANDS_DEG`.

    Args:
        yaw_deg: float32[N] of the original.
        original: signals of the original.
        after: of the anonymized face.
        floor: of a jittered crop of the original.
    """
    errors = {**after.errors} | {f"{name} floor": one for name, one in floor.errors.items()}
    for side, name in ((after, GAZE), (floor, f"{GAZE} floor")):
        if GAZE in original:
            errors[name] = np.linalg.norm(original[GAZE] - side.signals[GAZE], axis=1)
    turned = np.abs(yaw_deg)
    bands = [(turned >= low) & (turned < high) for low, high in BANDS_DEG]
    return [
        MovementBand(
            int(band.sum()),
            {name: float(one[band].sum()) for name, one in errors.items()},
            _followings(original, after.signals, band),
            _followings(original, floor.signals, band),
        )
        for band in bands
    ]


def bands_of_faces(faces: Iterable[Sequence[MovementBand]]) -> list[MovementBand]:
    """The bands of several faces, or clips, added up."""
    made = [MovementBand() for _ in BANDS_DEG]
    for bands in faces:
        made = [mine + theirs for mine, theirs in zip(made, bands, strict=True)]
    return made


def row_of_band(name: str, band: MovementBand) -> str:
    """A line of the table below `MOVEMENT_HEAD`."""

    def error(key: str, form: str, unit: str = "") -> str:
        own, least = band.mean(key), band.mean(f"{key} floor")
        return f"{own:{form}}{unit} ({least:{form}}{unit})" if np.isfinite(own) else "–"

    def follows(key: str) -> str:
        own = band.following.get(key, Following())
        if not np.isfinite(own.correlation):
            return "–"
        return f"{own.correlation:.2f} · {own.gain:.2f} ({band.floor[key].correlation:.2f})"

    told = [error("pose", ".1f", "°"), error("landmarks", ".1%"), error(GAZE, ".1f", "°")]
    told += [follows(key) for key in SIGNALS]
    return f"| {name} | {band.frames} | " + " | ".join(told) + " |"


def _followings(
    before: Mapping[str, Float32], after: Mapping[str, Float32], band: NDArray[np.bool_]
) -> dict[str, Following]:
    found = {}
    for name in SIGNALS:
        if name in before and name in after:
            first, second = (one[name] - one[name].mean() for one in (before, after))
            first, second = first[band], second[band]
            sums = (first @ second, first @ first, second @ second)
            found[name] = Following(*(float(one) for one in sums))
    return found


def _summed(one: Mapping[str, Following], other: Mapping[str, Following]) -> dict[str, Following]:
    none = Following()
    return {name: one.get(name, none) + other.get(name, none) for name in {**one, **other}}
