"""Train the embedder that tells people apart: kveil crop -> unit vector.

    python -m training.embedder --teacher mobilefacenet_w128.onnx

With `--resume` it goes on from its run, or without one from the pack's network. There are no
identity labels in the training crops, so it learns to answer as a recogniser does (knowledge
distillation: cosine to the teacher's embedding and agreement of the similarities within a
batch), of small, turned and blurred faces as of the sharp ones they come from
(`training.lessons`). It is therefore not independent of that recogniser, and no figure by that
recogniser may judge what was decided with it.
"""

import argparse
import hashlib
import itertools
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.stylegan.pack import bundled_pack
from training.checkpoint import load_full, save_full, stored_layers
from training.export import onnx_from_module
from training.lessons import DIMENSIONS, Lessons, seen_from_afar
from training.networks import image_from_crops
from training.precision import fast_precision
from training.sources import is_real_adult

_WIDTHS: Final = (32, 48, 96, 192, 256)
_DEPTHS: Final = (1, 2, 2, 1)
"""Channels from half of the crop's side down to a thirty-second of it, and how many residual blocks
follow each halving."""
_BATCH: Final = 64
_SEEN: Final = 512
"""Pictures by which normalisation is found again."""
TRYING_ON: Final = {"alike": 0.08, "too_alike": 0.33}
"""Cosines of a subject and a surrogate over the subject's picture; see
`engines.face.embedder.PersonThresholds`."""

log = logging.getLogger(__name__)
Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class Embedder(nn.Module):
    """float[N, 3, 128, 128] RGB in [-1, 1] -> float[N, 128], unit length."""

    def __init__(self) -> None:
        super().__init__()
        first = _WIDTHS[0]
        layers: list[nn.Module] = [Down(3, first)]
        for (before, after), depth in zip(itertools.pairwise(_WIDTHS), _DEPTHS, strict=True):
            layers += [Down(before, after), *(Residual(after) for _ in range(depth))]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(_WIDTHS[-1] * 16, DIMENSIONS)

    def forward(self, image: Tensor) -> Tensor:
        """See the class."""
        return functional.normalize(self.head(self.body(image).flatten(1)).float(), dim=1)


class Residual(nn.Module):
    """Two normalised convolutions around a shortcut; the shape stays."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])
        self.slope = nn.PReLU(width)

    def forward(self, x: Tensor) -> Tensor:
        """float[N, width, H, W] -> the same."""
        inner = self.slope(self.norms[0](self.first(x)))
        return x + self.norms[1](self.second(inner))


class Down(nn.Module):
    """Halves the picture and changes its width."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after)
        self.slope = nn.PReLU(after)

    def forward(self, x: Tensor) -> Tensor:
        """float[N, before, H, W] -> float[N, after, H/2, W/2]."""
        out: Tensor = self.slope(self.norm(self.conv(x)))
        return out


