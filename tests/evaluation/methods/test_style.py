"""Local style: its slope is right, and patches find their like wherever they lie."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.style import (
    aligned_styles,
    content_loss,
    content_vectors,
    local_styles,
    style_features,
    style_loss,
)

pytestmark = pytest.mark.unit

RANDOM = np.random.default_rng(3)
PICTURES = RANDOM.uniform(0, 255, (3, 32, 32, 3)).astype(np.float32)


def test_features_are_linear_and_blind_to_brightness() -> None:
    first, second = PICTURES[:1], PICTURES[1:2]
    whole = style_features(2 * first + 3 * second)
    np.testing.assert_allclose(
        whole, 2 * style_features(first) + 3 * style_features(second), atol=1e-3
    )
    np.testing.assert_allclose(style_features(first + 20), style_features(first), atol=1e-4)


def test_the_style_of_a_picture_is_met_by_itself_and_missed_by_a_blank() -> None:
    features = style_features(PICTURES[:1])
    styles = local_styles(features, 4)
    aligned = aligned_styles(styles, styles[0])
    assert style_loss(aligned, features[0], 4)[0] == pytest.approx(0, abs=1e-5)
    blank = np.zeros_like(features[0])
    assert style_loss(aligned, blank, 4)[0] == pytest.approx(1, abs=1e-5)


def test_a_shuffled_picture_has_the_same_style_only_where_patches_may_move() -> None:
    features = style_features(PICTURES[:1])
    blocks = features.reshape(1, 4, 8, 4, 8, -1)[:, ::-1]
    moved = np.ascontiguousarray(blocks).reshape(features.shape)
    styles, others = local_styles(features, 4), local_styles(moved, 4)
    free = aligned_styles(styles, others[0])
    fixed = aligned_styles(styles, others[0], is_free=False)
    assert style_loss(free, moved[0], 4)[0] == pytest.approx(0, abs=1e-5)
    assert style_loss(fixed, moved[0], 4)[0] > 0.01


def test_both_slopes_agree_with_differences() -> None:
    styles = local_styles(style_features(PICTURES[1:]), 4)
    features = style_features(PICTURES[:1])[0]
    aligned = aligned_styles(styles, local_styles(features[None], 4)[0])
    step = RANDOM.normal(size=features.shape).astype(np.float32) * np.float32(1e-2)
    ahead, behind = (style_loss(aligned, features + sign * step, 4)[0] for sign in (1, -1))
    slope = float((style_loss(aligned, features, 4)[1] * step).sum())
    assert (ahead - behind) / 2 == pytest.approx(slope, rel=0.02, abs=1e-5)
    start, vector = content_vectors(PICTURES[:2])
    nudge = RANDOM.normal(size=vector.shape).astype(np.float32) * np.float32(1e-2)
    ahead, behind = (content_loss(start, vector + sign * nudge)[0] for sign in (1, -1))
    slope = float((content_loss(start, vector)[1] * nudge).sum())
    assert (ahead - behind) / 2 == pytest.approx(slope, rel=0.02, abs=1e-5)
