"""Train the landmark network: kveil crop -> control points, `python -m training.landmarker`.

It learns from the points that `training.prepare` found with the face-mesh network, on crops
that are moved, widened, blurred, dimmed and partly hidden, from heads that `training.turning`
turned, and from faces behind hands and things (`training.scenes`). It also predicts how far off
it is (the scale of a Laplace distribution), so that a caller can cover faces that it cannot
follow.
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
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

from engines.face.swapper import DOUBT_LIMIT
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import EYES_APART, mouth_gap
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    OVAL_SLICE,
    POINTS,
)
from training.checkpoint import save_full, stored_layers, weights_of
from training.degrading import far_away
from training.networks import GAIN, EqualConv, EqualLinear, image_from_crops
from training.precision import fast_precision
from training.scenes import Scenes

SIZE: Final = 128
WIDE_OPEN: Final = 0.2
"""Gap between the lips, inter-ocular distances, of a mouth that is wide open."""
OPENED: Final = 0.3
"""The same of one that photographs hardly show, so that it was opened by `training.opening`."""
OPEN_SHARE: Final = 6.0
"""How much oftener such a mouth is drawn than a closed one: few photographs show one."""
_WIDEST: Final = 0.8
"""How far apart eyes lie at least in crops, in distances of those of a kveil crop: those of faces
are cut a little wider, of long faces more (`engines.face.control_reading`)."""
_TURNED: Final = 0.35
_BEHIND: Final = 0.3
"""Shares of a batch that are turned heads, and faces before which something may be."""
_FAR: Final = 0.4
"""Share of the others that look as from far away."""

Float32 = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


class Landmarker(nn.Module):
    """float[N, 3, 128, 128] RGB in [-1, 1] -> points float[N, POINTS, 3], spread float[N, 1].

    Points are in crop units; spread is the expected mean error in the same unit.
    """

    def __init__(self, mean_points: Tensor | None = None) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.PixelUnshuffle(4),
            EqualConv(48, 64),
            EqualConv(64, 64),
            EqualConv(64, 128, stride=2),
            EqualConv(128, 128),
            EqualConv(128, 192, stride=2),
            EqualConv(192, 192),
            EqualConv(192, 256, stride=2),
            EqualConv(256, 128),
        )
        self.dense = EqualLinear(128 * 16, 384)
        self.head = EqualLinear(384, POINTS * 3 + 1)
        start = torch.zeros(POINTS, 3) if mean_points is None else mean_points
        self.register_buffer("start", start)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """See the class."""
        return self.read(self.body(image))

    def read(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Points and spread from the last features float[N, 128, 4, 4]."""
        x = functional.leaky_relu(self.dense(features.flatten(1)), 0.2)
        out = self.head(x).float() * 0.1
        points = self.start + out[:, :-1].reshape(-1, POINTS, 3)
        spread = functional.softplus(out[:, -1:] * 10.0) * 0.01 + 0.002
        return points, spread


def augmented(image: Tensor, points: Tensor, widened: Tensor) -> tuple[Tensor, Tensor]:
    """Move and widen a batch; points follow. Shapes stay.

    Args:
        image: float[N, 3, S, S] in [-1, 1].
        points: float[N, POINTS, 3].
        widened: float[N], how much smaller faces become on average.

    What a wider crop shows around a face is its rim drawn out, or another picture of the batch.
    """
    count = len(image)
    scale = torch.exp(torch.randn(count) * 0.07) / widened
    angle = torch.randn(count) * 0.12
    shift = torch.randn(count, 2) * 0.03
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    linear = torch.stack([torch.stack([cos, -sin], 1), torch.stack([sin, cos], 1)], 1)
    # grid_sample reads the source at linear @ out + shift (both in [-1, 1]); points go back.
    theta = torch.cat([linear, shift[:, :, None] * 2], dim=2).to(image.device)
    grid = functional.affine_grid(theta, list(image.shape), align_corners=False)
    moved = functional.grid_sample(image, grid, padding_mode="border", align_corners=False)
    inverse = torch.linalg.inv(linear).to(image.device)
    centred = points[:, :, :2] * 2 - 1 - shift[:, None].to(image.device) * 2
    flat = (centred @ inverse.transpose(1, 2) + 1) / 2
    depth = points[:, :, 2:] / scale[:, None, None].to(image.device)
    moved = _before_another(moved, image, grid)
    return moved, torch.cat([flat, depth], dim=2)


