"""Train what tells things before a face from the face: `python -m training.occlusion`.

A decoder on the landmark network's features marks what is in front: hands, cups, microphones,
shoulders, masks. Hair, glasses and beards are the person's, and it learns not to mark them.
It learns from photographs onto which things are drawn (`training.occluders`). Hands that are in
the photographs anyway would teach the contrary: photographs in which a first training marked much
were looked at (it writes their names down as `doubtful.txt`), and those with hands, hats, print or
other things before the face, named in `occluded.txt`, are left out. Beards and hair that were
marked stay in. The landmark network itself does not change.
"""

import argparse
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.stylegan.masks import oval_from_points
from training.checkpoint import save_full, weights_of
from training.landmarker import (
    SIZE,
    Landmarker,
    bundled_layers,
    degraded,
    landmark_network,
    restore,
)
from training.networks import EqualConv, image_from_crops, upsample
from training.prepare import names_of
from training.scenes import Scenes

HEAD: Final = "head.pt"
OCCLUDED: Final = Path(__file__).parent / "occluded.txt"
_DOUBTFUL: Final = 0.04
"""Share of a face that is marked from which somebody should look at a photograph."""
_MISTAKEN: Final = 2.0
"""What it weighs to mark a face's own pixel, over missing one of a hand: the first shows it."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


class OcclusionHead(nn.Module):
    """Features of a `Landmarker` at 32, 16, 8 and 4 cells, and the image -> what is in front.

    Gives logits float[N, 1, 128, 128].
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.PixelUnshuffle(4), EqualConv(48, 16, kernel=1))
        self.at4 = EqualConv(128, 64, kernel=1)
        self.at8 = _merging(64 + 192, 64)
        self.at16 = _merging(64 + 128, 48)
        self.at32 = _merging(48 + 64 + 16, 32)
        self.out = nn.Sequential(EqualConv(32, 16, act=False), nn.PixelShuffle(4))

    def forward(self, image: Tensor, features: list[Tensor]) -> Tensor:
        """See the class; `features` come finest first."""
        x = self.at4(features[3])
        for layer, skip in ((self.at8, features[2]), (self.at16, features[1])):
            x = layer(torch.cat([upsample(x), skip], dim=1))
        x = torch.cat([upsample(x), features[0], self.first(image)], dim=1)
        logits: Tensor = self.out(self.at32(x))
        return logits


def _merging(inputs: int, outputs: int) -> nn.Sequential:
    """Fewer channels first: at this size that costs a quarter of one wide convolution."""
    return nn.Sequential(EqualConv(inputs, outputs, kernel=1), EqualConv(outputs, outputs))


class ControlNetwork(nn.Module):
    """The landmark network and what is in front, in one pass.

    Takes `image` as `Landmarker`; gives its points and spread, and occlusion
    float[N, 1, 128, 128] in [0, 1].
    """

    def __init__(self, landmarker: Landmarker, head: OcclusionHead) -> None:
        super().__init__()
        self.landmarker = landmarker
        self.head = head

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See the class."""
        features = features_of(self.landmarker, image)
        points, spread = self.landmarker.read(features[3])
        return points, spread, self.head(image, features).float().sigmoid()


def features_of(landmarker: Landmarker, image: Tensor) -> list[Tensor]:
    """Features at 32, 16, 8 and 4 cells."""
    found, x = {}, image
    for layer in landmarker.body:
        x = layer(x)
        found[int(x.shape[2])] = x
    return [found[cells] for cells in (32, 16, 8, 4)]


def occlusion_head(checkpoint: Path) -> OcclusionHead:
    """The head of a checkpoint, or where there is none that of the pack."""
    head = OcclusionHead()
    if checkpoint.exists():
        head.load_state_dict(weights_of(checkpoint))
        return head
    kept, convolutions, _ = bundled_layers()
    layers = [head.at4, *head.at8, *head.at16, head.first[1], *head.at32, head.out[0]]
    restore(layers, convolutions[-len(layers) :], kept)
    return head


def loss_of(logits: Tensor, front: Tensor, oval: Tensor) -> Tensor:
    """Cross entropy, heavier on the face's own pixels, and the overlap (Dice) per batch."""
    weight = 1 + 2 * oval + (_MISTAKEN - 1) * 3 * oval * (1 - front)
    each = functional.binary_cross_entropy_with_logits(logits, front, reduction="none")
    made = logits.sigmoid()
    both = (made * front).sum(dim=(1, 2, 3))
    dice = 1 - (2 * both + 50) / ((made + front).sum(dim=(1, 2, 3)) + 50)
    return (each * weight).sum() / weight.sum() + 0.2 * dice.mean()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/occlusion"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--landmarker", type=Path, default=Path("runs/landmarker/landmarker.pt"))
    parser.add_argument("--resume", action="store_true", help="go on from the run, or the pack")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    cv2.setNumThreads(1)
    args.run.mkdir(parents=True, exist_ok=True)
    train(args)


