"""Utility of a release, with networks whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.types import Face
from evaluation.face_geometry import GeometryProbe
from evaluation.utility import UtilityProbe
from tests.engines.backends.fake import FakeSession
from tests.evaluation.fakes import PORTRAIT_FACE, ScriptedFinder, painted_people

pytestmark = pytest.mark.unit

FACES = painted_people(0, people=12)
FINDER = ScriptedFinder((PORTRAIT_FACE,))


def session(values: int) -> FakeSession:
    """Answers with the mean of the picture, `values` times."""

    def answer(tensors: Tensors) -> Mapping[str, NDArray[np.generic]]:
        return {"out": np.full((1, values), np.mean(tensors["in"]), np.float32)}

    spec = TensorSpec("in", (1, 3, 64, 64), np.dtype(np.float32))
    return FakeSession(answer, (spec,), (TensorSpec("out", (1, values), np.dtype(np.float32)),))


def test_an_unchanged_release_loses_nothing() -> None:
    probe = UtilityProbe(FINDER, GeometryProbe([session(3), session(3)], session(136)), sample=5)
    utility = probe.measure(FACES, FACES.images)
    assert utility.redetected.hits == utility.redetected.probes == 5
    assert utility.pose_error_deg == 0
    assert utility.landmark_error == 0


def test_a_changed_release_has_errors() -> None:
    probe = UtilityProbe(FINDER, GeometryProbe([session(3)]))
    utility = probe.measure(FACES, 255 - FACES.images)
    assert utility.pose_error_deg > 0
    assert math.isnan(utility.landmark_error)


def test_a_face_that_is_not_seen_again_counts_against_the_release() -> None:
    class SeesNothing:
        name = "blind"

        def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
            return ()

    utility = UtilityProbe(SeesNothing()).measure(FACES, FACES.images)
    assert utility.redetected.hits == 0
    assert utility.redetected.probes == 12
