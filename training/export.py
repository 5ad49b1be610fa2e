"""Write the trained networks as a model pack: `python -m training.export`.

Each network becomes one ONNX file with float16 weights that are widened on load, so that the
pack stays small and every runtime computes in the precision it was asked for. The manifest
states each file's hash, inputs, outputs and measured parity.
"""

import argparse
import io
import json
import logging
import shutil
import warnings
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from engines.face.lid_reading import HEIGHT, WIDTH
from engines.stylegan.axes import LATENT, axes
from engines.stylegan.pack import MANIFEST, bundled_pack
from engines.stylegan.sizes import (
    CHROMA_SIZE,
    TEXTURE_SIZE,
)
from training.checkpoint import load_full, load_small, small_of, weights_of
from training.landmarker import SIZE, landmark_network
from training.lids import LIDS, LidNet
from training.networks import (
    CODE,
    TEXTURE_CODES,
    Generator,
    ModulatedConv,
    contrast_from_field,
    field_from_light,
    latent_axes,
    latents_from_codes,
    light_from_images,
)
from training.occlusion import HEAD, ControlNetwork, OcclusionHead
from training.relief import RELIEF_CODES
from training.textures import YCC_FROM_RGB, bolder

OPSET: Final = 18
FACTS: Final = "training.json"
"""What is said of the networks of a pack, for its manifest."""
DIRECTIONS: Final = 1_000_000
"""A matrix of at least so many numbers holds texture directions."""
REST_REACH: Final = 2.5
"""Deviations of people at rest that a surrogate may reach."""

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


