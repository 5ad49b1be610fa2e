from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelRejected
from engines.stylegan import movement
from engines.stylegan.movement import BROWS, LIPS
from engines.stylegan.shape import (
    ShapeModel,
    canonical_from_points,
    gap_shown,
    load_shape_model,
    mouth_gap,
    pose_from_points,
    true_gap,
    with_shut_lips,
)
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_POINTS,
)
from tests.engines.stylegan.faces import Float32, drawn_face, shape_model, turned

pytestmark = pytest.mark.unit


def saved(path: Path, model: ShapeModel, **changed: np.ndarray) -> Path:
    arrays = {name: getattr(model, name) for name in ShapeModel.__slots__} | changed
    np.savez(path, allow_pickle=False, **arrays)
    return path


@pytest.mark.parametrize("yaw", [-30.0, 0.0, 25.0])
def test_turned_face_gives_its_yaw(yaw: float) -> None:
    angles = shape_model().pose_of(turned(drawn_face(), yaw)[None]).angles_deg()
    assert abs(angles[0, 0] - yaw) < 1.0
    assert np.abs(angles[0, 1:]).max() < 1.0


def test_same_subject_shape_of_another_person_gives_the_same_map() -> None:
    model = shape_model()
    latents = np.random.default_rng(1).standard_normal((2, 4, 512)).astype(np.float32)
    latents[1] = latents[0]
    plain = drawn_face()
    wider = plain.copy()
    wider[:MESH_POINTS] += (model.identity[0] * 0.05).reshape(-1, 3)
    made = model.swapped(np.stack([plain, wider]), latents)
    moved = np.linalg.norm(made[0] - made[1], axis=1).mean()
    assert moved < 0.6 * np.linalg.norm(plain - wider, axis=1).mean()


def test_surrogates_differ_in_shape() -> None:
    model = shape_model()
    latents = np.random.default_rng(2).standard_normal((2, 4, 512)).astype(np.float32) * 3
    points = np.repeat(drawn_face()[None], 2, axis=0)
    made = model.swapped(points, latents)
    assert np.abs(made[0] - made[1]).max() > 1e-3


def test_a_face_with_eyes_close_together_is_large_only_half() -> None:
    plain = shape_model()
    size = np.linalg.norm(plain.mean)
    larger = np.zeros((513, 1), np.float32)
    larger[-1] = 0.2 * size
    model = replace(
        plain,
        identity=plain.mean.reshape(1, -1) / size,
        from_latent=larger,
        identity_limit=np.array([size], np.float32),
        rest_from_latent=np.zeros_like(plain.rest_from_latent),
    )
    laid = model.at_rest(np.zeros((1, 4, 512), np.float32))[0]
    assert np.allclose(np.ptp(laid[:, :2], axis=0), 1.2**0.5 * np.ptp(plain.mean[:, :2], axis=0))
    middle, wanted = laid[:, :2].mean(axis=0), plain.mean[:, :2].mean(axis=0)
    assert np.allclose(middle, (1.2**0.5 * wanted + wanted) / 2, atol=1e-5)


def test_a_surrogate_lies_over_the_whole_face_of_its_subject(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, latents = shape_model(), np.zeros((1, 4, 512), np.float32)
    points = turned(drawn_face(), 20)[None]
    # Eyes where they were, all the rest farther down: a long face.
    below = np.maximum(points[..., 1] - points[:, EYE_LEFT_SLICE, 1].mean(), 0)
    points[..., 1] += 0.3 * below

    def farthest() -> tuple[float, float]:
        made = model.swapped(points, latents)[:, :MESH_POINTS, :2]
        away = made - points[:, :MESH_POINTS, :2]
        return float(np.linalg.norm(away, axis=2).mean()), float(np.abs(away.mean(axis=1)).max())

    error, off = farthest()
    assert off < 0.01
    monkeypatch.setattr("engines.stylegan.shape._OVER_SUBJECT", 0.0)
    by_the_eyes, high = farthest()
    assert error < 0.7 * by_the_eyes
    assert high > 0.03


def test_swapped_eyes_stay_about_where_the_subject_has_them() -> None:
    model = shape_model()
    latents = np.zeros((1, 4, 512), np.float32)
    points = turned(drawn_face(), 20)[None]
    made = model.swapped(points, latents)
    for eye in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE):
        assert np.abs(made[0, eye].mean(axis=0) - points[0, eye].mean(axis=0)).max() < 0.03