def _before_another(moved: Tensor, image: Tensor, grid: Tensor) -> Tensor:
    """Half of the pictures with the next one's, enlarged, from somewhere outside their own rim.

    Args:
        moved: float[N, 3, S, S] with rims drawn out.
        image: the pictures before they moved.
        grid: float[N, S, S, 2] where in them each pixel lies, [-1, 1] inside.
    """
    count, device = len(moved), moved.device
    outside = grid.abs().amax(dim=3) - 1 - 0.5 * torch.rand(count, 1, 1, device=device)
    is_used = torch.rand(count, 1, 1, device=device) < 0.5
    alpha = (is_used & (outside > 0)).to(moved.dtype)[:, None]
    alpha = functional.avg_pool2d(alpha, 5, stride=1, padding=2)
    behind = image.roll(1, dims=0).flip(2)
    behind = functional.interpolate(behind[..., 32:96, 32:96], scale_factor=2, mode="bilinear")
    return moved * (1 - alpha) + behind * alpha


def degraded(image: Tensor) -> Tensor:
    """Dim, tint, blur and roughen a batch float[N, 3, S, S] in [-1, 1]; shapes stay."""
    count, device = len(image), image.device
    gain = torch.exp(torch.randn(count, 3, 1, 1, device=device) * 0.08)
    gain = gain * torch.exp(torch.randn(count, 1, 1, 1, device=device) * 0.25)
    image = (image + 1) * gain - 1 + torch.randn(count, 1, 1, 1, device=device) * 0.1
    coarse = functional.interpolate(image, scale_factor=0.25, mode="area")
    coarse = functional.interpolate(coarse, scale_factor=4, mode="bilinear")
    mild = functional.interpolate(functional.avg_pool2d(image, 2), scale_factor=2, mode="bilinear")
    draw = torch.rand(count, 1, 1, 1, device=device)
    image = torch.where(draw < 0.15, coarse, torch.where(draw < 0.4, mild, image))
    image = image + torch.randn_like(image) * 0.04 * torch.rand(count, 1, 1, 1, device=device)
    return image.clamp(-1, 1)


def _partly_hidden(image: Tensor) -> Tensor:
    for i in range(0, len(image), 5):
        y, x = (int(v) for v in torch.randint(0, 96, (2,)))
        high, wide = (int(v) for v in torch.randint(16, 48, (2,)))
        image[i, :, y : y + high, x : x + wide] = torch.rand(3, 1, 1, device=image.device) * 2 - 1
    return image


def laplace_loss(points: Tensor, spread: Tensor, wanted: Tensor) -> Tensor:
    """Mean L1 with predicted scale; lips count most, the outline least; depth counts a third."""
    weight = torch.full((POINTS, 3), 2.0, device=points.device)
    weight[OVAL_SLICE] = 1.0
    for lips in (LIPS_OUTER_SLICE, LIPS_INNER_SLICE):
        weight[lips] = 3.0
    weight[:, 2] /= 3.0
    error = ((points - wanted).abs() * weight).mean(dim=(1, 2)) / weight.mean()
    scale = spread[:, 0]
    return (error / scale.detach().clamp(0.005) + error.detach() / scale + scale.log()).mean()


def gaps_of(points: Float32) -> Float32:
    """How far lips are apart in crops float32[N, POINTS, 3], inter-ocular distances, [N]."""
    return np.asarray(mouth_gap(points) / EYES_APART, np.float32)


def shares_of(points: Float32) -> npt.NDArray[np.float64]:
    """How often each crop is drawn, float64[N], sum 1: open mouths oftener."""
    shares = 1.0 + OPEN_SHARE * np.clip(gaps_of(points) / WIDE_OPEN, 0.0, 1.0).astype(np.float64)
    return np.asarray(shares / shares.sum(), np.float64)


def mirrored_points(points: Tensor, mirror: Tensor) -> Tensor:
    """Points of the mirror image, float[N, POINTS, 3]; `mirror` int64[POINTS] swaps sides."""
    flipped = points[:, mirror].clone()
    flipped[:, :, 0] = 1 - flipped[:, :, 0]
    return flipped


def mirror_from_mean(mean: npt.NDArray[np.float32]) -> Tensor:
    """Find each point's mirror partner on the mean face, int64[POINTS].

    Points of one part can only swap with the same part's other side, and every partner is
    used once.
    """
    from scipy.optimize import linear_sum_assignment

    flipped = mean.copy()
    flipped[:, 0] = 1 - flipped[:, 0]
    cost = np.linalg.norm(mean[:, None] - flipped[None], axis=2)
    rows, cols = linear_sum_assignment(cost)
    order = np.empty(len(mean), np.int64)
    order[rows] = cols
    return torch.from_numpy(order)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/landmarker"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4000)
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
    train(args, device)


