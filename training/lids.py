"""Train the network that reads how far eyes are open: `python -m training.lids`.

Open eyes of the training crops are shut (`training.shut_eyes`), and the network learns how far.
Narrow eyes that nobody shut are open. Crops whose eyes the face mesh has nearly shut have no part.
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.face.lid_reading import HEIGHT, WIDTH, normalised
from training.checkpoint import save_full
from training.networks import EqualConv, EqualLinear
from training.shut_eyes import drawn

LIDS: Final = "lids.pt"
_LEAST_GAP: Final = 0.17
"""Gap of the lids by the face mesh below which an eye of a crop may be shut already."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


class LidNet(nn.Module):
    """`eyes` float[N, 1, HEIGHT, WIDTH] -> how far they are open, float[N, 1] in (0, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.PixelUnshuffle(2),
            EqualConv(4, 24),
            EqualConv(24, 32, stride=2),
            EqualConv(32, 48, stride=2),
            EqualConv(48, 48),
        )
        self.dense = EqualLinear(48 * (HEIGHT // 8) * (WIDTH // 8), 48)
        self.head = EqualLinear(48, 1)

    def forward(self, eyes: Tensor) -> Tensor:
        """See the class."""
        x = functional.leaky_relu(self.dense(self.body(eyes).flatten(1)), 0.2)
        return torch.sigmoid(self.head(x))


def batches(
    images: UInt8, points: Float32, rows: npt.NDArray[np.int64], count: int, seed: int
) -> tuple[Float32, Float32]:
    """`count` eyes at least: float32[N, 1, HEIGHT, WIDTH] and their openness float32[N, 1]."""
    random = np.random.default_rng(seed)
    eyes: list[Float32] = []
    openness: list[np.float32] = []
    while len(eyes) < count:
        row = int(random.choice(rows))
        bgr = np.ascontiguousarray(images[row][..., ::-1])
        seen, wanted, gaps = drawn(bgr, points[row], random)
        for eye, own, gap in zip(seen, wanted, gaps, strict=True):
            if gap >= _LEAST_GAP:
                eyes.append(normalised(eye.astype(np.float32)))
                openness.append(own)
    return np.stack(eyes)[:, None], np.array(openness, np.float32)[:, None]


def train(args: argparse.Namespace) -> None:
    """Train for `args.minutes`, then tell how far off held-out eyes are."""
    images = np.load(args.data / "faces128.npy", mmap_mode="r")
    points, held = np.load(args.data / "points.npy"), np.load(args.data / "split.npy")
    torch.manual_seed(args.seed)
    net, average = LidNet(), LidNet()
    average.load_state_dict(net.state_dict())
    optimiser = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.99))
    started, step, total = time.monotonic(), 0, 0.0
    while (done := (time.monotonic() - started) / (60 * args.minutes)) < 1:
        eyes, wanted = batches(images, points, np.flatnonzero(~held), args.batch, step + 1)
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, step / 100) * max(0.02, 1 - done)
        made = net(torch.from_numpy(eyes))
        loss = functional.smooth_l1_loss(made, torch.from_numpy(wanted), beta=0.1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        step, total = step + 1, total + float(loss.detach())
        with torch.no_grad():
            for mine, theirs in zip(average.parameters(), net.parameters(), strict=True):
                mine.lerp_(theirs, max(0.003, 1 / (step + 1)))
        if step % 200 == 0:
            log.info("step %d loss %.4f, %.0f s", step, total / 200, time.monotonic() - started)
            save_full(args.run / LIDS, {"net": average.state_dict()})
            total = 0.0
    save_full(args.run / LIDS, {"net": average.state_dict()})
    facts = evaluate(average, *batches(images, points, np.flatnonzero(held), 4000, 0))
    (args.run / "facts.json").write_text(json.dumps(facts))
    log.info("after %d steps, held out: %s", step, facts)


@torch.no_grad()
def evaluate(net: LidNet, eyes: Float32, wanted: Float32) -> dict[str, float]:
    """How far off openness is, and the shares of open eyes taken for shutting and the reverse."""
    found = net(torch.from_numpy(eyes)).numpy()
    is_open, is_shut = wanted >= 1, wanted < 0.1
    return {
        "lids_error": float(np.abs(found - wanted).mean()),
        "lids_open_taken_for_shut": float((found[is_open] < 0.5).mean()),
        "lids_shut_taken_for_open": float((found[is_shut] > 0.5).mean()),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/lids"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    train(args)


if __name__ == "__main__":
    main()