def test_lips_part_as_far_as_the_subjects() -> None:
    model = shape_model()
    latents = np.random.default_rng(5).standard_normal((2, 4, 512)).astype(np.float32) * 3
    open_mouth = drawn_face()
    lower = slice(LIPS_INNER_SLICE.start + 1, LIPS_INNER_SLICE.start + 10)
    open_mouth[lower, 1] += 0.08
    points = np.stack([drawn_face(), open_mouth])
    pose = model.pose_of(points)
    wanted = true_gap(mouth_gap(canonical_from_points(points, pose)), pose)
    assert wanted[1] - wanted[0] > 0.15
    made = mouth_gap(canonical_from_points(model.swapped(points, latents), pose))
    assert np.allclose(made, wanted, atol=1e-4)
    still = replace(model, opening=np.zeros_like(model.opening))
    lost = mouth_gap(canonical_from_points(still.swapped(points, latents), pose))
    assert np.abs(lost - wanted).max() > 0.05


def test_open_mouths_are_opened_farther_than_they_are_read_and_more_on_turned_heads() -> None:
    """The planted fault: a man who shouted, his head turned, was given a smirk."""
    ahead, aside = (
        pose_from_points(turned(drawn_face(), yaw)[None], shape_model().mean) for yaw in (0, 38)
    )
    gaps = [float(true_gap(np.array([0.25], np.float32), pose)[0]) for pose in (ahead, aside)]
    assert 0.25 < gaps[0] < gaps[1] < 0.4
    for shut in (-0.02, 0.0, 0.03):
        assert float(true_gap(np.array([shut], np.float32), aside)[0]) == pytest.approx(
            min(shut, 0), abs=1e-6
        )


def test_lips_that_are_never_read_closer_are_shut() -> None:
    """The planted fault: a man with dark lips kept his mouth open while he listened."""
    model, latents = shape_model(), np.zeros((1, 4, 512), np.float32)
    read = drawn_face()
    lower = slice(LIPS_INNER_SLICE.start + 1, LIPS_INNER_SLICE.start + 10)
    read[lower, 1] += (np.float32(0.05) - mouth_gap_of(model, read)) * np.float32(0.4)
    pose = model.pose_of(read[None])
    shown = model.shown_by(read[None], pose)
    told = with_shut_lips(shown[0], gap_shown(shown[0]))[None]
    unknown, shut = (
        float(
            mouth_gap(canonical_from_points(model.swapped(read[None], latents, usual=one), pose))[0]
        )
        for one in (shown, told)
    )
    assert unknown > 0.02
    assert shut == pytest.approx(0, abs=1e-3)


def test_who_smiles_all_the_time_keeps_smiling() -> None:
    """The planted fault: a portrait whose lips never meet lost its smile."""
    model, latents = shape_model(), np.zeros((1, 4, 512), np.float32)
    read = drawn_face()
    inner = slice(LIPS_INNER_SLICE.start, LIPS_INNER_SLICE.stop)
    middle = read[inner, 0].mean()
    read[inner, 0] = middle + 1.6 * (read[inner, 0] - middle)
    lower = slice(LIPS_INNER_SLICE.start + 1, LIPS_INNER_SLICE.start + 10)
    read[lower, 1] += (np.float32(0.16) - mouth_gap_of(model, read)) * np.float32(0.4)
    shown = model.shown_by(read[None], model.pose_of(read[None]))
    told = with_shut_lips(shown[0], gap_shown(shown[0]))[None]
    made = [model.swapped(read[None], latents, usual=one)[0] for one in (shown, told)]
    assert mouth_gap_of(model, made[1]) == pytest.approx(mouth_gap_of(model, made[0]), abs=1e-3)


def test_who_opens_the_mouth_wide_all_the_time_keeps_it_open() -> None:
    pose = pose_from_points(drawn_face()[None], shape_model().mean)
    gap = np.array([0.3], np.float32)
    assert float(true_gap(gap, pose, gap)[0]) > 0.2


def test_eyes_stay_where_they_are_while_a_mouth_opens() -> None:
    model, latents = shape_model(), np.zeros((1, 4, 512), np.float32)
    shut, wide = drawn_face()[None], drawn_face()[None]
    wide[:, :MESH_POINTS] += 0.3 * model.opening.reshape(MESH_POINTS, 3)
    assert mouth_gap(wide[:, :MESH_POINTS])[0] - mouth_gap(shut[:, :MESH_POINTS])[0] > 0.2
    made = [model.swapped(points, latents)[0, EYE_LEFT_SLICE] for points in (shut, wide)]
    assert np.abs(made[1] - made[0]).max() < 0.006


def test_saved_model_comes_back(tmp_path: Path) -> None:
    model = shape_model()
    again = load_shape_model(saved(tmp_path / "shape.npz", model))
    assert np.array_equal(again.expression, model.expression)


