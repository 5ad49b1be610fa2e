"""Portraits of the bundled generator, and networks in the imported form that paint them."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from engines.backends.openvino import OpenVino
from engines.face.swapper import Control
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from tests.engines.models.packs import network

UInt8 = npt.NDArray[np.uint8]

_SIDE = 384


@cache
def portraits(count: int) -> tuple[UInt8, ...]:
    """The first bundled donors at rest before a grey wall, uint8[384, 384, 3] BGR each."""
    swapper, _ = swapper_from_pack(OpenVino(threads=1))
    latents = donor_latents(read_pack(bundled_pack()), count)
    rest = points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))
    light = np.zeros((count, 2, 4, 4, 3), np.float32)
    control = Control(np.repeat(rest, count, axis=0), light, np.zeros(count, np.float32))
    return tuple(_before_wall(one) for one in swapper.paint(control, latents).pixels)


def _before_wall(face: npt.NDArray[np.float32]) -> UInt8:
    wall = np.full((_SIDE, _SIDE, 3), 128, np.uint8)
    edge = (_SIDE - len(face)) // 2
    wall[edge : edge + len(face), edge : edge + len(face)] = np.rint(face)
    return wall


def painting_network(pictures: tuple[UInt8, ...]) -> dict[str, bytes]:
    """`mapping.onnx` and `synthesis.onnx` of a network that knows so many pictures."""
    known, side = len(pictures), len(pictures[0])
    levels = np.stack([one[:, :, ::-1].transpose(2, 0, 1) for one in pictures])
    mapping = network(
        [
            helper.make_node("Mul", ["z", "psi"], ["w"]),
            helper.make_node("Unsqueeze", ["w", "axis"], ["once"]),
            helper.make_node("Tile", ["once", "times"], ["latents"]),
        ],
        {"z": ["n", known], "psi": [1]},
        {"latents": ["n", 2, known]},
        {"axis": np.array([1]), "times": np.array([1, 2, 1])},
    )
    synthesis = network(
        [
            helper.make_node("Gather", ["latents", "first"], ["w"], axis=1),
            helper.make_node("ArgMax", ["w"], ["which"], axis=1, keepdims=0),
            helper.make_node("Gather", ["pictures", "which"], ["levels"], axis=0),
            helper.make_node("Cast", ["levels"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("Div", ["floats", "half"], ["shares"]),
            helper.make_node("Sub", ["shares", "one"], ["image"]),
        ],
        {"latents": ["n", 2, known]},
        {"image": ["n", 3, side, side]},
        {
            "first": np.array(0),
            "pictures": levels,
            "half": np.array([127.5], np.float32),
            "one": np.array([1], np.float32),
        },
    )
    return {"mapping.onnx": mapping, "synthesis.onnx": synthesis}
