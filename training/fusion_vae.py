"""Train FPSP's fusion network (2023, Section 4.2.4): `python -m training.fusion_vae`.

A vector-quantised autoencoder makes one face of a surrogate and four obscured copies, which
`evaluation.reproduction.prepare_fusion` wrote. What the paper's formulas cannot mean is left
out: Eq. 16 counts mismatched labels, which has no slope, so a small frozen network reads
expressions and their distance is the loss; Eq. 17 and 18 minimise a likelihood, here the
error; Eq. 18 compares pictures with entries of the dictionary, here pictures with surrogates.
β varies from batch to batch and is told to the network, so that one serves all of them.
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import checker, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

SIZE: Final = 64
COPIES: Final = 15
ENTRIES: Final = 256
DEPTH: Final = 32
WIDTH: Final = 32
ALPHA: Final = 0.4
"""Weight of the expression loss (Eq. 19), the paper's best."""
COMMITMENT: Final = 0.25
HELD_OUT: Final = 200
OPSET: Final = 18

log = logging.getLogger(__name__)


class Quantiser(nn.Module):
    """Replaces each place's vector by the nearest entry of a dictionary (Eq. 14–15)."""

    def __init__(self, entries: int = ENTRIES, depth: int = DEPTH) -> None:
        super().__init__()
        self.entries = nn.Parameter(torch.randn(entries, depth) * 0.3)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """[N, D, H, W] -> the same quantised, and the dictionary's and encoder's loss."""
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        squares = (self.entries**2).sum(1)
        nearest = (squares - 2 * flat @ self.entries.T).argmin(dim=1)
        chosen = functional.embedding(nearest, self.entries)
        count, _, height, width = z.shape
        picked = chosen.reshape(count, height, width, -1).permute(0, 3, 1, 2)
        loss = functional.mse_loss(picked, z.detach())
        loss = loss + COMMITMENT * functional.mse_loss(z, picked.detach())
        return z + (picked - z).detach(), loss

    @torch.no_grad()
    def revive(self, z: Tensor, generator: torch.Generator) -> None:
        """Moves entries that no place of `z` chooses to places of it."""
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        squares = (self.entries**2).sum(1)
        used = torch.bincount(
            (squares - 2 * flat @ self.entries.T).argmin(dim=1), minlength=len(self.entries)
        )
        idle = used == 0
        drawn = torch.randint(len(flat), (int(idle.sum()),), generator=generator)
        self.entries[idle] = flat[drawn]


