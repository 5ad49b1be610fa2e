"""Write the trained networks as a model pack: `python -m training.export`.

Each network becomes one ONNX file with float16 weights that are widened on load, so that the
pack stays small and every runtime computes in the precision it was asked for. The manifest
states each file's hash, inputs, outputs and measured parity.
"""

import argparse
import hashlib
import io
import json
import logging
import warnings
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from engines.stylegan.control import LIGHT_SIZE, MAP_CHANNELS, MAP_SIZE
from engines.stylegan.shape import canonical_from_points, pose_from_points
from training.checkpoint import load_full, load_small
from training.data import Crops
from training.landmarker import SIZE, Landmarker
from training.networks import CODE, LATENT, Encoder, Generator, Mapping, ModulatedConv

OPSET: Final = 18
DONORS: Final = 1024
RIDGE: Final = 1.0

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


class ControlEncoder(nn.Module):
    """Crop float[N, 3, 128, 128] RGB in [-1, 1] -> w+ latents float[N, L, LATENT]."""

    def __init__(self, encoder: Encoder, mapping: Mapping, layers: int) -> None:
        super().__init__()
        self.encoder, self.mapping, self.layers = encoder, mapping, layers

    def forward(self, image: Tensor) -> Tensor:
        """See the class."""
        latents: Tensor = self.mapping(self.encoder(image))[:, None].expand(-1, self.layers, -1)
        return latents


def onnx_from_module(
    net: nn.Module, inputs: dict[str, Tensor], outputs: list[str]
) -> onnx.ModelProto:
    """Trace `net` with a dynamic batch axis and store its weights as float16."""
    buffer = io.BytesIO()
    axes = {name: {0: "batch"} for name in [*inputs, *outputs]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net.eval(),
            tuple(inputs.values()),
            buffer,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return with_half_weights(onnx.load_from_string(buffer.getvalue()))


def with_half_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Keep large float32 weights as float16 behind a Cast; runtimes fold it on load."""
    casts = []
    for weight in model.graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < 256:
            continue
        half = numpy_helper.to_array(weight).astype(np.float16)
        name = weight.name
        weight.CopyFrom(numpy_helper.from_array(half, f"{name}_half"))
        casts.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.producer_name, model.producer_version, model.doc_string = "kveil", "", ""
    onnx.checker.check_model(model)
    return model


def load_nets(run: Path) -> tuple[Generator, Mapping, Encoder, dict[str, float]]:
    """Load the averaged networks of a run, from its full or its small checkpoint."""
    if (run / "full.pt").exists():
        state = load_full(run / "full.pt", torch.device("cpu"))
        weights: dict[str, Tensor] = state["nets"]  # type: ignore[assignment]
        facts: dict[str, float] = state["facts"]  # type: ignore[assignment]
    else:
        weights, facts = load_small(run / "small")
    generator = Generator(int(facts["size"]))
    nets: dict[str, nn.Module] = {"g_ema": generator, "m_ema": Mapping(), "e_ema": Encoder()}
    for name, net in nets.items():
        own = {k[len(name) + 1 :]: v for k, v in weights.items() if k.startswith(f"{name}.")}
        net.load_state_dict(own)
        net.eval().requires_grad_(False)
    return generator, nets["m_ema"], nets["e_ema"], facts


def encode_all(encoder: Encoder, mapping: Mapping, crops: Crops) -> Float32:
    """Return w of every crop of the split, float32[N, LATENT]."""
    with torch.no_grad():
        parts = crops.rows.split(128)
        found = [mapping(encoder(crops.at(rows, 64).image)).numpy() for rows in parts]
    return np.concatenate(found)


def shape_share(w: Float32, points: Float32, arrays: dict[str, Float32]) -> Float32:
    """Ridge regression from w to identity shape, float32[LATENT + 1, J]."""
    shapes = canonical_from_points(points, pose_from_points(points, arrays["mean"]))
    flat = (shapes - arrays["mean"]).reshape(len(points), -1)
    wanted = (flat @ arrays["identity"].T).astype(np.float64)
    design = np.concatenate([w, np.ones((len(w), 1), np.float32)], axis=1).astype(np.float64)
    penalty = RIDGE * len(w) * 1e-3 * np.diag(np.r_[w.var(axis=0), 0.0])
    solved = np.linalg.solve(design.T @ design + penalty, design.T @ wanted)
    return np.asarray(solved, np.float32)


def export(run: Path, landmarker: Path, shape: Path, data: Path, out: Path) -> None:
    """Write the pack."""
    out.mkdir(parents=True, exist_ok=True)
    generator, mapping, encoder, facts = load_nets(run)
    finder = Landmarker()
    finder.load_state_dict(load_full(landmarker, torch.device("cpu"))["net"])
    for module in generator.modules():
        if isinstance(module, ModulatedConv):
            module.freeze()
    latents = torch.randn(2, generator.layers, LATENT)
    image = torch.randn(2, 3, SIZE, SIZE)
    jobs: dict[str, tuple[nn.Module, dict[str, Tensor], list[str]]] = {
        "generator": (
            generator,
            {
                "latents": latents,
                "maps": torch.rand(2, MAP_CHANNELS, MAP_SIZE, MAP_SIZE),
                "light": torch.rand(2, 3, LIGHT_SIZE, LIGHT_SIZE),
            },
            ["image"],
        ),
        "mapping": (mapping, {"code": torch.randn(2, CODE)}, ["w"]),
        "encoder": (
            ControlEncoder(encoder, mapping, generator.layers),
            {"image": image},
            ["latents"],
        ),
        "landmarker": (finder, {"image": image}, ["points", "spread"]),
    }
    for name, (net, inputs, outputs) in jobs.items():
        model = onnx_from_module(net, inputs, outputs)
        (out / f"{name}.onnx").write_bytes(model.SerializeToString())
        log.info("%s: parity %.5f", name, parity(net, inputs, out / f"{name}.onnx"))
    with np.load(shape) as file:
        arrays = {name: np.asarray(file[name], np.float32) for name in file.files}
    crops = Crops(data, torch.device("cpu"))
    w = encode_all(encoder, mapping, crops)
    points = np.load(data / "points.npy")[crops.rows.numpy()]
    arrays["from_latent"] = shape_share(w, points, arrays)
    np.savez(out / "shape.npz", allow_pickle=False, **arrays)
    (out / "training.json").write_text(json.dumps(facts))


def parity(net: nn.Module, inputs: dict[str, Tensor], path: Path) -> float:
    """Largest difference between the network and its file in ONNX Runtime, first output."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    fed = {name: value.numpy() for name, value in inputs.items()}
    made = session.run(None, fed)[0]
    with torch.no_grad():
        wanted = net(*inputs.values())
    first = wanted[0] if isinstance(wanted, tuple) else wanted
    return float(np.abs(made - first.numpy()).max())


def sha256_of(path: Path) -> str:
    """Hash of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/face"))
    parser.add_argument("--landmarker", type=Path, default=Path("runs/landmarker/landmarker.pt"))
    parser.add_argument("--shape", type=Path, default=Path("runs/shape.npz"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    export(args.run, args.landmarker, args.shape, args.data, args.out)


if __name__ == "__main__":
    main()
