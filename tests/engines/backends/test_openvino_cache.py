"""Compiled networks are kept where they can be, and a folder that cannot stops nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from engines.backends.openvino import OpenVino, compiled_cache
from engines.backends.tensorrt import engine_cache
from engines.detectors.centerface import CenterFace
from engines.detectors.gate import gates_file
from engines.models.catalogue import centerface_path

pytestmark = pytest.mark.unit

_SERVICE = Path(__file__).resolve().parents[3] / "deploy" / "kveil.service"


def test_cache_follows_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled_cache() == tmp_path / "kveil" / "openvino"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert compiled_cache().parts[-3:] == (".cache", "kveil", "openvino")


def test_compiled_networks_are_kept_for_the_user_alone(tmp_path: Path) -> None:
    cache = tmp_path / "kveil" / "openvino"
    CenterFace(OpenVino(threads=1, cache=cache), centerface_path()).prepare(32, 32)
    assert list(cache.glob("*.blob"))
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_cache_that_cannot_be_made_stops_no_network(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    detector = CenterFace(OpenVino(threads=1, cache=blocked / "openvino"), centerface_path())
    assert detector.detect(np.zeros((32, 32, 3), np.uint8), min_score=0.5) == ()


def test_cache_that_cannot_be_written_stops_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser may write anywhere
    detector = CenterFace(OpenVino(threads=1, cache=tmp_path), centerface_path())
    assert detector.detect(np.zeros((32, 32, 3), np.uint8), min_score=0.5) == ()
    assert not list(tmp_path.iterdir())


def test_service_keeps_all_caches_in_the_folder_that_it_owns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = dict(
        line.split("=", 1) for line in _SERVICE.read_text().splitlines() if "Cache" in line
    )
    told = [line for line in _SERVICE.read_text().splitlines() if "XDG_CACHE_HOME=" in line]
    monkeypatch.setenv("XDG_CACHE_HOME", told[0].rpartition("=")[2])
    owned = Path("/var/cache") / settings["CacheDirectory"]
    for used in (compiled_cache(), engine_cache(), gates_file()):
        assert used.parent == owned
