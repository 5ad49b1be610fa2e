"""What may be chosen in the tracker, and what each choice costs."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.errors import TrackerSettingsRejected

__all__ = ["TrackerSettings"]

_RANGES: dict[str, tuple[float, float]] = {
    "lookahead_frames": (0, 300),
    "high_score": (0.0, 1.0),
    "low_score": (0.0, 1.0),
    "confirm_hits": (1, 100),
    "hold_s": (0.0, 10.0),
    "preroll_s": (0.0, 10.0),
    "sure_hold_s": (0.0, 10.0),
    "weak_hold_s": (0.0, 10.0),
    "weak_gap_s": (0.0, 10.0),
    "unclear_gap_s": (0.0, 10.0),
    "unsearched_s": (0.0, 61.0),
    "evidence_s": (0.0, 60.0),
    "early_score": (0.0, 1.0),
    "min_hold_frames": (1, 100),
    "reach_sizes": (0.5, 10.0),
    "doubt_gap_s": (0.0, 60.0),
    "doubt_margin_s": (0.0, 5.0),
    "doubt_distance": (0.0, 2.0),
    "smooth_s": (0.0, 1.0),
    "growth_per_s": (0.0, 5.0),
    "growth_max": (1.0, 3.0),
    "small_growth_max": (1.0, 3.0),
    "cut_level": (1.0, 255.0),
    "max_faces": (1, 10_000),
    "max_tracks": (1, 100_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSettings:
    """Settings of one stream's tracker.

    Attributes:
        lookahead_frames: frames a result is held back. More: earlier cover before a first
            detection, longer gaps interpolated rather than guessed; costs that many frames
            of delay and of memory.
        high_score: detections from this score confirm tracks and are matched first. Higher:
            fewer surrogates on false alarms; more real faces covered instead of swapped.
        low_score: detections below are ignored. Lower: fewer bare faces; more cover on
            things that are no face.
        confirm_hits: detections before a track is worth a surrogate. More: fewer surrogates
            on false alarms; the first frames of a short track are covered instead.
        hold_s: cover kept after a track's last detection. Longer: turned and half-hidden
            heads stay covered; cover lingers where a face has left.
        preroll_s: cover before a track's first detection, as far as the look-ahead reaches.
        sure_hold_s: the same for a track that is beyond doubt a face, or that stood still:
            it turned away or is hidden rather than gone.
        weak_hold_s: longest cover before and after a track that was never clearly found, where
            every frame was searched. Longer: blurred faces stay covered; so does what is no face.
            A look-ahead that does not show whether it is found again needs `hold_s`.
        weak_gap_s: longest gap between two detections in which such a track is surely there;
            in longer ones it counts as extended, so that a closer look may find that nothing
            is there. Longer: the same.
        unclear_gap_s: the same of a track that was clearly found, but on neither side of the gap,
            or that was hardly ever found. Longer: turned heads stay covered; so do coats that
            heads have moved away from.
        unsearched_s: longest cover before the first detection, or after the last, while no search
            ran that would have found the face. Not below the time between thorough searches.
        min_hold_frames: these, at least this many frames, for low frame rates.
        evidence_s: time from a track's first detection after which too little evidence for a
            face takes its cover away; see `tracker.evidence`. Longer: weak faces stay covered
            until more is known; so does what is no face.
        early_score: until then, a track with this score is covered. Lower: fewer bare faces
            where the look-ahead is shorter than `evidence_s`; more cover on false finds.
        reach_sizes: farthest a face may have moved from where it was expected, in face
            sizes, and still be linked. Larger: fast faces stay linked; more wrong links
            (which are doubtful, so covered).
        doubt_gap_s: longest time unseen after which it is still called the same person.
        doubt_margin_s: frames this close before a doubt began are doubtful too.
        doubt_distance: appearance distance (1 − cosine) from which it is another person.
        smooth_s: half width of the jitter filter's window. Wider: calmer; a fast head is
            followed just as closely, since large deviations pass unfiltered.
        growth_per_s: how fast a guessed box grows, relative to its size, per second away
            from the nearest detection.
        growth_max: largest growth factor of a guessed box.
        small_growth_max: the same of faces below 24 px.
        cut_level: smallest mean grey difference between two frames' thumbnails that may
            be a scene cut. Lower: more cuts found; flashes may end tracks.
        vouch_unknown: let a frame whose detector failed count as known when every track
            in it was seen on both sides. Off: every such frame is covered in full.
        max_faces: detections in one frame beyond which the frame counts as unknown.
        max_tracks: tracks alive beyond which frames count as unknown; bounds the memory.

    Raises:
        TrackerSettingsRejected: a value is out of range, or low_score above high_score.

    >>> TrackerSettings(hold_s=0.5).hold_s
    0.5
    """

    lookahead_frames: int = 10
    high_score: float = 0.5
    low_score: float = 0.2
    confirm_hits: int = 3
    hold_s: float = 0.2
    preroll_s: float = 0.2
    sure_hold_s: float = 0.5
    weak_hold_s: float = 0.2
    weak_gap_s: float = 0.6
    unclear_gap_s: float = 0.3
    unsearched_s: float = 0.6
    min_hold_frames: int = 2
    evidence_s: float = 0.7
    early_score: float = 0.3
    reach_sizes: float = 2.5
    doubt_gap_s: float = 0.8
    doubt_margin_s: float = 0.1
    doubt_distance: float = 0.6
    smooth_s: float = 0.12
    growth_per_s: float = 0.6
    growth_max: float = 1.25
    small_growth_max: float = 1.5
    cut_level: float = 14.0
    vouch_unknown: bool = False
    max_faces: int = 500
    max_tracks: int = 4000

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise TrackerSettingsRejected(
                    f"tracker setting {name} = {getattr(self, name)}: choose {low} to {high}"
                )
        if self.low_score > self.high_score:
            raise TrackerSettingsRejected("tracker setting low_score: choose at most high_score")
