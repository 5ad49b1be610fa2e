"""Train the network that reads hair around a face: `python -m training.hair`.

It learns what MediaPipe's larger network says of whole heads (`training.heads`), drawn anew every
time (`training.hair_scenes`). Some clips and people are held out; what is found on them, beyond
the patch and above the brows, is told as the overlap with the teacher's marks.
"""

import argparse
import json
import logging
import multiprocessing
import time
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from engines.hairline import RATHER
from engines.polar import UP, distances, rays_from_grid
from training.checkpoint import save_full
from training.hair_scenes import HairScenes, LabelledHead, labelled, plain
from training.heads import frames_of
from training.networks import EqualConv, upsample
from training.precision import fast_precision

HAIR: Final = "hair.pt"
WIDTHS: Final = (24, 32, 48, 64)
"""Channels at 48, 24, 12 and 6 cells."""
_HELD_CLIPS: Final = ("Twitch1", "s32")
_HELD_EVERY: Final = 8
"""Clips that are held out, and of how many people of the portraits one is."""
_CHUNK: Final = 16
_KEPT_CHUNKS: Final = 400
"""Scenes are drawn more slowly than learnt from: each is seen a few times, in other company."""
_FAR: Final = 1.05
_ABOVE: Final = 0.2
"""Up to which distance from the middle what is found counts, and how steeply rays rise there."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


class HairNet(nn.Module):
    """`around` float[N, 4, GRID, GRID] in [-1, 1], RGB and where the patch is -> logits of hair.

    A U-Net (Ronneberger et al. 2015) on blocks of 2x2 pixels.
    """

    def __init__(self) -> None:
        super().__init__()
        first, second, third, last = WIDTHS
        self.at48 = nn.Sequential(EqualConv(16, first), EqualConv(first, first))
        self.at24 = nn.Sequential(EqualConv(first, second, stride=2), EqualConv(second, second))
        self.at12 = nn.Sequential(EqualConv(second, third, stride=2), EqualConv(third, third))
        self.at6 = nn.Sequential(
            EqualConv(third, last, stride=2), EqualConv(last, last), EqualConv(last, last)
        )
        self.up12 = EqualConv(last + third, third)
        self.up24 = EqualConv(third + second, second)
        self.up48 = EqualConv(second + first, first)
        self.out = EqualConv(first, 4, act=False)

    def forward(self, around: Tensor) -> Tensor:
        """See the class; float[N, 1, GRID, GRID]."""
        at48 = self.at48(functional.pixel_unshuffle(around, 2))
        at24 = self.at24(at48)
        at12 = self.at12(at24)
        x = self.up12(torch.cat([upsample(self.at6(at12)), at12], dim=1))
        x = self.up24(torch.cat([upsample(x), at24], dim=1))
        x = self.up48(torch.cat([upsample(x), at48], dim=1))
        return functional.pixel_shuffle(self.out(x), 2)


def is_held_out(name: str) -> bool:
    """Whether a clip or person takes no part in training.

    >>> [is_held_out(name) for name in ("s32", "s13", "portrait s8", "portrait s9")]
    [True, False, True, False]
    """
    kind, _, person = name.rpartition(" ")
    return int(person[1:]) % _HELD_EVERY == 0 if kind else name in _HELD_CLIPS


def fed_from_pictures(pictures: UInt8) -> Tensor:
    """uint8[N, GRID, GRID, 4] BGR and patch -> the network's input."""
    planes = pictures[..., [2, 1, 0, 3]].transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(planes)).float() / 127.5 - 1


def loss_of(logits: Tensor, hair: Tensor, counts: Tensor) -> Tensor:
    """Cross entropy and the overlap (Dice), where it counts."""
    each = functional.binary_cross_entropy_with_logits(logits, hair, reduction="none")
    made, wanted = logits.sigmoid() * counts, hair * counts
    both, total = (made * wanted).sum(dim=(1, 2, 3)), (made + wanted).sum(dim=(1, 2, 3))
    dice = 1 - (2 * both + 20) / (total + 20)
    return (each * counts).sum() / counts.sum() + 0.3 * dice.mean()


