"""What torch draws and lights equals what the engines draw and light."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.stylegan import control, light, warp  # noqa: E402
from tests.engines.stylegan.faces import drawn_face, texture_frame, turned  # noqa: E402
from training import checkpoint, networks, render  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]


def faces() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.stack([drawn_face(), turned(drawn_face(), 20)])


def test_maps_agree() -> None:
    drawn = render.maps_from_points(torch.from_numpy(faces())).numpy()
    wanted = np.stack([control.control_map_from_points(face) for face in faces()])
    assert np.abs(drawn - wanted.transpose(0, 3, 1, 2) / 255).mean() < 0.005


def test_places_agree() -> None:
    frame = texture_frame()
    made = render.uv_from_points(
        torch.from_numpy(faces()),
        torch.from_numpy(frame.points),
        torch.from_numpy(frame.triangles).long(),
    ).numpy()
    wanted = np.stack([warp.uv_from_points(face, frame) for face in faces()])
    away = np.abs(made - wanted.transpose(0, 3, 1, 2)).max(axis=1)
    assert (away > 0.02).mean() < 0.01


def test_light_agrees() -> None:
    picture = np.random.default_rng(0).uniform(-1, 1, (64, 64, 3)).astype(np.float32)
    inside = light.softened(control.oval_from_points(drawn_face(), 64), 64)
    wanted = light.light_from_picture(picture, inside)
    made = networks.light_from_images(
        torch.from_numpy(picture).permute(2, 0, 1)[None], torch.from_numpy(inside)[None, None]
    )
    assert np.abs(made.numpy()[0].reshape(2, 3, 4, 4) - wanted.transpose(0, 3, 1, 2)).max() < 1e-4


def test_untrained_generator_paints_its_base() -> None:
    generator = networks.Generator(64)
    inputs = (
        networks.latents_from_codes(torch.randn(2, networks.CODE), generator.layers),
        torch.rand(2, 7, 64, 64),
        torch.rand(2, 6, 4, 4),
        torch.rand(2, 2, 128, 128),
    )
    made, base = generator.painted(*inputs)
    assert made.shape == (2, 3, 64, 64)
    assert torch.allclose(made, base, atol=1e-5)


def test_codes_come_back_from_latents() -> None:
    codes = torch.randn(3, networks.CODE)
    latents = networks.latents_from_codes(codes, 12)
    assert torch.allclose(latents[:, 5] @ networks.latent_axes(), codes, atol=1e-4)


def test_larger_discriminator_starts_as_the_smaller() -> None:
    small, large = networks.Discriminator(64), networks.Discriminator(128)
    own = large.state_dict()
    large.load_state_dict(own | small.state_dict())
    image, maps = torch.rand(4, 3, 128, 128), torch.rand(4, 7, 64, 64)
    half = torch.nn.functional.avg_pool2d(image, 2)
    assert torch.allclose(large(image, maps)[0], small(half, maps)[0], atol=1e-4)


def test_small_checkpoint_travels_in_small_files(tmp_path: Path) -> None:
    weights = {f"layer{i}": torch.randn(2000, 1000) for i in range(10)}
    files = checkpoint.save_small(tmp_path, weights, {"crops": 5.0})
    assert all(file.stat().st_size <= 16_000_000 for file in files)
    again, facts = checkpoint.load_small(tmp_path)
    assert facts["crops"] == 5.0
    assert torch.allclose(again["layer3"], weights["layer3"], atol=1e-2)
