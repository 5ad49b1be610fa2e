"""Train StyleID's latent swapper (2023, Section 6): `python -m training.latent_swapper`.

The network sees the codes of a source S and of a target R and finds an α-mask for
α·S + (1 − α)·R. Three sub-modules, each of four fully connected layers, answer for coarse,
identity and fine channels (Fig. 10); identity weighs most. Eq. 5 subtracts the similarity of
S and the result from what is minimised, which would reward it; here it is added. F(G(·)) of
Eq. 6 is a small network distilled from the embedder's vectors of painted codes, so that no
picture need be painted while training. `evaluation.reproduction.prepare_swapper` writes the
data, synthetic people alone.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import checker
from torch import Tensor, nn
from torch.nn import functional

SHARES: Final = (1 / 6, 2 / 3)
"""Where identity's channels begin and end, directions being ordered from coarse to fine."""
WEIGHTS: Final = (0.5, 1.0, 0.5)
"""Of the latent loss in coarse, identity and fine channels."""
STAYING: Final = (2.0, 0.0, 2.0)
"""First logits of α: coarse and fine channels begin by passing through."""
LAMBDA_LATENT: Final = 1.0
LAMBDA_IDENTITY: Final = 0.5
HELD_OUT: Final = 150
OPSET: Final = 18

log = logging.getLogger(__name__)


def bounds(channels: int) -> tuple[int, int]:
    """First and last + 1 of the identity channels.

    >>> bounds(144)
    (24, 96)
    """
    return round(channels * SHARES[0]), round(channels * SHARES[1])


