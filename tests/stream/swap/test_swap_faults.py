"""A generator that fails at first: the face is covered, counted, and swapped later."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors
from engines.blending.compositor import Composite
from engines.face.swapper import Swapper
from stream.swap.swapping import SwapEveryFace
from tests.engines.stylegan.faces import (
    drawn_face,
    generator_session,
    landmark_session,
    shape_model,
    texture_frame,
)
from tests.stream.pipeline.test_anonymizer import (
    ScriptedDetector,
    anonymizer,
    assert_every_face_hidden,
    frames,
    run,
    seen,
)
from tests.stream.swap.test_swapping import Lender, RowEmbedder

pytestmark = pytest.mark.unit

FRAMES = 30


class FailingGenerator:
    """Paints noise, and what it was told to until its third try."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.calls = 0

    def __call__(self, tensors: Tensors) -> dict[str, NDArray[np.generic]]:
        self.calls += 1
        shape = (len(tensors["latents"]), 3, 64, 64)
        texture = np.random.default_rng(2).uniform(-0.6, 0.6, shape)
        if self.calls <= 3:
            if self.fault == "raises":
                raise RuntimeError("planted")
            texture[:] = {"nan": np.nan, "blank": 0.1, "infinite": np.inf}[self.fault]
        return {"texture": texture.astype(np.float32)}


def composites(generator: FailingGenerator) -> tuple[list[Composite], dict[str, int], int]:
    """The stream's output, its covers by cause, and the number of swapped faces."""
    networks = landmark_session(drawn_face()), generator_session(generator)
    painter = Swapper(*networks, shape_model(), texture_frame())
    subject = anonymizer(ScriptedDetector(seen), SwapEveryFace(painter, RowEmbedder(), Lender()))
    made = run(subject, frames(FRAMES))
    faces = subject.tally.faces()
    return made, dict(faces.covered_by_cause), faces.swapped


@pytest.mark.parametrize("fault", ["nan", "blank", "infinite", "raises"])
def test_fault_is_covered_and_counted_and_tried_again(fault: str) -> None:
    made, causes, swapped = composites(FailingGenerator(fault))
    assert_every_face_hidden(made)
    assert causes["engine_fault"] == 3
    assert swapped == FRAMES - sum(causes.values())
    assert swapped >= FRAMES - 6


def test_same_frames_leave_the_same_pixels() -> None:
    first, second = (composites(FailingGenerator("nan"))[0] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        for plane, same in zip(one.picture.planes, other.picture.planes, strict=True):
            assert np.array_equal(plane, same)