def train(args: argparse.Namespace) -> None:
    """Train the head; save it, its figures and the photographs it doubts."""
    held = np.load(args.data / "split.npy")
    names = names_of(args.data)
    left_out = set(OCCLUDED.read_text().split())
    rows = np.array([row for row in np.flatnonzero(~held) if names[row] not in left_out])
    scenes = Scenes(args.data, rows, None)
    trunk = (
        landmark_network(args.landmarker)
        .requires_grad_(False)
        .to(memory_format=torch.channels_last)
    )
    head = occlusion_head(args.run / HEAD) if args.resume else OcclusionHead()
    head = head.to(memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(head.parameters(), lr=args.lr, betas=(0.9, 0.99))
    average = {k: v.clone() for k, v in head.state_dict().items()}
    started, total = time.monotonic(), 0.0
    ahead = ThreadPoolExecutor(1)
    coming = ahead.submit(scenes.batch, args.batch)
    for step in range(args.steps):
        pictures, *masks = coming.result()
        front, oval = (torch.from_numpy(one) for one in masks)
        coming = ahead.submit(scenes.batch, args.batch)
        image = degraded(image_from_crops(pictures))
        image = image.contiguous(memory_format=torch.channels_last)
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, 2.0 * (1 - step / args.steps) + 0.01)
        with torch.no_grad():
            features = features_of(trunk, image)
        loss = loss_of(head(image, features), front[:, None], oval[:, None])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for name, value in head.state_dict().items():
                average[name].lerp_(value, max(0.003, 1.0 / (step + 1)))
        total += float(loss.detach())
        if step % 200 == 199:
            log.info("step %d loss %.4f, %.0f s", step, total / 200, time.monotonic() - started)
            total = 0.0
        if step % 1000 == 999 or step == args.steps - 1:
            save_full(args.run / HEAD, {"net": average})
            facts = evaluate(trunk, average, Scenes(args.data, np.flatnonzero(held), 1))
            (args.run / "facts.json").write_text(json.dumps(facts))
            log.info("held out: %s", facts)
    doubts = [names[row] for row in doubtful(trunk, average, scenes)]
    (args.run / "doubtful.txt").write_text("\n".join(doubts) + "\n")


@torch.no_grad()
def evaluate(trunk: Landmarker, weights: dict[str, Tensor], scenes: Scenes) -> dict[str, float]:
    """What is found of things before held-out faces, and what of faces is taken for such.

    Shares of the pixels of ovals: `found` of what is in front, `mistaken` of what is not,
    `mistaken_free` of faces before which nothing was put, which may be behind a real hand.
    """
    net = OcclusionHead()
    net.load_state_dict(weights)
    hits = fronts = wrong = rest = 0.0
    free: list[float] = []
    for _ in range(30):
        pictures, front, oval = scenes.batch(64)
        image = degraded(image_from_crops(pictures))
        made = (net(image, features_of(trunk, image))[:, 0] > 0).numpy()
        inside, is_front = oval > 0.5, front > 0.5
        hits += float((made & is_front & inside).sum())
        fronts += float((is_front & inside).sum())
        wrong += float((made & ~is_front & inside).sum())
        rest += float((~is_front & inside).sum())
        for mine, before, face in zip(made, is_front, inside, strict=True):
            if not before.any():
                free.append(float(mine[face].mean()))
    return {
        "occlusion_found": hits / fronts,
        "occlusion_mistaken": wrong / rest,
        "occlusion_mistaken_free": float(np.mean(free)),
    }


@torch.no_grad()
def doubtful(trunk: Landmarker, weights: dict[str, Tensor], scenes: Scenes) -> list[int]:
    """Rows of photographs of whose faces much is marked as they are."""
    net = OcclusionHead()
    net.load_state_dict(weights)
    found = []
    for start in range(0, len(scenes.rows), 128):
        rows = np.sort(scenes.rows[start : start + 128])
        image = image_from_crops(scenes.images[rows])
        made = (net(image, features_of(trunk, image))[:, 0] > 0).numpy()
        for row, mine in zip(rows, made, strict=True):
            face = oval_from_points(scenes.points[row], SIZE) > 0.5
            if mine[face].mean() > _DOUBTFUL:
                found.append(int(row))
    log.info("%d photographs are doubtful", len(found))
    return found


if __name__ == "__main__":
    main()
