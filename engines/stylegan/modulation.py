"""Modulated convolution as StyleGAN2 writes it (Karras et al. 2020, section 2.2).

Each sample's style scales the kernel, which is normalised. Exported networks scale the activations
instead, see `engines.stylegan.imports.onnx_graphs`; this slow numpy form checks them. No video
passes through it.
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


def convolved(x: Float32, kernel: Float32) -> Float32:
    """Plain zero-padded convolution (cross-correlation), float32[N, O, H, W].

    >>> convolved(np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 3, 3), np.float32))[0, 0, 1, 1]
    np.float32(9.0)
    """
    pad = kernel.shape[2] // 2
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel.shape[2:], axis=(2, 3))
    return np.asarray(np.einsum("nihwkl,oikl->nohw", windows, kernel), np.float32)