class Crops:
    """Crops and turned heads to learn from.

    Args:
        data: what `training.prepare` and `training.turning` wrote.
        device: where batches shall lie.
    """

    def __init__(self, data: Path, device: torch.device) -> None:
        self.device = device
        held = np.load(data / "split.npy")
        self.held, self.rows = np.flatnonzero(held), np.flatnonzero(~held)
        self.turned_held = np.flatnonzero(held[np.load(data / "turned_rows.npy")])
        self.scenes = Scenes(data, self.rows, None)
        self.shares = shares_of(self.scenes.points[self.rows])
        self.random = np.random.default_rng()

    def _far(self, image: Tensor) -> Tensor:
        """Some of a batch float[N, 3, S, S] in [-1, 1] as from far away; changed in place."""
        for row in np.flatnonzero(self.random.random(len(image)) < _FAR):
            picture = (image[row].permute(1, 2, 0).cpu().numpy() + 1) / 2
            seen = torch.from_numpy(far_away(self.random, picture)).permute(2, 0, 1)
            image[row] = (seen * 2 - 1).to(image)
        return image

    def batch(self, count: int) -> tuple[Tensor, Tensor]:
        """Images float[N, 3, S, S] in [-1, 1] and points float[N, POINTS, 3], augmented."""
        random, turned, behind = self.random, int(_TURNED * count), int(_BEHIND * count)
        plain = count - turned - behind
        pick = np.sort(random.choice(self.rows, plain, replace=False, p=self.shares))
        scenes = self.scenes
        other = np.sort(random.choice(scenes.turned_rows, turned, replace=False))
        images = np.concatenate([scenes.images[pick], scenes.turned[other]])
        points = np.concatenate([scenes.points[pick], scenes.turned_points[other]])
        widened = torch.cat([_WIDEST + (1 - _WIDEST) * torch.rand(plain), torch.ones(turned)])
        wanted = torch.from_numpy(points).to(self.device)
        image, wanted = augmented(image_from_crops(images, self.device), wanted, widened)
        image = _partly_hidden(degraded(self._far(image)))
        pictures, seen = scenes.faces(behind)
        hidden = degraded(image_from_crops(pictures, self.device))
        return torch.cat([image, hidden]), torch.cat([wanted, torch.from_numpy(seen).to(wanted)])


