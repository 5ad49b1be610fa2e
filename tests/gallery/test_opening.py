"""The gallery that a run asks for: in memory, or in Redis with a key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gallery.errors import SecretMissing
from gallery.ledger import check_folder
from gallery.opening import open_gallery
from gallery.secrets import KEY_VARIABLE, SecretRing
from gallery.settings import GallerySettings, Scope
from gallery.simulation import THRESHOLDS, NoiseMaker
from gallery.stores.local_redis import INSTALL, LocalRedis
from tests.gallery.scenes import Scene, settings_of

pytestmark = pytest.mark.unit

with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


def test_gallery_in_memory_opens_without_a_key(tmp_path: Path) -> None:
    gallery = open_gallery(settings_of(), NoiseMaker(), ledger_folder=tmp_path)
    assert Scene(gallery).passes(2).surrogate is not None
    gallery.close()
    assert check_folder(tmp_path).people == 1


def test_gallery_in_redis_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(SecretMissing, match=KEY_VARIABLE):
        open_gallery(settings_of(), NoiseMaker(), redis_url="redis://127.0.0.1:1")


@pytest.mark.redis
@with_redis
@pytest.mark.parametrize("scope", ["session", "forever"])
def test_stream_outlives_a_redis_that_dies_and_returns_empty(
    short_folder: Path, scope: Scope
) -> None:
    keys = short_folder / "keys"
    SecretRing.ephemeral().write(keys)
    with LocalRedis(short_folder) as server:
        gallery = open_gallery(
            GallerySettings(k=3, scope=scope, thresholds=THRESHOLDS, retry_s=0.0),
            NoiseMaker(), server.url, key_file=keys, ledger_folder=short_folder / "ledger",
        )  # fmt: skip
        here = Scene(gallery)
        before = here.passes(2)
        server.kill()
        assert here.passes(3).cause == "store_unavailable"
        server.start()
        after = here.passes(2)
        assert after.surrogate is not None
        assert after.face != before.face
        report = gallery.report()
        assert (report.windows, report.store_failures, report.violations) == (2, 1, 0)
        gallery.close()
    assert check_folder(short_folder / "ledger").is_ok


@pytest.mark.redis
@with_redis
def test_closed_gallery_leaves_redis_no_connection(short_folder: Path) -> None:
    keys = short_folder / "keys"
    SecretRing.ephemeral().write(keys)
    with LocalRedis(short_folder) as server, server.client() as client:
        alone = len(client.client_list())
        gallery = open_gallery(settings_of(), NoiseMaker(), server.url, key_file=keys)
        assert Scene(gallery).passes(2).surrogate is not None
        assert len(client.client_list()) > alone
        gallery.close()
        assert len(client.client_list()) == alone
