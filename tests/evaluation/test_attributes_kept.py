"""Attributes before and after a method: kept, turned over, or dealt out anew."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.attributes_kept import attribute_readers, attributes_kept
from evaluation.labels import Attribute

pytestmark = pytest.mark.unit
pytest.importorskip("sklearn", reason="the extra `evaluate` is not installed")

RANDOM = np.random.default_rng(4)
VALUES = RANDOM.integers(0, 2, 80)
ALL = np.ones(80, bool)
PEOPLE = np.arange(80)
FEATURES = np.stack([VALUES, 1 - VALUES], 1).astype(np.float32)
LABELS = [Attribute("beard", ("no", "yes"), VALUES)]
READERS = attribute_readers(FEATURES, LABELS, FEATURES)


def test_untouched_faces_show_what_they_showed() -> None:
    (kept,) = attributes_kept(READERS, FEATURES, ALL, PEOPLE)
    assert (kept.attribute, kept.same.rate, kept.kappa, kept.shift) == ("beard", 1, 1, 0)


def test_attributes_dealt_out_anew_move_faces_and_not_the_crowd() -> None:
    (kept,) = attributes_kept(READERS, FEATURES[RANDOM.permutation(80)], ALL, PEOPLE)
    assert kept.same.rate < 0.7
    assert abs(kept.kappa) < 0.3
    assert kept.shift == 0


def test_one_face_for_everybody_moves_the_crowd() -> None:
    same = np.repeat(FEATURES[:1], 80, axis=0)
    (kept,) = attributes_kept(READERS, same, ALL, PEOPLE)
    assert kept.shift == pytest.approx(1 - (VALUES[0] == VALUES).mean())
    assert kept.kappa == 0


def test_a_part_of_the_people_is_compared_with_itself() -> None:
    part = PEOPLE < 30
    (kept,) = attributes_kept(READERS, FEATURES[part], part, PEOPLE[part])
    assert (kept.same.probes, kept.same.rate) == (30, 1)


def test_an_attribute_that_is_known_of_few_is_not_read() -> None:
    few = [Attribute("beard", ("no", "yes"), np.where(PEOPLE < 15, VALUES, -1))]
    assert attribute_readers(FEATURES, few, FEATURES) == []
