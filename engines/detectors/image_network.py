"""Detection networks that take the image as it lies in memory, at whatever size it has."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Precision, Session
from engines.backends.networks import refuse_giants, stripped
from engines.errors import EngineFault, ModelRejected
from engines.pictures import BgrImage

if TYPE_CHECKING:
    import onnx

__all__ = ["ImageNetwork", "network_from_images"]

_INPUT: Final = "image_bgr"
_MOST_SIZES: Final = 8
_Size = tuple[int, ...]
"""Images, height and width."""
_ANY_SIZE: Final = (0, 0, 0)
_BATCH: Final = 4
"""Images that are run at once: a small one takes little more than half its time so."""
_LEAST_BATCH: Final = 3
"""Images from which a batch takes less time than they do one by one, though it be not full."""
_QUANTISED: Final = frozenset({"DequantizeLinear", "QuantizeLinear"})
_LONGEST_WAIT_S: Final = 20.0
"""How long who needs a size waits for another to compile it; compiling may hang."""


def network_from_images(
    model: bytes, *, is_rgb: bool, mean: float = 0.0, deviation: float = 1.0
) -> bytes:
    """Puts the preparation of the image into the network, where the runtime fuses it.

    Args:
        model: ONNX network with one float input 1×3×H×W.
        is_rgb: the network wants red first; images come with blue first.
        mean: subtracted from every sample, 0…255.
        deviation: divides every sample afterwards.

    Returns:
        ONNX network with one input `image_bgr`, 1×H×W×3 uint8, of any height and width; a network
        that has this input is given back as it is.

    Raises:
        ModelRejected: it is not a sound network with one image input.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    network = onnx.load_model_from_string(stripped(model))
    graph = network.graph
    if len(graph.input) != 1 or len(graph.input[0].type.tensor_type.shape.dim) != 4:
        raise ModelRejected("a detector takes one image, 1×3×height×width; this one does not")
    if graph.input[0].name == _INPUT:
        return model
    _free_resizes(network)
    previous = graph.input[0].name
    constants: dict[str, NDArray[np.generic]] = {
        "image_order": np.array([2, 1, 0], np.int64),
        "image_mean": np.array(mean, np.float32),
        "image_gain": np.array(1 / deviation, np.float32),
    }
    nodes = [
        helper.make_node("Cast", [_INPUT], ["image_float"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["image_float"], ["image_planes"], perm=[0, 3, 1, 2]),
    ]
    if is_rgb:
        nodes.append(
            helper.make_node("Gather", ["image_planes", "image_order"], ["image_rgb"], axis=1)
        )
    if mean:
        nodes.append(helper.make_node("Sub", [nodes[-1].output[0], "image_mean"], ["image_zero"]))
    if deviation != 1.0:
        nodes.append(helper.make_node("Mul", [nodes[-1].output[0], "image_gain"], ["image_unit"]))
    nodes[-1].output[0] = previous
    used = {name for node in nodes for name in node.input}
    graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in constants.items() if name in used
    )
    later = list(graph.node)
    del graph.node[:], graph.input[:], graph.value_info[:]
    graph.node.extend([*nodes, *later])
    image = helper.make_tensor_value_info(_INPUT, TensorProto.UINT8, [1, "height", "width", 3])
    graph.input.append(image)
    for value in graph.output:
        for axis, size in enumerate(value.type.tensor_type.shape.dim):
            size.dim_param = f"{value.name}_{axis}"
    return bytes(network.SerializeToString())


def _free_resizes(network: onnx.ModelProto) -> None:
    """Replaces the fixed sizes of enlargements by factors, in place.

    Exporters that saw one image size write the sizes of every enlarged map into the file,
    and the network then works at that size alone.
    """
    import onnx
    from onnx import numpy_helper

    shaped = onnx.shape_inference.infer_shapes(network).graph
    known = {value.name: value.type.tensor_type.shape.dim for value in shaped.value_info}
    constants = {tensor.name: tensor for tensor in network.graph.initializer}
    for node in network.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    for node in network.graph.node:
        if node.op_type != "Resize" or len(node.input) != 4 or node.input[3] not in constants:
            continue
        before = [size.dim_value for size in known.get(node.input[0], ())]
        after = numpy_helper.to_array(constants[node.input[3]])
        if len(before) != after.size or 0 in before:
            continue
        name = f"{node.output[0]}_factors"
        factors = np.asarray(after / np.array(before), np.float32)
        network.graph.initializer.append(numpy_helper.from_array(factors, name))
        kept = [node.input[0], node.input[1], name]
        del node.input[:]
        node.input.extend(kept)


