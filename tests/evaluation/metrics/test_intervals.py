"""Intervals of clustered proportions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.intervals import clustered, wilson

pytestmark = pytest.mark.unit


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_any_counts_contain_their_rate(counts: tuple[int, int]) -> None:
    hits, probes = counts
    lower, upper = wilson(hits, probes)
    assert 0 <= lower <= hits / probes <= upper <= 1


def test_no_hits_in_150_probes_still_allow_two_and_a_half_percent() -> None:
    assert wilson(0, 150)[1] == pytest.approx(0.025, abs=1e-3)


def test_probes_that_agree_within_a_person_widen_the_interval() -> None:
    events = [True] * 50 + [False] * 50
    apart = clustered(events, range(100))
    together = clustered(events, [0] * 25 + [1] * 25 + [2] * 25 + [3] * 25)
    assert together.rate == apart.rate == 0.5
    assert together.upper - together.lower > 1.5 * (apart.upper - apart.lower)


def test_unanimous_probes_count_each_person_once() -> None:
    assert clustered([False] * 1000, [0, 1] * 500).upper == wilson(0, 2)[1]


def test_few_hits_in_long_tracks_are_no_surer_than_none() -> None:
    tracks = np.repeat(np.arange(10), 1000)
    none = clustered(np.zeros(10_000, bool), tracks)
    for hits in (1, 5):
        events = np.zeros(10_000, bool)
        events[np.arange(hits) * 1000] = True
        few, all_but_few = clustered(events, tracks), clustered(~events, tracks)
        assert few.upper >= none.upper == wilson(0, 10)[1]
        assert all_but_few.lower <= wilson(10, 10)[0]


def test_one_long_track_among_short_ones_counts_as_little_more_than_one() -> None:
    tracks = [0] * 1000 + list(range(1, 21))
    assert clustered([False] * 1020, tracks).upper > 0.7
    assert clustered([False] * 1000 + [True] + [False] * 19, tracks).upper > 0.7


def test_the_upper_bound_seldom_misses_the_truth() -> None:
    """One track in fifty is half exposed, the others hardly: 1.05 % of all face-frames."""
    random, tracks, frames = np.random.default_rng(0), 30, 60
    owners, missed, runs = np.repeat(np.arange(tracks), frames), 0, 200
    for _ in range(runs):
        risk = np.where(random.random(tracks) < 0.02, 0.5, 0.0005)
        events = random.random(tracks * frames) < np.repeat(risk, frames)
        missed += clustered(events, owners).upper < 0.02 * 0.5 + 0.98 * 0.0005
    assert missed <= 0.025 * runs


def test_no_probes_say_nothing() -> None:
    nothing = clustered([], [])
    assert (nothing.lower, nothing.upper, nothing.rate) == (0.0, 1.0, 0.0)


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one label each"):
        clustered([True], [])
