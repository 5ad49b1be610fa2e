"""Files that torch itself wrote are read like the ones that the other tests write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.imports.networks import StyleGan2
from engines.stylegan.imports.reference import painted
from tests.engines.stylegan.imports.generators import WIDTH, rosinality
from tests.engines.stylegan.pickle_writing import write_archive

pytestmark = [pytest.mark.unit, pytest.mark.torch]
torch = pytest.importorskip("torch", reason="needs torch: pip install 'kveil[train]'")


@pytest.mark.parametrize("is_zip", [True, False])
def test_checkpoint_written_by_torch_gives_the_same_pictures(tmp_path: Path, is_zip: bool) -> None:
    state = rosinality()
    path = tmp_path / "torch.pt"
    tensors = {name: torch.from_numpy(np.ascontiguousarray(v)) for name, v in state.items()}
    content = {"g_ema": tensors, "latent_avg": torch.zeros(WIDTH), "ada_aug_p": torch.tensor(0.1)}
    torch.save(content, path, _use_new_zipfile_serialization=is_zip)
    read = generator_from_file(path).network
    own = {"g_ema": state, "latent_avg": np.zeros(WIDTH, np.float32)}
    wanted = generator_from_file(write_archive(tmp_path / "own.pt", own)).network
    assert isinstance(read, StyleGan2)
    assert np.array_equal(read.mapping.mean, np.zeros(WIDTH))
    latents = np.random.default_rng(0).standard_normal((1, read.layers, WIDTH)).astype(np.float32)
    assert np.array_equal(painted(read, latents), painted(wanted, latents))
