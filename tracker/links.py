"""One frame's links between tracks and detections, each with its doubts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.face.glance import Glance, likeness
from engines.types import Face
from tracker.association import Matches, Prices, associate, price
from tracker.doubt import Looks, exchangeable, has_moved_away, has_resized
from tracker.motion import Motion, spread_sizes, unseen_log_spread
from tracker.settings import TrackerSettings
from tracker.trajectory import Trajectory

__all__ = ["Link", "Links", "link"]

_NEAR_SIZES = 2.5
"""Distance, in sizes, from which on nobody is mistaken for another in the next frame."""
_FRESH_S = 0.25
"""Age up to which a glance still tells what the face looks like."""
_REACH_S = 0.04
_REACH_GROWTH = 2.0
"""The reach holds for 40 ms and doubles for twice that and more."""


@dataclass(frozen=True, slots=True)
class Link:
    """A detection that continues a track, or may.

    Attributes:
        row: of the track.
        column: of the detection.
        is_away: so far from where the track was expected that it may be another face.
        is_resized: its size changed faster than a head can.
        is_unlike: away, hardly found, and not alike: something else, not a face that jumped.
    """

    row: int
    column: int
    is_away: bool
    is_resized: bool
    is_unlike: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """Outcome of one frame.

    Attributes:
        links: every track and every detection at most once.
        crossing: rows of the tracks whose identity could be exchanged with another's,
            linked or not.
        free: columns of the detections that are linked to no track.
        glances: by column, of the detections that others are near.
        agreement: how well the tracks' motion told the detections; 1 for each track told
            exactly, 0 for one that is a size off.
    """

    links: tuple[Link, ...]
    crossing: frozenset[int]
    free: tuple[int, ...]
    agreement: float
    glances: dict[int, Glance]


def link(
    trajectories: Sequence[Trajectory],
    motion: Motion,
    time_s: float,
    scene: int,
    faces: Sequence[Face],
    settings: TrackerSettings,
    look: Callable[[Face], Glance | None] | None = None,
) -> Links:
    """Link one frame's detections to the tracks of its scene.

    Args:
        trajectories: the tracks.
        motion: one row for each track, at the frame's time.
        time_s: the frame's time.
        scene: number of its scene; tracks of other scenes take no part.
        faces: detections with finite boxes.
        settings: scores and reach.
        look: takes a glance at a detection; without it places alone tell who it is.
    """
    rows = np.array(
        [row for row, t in enumerate(trajectories) if t.scene == scene and not t.is_bridge],
        dtype=np.intp,
    )
    chosen = [trajectories[row] for row in rows]
    active = Motion(motion.mean[rows], motion.spread[rows])
    boxes = np.array([face.box_px for face in faces], dtype=np.float64).reshape(-1, 4)
    scores = np.array([face.score for face in faces], dtype=np.float64)
    is_strong = np.array([t.best_score >= settings.high_score for t in chosen], dtype=bool)
    has_past = np.array([t.hits >= 2 for t in chosen], dtype=bool)
    prices = price(active.boxes_px, boxes)
    matches = associate(
        prices,
        spread_sizes(active),
        scores,
        high_score=settings.high_score,
        reach_sizes=_reach(chosen, time_s, settings),
    )
    is_away = has_moved_away(prices, matches)
    is_clear = scores >= settings.high_score
    trusted = ~is_away | is_strong[matches.tracks] | is_clear[matches.faces]
    matches, is_away = _where(matches, trusted), is_away[trusted]
    glances = {} if look is None else _glances(prices, faces, look)
    looks = _looks(chosen, time_s, len(faces), glances)
    crossing = exchangeable(prices, matches, is_strong & has_past, is_clear, looks)
    is_unlike = is_away & ~is_clear[matches.faces] & looks.are_unlike(matches)
    is_resized = has_resized(prices, matches, unseen_log_spread(active))
    return Links(
        tuple(
            Link(int(rows[track]), int(face), bool(away), bool(resized), bool(unlike))
            for track, face, away, resized, unlike in zip(
                matches.tracks, matches.faces, is_away, is_resized, is_unlike, strict=True
            )
        ),
        frozenset(rows[crossing].tolist()),
        tuple(np.setdiff1d(np.arange(len(faces)), matches.faces).tolist()),
        float(np.maximum(1.0 - prices.unlikeness[matches.tracks, matches.faces], 0.0).sum()),
        glances,
    )


def _glances(
    prices: Prices, faces: Sequence[Face], look: Callable[[Face], Glance | None]
) -> dict[int, Glance]:
    """Glances at the detections that several tracks, or a track with a second face, are near."""
    is_near = prices.distance <= _NEAR_SIZES
    wanted = (is_near.sum(axis=0) > 1) | is_near[is_near.sum(axis=1) > 1].any(axis=0)
    seen = {column: look(faces[column]) for column in np.flatnonzero(wanted).tolist()}
    return {column: glance for column, glance in seen.items() if glance is not None}


def _looks(
    chosen: Sequence[Trajectory], time_s: float, faces: int, glances: Mapping[int, Glance]
) -> Looks:
    """How alike each face looks to what each track looked like last."""
    looks = Looks.unknown(len(chosen), faces)
    looks.is_fresh[:] = [time_s - trajectory.last.time_s <= _FRESH_S for trajectory in chosen]
    rows = [row for row, trajectory in enumerate(chosen) if trajectory.glance is not None]
    known = [one.glance for one in chosen if one.glance is not None]
    if known and glances:
        found = likeness(known, list(glances.values()))
        looks.alike[np.ix_(rows, list(glances))] = found
    return looks


def _where(matches: Matches, keep: NDArray[np.bool_]) -> Matches:
    return Matches(matches.tracks[keep], matches.faces[keep], matches.is_jump[keep])


def _reach(
    chosen: Sequence[Trajectory], time_s: float, settings: TrackerSettings
) -> NDArray[np.float64]:
    """(T,) sizes within which a track may be linked; wider when it was unseen."""
    unseen_s = np.array([time_s - trajectory.last.time_s for trajectory in chosen])
    return settings.reach_sizes * np.clip(unseen_s / _REACH_S, 1.0, _REACH_GROWTH)
