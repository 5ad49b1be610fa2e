"""What torch draws and lights equals what the engines draw and light."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.stylegan import light, masks, warp  # noqa: E402
from tests.engines.stylegan.faces import drawn_face, texture_frame, turned  # noqa: E402
from training import checkpoint, networks, places  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    torch.manual_seed(1)


def test_places_agree() -> None:
    frame = texture_frame()
    faces = np.stack([drawn_face(), turned(drawn_face(), 20)])
    found = places.CanonicalPlaces(frame.points, frame.triangles, 64, torch.device("cpu"))
    owner = warp.owners(frame.points, frame.triangles, 64)
    wanted = np.stack([warp.image_place_of_texture(face, frame, owner) for face in faces])
    assert (np.abs(found(torch.from_numpy(faces)).numpy() - wanted) > 0.01).mean() < 0.01


def test_light_agrees() -> None:
    picture = np.random.default_rng(0).uniform(-1, 1, (64, 64, 3)).astype(np.float32)
    inside = light.softened(masks.oval_from_points(drawn_face(), 64), 64)
    wanted = light.light_from_picture(picture, inside)
    made = networks.light_from_images(
        torch.from_numpy(picture).permute(2, 0, 1)[None], torch.from_numpy(inside)[None, None]
    )
    assert np.abs(made.numpy()[0].reshape(2, 3, 4, 4) - wanted.transpose(0, 3, 1, 2)).max() < 1e-4


def test_untrained_generator_paints_the_linear_texture() -> None:
    generator = networks.Generator(64)
    generator.linear.basis.normal_()
    latents = networks.latents_from_codes(torch.randn(2, networks.CODE), generator.layers)
    planes = generator.planes(latents)
    assert planes.shape == (2, 3, 64, 64)
    assert torch.allclose(planes, generator.linear(latents, 64), atol=1e-5)


def test_detail_leaves_coarse_cells_alone() -> None:
    generator = networks.Generator(256)
    for block in generator.detail.blocks:
        torch.nn.init.normal_(block.luma.weight)
    latents = networks.latents_from_codes(torch.randn(2, networks.CODE), generator.layers)
    detail = generator.planes(latents) - generator.linear(latents, 256)
    cells = torch.nn.functional.avg_pool2d(detail, 16)
    assert detail[:, 0].std() > 0.5 * networks.MOST_DETAIL
    assert cells.std() < 0.15 * detail[:, 0].std()
    assert detail[:, 1:].abs().max() == 0


def test_codes_come_back_from_latents() -> None:
    codes = torch.randn(3, networks.CODE)
    latents = networks.latents_from_codes(codes, 12)
    assert torch.allclose(latents[:, 5] @ networks.latent_axes(), codes, atol=1e-4)


def test_discriminator_scores_the_whole_and_its_places() -> None:
    scores, features = networks.Discriminator(256)(torch.rand(4, 1, 256, 256))
    assert scores.shape == (4, 257)
    assert [part.shape[-1] for part in features] == [64, 32, 16]


def test_small_checkpoint_travels_in_small_files(tmp_path: Path) -> None:
    weights = {f"layer{i}": torch.randn(2000, 1000) for i in range(10)}
    files = checkpoint.save_small(tmp_path, weights, {"crops": 5.0})
    assert all(file.stat().st_size <= 16_000_000 for file in files)
    again, facts = checkpoint.load_small(tmp_path)
    assert facts["crops"] == 5.0
    assert torch.allclose(again["layer3"], weights["layer3"], atol=1e-2)
