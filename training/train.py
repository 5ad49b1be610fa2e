"""Train generator, encoder and discriminator together: `python -m training.train`.

Each step reconstructs one batch (crop -> code -> crop, same control) and paints another
(drawn codes, other control); the discriminator judges both beside real crops. The first
crops train the autoencoder alone. A run stops and resumes at any point.
"""

import argparse
import json
import logging
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from training.augment import AdaptiveAugment
from training.checkpoint import load_full, load_small, save_full, save_small
from training.data import Batch, Crops, light_from_images
from training.losses import (
    code_loss,
    discriminator_loss,
    feature_loss,
    generator_loss,
    pyramid_loss,
    r1_penalty,
)
from training.networks import CODE, Discriminator, Encoder, Generator, Mapping
from training.sheet import save_sheet

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What may be tuned. Weights multiply losses; sizes count crops.

    Attributes:
        size: output height and width, px.
        batch: real crops per step; half as many are painted with drawn codes.
        warm_crops: crops seen before the adversary joins.
        noise: standard deviation of the noise on codes, whose own is 1; more makes a code
            say less and its neighbours look alike.
        adversarial: weight of the adversary; rises linearly over `ramp_crops`.
        ema_crops: half-life of the averaged weights, crops.
    """

    size: int = 64
    batch: int = 16
    lr: float = 2e-3
    encoder_lr: float = 1e-3
    warm_crops: int = 8000
    ramp_crops: int = 8000
    pixel: float = 6.0
    feature: float = 2.0
    adversarial: float = 0.5
    light: float = 4.0
    code: float = 0.5
    noise: float = 0.25
    r1_gamma: float = 0.1
    r1_every: int = 16
    ema_crops: float = 5000.0
    ada_target: float = 0.6


class Trainer:
    """The networks, their optimisers and one training step."""

    def __init__(self, recipe: Recipe, data: Crops, device: torch.device) -> None:
        """Build fresh networks on `device`."""
        self.recipe = recipe
        self.data = data
        self.device = device
        self.nets = nn.ModuleDict(
            {
                "g": Generator(recipe.size),
                "m": Mapping(),
                "e": Encoder(),
                "d": Discriminator(recipe.size),
                "g_ema": Generator(recipe.size),
                "m_ema": Mapping(),
                "e_ema": Encoder(),
            }
        ).to(device, memory_format=torch.channels_last)
        for name in ("g", "m", "e"):
            self.nets[f"{name}_ema"].load_state_dict(self.nets[name].state_dict())
        self.nets["g_ema"].requires_grad_(False)
        self.nets["m_ema"].requires_grad_(False)
        self.nets["e_ema"].requires_grad_(False)
        made = [*self.nets["g"].parameters(), *self.nets["m"].parameters()]
        groups = [
            {"params": made, "lr": recipe.lr},
            {"params": list(self.nets["e"].parameters()), "lr": recipe.encoder_lr},
        ]
        self.g_opt = torch.optim.Adam(groups, betas=(0.0, 0.99), eps=1e-8)
        self.d_opt = torch.optim.Adam(
            self.nets["d"].parameters(), lr=recipe.lr, betas=(0.0, 0.99), eps=1e-8
        )
        self.augment = AdaptiveAugment(recipe.ada_target)
        self.crops = 0
        self.steps = 0
        self.covariance = torch.eye(CODE, device=device)
        self.random = torch.Generator(device=data.rows.device)
        self.random.manual_seed(int(time.time()))

    def adversarial_weight(self) -> float:
        """Return the adversary's weight at this point of the run."""
        done = (self.crops - self.recipe.warm_crops) / max(self.recipe.ramp_crops, 1)
        return self.recipe.adversarial * min(max(done, 0.0), 1.0)

    def step(self) -> dict[str, float]:
        """Run one step; return its losses."""
        recipe = self.recipe
        real = self.data.draw(recipe.batch, recipe.size, self.random)
        other = self.data.draw(recipe.batch // 2, recipe.size, self.random)
        weight = self.adversarial_weight()
        facts, fakes = self._generator_step(real, other, weight)
        if self.crops >= recipe.warm_crops - recipe.batch * 100:
            facts |= self._discriminator_step(real, fakes)
        self.crops += recipe.batch
        self.steps += 1
        self._average()
        return facts

    def _paint(self, codes: Tensor, batch: Batch) -> Tensor:
        w = self.nets["m"](codes)
        latents = w[:, None].expand(-1, self.nets["g"].layers, -1)
        made: Tensor = self.nets["g"](latents, batch.maps, batch.light).float()
        return made

    def _generator_step(
        self, real: Batch, other: Batch, weight: float
    ) -> tuple[dict[str, float], Batch]:
        recipe, nets = self.recipe, self.nets
        nets["d"].requires_grad_(False)
        self.g_opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16):
            clean = nets["e"](real.image)
            code = clean + torch.randn_like(clean) * recipe.noise
            if weight > 0:
                drawn = self._drawn_codes(clean.detach(), len(other.image))
                both = Batch(
                    real.image,
                    torch.cat([real.maps, other.maps]),
                    torch.cat([real.light, other.light]),
                )
                made = self._paint(torch.cat([code, drawn]), both)
            else:
                made = self._paint(code, real)
        count = len(real.image)
        again = made[:count]
        pixel = pyramid_loss(again, real.image, real.maps)
        loss = recipe.pixel * pixel
        facts = {"pixel": pixel.item()}
        self._observe(clean.detach())
        if weight > 0:
            extra, more = self._adversarial_terms(made, real, both, drawn, weight)
            loss = loss + extra
            facts |= more
        loss.backward()
        self.g_opt.step()
        maps = both.maps if weight > 0 else real.maps
        judged = slice(count // 2, None)
        return facts, Batch(made.detach()[judged], maps[judged], real.light)

    def _adversarial_terms(
        self, made: Tensor, real: Batch, both: Batch, drawn: Tensor, weight: float
    ) -> tuple[Tensor, dict[str, float]]:
        recipe, nets, count = self.recipe, self.nets, len(real.image)
        seen, maps = self.augment(made[count:], both.maps[count:])
        with torch.autocast(self.device.type, torch.bfloat16):
            painted, _ = nets["d"](seen, maps)
            again, features = nets["d"](made[:count], real.maps)
            with torch.no_grad():
                _, wanted = nets["d"](real.image, real.maps)
            nets["e"].requires_grad_(False).eval()
            back = nets["e"](made[count:])
            nets["e"].requires_grad_(True).train()
        adversarial = generator_loss(painted) + 0.5 * generator_loss(again)
        feature = feature_loss(features, wanted)
        lit = (light_from_images(made[count:]) - both.light[count:]).abs().mean()
        code = code_loss(back, drawn)
        share = weight / recipe.adversarial
        extra = (
            weight * adversarial
            + share * (recipe.feature * feature + recipe.code * code)
            + recipe.light * lit
        )
        facts = {
            "adv": adversarial.item(),
            "feature": feature.item(),
            "light": lit.item(),
            "code": code.item(),
        }
        return extra, facts

    def _drawn_codes(self, code: Tensor, count: int) -> Tensor:
        """Half from the Gaussian fitted to all codes, half other crops' codes mixed in pairs."""
        root = torch.linalg.cholesky(self.covariance + 1e-3 * torch.eye(CODE, device=self.device))
        drawn = torch.randn(count, CODE, device=self.device) @ root.T
        mixed = count // 2
        share = torch.rand(mixed, 1, device=self.device)
        a, b = code[:mixed], code[mixed : 2 * mixed]
        norm = (share.square() + (1 - share).square()).sqrt()
        drawn[:mixed] = (share * a + (1 - share) * b) / norm
        return drawn

    def _observe(self, codes: Tensor) -> None:
        self.covariance = self.covariance.lerp(codes.T @ codes / len(codes), 0.01)

    def _discriminator_step(self, real: Batch, fakes: Batch) -> dict[str, float]:
        recipe, d = self.recipe, self.nets["d"]
        d.requires_grad_(True)
        self.d_opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16):
            real_scores, _ = d(*self.augment(real.image, real.maps))
            fake_scores, _ = d(*self.augment(fakes.image, fakes.maps))
        loss = discriminator_loss(real_scores, fake_scores)
        facts = {
            "d": loss.item(),
            "real": real_scores.mean().item(),
            "fake": fake_scores.mean().item(),
            "p": self.augment.p,
        }
        if self.steps % recipe.r1_every == 0:
            image, maps = self.augment(real.image, real.maps)
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
        for name in ("g", "m", "e"):
            ema = self.nets[f"{name}_ema"].parameters()
            for slow, fast in zip(ema, self.nets[name].parameters(), strict=True):
                slow.lerp_(fast, 1.0 - keep)
        pairs = zip(self.nets["e_ema"].buffers(), self.nets["e"].buffers(), strict=True)
        for slow, fast in pairs:
            slow.copy_(fast)

    def state(self) -> dict[str, object]:
        """Everything that a resumed run needs."""
        return {
            "nets": self.nets.state_dict(),
            "g_opt": self.g_opt.state_dict(),
            "d_opt": self.d_opt.state_dict(),
            "facts": self.facts(),
            "covariance": self.covariance,
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
            self.covariance = state["covariance"].to(self.device)  # type: ignore[attr-defined]
        elif (run / "small").exists():
            weights, facts = load_small(run / "small")
            self.covariance = weights.pop("covariance").to(self.device)
            self._take(weights)
        else:
            return
        self.restore(facts)
        log.info("resumed at %d crops", self.crops)

    def _take(self, weights: dict[str, Tensor]) -> None:
        """Load what fits: a network of another size keeps the layers that both have."""
        own = self.nets.state_dict()
        fits = {k: v for k, v in weights.items() if k in own and own[k].shape == v.shape}
        self.nets.load_state_dict(own | fits)

    def _set_lr(self) -> None:
        self.g_opt.param_groups[0]["lr"] = self.recipe.lr
        self.g_opt.param_groups[1]["lr"] = self.recipe.encoder_lr
        self.d_opt.param_groups[0]["lr"] = self.recipe.lr


def run(trainer: Trainer, out: Path, crops: int, minutes: float, sheet_every: int) -> None:
    """Train until `crops` crops or `minutes` minutes, saving on the way."""
    started = time.monotonic()
    held = Crops(Path(out.parent / "data"), trainer.device, held_out=True)
    fixed = held.at(held.rows[:8], trainer.recipe.size)
    mark, mark_crops, seen = started, trainer.crops, 0
    totals: dict[str, float] = {}
    next_sheet = trainer.crops + sheet_every // 4
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
    weights = dict(trainer.nets.state_dict()) | {"covariance": trainer.covariance}
    save_small(out / "small", weights, trainer.facts())
    sheet = out / "sheets" / f"{trainer.crops:09d}.png"
    save_sheet(sheet, trainer.nets, trainer.covariance, fixed)
    log.info("saved at %d crops", trainer.crops)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/face"))
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
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
    args.run.mkdir(parents=True, exist_ok=True)
    (args.run / "train.pid").write_text(str(os.getpid()))
    recipe = Recipe(**{name: getattr(args, name) for name in asdict(Recipe())})
    trainer = Trainer(recipe, Crops(args.data, device), device)
    if args.resume:
        trainer.load(args.run)
    run(trainer, args.run, args.crops, args.minutes, args.sheet_every)


if __name__ == "__main__":
    main()
