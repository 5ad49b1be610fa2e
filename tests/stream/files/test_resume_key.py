"""A resumed swap lends the same surrogates; a fresh run lends others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from config.settings import Settings
from engines.face.embedder import PersonThresholds
from engines.types import Latent
from gallery.donors import DonorPopulation
from stream.files.resume_key import forget_key, resume_key
from stream.swap.lending import gallery_from_settings

pytestmark = pytest.mark.unit

PEOPLE = PersonThresholds(0.4, 0.3)


def lent(key: bytes | None) -> list[Latent]:
    """Latents of three people, as one run gives them."""
    noise = np.random.default_rng(1).normal(size=(64, 2, 512))
    donors = DonorPopulation(noise.astype(np.float32))
    gallery = gallery_from_settings(Settings(), donors, PEOPLE, key)
    found = []
    for number, embedding in enumerate(np.eye(3, 16, dtype=np.float32)):
        answer = gallery.assign("clip", number + 1, embedding, None, number * 0.1)
        assert answer.surrogate is not None
        found.append(answer.surrogate.latent)
    gallery.close()
    return found


def test_same_key_lends_the_same_faces() -> None:
    for one, other in zip(lent(b"k" * 32), lent(b"k" * 32), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("other", [b"j" * 32, None])
def test_other_key_lends_other_faces(other: bytes | None) -> None:
    for one, two in zip(lent(b"k" * 32), lent(other), strict=True):
        assert (one != two).any()


def test_key_stays_until_it_is_forgotten(tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    key = resume_key(target)
    assert resume_key(target) == key
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    forget_key(target)
    assert not list(tmp_path.iterdir())
    assert resume_key(target) != key


def test_damaged_key_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    resume_key(target)
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"short")
    assert len(resume_key(target)) == 32
