"""The gate that a reduced precision must pass before it may read and paint faces."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Precision, Session
from engines.face.swapper import LANDMARK_SIZE

COSINE_FLOOR: Final = 0.99
ERROR_CEILING: Final = 0.35
"""Largest difference of any value, where pictures span -1 to 1; edges shift it most."""
SHIFT_CEILING: Final = 0.002
"""Farthest that a landmark may move, shares of the crop: as far as noise of one grey level."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GateResult:
    """How a reduced precision compares with fp32.

    Attributes:
        precision: the one that was tried.
        cosine: least cosine over the probes between what the two paint, after the part
            that all probes share is taken out: what is left is identity.
        max_error: largest difference of a value, pictures in [-1, 1].
        shift: farthest that a landmark of what is painted moves, shares of the crop.
        fault: why the runtime does not compute in it at all; empty where it does.
    """

    precision: Precision
    cosine: float
    max_error: float
    shift: float = 0.0
    fault: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether the precision may be used."""
        is_alike = self.cosine >= COSINE_FLOOR and self.max_error <= ERROR_CEILING
        return is_alike and self.shift <= SHIFT_CEILING and not self.fault

    def told(self) -> str:
        """Return one line for people."""
        if self.fault:
            return f"{self.precision} refused, fp32 is used instead: {self.fault}"
        verdict = "used" if self.is_passed else "refused, fp32 is used instead"
        return (
            f"{self.precision} {verdict}: identity cosine {self.cosine:.4f} "
            f"(at least {COSINE_FLOOR}), largest error {self.max_error:.3f}, landmarks within "
            f"{100 * self.shift:.2f} % of the crop"
        )


@dataclass(frozen=True, slots=True)
class Painting:
    """The network that paints textures of people, and the one that reads landmarks off pictures."""

    generator: Session
    landmarker: Session

    def close(self) -> None:
        """Let both go."""
        self.generator.close()
        self.landmarker.close()


def compare_sessions(
    reference: Painting, reduced: Painting, latents: Float32, precision: Precision
) -> GateResult:
    """Paint probes with both and compare.

    Args:
        reference: the networks in fp32.
        reduced: the same in `precision`.
        latents: float32[N, L, 512] of different people, N >= 2.
        precision: of `reduced`.

    Raises:
        EngineFault: one of them failed.
    """
    wanted, made = _painted(reference, latents), _painted(reduced, latents)
    one, other = (textures.reshape(len(latents), -1) for textures in (wanted, made))
    shared = one.mean(axis=0)
    cosine = min(_cosine(a - shared, b - shared) for a, b in zip(one, other, strict=True))
    shift = _shift(reference.landmarker, reduced.landmarker, wanted)
    return GateResult(precision, cosine, float(np.abs(one - other).max()), shift)


def _shift(exact: Session, reduced: Session, pictures: Float32) -> float:
    """The farthest that a landmark of pictures float32[N, 3, S, S] moves, shares of the crop."""
    step = max(pictures.shape[-1] // LANDMARK_SIZE, 1)
    fed = {"image": np.ascontiguousarray(np.clip(pictures[..., ::step, ::step], -1, 1))}
    apart = exact.run(fed)["points"] - reduced.run(fed)["points"]
    return float(np.abs(apart.reshape(len(pictures), -1, 3)[..., :2]).max())


def _painted(networks: Painting, latents: Float32) -> Float32:
    """Textures float32[N, 3, S, S]: everybody at rest, facing the camera."""
    fed = np.ascontiguousarray(latents, np.float32)
    return np.asarray(networks.generator.run({"latents": fed})["texture"], np.float32)


def _cosine(a: Float32, b: Float32) -> float:
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norm if norm > 0 else 0.0
