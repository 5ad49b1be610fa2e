"""The exposure of a folder of clips as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.clip_exposure import ClipExposure, FalseAlarm
from evaluation.size_thresholds import SizeThreshold

__all__ = ["exposure_table", "false_alarm_table", "threshold_table"]

Calibrated = Mapping[str, Sequence[SizeThreshold]]
Nominal = Mapping[str, float]

_HEAD = """\
| clip | frames | face-frames | bare | recognisable, nominal | recognisable, calibrated \
| identified | blank picture, nominal | others' covers, nominal |
|---|---|---|---|---|---|---|---|---|"""


def exposure_table(
    clips: Sequence[tuple[str, ClipExposure]],
    nominal: Nominal,
    calibrated: Calibrated,
    alarms: Sequence[FalseAlarm] = (),
) -> str:
    """One row for each clip and tool, and their sum; every figure is the worst recogniser's.

    Args:
        clips: what to call the row, and what was measured.
        nominal: each recogniser's own threshold.
        calibrated: each recogniser's thresholds by size.
        alarms: finds that are no faces; left out of the hits where a second figure is given.
    """
    rows = [_row(name, clip, nominal, calibrated, alarms) for name, clip in clips]
    return "\n".join([_HEAD, *rows])


def _row(
    name: str,
    clip: ClipExposure,
    nominal: Nominal,
    calibrated: Calibrated,
    alarms: Sequence[FalseAlarm],
) -> str:
    total = len(clip.faces)
    own = [
        (len(clip.recognised(judge, one)), len(clip.recognised(judge, one, alarms)))
        for judge, one in nominal.items()
    ]
    fixed = [
        (len(clip.recognised(judge, some)), len(clip.recognised(judge, some, alarms)))
        for judge, some in calibrated.items()
    ]
    bare = (len(clip.bare()), len(clip.bare(alarms)))
    cells = [
        name,
        str(clip.frames) if clip.every == 1 else f"{clip.frames}, 1 in {clip.every}",
        str(total),
        _both(bare),
        _shared(max(own), total),
        _shared(max(fixed), total),
        str(max(clip.identified.values())),
        _worst(clip.blank),
        _worst(clip.strangers),
    ]
    return "| " + " | ".join(cells) + " |"


def _both(counts: tuple[int, int]) -> str:
    """All, and in brackets those that are faces where some are not."""
    everything, faces = counts
    return str(everything) if everything == faces else f"{everything} ({faces})"


def _shared(counts: tuple[int, int], total: int) -> str:
    return f"{_both(counts)} · {counts[0] / max(total, 1):.2%}"


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
    """The finds that are no faces, in words."""
    rows = [f"| {one.clip} | {one.frame} | {one.shows} |" for one in alarms]
    return "\n".join(
        ["| clip | frame | what the detector took for a face |", "|---|---|---|", *rows]
    )