@torch.no_grad()
def evaluate(net: HairNet, heads: list[LabelledHead]) -> dict[str, float]:
    """Overlap (intersection over union) with the teacher's hair, of clips and of portraits.

    What counts as hair is what does in the product.
    """
    shared = {"hair_overlap_clips": [0.0, 0.0], "hair_overlap_portraits": [0.0, 0.0]}
    for head in heads:
        pictures, hair, counts = plain(head)
        made = net(fed_from_pictures(pictures[None]))[0, 0].numpy()
        told, wanted, valid, patch = (
            rays_from_grid(np.asarray(one, np.float32)[..., None]).reshape(UP.size, -1)
            for one in (made, hair, counts, pictures[..., 3])
        )
        where = (valid > 0.9) & (patch < 1) & (distances() < _FAR) & (UP > _ABOVE)[:, None]
        found, real = (told > -RATHER) & where, (wanted > 0.5) & where
        kind = shared["hair_overlap_portraits" if head.is_grey else "hair_overlap_clips"]
        kind[0] += float((found & real).sum())
        kind[1] += float((found | real).sum())
    return {name: both / max(either, 1.0) for name, (both, either) in shared.items()}


def heads_of(path: Path, *, held_out: bool) -> list[LabelledHead]:
    """The heads that `training.heads` wrote, those held out or the others."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    rows = [row for row, name in enumerate(arrays["names"]) if is_held_out(str(name)) == held_out]
    return [labelled(arrays, row) for row in rows]


def walls_of(folder: Path) -> list[UInt8]:
    """Pictures for what is behind heads: first frames of clips in `folder`, held ones left out."""
    walls = []
    for path in sorted(folder.iterdir()):
        if path.stem not in _HELD_CLIPS:
            for image in frames_of(path, 121, 40):
                small = cv2.resize(image, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
                walls.append(np.asarray(small, np.uint8))
    if not walls:
        raise FileNotFoundError(f"no clip in {folder} can be read; name a folder of clips")
    return walls


def _draw(
    heads: Path,
    videos: Path,
    seed: int,
    ahead: "multiprocessing.Queue[tuple[UInt8, Float32, Float32]]",
) -> None:
    """Draw scenes for ever, in a process of its own."""
    cv2.setNumThreads(1)
    scenes = HairScenes(heads_of(heads, held_out=False), walls_of(videos), seed)
    while True:
        pictures, hair, counts = scenes.batch(_CHUNK)
        ahead.put((pictures, hair.astype(np.float16), counts.astype(np.float16)))


def train(args: argparse.Namespace) -> None:
    """Train for `args.minutes`; save the mean of the last weights and its figures."""
    held = heads_of(args.heads, held_out=True)
    # A forked process would inherit OpenCV's threads, and wait for them for ever.
    processes = multiprocessing.get_context("spawn")
    ahead: multiprocessing.Queue[tuple[UInt8, Float32, Float32]] = processes.Queue(8)
    drawing = (args.heads, args.videos, args.seed, ahead)
    artist = processes.Process(target=_draw, args=drawing, daemon=True)
    artist.start()
    torch.manual_seed(args.seed)
    net, average = HairNet(), HairNet()
    average.load_state_dict(net.state_dict())
    optimiser = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.99))
    random, chunks = np.random.default_rng(args.seed), [ahead.get() for _ in range(20)]
    started, step, total = time.monotonic(), 0, 0.0
    while (done := (time.monotonic() - started) / (60 * args.minutes)) < 1:
        while not ahead.empty():
            chunks = [*chunks[1 - _KEPT_CHUNKS :], ahead.get()]
        chosen = [chunks[at] for at in random.integers(len(chunks), size=args.batch // _CHUNK)]
        pictures, hair, counts = (np.concatenate(one) for one in zip(*chosen, strict=True))
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, step / 200) * max(0.02, 1 - done)
        with fast_precision(torch.device("cpu")):
            logits = net(fed_from_pictures(pictures))
        wanted, where = (torch.from_numpy(one).float()[:, None] for one in (hair, counts))
        loss = loss_of(logits.float(), wanted, where)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        step, total = step + 1, total + float(loss.detach())
        with torch.no_grad():
            for mine, theirs in zip(average.parameters(), net.parameters(), strict=True):
                mine.lerp_(theirs, max(0.002, 1 / (step + 1)))
        if step % 500 == 0:
            log.info("step %d loss %.3f: %s", step, total / 500, evaluate(average, held))
            save_full(args.run / HAIR, {"net": average.state_dict()})
            total = 0.0
    artist.terminate()
    save_full(args.run / HAIR, {"net": average.state_dict()})
    facts = evaluate(average, held)
    (args.run / "facts.json").write_text(json.dumps(facts))
    log.info("after %d steps, held out: %s", step, facts)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/hair"))
    parser.add_argument("--heads", type=Path, default=Path("runs/heads.npz"))
    parser.add_argument("--videos", type=Path, required=True, help="folder of clips")
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    train(args)


if __name__ == "__main__":
    main()
