"""Train the generator against its discriminator: `python -m training.train`.

Each step paints one batch of crops again from their own codes and control, and another from
drawn codes under the control of other crops; the discriminator judges both beside real crops.
The first crops train without it. A run stops and resumes at any point.
"""

import argparse
import json
import logging
import os
import signal
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from training.augment import AdaptiveAugment
from training.checkpoint import load_full, load_small, save_full, save_small
from training.data import Batch, Crops, joined
from training.losses import (
    discriminator_loss,
    face_weight,
    feature_loss,
    generator_loss,
    identity_loss,
    pyramid_loss,
    r1_penalty,
)
from training.networks import (
    CODE,
    Discriminator,
    Generator,
    latent_axes,
    latents_from_codes,
)
from training.sheet import save_sheet

DRAWN: Final = 4096
"""People drawn where there are no donors yet."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What may be tuned. Weights multiply losses; sizes count crops.

    Attributes:
        size: output height and width, px.
        batch: real crops per step; half as many are painted with drawn codes.
        warm_crops: crops seen before the adversary joins.
        beyond: weight of painting nothing where no swap shows it.
        identity: weight of staying with the texture of a drawn person.
        noise: standard deviation of the noise on codes, whose own is 1; more makes a code
            say less and its neighbours look alike.
        adversarial: weight of the adversary; rises linearly over `ramp_crops`.
        ema_crops: half-life of the averaged weights, crops.
    """

    size: int = 128
    batch: int = 16
    lr: float = 2e-3
    warm_crops: int = 2500
    ramp_crops: int = 4000
    pixel: float = 6.0
    feature: float = 4.0
    adversarial: float = 1.0
    identity: float = 4.0
    beyond: float = 2.0
    noise: float = 0.1
    r1_gamma: float = 0.2
    r1_every: int = 16
    ema_crops: float = 5000.0
    ada_target: float = 0.6


