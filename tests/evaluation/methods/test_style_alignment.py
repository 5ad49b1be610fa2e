"""Style alignment on the texture domain: style comes nearer, content stays, k is kept."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.style import local_styles, style_features
from evaluation.methods.style_alignment import AlignmentSettings, align_styles
from evaluation.methods.textures import SIDE, fundus, texture_domain

pytestmark = pytest.mark.unit

SMALL = 32
OTHERS = np.stack([fundus(1000 + person, 0, person % 3, SMALL) for person in range(40)])
DOMAIN = texture_domain(OTHERS, 24)
PICTURES = np.stack([fundus(person, 0, 2, SMALL) for person in range(10)])
CODES = DOMAIN.encoded(PICTURES)
GROUPS = (np.arange(5), np.arange(5, 10))
CENTROIDS = np.stack([CODES[rows].mean(axis=0) for rows in GROUPS])
MEMBERS = [(PICTURES[rows].astype(np.float32), CODES[rows]) for rows in GROUPS]
QUICK = AlignmentSettings(iterations=10, rounds=1)


def mean_style(pictures: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
    """Mean energy of the styles: what averaging takes away."""
    styles = local_styles(style_features(pictures))
    return float(np.trace(styles, axis1=2, axis2=3).mean())


def test_the_style_loss_falls_and_the_total_never_rises() -> None:
    found = align_styles(DOMAIN, CENTROIDS, MEMBERS, QUICK)
    assert (found.after[:, 0] < found.before[:, 0]).all()
    assert (found.after.sum(axis=1) <= found.before.sum(axis=1)).all()
    assert found.after[:, 1].max() < 0.05


def test_style_statistics_lie_nearer_to_the_members_than_the_centroids() -> None:
    found = align_styles(DOMAIN, CENTROIDS, MEMBERS, QUICK)
    numbers = np.arange(2)
    wanted = mean_style(PICTURES.astype(np.float32))
    before = mean_style(DOMAIN.represented(CENTROIDS, numbers))
    after = mean_style(DOMAIN.represented(found.codes, numbers))
    assert abs(after - wanted) < abs(before - wanted)


def test_no_rounds_leave_the_centroid_and_codes_stay_within_reach() -> None:
    still = align_styles(DOMAIN, CENTROIDS, MEMBERS, AlignmentSettings(rounds=0))
    np.testing.assert_array_equal(still.codes, CENTROIDS)
    found = align_styles(DOMAIN, CENTROIDS, MEMBERS, AlignmentSettings(0.0, 10, rounds=1))
    for rows, code in zip(GROUPS, found.codes, strict=True):
        longest = np.linalg.norm(CODES[rows], axis=1).mean()
        assert np.linalg.norm(code) <= longest * 1.001


def test_the_same_pictures_give_the_same_codes() -> None:
    first, again = (align_styles(DOMAIN, CENTROIDS, MEMBERS, QUICK).codes for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_person_has_the_same_vessels_in_every_picture_and_a_grade_has_spots() -> None:
    assert fundus(3, 0, 1).shape == (SIDE, SIDE, 3)
    np.testing.assert_array_equal(fundus(3, 0, 1), fundus(3, 0, 1))
    same = np.abs(fundus(3, 0, 0).astype(int) - fundus(3, 1, 0)).mean()
    other = np.abs(fundus(3, 0, 0).astype(int) - fundus(4, 0, 0)).mean()
    assert same < other
    assert mean_style(fundus(3, 0, 2)[None].astype(np.float32)) > mean_style(
        fundus(3, 0, 0)[None].astype(np.float32)
    )