class ImageNetwork:
    """A network that is loaded once for images of all sizes, or compiled anew for each.

    Loaded once, its weights lie in memory once, and it gives the same to the bit. A network of
    8-bit weights takes a third longer where sizes are open, so it is compiled for each; a video
    has one size, and its tiles another, and the bound keeps a folder of photographs from filling
    the memory.

    Args:
        backend: the runtime.
        model: from `network_from_images`.
        precision: arithmetic.
    """

    def __init__(self, backend: Backend, model: bytes, precision: Precision) -> None:
        self._backend = backend
        self._model = stripped(model)  # once, for however many sizes it is loaded
        self._precision = precision
        self._fixes_sizes = _is_quantised(model)
        self._judged: OrderedDict[_Size, None] = OrderedDict()
        self._sessions: OrderedDict[_Size, Future[Session]] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, image_bgr: BgrImage) -> dict[str, NDArray[np.float32]]:
        """Runs the network on an H×W×3 uint8 image; outputs by name.

        Raises:
            EngineFault: the runtime failed or hangs, or an output holds NaN or infinity.
            ModelRejected: it would take gigabytes for an image of this size.
        """
        session = self._session(1, image_bgr.shape[0], image_bgr.shape[1])
        return session.run({_INPUT: image_bgr[None]})

    def run_all(self, images_bgr: Sequence[BgrImage]) -> list[dict[str, NDArray[np.float32]]]:
        """Runs the network on several images of one size.

        Args:
            images_bgr: H×W×3 uint8 each.

        Returns:
            For each image the outputs by name, without the axis of the batch; the same to the bit
            whether it was alone or not.

        Raises:
            EngineFault, ModelRejected: see `run`.
        """
        answers: list[dict[str, NDArray[np.float32]]] = []
        while len(answers) < len(images_bgr):
            part = images_bgr[len(answers) :][:_BATCH]
            if self._fixes_sizes and len(part) >= _LEAST_BATCH:
                answers += self._run_batch(part)
            else:
                answers.append({name: rows[0] for name, rows in self.run(part[0]).items()})
        return answers

    def _run_batch(self, images_bgr: Sequence[BgrImage]) -> list[dict[str, NDArray[np.float32]]]:
        """Runs the network on a few images, the last of them again until the batch is full."""
        batch = np.stack([*images_bgr, *[images_bgr[-1]] * (_BATCH - len(images_bgr))])
        outputs = self._session(*batch.shape[:3]).run({_INPUT: batch})
        return [
            {name: rows[row] for name, rows in outputs.items()} for row in range(len(images_bgr))
        ]

    def prepare(self, height: int, width: int) -> None:
        """Gets the network ready for a size.

        Raises:
            EngineError: it cannot be.
        """
        self._session(1, height, width)

    def _session(self, count: int, height: int, width: int) -> Session:
        """The session for a size; two of them are compiled side by side, one once."""
        self._judge(count, height, width)
        key = (count, height, width) if self._fixes_sizes else _ANY_SIZE
        with self._lock:
            loading = self._sessions.get(key)
            is_ours = loading is None
            if loading is None:
                loading = self._sessions[key] = Future()
                if len(self._sessions) > _MOST_SIZES:
                    # Dropped, not closed: another thread may be running it.
                    self._sessions.popitem(last=False)
            self._sessions.move_to_end(key)
        if is_ours:
            self._load(key, loading)
        try:
            return loading.result(_LONGEST_WAIT_S)
        except TimeoutError:
            raise EngineFault("the runtime hangs while it compiles a network") from None

    def _judge(self, *size: int) -> None:
        """Refuses a size at which the network would take gigabytes."""
        if size in self._judged:
            return
        refuse_giants(self._model, (*size, 3))
        with self._lock:
            self._judged[size] = None
            if len(self._judged) > _MOST_SIZES:
                self._judged.popitem(last=False)

    def _load(self, key: _Size, loading: Future[Session]) -> None:
        """Fulfils the promise of a session; a size that failed may be tried again."""
        shapes = None if key == _ANY_SIZE else {_INPUT: (*key, 3)}
        try:
            session = self._backend.load(self._model, precision=self._precision, shapes=shapes)
            loading.set_result(session)
        except BaseException as fault:
            with self._lock:
                if self._sessions.get(key) is loading:
                    del self._sessions[key]
            loading.set_exception(fault)


def _is_quantised(model: bytes) -> bool:
    """Whether weights or activations of a network are bytes."""
    import onnx

    graph = onnx.load_model_from_string(model).graph
    return any(node.op_type in _QUANTISED for node in graph.node)
