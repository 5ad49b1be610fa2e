"""Arithmetic on w+ latents: truncation, and composing layers of two people."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LayerWindow:
    """A run of w+ layers, `start` included and `stop` not.

    In StyleGAN coarse layers carry pose and shape, middle ones identity, fine ones colour
    (Karras et al. 2019, section 3.1); StyleID (2023) finds the window by Eq. 3.
    """

    start: int
    stop: int

    def indices(self, layers: int) -> npt.NDArray[np.bool_]:
        """Return bool[layers], true inside the window.

        Raises:
            ModelRejected: the window does not lie within the layers.

        >>> LayerWindow(1, 3).indices(4).tolist()
        [False, True, True, False]
        """
        if not 0 <= self.start < self.stop <= layers:
            raise ModelRejected(
                f"layers {self.start} to {self.stop} do not fit a generator of {layers} layers"
            )
        inside = np.zeros(layers, np.bool_)
        inside[self.start : self.stop] = True
        return inside


def truncated(latents: Float32, mean: Float32, psi: float) -> Float32:
    """Pull latents towards the mean: typical faces for small psi, varied ones for 1.

    Args:
        latents: float32[N, L, 512].
        mean: float32[L, 512].
        psi: share of the distance that is kept.

    >>> truncated(np.ones((1, 2, 3), np.float32), np.zeros((2, 3), np.float32), 0.5).max()
    np.float32(0.5)
    """
    return np.asarray(mean + (latents - mean) * np.float32(psi), np.float32)


def composed(control: Float32, identity: Float32, window: LayerWindow) -> Float32:
    """Take the layers of `window` from `identity` and the others from `control`.

    Args:
        control: float32[N, L, 512] of the subjects.
        identity: float32[N, L, 512] of the surrogates.
        window: layers that carry identity.

    Raises:
        ModelRejected: the window does not lie within the layers.

    >>> a, b = np.zeros((1, 4, 2), np.float32), np.ones((1, 4, 2), np.float32)
    >>> composed(a, b, LayerWindow(1, 3))[0, :, 0].tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    inside = window.indices(control.shape[1])
    return np.asarray(np.where(inside[None, :, None], identity, control), np.float32)


def disentanglement(
    identity_distance: npt.NDArray[np.float64], attribute_distance: npt.NDArray[np.float64]
) -> float:
    """Score of a layer window after StyleID (2023), Eq. 3: identity moved, the rest kept.

    Args:
        identity_distance: float64[N], 0 to 1, between subject and composition by identity.
        attribute_distance: float64[N], 0 to 1, between them by pose, expression and light.

    Returns:
        The product of moved identity and kept attributes, 0 to 1.

    >>> disentanglement(np.array([1.0]), np.array([0.0]))
    1.0
    """
    moved = np.clip(identity_distance, 0.0, 1.0)
    kept = 1.0 - np.clip(attribute_distance, 0.0, 1.0)
    return float((moved * kept).mean())