class CropEncoder(nn.Module):
    """Crop, place of its texture and identity shape to w+ latents float[N, L, LATENT].

    Takes `image` float[N, 3, 128, 128] RGB in [-1, 1], `place` float[N, 128, 128, 2] in crop
    units and `shape` float[N, J].
    """

    def __init__(self, arrays: dict[str, Float32], layers: int) -> None:
        super().__init__()
        self.layers = layers
        self.register_buffer("rows", torch.from_numpy(arrays["encoding"].T.copy()))
        self.register_buffer("mean", torch.from_numpy(arrays["mean"]))
        self.register_buffer("ycc", torch.from_numpy(YCC_FROM_RGB)[:, :, None, None].clone())
        self.register_buffer("centre", torch.from_numpy(arrays["shape_centre"]))
        self.register_buffer("spread", torch.from_numpy(arrays["shape_spread"]))
        self.register_buffer("inside", torch.from_numpy(arrays["inside"])[None, None])
        self.register_buffer("axes", latent_axes())

    def forward(self, image: Tensor, place: Tensor, shape: Tensor) -> Tensor:
        """See the class."""
        texture = functional.grid_sample(
            image, place * 2 - 1, mode="bilinear", padding_mode="border", align_corners=False
        )
        inside = self.inside.expand(texture.shape[0], -1, -1, -1)
        field = field_from_light(light_from_images(texture, inside), inside)
        texture = (texture - field) / contrast_from_field(field)
        planes = functional.conv2d(texture, self.ycc)
        chroma = functional.avg_pool2d(planes[:, 1:], TEXTURE_SIZE // CHROMA_SIZE)
        vector = torch.cat([planes[:, :1].flatten(1), chroma.flatten(1)], dim=1)
        seen = (vector - self.mean) @ self.rows
        count = CODE - TEXTURE_CODES
        own = (shape[:, :count] - self.centre) / self.spread
        codes = torch.cat([seen, own], dim=1).clamp(-4.0, 4.0)
        return (codes @ self.axes.T)[:, None].expand(-1, self.layers, -1)


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
    model = onnx.load_from_string(buffer.getvalue())
    with torch.no_grad():
        _state_sizes(model, net(*inputs.values()))
    return with_small_weights(model)


def _state_sizes(model: onnx.ModelProto, made: Tensor | tuple[Tensor, ...]) -> None:
    """Write the sizes of the outputs down: tracing loses them, and runtimes ask for them."""
    several = made if isinstance(made, tuple) else (made,)
    for output, value in zip(model.graph.output, several, strict=True):
        for dimension, size in zip(
            output.type.tensor_type.shape.dim[1:], value.shape[1:], strict=True
        ):
            dimension.dim_value = size


def with_small_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Keep large float32 weights as float16, and directions of textures as int8 with a scale.

    Runtimes widen them once, on load.
    """
    graph = model.graph
    widening: list[onnx.NodeProto] = []
    for weight in list(graph.initializer):
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < 256:
            continue
        name, values = weight.name, numpy_helper.to_array(weight)
        if values.ndim == 2 and values.size >= DIRECTIONS:
            kept = _in_bytes(graph, name, values)
        else:
            kept = values.astype(np.float16)
        weight.CopyFrom(numpy_helper.from_array(kept, f"{name}_kept"))
        widening.append(helper.make_node("Cast", [f"{name}_kept"], [name], to=TensorProto.FLOAT))
    nodes = [*widening, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    model.producer_name, model.producer_version, model.doc_string = "kveil", "", ""
    onnx.checker.check_model(model)
    return model


def _in_bytes(graph: onnx.GraphProto, name: str, values: Float32) -> npt.NDArray[np.int8]:
    """Round a matrix to int8, one scale per direction, and put the scale beside its product.

    The scale multiplies the codes, not the matrix: OpenVINO 2026 takes a scaled int8 matrix for
    compressed weights, and computes their product wrongly for one row and not at all in bf16.

    Raises:
        ValueError: the matrix is not used in exactly one product.
    """
    direction_axis = int(np.argmin(values.shape))
    scale = np.abs(values).max(axis=1 - direction_axis, keepdims=True) / 127.0
    graph.initializer.append(numpy_helper.from_array(scale.reshape(1, -1), f"{name}_scale"))
    users = [place for place, node in enumerate(graph.node) if name in node.input]
    if len(users) != 1 or graph.node[users[0]].op_type != "MatMul":
        raise ValueError(f"{name} must be used in one matrix product to be kept as int8")
    product = graph.node[users[0]]
    if direction_axis == 0:
        scaled = helper.make_node("Mul", [product.input[0], f"{name}_scale"], [f"{name}_scaled"])
        product.input[0] = f"{name}_scaled"
        graph.node.insert(users[0], scaled)
    else:
        result = product.output[0]
        product.output[0] = f"{name}_plain"
        scaled = helper.make_node("Mul", [f"{name}_plain", f"{name}_scale"], [result])
        graph.node.insert(users[0] + 1, scaled)
    return np.asarray(np.round(values / scale), np.int8)


def load_generator(run: Path, texture: dict[str, Float32]) -> tuple[Generator, dict[str, float]]:
    """Load the averaged generator of a run, from its full or its small checkpoint, or that kept.

    It paints features bolder than it was trained to, see `bolder`.
    """
    if (run / "full.pt").exists():
        state = load_full(run / "full.pt", torch.device("cpu"))
        weights: dict[str, Tensor] = state["nets"]  # type: ignore[assignment]
        facts: dict[str, float] = state["facts"]  # type: ignore[assignment]
    else:
        weights, facts = load_small(small_of(run) or run / "small")
    generator = Generator(int(facts["size"]))
    own = {k.removeprefix("g_ema."): v for k, v in weights.items() if k.startswith("g_ema.")}
    generator.load_state_dict(generator.state_dict() | own)
    generator.linear.set_texture(texture | {"basis": bolder(texture["basis"])})
    generator.eval().requires_grad_(False)
    for module in generator.modules():
        if isinstance(module, ModulatedConv):
            module.freeze()
    return generator, facts


def shape_from_latent(texture: dict[str, Float32], identities: int) -> Float32:
    """The affine map from w to identity shape, float32[LATENT + 1, identities]."""
    found = np.zeros((LATENT + 1, identities), np.float32)
    count = CODE - TEXTURE_CODES
    axes = latent_axes().numpy()[:, TEXTURE_CODES:]
    found[:-1, :count] = axes * texture["shape_spread"]
    found[-1, :count] = texture["shape_centre"]
    return found


def relief_arrays(relief: Path) -> dict[str, Float32]:
    """The relief model's arrays, in the latent space behind the codes."""
    with np.load(relief) as file:
        mean, basis = file["mean"], file["basis"]
    behind = axes(CODE + len(basis))[:, CODE:]
    return {"relief_mean": mean, "relief_latent": np.asarray(behind @ basis, np.float32)}


def rest_arrays(texture: dict[str, Float32]) -> dict[str, Float32]:
    """Where a latent keeps the face at rest: behind codes and relief."""
    spread, centre = texture["rest_spread"], texture["rest_centre"]
    start = CODE + RELIEF_CODES
    behind = axes(start + len(spread))[:, start:] * spread
    return {
        "rest_from_latent": np.concatenate([behind, centre[None]]).astype(np.float32),
        "rest_limit": np.asarray(np.abs(centre) + REST_REACH * spread, np.float32),
    }


def write_geometry(geometry: Path, arrays: dict[str, Float32], relief: Path, out: Path) -> None:
    """Write `shape.npz`: shape model, texture frame, faces at rest and relief."""
    with np.load(geometry) as file:
        shape = {name: file[name] for name in file.files if name != "expression_gain"}
    shape["from_latent"] = shape_from_latent(arrays, len(shape["identity"]))
    frame = {name: arrays[name] for name in ("frame_points", "triangles")}
    frame |= relief_arrays(relief) | rest_arrays(arrays)
    np.savez_compressed(out / "shape.npz", allow_pickle=False, **shape, **frame)


def export(
    run: Path,
    landmarker: Path,
    occlusion: Path,
    lids: Path,
    geometry: Path,
    texture: Path,
    relief: Path,
    out: Path,
) -> None:
    """Write the networks and the shape model."""
    out.mkdir(parents=True, exist_ok=True)
    with np.load(texture) as file:
        arrays = {name: file[name] for name in file.files}
    generator, facts = load_generator(run, arrays)
    image = torch.rand(2, 3, SIZE, SIZE) * 2 - 1
    jobs: dict[str, tuple[nn.Module, dict[str, Tensor], list[str]]] = {
        "generator": (
            generator,
            {"latents": latents_from_codes(torch.randn(2, CODE), generator.layers).contiguous()},
            ["texture"],
        ),
        "encoder": (
            CropEncoder(arrays, generator.layers),
            {
                "image": image,
                "place": torch.rand(2, TEXTURE_SIZE, TEXTURE_SIZE, 2),
                "shape": torch.randn(2, CODE - TEXTURE_CODES),
            },
            ["latents"],
        ),
    }
    for name, (net, inputs, outputs) in jobs.items():
        facts |= write_network(name, net, inputs, outputs, out)
    facts |= export_landmarker(landmarker, occlusion, out) | export_lids(lids, out)
    write_geometry(geometry, arrays, relief, out)
    (out / FACTS).write_text(json.dumps(facts))


def export_landmarker(landmarker: Path, occlusion: Path, out: Path) -> dict[str, float]:
    """Write `landmarker.onnx`: landmarks, their error and what is in front, in one pass.

    Args:
        landmarker: checkpoint of the landmark network; without it, that of the pack.
        occlusion: run of `training.occlusion`; without it the pack's file is kept as it is.
        out: folder of the pack that is made.
    """
    if not (occlusion / HEAD).exists():
        return keep_bundled("landmarker", occlusion / HEAD, ("landmarker_", "occlusion_"), out)
    head = OcclusionHead()
    head.load_state_dict(weights_of(occlusion / HEAD))
    net = ControlNetwork(landmark_network(landmarker), head)
    image = {"image": torch.rand(2, 3, SIZE, SIZE) * 2 - 1}
    facts = write_network("landmarker", net, image, ["points", "spread", "occlusion"], out)
    facts |= json.loads((occlusion / "facts.json").read_text())
    learnt = landmarker.with_name("facts.json")
    told: dict[str, float] = json.loads(learnt.read_text()) if learnt.exists() else {}
    return facts | {f"landmarker_{name}": value for name, value in told.items()}


def export_lids(run: Path, out: Path) -> dict[str, float]:
    """Write `lids.onnx`, of a run of `training.lids`; without one the pack's file is kept.

    Args:
        run: folder of the run.
        out: folder of the pack that is made.
    """
    if not (run / LIDS).exists():
        return keep_bundled("lids", run / LIDS, ("lids_",), out)
    net = LidNet()
    net.load_state_dict(weights_of(run / LIDS))
    eyes = {"eyes": torch.rand(2, 1, HEIGHT, WIDTH) * 2 - 1}
    facts = write_network("lids", net, eyes, ["openness"], out)
    told: dict[str, float] = json.loads((run / "facts.json").read_text())
    return facts | told


def keep_bundled(
    name: str, missing: Path, prefixes: tuple[str, ...], out: Path
) -> dict[str, float]:
    """Copy a network of the bundled pack, and tell what its manifest says of it.

    Args:
        name: of the network.
        missing: checkpoint in whose absence it is kept.
        prefixes: of the figures that are its own.
        out: folder of the pack that is made.
    """
    log.info("no %s: the bundled %s network is kept", missing, name)
    shutil.copyfile(bundled_pack() / f"{name}.onnx", out / f"{name}.onnx")
    said: dict[str, float] = json.loads((bundled_pack() / MANIFEST).read_text())["metrics"]
    return {name: value for name, value in said.items() if name.startswith(prefixes)}


def write_network(
    name: str, net: nn.Module, inputs: dict[str, Tensor], outputs: list[str], out: Path
) -> dict[str, float]:
    """Write one network's file, and tell how far it is off the network."""
    model = onnx_from_module(net, inputs, outputs)
    (out / f"{name}.onnx").write_bytes(model.SerializeToString())
    off = parity(net, inputs, out / f"{name}.onnx")
    log.info("%s: largest difference to its file %.5f", name, off)
    return {f"{name}_parity": off}


def parity(net: nn.Module, inputs: dict[str, Tensor], path: Path) -> float:
    """Largest difference between the network's outputs and those of its file in ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    fed = {name: value.numpy() for name, value in inputs.items()}
    with torch.no_grad():
        wanted = net(*inputs.values())
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    pairs = zip(session.run(None, fed), several, strict=True)
    return max(float(np.abs(made - exact.numpy()).max()) for made, exact in pairs)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/detail"))
    parser.add_argument("--landmarker", type=Path, default=Path("runs/landmarker/landmarker.pt"))
    parser.add_argument("--occlusion", type=Path, default=Path("runs/occlusion"))
    parser.add_argument("--lids", type=Path, default=Path("runs/lids"))
    parser.add_argument("--only", choices=("landmarker", "lids"), help="write that file alone")
    parser.add_argument("--shape", type=Path, default=Path("runs/shape.npz"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--relief", type=Path, default=Path("runs/relief.npz"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    if args.only:
        args.out.mkdir(parents=True, exist_ok=True)
        told = args.out / FACTS
        facts = json.loads(told.read_text()) if told.exists() else {}
        if args.only == "lids":
            facts |= export_lids(args.lids, args.out)
        else:
            facts |= export_landmarker(args.landmarker, args.occlusion, args.out)
        told.write_text(json.dumps(facts))
        return
    sources = (args.landmarker, args.occlusion, args.lids, args.shape, args.texture)
    export(args.run, *sources, args.relief, args.out)


if __name__ == "__main__":
    main()
