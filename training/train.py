"""Train the generator against its discriminator: `python -m training.train`.

Each step paints the textures of one batch of crops again from their own codes, and others of
drawn people; the discriminator judges both beside the real ones. A run stops and resumes at any
point.
"""

import argparse
import json
import logging
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from training.augment import AdaptiveAugment
from training.checkpoint import load_full, load_small, save_full, save_small, small_of
from training.data import Batch, Crops
from training.losses import discriminator_loss, feature_loss, generator_loss, r1_penalty
from training.mixtures import mixtures
from training.networks import (
    Discriminator,
    Generator,
    fine_part,
    latents_from_codes,
)
from training.precision import fast_precision
from training.sheet import save_sheet

SHEET_SEED: Final = 0
"""Of the people drawn for contact sheets."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What may be tuned. Weights multiply losses; sizes count crops.

    Attributes:
        size: output height and width, px.
        batch: real crops per step; half as many people are drawn.
        pixel: weight of the difference to the crop that is painted again; codes do not say
            where single hairs lie, and the adversary judges what is painted there.
        feature: weight of the same in the discriminator's features.
        adversarial: weight of the adversary; rises linearly over `ramp_crops`.
        noise: standard deviation of the noise on codes, whose own is 1; more makes a code
            say less and its neighbours look alike.
        ema_crops: half-life of the averaged weights, crops.
    """

    size: int = 256
    batch: int = 16
    lr: float = 2e-3
    ramp_crops: int = 4000
    pixel: float = 4.0
    feature: float = 2.0
    adversarial: float = 1.0
    noise: float = 0.1
    r1_gamma: float = 0.2
    r1_every: int = 16
    ema_crops: float = 5000.0
    ada_target: float = 0.6


