"""Heads are drawn anew with hair that is known, and a network learns from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")

from engines.backends.onnxruntime import OnnxRuntime  # noqa: E402
from engines.hairline import HairNetwork  # noqa: E402
from engines.polar import GRID, RAYS, REACH  # noqa: E402
from training.export import write_network  # noqa: E402
from training.hair import HairNet, evaluate, fed_from_pictures, loss_of  # noqa: E402
from training.hair_scenes import HairScenes, LabelledHead, labelled  # noqa: E402
from training.heads import SIZE  # noqa: E402

pytestmark = [pytest.mark.unit, pytest.mark.torch]

SKIN, HAIR = (120, 150, 200), (40, 45, 60)


def drawn_heads() -> list[LabelledHead]:
    """Two heads: a round face, hair above it, a wall and clothes; the second one grey."""
    steps = (np.arange(SIZE) + 0.5) * (2 * REACH / SIZE) - REACH
    x, y = np.meshgrid(steps, steps)
    radius = np.hypot(x, y)
    is_hair = (radius < 0.75) & (radius >= 0.42) & (y < 0)
    image = np.full((SIZE, SIZE, 3), 190, np.uint8)
    image[radius < 0.5] = SKIN
    image[is_hair] = HAIR
    image[y > 0.6] = (90, 60, 40)
    grey = np.repeat(image.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    circle = np.full((2, RAYS), 1, np.float32)
    arrays: dict[str, NDArray[np.generic]] = {
        "names": np.array(["clip", "portrait s1"]),
        "images": np.stack([image, grey]),
        "known": np.ones((2, SIZE, SIZE), np.uint8),
        "hair": np.repeat(255 * is_hair[None].astype(np.uint8), 2, axis=0),
        "hidden": 0.46 * circle,
        "outline": 0.42 * circle,
    }
    return [labelled(arrays, row) for row in range(2)]


def scenes(seed: int = 0) -> HairScenes:
    wall = np.random.default_rng(5).integers(0, 255, (60, 80, 3)).astype(np.uint8)
    return HairScenes(drawn_heads(), [wall], seed)


def test_scenes_differ_and_a_seed_repeats_them() -> None:
    pictures, hair, counts = scenes().batch(8)
    assert pictures.shape == (8, GRID, GRID, 4)
    assert hair.shape == counts.shape == (8, GRID, GRID)
    assert 0 <= hair.min() <= hair.max() <= 1
    assert len({one.tobytes() for one in pictures}) == 8
    assert np.array_equal(pictures, scenes().batch(8)[0])
    assert not np.array_equal(pictures, scenes(1).batch(8)[0])


def test_nothing_of_the_face_is_shown_and_nothing_under_the_patch_counts() -> None:
    for picture, counts in zip(*scenes().batch(12)[::2], strict=True):
        under = picture[..., 3] == 255
        assert under.mean() > 0.05
        assert np.ptp(picture[under][:, :3], axis=0).max() == 0
        assert not counts[under].any()


def test_some_heads_are_balding_and_hair_has_many_colours() -> None:
    pictures, hair, counts = scenes().batch(60)
    shares = (hair * counts).sum(axis=(1, 2))
    assert (shares < 1).any()
    assert (shares > 200).mean() > 0.5
    colours = [
        one[..., :3][mask > 0.9].mean(axis=0)
        for one, mask in zip(pictures, hair * counts, strict=True)
        if (mask > 0.9).sum() > 50
    ]
    assert np.std(colours, axis=0).min() > 20


def test_network_learns_and_its_file_is_what_the_product_reads(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = HairNet()
    optimiser = torch.optim.Adam(net.parameters(), lr=8e-3)
    own = scenes()
    before = evaluate(net, drawn_heads())["hair_overlap_clips"]
    for _ in range(40):
        pictures, hair, counts = own.batch(8)
        wanted, where = (torch.from_numpy(one)[:, None] for one in (hair, counts))
        optimiser.zero_grad()
        loss_of(net(fed_from_pictures(pictures)), wanted, where).backward()
        optimiser.step()
    after = evaluate(net, drawn_heads())["hair_overlap_clips"]
    assert after > max(0.6, before + 0.1)
    write_network("hair", net, {"around": torch.rand(1, 4, GRID, GRID)}, ["hair"], tmp_path)
    HairNetwork(OnnxRuntime().load(tmp_path / "hair.onnx"))
