"""Relief: the coarse light and shade that a face brings itself, apart from the lamp's.

What a lamp does to a face is read as a mean colour and a slope (`light.levelled`). What the
cells of a face show beyond that, such as sockets, cheekbones, nose or beard, belongs to the
person, and a swap takes it from the surrogate. Without it all surrogates share one flat light,
and recognisers find them alike.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected
from engines.stylegan.drawing import LUMA
from engines.stylegan.light import levelled
from engines.stylegan.sizes import LIGHT_SIZE

__all__ = ["FLAT", "ReliefModel", "in_relief", "load_relief", "relief_from_light"]

RELIEF_LIMIT: Final = 0.6
"""Largest relief, share of the lamp's light; larger keeps deeper shadows."""
_MOST: Final = 0.25
"""How much of it is shown at most; larger makes cheeks glow, and people less alike."""
_CELLS: Final = LIGHT_SIZE * LIGHT_SIZE
_LATENT: Final = 512
_DARKEST: Final = 0.2
_LEAST_SHARE: Final = 1e-4
"""Of the strongest direction: what a latent carries less of it cannot be asked for. Fewer
directions than cells leave some that hold nothing but rounding errors."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ReliefModel:
    """Where a latent keeps its relief.

    Attributes:
        mean: float32[CELLS], of photographed adults.
        from_latent: float32[512, CELLS], linear map from the mean w of a w+ latent.
    """

    mean: Float32
    from_latent: Float32
    _to_latent: Float32 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        inverse = np.linalg.pinv(self.from_latent, rcond=_LEAST_SHARE)
        object.__setattr__(self, "_to_latent", inverse)

    def of_latents(self, latents: Float32) -> Float32:
        """The relief that w+ latents float32[N, L, 512] carry, float32[N, 4, 4]."""
        found = self.mean + latents.mean(axis=1) @ self.from_latent
        limited = np.clip(found, -RELIEF_LIMIT, RELIEF_LIMIT)
        return np.asarray(limited, np.float32).reshape(-1, LIGHT_SIZE, LIGHT_SIZE)

    def to_latents(self, relief: Float32) -> Float32:
        """The shortest w that carries a relief float32[N, 4, 4], as far as one can: [N, 512]."""
        lacking = relief.reshape(-1, _CELLS) - self.mean
        return np.asarray(lacking @ self._to_latent, np.float32)


FLAT: Final = ReliefModel(np.zeros(_CELLS, np.float32), np.zeros((_LATENT, _CELLS), np.float32))
"""Of packs whose people bring none."""


def relief_from_light(light: Float32) -> Float32:
    """Brightness of a face's cells beyond mean and slope, as a share of those.

    Args:
        light: float32[..., 2, 4, 4, 3] BGR in [-1, 1] of face and surroundings, not levelled.

    Returns:
        float32[..., 4, 4].

    >>> float(np.abs(relief_from_light(np.zeros((2, LIGHT_SIZE, LIGHT_SIZE, 3), np.float32))).max())
    0.0
    """
    lamp = levelled(light)[..., 0, :, :, :] @ LUMA + 1.0
    seen = light[..., 0, :, :, :] @ LUMA + 1.0
    return np.asarray((seen - lamp) / np.maximum(lamp, _DARKEST), np.float32)


def in_relief(light: Float32, relief: Float32) -> Float32:
    """Light of a lamp on faces that bring their own relief.

    Args:
        light: float32[N, 2, 4, 4, 3] in [-1, 1], levelled.
        relief: float32[N, 4, 4].

    Returns:
        float32[N, 2, 4, 4, 3]; the surroundings as they were.
    """
    # How much darker sides are than the middle is the lamp's: the head's own sides stay beside it.
    own = relief - relief.mean(axis=1, keepdims=True)
    own = np.float32(_MOST) * np.tanh(own / np.float32(_MOST))
    result = light.copy()
    result[:, 0] = (light[:, 0] + 1.0) * (1.0 + own[..., None]) - 1.0
    return result


def load_relief(path: Path) -> ReliefModel:
    """Read the relief out of a shape model's file; `FLAT` where it has none.

    Raises:
        ModelRejected: an array has another shape or is not finite.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if "relief_mean" not in file.files:
                return FLAT
            mean = np.asarray(file["relief_mean"], np.float32)
            from_latent = np.asarray(file["relief_latent"], np.float32)
    except (OSError, KeyError, ValueError) as error:
        raise ModelRejected(f"{path.name} has a damaged relief; restore the model pack") from error
    fits = mean.shape == FLAT.mean.shape and from_latent.shape == FLAT.from_latent.shape
    if not fits or not (np.isfinite(mean).all() and np.isfinite(from_latent).all()):
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    return ReliefModel(mean, from_latent)
