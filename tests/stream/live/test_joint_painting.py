from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.swapper import Control, Rendered
from stream.live.joint_painting import JointPainter

pytestmark = pytest.mark.unit


class Palette:
    """Paints each face in the shade of its latent, and notes how many came together."""

    size = 4
    sizes = (2, 4)

    def __init__(self) -> None:
        self.together: list[int] = []
        self.contrasts = np.empty(0, np.float32)

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        shade = crops.reshape(len(crops), -1).mean(axis=1).astype(np.float32)
        points = np.broadcast_to(shade[:, None, None], (len(crops), 2, 3)).copy()
        light = np.zeros((len(crops), 2, 4, 4, 3), np.float32)
        occlusion = np.broadcast_to(shade[:, None, None], (len(crops), 8, 8)).copy()
        openness = np.stack([shade / 255, shade / 510], axis=1)
        contrast = shade / 100 if is_lit else None
        return Control(points, light, shade, occlusion, contrast, openness)

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        side = size or self.size
        self.together.append(len(latents))
        assert control.contrast is not None
        self.contrasts = control.contrast
        shade = latents[:, 0, 0]
        pixels = np.broadcast_to(shade[:, None, None, None], (len(latents), side, side, 3)).copy()
        alpha = np.ones((len(latents), side, side), np.float32)
        identity = np.broadcast_to(shade[:, None, None], (len(latents), 3, 2)).copy()
        return Rendered(pixels, alpha, identity, control.doubt < 100)


def test_faces_of_two_streams_are_painted_together_and_come_back_apart() -> None:
    palette = Palette()
    painter = JointPainter(palette, wait_s=2.0, deadline_s=10.0)
    results: dict[int, Rendered] = {}
    controls: dict[int, Control] = {}

    def one_stream(shade: int, faces: int) -> None:
        crops = np.full((faces, 4, 4, 3), shade, np.uint8)
        told = controls[shade] = painter.read(crops, is_lit=False)
        control = replace(told, contrast=np.full(faces, shade / 100, np.float32))
        latents = np.full((faces, 2, 512), shade, np.float32)
        results[shade] = painter.paint(control, latents)

    streams = [threading.Thread(target=one_stream, args=pair) for pair in ((7, 8), (200, 8))]
    for thread in streams:
        thread.start()
    for thread in streams:
        thread.join(20.0)
    assert palette.together == [16]
    assert painter.faces_per_run == 16
    assert sorted(palette.contrasts) == pytest.approx([0.07] * 8 + [2.0] * 8)
    for shade, control in controls.items():
        assert control.occlusion is not None
        assert (control.occlusion == shade).all()
        assert control.openness is not None
        assert np.allclose(control.openness, [shade / 255, shade / 510])
        assert control.contrast is None
    assert (results[7].pixels == 7).all()
    assert results[7].is_usable.all()
    assert (results[200].pixels == 200).all()
    assert (results[7].identity == 7).all()
    assert (results[200].identity == 200).all()
    assert not results[200].is_usable.any()
    assert results[7].pixels.shape == (8, 4, 4, 3)


def test_small_faces_are_painted_small() -> None:
    palette = Palette()
    painter = JointPainter(palette, wait_s=0.0, deadline_s=10.0)
    assert painter.sizes == (2, 4)
    control = painter.read(np.full((3, 4, 4, 3), 9, np.uint8))
    made = painter.paint(control, np.full((3, 2, 512), 9, np.float32), 2)
    assert made.pixels.shape == (3, 2, 2, 3)
    painter.paint(control, np.full((3, 2, 512), 9, np.float32))
    assert painter.faces_per_run == 3
