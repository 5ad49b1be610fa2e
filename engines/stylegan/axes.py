"""Where a person's code lies in the latent space."""

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["LATENT", "axes"]

LATENT: Final = 512


def axes(code: int, latent: int = LATENT) -> npt.NDArray[np.float32]:
    """Orthonormal columns that place codes in the latent space, float32[latent, code].

    Written out by the discrete cosine transform, so that every machine has the same. The first
    columns do not depend on how many follow.

    >>> float(np.abs(axes(3).T @ axes(3) - np.eye(3)).max()) < 1e-6
    True
    """
    row = np.arange(latent)[:, None] + 0.5
    column = np.arange(1, code + 1)[None]
    return np.asarray(np.cos(row * column * np.pi / latent) * np.sqrt(2.0 / latent), np.float32)
