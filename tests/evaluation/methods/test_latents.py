"""Methods that mix or swap latents, on a generator whose pictures are its latents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.errors import EvaluationError
from evaluation.faces import crop_window
from evaluation.methods.latents import LatentMix, LayerSwap, targets_of
from evaluation.methods.layer_window import LayerWindow
from evaluation.methods.registry import method_named
from tests.evaluation.fakes import painted_people

pytestmark = pytest.mark.unit

LAYERS = 6
FACES = painted_people(0, people=9, pictures=2)


@dataclass(frozen=True, slots=True)
class Mirror:
    """Encodes a crop as its mean colour and paints the mean of a latent as grey."""

    donors: int = 50

    def latents(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(chosen[:, None, None] + np.zeros((1, LAYERS, 512)), np.float32)

    def encoded(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        means = crops.reshape(len(crops), -1).mean(axis=1).astype(np.float32)
        return np.asarray(means[:, None, None] + np.zeros((1, LAYERS, 512)), np.float32)

    def painted(
        self, crops: NDArray[np.uint8], latents: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        grey = latents.mean(axis=(1, 2))[:, None, None, None]
        patches = grey + np.zeros(crops.shape, np.float32)
        return patches, np.ones(crops.shape[:3], np.float32)


def test_a_mix_renders_one_person_per_cluster_of_k_people() -> None:
    release = LatentMix(Mirror(), k=4).anonymize(FACES, b"s" * 32)
    for cluster in np.unique(release.clusters):
        inside = release.clusters == cluster
        assert len(np.unique(FACES.persons[inside])) >= 4
        assert len(np.unique(release.latents[inside].reshape(inside.sum(), -1), axis=0)) == 1


def test_a_layer_swap_keeps_the_persons_other_layers() -> None:
    method = LayerSwap(Mirror(), LayerWindow(1, 3))
    release = method.anonymize(FACES, b"s" * 32)
    own = Mirror().encoded(FACES.images[:, *crop_window()])
    np.testing.assert_allclose(release.latents[:, 3:], own[:, 3:], atol=1e-4)
    assert not np.allclose(release.latents[:, 1:3], own[:, 1:3])
    assert (release.mixing.diagonal() == 1).all()


def test_a_persons_pictures_share_their_donor() -> None:
    release = LayerSwap(Mirror(), LayerWindow(0, LAYERS)).anonymize(FACES, b"s" * 32)
    for person in range(9):
        rows = release.latents[FACES.persons == person]
        np.testing.assert_array_equal(rows[0], rows[1])


def test_without_a_generator_the_method_is_refused() -> None:
    with pytest.raises(EvaluationError, match="model pack"):
        method_named("StyleID layers", 5)


def test_parts_released_one_after_the_other_get_different_targets() -> None:
    first, second = FACES.take(np.arange(8)), FACES.take(np.arange(8, 16))
    everybody = targets_of(Mirror(donors=10**6), FACES.persons, b"s" * 32, "layers")
    parts = [
        targets_of(Mirror(donors=10**6), part.persons, b"s" * 32, "layers")
        for part in (first, second)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), everybody[:16])
    assert not np.array_equal(parts[0], parts[1])
