"""The evaluator's search."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelMissing
from engines.pictures import BgrImage
from engines.types import Face
from evaluation.finders import FrameFinder, finder_from_models, largest_central
from tests.engines.backends.fake import Fake
from tests.evaluation.fakes import face_at

pytestmark = pytest.mark.unit


@dataclass(frozen=True, slots=True)
class WhiteSquares:
    """Sees a white square of 24 px or more."""

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        rows, columns = np.nonzero(image_bgr[..., 0] > 128)
        if not len(rows) or np.ptp(columns) < 23:
            return ()
        return (face_at(float(columns.min()), float(rows.min()), float(np.ptp(columns)) + 1),)


def test_a_face_of_16_px_is_seen_enlarged_and_placed_in_the_frame() -> None:
    image = np.zeros((400, 700, 3), np.uint8)
    image[200:216, 300:316] = 255
    found = FrameFinder(WhiteSquares(), "squares").find(image)
    assert len(found) == 1
    np.testing.assert_allclose(found[0].box_px, [300, 200, 316, 216], atol=1.5)


def test_the_large_central_face_is_the_portrait() -> None:
    faces = [face_at(0, 0, 30), face_at(80, 80, 40), face_at(160, 160, 40)]
    assert largest_central(faces, 200, 200) is faces[1]
    assert largest_central([], 10, 10) is None


def test_an_absent_network_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="--models"):
        finder_from_models(Fake(), tmp_path)