def test_model_with_nan_is_rejected(tmp_path: Path) -> None:
    damaged = shape_model().mean.copy()
    damaged[0] = np.nan
    with pytest.raises(ModelRejected):
        load_shape_model(saved(tmp_path / "shape.npz", shape_model(), mean=damaged))


def test_model_of_other_shape_is_rejected(tmp_path: Path) -> None:
    path = saved(tmp_path / "shape.npz", shape_model(), from_latent=np.zeros((5, 3), np.float32))
    with pytest.raises(ModelRejected):
        load_shape_model(path)


def test_file_without_arrays_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "shape.npz"
    path.write_bytes(b"not an archive")
    with pytest.raises(ModelRejected):
        load_shape_model(path)


def test_resting_difference_is_lost_and_large_movement_kept() -> None:
    model = shape_model()
    points = np.repeat(drawn_face()[None], 2, axis=0)
    pose = model.pose_of(points)
    at_rest = model.expression_of(points, pose)[0]
    still = model.stillness
    for size, kept in ((0.9, 0.0), (2.0, 1.5), (20.0, 20.0)):
        wanted = np.linalg.solve(model.movement_gain, size * still)
        moved = points.copy()
        moved[:, :MESH_POINTS] += ((wanted - at_rest) @ model.expression).reshape(-1, 3) * 0.4
        found = model.movement_of(moved, model.pose_of(moved))[0]
        assert np.allclose(found, kept * still, rtol=0.05, atol=1e-3)


def test_donor_who_smiles_in_the_portrait_smiles_only_where_the_subject_does() -> None:
    """Else everybody's surrogate would smile on."""
    plain = shape_model()
    smile = np.array([0.2, 0.0], np.float32)
    held = np.zeros_like(plain.rest_from_latent)
    held[-1] = smile
    model = replace(plain, rest_from_latent=held, opening=np.zeros_like(plain.opening))
    latents = np.zeros((1, 4, 512), np.float32)
    still = model.at_rest(latents) - replace(model, rest_from_latent=0 * held).at_rest(latents)
    left = still.reshape(1, -1) @ model.expression.T
    assert np.allclose(left, (1 - 0.8) * smile, atol=0.02)


def test_surrogate_brings_its_own_face_at_rest() -> None:
    plain = shape_model()
    model = replace(plain, movement_gain=np.zeros_like(plain.movement_gain))
    points = drawn_face()[None]
    still = replace(model, opening=np.zeros_like(model.opening))
    rest = np.array([[0.05, -0.04]], np.float32)
    bare = np.zeros((1, 4, 512), np.float32)
    worn = bare + model.rest_to_latents(rest)[:, None]
    assert np.allclose(model.rest_from_latents(worn), rest, atol=1e-5)
    parts = [
        still.expression_of(still.swapped(points, latents), still.pose_of(points))
        for latents in (bare, worn)
    ]
    moved = parts[1] - parts[0]
    wanted = rest - model.rest_from_latents(bare)
    assert np.allclose(moved, wanted, atol=0.02)


def test_small_movement_is_followed_where_the_usual_face_is_known() -> None:
    """The planted fault: of one frame alone, what is as small as people at rest differ is lost."""
    model = shape_model()
    points = np.repeat(drawn_face()[None], 2, axis=0)
    wanted = np.linalg.solve(model.movement_gain, 0.9 * model.stillness)
    at_rest = model.expression_of(points, model.pose_of(points))[0]
    points[:, :MESH_POINTS] += (-at_rest @ model.expression).reshape(-1, 3) * 0.4
    points[1, :MESH_POINTS] += (wanted @ model.expression).reshape(-1, 3) * 0.4
    pose, latents = model.pose_of(points), np.zeros((2, 4, 512), np.float32)
    usual = np.repeat(model.shown_by(points, pose)[:1], 2, axis=0)
    moved = [
        np.ptp(model.expression_of(model.swapped(points, latents, usual=one), pose), axis=0)
        for one in (None, usual)
    ]
    assert np.allclose(moved[1], np.abs(wanted), rtol=0.2, atol=2e-3)
    assert np.linalg.norm(moved[0]) < 0.2 * np.linalg.norm(wanted)


def test_subjects_rest_does_not_show() -> None:
    model = shape_model()
    one = drawn_face()[None] * 1.0
    pose = model.pose_of(one)
    at_rest = model.expression_of(one, pose)[0]
    other = one.copy()
    inside = np.linalg.solve(model.movement_gain, 0.8 * model.stillness)
    other[:, :MESH_POINTS] += ((inside - at_rest) @ model.expression).reshape(-1, 3) * 0.4
    assert np.allclose(model.movement_of(other, model.pose_of(other)), 0.0, atol=1e-3)
    assert np.abs(model.rest_of(other, model.pose_of(other))).max() > 1e-3