class SubSwapper(nn.Module):
    """Both codes float[N, 2C] -> logits of α for a part of the channels."""

    def __init__(self, channels: int, part: int, width: int, staying: float) -> None:
        super().__init__()
        last = nn.Linear(width, part)
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, staying)
        self.layers = nn.Sequential(
            nn.Linear(2 * channels, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            last,
        )

    def forward(self, both: Tensor) -> Tensor:
        """See the class."""
        return self.layers(both)


class Swapper(nn.Module):
    """`source` and `target` float[N, C] -> `alpha` float[N, C] in (0, 1)."""

    def __init__(self, channels: int, width: int = 128) -> None:
        super().__init__()
        first, last = bounds(channels)
        parts = (first, last - first, channels - last)
        self.parts = nn.ModuleList(
            [
                SubSwapper(channels, part, width, staying)
                for part, staying in zip(parts, STAYING, strict=True)
            ]
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """See the class."""
        both = torch.cat([source, target], dim=1)
        return torch.cat([part(both) for part in self.parts], dim=1).sigmoid()


class IdentityReader(nn.Module):
    """Codes float[N, C] -> unit vectors float[N, D]: F(G(·)), distilled."""

    def __init__(self, channels: int, depth: int, width: int = 256) -> None:
        super().__init__()
        self.straight = nn.Linear(channels, depth)
        self.bent = nn.Sequential(nn.Linear(channels, width), nn.SiLU(), nn.Linear(width, depth))

    def forward(self, codes: Tensor) -> Tensor:
        """See the class."""
        return functional.normalize(self.straight(codes) + self.bent(codes), dim=1)


def swap_loss(made: Tensor, truth: Tensor, similarity: Tensor, weights: Tensor) -> Tensor:
    """Eq. 5 with its sign put right.

    Args:
        made: float[N, C] codes of the result.
        truth: float[N, C] codes of S with R's face in its mask.
        similarity: float[N] cosine of the identities of S and the result (Eq. 6).
        weights: float[C] of the channels.
    """
    latent = ((made - truth).abs() * weights).mean()
    return LAMBDA_LATENT * latent + LAMBDA_IDENTITY * similarity.mean()


def train_reader(codes: Tensor, vectors: Tensor, steps: int) -> IdentityReader:
    """Distils the reader; its held-out cosine is logged."""
    reader = IdentityReader(codes.shape[1], vectors.shape[1])
    optimiser = torch.optim.AdamW(reader.parameters(), 2e-3, weight_decay=1e-2)
    rows = len(codes) - HELD_OUT
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * (1 - step / steps)
        pick = torch.randint(rows, (256,))
        loss = 1 - (reader(codes[pick]) * vectors[pick]).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for parameter in reader.parameters():
        parameter.requires_grad_(False)
    with torch.no_grad():
        cosine = (reader(codes[rows:]) * vectors[rows:]).sum(1).mean()
    log.info("the reader reaches a cosine of %.3f on held-out people", float(cosine))
    return reader


def train(data: dict[str, Tensor], steps: int) -> tuple[Swapper, dict[str, float]]:
    """Trains the reader and the swapper; also returns held-out figures.

    Args:
        data: `source`, `target`, `truth` float[N, C]; their vectors float[N, D].
        steps: of each network.
    """
    source, target, truth = data["source"], data["target"], data["truth"]
    vectors = torch.cat([data["source_vector"], data["target_vector"]])
    reader = train_reader(torch.cat([source, target]), vectors, steps)
    channels = source.shape[1]
    net, weights = Swapper(channels), channel_weights(channels)
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    rows = len(source) - HELD_OUT
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 1e-3 * (1 - step / steps)
        pick = torch.randint(rows, (128,))
        alpha = net(source[pick], target[pick])
        made = alpha * source[pick] + (1 - alpha) * target[pick]
        similarity = (reader(made) * data["source_vector"][pick]).sum(1)
        loss = swap_loss(made, truth[pick], similarity, weights)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net, held_out(net, reader, {name: rows_[rows:] for name, rows_ in data.items()})


def channel_weights(channels: int) -> Tensor:
    """float[C] of the latent loss."""
    first, last = bounds(channels)
    counts = torch.tensor([first, last - first, channels - last])
    return torch.repeat_interleave(torch.tensor(WEIGHTS), counts)


@torch.no_grad()
def held_out(net: Swapper, reader: IdentityReader, data: dict[str, Tensor]) -> dict[str, float]:
    """Mean α by sub-module and identity similarity before and after, by the reader."""
    alpha = net(data["source"], data["target"])
    made = alpha * data["source"] + (1 - alpha) * data["target"]
    first, last = bounds(alpha.shape[1])
    parts = {"coarse": alpha[:, :first], "identity": alpha[:, first:last], "fine": alpha[:, last:]}
    similarity = (reader(made) * data["source_vector"]).sum(1).mean()
    strangers = (data["target_vector"] * data["source_vector"]).sum(1).mean()
    figures = {f"alpha_{name}": float(part.mean()) for name, part in parts.items()}
    figures |= {"similarity": float(similarity), "similarity_of_strangers": float(strangers)}
    return {name: round(value, 4) for name, value in figures.items()}


def export(net: Swapper, channels: int, path: Path) -> None:
    """Write the network with a dynamic batch axis."""
    net.eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        net,
        (torch.zeros(2, channels), torch.zeros(2, channels)),
        str(path),
        input_names=["source", "target"],
        output_names=["alpha"],
        dynamic_axes={name: {0: "n"} for name in ("source", "target", "alpha")},
        opset_version=OPSET,
        dynamo=False,
    )
    checker.check_model(onnx.load(str(path)))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/swapper.npz"))
    parser.add_argument("--out", type=Path, default=Path("evaluation/methods/networks"))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    with np.load(args.data) as file:
        pack = str(file["pack"])
        data = {name: torch.from_numpy(file[name]) for name in file.files if name != "pack"}
    net, figures = train(data, args.steps)
    export(net, data["source"].shape[1], args.out / "swapper.onnx")
    facts = {"pack": pack, "held_out": figures}
    (args.out / "swapper.json").write_text(json.dumps(facts, indent=1) + "\n")
    log.info("%s", json.dumps(figures))


if __name__ == "__main__":
    main()
