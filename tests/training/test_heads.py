"""Heads are cut out of pictures as the swap looks around a face."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")
pytest.importorskip("tflite", reason="needs tflite: pip install 'kveil[train]'")

from engines.polar import RAYS, UP
from stream.demo_clip import portrait
from training.heads import SIZE, HeadFinder

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def test_head_of_a_photograph_is_cut_out_with_what_is_around_it() -> None:
    (head,) = HeadFinder().heads(portrait(), "astronaut")
    assert head.image.shape == (SIZE, SIZE, 3)
    assert head.hidden.shape == head.outline.shape == (RAYS,)
    assert (head.hidden > head.outline).all()
    assert 0.3 < head.outline[UP > 0.9].mean() < 0.6
    middle = head.image[SIZE // 2 - 10 : SIZE // 2 + 10, SIZE // 2 - 10 : SIZE // 2 + 10]
    blue, _, red = middle.reshape(-1, 3).mean(axis=0)
    assert red > blue + 20, "the face is in the middle"
    assert 0.3 < head.known.mean() < 1
    assert not head.image[head.known == 0].any()


def test_part_of_a_picture_that_shows_nothing_is_left_black() -> None:
    image = portrait()
    known = np.ones(image.shape[:2], np.uint8)
    known[:, 300:] = 0
    (head,) = HeadFinder().heads(image, "astronaut", known)
    assert not head.image[head.known == 0].any()
    assert head.known[:, -20:].mean() < 0.1


def test_small_faces_are_left_out() -> None:
    assert not list(HeadFinder().heads(np.ascontiguousarray(portrait()[::4, ::4]), "small"))