CORNERS = [LIPS_OUTER_SLICE.start, LIPS_OUTER_SLICE.start + 10]


def corners_moved(wider: float = 0.0, aside: float = 0.0) -> Float32:
    """How corners of a surrogate's mouth move, of how far they are read to: float32[2].

    It becomes wider, as a share, and moves aside, in crop units.
    """
    model, points = shape_model(), np.repeat(drawn_face()[None], 2, axis=0)
    lips = points[1, LIPS, 0]
    points[1, LIPS, 0] += wider * (lips - lips.mean()) + np.float32(aside)
    pose, latents = model.pose_of(points), np.zeros((2, 4, 512), np.float32)
    usual = np.repeat(model.shown_by(points, pose)[:1], 2, axis=0)
    made = model.swapped(points, latents, usual=usual)[:, CORNERS, 0]
    return np.asarray((made[1] - made[0]) / np.diff(points[:, CORNERS, 0], axis=0)[0], np.float32)


@pytest.mark.parametrize(
    ("gain", "wider", "aside", "wanted"),
    [
        ("_WIDENING", 0.3, 0.0, 1.3),
        ("_NARROWING", -0.3, 0.0, 1.8),
        ("_ASIDE", 0.0, 0.05, 1.5),
    ],
    ids=["a smile", "pursed lips", "a mouth drawn aside"],
)
def test_mouths_move_farther_than_they_are_read_to(
    monkeypatch: pytest.MonkeyPatch, gain: str, wider: float, aside: float, wanted: float
) -> None:
    assert corners_moved(wider, aside) == pytest.approx(wanted, rel=0.15)
    monkeypatch.setattr(movement, gain, 0.5)
    assert corners_moved(wider, aside) == pytest.approx(0.5, rel=0.15)


def test_raised_brows_are_followed_farther_than_they_are_read() -> None:
    model, points = shape_model(), np.repeat(drawn_face()[None], 2, axis=0)
    points[1, BROWS, 1] -= 0.03
    pose, latents = model.pose_of(points), np.zeros((2, 4, 512), np.float32)
    usual = np.repeat(model.shown_by(points, pose)[:1], 2, axis=0)
    made = model.swapped(points, latents, usual=usual)[:, BROWS, 1].mean(axis=1)
    assert made[0] - made[1] == pytest.approx(1.5 * 0.03, rel=0.15)


def raised(by: float) -> float:
    """How much higher a surrogate's brows are where its subject's have always been so high."""
    model, points = shape_model(), np.repeat(drawn_face()[None], 2, axis=0)
    apart = float(points[0, EYE_RIGHT_SLICE, 0].mean() - points[0, EYE_LEFT_SLICE, 0].mean())
    points[1, BROWS, 1] -= by * apart
    made = model.swapped(points, np.zeros((2, 4, 512), np.float32))[:, BROWS, 1].mean(axis=1)
    return float(made[0] - made[1]) / apart


def test_brows_held_up_are_followed_and_those_that_are_high_at_rest_are_not() -> None:
    """The planted fault: who is seen with brows up from the start was given brows at rest."""
    assert abs(raised(0.03)) < 0.01
    assert raised(0.09) == pytest.approx(1.5 * (0.09 - 0.036), abs=0.01)
    assert raised(0.2) == pytest.approx(0.2, abs=0.02)
    assert raised(-0.09) == pytest.approx(-1.5 * (0.09 - 0.036), abs=0.01)


def mouth_gap_of(model: ShapeModel, points: Float32) -> np.float32:
    pose = model.pose_of(points[None])
    return np.float32(mouth_gap(canonical_from_points(points[None], pose))[0])


def test_lips_that_are_seen_to_be_apart_are_not_shut() -> None:
    """The planted fault: who spoke with teeth in view kept a shut mouth."""
    model, latents = shape_model(), np.zeros((2, 4, 512), np.float32)
    points = np.stack([drawn_face()] * 2)
    pose = model.pose_of(points)
    read = np.full(2, 0.06, np.float32)
    made = model.swapped(points, latents, gap=read, apart=np.array([0, 1], np.float32))
    unseen, seen = mouth_gap(canonical_from_points(made, pose)).tolist()
    assert unseen < 0.05
    assert seen > 0.07
    unread = model.swapped(points, latents, gap=np.full(2, np.nan, np.float32))
    assert np.allclose(unread, model.swapped(points, latents), atol=1e-5)