class Trainer:
    """The networks, their optimisers and one training step."""

    def __init__(self, recipe: Recipe, data: Crops, texture: Path, device: torch.device) -> None:
        """Build fresh networks on `device`; steps draw from `data`."""
        self.recipe = recipe
        self.data = data
        self.device = device
        self.nets = nn.ModuleDict(
            {
                "g": Generator(recipe.size),
                "d": Discriminator(recipe.size),
                "g_ema": Generator(recipe.size),
            }
        )
        with np.load(texture) as file:
            self.nets["g"].linear.set_texture(file)
        self.nets.to(device, memory_format=torch.channels_last)
        self.nets["g_ema"].load_state_dict(self.nets["g"].state_dict())
        self.nets["g_ema"].requires_grad_(False)
        self.g_opt = torch.optim.Adam(
            self.nets["g"].parameters(), lr=recipe.lr, betas=(0.0, 0.99), eps=1e-8
        )
        self.d_opt = torch.optim.Adam(
            self.nets["d"].parameters(), lr=recipe.lr, betas=(0.0, 0.99), eps=1e-8
        )
        self.augment = AdaptiveAugment(recipe.ada_target)
        self.crops = 0
        self.steps = 0
        self.random = torch.Generator(device=data.rows.device)
        self.random.manual_seed(int(time.time()))

    def adversarial_weight(self) -> float:
        """Return the adversary's weight at this point of the run."""
        return self.recipe.adversarial * min(self.crops / max(self.recipe.ramp_crops, 1), 1.0)

    def step(self) -> dict[str, float]:
        """Run one step; return its losses."""
        real = self.data.draw(self.recipe.batch, self.random)
        movement = self.data.movements(self.recipe.batch // 2, self.random)
        wanted = self._fine(real.planes)
        facts, made = self._generator_step(real.codes, wanted, movement)
        facts |= self._discriminator_step(wanted, made)
        self.crops += self.recipe.batch
        self.steps += 1
        self._average()
        return facts

    def _fine(self, planes: Tensor) -> Tensor:
        """What the discriminator sees of a texture, float[N, 1, size, size]."""
        return fine_part(planes[:, :1].float()) * self.nets["g"].shown()

    def _generator_step(
        self, codes: Tensor, wanted: Tensor, movement: Tensor
    ) -> tuple[dict[str, float], Tensor]:
        """Paint people again, and drawn ones who move; return losses and what was painted."""
        recipe, count = self.recipe, len(codes)
        g, d = self.nets["g"], self.nets["d"]
        d.requires_grad_(False)
        self.g_opt.zero_grad(set_to_none=True)
        codes = codes + torch.randn_like(codes) * recipe.noise
        codes = torch.cat([codes, self._drawn_codes(len(movement)) + movement])
        with fast_precision(self.device):
            made = self._fine(g.planes(latents_from_codes(codes, g.layers)))
            drawn_scores, _ = d(self.augment(made[count:]))
            again_scores, features = d(made[:count])
            with torch.no_grad():
                _, real_features = d(wanted)
        adversarial = generator_loss(drawn_scores) + 0.5 * generator_loss(again_scores)
        feature = feature_loss(features, real_features)
        pixel = (made[:count] - wanted).abs().mean()
        loss = recipe.pixel * pixel + recipe.feature * feature
        loss = loss + self.adversarial_weight() * adversarial
        loss.backward()
        self.g_opt.step()
        facts = {"pixel": pixel.item(), "feature": feature.item(), "adv": adversarial.item()}
        return facts, made.detach()[count // 2 :]

    def _drawn_codes(self, count: int) -> Tensor:
        """People made of parts, as donors are but of any group, float[count, CODE]."""
        seed = int(torch.randint(2**31, (), generator=self.random, device=self.random.device))
        made = mixtures(self.data.people, self.data.parts, count, seed)
        return torch.from_numpy(made).to(self.device)

    def _discriminator_step(self, real: Tensor, made: Tensor) -> dict[str, float]:
        recipe, d = self.recipe, self.nets["d"]
        d.requires_grad_(True)
        self.d_opt.zero_grad(set_to_none=True)
        with fast_precision(self.device):
            real_scores, _ = d(self.augment(real))
            made_scores, _ = d(self.augment(made))
        loss = discriminator_loss(real_scores, made_scores)
        facts = {
            "d": loss.item(),
            "real": real_scores.mean().item(),
            "fake": made_scores.mean().item(),
            "p": self.augment.p,
        }
        if self.steps % recipe.r1_every == 0:
            image = self.augment(real).detach().requires_grad_(True)
            penalty = r1_penalty(d(image)[0].mean(dim=1), image)
            loss = loss + penalty * (0.5 * recipe.r1_gamma * recipe.r1_every)
            facts["r1"] = penalty.item()
        loss.backward()
        self.d_opt.step()
        self.augment.update(real_scores[:, 0].detach())
        return facts

    @torch.no_grad()
    def _average(self) -> None:
        half_life = min(self.recipe.ema_crops, max(self.crops * 0.1, 1.0))
        keep = 0.5 ** (self.recipe.batch / half_life)
        ema = self.nets["g_ema"].parameters()
        for slow, fast in zip(ema, self.nets["g"].parameters(), strict=True):
            slow.lerp_(fast, 1.0 - keep)

    def state(self) -> dict[str, object]:
        """Everything that a resumed run needs."""
        return {
            "nets": self.nets.state_dict(),
            "g_opt": self.g_opt.state_dict(),
            "d_opt": self.d_opt.state_dict(),
            "facts": self.facts(),
        }

    def facts(self) -> dict[str, float]:
        """The numbers that describe where the run stands."""
        return {
            "crops": self.crops,
            "steps": self.steps,
            "p": self.augment.p,
            "size": self.recipe.size,
        }

    def restore(self, facts: dict[str, float]) -> None:
        """Take over the numbers of an earlier run."""
        self.crops, self.steps = int(facts["crops"]), int(facts["steps"])
        self.augment.p = facts["p"]

    def load(self, run: Path) -> None:
        """Continue from `run`: its full checkpoint, or its small one, or the one that is kept."""
        full = run / "full.pt"
        if full.exists():
            state = load_full(full, self.device)
            facts: dict[str, float] = state["facts"]  # type: ignore[assignment]
            same = int(facts["size"]) == self.recipe.size
            self._take(state["nets"])  # type: ignore[arg-type]
            if same:
                self.g_opt.load_state_dict(state["g_opt"])
                self.d_opt.load_state_dict(state["d_opt"])
                self._set_lr()
        elif (small := small_of(run)) is not None:
            weights, facts = load_small(small)
            self._take(weights)
        else:
            return
        self.restore(facts)
        log.info("resumed at %d crops", self.crops)

    def _take(self, weights: dict[str, Tensor]) -> None:
        """Load what fits: a network of another size keeps the layers that both have.

        The texture is the one at hand, not the one that the run began with.
        """
        own = self.nets.state_dict()
        fits = {
            k: v
            for k, v in weights.items()
            if k in own and own[k].shape == v.shape and ".linear." not in k
        }
        self.nets.load_state_dict(own | fits)

    def _set_lr(self) -> None:
        self.g_opt.param_groups[0]["lr"] = self.recipe.lr
        self.d_opt.param_groups[0]["lr"] = self.recipe.lr


def run(trainer: Trainer, out: Path, crops: int, minutes: float, sheet_every: int) -> None:
    """Train until `crops` crops or `minutes` minutes, saving on the way."""
    started = time.monotonic()
    fixed = trainer.data.at(trainer.data.held[:8])
    mark, mark_crops, seen = started, trainer.crops, 0
    totals: dict[str, float] = {}
    next_sheet = trainer.crops + (sheet_every // 4 if trainer.crops else 0)
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    with (out / "curve.jsonl").open("a") as curve:
        while not stopping and trainer.crops < crops and _minutes_since(started) < minutes:
            for name, value in trainer.step().items():
                totals[name] = totals.get(name, 0.0) + value
            seen += 1
            if seen == 50:
                now = time.monotonic()
                speed = (trainer.crops - mark_crops) / (now - mark)
                line = {k: round(v / seen, 4) for k, v in totals.items()}
                line |= {"crops": trainer.crops, "speed": round(speed, 2)}
                curve.write(json.dumps(line) + "\n")
                curve.flush()
                mark, mark_crops, totals, seen = now, trainer.crops, {}, 0
            if trainer.crops >= next_sheet:
                next_sheet = trainer.crops + sheet_every
                _save(trainer, out, fixed)
    _save(trainer, out, fixed)


def _minutes_since(started: float) -> float:
    return (time.monotonic() - started) / 60


def _save(trainer: Trainer, out: Path, fixed: Batch) -> None:
    save_full(out / "full.pt", trainer.state())
    every = trainer.nets.state_dict().items()
    weights = {name: value for name, value in every if ".linear." not in name}
    save_small(out / "small", weights, trainer.facts())
    sheet = out / "sheets" / f"{trainer.crops:09d}.png"
    people, parts = trainer.data.people, trainer.data.parts
    drawn = mixtures(people, parts, 2 * len(fixed.codes), SHEET_SEED)
    save_sheet(sheet, trainer.nets, torch.from_numpy(drawn).to(trainer.device), fixed)
    log.info("saved at %d crops", trainer.crops)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/detail"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--crops", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--sheet-every", type=int, default=8000)
    parser.add_argument("--resume", action="store_true")
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    auto = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(auto if args.device == "auto" else args.device)
    if device.type == "cpu":
        torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    args.run.mkdir(parents=True, exist_ok=True)
    (args.run / "train.pid").write_text(str(os.getpid()))
    recipe = Recipe(**{name: getattr(args, name) for name in asdict(Recipe())})
    data = Crops(args.data, args.texture, recipe.size, device)
    trainer = Trainer(recipe, data, args.texture, device)
    if args.resume:
        trainer.load(args.run)
    run(trainer, args.run, args.crops, args.minutes, args.sheet_every)


if __name__ == "__main__":
    main()
