from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.errors import FileInvalid
from config.loading import load_settings
from config.service_loading import load_service
from config.yaml_reading import mapping_from_file

pytestmark = pytest.mark.unit


def written(folder: Path, text: str) -> Path:
    file = folder / "kveil.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("access: {tokens: []}\nlisten: {port: 1}\naccess: {}\n", "`access` stands twice (line 3)"),
        ("streams: []\nstreams: []\n", "`streams` stands twice (line 2)"),
        ("live:\n  fps: 15\n  fps: 25\n", "`fps` stands twice (line 3)"),
        ("streams: [{name: a, name: b}]\n", "`name` stands twice (line 1)"),
        ("1: a\n'1': b\n", "`1` stands twice (line 2)"),
    ],
)
def test_key_that_stands_twice_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FileInvalid) as refusal:
        load_service(written(tmp_path, text), {})
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_key_that_stands_twice_is_refused_in_settings_of_files_too(tmp_path: Path) -> None:
    with pytest.raises(FileInvalid, match="`privacy` stands twice"):
        load_settings(file=written(tmp_path, "privacy: {k: 9}\nprivacy: {}\n"), environment={})


def test_key_that_replaces_a_merged_one_stands_once(tmp_path: Path) -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more {<<: *base, b: 3}\nlast: {<<: *more, b: 4}\n"
    tree = mapping_from_file(written(tmp_path, text), "listen")
    assert tree["more"] == {"a": 1, "b": 3}
    assert tree["last"] == {"a": 1, "b": 4}


@pytest.mark.parametrize("text", ["at: 2024-13-45", "a: " + "[" * 5000, "{[a]: 1}"])
def test_value_that_breaks_the_library_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileInvalid, match="not valid YAML"):
        mapping_from_file(written(tmp_path, text), "listen")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb: !!python/object/apply:os.system [s3cret]\n", "in line 2; .* begins with !"),
        ("a: 1\n---\nb: s3cret\n", "in line 2; write one document"),
        ("a: *s3cret\n", "in line 1; .* begins with \\*"),
        ("a:\n\tb: s3cret\n", "in line 2; check its indentation"),
    ],
)
def test_file_that_is_no_yaml_says_where_and_why_without_its_text(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(FileInvalid, match=told) as refusal:
        mapping_from_file(written(tmp_path, text), "listen")
    assert "s3cret" not in str(refusal.value)


@pytest.mark.timeout(20)
def test_file_without_an_end_is_refused() -> None:
    with pytest.raises(FileInvalid, match="more than 1 MiB"):
        mapping_from_file(Path("/dev/zero"), "listen")


def test_folder_without_a_name_of_its_own_is_named() -> None:
    with pytest.raises(FileInvalid, match=r"configuration \.: Is a directory"):
        mapping_from_file(Path(), "listen")


@pytest.mark.timeout(20)
def test_pipe_that_nobody_writes_to_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.yaml_reading._PIPE_WAIT_S", 0.2)
    os.mkfifo(tmp_path / "kveil.yaml")
    with pytest.raises(FileInvalid, match="nobody writes"):
        mapping_from_file(tmp_path / "kveil.yaml", "live")


def test_pipe_with_a_configuration_in_it_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"live: {fps: 15}\n")
    os.close(writing)
    try:
        assert mapping_from_file(Path(f"/dev/fd/{reading}"), "live") == {"live": {"fps": 15}}
    finally:
        os.close(reading)
