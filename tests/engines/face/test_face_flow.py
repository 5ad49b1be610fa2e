"""Landmarks that come along with their pixels, however those move."""

from __future__ import annotations

import numpy as np
import pytest

from engines.face.face_flow import FaceFlow
from engines.face.face_look import Look, points_in_frame
from engines.pictures import picture_from_bgr
from tests.engines.face.moving_pictures import SIDE, shift, shown, textured
from tests.engines.stylegan.faces import drawn_look

pytestmark = pytest.mark.unit


def test_landmarks_move_as_their_pixels_do_and_come_back() -> None:
    flow, image = FaceFlow(), textured()
    places = [(0.0, 0.0), (5.3, -7.1), (-4.6, 6.2), (9.4, 2.5)]
    looks = [drawn_look(index, x=100 + x, y=90 + y) for index, (x, y) in enumerate(places)]
    for look, place in zip(looks, places, strict=True):
        flow.add(look, shown(image, shift(*place)))
    for source, target in ((0, 3), (3, 0), (1, 2)):
        start = points_in_frame(looks[source])[:, :2]
        carried = flow.carried(start, source, target)
        assert carried is not None
        wanted = start + np.subtract(places[target], places[source])
        assert np.abs(carried - wanted).mean() < 0.15


def test_pixels_tell_where_landmarks_do_not() -> None:
    """The eyes were read 2 px beside their place: the pixels still say how far they went."""
    flow, image = FaceFlow(), textured()
    for index, (error, place) in enumerate([(0.0, 0.0), (2.0, 6.0)]):
        look = drawn_look(index, x=100 + place + error, y=90)
        flow.add(look, shown(image, shift(place, 0)))
    start = points_in_frame(drawn_look(0, x=100, y=90))[:, :2]
    carried = flow.carried(start, 0, 1)
    assert carried is not None
    assert np.abs(carried - start - [6, 0]).mean() < 0.2


def test_a_face_is_alike_where_its_pixels_come_along_and_not_where_another_came_before_it() -> None:
    """The planted fault: whoever came before a face passed for it."""
    flow, image = FaceFlow(), textured()
    pictures = [
        shown(image, shift(0, 0)),
        shown(image, shift(6, 2)),
        shown(textured(3), shift(6, 2)),
    ]
    for index, picture in enumerate(pictures):
        flow.add(drawn_look(index, x=100 + 6 * min(index, 1), y=90 + 2 * min(index, 1)), picture)
    assert flow.likeness(0, 1) > 0.95
    assert flow.likeness(1, 2) < 0.6
    assert flow.likeness(0, 7) == 0


def test_frames_that_were_not_looked_at_or_are_forgotten_carry_nothing() -> None:
    flow, image = FaceFlow(), textured()
    looks = [drawn_look(index, x=100, y=90) for index in range(3)]
    for look in looks:
        flow.add(look, shown(image, shift(0, 0)))
    points = points_in_frame(looks[0])[:, :2]
    assert flow.carried(points, 0, 7) is None
    assert flow.carried(points, 0, 2) is not None
    flow.keep({1, 2})
    assert flow.carried(points, 0, 2) is None
    assert not any(0 in pair for pair in flow._flows)


def test_a_blank_picture_leaves_landmarks_where_they_are() -> None:
    flow = FaceFlow()
    blank = picture_from_bgr(np.full((SIDE, SIDE, 3), 90, np.uint8))
    looks: list[Look] = [drawn_look(index, x=100, y=90) for index in range(2)]
    for look in looks:
        flow.add(look, blank)
    points = points_in_frame(looks[0])[:, :2]
    carried = flow.carried(points, 0, 1)
    assert carried is not None
    assert np.allclose(carried, points, atol=1e-2)
