"""`kveil gallery`: what it prints, deletes and answers."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gallery.accounts import Release
from gallery.errors import GalleryError, LedgerBroken, StoreUnavailable
from gallery.gallery_commands import gallery_app
from gallery.ledger import Ledger
from gallery.opening import open_gallery
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings
from gallery.simulation import THRESHOLDS, NoiseMaker, look
from gallery.stores.local_redis import INSTALL, LocalRedis

pytestmark = pytest.mark.unit

with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(gallery_app, list(words), env={"KVEIL_REDIS_URL": ""})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def recorded(folder: Path, *sizes: int) -> None:
    with Ledger(3, "swap", folder) as ledger:
        for size in sizes:
            ledger.accounts.people.clear()  # forget, so that nothing is refused
            ledger.release(Release("w", 1, 1, 1, 0, tuple(range(1, size + 1))))


def test_check_of_a_promise_that_held_ends_with_0(tmp_path: Path) -> None:
    recorded(tmp_path, 3, 3)
    code, said = call("check", str(tmp_path))
    assert code == 0
    assert "held" in said
    assert "2 of 1 people" in said


def test_check_of_a_broken_promise_ends_with_6_and_says_which(tmp_path: Path) -> None:
    recorded(tmp_path, 3, 2)
    code, said = call("check", str(tmp_path))
    assert code == 6
    assert "fell from 3 to 2" in said


def test_check_prints_json_for_scripts(tmp_path: Path) -> None:
    recorded(tmp_path, 3)
    code, said = call("check", str(tmp_path), "--json")
    found = json.loads(said)
    assert (code, found["ok"], found["k_real_min"]) == (0, True, 3)


def test_check_of_a_missing_folder_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(LedgerBroken, match="not a folder"):
        call("check", str(tmp_path / "none"))


def test_check_of_a_folder_that_holds_no_record_says_which_to_give(tmp_path: Path) -> None:
    with pytest.raises(LedgerBroken, match=r"give the folder of gallery\.ledger"):
        call("check", str(tmp_path))


def test_check_of_nothing_says_what_to_give() -> None:
    with pytest.raises(GalleryError, match=r"name the folder of gallery\.ledger"):
        call("check")


@pytest.mark.parametrize("command", ["check", "show", "purge", "new-key"])
def test_help_speaks_to_users_and_not_to_programmers(command: str) -> None:
    code, said = call(command, "--help")
    assert code == 0
    assert "Raises" not in said
    assert "LedgerBroken" not in said


def test_purge_of_nothing_asks_what(tmp_path: Path) -> None:
    with pytest.raises(GalleryError, match="nothing to purge"):
        call("purge")


def test_show_without_a_url_says_what_to_give() -> None:
    with pytest.raises(StoreUnavailable, match="--redis"):
        call("show")


def test_purge_of_the_ledger_deletes_its_files(tmp_path: Path) -> None:
    recorded(tmp_path, 3)
    code, said = call("purge", "--ledger", str(tmp_path))
    assert (code, "1 files" in said) == (0, True)
    assert list(tmp_path.iterdir()) == []


def test_key_file_is_made_then_rotated(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    call("new-key", str(path))
    first = SecretRing.from_file(path)
    _, said = call("new-key", str(path))
    second = SecretRing.from_file(path)
    assert second.current_id in said
    assert second.unseal(first.seal(b"x", "e"), "e") == b"x"
    assert second.current_id != first.current_id


@pytest.mark.redis
@with_redis
def test_redis_is_shown_and_purged(short_folder: Path) -> None:
    from gallery.stores.redis import RedisStore

    with LocalRedis(short_folder) as server:
        with RedisStore(server.url, timeout_s=5.0) as store:
            store.open("a" * 32, b"header")
            store.append("a" * 32, 0, b"sealed")
        code, said = call("show", "--redis", server.url, "--json")
        shown = json.loads(said)
        assert (code, shown["keys"], shown["entries"]) == (0, 1, 1)
        assert shown["window"] == "a" * 32
        assert shown["ends_in_s"] > 0
        code, said = call("purge", "--redis", server.url)
        assert code == 0
        assert "none left" in said
        with server.client() as client:
            assert list(client.scan_iter("*")) == []
        assert "none" in call("show", "--redis", server.url)[1]


@pytest.mark.redis
@with_redis
def test_check_tells_what_clusters_in_redis_say_about_attributes() -> None:
    folder = Path(tempfile.mkdtemp())
    SecretRing.ephemeral().write(folder / "keys")
    with LocalRedis(folder) as server:
        settings = GallerySettings(k=2, thresholds=THRESHOLDS, attributes="coarse")
        gallery = open_gallery(
            settings, NoiseMaker(), server.url, key_file=folder / "keys",
            ledger_folder=folder / "ledger", timeout_s=5.0,
        )  # fmt: skip
        bins = ["age=old", "age=young", "age=old", "age=old"]
        for number, attribute_bin in enumerate(bins):
            gallery.assign("door", number, look(2 + 10 * number), attribute_bin, float(number))
            gallery.visible("door", [], float(number))
        gallery.close()
        words = ["check", str(folder / "ledger"), "--redis", server.url]
        words += ["--key-file", str(folder / "keys")]
        code, said = call(*words)
        assert code == 0
        assert "unknown of 0% of their people" in said
        assert call(*words, "--l-min", "1")[0] == 0
        code, said = call(*words, "--l-min", "2", "--t-max", "0.1")
        assert code == 6
        assert "effective values" in said
        assert "away from the crowd" in said
        told = json.loads(call(*words, "--json")[1])
        assert told["attributes"]["age"]["distinct"] == 1
    shutil.rmtree(folder)
