"""Checkpoints: a full one to resume on the same machine, a small one to travel.

The small form holds float16 weights without optimiser state, in files of at most 16 MB.
`KEPT` is the one that comes with the sources, so that training goes on on any machine.
"""

import json
from pathlib import Path
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

KEPT: Final = Path(__file__).parent / "generator"
PART_BYTES: Final = 15_000_000


def save_full(path: Path, state: dict[str, object]) -> None:
    """Write `state` beside `path`, then rename: a killed run leaves the last one whole."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def load_full(path: Path, device: torch.device) -> dict[str, object]:
    """Read what `save_full` wrote; tensors and plain values only."""
    state: dict[str, object] = torch.load(path, map_location=device, weights_only=True)
    return state


def weights_of(path: Path) -> dict[str, Tensor]:
    """The weights of a network that `save_full` wrote as `net`, on the CPU."""
    return cast("dict[str, Tensor]", load_full(path, torch.device("cpu"))["net"])


def stored_layers(
    network: Path, *kinds: str
) -> tuple[dict[str, npt.NDArray[np.float32]], list[list[onnx.NodeProto]]]:
    """Weights of a network that `training.export` wrote, by name, and its nodes of some kinds.

    Args:
        network: ONNX file, whose weights may be kept small (`_kept`).
        kinds: operators, such as `Conv`; a list of nodes, in order, for each.
    """
    graph = onnx.load(network).graph
    kept = {
        one.name.removesuffix("_kept"): numpy_helper.to_array(one).astype(np.float32)
        for one in graph.initializer
    }
    return kept, [[node for node in graph.node if node.op_type == kind] for kind in kinds]


def save_small(folder: Path, weights: dict[str, Tensor], facts: dict[str, float]) -> list[Path]:
    """Write float16 `weights` in parts of at most PART_BYTES, and `facts` as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*.npz"):
        old.unlink()
    parts: list[dict[str, np.ndarray]] = [{}]
    used = 0
    for name, value in weights.items():
        half = value.detach().to("cpu", torch.float16).numpy()
        if used + half.nbytes > PART_BYTES and parts[-1]:
            parts.append({})
            used = 0
        parts[-1][name] = half
        used += half.nbytes
    files = [folder / f"part-{number}.npz" for number in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        np.savez(file, allow_pickle=False, **part)
    (folder / "facts.json").write_text(json.dumps(facts) + "\n")
    return files


def small_of(run: Path) -> Path | None:
    """The folder that a run without a full checkpoint goes on from, if there is one.

    Its own small checkpoint, or else the one that is kept with the sources.
    """
    return next((one for one in (run / "small", KEPT) if (one / "facts.json").exists()), None)


def load_small(folder: Path) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Read what `save_small` wrote; weights come back as float32."""
    weights: dict[str, Tensor] = {}
    for part in sorted(folder.glob("part-*.npz")):
        with np.load(part) as file:
            weights |= {name: torch.from_numpy(file[name]).float() for name in file.files}
    facts: dict[str, float] = json.loads((folder / "facts.json").read_text())
    return weights, facts
