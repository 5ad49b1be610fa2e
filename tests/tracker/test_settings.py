"""Settings are checked when they are made."""

from __future__ import annotations

import math

import pytest

from tracker.errors import TrackerSettingsRejected
from tracker.settings import TrackerSettings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "value"),
    [("hold_s", -0.1), ("lookahead_frames", 1000), ("high_score", 1.5), ("reach_sizes", math.nan)],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(TrackerSettingsRejected, match=name):
        TrackerSettings(**{name: value})  # type: ignore[arg-type]


def test_a_low_score_above_the_high_one_is_refused() -> None:
    with pytest.raises(TrackerSettingsRejected, match="low_score"):
        TrackerSettings(low_score=0.6, high_score=0.5)
