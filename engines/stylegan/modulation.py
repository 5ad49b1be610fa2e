"""Modulated convolution twice: as the paper writes it, and with a static kernel.

StyleGAN2 (Karras et al. 2020, section 2.2) scales the kernel by each sample's style and
normalises it. Scaling the activations instead and demodulating afterwards gives the same
values with one constant kernel, which inference engines fuse. These slow numpy forms state
that equality and check exported networks; no video passes through them.
"""

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
EPSILON = 1e-8


def modulated_per_sample(x: Float32, kernel: Float32, style: Float32) -> Float32:
    """Convolve with each sample's own modulated, demodulated kernel, Eqs. 1 and 3.

    Args:
        x: float32[N, I, H, W].
        kernel: float32[O, I, K, K], K odd.
        style: float32[N, I].

    Returns:
        float32[N, O, H, W], zero padded.
    """
    made = []
    for sample, scale in zip(x, style, strict=True):
        own = kernel * scale[None, :, None, None]
        norm = np.sqrt(np.square(own).sum(axis=(1, 2, 3), keepdims=True) + EPSILON)
        made.append(convolved(sample[None], own / norm)[0])
    return np.stack(made)


def modulated_static(x: Float32, kernel: Float32, style: Float32) -> Float32:
    """Scale activations, convolve with the constant kernel, rescale; same shapes as above.

    >>> rng = np.random.default_rng(0)
    >>> x, k = rng.normal(size=(2, 3, 5, 5)), rng.normal(size=(4, 3, 3, 3))
    >>> s = rng.normal(size=(2, 3))
    >>> bool(np.allclose(modulated_static(x, k, s), modulated_per_sample(x, k, s), atol=1e-5))
    True
    """
    energy = np.square(kernel).sum(axis=(2, 3))
    demodulation = 1.0 / np.sqrt(np.square(style) @ energy.T + EPSILON)
    made = convolved(x * style[:, :, None, None], kernel)
    return np.asarray(made * demodulation[:, :, None, None], np.float32)


def convolved(x: Float32, kernel: Float32) -> Float32:
    """Plain zero-padded convolution (cross-correlation), float32[N, O, H, W].

    >>> convolved(np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 3, 3), np.float32))[0, 0, 1, 1]
    np.float32(9.0)
    """
    pad = kernel.shape[2] // 2
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel.shape[2:], axis=(2, 3))
    return np.asarray(np.einsum("nihwkl,oikl->nohw", windows, kernel), np.float32)
