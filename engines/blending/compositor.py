"""The one place where a picture becomes fit to leave: every face swapped or covered.

The encoder takes a `Composite` and nothing else, and only this module can make one. There
is no way through it that leaves a known face as it was: whatever is wrong with a patch
leads to a cover, whatever is wrong with a frame to a cover of the whole frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Final, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from engines.blending.covering import cover_faces, covered_region
from engines.blending.covers import DEFAULT_COVER, DEFAULT_MARGIN, Cover
from engines.blending.face_layers import FaceLayers, Laid, PatchLayers
from engines.blending.patches import Patch
from engines.errors import EngineFault
from engines.face.alignment import Similarity, sized_region
from engines.face.sameness import CENTRAL, HARDLY_CHANGED, MOST_ALIKE, likeness
from engines.pictures import Layout, Picture
from engines.types import Box, Frame, Track, TrackState

__all__ = [
    "DEFAULT_MARGIN",
    "Composite",
    "FaceLayers",
    "FaceOutcome",
    "Patch",
    "Similarity",
    "compose",
    "compose_slate",
    "compose_unknown",
    "neighbours",
]

_SLATE_BGR: Final = (60, 47, 40)
_SEAL: Final = object()
_NEARER: Final = 1.15
"""Size of a face over that of a swapped one from which it stands before it. Larger: fewer covers
lie on swapped faces; more faces that stand before others wear a part of theirs."""


@dataclass(frozen=True, slots=True)
class FaceOutcome:
    """What became of one face in one frame.

    Attributes:
        track: id of the track.
        result: `swapped` for a surrogate, `covered` for a cover.
        cause: why it was covered; empty for a swap.
    """

    track: int
    result: Literal["swapped", "covered"]
    cause: str


@dataclass(frozen=True, slots=True)
class Composite:
    """A frame in which no known face is left as it was; made by this module alone.

    Attributes:
        picture: the pixels, now the composite's.
        pts: presentation time in units of `time_base`.
        time_base: seconds per unit of `pts`.
        index: number of the frame in its stream, from 0.
        stream: name of the stream.
        outcomes: one per track, in the order of the tracks.
        is_fully_covered: the whole frame was painted over.
        cause: why it was; empty where it was not.
        duration: for how long it is shown, in units of `time_base`; 0 where not known.
    """

    picture: Picture
    pts: int
    time_base: Fraction
    index: int
    stream: str
    outcomes: tuple[FaceOutcome, ...]
    is_fully_covered: bool
    cause: str
    seal: InitVar[object]
    duration: int = 0

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError(
                "only engines.blending.compositor makes a Composite: call compose, compose_unknown "
                "or compose_slate"
            )

    def __init_subclass__(cls) -> None:
        raise TypeError("Composite cannot be subclassed: a subclass could skip its seal")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Composite is neither copied nor pickled: it has one owner")


def compose(
    frame: Frame,
    tracks: Sequence[Track],
    patches: Mapping[int, Patch | FaceLayers],
    cover: Cover = DEFAULT_COVER,
    causes: Mapping[int, str] | None = None,
    *,
    margin: float = DEFAULT_MARGIN,
) -> Composite:
    """Swaps or covers every face of a frame, in place.

    A track keeps its patch only if its identity is certain and the patch is sound, opaque
    over the identity oval and lies over the face; else it is covered. If anything raises,
    the whole frame is covered.

    Args:
        frame: the decoded picture; its pixels are edited and pass to the composite.
        tracks: every face of the frame.
        patches: surrogates by track id, where there are any, or what is to be laid over the face.
        cover: what to draw over the other faces.
        causes: why a track has no patch, by track id.
        margin: width of a cover over width of the face's box; larger hides more of the
            head, smaller shows more of the scene. At least 1.

    Returns:
        The composite; it owns the frame's picture.

    Raises:
        EngineFault: not even a full cover could be painted (out of memory).
    """
    try:
        layers = {number: _layers_of(one) for number, one in patches.items()}
        outcomes = _edit(frame.picture, tracks, layers, cover, causes or {}, margin)
    except Exception as fault:  # whatever it was, the frame may hold a bare face
        told = str(fault) if isinstance(fault, EngineFault) else type(fault).__name__
        return _fully_covered(frame, f"editing failed: {told}", tracks)
    return _sealed(frame, frame.picture, outcomes)


def compose_unknown(frame: Frame, cause: str) -> Composite:
    """Covers the whole of a frame whose faces are not known.

    Args:
        frame: the decoded picture; painted over in place.
        cause: why its faces are unknown, in a few words without personal data.

    Raises:
        EngineFault: not even a full cover could be painted (out of memory).
    """
    return _fully_covered(frame, cause, ())


def compose_slate(
    height: int,
    width: int,
    *,
    pts: int,
    time_base: Fraction,
    index: int,
    cause: str,
    stream: str = "",
    layout: Layout = "yuv420",
) -> Composite:
    """A full cover where there is no picture at all, such as a live source that went away.

    Args:
        height: rows, px.
        width: columns, px.
        pts: presentation time in units of `time_base`.
        time_base: seconds per unit of `pts`.
        index: number of the frame in its stream.
        cause: why there is no picture, in a few words.
        stream: name of the stream.
        layout: arrangement of the planes to make.

    >>> slate = compose_slate(
    ...     4, 6, pts=0, time_base=Fraction(1, 25), index=0, cause="no signal"
    ... )
    >>> slate.is_fully_covered, slate.picture.width
    (True, 6)
    """
    picture = _blank_picture(height, width, layout, 8)
    picture.fill(_SLATE_BGR)
    frame = Frame(picture, pts, time_base, index, stream)
    return _sealed(frame, picture, (), cause or "no picture")


def _sealed(
    frame: Frame, picture: Picture, outcomes: tuple[FaceOutcome, ...], cause: str = ""
) -> Composite:
    return Composite(
        picture,
        frame.pts,
        frame.time_base,
        frame.index,
        frame.stream,
        outcomes,
        bool(cause),
        cause,
        seal=_SEAL,
        duration=frame.duration,
    )


def _fully_covered(frame: Frame, cause: str, tracks: Sequence[Track]) -> Composite:
    cause = cause or "faces unknown"
    outcomes = tuple(FaceOutcome(track.id, "covered", cause) for track in tracks)
    return _sealed(frame, _painted_over(frame.picture), outcomes, cause)


def _painted_over(picture: Picture) -> Picture:
    """The picture under one colour; a new one where its own planes cannot be written."""
    try:
        picture.fill(_SLATE_BGR)
    except Exception:  # read-only or broken planes: their content must not leave
        try:
            fresh = _blank_picture(picture.height, picture.width, picture.layout, picture.bit_depth)
            fresh.fill(_SLATE_BGR)
        except Exception as fault:
            raise EngineFault("no full cover could be painted; drop the frame") from fault
        return fresh
    return picture


def _blank_picture(height: int, width: int, layout: Layout, bit_depth: int) -> Picture:
    dtype = np.uint8 if bit_depth == 8 else np.uint16
    half = (-(-height // 2), -(-width // 2))
    chroma = {"yuv420": half, "yuv422": (height, half[1]), "yuv444": (height, width)}
    first: tuple[int, ...] = (height, width, 3) if layout == "bgr" else (height, width)
    shapes = [first] + [chroma[layout]] * 2 if layout in chroma else [first]
    planes = tuple(np.zeros(shape, dtype) for shape in shapes)
    return Picture(planes, layout, bit_depth)


def _layers_of(one: Patch | FaceLayers) -> FaceLayers:
    return PatchLayers(one) if isinstance(one, Patch) else one


def _edit(
    picture: Picture,
    tracks: Sequence[Track],
    layers: Mapping[int, FaceLayers],
    cover: Cover,
    causes: Mapping[int, str],
    margin: float,
) -> tuple[FaceOutcome, ...]:
    """Writes patches, covers, and last what is in front of the swapped faces.

    Soft covers of those who stand behind swapped faces come first, see `_behind`; of the others no
    cover is softened by a neighbour's feather.
    """
    others = neighbours(tracks, margin)
    fronts = _foregrounds(picture, others, layers)
    before = {one.id: _centre(picture, one.face.box_px) for one in tracks if one.id in layers}
    behind = _behind(tracks, layers, margin) if cover.is_soft else []
    cover_faces(picture, behind, cover, margin)
    outcomes = []
    to_cover = []
    for track in tracks:
        known = before.get(track.id)
        cause = _swapped_or_cause(picture, track, layers.get(track.id), causes, known)
        if cause and all(track is not one for one in behind):
            to_cover.append(track)
        outcomes.append(FaceOutcome(track.id, "covered" if cause else "swapped", cause))
    cover_faces(picture, to_cover, cover, margin)
    swapped = [one.track for one in outcomes if one.result == "swapped"]
    covered = [*behind, *to_cover]
    _lay_fronts(picture, [fronts.get(number) for number in swapped], covered, margin)
    return tuple(outcomes)


def _behind(
    tracks: Sequence[Track], layers: Mapping[int, FaceLayers], margin: float
) -> list[Track]:
    """Tracks without layers that are behind those with: not found in this frame, or not nearer.

    Of two faces the larger is the nearer one. A cover hides as much where a surrogate lies on it,
    but on a surrogate it is a smear.
    """
    worn = [one for one in tracks if one.id in layers]
    return [
        one
        for one in tracks
        if one.id not in layers
        and (
            one.state is TrackState.EXTENDED
            or not any(_is_before(one, other, margin) for other in worn)
        )
    ]


def _is_before(track: Track, other: Track, margin: float) -> bool:
    """Whether a face is clearly larger than another, which its cover may reach."""
    own, box = (_widened(one.face.box_px, 2 * margin - 1) for one in (track, other))
    is_near = bool((own[:2] < box[2:]).all() and (box[:2] < own[2:]).all())
    return is_near and track.face.size_px > _NEARER * other.face.size_px


def _lay_fronts(
    picture: Picture, fronts: Sequence[Laid | None], covered: Sequence[Track], margin: float
) -> None:
    """Lays what is in front of swapped faces; covers stay as they are.

    It is drawn from the original, and would bring back a covered neighbour's ear or hair.
    """
    laid = [front for front in fronts if front is not None]
    if not laid:
        return
    regions = [covered_region(picture, track, margin) for track in covered]
    kept = [(one[:2], picture.region_bgr(*one).copy()) for one in regions if one is not None]
    for front in laid:
        front.lay(picture)
    for (top, left), pixels in kept:
        picture.overwrite(top, left, pixels)


def _foregrounds(
    picture: Picture, others: Mapping[int, Sequence[Box]], layers: Mapping[int, FaceLayers]
) -> dict[int, Laid | None]:
    """What is in front of faces, from the frame as it came; nothing where that fails."""
    try:
        return {
            number: layers[number].front(picture, beside)
            for number, beside in others.items()
            if number in layers
        }
    except Exception:  # then faces are painted over what hides them, which shows nobody
        return {}


def neighbours(tracks: Sequence[Track], margin: float) -> dict[int, list[Box]]:
    """By track, the boxes of all others, `margin` times as wide and high about their middles."""
    with np.errstate(invalid="ignore"):  # a senseless box is refused where faces are placed
        boxes = {track.id: _widened(track.face.box_px, margin) for track in tracks}
    return {number: [box for other, box in boxes.items() if other != number] for number in boxes}


def _widened(box: Box, margin: float) -> Box:
    middle, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2 * np.float32(margin)
    return np.concatenate([middle - half, middle + half])


def _centre(picture: Picture, box: Box) -> NDArray[np.uint8] | None:
    """A copy of the central half of a face's box, uint8[h, w, 3], or of what is seen of the box.

    None outside the picture.
    """
    region = sized_region(_widened(box, CENTRAL), picture) or sized_region(box, picture)
    return None if region is None else picture.region_bgr(*region)


def _is_the_same(before: NDArray[np.uint8] | None, after: NDArray[np.uint8] | None) -> bool:
    """Whether two pictures of the same place show the same face; where there is none, it counts."""
    return before is None or after is None or likeness(before, after) >= MOST_ALIKE


def _swapped_or_cause(
    picture: Picture,
    track: Track,
    layers: FaceLayers | None,
    causes: Mapping[int, str],
    before: NDArray[np.uint8] | None,
) -> str:
    """Writes the patch and gives an empty string, or says why the face must be covered.

    Args:
        picture: edited in place.
        track: the face.
        layers: what is to be laid over it.
        causes: why tracks have none.
        before: the middle of the face as it was, see `_centre`.
    """
    if track.state is TrackState.DOUBTFUL:
        return "identity in doubt"
    if layers is None:
        return causes.get(track.id, "") or "no surrogate"
    if not track.is_confirmed:
        return causes.get(track.id, "") or "track not confirmed"
    try:
        placed = layers.face(picture, track.face)
        if isinstance(placed, str):
            return placed
        placed.lay(picture)
        if _is_the_same(before, _centre(picture, track.face.box_px)):
            return HARDLY_CHANGED
    except Exception as fault:  # a patch of an unforeseen kind costs one face, not the frame
        return f"patch failed: {type(fault).__name__}"
    return ""
