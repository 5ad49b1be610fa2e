"""A backend made of a function, for tests and planted faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engines.backends.answers import checked, faults_told
from engines.backends.backend import Precision, Tensors, TensorSpec
from engines.backends.networks import stripped
from engines.errors import EngineFault, ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = ["Answer", "Fake", "FakeSession"]

Answer = Callable[[Tensors], Mapping[str, NDArray[np.generic]]]


class FakeSession:
    """A network that is a function.

    Args:
        answer: gives one array per output, by name; whatever it raises becomes an
            `EngineFault`, as with real runtimes.
        inputs: what it says it takes.
        outputs: what it says it gives.

    >>> twice = FakeSession(lambda tensors: {"y": tensors["x"] * 2})
    >>> twice.run({"x": np.array([3.0], np.float32)})["y"].tolist()
    [6.0]
    """

    def __init__(
        self,
        answer: Answer,
        inputs: tuple[TensorSpec, ...] = (),
        outputs: tuple[TensorSpec, ...] = (),
    ) -> None:
        self.precision: Precision = "fp32"
        self.inputs = inputs
        self.outputs = outputs
        self._answer: Answer | None = answer

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Calls the function; see `Session.run`."""
        answer = self._answer
        if answer is None:
            raise EngineFault("this engine was closed; load the network again")
        with faults_told("the fake engine"):
            return checked(answer(tensors))

    def close(self) -> None:
        """Refuses further runs."""
        self._answer = None


class Fake:
    """Loads any sound ONNX network and answers for it with a function.

    Args:
        answer: stands in for every network that is loaded; where None, ONNX's reference
            evaluator computes the real result, slowly and without any runtime.
    """

    def __init__(self, answer: Answer | None = None) -> None:
        self._answer = answer

    @property
    def name(self) -> str:
        """`fake`."""
        return "fake"

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> FakeSession:
        """Loads an ONNX network; see `Backend.load`. Every precision runs as fp32."""
        import onnx

        network = onnx.load_model_from_string(stripped(model))
        inputs = tuple(_spec(value) for value in network.graph.input)
        outputs = tuple(_spec(value) for value in network.graph.output)
        fixed = shapes or {}
        inputs = tuple(
            TensorSpec(spec.name, fixed.get(spec.name, spec.shape), spec.dtype) for spec in inputs
        )
        return FakeSession(self._answer or _reference(network), inputs, outputs)


def _reference(network: onnx.ModelProto) -> Answer:
    from onnx.reference import ReferenceEvaluator

    try:
        evaluator = ReferenceEvaluator(network)
    except Exception as fault:
        raise ModelRejected("ONNX's reference evaluator cannot read this network") from fault
    names = [value.name for value in network.graph.output]

    def answer(tensors: Tensors) -> Mapping[str, NDArray[np.generic]]:
        return dict(zip(names, evaluator.run(names, dict(tensors)), strict=True))

    return answer


def _spec(value: onnx.ValueInfoProto) -> TensorSpec:
    import onnx

    kind = value.type.tensor_type
    shape = tuple(size.dim_value if size.HasField("dim_value") else None for size in kind.shape.dim)
    return TensorSpec(value.name, shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
