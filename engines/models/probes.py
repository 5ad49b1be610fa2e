"""Inputs on which a network is tried: made from what its ports say, without photographs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import TensorSpec
from engines.detectors.drawn_faces import drawn_scene
from engines.errors import ModelRejected
from engines.stylegan.pack import Pack, donor_latents

__all__ = ["PARITY_CEILING", "PROBES", "probes_for", "relative_error"]

PARITY_CEILING: Final = 5e-3
"""Largest difference between two runtimes' answers in fp32, see `relative_error`; larger accepts a
runtime that computes something else."""
PROBES: Final = 4
"""Different people in a probe."""
_SIZE: Final = 128
"""Of images whose size the network leaves open, px."""
_MOST_VALUES: Final = 1 << 26

Float32 = npt.NDArray[np.float32]


def probes_for(inputs: Sequence[TensorSpec], pack: Pack) -> dict[str, Float32]:
    """One batch for a network: as many people as `PROBES`, each different.

    Args:
        inputs: the network's ports.
        pack: whose donors stand for people, where it has them.

    Raises:
        ModelRejected: a port has a shape that no probe can have.
    """
    return {spec.name: _probe(spec, pack) for spec in inputs}


def relative_error(made: Float32, wanted: Float32) -> float:
    """Largest difference of two answers of one shape, as a share of the largest value wanted.

    >>> round(relative_error(np.float32([1, 2.1]), np.float32([1, 2])), 3)
    0.05
    """
    return float(np.abs(made - wanted).max() / max(float(np.abs(wanted).max()), 1e-12))


def _probe(spec: TensorSpec, pack: Pack) -> Float32:
    count = spec.shape[0] if spec.shape and spec.shape[0] else PROBES
    shape = (count, *(size or _SIZE for size in spec.shape[1:]))
    if spec.dtype != np.float32 or not spec.shape or np.prod(shape, dtype=float) > _MOST_VALUES:
        raise ModelRejected(f"the network's input {spec.name} has an unusable type or shape")
    if spec.name == "psi":
        return np.full((1,), 0.7, np.float32)
    if spec.name == "latents":
        return _latents(shape, pack)
    if len(shape) == 4 and shape[1] == 2:
        return np.repeat(_places(shape[2], shape[3])[None], shape[0], axis=0)
    if len(shape) == 4 and shape[3] == 2:
        places = 2 * _places(shape[1], shape[2]).transpose(1, 2, 0) - 1
        return np.repeat(places[None], shape[0], axis=0)
    if len(shape) == 4:
        return _pictures(shape)
    return _normal(shape)


def _latents(shape: tuple[int, ...], pack: Pack) -> Float32:
    """Donors of the pack where they fit, else w near their average of zero."""
    if "donors.npz" in pack.sha256:
        donors = donor_latents(pack, shape[0])
        if donors.shape[1:] == shape[1:] and len(donors) == shape[0]:
            return donors
    return np.repeat(_normal((shape[0], 1, *shape[2:])), shape[1], axis=1)


def _normal(shape: tuple[int, ...]) -> Float32:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _pictures(shape: tuple[int, ...]) -> Float32:
    """Drawn faces of any number of channels, of which the first three are RGB, or one grey."""
    count, channels, height, width = shape
    faces = _faces(count, height, width)
    grey = faces.mean(axis=1, keepdims=True)
    if channels < 3:
        return np.repeat(grey, channels, axis=1)
    return np.concatenate([faces, np.repeat(grey, channels - 3, axis=1)], axis=1)


def _faces(count: int, height: int, width: int) -> Float32:
    """Drawn faces that fill the crop, RGB in [-1, 1]."""
    made = []
    for seed in range(count):
        scene, _ = drawn_scene(_SIZE, _SIZE, 1, side_px=0.7 * _SIZE, seed=seed)
        picture = cv2.resize(scene, (width, height), interpolation=cv2.INTER_LINEAR)
        made.append(picture[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / 127.5 - 1)
    return np.stack(made)


def _places(height: int, width: int) -> Float32:
    """Centres of the pixels along x and y, [0, 1]: a face seen straight on."""
    across = (np.arange(width, dtype=np.float32) + 0.5) / width
    down = (np.arange(height, dtype=np.float32) + 0.5) / height
    return np.stack(np.meshgrid(across, down))
