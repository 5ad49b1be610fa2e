"""Composing w+ latents of the layers of two people."""

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