def augmented(image: Tensor) -> Tensor:
    """Move, dim and blur a batch, as tracks and cameras do."""
    count = len(image)
    scale = torch.exp(torch.randn(count) * 0.05)
    angle = torch.randn(count) * 0.08
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    theta = torch.zeros(count, 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = cos, -sin
    theta[:, 1, 0], theta[:, 1, 1] = sin, cos
    theta[:, :, 2] = torch.randn(count, 2) * 0.04
    grid = functional.affine_grid(theta.to(image.device), list(image.shape), align_corners=False)
    image = functional.grid_sample(image, grid, padding_mode="border", align_corners=False)
    gain = torch.exp(torch.randn(count, 1, 1, 1, device=image.device) * 0.35)
    image = (image + 1) * gain - 1
    coarse = functional.interpolate(
        functional.avg_pool2d(image, 4), scale_factor=4, mode="bilinear"
    )
    draw = torch.rand(count, 1, 1, 1, device=image.device)
    image = torch.where(draw < 0.2, coarse, image)
    grain = torch.rand(count, 1, 1, 1, device=image.device) * 0.08
    return (image + torch.randn_like(image) * grain).clamp(-1, 1)


def distillation_loss(made: Tensor, wanted: Tensor) -> Tensor:
    """1 - cosine to the teacher, and the squared error of similarities within the batch."""
    direct = (1 - (made * wanted).sum(1)).mean()
    relations = functional.mse_loss(made @ made.T, wanted @ wanted.T)
    return direct + 10 * relations


def train(args: argparse.Namespace, device: torch.device) -> None:
    """Train, report the held-out agreement and save `embedder.pt`."""
    net = Embedder().to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
    first = 0
    if args.resume and (args.run / "embedder.pt").exists():
        state = load_full(args.run / "embedder.pt", device)
        net.load_state_dict(state["net"])
        first = int(str(state["step"]))
    lessons = Lessons(args.data, args.teacher, args.run / "answers.npz", first)
    if args.resume and not first:
        restore(net, bundled_pack() / "embedder" / "embedder.onnx", lessons.batch(_SEEN)[0])
    started, total = time.monotonic(), 0.0
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(lessons.batch, args.batch)
        for step in range(first, args.steps):
            pictures, told = ahead.result()
            ahead = pool.submit(lessons.batch, args.batch)
            image, wanted = image_from_crops(pictures, device), torch.from_numpy(told).to(device)
            for group in optimiser.param_groups:
                left = 1.5 * (1 - step / args.steps) + 0.01
                group["lr"] = args.lr * min(1.0, (step + 1) / 100, left)
            with fast_precision(device):
                made = net(augmented(image).contiguous(memory_format=torch.channels_last))
            loss = distillation_loss(made, wanted)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            total += float((made.detach() * wanted).sum(1).mean())
            if step % 100 == 99:
                elapsed = time.monotonic() - started
                log.info("step %d cosine to the teacher %.3f, %.0f s", step, total / 100, elapsed)
                total = 0.0
            if step % 500 == 499 or step == args.steps - 1:
                save_full(args.run / "embedder.pt", {"net": net.state_dict(), "step": step + 1})
                facts = evaluate(net, lessons, device)
                (args.run / "facts.json").write_text(json.dumps(facts))
                log.info("held out: %s", facts)
                net.train()


@torch.no_grad()
def restore(net: Embedder, network: Path, pictures: UInt8) -> None:
    """Put exported weights, into which normalisation is folded, back into an embedder.

    What is normalised anew has the mean and the deviation that it has on some pictures, so that
    training goes on from the same answers.

    Args:
        net: the embedder, left in training mode.
        network: ONNX file.
        pictures: uint8[N, 128, 128, 3] RGB.
    """
    _copy_folded(net, network)
    pairs, _ = _in_order(net)
    seen: dict[nn.Conv2d, tuple[Tensor, Tensor]] = {}

    def look(conv: nn.Conv2d, _: object, made: Tensor) -> None:
        seen[conv] = made.mean((0, 2, 3)), made.var((0, 2, 3))

    looking = [conv.register_forward_hook(look) for conv, _ in pairs]
    net.eval()(image_from_crops(pictures, net.head.weight.device))
    for hook in looking:
        hook.remove()
    for conv, norm in pairs:
        mean, variance = seen[conv]
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias += mean
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
    net.train()


def _copy_folded(net: Embedder, network: Path) -> None:
    """Put exported weights into an embedder whose normalisation then changes nothing."""
    stored, (convolutions, slopes, dense) = stored_layers(network, "Conv", "PRelu", "Gemm")
    kept = {name: torch.from_numpy(values) for name, values in stored.items()}
    pairs, bends = _in_order(net)
    for (conv, norm), node in zip(pairs, convolutions, strict=True):
        _, weight, bias = node.input
        conv.weight.copy_(kept[weight])
        norm.bias.copy_(kept[bias])
        norm.running_var.fill_(1 - norm.eps)
    for bend, node in zip(bends, slopes, strict=True):
        bend.weight.copy_(kept[node.input[1]].flatten())
    _, weight, bias = dense[0].input
    net.head.weight.copy_(kept[weight])
    net.head.bias.copy_(kept[bias])


def _in_order(net: Embedder) -> tuple[list[tuple[nn.Conv2d, nn.BatchNorm2d]], list[nn.PReLU]]:
    """Convolutions with what normalises them, and slopes, as they are come by."""
    pairs: list[tuple[nn.Conv2d, nn.BatchNorm2d]] = []
    for layer in net.body:
        if isinstance(layer, Residual):
            pairs += [(layer.first, layer.norms[0]), (layer.second, layer.norms[1])]
        else:
            pairs.append((layer.conv, layer.norm))
    return pairs, [layer.slope for layer in net.body]


def evaluate(net: Embedder, lessons: Lessons, device: torch.device) -> dict[str, float]:
    """Mean cosines to the teacher on held-out crops: as they are, from afar, and turned.

    Args:
        net: the embedder, put into evaluation mode.
        lessons: with the held-out crops and the teacher's answers.
        device: where `net` is.
    """
    net.eval()
    random = np.random.default_rng(0)

    def cosine(
        pictures: Callable[[npt.NDArray[np.intp]], UInt8], rows: npt.NDArray[np.intp], told: Float32
    ) -> float:
        return float((embedded(net, pictures, rows, device) * told[rows]).sum(1).mean())

    def from_afar(rows: npt.NDArray[np.intp]) -> UInt8:
        return np.stack([seen_from_afar(random, one) for one in lessons.crops(rows)])

    return {
        "cosine_to_teacher": cosine(lessons.crops, lessons.held, lessons.answers),
        "cosine_from_afar": cosine(from_afar, lessons.held, lessons.answers),
        "cosine_turned": cosine(lessons.turned, lessons.held_turned, lessons.of_turned),
    }


@torch.no_grad()
def embedded(
    net: Embedder,
    pictures: Callable[[npt.NDArray[np.intp]], UInt8],
    rows: npt.NDArray[np.intp],
    device: torch.device,
) -> Float32:
    """Embeddings float32[N, DIMENSIONS] of the pictures of some rows."""
    found = []
    for start in range(0, len(rows), _BATCH):
        image = image_from_crops(pictures(rows[start : start + _BATCH]), device)
        found.append(net(image.contiguous(memory_format=torch.channels_last)).cpu().numpy())
    return np.concatenate(found)


def export(data: Path, run: Path, out: Path) -> None:
    """Write the embedder's pack: network, thresholds, manifest.

    The network takes `image` float32[N, 3, 128, 128] and gives `embedding` float32[N, 128].
    See `held_out_thresholds`.
    """
    net = Embedder()
    state = load_full(run / "embedder.pt", torch.device("cpu"))
    net.load_state_dict(state["net"])
    net.eval()
    out.mkdir(parents=True, exist_ok=True)
    network = onnx_from_module(net, {"image": torch.zeros(2, 3, 128, 128)}, ["embedding"])
    onnx.save(network, out / "embedder.onnx")
    thresholds = held_out_thresholds(net, data) | TRYING_ON
    (out / "thresholds.json").write_text(json.dumps(thresholds, indent=2) + "\n")
    files = {
        name: {"sha256": hashlib.sha256((out / name).read_bytes()).hexdigest()}
        for name in ("embedder.onnx", "thresholds.json")
    }
    facts = json.loads((run / "facts.json").read_text()) | {"steps": state["step"]}
    content = {"format": "kveil pack 1", "name": "kveil-embedder", "files": files, "facts": facts}
    (out / "manifest.json").write_text(json.dumps(content, indent=2) + "\n")


def held_out_thresholds(net: Embedder, data: Path) -> dict[str, float]:
    """Cosines from which two crops count as one person, or as doubtful.

    One in 1,000 and one in 200 pairs of photographed adults among the held-out crops reach them;
    these show different people but for few repeated ones. Children and generated people resemble
    each other: with them, a cosine that hardly two photographs of one adult reach was asked for.
    """
    images = np.load(data / "faces128.npy", mmap_mode="r")
    rows = np.flatnonzero(np.load(data / "split.npy") & is_real_adult(data))
    found = embedded(net, lambda at: np.asarray(images[at]), rows, torch.device("cpu"))
    order = np.sort((found @ found.T)[np.triu_indices(len(rows), 1)])
    match, doubt = (float(order[round(len(order) * (1 - rate))]) for rate in (1e-3, 5e-3))
    return {"match": round(match, 3), "doubt": round(min(doubt, match - 0.01), 3)}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/embedder"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--teacher", type=Path, default=Path("mobilefacenet_w128.onnx"))
    parser.add_argument("--export", type=Path)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=_BATCH)
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    auto = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(auto if args.device == "auto" else args.device)
    if device.type == "cpu":
        torch.set_num_threads(args.threads)
    cv2.setNumThreads(1)
    args.run.mkdir(parents=True, exist_ok=True)
    if args.export:
        export(args.data, args.run, args.export)
        return
    train(args, device)


if __name__ == "__main__":
    main()
