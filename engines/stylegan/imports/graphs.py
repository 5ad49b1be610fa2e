"""Writes ONNX graphs node by node: constants, convolutions, the pieces that layers share."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.imports.networks import Dense, Float32
from engines.stylegan.modulation import EPSILON

if TYPE_CHECKING:
    import onnx

__all__ = ["BATCH", "GraphWriter"]

BATCH: Final = "batch"
_OPSET: Final = 18
_IR_VERSION: Final = 8
_SLOPE: Final = 0.2
Attribute = int | float | str | list[int]


class GraphWriter:
    """A graph in the making; every method adds nodes and gives the name of their result."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._names: dict[bytes, str] = {}

    def node(self, kind: str, *inputs: str, **attributes: Attribute) -> str:
        """Add one node."""
        from onnx import helper

        name = f"{kind}_{len(self._nodes)}"
        made = helper.make_node(kind, list(inputs), [name], name)
        made.attribute.extend(helper.make_attribute(key, v) for key, v in attributes.items())
        self._nodes.append(made)
        return name

    def constant(self, values: npt.ArrayLike, kind: type[np.generic] = np.float32) -> str:
        """Add a constant; equal ones are stored once."""
        from onnx import numpy_helper

        array = np.array(values, kind, order="C")
        key = repr((array.shape, array.dtype.str)).encode() + array.tobytes()
        if key not in self._names:
            self._names[key] = f"constant_{len(self._names)}"
            self._constants.append(numpy_helper.from_array(array, self._names[key]))
        return self._names[key]

    def scaled(self, x: str, factor: float) -> str:
        """Multiply by a number."""
        return x if factor == 1 else self.node("Mul", x, self.constant(factor))

    def dense(self, layer: Dense, x: str) -> str:
        """A fully connected layer on [N, I]."""
        weight, bias = self.constant(layer.weight.T), self.constant(layer.bias)
        return self.node("Gemm", x, weight, bias)

    def latent(self, latents: str, number: int) -> str:
        """One latent [N, W] of [N, L, W]."""
        return self.node("Gather", latents, self.constant(number, np.int64), axis=1)

    def planes(self, x: str) -> str:
        """[N, C] as [N, C, 1, 1]."""
        return self.node("Unsqueeze", x, self.constant([2, 3], np.int64))

    def root_inverse(self, x: str) -> str:
        """1 / sqrt(x + epsilon)."""
        return self.node(
            "Reciprocal", self.node("Sqrt", self.node("Add", x, self.constant(EPSILON)))
        )

    def demodulation(self, style: str, kernel: Float32, gain: float = 1.0) -> str:
        """Factors [N, O, 1, 1] that give each output channel unit variance, times `gain`.

        Args:
            style: [N, I].
            kernel: float32[O, I, K, K].
            gain: factor.
        """
        energy = np.square(kernel.astype(np.float64)).sum(axis=(2, 3)).T
        squares = self.node("Mul", style, style)
        factors = self.root_inverse(self.node("MatMul", squares, self.constant(energy)))
        return self.planes(self.scaled(factors, gain))

    def filtered(
        self, x: str, taps: Float32, channels: int, down: int, padding: tuple[int, int]
    ) -> str:
        """Convolve each channel with a filter, keeping every `down`-th value.

        Args:
            x: [N, C, H, W].
            taps: float32[T] separable or float32[T, T].
            channels: C.
            down: step.
            padding: zeros before and after, not negative.
        """
        low, high = padding
        if taps.ndim == 2:
            weight = np.repeat(taps[None, None, ::-1, ::-1], channels, axis=0)
            return self.node(
                "Conv", x, self.constant(weight), group=channels, strides=[down, down],
                pads=[low, low, high, high],
            )  # fmt: skip
        row = np.repeat(taps[None, None, None, ::-1], channels, axis=0)
        x = self.node(
            "Conv", x, self.constant(row), group=channels, strides=[1, down],
            pads=[0, low, 0, high],
        )  # fmt: skip
        return self.node(
            "Conv", x, self.constant(row.transpose(0, 1, 3, 2)), group=channels,
            strides=[down, 1], pads=[low, 0, high, 0],
        )  # fmt: skip

    def upsampled(
        self, x: str, taps: Float32, channels: int, up: int, padding: tuple[int, int]
    ) -> str:
        """Insert zeros, pad or cut, and convolve each channel with a filter.

        Args:
            x: [N, C, H, W].
            taps: float32[T] separable or float32[T, T], gain included.
            channels: C.
            up: factor.
            padding: zeros before and after at the high rate; negative cuts off.
        """
        size = len(taps)
        # A transposed convolution gives every place that the filter touches.
        cuts = (size - 1 - padding[0], size - up - padding[1])
        low, high = (max(cut, 0) for cut in cuts)
        if taps.ndim == 2:
            weight = np.repeat(taps[None, None], channels, axis=0)
            x = self.node(
                "ConvTranspose", x, self.constant(weight), group=channels, strides=[up, up],
                pads=[low, low, high, high],
            )  # fmt: skip
        else:
            row = np.repeat(taps[None, None, None], channels, axis=0)
            x = self.node(
                "ConvTranspose", x, self.constant(row), group=channels, strides=[1, up],
                pads=[0, low, 0, high],
            )  # fmt: skip
            x = self.node(
                "ConvTranspose", x, self.constant(row.transpose(0, 1, 3, 2)), group=channels,
                strides=[up, 1], pads=[low, 0, high, 0],
            )  # fmt: skip
        if min(cuts) >= 0:
            return x
        low, high = (max(-cut, 0) for cut in cuts)
        return self.node("Pad", x, self.constant([0, 0, low, low, 0, 0, high, high], np.int64))

    def rectified(self, x: str) -> str:
        """Leaky ReLU of slope 0.2, without gain."""
        return self.node("LeakyRelu", x, alpha=_SLOPE)

    def clamped(self, x: str, bound: float | None) -> str:
        """Keep within plus and minus `bound`."""
        if bound is None:
            return x
        return self.node("Clip", x, self.constant(-bound), self.constant(bound))

    def written(
        self,
        name: str,
        inputs: AnyMapping[str, list[int | str]],
        outputs: AnyMapping[str, tuple[str, list[int | str]]],
    ) -> bytes:
        """The checked network.

        Args:
            name: of the graph.
            inputs: shape by name; a word is a free size.
            outputs: the result and its shape by name.
        """
        import onnx
        from onnx import TensorProto, helper

        nodes = list(self._nodes)
        for wanted, (result, _) in outputs.items():
            nodes.append(helper.make_node("Identity", [result], [wanted], wanted))
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
            [
                helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
                for n, (_, s) in outputs.items()
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(
            graph, producer_name="kveil", ir_version=_IR_VERSION, opset_imports=opsets
        )
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
