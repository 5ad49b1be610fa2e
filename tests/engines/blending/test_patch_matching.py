"""What is around a face is looked at again when it changes, and every few frames."""

from __future__ import annotations

import numpy as np
import pytest

from engines.blending import patch_matching, rim
from engines.blending.patch_matching import PatchMatching
from engines.face.alignment import crop_from_picture
from engines.pictures import picture_from_bgr
from tests.engines.blending.test_rim import SKIN, Float32, frame_of, head, patch_of

pytestmark = pytest.mark.unit


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets a number for each time that the rim is looked at."""
    seen: list[int] = []
    measured = rim.rim_match_of

    def rim_match_of(*seen_by: object) -> object:
        seen.append(len(seen))
        return measured(*seen_by)  # type: ignore[arg-type]

    monkeypatch.setattr(patch_matching, "rim_match_of", rim_match_of)
    return seen


def matched(matching: PatchMatching, tone: Float32, index: int) -> Float32:
    """The painted pixels under a head of that tone, in a frame."""
    picture, patch = picture_from_bgr(frame_of(head(tone))), patch_of()
    crop = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    return matching.matched(picture, patch, crop, index, 0).pixels


def test_a_head_that_looks_the_same_is_looked_at_every_third_frame(counted: list[int]) -> None:
    matching = PatchMatching()
    made = [matched(matching, SKIN, index) for index in range(6)]
    assert len(counted) == 2
    assert np.abs(made[2] - made[0]).max() < 2


def test_light_that_comes_is_followed_at_once(counted: list[int]) -> None:
    """The planted fault: a face that stays dark for two frames of a flash."""
    matching = PatchMatching()
    dark = matched(matching, np.asarray(SKIN / 2, np.float32), 0)
    bright = matched(matching, SKIN, 1)
    assert len(counted) == 2
    assert bright[70:110, 50:80].mean() > 1.6 * dark[70:110, 50:80].mean()
