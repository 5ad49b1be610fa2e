from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.blending import compositor
from engines.blending.compositor import Composite, Patch, compose, compose_slate, compose_unknown
from engines.blending.covers import COVERS, DEFAULT_COVER, NamedCover
from engines.blending.patches import identity_mask_of
from engines.face.alignment import (
    IDENTITY_AXES,
    IDENTITY_CENTRE,
    crop_from_picture,
    identity_mask,
    inverse_of,
    kveil_from_landmarks,
    moved,
)
from engines.pictures import BgrImage, Layout, Picture, Plane, picture_from_bgr
from engines.types import Box, Face, Frame, Landmarks, Track, TrackState
from tests.engines.stylegan.faces import identities

pytestmark = pytest.mark.unit

BASE = Fraction(1, 25)
ROOMS = ("kveil", "config", "engines", "tracker", "gallery", "stream", "evaluation", "training")
REPOSITORY = Path(compositor.__file__).parents[2]


def noise(height: int, width: int, seed: int = 0) -> BgrImage:
    """Smooth random colours, so that chroma survives subsampling."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def yuv_picture(height: int, width: int, layout: Layout = "yuv420", depth: int = 8) -> Picture:
    rng = np.random.default_rng(1)
    chroma = {
        "yuv420": (-(-height // 2), -(-width // 2)),
        "yuv422": (height, -(-width // 2)),
        "yuv444": (height, width),
    }
    shapes = [(height, width)] + [chroma[layout]] * 2 if layout in chroma else [(height, width)]
    values = [rng.integers(40, 200, shape) << (depth - 8) for shape in shapes]
    planes: tuple[Plane, ...] = tuple(value.astype(np.uint16) for value in values)
    if depth == 8:
        planes = tuple(value.astype(np.uint8) for value in values)
    return Picture(planes, layout, depth)


def frame_of(picture: Picture) -> Frame:
    return Frame(picture, 7, BASE, 3, "gate")


def face_at(x: float, y: float, side: float) -> Face:
    """An upright face whose box is as wide as the kveil crop's oval."""
    crop = side / (2 * IDENTITY_AXES[0])
    left, top = x - IDENTITY_CENTRE[0] * crop, y - IDENTITY_CENTRE[1] * crop
    parts = np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.78], [0.64, 0.78]])
    landmarks = (np.array([left, top]) + parts * crop).astype(np.float32)
    half_x, half_y = side / 2, side / 2 * IDENTITY_AXES[1] / IDENTITY_AXES[0]
    box = np.array([x - half_x, y - half_y, x + half_x, y + half_y], np.float32)
    return Face(box, landmarks, 0.9)


def track_of(
    face: Face,
    number: int = 1,
    state: TrackState = TrackState.DETECTED,
    is_confirmed: bool = True,
) -> Track:
    return Track(number, face, state, 5, is_confirmed)


def patch_for(face: Face, size: int = 64, colour: tuple[int, int, int] = (10, 250, 20)) -> Patch:
    pixels = np.broadcast_to(np.array(colour, np.float32), (size, size, 3)).copy()
    pixels[::2] -= 8
    feather = cv2.GaussianBlur(identity_mask(size).astype(np.float32), (0, 0), size / 40)
    alpha = feather.astype(np.float32)
    alpha[identity_mask(size)] = 1
    return Patch(pixels, alpha, kveil_from_landmarks(face.landmarks_px, size))


def centre_difference(before: BgrImage, after: BgrImage, box: Box) -> float:
    x0, y0, x1, y1 = (float(value) for value in box)
    rows = slice(int(y0 + (y1 - y0) / 4), int(y1 - (y1 - y0) / 4))
    columns = slice(int(x0 + (x1 - x0) / 4), int(x1 - (x1 - x0) / 4))
    difference = before[rows, columns].astype(int) - after[rows, columns].astype(int)
    return float(np.abs(difference).mean())


def test_composite_made_elsewhere_raises() -> None:
    picture = picture_from_bgr(noise(8, 8))
    with pytest.raises(TypeError, match=r"only engines\.blending\.compositor"):
        Composite(picture, 0, BASE, 0, "", (), False, "", seal=object())
    with pytest.raises(TypeError):
        Composite(picture, 0, BASE, 0, "", (), False, "")  # type: ignore[call-arg]


