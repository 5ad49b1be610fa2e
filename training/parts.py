"""A face taken apart: all but its features, brows and eyes, nose, and mouth with jaw.

A mixture of whole faces is smoother than faces are, and stretched back it is a caricature. A face
whose parts come from different people has features as people have them, and is nobody's (modular
eigenspaces, Pentland et al. 1994). Textures are blended by soft masks and projected on the linear
model again, so that a part is a matrix: codes @ matrix is what that part brings to a whole, and
over all parts the matrices sum to the identity.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.face.crop_regions import disc, filled
from engines.stylegan import topology
from engines.stylegan.sizes import TEXTURE_SIZE
from training.textures import vector_from_mask

PARTS: Final = 4
_EYES_WIDER: Final = 0.035
_NOSE_WIDER: Final = 0.03
"""How far parts reach beyond their landmarks' hull, crop units."""
_BELOW_NOSE: Final = 0.015
_SOFT: Final = 0.035
"""Deviation of the blur of masks, crop units; sharper ones leave seams."""
_SOFT_SHAPE: Final = 0.06
"""The same where landmarks are blended: outlines bend less sharply than colours change."""

Float32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]


def part_masks(points: Float32) -> Float32:
    """How much each part has of every place of a texture, float32[PARTS, S, S]; they sum to 1.

    Args:
        points: float32[MESH_POINTS, 2] of the canonical face, crop units.
    """
    places = points * np.float32(TEXTURE_SIZE)
    eyes = np.any(
        [
            _hull(np.concatenate([places[eye], places[brow]]), _EYES_WIDER)
            for eye, brow in (
                (topology.EYE_LEFT_SLICE, topology.BROW_LEFT_SLICE),
                (topology.EYE_RIGHT_SLICE, topology.BROW_RIGHT_SLICE),
            )
        ],
        axis=0,
    )
    base = places[topology.NOSE_BASE_SLICE]
    nose = _hull(np.concatenate([places[topology.NOSE_BRIDGE_SLICE], base]), _NOSE_WIDER) & ~eyes
    row = np.arange(TEXTURE_SIZE)[:, None] + 0.5
    jaw = (row > base[:, 1].max() + _BELOW_NOSE * TEXTURE_SIZE) & ~nose
    features = np.stack([_soft(part, _SOFT) for part in (eyes, nose, jaw)])
    rest = np.maximum(1 - features.sum(axis=0), 0)
    masks = np.concatenate([rest[None], features])
    return np.asarray(masks / masks.sum(axis=0), np.float32)


def texture_parts(masks: Float32, basis: Float32, encoding: Float32) -> Float32:
    """Matrices of texture codes, float32[PARTS, T, T].

    Args:
        masks: of `part_masks`.
        basis: float32[T, LENGTH], directions of textures' vectors.
        encoding: float32[T, LENGTH], their inverse.
    """
    return np.stack([(basis * vector_from_mask(mask)) @ encoding.T for mask in masks])


def shape_parts(masks: Float32, points: Float32, rows: Float32, spread: Float32) -> Float32:
    """Matrices of codes of shape, float32[PARTS, J, J].

    Args:
        masks: of `part_masks`.
        points: float32[MESH_POINTS, 2] of the canonical face, crop units.
        rows: float32[J, MESH_POINTS * 3], orthonormal directions.
        spread: float32[J], deviation along each that a code of 1 stands for.
    """
    softer = np.stack([_soft(mask, _SOFT_SHAPE) for mask in masks])
    softer /= softer.sum(axis=0)
    last = TEXTURE_SIZE - 1
    place = np.clip(np.floor(points * TEXTURE_SIZE), 0, last).astype(np.intp)
    shares = np.repeat(softer[:, place[:, 1], place[:, 0]], 3, axis=1)
    found = [((rows * spread[:, None]) * share) @ rows.T / spread for share in shares]
    return np.asarray(np.stack(found), np.float32)


def side_by_side(*matrices: Float32) -> Float32:
    """Matrices of codes that lie one after another, float32[PARTS, C, C].

    Args:
        *matrices: float32[PARTS, C_i, C_i], of sizes that sum to C.

    >>> side_by_side(np.ones((1, 1, 1)), np.full((1, 2, 2), 5.0)).tolist()
    [[[1.0, 0.0, 0.0], [0.0, 5.0, 5.0], [0.0, 5.0, 5.0]]]
    """
    size = sum(each.shape[1] for each in matrices)
    whole = np.zeros((len(matrices[0]), size, size), np.float32)
    start = 0
    for each in matrices:
        end = start + each.shape[1]
        whole[:, start:end, start:end] = each
        start = end
    return whole


def _hull(places: Float32, wider: float) -> Bool:
    """Convex hull of places float32[N, 2] in px, and what is near it: bool[S, S]."""
    area = filled([places], TEXTURE_SIZE)
    return np.asarray(cv2.dilate(area, disc(wider * TEXTURE_SIZE)) > 0, np.bool_)


def _soft(mask: npt.NDArray[np.generic], deviation: float) -> Float32:
    wide = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), deviation * TEXTURE_SIZE)
    return np.asarray(wide, np.float32)