class Residual(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """[N, C, H, W] -> the same shape."""
        return x + self.second(functional.silu(self.first(functional.silu(x))))


class Fusion(nn.Module):
    """`copies` float[N, 15, 64, 64] and `beta` float[N, 1] -> face float[N, 3, 64, 64]."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(COPIES + 1, width, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(width, 2 * width, 4, 2, 1),
            Residual(2 * width),
            nn.Conv2d(2 * width, DEPTH, 1),
        )
        self.quantiser = Quantiser()
        self.decoder = nn.Sequential(
            nn.Conv2d(DEPTH, 2 * width, 3, padding=1),
            Residual(2 * width),
            nn.SiLU(),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
            nn.SiLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )

    def encoded(self, copies: Tensor, beta: Tensor) -> Tensor:
        """[N, DEPTH, 16, 16] before it is quantised."""
        plane = beta[:, :, None, None].expand(-1, 1, SIZE, SIZE)
        return self.encoder(torch.cat([copies, plane], dim=1))

    def fused(self, copies: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        """The face and the quantiser's loss."""
        picked, loss = self.quantiser(self.encoded(copies, beta))
        return self.decoder(picked), loss

    def forward(self, copies: Tensor, beta: Tensor) -> Tensor:
        """See the class."""
        return self.fused(copies, beta)[0]


class ExpressionReader(nn.Module):
    """float[N, 3, 64, 64] -> expression coefficients float[N, K], standardised."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 24, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(24, 48, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(48, 48, 4, 2, 1),
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(48 * 64, outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        return self.layers(x)


def fusion_loss(
    made: Tensor,
    face: Tensor,
    surrogate: Tensor,
    beta: Tensor,
    quantised: Tensor,
    expression: Tensor,
    alpha: float = ALPHA,
) -> Tensor:
    """Eq. 19: α·L_q + (1 − α)·((1 − β)·L_m1 + β·L_m2).

    Args:
        made: float[N, 3, S, S], the network's faces.
        face: float[N, 3, S, S], the originals.
        surrogate: float[N, 3, S, S].
        beta: float[N, 1], share of the surrogate.
        quantised: loss of the dictionary, part of both L_m.
        expression: L_q, distance between expressions read off `made` and off `face`.
        alpha: weight of the expression.
    """
    own = (made - face).abs().mean(dim=(1, 2, 3))
    lent = (made - surrogate).abs().mean(dim=(1, 2, 3))
    fused = ((1 - beta[:, 0]) * own + beta[:, 0] * lent).mean() + quantised
    return alpha * expression + (1 - alpha) * fused


def train_reader(
    faces: Tensor, expression: Tensor, minutes: float, generator: torch.Generator
) -> ExpressionReader:
    """A reader of expressions, frozen; its held-out error is logged."""
    reader = ExpressionReader(expression.shape[1])
    optimiser = torch.optim.Adam(reader.parameters(), 2e-3)
    rows = len(faces) - min(HELD_OUT, len(faces) // 10)
    ends = time.monotonic() + 60 * minutes
    while time.monotonic() < ends:
        pick = torch.randint(rows, (64,), generator=generator)
        loss = functional.smooth_l1_loss(reader(faces[pick]), expression[pick])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for parameter in reader.parameters():
        parameter.requires_grad_(False)
    with torch.no_grad():
        error = (reader(faces[rows:]) - expression[rows:]).square().mean()
    log.info("the reader leaves %.3f of the expression's variance", float(error))
    return reader


def train(args: argparse.Namespace) -> Fusion:
    """Trains for `args.minutes` and logs the held-out errors."""
    generator = torch.Generator().manual_seed(args.seed)
    torch.manual_seed(args.seed)
    with np.load(args.data) as file:
        copies, faces = (
            torch.from_numpy(file[name]).float() / 127.5 - 1 for name in ("copies", "faces")
        )
        expression = torch.from_numpy(file["expression"])
    expression = (expression - expression.mean(0)) / expression.std(0)
    reader = train_reader(faces, expression, args.minutes / 6, generator)
    net = Fusion()
    if args.resume:
        load_weights(net, args.out)
    optimiser = torch.optim.Adam(net.parameters(), args.lr)
    rows = len(faces) - min(HELD_OUT, len(faces) // 10)
    started, step = time.monotonic(), 0
    while (share := (time.monotonic() - started) / (60 * args.minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, 4 * (1 - share) + 0.05)
        pick = torch.randint(rows, (args.batch,), generator=generator)
        beta = torch.rand(args.batch, 1, generator=generator)
        if step in (50, 200, 500) and not args.resume:
            net.quantiser.revive(net.encoded(copies[pick], beta), generator)
        made, quantised = net.fused(copies[pick], beta)
        told = functional.smooth_l1_loss(reader(made), reader(faces[pick]))
        loss = fusion_loss(made, faces[pick], copies[pick, :3], beta, quantised, told)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step += 1
        if step % 50 == 0:
            log.info("step %d loss %.4f expression %.4f", step, float(loss), float(told))
    log.info("%s", json.dumps({"steps": step} | held_out(net, copies[rows:], faces[rows:])))
    return net


@torch.no_grad()
def held_out(net: Fusion, copies: Tensor, faces: Tensor) -> dict[str, float]:
    """Mean error to originals and to surrogates with all of either wanted."""
    found = {}
    for name, wanted in (("original", 0.0), ("surrogate", 1.0)):
        made = net(copies, torch.full((len(copies), 1), wanted))
        target = faces if name == "original" else copies[:, :3]
        found[f"error_to_{name}"] = round(float((made - target).abs().mean()), 4)
    return found


def load_weights(net: Fusion, path: Path) -> None:
    """Take the weights of an exported network of the same form."""
    stored = {item.name: item for item in onnx.load(str(path)).graph.initializer}
    names = [name for name, _ in net.named_parameters()]
    arrays = {name: numpy_helper.to_array(stored[name]).copy() for name in names}
    net.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})


def export(net: Fusion, path: Path) -> None:
    """Write the network with a dynamic batch axis."""
    net.eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        net,
        (torch.zeros(2, COPIES, SIZE, SIZE), torch.zeros(2, 1)),
        str(path),
        input_names=["copies", "beta"],
        output_names=["face"],
        dynamic_axes={name: {0: "n"} for name in ("copies", "beta", "face")},
        opset_version=OPSET,
        dynamo=False,
    )
    checker.check_model(onnx.load(str(path)))
    log.info("wrote %s, %d bytes", path.name, path.stat().st_size)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/fusion.npz"))
    parser.add_argument("--out", type=Path, default=Path("evaluation/methods/networks/fusion.onnx"))
    parser.add_argument("--resume", action="store_true", help="continue from --out")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    export(train(args), args.out)


if __name__ == "__main__":
    main()
