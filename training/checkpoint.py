"""Checkpoints: a full one to resume on the same machine, a small one to travel.

The small form holds float16 weights without optimiser state, in files of at most 16 MB.
"""

import json
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

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


def save_small(folder: Path, weights: dict[str, Tensor], facts: dict[str, float]) -> list[Path]:
    """Write float16 `weights` in parts of at most PART_BYTES, and `facts` as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*.pt"):
        old.unlink()
    parts: list[dict[str, Tensor]] = [{}]
    used = 0
    for name, value in weights.items():
        half = value.detach().to("cpu", torch.float16).contiguous()
        size = half.numel() * 2
        if used + size > PART_BYTES and parts[-1]:
            parts.append({})
            used = 0
        parts[-1][name] = half
        used += size
    files = []
    for i, part in enumerate(parts):
        files.append(folder / f"part-{i}.pt")
        torch.save(part, files[-1])
    (folder / "facts.json").write_text(json.dumps(facts))
    return files


def load_small(folder: Path) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Read what `save_small` wrote; weights come back as float32."""
    weights: dict[str, Tensor] = {}
    for part in sorted(folder.glob("part-*.pt")):
        for name, value in torch.load(part, map_location="cpu", weights_only=True).items():
            weights[name] = value.float()
    facts: dict[str, float] = json.loads((folder / "facts.json").read_text())
    return weights, facts