def test_composite_copied_or_derived_raises() -> None:
    made = compose_unknown(frame_of(picture_from_bgr(noise(8, 8))), "cause")
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(made, index=9)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="neither copied"):
        copy.copy(made)
    with pytest.raises(TypeError, match="neither copied"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="subclassed"):
        type("Loose", (Composite,), {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.cause = ""  # type: ignore[misc]


def test_no_other_module_knows_the_seal_or_makes_composites() -> None:
    sources = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py")]
    assert len(sources) > 5
    for path in sources:
        if path == Path(compositor.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            assert "_SEAL" not in names, where
            if isinstance(node, ast.Attribute):
                assert node.attr != "_SEAL", where
            if isinstance(node, ast.Constant):
                assert node.value != "_SEAL", where
            if isinstance(node, ast.Call):
                called = node.func
                name = getattr(called, "id", getattr(called, "attr", ""))
                assert name != "Composite", where


@pytest.mark.parametrize("layout", ["yuv420", "yuv422", "yuv444", "gray"])
@pytest.mark.parametrize("depth", [8, 10])
def test_track_without_patch_is_covered_in_every_layout(layout: Layout, depth: int) -> None:
    picture = yuv_picture(121, 163, layout, depth)
    before = picture.bgr()
    face = face_at(80, 60, 40)
    made = compose(frame_of(picture), [track_of(face)], {}, DEFAULT_COVER, {1: "engine late"})
    assert [(o.track, o.result, o.cause) for o in made.outcomes] == [(1, "covered", "engine late")]
    assert not made.is_fully_covered
    assert centre_difference(before, made.picture.bgr(), face.box_px) >= 32
    outside = before[:, 120:].astype(int) - made.picture.bgr()[:, 120:].astype(int)
    assert not outside.any()


def test_time_and_name_pass_through() -> None:
    made = compose(frame_of(yuv_picture(20, 20)), [], {})
    assert (made.pts, made.time_base, made.index, made.stream) == (7, BASE, 3, "gate")
    assert made.outcomes == ()
    assert made.cause == ""


@pytest.mark.parametrize("side", [9, 24, 90, 300])
@pytest.mark.parametrize("angle", [0.0, 0.4, -1.2])
def test_sound_patch_replaces_the_identity_oval_entirely(side: float, angle: float) -> None:
    face = face_at(200.3, 190.7, side)
    turn = cv2.getRotationMatrix2D((200.3, 190.7), np.degrees(angle), 1.0)
    landmarks = (face.landmarks_px @ turn[:, :2].T + turn[:, 2]).astype(np.float32)
    face = Face(face.box_px, landmarks, 0.9)
    patch = patch_for(face, 128)
    results = []
    for value in (0, 255):
        picture = picture_from_bgr(np.full((400, 420, 3), value, np.uint8))
        made = compose(frame_of(picture), [track_of(face)], {1: patch})
        assert made.outcomes[0].result == "swapped"
        assert made.outcomes[0].cause == ""
        results.append(made.picture.bgr().astype(int))
    x, y = np.meshgrid(np.arange(420) + 0.5, np.arange(400) + 0.5)
    points = np.stack([x, y], -1) @ patch.crop_from_frame[:, :2].T + patch.crop_from_frame[:, 2]
    offset = (points / 128 - IDENTITY_CENTRE) / IDENTITY_AXES
    inside = (offset**2).sum(-1) <= 1
    assert inside.sum() > side
    # The same output over black and over white: not a trace of the original is left.
    assert np.abs(results[0] - results[1])[inside].max() == 0


@pytest.mark.parametrize("side", [24, 90, 300])
def test_sound_patch_replaces_its_own_identity_outline_entirely(side: float) -> None:
    """A face that is longer and narrower than the average one."""
    face = face_at(200.3, 190.7, side)
    identity = (identities(1, 1.0)[0] - IDENTITY_CENTRE) * (0.9, 1.1) + IDENTITY_CENTRE
    patch = dataclasses.replace(patch_for(face, 128), identity=identity.astype(np.float32))
    alpha = np.maximum(patch.alpha, identity_mask_of(patch, 128)).astype(np.float32)
    patch = dataclasses.replace(patch, alpha=alpha)
    results = []
    for value in (0, 255):
        picture = picture_from_bgr(np.full((400, 420, 3), value, np.uint8))
        made = compose(frame_of(picture), [track_of(face)], {1: patch})
        assert made.outcomes[0].result == "swapped"
        results.append(made.picture.bgr().astype(int))
    corners = moved(inverse_of(patch.crop_from_frame), 128 * identity) - 0.5
    inside = np.zeros((400, 420), np.uint8)
    cv2.fillConvexPoly(inside, np.round(corners).astype(np.int32), 1)
    assert inside.sum() > side
    assert np.abs(results[0] - results[1])[inside > 0].max() == 0


def test_sound_patch_leaves_no_colour_behind_in_subsampled_planes() -> None:
    face = face_at(100.4, 99.6, 70)
    results = []
    for luma, chroma in ((16, 60), (235, 200)):
        planes = (
            np.full((201, 203), luma, np.uint8),
            np.full((101, 102), chroma, np.uint8),
            np.full((101, 102), chroma, np.uint8),
        )
        picture = Picture(planes, "yuv420")
        made = compose(frame_of(picture), [track_of(face)], {1: patch_for(face)})
        assert made.outcomes[0].result == "swapped"
        results.append([plane.astype(int) for plane in made.picture.planes])
    x, y = np.meshgrid(np.arange(203) + 0.5, np.arange(201) + 0.5)
    points = np.stack([x, y], -1)
    crop_from_frame = patch_for(face).crop_from_frame
    points = points @ crop_from_frame[:, :2].T + crop_from_frame[:, 2]
    inside = (((points / 64 - IDENTITY_CENTRE) / IDENTITY_AXES) ** 2).sum(-1) <= 1
    assert np.abs(results[0][0] - results[1][0])[inside].max() == 0
    rows, columns = np.nonzero(inside)
    for first, second in zip(results[0][1:], results[1][1:], strict=True):
        assert np.abs(first - second)[rows // 2, columns // 2].max() == 0


def blanked(patch: Patch) -> Patch:
    return dataclasses.replace(patch, pixels=np.full_like(patch.pixels, 90))


def with_nan(patch: Patch) -> Patch:
    pixels = patch.pixels.copy()
    pixels[3, 3, 1] = np.nan
    return dataclasses.replace(patch, pixels=pixels)


def with_infinite_alpha(patch: Patch) -> Patch:
    return dataclasses.replace(patch, alpha=np.full_like(patch.alpha, np.inf))


def with_hole(patch: Patch) -> Patch:
    alpha = patch.alpha.copy()
    alpha[32, 32] = 0.5
    return dataclasses.replace(patch, alpha=alpha)


def misshapen(patch: Patch) -> Patch:
    return dataclasses.replace(patch, pixels=patch.pixels[:, :-1])


def grey(patch: Patch) -> Patch:
    return dataclasses.replace(patch, pixels=patch.pixels[..., 0])


def misplaced(patch: Patch) -> Patch:
    away = patch.crop_from_frame.copy()
    away[0, 2] += 30
    return dataclasses.replace(patch, crop_from_frame=away)


def sheared(patch: Patch) -> Patch:
    skewed = patch.crop_from_frame.copy()
    skewed[0, 1] += 0.5
    return dataclasses.replace(patch, crop_from_frame=skewed)


def unplaced(patch: Patch) -> Patch:
    return dataclasses.replace(patch, crop_from_frame=np.full((2, 3), np.nan, np.float32))


def collapsed(patch: Patch) -> Patch:
    return dataclasses.replace(patch, crop_from_frame=np.zeros((2, 3), np.float32))


def with_hole_in_identity(patch: Patch) -> Patch:
    """Opaque on an average face, but this face's chin lies lower."""
    return dataclasses.replace(patch, identity=identities(1, 1.12)[0])


def with_hole_between_eyes(patch: Patch) -> Patch:
    """Its identity outline is elsewhere, so that only the face's landmarks tell."""
    alpha = patch.alpha.copy()
    size = len(alpha)
    alpha[round(0.36 * size) : round(0.39 * size), round(0.45 * size) : round(0.55 * size)] = 0.5
    away = np.array([[0.4, 0.6], [0.6, 0.6], [0.5, 0.7]], np.float32)
    return dataclasses.replace(patch, alpha=alpha, identity=away)


def without_identity(patch: Patch) -> Patch:
    return dataclasses.replace(patch, identity=identities(1)[0][:2])


def with_senseless_identity(patch: Patch) -> Patch:
    return dataclasses.replace(patch, identity=np.full((5, 2), np.nan, np.float32))


def without_arrays(patch: Patch) -> Patch:
    return Patch(None, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (blanked, "blank"),
        (with_nan, "not finite"),
        (with_infinite_alpha, "not finite"),
        (with_hole, "not opaque"),
        (with_hole_in_identity, "not opaque"),
        (without_identity, "no proper identity"),
        (with_senseless_identity, "no proper identity"),
        (misshapen, "wrong shape"),
        (grey, "wrong shape"),
        (misplaced, "does not lie over"),
        (with_hole_between_eyes, "does not lie over"),
        (sheared, "similarity"),
        (unplaced, "similarity"),
        (collapsed, "similarity"),
        (without_arrays, "patch failed"),
    ],
)
def test_defective_patch_is_replaced_by_a_cover(spoil: object, cause: str) -> None:
    assert callable(spoil)
    face = face_at(100, 100, 60)
    picture = yuv_picture(200, 200)
    before = picture.bgr()
    made = compose(frame_of(picture), [track_of(face)], {1: spoil(patch_for(face))})
    assert made.outcomes[0].result == "covered"
    assert cause in made.outcomes[0].cause
    assert centre_difference(before, made.picture.bgr(), face.box_px) >= 32


@pytest.mark.parametrize(
    ("track", "cause"),
    [
        (track_of(face_at(100, 100, 60), state=TrackState.DOUBTFUL), "identity in doubt"),
        (track_of(face_at(100, 100, 60), is_confirmed=False), "track not confirmed"),
    ],
)
def test_uncertain_track_is_covered_despite_its_patch(track: Track, cause: str) -> None:
    picture = yuv_picture(200, 200)
    before = picture.bgr()
    made = compose(frame_of(picture), [track], {1: patch_for(track.face)})
    assert (made.outcomes[0].result, made.outcomes[0].cause) == ("covered", cause)
    assert centre_difference(before, made.picture.bgr(), track.face.box_px) >= 32


def _details(seed: int) -> BgrImage:
    """A picture of soft spots, uint8[240, 320, 3], as different by its seed as two faces."""
    drawn = np.random.default_rng(seed).normal(0, 1, (240, 320)).astype(np.float32)
    soft = cv2.GaussianBlur(drawn, (0, 0), 4)
    grey = np.clip(110 + 25 * soft / soft.std(), 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("shown", "result"),
    [
        (lambda image: image, "covered"),
        (lambda image: cv2.GaussianBlur(image, (0, 0), 2), "covered"),
        (lambda image: np.clip(image.astype(int) + 20, 0, 255), "covered"),
        (lambda image: 0.7 * image, "covered"),
        (lambda _: _details(2), "swapped"),
    ],
    ids=["itself", "blurred", "brighter", "darker", "another"],
)
def test_patch_that_shows_the_face_it_should_hide_is_replaced_by_a_cover(
    shown: Callable[[BgrImage], NDArray[np.generic]], result: str
) -> None:
    """The planted fault: an engine that returns its subject, blurred or in another light."""
    image = _details(1)
    face, size = face_at(160, 120, 90), 64
    place = kveil_from_landmarks(face.landmarks_px, size)
    wrong = picture_from_bgr(np.asarray(shown(image), np.uint8))
    pixels = crop_from_picture(wrong, place, size).astype(np.float32)
    patch = dataclasses.replace(patch_for(face), pixels=pixels)
    made = compose(frame_of(picture_from_bgr(image.copy())), [track_of(face)], {1: patch})
    assert [one.result for one in made.outcomes] == [result]
    assert result == "swapped" or made.outcomes[0].cause == "hardly changed"
    assert centre_difference(image, made.picture.bgr(), face.box_px) > 9


@pytest.mark.parametrize(("seed", "result"), [(1, "covered"), (2, "swapped")])
def test_in_the_dark_another_face_is_told_by_its_details(seed: int, result: str) -> None:
    """The planted fault is the same, where nothing differs by more than a few grey levels."""
    image, wrong = ((0.06 * _details(one)).astype(np.uint8) for one in (1, seed))
    face, size = face_at(160, 120, 90), 64
    place = kveil_from_landmarks(face.landmarks_px, size)
    pixels = crop_from_picture(picture_from_bgr(wrong), place, size).astype(np.float32)
    patch = dataclasses.replace(patch_for(face), pixels=pixels)
    made = compose(frame_of(picture_from_bgr(image)), [track_of(face)], {1: patch})
    assert [one.result for one in made.outcomes] == [result]


def test_neighbouring_feather_never_softens_a_cover() -> None:
    near, far = face_at(90, 100, 60), face_at(120, 100, 60)
    alone = compose(frame_of(picture_from_bgr(noise(200, 220))), [track_of(far, 2)], {})
    both = compose(
        frame_of(picture_from_bgr(noise(200, 220))),
        [track_of(far, 2), track_of(near, 1)],
        {1: patch_for(near)},
    )
    rows, columns = slice(70, 130), slice(91, 149)
    difference = alone.picture.bgr()[rows, columns].astype(int) - both.picture.bgr()[rows, columns]
    assert np.abs(difference).max() == 0
    assert [outcome.result for outcome in both.outcomes] == ["covered", "swapped"]


def test_cover_of_a_face_that_is_not_seen_any_more_does_not_cut_into_one_that_is() -> None:
    """The planted fault: who had gone behind somebody left half a cover on his swapped face."""
    muted = COVERS["muted"]
    near, gone = face_at(90, 100, 60), face_at(120, 100, 60)
    swapped = [track_of(near, 1)]
    alone = compose(
        frame_of(picture_from_bgr(noise(200, 220))), swapped, {1: patch_for(near)}, muted
    )
    both = compose(
        frame_of(picture_from_bgr(noise(200, 220))),
        [track_of(gone, 2, TrackState.EXTENDED), *swapped],
        {1: patch_for(near)},
        muted,
    )
    inside = (slice(90, 112), slice(80, 108))
    assert (both.picture.bgr()[inside] == alone.picture.bgr()[inside]).all()
    behind = (slice(80, 120), slice(125, 145))
    difference = noise(200, 220)[behind].astype(int) - both.picture.bgr()[behind]
    assert np.abs(difference).mean() > 9


STATES = [TrackState.FILLED, TrackState.DOUBTFUL, TrackState.DETECTED]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("side", "is_whole"), [(80, True), (56, False)])
def test_cover_of_a_neighbour_lies_on_a_swapped_face_only_where_that_one_is_nearer(
    state: TrackState, side: float, is_whole: bool
) -> None:
    """The planted fault: who stood beside or behind left half a cover on a swapped chin."""
    near, other = face_at(90, 100, 60), face_at(125, 100, side)
    alone = compose(
        frame_of(picture_from_bgr(noise(200, 220))),
        [track_of(near, 1)],
        {1: patch_for(near)},
        COVERS["muted"],
    )
    both = compose(
        frame_of(picture_from_bgr(noise(200, 220))),
        [track_of(other, 2, state), track_of(near, 1)],
        {1: patch_for(near)},
        COVERS["muted"],
    )
    inside = (slice(90, 112), slice(96, 108))
    difference = both.picture.bgr()[inside].astype(int) - alone.picture.bgr()[inside]
    assert (np.abs(difference).max() > 9) == is_whole
    assert [one.result for one in both.outcomes] == ["covered", "swapped"]


@pytest.mark.parametrize("state", STATES)
def test_a_refused_patch_on_a_cover_leaves_both_faces_covered(state: TrackState) -> None:
    near, other = face_at(90, 100, 60), face_at(120, 100, 50)
    blank = dataclasses.replace(patch_for(near), pixels=np.full((64, 64, 3), 9, np.float32))
    image = noise(200, 220)
    made = compose(
        frame_of(picture_from_bgr(image.copy())),
        [track_of(other, 2, state), track_of(near, 1)],
        {1: blank},
        COVERS["muted"],
    )
    assert [one.result for one in made.outcomes] == ["covered", "covered"]
    for face in (near, other):
        assert centre_difference(image, made.picture.bgr(), face.box_px) > 9


def covered(*tracks: Track) -> NDArray[np.uint8]:
    """A noisy frame with these faces covered, H×W×3 BGR."""
    return compose(frame_of(picture_from_bgr(noise(200, 220))), list(tracks), {}).picture.bgr()


def test_no_covers_margin_lies_on_another_face_whatever_the_order() -> None:
    large, small = face_at(80, 100, 80), face_at(135, 100, 24)
    own = [covered(track_of(face)) for face in (large, small)]
    for tracks in ([track_of(large, 1), track_of(small, 2)], [track_of(small, 1), track_of(large)]):
        both = covered(*tracks)
        for face, alone in zip((large, small), own, strict=True):
            x0, y0, x1, y1 = face.box_px.astype(int)
            inside = (slice(y0, y1), slice(x0, x1))
            assert (both[inside] == alone[inside]).all()


def test_a_face_before_a_larger_one_shows_its_own_cover() -> None:
    large, small = face_at(100, 100, 80), face_at(110, 110, 24)
    both, alone = covered(track_of(large, 1), track_of(small, 2)), covered(track_of(small))
    x0, y0, x1, y1 = small.box_px.astype(int)
    assert (both[y0:y1, x0:x1] == alone[y0:y1, x0:x1]).all()


def test_a_doubtful_find_within_a_sure_face_does_not_break_its_cover() -> None:
    large = face_at(100, 100, 80)
    small = dataclasses.replace(face_at(110, 110, 24), score=0.3)
    both, alone = covered(track_of(large, 1), track_of(small, 2)), covered(track_of(large))
    x0, y0, x1, y1 = large.box_px.astype(int)
    assert (both[y0:y1, x0:x1] == alone[y0:y1, x0:x1]).all()


def test_overlapping_covers_do_not_undo_one_another() -> None:
    """The negative of a negative would be the face."""
    face, negative = face_at(100, 100, 60), COVERS["negative"]
    picture = picture_from_bgr(noise(200, 220))
    before = picture.bgr().copy()
    made = compose(frame_of(picture), [track_of(face, 1), track_of(face, 2)], {}, negative)
    alone = compose(frame_of(picture_from_bgr(noise(200, 220))), [track_of(face)], {}, negative)
    assert (made.picture.bgr() == alone.picture.bgr()).all()
    assert (made.picture.bgr() != before).any()
    gone = track_of(face, 2, TrackState.EXTENDED)
    patch = patch_for(face_at(40, 40, 30))
    tracks = [track_of(face, 1), gone, track_of(face_at(40, 40, 30), 3)]
    twice = compose(frame_of(picture_from_bgr(noise(200, 220))), tracks, {3: patch}, negative)
    rows, columns = slice(70, 130), slice(75, 125)
    assert (twice.picture.bgr()[rows, columns] == alone.picture.bgr()[rows, columns]).all()


def spoiled_box(values: list[float]) -> Face:
    return Face(np.array(values, np.float32), face_at(50, 50, 20).landmarks_px, 0.9)


@pytest.mark.parametrize(
    "values",
    [
        [np.nan, 10, 60, 60],
        [10, 10, np.inf, 60],
        [60, 10, 10, 60],
        [30, 30, 30, 30],
    ],
    ids=["nan", "infinite", "inside-out", "empty"],
)
def test_senseless_box_covers_the_whole_frame(values: list[float]) -> None:
    picture = yuv_picture(101, 99)
    before = picture.planes[0].copy()
    made = compose(frame_of(picture), [track_of(spoiled_box(values))], {})
    assert made.is_fully_covered
    assert "box is not finite or empty" in made.cause
    assert made.outcomes[0].result == "covered"
    for plane in made.picture.planes:
        assert len(np.unique(plane)) == 1
    assert np.abs(made.picture.planes[0].astype(int) - before).max() > 0


@pytest.mark.parametrize(
    ("x", "y", "side"),
    [(0, 0, 40), (163, 121, 40), (-500, 60, 40), (80, 60, 1e6), (80, 60, 1.0), (162.9, 0.1, 0.3)],
    ids=["top-left", "bottom-right", "outside", "huge", "one-pixel", "sub-pixel"],
)
def test_face_at_the_rim_is_covered_without_error(x: float, y: float, side: float) -> None:
    face = face_at(x, y, side)
    for patches in ({}, {1: patch_for(face)}):
        picture = yuv_picture(121, 163)
        before = picture.bgr()
        chosen: Mapping[int, Patch] = patches
        made = compose(frame_of(picture), [track_of(face)], chosen)
        assert not made.is_fully_covered
        x0, y0 = max(0, int(face.box_px[0])), max(0, int(face.box_px[1]))
        x1, y1 = min(163, int(face.box_px[2]) + 1), min(121, int(face.box_px[3]) + 1)
        if x1 <= x0 or y1 <= y0:
            assert (made.picture.bgr() == before).all()
        else:
            changed = (made.picture.bgr() != before).any(axis=2)
            assert changed[y0:y1, x0:x1].mean() > 0.5


@pytest.mark.parametrize("layout", ["yuv420", "yuv422", "yuv444", "gray"])
def test_one_pixel_frame_is_covered(layout: Layout) -> None:
    picture = yuv_picture(1, 1, layout)
    made = compose(frame_of(picture), [track_of(spoiled_box([0, 0, 1, 1]))], {})
    assert not made.is_fully_covered
    assert made.outcomes[0].result == "covered"


class Failing:
    """A cover that dies half-way, as a planted fault."""

    name = "failing"
    is_safe = True
    is_partial = False
    is_soft = False

    def paint(self, crop: BgrImage, landmarks: Landmarks, box: Box | None = None) -> BgrImage:
        raise MemoryError("planted")


class Misshapen(Failing):
    def paint(self, crop: BgrImage, landmarks: Landmarks, box: Box | None = None) -> BgrImage:
        return crop[:-1]


@pytest.mark.parametrize("cover", [Failing(), Misshapen()])
def test_cover_that_fails_covers_the_whole_frame(cover: Failing) -> None:
    picture = yuv_picture(100, 100)
    made = compose(frame_of(picture), [track_of(face_at(50, 50, 30))], {}, cover)
    assert made.is_fully_covered
    assert len(np.unique(made.picture.planes[0])) == 1


@pytest.mark.parametrize("layout", ["yuv420", "yuv422", "yuv444", "gray"])
@pytest.mark.parametrize("depth", [8, 10])
def test_read_only_planes_are_replaced_not_passed_on(layout: Layout, depth: int) -> None:
    picture = yuv_picture(51, 33, layout, depth)
    for plane in picture.planes:
        plane.flags.writeable = False
    made = compose(frame_of(picture), [track_of(face_at(20, 20, 10))], {})
    assert made.is_fully_covered
    assert made.picture.planes[0] is not picture.planes[0]
    assert [plane.shape for plane in made.picture.planes] == [p.shape for p in picture.planes]
    assert [plane.dtype for plane in made.picture.planes] == [p.dtype for p in picture.planes]
    assert len(np.unique(made.picture.planes[0])) == 1


def test_unknown_faces_cover_the_whole_frame() -> None:
    made = compose_unknown(frame_of(picture_from_bgr(noise(20, 30))), "detector died")
    assert made.is_fully_covered
    assert made.cause == "detector died"
    assert len(np.unique(made.picture.bgr().reshape(-1, 3), axis=0)) == 1


def test_unknown_faces_without_words_still_say_so() -> None:
    made = compose_unknown(frame_of(picture_from_bgr(noise(20, 30))), "")
    assert made.is_fully_covered
    assert made.cause


@pytest.mark.parametrize("layout", ["yuv420", "bgr", "gray"])
def test_slate_has_the_size_asked_for(layout: Layout) -> None:
    made = compose_slate(
        5, 7, pts=4, time_base=BASE, index=2, cause="no signal", stream="a", layout=layout
    )
    assert (made.picture.height, made.picture.width, made.pts, made.stream) == (5, 7, 4, "a")
    assert made.is_fully_covered
    assert made.cause == "no signal"


@pytest.mark.parametrize("cover", COVERS.values(), ids=lambda cover: cover.name)
def test_every_cover_composes(cover: NamedCover) -> None:
    picture = yuv_picture(121, 163)
    before = picture.bgr()
    made = compose(frame_of(picture), [track_of(face_at(80, 60, 50))], {}, cover)
    assert not made.is_fully_covered
    assert (made.picture.bgr() != before).any()


def test_unsound_landmarks_do_not_stop_a_cover() -> None:
    face = Face(face_at(80, 60, 50).box_px, np.full((5, 2), np.nan, np.float32), 0.9)
    for cover in COVERS.values():
        made = compose(frame_of(yuv_picture(121, 163)), [track_of(face)], {}, cover)
        assert not made.is_fully_covered
        assert made.outcomes[0].result == "covered"
    sound = patch_for(face_at(80, 60, 50))
    made = compose(frame_of(yuv_picture(121, 163)), [track_of(face)], {1: sound})
    assert made.outcomes[0].cause == "patch does not lie over the face"


numbers = st.floats(-200, 300, width=32) | st.sampled_from([np.nan, np.inf, -np.inf, 1e30, 0.0])


@given(
    st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=1, max_size=4),
    st.sampled_from(["yuv420", "yuv422", "yuv444", "gray"]),
    st.tuples(st.integers(1, 70), st.integers(1, 70)),
)
@settings(max_examples=150)
def test_any_boxes_give_a_composite_in_which_every_face_is_accounted_for(
    boxes: list[tuple[float, float, float, float]], layout: str, shape: tuple[int, int]
) -> None:
    names: dict[str, Layout] = {
        "yuv420": "yuv420",
        "yuv422": "yuv422",
        "yuv444": "yuv444",
        "gray": "gray",
    }
    picture = yuv_picture(*shape, names[layout])
    before = picture.bgr()
    tracks = [track_of(spoiled_box(list(box)), i) for i, box in enumerate(boxes)]
    made = compose(frame_of(picture), tracks, {})
    assert [outcome.track for outcome in made.outcomes] == list(range(len(boxes)))
    after = made.picture.bgr()
    assert after.shape == before.shape
    is_senseless = [
        not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1] for box in boxes
    ]
    if any(is_senseless):
        assert made.is_fully_covered
    if made.is_fully_covered or len(boxes) > 1:
        return
    box = np.clip(np.array(boxes[0]), 0, [shape[1], shape[0]] * 2)
    touched = before[int(box[1]) : int(np.ceil(box[3])), int(box[0]) : int(np.ceil(box[2]))]
    now = after[int(box[1]) : int(np.ceil(box[3])), int(box[0]) : int(np.ceil(box[2]))]
    if touched.size:
        assert (touched != now).any(axis=2).mean() > 0.5


@given(st.floats(6, 60), st.floats(20, 100), st.floats(20, 100))
@settings(max_examples=80)
def test_every_covered_face_differs_clearly_from_the_original(
    side: float, x: float, y: float
) -> None:
    picture = yuv_picture(120, 120)
    before = picture.bgr()
    face = face_at(x, y, side)
    made = compose(frame_of(picture), [track_of(face)], {})
    inside = np.clip(face.box_px, 0, 120)
    if (inside == face.box_px).all():
        assert centre_difference(before, made.picture.bgr(), face.box_px) >= 32
