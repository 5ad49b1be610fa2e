"""The pack that comes with kveil: complete, small, and the same in every runtime."""

from __future__ import annotations

from importlib import util

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends.backend import Backend, Precision
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.backends.tensorrt_build import BuildRequest, ShapeRange, build_engine
from engines.stylegan.attributes import load_attributes
from engines.stylegan.encoder import LatentEncoder
from engines.stylegan.gate import COSINE_FLOOR
from engines.stylegan.pack import (
    bundled_pack,
    donor_latents,
    load_role,
    read_pack,
    swapper_from_pack,
)
from engines.stylegan.relief import load_relief
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from gallery.donors import read_donors
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
CROPS = np.random.default_rng(0).integers(60, 200, (2, 128, 128, 3)).astype(np.uint8)


def donors(count: int) -> Float32:
    return donor_latents(read_pack(bundled_pack()), count)


def rendered(backend: Backend) -> Float32:
    swapper, _ = swapper_from_pack(backend)
    control = swapper.read(CROPS)
    face = np.repeat(drawn_face()[None], 2, axis=0)
    control.points[:] = face
    return swapper.paint(control, donors(2)).pixels


def test_pack_is_small_enough_to_ship() -> None:
    pack = read_pack(bundled_pack())
    sizes = [pack.path(name).stat().st_size for name in pack.sha256]
    assert max(sizes) <= 16_000_000
    assert sum(sizes) <= 60_000_000


def test_runtimes_agree() -> None:
    difference = np.abs(rendered(OpenVino()) - rendered(OnnxRuntime()))
    assert difference.max() < 2.0


def test_reduced_precision_passes_the_gate_or_is_refused_aloud() -> None:
    swapper, gate = swapper_from_pack(OpenVino(), precision="bf16")
    assert gate is not None
    assert gate.is_passed == (gate.cosine >= COSINE_FLOOR and gate.max_error <= 0.35)
    assert ("refused" in gate.told()) != gate.is_passed
    assert swapper.size == 256
    assert swapper.sizes == (128, 256)


def test_batch_gives_what_single_crops_give() -> None:
    swapper, _ = swapper_from_pack(OpenVino())
    latents = donors(2)
    both = swapper.render(CROPS, latents).pixels
    one = swapper.render(CROPS[1:], latents[1:]).pixels
    assert np.abs(both[1] - one[0]).max() < 2.0


def test_small_pictures_show_what_large_ones_show() -> None:
    swapper, _ = swapper_from_pack(OpenVino())
    control = swapper.read(CROPS)
    control.points[:] = drawn_face()
    large, small = (swapper.paint(control, donors(2), size) for size in (256, 128))
    assert small.pixels.shape == (2, 128, 128, 3)
    assert small.alpha.shape == (2, 128, 128)
    assert np.array_equal(small.identity, large.identity)
    reduced = large.pixels.reshape(2, 128, 2, 128, 2, 3).mean(axis=(2, 4))
    apart = np.abs(reduced - small.pixels)
    assert apart.mean() < 2.0
    others = np.abs(reduced - small.pixels[::-1])
    assert apart.mean() < 0.2 * others.mean()


def test_gallery_reads_the_donors() -> None:
    population = read_donors(read_pack(bundled_pack()).path("donors.npz"))
    assert len(population) >= 400
    assert {"age", "gender"} <= set(population.attributes)


def test_donors_keep_their_bins() -> None:
    pack = read_pack(bundled_pack())
    population = read_donors(pack.path("donors.npz"))
    model = load_attributes(pack.path("attributes.npz"))
    bins = model.bins(population.latents[:200])
    agreeing = [
        person.get("gender") == population.attributes["gender"][i] for i, person in enumerate(bins)
    ]
    assert np.mean(agreeing) > 0.85


def test_encoder_finds_the_painted_person_again() -> None:
    backend, pack = OpenVino(), read_pack(bundled_pack())
    geometry = pack.path("shape.npz")
    shape, frame = load_shape_model(geometry), load_texture_frame(geometry)
    swapper, _ = swapper_from_pack(backend)
    network, relief = load_role(backend, pack, "encoder"), load_relief(geometry)
    encoder = LatentEncoder(swapper, network, shape, frame, relief)
    latents = donors(9)[::2][:4]
    control = swapper.read(np.repeat(CROPS[:1], 4, axis=0))
    control.points[:] = _neutral(shape.mean)
    pictures = swapper.paint(control, latents).pixels.round().astype(np.uint8)
    found = encoder.encode(pictures)
    assert found.shape == latents.shape
    # A relief that no latent carries must not be asked for: its inverse has no bounds.
    assert (
        np.linalg.norm(found[:, 0], axis=1).max() < 2 * np.linalg.norm(latents[:, 0], axis=1).max()
    )
    seen = (found[:, 0] - found[:, 0].mean(axis=0)) @ (latents[:, 0] - latents[:, 0].mean(axis=0)).T
    assert (seen.argmax(axis=1) == np.arange(4)).all()


def _neutral(mean: Float32) -> Float32:
    """The pack's mean face in a crop, looking at the camera."""
    points = drawn_face()
    points[: len(mean)] = mean * 0.4 + np.array([0.5, 0.37, 0.0], np.float32)
    return points


@pytest.mark.skipif(
    not (util.find_spec("tensorrt") or util.find_spec("tensorrt_rtx")),
    reason="needs TensorRT: pip install 'kveil[gpu]'",
)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("capability", ["7.5", "8.6", "8.9", "12.0"])
@pytest.mark.parametrize("role", ["generator", "landmarker", "lids", "encoder"])
def test_tensorrt_builds_every_network(role: str, capability: str, precision: Precision) -> None:
    content = read_pack(bundled_pack()).path(f"{role}.onnx").read_bytes()
    assert len(build_engine(content, BuildRequest(precision, capability, ranges(role)))) > 100_000


def ranges(role: str) -> dict[str, ShapeRange]:
    shapes: dict[str, dict[str, tuple[int, ...]]] = {
        "generator": {"latents": (12, 512)},
        "landmarker": {"image": (3, 128, 128)},
        "lids": {"eyes": (1, 32, 48)},
        "encoder": {"image": (3, 128, 128), "place": (128, 128, 2), "shape": (24,)},
    }
    return {
        name: ShapeRange((1, *shape), (4, *shape), (16, *shape))
        for name, shape in shapes[role].items()
    }
