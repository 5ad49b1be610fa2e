"""Train the embedder that tells people apart: kveil crop -> unit vector.

    python -m training.embedder --teacher mobilefacenet_w128.onnx

There are no identity labels in the training crops, so it learns to answer as a recogniser
does (knowledge distillation: cosine to the teacher's embedding and agreement of the
similarities within a batch). It is therefore not independent of that recogniser, and no
figure by that recogniser may judge what was decided with it.
"""

import argparse
import hashlib
import itertools
import json
import logging
import time
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.checkpoint import load_full, save_full
from training.networks import image_from_crops
from training.precision import fast_precision

SIZE: Final = 64
DIMENSIONS: Final = 128
_TEACHER_SIZE: Final = 112
_EYES_KVEIL: Final = np.array([[0.30, 0.37], [0.70, 0.37]]) * 128
_EYES_ARCFACE: Final = np.array([[38.79, 52.1], [74.03, 52.0]])

log = logging.getLogger(__name__)
Float32 = npt.NDArray[np.float32]


class Embedder(nn.Module):
    """float[N, 3, 128, 128] RGB in [-1, 1] -> float[N, 128], unit length."""

    def __init__(self) -> None:
        super().__init__()
        widths = (32, 64, 128, 192, 256)
        layers: list[nn.Module] = [nn.AvgPool2d(2), nn.Conv2d(3, widths[0], 3, padding=1)]
        for before, after in itertools.pairwise(widths):
            layers += [Residual(before), Down(before, after)]
        layers.append(Residual(widths[-1]))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(widths[-1] * 16, DIMENSIONS)

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


