"""Small networks and packs for the tests of this folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from engines.stylegan.pack import FORMAT, MANIFEST


def network(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[str | int]],
    outputs: Mapping[str, Sequence[str | int]],
    weights: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
    opset: int = 18,
) -> bytes:
    """A serialized float32 network."""
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return bytes(model.SerializeToString())


def small_generator(gain: float = 1.0) -> bytes:
    """`latents` [N, 2, 8] to `image` [N, 3, 4, 4]: a product of the latents with noise."""
    weight = np.random.default_rng(0).standard_normal((16, 48)).astype(np.float32) * gain
    return network(
        [
            helper.make_node("Flatten", ["latents"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weight"], ["planes"]),
            helper.make_node("Reshape", ["planes", "shape"], ["image"]),
        ],
        {"latents": ["n", 2, 8]},
        {"image": ["n", 3, 4, 4]},
        {"weight": weight, "shape": np.array([-1, 3, 4, 4], np.int64)},
    )


def write_pack(folder: Path, files: Mapping[str, bytes], kind: str = "generator") -> Path:
    """A pack with right hashes."""
    folder.mkdir(parents=True)
    entries = {}
    for name, content in files.items():
        (folder / name).write_bytes(content)
        entries[name] = {"sha256": hashlib.sha256(content).hexdigest()}
    manifest = {"format": FORMAT, "name": folder.name, "kind": kind, "files": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder
