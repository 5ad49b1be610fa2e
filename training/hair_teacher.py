"""MediaPipe's hair network, run in torch: it labels what ours learns from.

It is read from its TensorFlow Lite file (Tkachenka et al. 2019, "Real-time Hair Segmentation and
Recoloring on Mobile GPUs"). Three of its operations are MediaPipe's own, which no runtime here has:
pooling that keeps where its maxima were, unpooling by these, and a transposed convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
import numpy.typing as npt
import tflite
import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["HAIR_FILE", "HairTeacher"]

HAIR_FILE: Final = "mediapipe_hair_segmentation.tflite"
_SIZE: Final = 512
_ROUNDS: Final = 2
"""How often it looks; each time it is shown what it found before, as in a video."""
_TYPES: Final = {0: np.float32, 1: np.float16, 2: np.int32}
_SAME: Final = 0
"""Padding that keeps the size, in the file's terms."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Step:
    """One operation: its name, the tensors it reads and writes, and what it is told."""

    name: str
    reads: list[int]
    writes: list[int]
    told: dict[str, Any]


class HairTeacher:
    """Marks hair in pictures of heads.

    Args:
        path: of the network's file.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        model = tflite.Model.GetRootAsModel(content, 0)
        graph = model.Subgraphs(0)
        self._weights = _weights(model, graph)
        self._steps = [_step(model, graph.Operators(at)) for at in range(graph.OperatorsLength())]
        self._first = int(graph.InputsAsNumpy()[0])
        self._last = int(graph.OutputsAsNumpy()[0])

    @torch.no_grad()
    def hair(self, images: Sequence[UInt8]) -> Float32:
        """How surely a place shows hair, in [0, 1].

        Args:
            images: N of uint8[S, S, 3] BGR.

        Returns:
            float32[N, S, S].
        """
        side = len(images[0])
        wide = [cv2.resize(one, (_SIZE, _SIZE), interpolation=cv2.INTER_CUBIC) for one in images]
        seen = np.stack(wide)[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / 255
        picture = torch.from_numpy(np.ascontiguousarray(seen))
        found = torch.zeros(len(images), 1, _SIZE, _SIZE)
        for _ in range(_ROUNDS):
            found = self._run(torch.cat([picture, found], dim=1)).softmax(1)[:, 1:]
        small = functional.interpolate(found, (side, side), mode="area")
        return np.asarray(small[:, 0].numpy(), np.float32)

    def _run(self, fed: Tensor) -> Tensor:
        known = {self._first: fed}
        for step in self._steps:
            _take(step, known, self._weights)
        return known[self._last]


def _take(step: _Step, known: dict[int, Tensor], weights: dict[int, Tensor]) -> None:
    """Compute one step's tensors into `known`."""
    x = known[step.reads[0]]
    match step.name:
        case "CONV_2D" | "DEPTHWISE_CONV_2D":
            made = _convolved(step, x, weights)
        case "PRELU":
            made = torch.where(x >= 0, x, x * weights[step.reads[1]].reshape(1, -1, 1, 1))
        case "ADD":
            made = x + known[step.reads[1]]
        case "CONCATENATION":
            made = torch.cat([known[at] for at in step.reads], dim=1)
        case "MaxPoolingWithArgmax2D":
            made, known[step.writes[1]] = functional.max_pool2d(x, 2, 2, return_indices=True)
        case "MaxUnpooling2D":
            made = functional.max_unpool2d(x, known[step.reads[1]], 2, 2)
        case "Convolution2DTransposeBias":
            kernel = weights[step.reads[1]].permute(3, 0, 1, 2).contiguous()
            made = functional.conv_transpose2d(x, kernel, weights[step.reads[2]], stride=2)
            made = made[:, :, : 2 * x.shape[2], : 2 * x.shape[3]]
        case _:
            raise ValueError(f"the hair network has a step {step.name}; use {HAIR_FILE}")
    known[step.writes[0]] = made


def _convolved(step: _Step, x: Tensor, weights: dict[int, Tensor]) -> Tensor:
    kernel, bias = weights[step.reads[1]], weights[step.reads[2]]
    is_deep = step.name == "CONV_2D"
    kernel = kernel.permute(0, 3, 1, 2) if is_deep else kernel.permute(3, 0, 1, 2)
    stride, dilation = step.told["stride"], step.told["dilation"]
    if step.told["padding"] == _SAME:
        pads: list[int] = []
        for axis in (1, 0):
            reach = (kernel.shape[2 + axis] - 1) * dilation[axis] + 1
            size = x.shape[2 + axis]
            total = max((-(-size // stride[axis]) - 1) * stride[axis] + reach - size, 0)
            pads += [total // 2, total - total // 2]
        x = functional.pad(x, pads)
    groups = 1 if is_deep else x.shape[1]
    return functional.conv2d(x, kernel.contiguous(), bias, stride, 0, dilation, groups)


def _weights(model: Any, graph: Any) -> dict[int, Tensor]:
    """The tensors that the file holds, float32, by number."""
    held = {}
    for at in range(graph.TensorsLength()):
        tensor = graph.Tensors(at)
        buffer = model.Buffers(tensor.Buffer())
        if buffer.DataLength():
            values = np.frombuffer(buffer.DataAsNumpy().tobytes(), _TYPES[tensor.Type()])
            shaped = values.reshape(tensor.ShapeAsNumpy()).astype(np.float32)
            held[at] = torch.from_numpy(shaped)
    return held


def _step(model: Any, operator: Any) -> _Step:
    code = model.OperatorCodes(operator.OpcodeIndex())
    names = {value: name for name, value in vars(tflite.BuiltinOperator).items()}
    name = str(names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())])
    if name == "CUSTOM":
        name = code.CustomCode().decode()
    told: dict[str, Any] = {}
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        said = tflite.Conv2DOptions() if name == "CONV_2D" else tflite.DepthwiseConv2DOptions()
        said.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
        told = {
            "padding": said.Padding(),
            "stride": (said.StrideH(), said.StrideW()),
            "dilation": (said.DilationHFactor(), said.DilationWFactor()),
        }
    reads, writes = operator.InputsAsNumpy().tolist(), operator.OutputsAsNumpy().tolist()
    return _Step(name, reads, writes, told)
