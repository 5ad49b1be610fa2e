"""FPSP: whom a face borrows from, what is fused, and when β rises."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import TensorSpec
from engines.backends.onnxruntime import OnnxRuntime
from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.pack import bundled_pack, read_pack
from evaluation.errors import EvaluationError, TooFewPeople
from evaluation.faces import crop_window
from evaluation.methods.fpsp_fusion import BETAS, FpspFusion, enhanced, lenders
from evaluation.methods.fusion import FusionNetwork, fusion_inputs, fusion_network
from evaluation.methods.generated import pack_fingerprint
from evaluation.methods.latent_swapper import LatentSwap, SwapperNetwork, swapper_network
from evaluation.methods.morphing import morph
from evaluation.methods.registry import method_named, method_names, variant_names
from tests.evaluation.fakes import painted_people
from tests.evaluation.methods.linear_generator import CODES, LinearGenerator

pytestmark = pytest.mark.unit

GENERATOR = LinearGenerator()
FACES = painted_people(0, people=8)
CROPS = np.ascontiguousarray(FACES.images[:, *crop_window()])
SECRET = b"s" * 32


class Scripted:
    """A session that answers by a rule."""

    def __init__(self, names: tuple[str, ...], answer: str, *, is_leaky: bool = False) -> None:
        floats = np.dtype(np.float32)
        self.inputs = tuple(TensorSpec(name, (None, None), floats) for name in names)
        self.outputs = (TensorSpec(answer, (None, None), floats),)
        self.is_leaky = is_leaky

    def run(self, tensors: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
        if "source" in tensors:
            return {"alpha": np.full(tensors["source"].shape, 0.25, np.float32)}
        copies, beta = (np.asarray(tensors[name], np.float32) for name in ("copies", "beta"))
        grey = np.zeros_like(copies[:, :3])
        # The blindfolded copy is nearly the original, and nothing else.
        own = copies[:, 3:6] if self.is_leaky else grey
        share = beta[:, :, None, None]
        return {"face": np.asarray((1 - share) * copies[:, 3:6] + share * own, np.float32)}

    def close(self) -> None:
        """Nothing to free."""


def fusion(*, is_leaky: bool) -> FusionNetwork:
    return FusionNetwork(Scripted(("copies", "beta"), "face", is_leaky=is_leaky))


def test_everybody_borrows_from_another_person_of_the_cluster() -> None:
    vectors = np.repeat(np.eye(2, 4, dtype=np.float32), 4, axis=0)
    vectors += np.random.default_rng(0).normal(0, 0.01, vectors.shape).astype(np.float32)
    persons = np.array([0, 0, 1, 2, 3, 4, 5, 5])
    chosen = lenders(vectors, persons, 2, SECRET)
    assert (persons[chosen] != persons).all()
    assert ((chosen < 4) == (np.arange(8) < 4)).all()
    with pytest.raises(TooFewPeople, match="another person"):
        lenders(vectors, np.zeros(8, np.int64), 2, SECRET)


def test_five_copies_go_in_and_the_first_is_the_surrogate() -> None:
    points = np.repeat(FACES.points[:1] - 32, len(CROPS), axis=0)
    inputs = fusion_inputs(CROPS, points, CROPS[::-1], np.random.default_rng(1))
    assert inputs.shape == (8, 15, 64, 64)
    assert np.abs(inputs).max() <= 1
    blindfold = inputs[:, 3:6]
    assert (blindfold == -1).mean() > 0.02
    assert not np.allclose(inputs[:, :3], blindfold)


def test_beta_rises_only_for_faces_that_are_still_matched() -> None:
    hidden = FpspFusion(GENERATOR, network=fusion(is_leaky=False))
    release = hidden.anonymize(FACES, SECRET)
    assert release.images.shape == FACES.images.shape
    assert hidden.betas.max() <= 1
    leaky = FpspFusion(LinearGenerator(match=-1.0), network=fusion(is_leaky=True))
    leaky.anonymize(FACES, SECRET)
    assert (leaky.betas == np.float32(BETAS[-1])).all()
    np.testing.assert_allclose(release.mixing.sum(axis=1), 1, atol=1e-5)
    assert (release.mixing.diagonal() >= 0.5).all()
    again = FpspFusion(GENERATOR, network=fusion(is_leaky=False)).anonymize(FACES, SECRET)
    np.testing.assert_array_equal(release.images, again.images)


def test_enhancement_keeps_what_is_coarse() -> None:
    made = enhanced(GENERATOR, CROPS)
    coarse = [
        part.astype(float).reshape(8, 8, 16, 8, 16, 3).mean(axis=(2, 4)) for part in (made, CROPS)
    ]
    assert np.abs(coarse[0] - coarse[1]).mean() < 6


def test_shape_and_pixels_are_shared_apart() -> None:
    first, other = CROPS[:2]
    points = FACES.points[0] - 32
    moved = points + np.float32(6)
    shaped = morph(first, points, other, moved, 1.0, 0.0)
    assert np.abs(shaped.astype(int) - first).mean() > 1
    np.testing.assert_array_equal(morph(first, points, other, points, 0.0, 0.0), first)


def test_the_networks_that_come_along_load_and_answer() -> None:
    network = fusion_network(OnnxRuntime())
    made = network.fused(np.zeros((2, 15, 64, 64), np.float32), np.zeros(2, np.float32), 128)
    assert made.shape == (2, 128, 128, 3)
    with pytest.raises(ModelRejected, match="another model pack"):
        swapper_network(OnnxRuntime(), "no such pack")


def test_the_swapper_that_comes_along_fits_the_pack_that_does() -> None:
    swapper_network(OnnxRuntime(), pack_fingerprint(read_pack(bundled_pack())))


def test_networks_of_another_form_are_refused() -> None:
    with pytest.raises(ModelRejected, match="fusion"):
        FusionNetwork(Scripted(("copies",), "face"))
    with pytest.raises(ModelRejected, match="swapper"):
        SwapperNetwork(Scripted(("source",), "alpha"))


def test_the_swapper_mixes_as_its_network_says() -> None:
    network = SwapperNetwork(Scripted(("source", "target"), "alpha"))
    release = LatentSwap(GENERATOR, network).anonymize(FACES, SECRET)
    codes = GENERATOR.directions.codes
    own = codes(GENERATOR.encoded(CROPS))
    random = codes(release.latents) - np.float32(0.25) * own
    # What is left is three quarters of some synthetic person.
    people = codes(GENERATOR.latents(np.arange(GENERATOR.donors)))
    nearest = np.linalg.norm(random[:, None] / 0.75 - people[None], axis=2).min(axis=1)
    assert nearest.max() < 1e-2
    assert random.shape == (8, CODES)
    with pytest.raises((ModelRejected, ModelMissing)):
        LatentSwap(GENERATOR).anonymize(FACES, SECRET)


@pytest.mark.parametrize("name", ["k-SALSA", "FPSP", *variant_names()])
def test_methods_that_need_the_generator_say_so(name: str) -> None:
    with pytest.raises(EvaluationError, match="model pack"):
        method_named(name, 5)


def test_variants_are_not_run_unless_asked_for() -> None:
    assert not set(variant_names()) & set(method_names())
    assert "StyleID high" in variant_names()