def teacher_embeddings(images: npt.NDArray[np.uint8], teacher: Path, out: Path) -> Float32:
    """The teacher's unit embeddings of all crops, float32[N, D]; mirror images share them.

    Args:
        images: uint8[N, 128, 128, 3] RGB kveil crops.
        teacher: ONNX recogniser on 112 px ArcFace crops, (x - 127.5) / 128.
        out: where they are kept; read back if there.
    """
    if out.exists():
        return np.asarray(np.load(out), np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two threads that wait for each other lose to one
    session = onnxruntime.InferenceSession(
        str(teacher), options, providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    move, _ = cv2.estimateAffinePartial2D(_EYES_KVEIL, _EYES_ARCFACE)
    side = (_TEACHER_SIZE, _TEACHER_SIZE)
    found = np.zeros((len(images), DIMENSIONS), np.float32)
    for i, image in enumerate(images):
        crop = cv2.warpAffine(image, move, side, borderMode=cv2.BORDER_REPLICATE)
        fed = (crop.astype(np.float32) - 127.5) / 128
        answer = session.run(None, {name: fed.transpose(2, 0, 1)[None]})[0][0]
        found[i] = answer / np.linalg.norm(answer)
        if i % 2000 == 0:
            log.info("teacher has seen %d of %d", i, len(images))
    np.save(out, found)
    return found


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
    gain = torch.exp(torch.randn(count, 1, 1, 1, device=image.device) * 0.2)
    image = (image + 1) * gain - 1
    coarse = functional.interpolate(
        functional.avg_pool2d(image, 4), scale_factor=4, mode="bilinear"
    )
    draw = torch.rand(count, 1, 1, 1, device=image.device)
    image = torch.where(draw < 0.2, coarse, image)
    return (image + torch.randn_like(image) * 0.03).clamp(-1, 1)


def distillation_loss(made: Tensor, wanted: Tensor) -> Tensor:
    """1 - cosine to the teacher, and the squared error of similarities within the batch."""
    direct = (1 - (made * wanted).sum(1)).mean()
    relations = functional.mse_loss(made @ made.T, wanted @ wanted.T)
    return direct + 10 * relations


def train(args: argparse.Namespace, device: torch.device) -> None:
    """Train, report the held-out agreement and save `embedder.pt`."""
    images = np.load(args.data / "faces128.npy", mmap_mode="r")
    held = np.load(args.data / "split.npy")
    targets = torch.from_numpy(teacher_embeddings(images, args.teacher, args.run / "teacher.npy"))
    rows = np.flatnonzero(~held)
    net = Embedder().to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
    first = 0
    if args.resume and (args.run / "embedder.pt").exists():
        state = load_full(args.run / "embedder.pt", device)
        net.load_state_dict(state["net"])
        first = int(str(state["step"]))
    random = np.random.default_rng(first)
    started, total = time.monotonic(), 0.0
    for step in range(first, args.steps):
        pick = np.sort(random.choice(rows, args.batch, replace=False))
        image = image_from_crops(images[pick], device)
        side = step % 2
        wanted = targets[pick].to(device)
        image = augmented(image.flip(3) if side else image)
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / 100, 1.5 * (1 - step / args.steps) + 0.01)
        with fast_precision(device):
            made = net(image.contiguous(memory_format=torch.channels_last))
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
            facts = evaluate(net, images, targets, np.flatnonzero(held), device)
            (args.run / "facts.json").write_text(json.dumps(facts))
            log.info("held out: %s", facts)
            net.train()


@torch.no_grad()
def evaluate(
    net: Embedder,
    images: npt.NDArray[np.generic],
    targets: Tensor,
    rows: npt.NDArray[np.generic],
    device: torch.device,
) -> dict[str, float]:
    """Mean cosine to the teacher on the held-out crops."""
    net.eval()
    cosines = []
    for start in range(0, len(rows), 64):
        pick = rows[start : start + 64]
        image = image_from_crops(images[pick], device)
        cosines.append((net(image).cpu() * targets[pick]).sum(1))
    return {"cosine_to_teacher": float(torch.cat(cosines).mean())}


def export(data: Path, run: Path, out: Path) -> None:
    """Write the embedder's pack: network, thresholds, manifest.

    The network takes `image` float32[N, 3, 128, 128] and gives `embedding` float32[N, 128].
    The thresholds are the cosines that one in 1,000 and one in 200 pairs of held-out crops
    reach; these show different people but for few repeated ones.
    """
    net = Embedder()
    state = load_full(run / "embedder.pt", torch.device("cpu"))
    net.load_state_dict(state["net"])
    net.eval()
    out.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        net,
        (torch.zeros(2, 3, 128, 128),),
        str(out / "embedder.onnx"),
        input_names=["image"],
        output_names=["embedding"],
        dynamic_axes={"image": {0: "n"}, "embedding": {0: "n"}},
        dynamo=False,
    )
    thresholds = held_out_thresholds(net, data)
    (out / "thresholds.json").write_text(json.dumps(thresholds, indent=2) + "\n")
    files = {
        name: {"sha256": hashlib.sha256((out / name).read_bytes()).hexdigest()}
        for name in ("embedder.onnx", "thresholds.json")
    }
    facts = json.loads((run / "facts.json").read_text()) | {"steps": state["step"]}
    content = {"format": "kveil pack 1", "name": "kveil-embedder", "files": files, "facts": facts}
    (out / "manifest.json").write_text(json.dumps(content, indent=2) + "\n")


@torch.no_grad()
def held_out_thresholds(net: Embedder, data: Path) -> dict[str, float]:
    """Cosines from which two crops count as one person, or as doubtful."""
    images = np.load(data / "faces128.npy", mmap_mode="r")
    rows = np.flatnonzero(np.load(data / "split.npy"))
    found = []
    for start in range(0, len(rows), 64):
        image = torch.from_numpy(images[rows[start : start + 64]])
        found.append(net(image.permute(0, 3, 1, 2).float() / 127.5 - 1))
    embeddings = torch.cat(found)
    cosines = (embeddings @ embeddings.T)[torch.triu_indices(len(rows), len(rows), 1).unbind()]
    order = np.sort(cosines.numpy())
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
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    auto = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(auto if args.device == "auto" else args.device)
    if device.type == "cpu":
        torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    if args.export:
        export(args.data, args.run, args.export)
        return
    train(args, device)


if __name__ == "__main__":
    main()
