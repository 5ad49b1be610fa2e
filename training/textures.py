"""Textures as vectors: luma at full size, chroma at a quarter of it, as video keeps them.

Detail lies in luma; chroma at a quarter costs an eighth more and leaves room for three times
as many directions. Vectors lie flat: luma row by row, then the two chroma planes.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.sizes import CHROMA_SIZE, TEXTURE_SIZE

LUMA: Final = TEXTURE_SIZE * TEXTURE_SIZE
LENGTH: Final = LUMA + 2 * CHROMA_SIZE * CHROMA_SIZE
"""Numbers in a texture's vector."""
YCC_FROM_RGB: Final = np.array(
    [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32
)
"""ITU-R BT.601, full range."""
RGB_FROM_YCC: Final = np.linalg.inv(YCC_FROM_RGB.astype(np.float64)).astype(np.float32)
OUTSIDE: Final = 0.35
"""Weight of what surrounds the face when directions are sought; larger spends them on hair and
background."""
BOLD: Final = (1.3, 1.15)
"""How much bolder donors' luma is painted than parts of people sum to, of features and of what is
finer. More tells people apart little better and looks drawn; broad shade, bolder, is patchy."""
FEATURE: Final = (8.0, 2.0)
"""Deviations of the blurs between which features lie, texture px."""

Float32 = npt.NDArray[np.float32]


def vector_from_texture(texture: Float32) -> Float32:
    """Flatten a texture float32[S, S, 3] RGB into float32[LENGTH].

    >>> vector_from_texture(np.ones((TEXTURE_SIZE, TEXTURE_SIZE, 3), np.float32))[[0, -1]].round(3)
    array([1., 0.], dtype=float32)
    """
    planes = texture @ YCC_FROM_RGB.T
    size = (CHROMA_SIZE, CHROMA_SIZE)
    chroma = cv2.resize(np.ascontiguousarray(planes[..., 1:]), size, interpolation=cv2.INTER_AREA)
    return np.concatenate([planes[..., 0].ravel(), chroma.transpose(2, 0, 1).ravel()])


def weights_from_inside(inside: Float32) -> Float32:
    """What each number of a vector counts in the search for directions, float32[LENGTH].

    A chroma cell counts as the pixels that it stands for.

    Args:
        inside: float32[S, S] in [0, 1], 1 on the face.
    """
    weights = vector_from_mask(OUTSIDE + (1.0 - OUTSIDE) * inside)
    weights[LUMA:] *= TEXTURE_SIZE / CHROMA_SIZE
    return weights


def vector_from_mask(mask: Float32) -> Float32:
    """A mask float32[S, S] as a texture's vector lies, float32[LENGTH]: the same for all planes."""
    size = (CHROMA_SIZE, CHROMA_SIZE)
    chroma = cv2.resize(mask, size, interpolation=cv2.INTER_AREA).ravel()
    return np.concatenate([mask.ravel(), chroma, chroma]).astype(np.float32)


def mirrored(vectors: Float32) -> Float32:
    """Mirror the textures in float32[..., LENGTH] from left to right.

    >>> line = np.arange(LENGTH, dtype=np.float32)
    >>> bool((mirrored(mirrored(line)) == line).all()), float(mirrored(line)[0])
    (True, 127.0)
    """
    shape = vectors.shape[:-1]
    luma = vectors[..., :LUMA].reshape(*shape, TEXTURE_SIZE, TEXTURE_SIZE)[..., ::-1]
    chroma = vectors[..., LUMA:].reshape(*shape, 2, CHROMA_SIZE, CHROMA_SIZE)[..., ::-1]
    return np.concatenate([luma.reshape(*shape, -1), chroma.reshape(*shape, -1)], axis=-1)


def bolder(directions: Float32) -> Float32:
    """Directions float32[N, LENGTH] with features and finer luma by `BOLD` stronger.

    Whoever is mixed of people has weaker features than they have, so that mixtures are alike.

    >>> flat = np.ones((1, LENGTH), np.float32)
    >>> bool(np.allclose(bolder(flat), flat, atol=1e-4))
    True
    """
    luma = np.stack([_bolder_luma(one) for one in luma_of(directions)])
    return np.concatenate([luma.reshape(len(luma), LUMA), directions[:, LUMA:]], axis=1)


def _bolder_luma(luma: Float32) -> Float32:
    broad, features = (cv2.GaussianBlur(luma, (0, 0), spread) for spread in FEATURE)
    more = (BOLD[0] - 1) * (features - broad) + (BOLD[1] - 1) * (luma - features)
    return np.asarray(luma + more, np.float32)


def luma_of(vectors: Float32) -> Float32:
    """The luma planes of float32[..., LENGTH], float32[..., S, S]."""
    return vectors[..., :LUMA].reshape(*vectors.shape[:-1], TEXTURE_SIZE, TEXTURE_SIZE)