def train(args: argparse.Namespace, device: torch.device) -> None:
    """Train, evaluate on the held-out crops and save `landmarker.pt`."""
    crops = Crops(args.data, device)
    mean = crops.scenes.points[crops.rows].mean(axis=0)
    mirror = mirror_from_mean(mean).to(device)
    net = Landmarker(torch.from_numpy(mean)).to(device, memory_format=torch.channels_last)
    if args.resume:
        net.load_state_dict(landmark_network(args.run / "landmarker.pt").state_dict())
    optimiser = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.99))
    average = {k: v.clone() for k, v in net.state_dict().items()}
    started, total = time.monotonic(), 0.0
    ahead = ThreadPoolExecutor(1)
    coming = ahead.submit(crops.batch, args.batch)
    for step in range(args.steps):
        image, wanted = coming.result()
        coming = ahead.submit(crops.batch, args.batch)
        if step % 2:
            image, wanted = image.flip(3), mirrored_points(wanted, mirror)
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, 2.0 * (1 - step / args.steps) + 0.01)
        with fast_precision(device):
            made, spread = net(image.contiguous(memory_format=torch.channels_last))
        loss = laplace_loss(made, spread, wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for name, value in net.state_dict().items():
                average[name].lerp_(value, max(0.005, 1.0 / (step + 1)))
        total += float((made.detach() - wanted)[:, :, :2].norm(dim=2).mean())
        if step % 200 == 199:
            log.info("step %d error %.4f, %.0f s", step, total / 200, time.monotonic() - started)
            total = 0.0
        if step % 1000 == 999 or step == args.steps - 1:
            save_full(args.run / "landmarker.pt", {"net": average})
            facts = evaluate(average, crops, device)
            (args.run / "facts.json").write_text(json.dumps(facts))
            log.info("held out: %s", facts)


@torch.no_grad()
def evaluate(weights: dict[str, Tensor], crops: Crops, device: torch.device) -> dict[str, float]:
    """Error on held-out crops, in per cent of the distance of the eyes in space.

    `gap_percent` is that of the gap between the lips, of mouths that are wide open, and
    `opened_percent` of those that were opened; `turned_percent` is that of turned heads;
    `far_percent` is that of faces as from far away,
    `far_followed` the share of them that the product would follow, `far_followed_percent` the
    error of these.
    """
    net = Landmarker().to(device)
    net.load_state_dict(weights)
    scenes = crops.scenes
    points = scenes.points[crops.held]
    made, _ = read_all(net, scenes.images[crops.held], device)
    every = errors_of(made, points)
    gaps = gaps_of(points)
    off = np.abs(gaps_of(made) - gaps)[gaps > WIDE_OPEN]
    turned, _ = read_all(net, scenes.turned[crops.turned_held], device)
    wanted = scenes.turned_points[crops.turned_held]
    turned_off, opened = errors_of(turned, wanted), gaps_of(wanted)
    opened_off = np.abs(gaps_of(turned) - opened)[opened > OPENED]
    far, doubt = read_all(net, seen_from_far(scenes.images[crops.held]), device)
    far_off, is_followed = errors_of(far, points), doubt <= DOUBT_LIMIT
    return {
        "all_percent": float(every.mean()),
        "inner_percent": float(np.delete(every, np.r_[OVAL_SLICE], axis=1).mean()),
        "gap_percent": float(off.mean() * 100),
        "opened_percent": float(opened_off.mean() * 100),
        "turned_percent": float(turned_off.mean()),
        "far_percent": float(far_off.mean()),
        "far_followed": float(is_followed.mean()),
        "far_followed_percent": float(far_off[is_followed].mean()),
    }


def read_all(
    net: Landmarker, images: npt.NDArray[np.uint8], device: torch.device
) -> tuple[Float32, Float32]:
    """Points float32[N, POINTS, 3] and spread float32[N] of uint8[N, S, S, 3]."""
    made = [
        [one.cpu().numpy() for one in net(image_from_crops(images[start : start + 64], device))]
        for start in range(0, len(images), 64)
    ]
    points, spread = (np.concatenate(one) for one in zip(*made, strict=True))
    return points, spread[:, 0]


def seen_from_far(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Pictures uint8[N, S, S, 3] as from far away, the same ones in every call."""
    random = np.random.default_rng(0)
    far = [far_away(random, image / np.float32(255)) for image in images]
    return (np.stack(far) * 255).clip(0, 255).astype(np.uint8)


def errors_of(points: Float32, wanted: Float32) -> Float32:
    """How far points float32[N, POINTS, 3] are off in the picture, float32[N, POINTS].

    In per cent of the distance of the eyes in space.
    """
    eyes = [wanted[:, part].mean(axis=1) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    apart = np.linalg.norm(eyes[1] - eyes[0], axis=1)
    away = np.linalg.norm((points - wanted)[:, :, :2], axis=2)
    return np.asarray(away / apart[:, None] * 100, np.float32)


def landmark_network(checkpoint: Path) -> Landmarker:
    """The landmark network of a checkpoint, or where there is none that of the pack."""
    if not checkpoint.exists():
        return bundled_landmarker()
    net = Landmarker()
    net.load_state_dict(weights_of(checkpoint))
    return net


def bundled_landmarker() -> Landmarker:
    """The landmark network read back out of the pack."""
    kept, convolutions, dense = bundled_layers()
    start = next(values for name, values in kept.items() if name.endswith("start"))
    net = Landmarker(torch.from_numpy(start.copy()))
    body = [layer for layer in net.body if isinstance(layer, EqualConv)]
    restore([*body, net.dense, net.head], [*convolutions[: len(body)], *dense], kept)
    return net


def bundled_layers() -> tuple[dict[str, Float32], list[onnx.NodeProto], list[onnx.NodeProto]]:
    """Weights of the pack's landmark network by name, its convolutions and its dense layers."""
    kept, (convolutions, dense) = stored_layers(bundled_pack() / "landmarker.onnx", "Conv", "Gemm")
    return kept, convolutions, dense


@torch.no_grad()
def restore(
    layers: Sequence[EqualConv | EqualLinear],
    nodes: Sequence[onnx.NodeProto],
    kept: dict[str, Float32],
) -> None:
    """Put exported weights back into layers, without the scale that is in them."""
    for layer, node in zip(layers, nodes, strict=True):
        scale = layer.scale * (GAIN if isinstance(layer, EqualConv) and layer.act else 1.0)
        layer.weight.copy_(torch.from_numpy(kept[node.input[1]]) / scale)
        layer.bias.copy_(torch.from_numpy(kept[node.input[2]].copy()))


if __name__ == "__main__":
    main()
