"""A generator that fails in mid-stream: the face is covered, counted, and swapped again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors
from engines.compositor import Composite
from engines.swapper import Swapper
from stream.swapping import SwapEveryFace
from tests.engines.stylegan.faces import (
    drawn_face,
    generator_session,
    landmark_session,
    renderer_session,
    shape_model,
    texture_frame,
)
from tests.stream.test_anonymizer import (
    ScriptedDetector,
    anonymizer,
    assert_every_face_hidden,
    frames,
    run,
    seen,
)
from tests.stream.test_swapping import Lender, RowEmbedder

pytestmark = pytest.mark.unit

FRAMES = 30


class FailingRenderer:
    """Paints noise, and what it was told to from its third picture to its fifth."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.calls = 0

    def __call__(self, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
        self.calls += 1
        shape = (len(tensors["texture"]), 3, 64, 64)
        image = np.random.default_rng(2).uniform(-0.6, 0.6, shape)
        if 3 <= self.calls <= 5:
            if self.fault == "raises":
                raise RuntimeError("planted")
            image[:] = {"nan": np.nan, "blank": 0.1, "infinite": np.inf}[self.fault]
        return {"image": image.astype(np.float32)}


def composites(renderer: FailingRenderer) -> tuple[list[Composite], dict[str, int], int]:
    """The stream's output, its covers by cause, and the number of swapped faces."""
    painter = Swapper(
        landmark_session(drawn_face()),
        generator_session(),
        renderer_session(renderer),
        shape_model(),
        texture_frame(),
    )
    subject = anonymizer(ScriptedDetector(seen), SwapEveryFace(painter, RowEmbedder(), Lender()))
    made = run(subject, frames(FRAMES))
    faces = subject.tally.faces()
    return made, dict(faces.covered_by_cause), faces.swapped


@pytest.mark.parametrize("fault", ["nan", "blank", "infinite", "raises"])
def test_fault_in_mid_stream_is_covered_and_counted(fault: str) -> None:
    made, causes, swapped = composites(FailingRenderer(fault))
    assert_every_face_hidden(made)
    assert causes["engine_fault"] == 3
    assert swapped == FRAMES - sum(causes.values())
    assert swapped >= FRAMES - 6


def test_same_frames_leave_the_same_pixels() -> None:
    first, second = (composites(FailingRenderer("nan"))[0] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        for plane, same in zip(one.picture.planes, other.picture.planes, strict=True):
            assert np.array_equal(plane, same)