class Trainer:
    """The networks, their optimisers and one training step."""

    def __init__(
        self, recipe: Recipe, data: list[Crops], texture: Path, donors: Path, device: torch.device
    ) -> None:
        """Build fresh networks on `device`; steps draw from `data` in turn."""
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
            mean, basis = torch.from_numpy(file["mean"]), torch.from_numpy(file["basis"]).float()
            covariance = torch.from_numpy(file["covariance"])
        self.nets["g"].base.set_texture(mean, basis)
        self.nets.to(device, memory_format=torch.channels_last)
        self.nets["g_ema"].load_state_dict(self.nets["g"].state_dict())
        self.nets["g_ema"].requires_grad_(False)
        self.donors = donor_codes(donors, covariance).to(device)
        self.g_opt = torch.optim.Adam(
            self.nets["g"].parameters(), lr=recipe.lr, betas=(0.0, 0.99), eps=1e-8
        )
        self.d_opt = torch.optim.Adam(
            self.nets["d"].parameters(), lr=recipe.lr, betas=(0.0, 0.99), eps=1e-8
        )
        self.augment = AdaptiveAugment(recipe.ada_target)
        self.crops = 0
        self.steps = 0
        self.random = torch.Generator(device=data[0].rows.device)
        self.random.manual_seed(int(time.time()))

    def adversarial_weight(self) -> float:
        """Return the adversary's weight at this point of the run."""
        done = (self.crops - self.recipe.warm_crops) / max(self.recipe.ramp_crops, 1)
        return self.recipe.adversarial * min(max(done, 0.0), 1.0)

    def step(self) -> dict[str, float]:
        """Run one step; return its losses."""
        recipe = self.recipe
        data = self.data[self.steps % len(self.data)]
        real = data.draw(recipe.batch, recipe.size, self.random)
        other = data.draw(recipe.batch // 2, recipe.size, self.random)
        weight = self.adversarial_weight()
        facts, fakes = self._generator_step(real, other, weight)
        if self.crops >= recipe.warm_crops - recipe.batch * 100:
            facts |= self._discriminator_step(real, fakes)
        self.crops += recipe.batch
        self.steps += 1
        self._average()
        return facts

    def _paint(self, codes: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        g = self.nets["g"]
        latents = latents_from_codes(codes, g.layers)
        made, base = g.painted(latents, batch.maps, batch.light, batch.uv)
        return made.float(), base

    def _generator_step(
        self, real: Batch, other: Batch, weight: float
    ) -> tuple[dict[str, float], Batch]:
        recipe, count = self.recipe, len(real.image)
        self.nets["d"].requires_grad_(False)
        self.g_opt.zero_grad(set_to_none=True)
        codes = real.codes + torch.randn_like(real.codes) * recipe.noise
        batch = real
        if weight > 0:
            codes = torch.cat([codes, self._drawn_codes(len(other.codes)) + other.movement])
            batch = joined(real, other)
        with torch.autocast(self.device.type, torch.bfloat16):
            made, base = self._paint(codes, batch)
        weight_of = face_weight(real.maps, recipe.size) * real.region
        pixel = pyramid_loss(made[:count], real.image, weight_of)
        beyond = ((1 - batch.region) * (made - base).abs()).mean()
        loss = recipe.pixel * pixel + recipe.beyond * beyond
        facts = {"pixel": pixel.item(), "beyond": beyond.item()}
        if weight > 0:
            extra, more = self._adversarial_terms(made, base, real, batch, weight)
            loss = loss + extra
            facts |= more
        loss.backward()
        self.g_opt.step()
        judged = slice(count // 2, None)
        shown = (made * batch.region).detach()[judged]
        return facts, replace(batch, image=shown, maps=batch.maps[judged])

    def _adversarial_terms(
        self, made: Tensor, base: Tensor, real: Batch, both: Batch, weight: float
    ) -> tuple[Tensor, dict[str, float]]:
        recipe, d, count = self.recipe, self.nets["d"], len(real.image)
        shown = made * both.region
        seen, maps = self.augment(shown[count:], both.maps[count:])
        with torch.autocast(self.device.type, torch.bfloat16):
            painted, _ = d(seen, maps)
            again, features = d(shown[:count], real.maps)
            with torch.no_grad():
                _, wanted = d(real.image * real.region, real.maps)
        adversarial = generator_loss(painted) + 0.5 * generator_loss(again)
        feature = feature_loss(features, wanted)
        identity = identity_loss(made[count:], base[count:])
        share = weight / recipe.adversarial
        extra = weight * adversarial + share * recipe.feature * feature + recipe.identity * identity
        facts = {
            "adv": adversarial.item(),
            "feature": feature.item(),
            "identity": identity.item(),
        }
        return extra, facts

    def _drawn_codes(self, count: int) -> Tensor:
        """Surrogates as a gallery mixes them from two donors each, float[count, CODE]."""
        donors = self.donors[torch.randint(len(self.donors), (2, count), device=self.device)]
        share = torch.rand(count, 1, device=self.device)
        norm = (share.square() + (1 - share).square()).sqrt()
        return (share * donors[0] + (1 - share) * donors[1]) / norm

    def _discriminator_step(self, real: Batch, fakes: Batch) -> dict[str, float]:
        recipe, d = self.recipe, self.nets["d"]
        d.requires_grad_(True)
        self.d_opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16):
            shown = real.image * real.region
            real_scores, _ = d(*self.augment(shown, real.maps))
            fake_scores, _ = d(*self.augment(fakes.image, fakes.maps))
        loss = discriminator_loss(real_scores, fake_scores)
        facts = {
            "d": loss.item(),
            "real": real_scores.mean().item(),
            "fake": fake_scores.mean().item(),
            "p": self.augment.p,
        }
        if self.steps % recipe.r1_every == 0:
            image, maps = self.augment(shown, real.maps)
            image = image.detach().requires_grad_(True)
            scores, _ = d(image, maps)
            penalty = r1_penalty(scores, image)
            loss = loss + penalty * (0.5 * recipe.r1_gamma * recipe.r1_every)
            facts["r1"] = penalty.item()
        loss.backward()
        self.d_opt.step()
        self.augment.update(real_scores.detach())
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
        """Continue from `run`: its full checkpoint, or else its small one."""
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
        elif (run / "small").exists():
            weights, facts = load_small(run / "small")
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
            if k in own and own[k].shape == v.shape and ".base." not in k
        }
        self.nets.load_state_dict(own | fits)

    def _set_lr(self) -> None:
        self.g_opt.param_groups[0]["lr"] = self.recipe.lr
        self.d_opt.param_groups[0]["lr"] = self.recipe.lr


def donor_codes(path: Path, covariance: Tensor) -> Tensor:
    """The codes of a pack's donors, float[D, CODE]; without a pack, of people drawn at random.

    Args:
        path: of a pack's `donors.npz`; need not exist.
        covariance: float[CODE, CODE] of people's codes.
    """
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            latents = np.asarray(file["latents"], np.float32).mean(axis=1)
        return torch.from_numpy(latents) @ latent_axes()
    root = torch.linalg.cholesky(covariance.double() + 1e-4 * torch.eye(CODE, dtype=torch.float64))
    return torch.randn(DRAWN, CODE) @ root.float().T


def run(trainer: Trainer, out: Path, crops: int, minutes: float, sheet_every: int) -> None:
    """Train until `crops` crops or `minutes` minutes, saving on the way."""
    started = time.monotonic()
    shown = trainer.data[-1]
    fixed = shown.at(shown.held[:8], trainer.recipe.size)
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
    weights = {name: value for name, value in every if ".base." not in name}
    save_small(out / "small", weights, trainer.facts())
    sheet = out / "sheets" / f"{trainer.crops:09d}.png"
    save_sheet(sheet, trainer.nets, trainer.donors[:: max(1, len(trainer.donors) // 6)], fixed)
    log.info("saved at %d crops", trainer.crops)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/face"))
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[Path("runs/data"), Path("runs/painted")]
    )
    parser.add_argument("--texture", type=Path, default=Path("runs/texture.npz"))
    parser.add_argument("--donors", type=Path, default=Path("engines/weights/donors.npz"))
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
    trainer = Trainer(
        recipe, [Crops(folder, device) for folder in args.data], args.texture, args.donors, device
    )
    if args.resume:
        trainer.load(args.run)
    run(trainer, args.run, args.crops, args.minutes, args.sheet_every)


if __name__ == "__main__":
    main()
