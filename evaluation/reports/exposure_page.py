"""The exposure of a folder of clips as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.clip_exposure import ClipExposure, FalseAlarm
from evaluation.size_thresholds import SizeThreshold

__all__ = ["exposure_table", "false_alarm_table", "threshold_table"]

Calibrated = Mapping[str, Sequence[SizeThreshold]]
Nominal = Mapping[str, float]

_HEAD = """\
| clip | frames | face-frames | bare | recognisable, nominal | recognisable, calibrated \
| identified, with surroundings | identified | blank picture, nominal | others' covers, nominal |
|---|---|---|---|---|---|---|---|---|---|"""


def exposure_table(
    clips: Sequence[tuple[str, ClipExposure]],
    nominal: Nominal,
    calibrated: Calibrated,
    alarms: Sequence[FalseAlarm] = (),
) -> str:
    """One row for each clip and tool, then the sum; every figure is the worse recogniser's.

    Args:
        clips: what to call the row, and what was measured. Rows called as their clip add up.
        nominal: each recogniser's own threshold.
        calibrated: each recogniser's thresholds by size.
        alarms: finds that are no faces; where there are any, a second figure in brackets is
            without them, and so is every share.
    """
    rows, total = [], _Counts()
    for name, clip in clips:
        counts = _counts(clip, nominal, calibrated, alarms)
        rows.append(_row(name, clip, counts))
        if name == clip.clip:
            total = total.with_more(counts)
    if total.clips > 1:
        rows.append(_sum_row(total))
    return "\n".join([_HEAD, *rows])


_Pair = tuple[int, int]
"""With the finds that are no faces, and without."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts of one or more clips, by recogniser where it matters who judges."""

    clips: int = 0
    frames: int = 0
    faces: _Pair = (0, 0)
    bare: _Pair = (0, 0)
    nominal: Mapping[str, _Pair] = field(default_factory=dict)
    calibrated: Mapping[str, _Pair] = field(default_factory=dict)
    with_surroundings: Mapping[str, _Pair] = field(default_factory=dict)
    identified: Mapping[str, _Pair] = field(default_factory=dict)

    def with_more(self, other: _Counts) -> _Counts:
        """The sum."""
        return _Counts(
            self.clips + other.clips,
            self.frames + other.frames,
            _added(self.faces, other.faces),
            _added(self.bare, other.bare),
            _added_by_judge(self.nominal, other.nominal),
            _added_by_judge(self.calibrated, other.calibrated),
            _added_by_judge(self.with_surroundings, other.with_surroundings),
            _added_by_judge(self.identified, other.identified),
        )


def _counts(
    clip: ClipExposure, nominal: Nominal, calibrated: Calibrated, alarms: Sequence[FalseAlarm]
) -> _Counts:
    real = clip.without(alarms)
    return _Counts(
        1,
        clip.frames,
        (len(clip.faces), len(real.faces)),
        (len(clip.bare()), len(real.bare())),
        {
            judge: (len(clip.recognised(judge, one)), len(real.recognised(judge, one)))
            for judge, one in nominal.items()
        },
        {
            judge: (len(clip.recognised(judge, some)), len(real.recognised(judge, some)))
            for judge, some in calibrated.items()
        },
        {
            judge: (
                len(clip.identified_with_surroundings(judge)),
                len(real.identified_with_surroundings(judge)),
            )
            for judge in nominal
        },
        {judge: (len(clip.identified(judge)), len(real.identified(judge))) for judge in nominal},
    )


def _row(name: str, clip: ClipExposure, counts: _Counts) -> str:
    frames = str(clip.frames) if clip.every == 1 else f"{clip.frames}, 1 in {clip.every}"
    return _line([name, frames, *_cells(counts), _worst(clip.blank), _worst(clip.strangers)])


def _sum_row(total: _Counts) -> str:
    return _line([f"all {total.clips}, kveil", str(total.frames), *_cells(total), "", ""])


def _cells(counts: _Counts) -> list[str]:
    by_judge = (counts.nominal, counts.calibrated, counts.with_surroundings, counts.identified)
    shared = [_shared(max(pairs.values()), counts.faces[1]) for pairs in by_judge]
    return [_both(counts.faces), _both(counts.bare), *shared]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _added(first: _Pair, second: _Pair) -> _Pair:
    return first[0] + second[0], first[1] + second[1]


def _added_by_judge(first: Mapping[str, _Pair], second: Mapping[str, _Pair]) -> dict[str, _Pair]:
    return {judge: _added(first.get(judge, (0, 0)), pair) for judge, pair in second.items()}


def _both(counts: _Pair) -> str:
    """All, and in brackets those that are faces where some are not."""
    everything, faces = counts
    return str(everything) if everything == faces else f"{everything} ({faces})"


def _shared(counts: _Pair, faces: int) -> str:
    return f"{_both(counts)} · {counts[1] / max(faces, 1):.2%}"


def _worst(pairs: Mapping[str, tuple[int, int]]) -> str:
    rates = [hits / probes for hits, probes in pairs.values() if probes]
    return f"{max(rates):.0%}" if rates else "–"


def threshold_table(nominal: Nominal, calibrated: Calibrated) -> str:
    """The thresholds by size, the pairs they come from, and the false matches of the own one."""
    rows = [
        "| recogniser | faces | different people: pairs (chains) | nominal threshold "
        "| its false match rate | calibrated threshold |",
        "|---|---|---|---|---|---|",
    ]
    for judge, some in calibrated.items():
        for one in some:
            most = f"{one.least_px:g}–{one.most_px:g} px"
            size = f"{one.least_px:g} px and more" if one.most_px == float("inf") else most
            value = f"{one.value:.3f}" if one.is_calibrated else "too few: nominal"
            rows.append(
                f"| {judge} | {size} | {one.pairs:,} ({one.chains}) | {nominal[judge]:.2f} "
                f"| {one.own_fmr:.1%} | {value} |"
            )
    return "\n".join(rows)


def false_alarm_table(alarms: Sequence[FalseAlarm]) -> str:
    """The finds that are no faces, in words; those that show the same in one row."""
    frames: dict[tuple[str, str], list[str]] = {}
    for one in alarms:
        frames.setdefault((one.clip, one.shows), []).append(str(one.frame))
    rows = [_line([clip, ", ".join(some), shows]) for (clip, shows), some in frames.items()]
    return "\n".join(
        ["| clip | frames | what the detector took for a face |", "|---|---|---|", *rows]
    )
