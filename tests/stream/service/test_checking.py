from __future__ import annotations

from pathlib import Path

import pytest

from config.service import ServiceSettings
from config.service_loading import load_service
from engines.errors import KveilError
from stream.service.checking import check_service

pytestmark = pytest.mark.unit
TOKEN = "{name: a, role: viewer, sha256: '" + "0" * 64 + "'}"
REDIS = "redis_url: 'redis://user:s3cret@host:6379/0'"


def loaded(folder: Path, text: str) -> ServiceSettings:
    file = folder / "kveil.yaml"
    file.write_text(text)
    return load_service(file, {})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("listen: {tls_certificate: /no/c.pem, tls_key: /no/k.pem}", "listen.tls_certificate"),
        ("streams: [{name: a, source: 'gopher://host/x'}]", "stream a: scheme not supported"),
        ("streams: [{name: a, source: 'rtsp://host:x/'}]", "stream a: the rtsp address"),
        ("streams: [{name: a, sinks: ['ftp://host/x']}]", "stream a: scheme not supported"),
        ("streams: [{name: a, source: 'http://169.254.169.254/'}]", "metadata"),
        ("{sources: {schemes: [srt]}, streams: [{name: a, source: 'rtsp://h/'}]}", "schemes"),
        ("streams: [{name: a, record: true}]", "stream a: recording needs recording.folder"),
        ("streams: [{name: a, method: nonsense}]", "stream a: no method is named `nonsense`"),
        (
            "streams: [{name: a, source: /no/clip.mp4}]",
            "stream a: cannot read clip.mp4: no such file",
        ),
        ("streams: [{name: a, source: /dev/null}]", "stream a: cannot read null: it is no regular"),
        ("{bounds: {streams: 1}, streams: [{name: a}, {name: b}]}", "bounds.streams"),
        (
            "{recording: {folder: /dev/null/x}, streams: [{name: a, record: true}]}",
            "recording.folder",
        ),
        (
            "listen: {host: no.such.host.invalid}\naccess: {tokens: [" + TOKEN + "]}",
            "does not resolve",
        ),
        ("anonymize: {method: nonsense}", "no method is named `nonsense`"),
        ("anonymize: {detection: {model: none.onnx}}", "none.onnx"),
        (f"anonymize: {{gallery: {{{REDIS}}}}}", "KVEIL_GALLERY_KEYS"),
        (f"anonymize: {{gallery: {{{REDIS}, key_file: /no/keys}}}}", "key file"),
    ],
)
def test_what_the_start_would_refuse_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.delenv("KVEIL_GALLERY_KEYS", raising=False)
    with pytest.raises(KveilError) as refusal:
        check_service(loaded(tmp_path, text))
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_what_the_start_would_take_holds(tmp_path: Path) -> None:
    text = f"""
    recording: {{folder: {tmp_path}}}
    anonymize: {{method: solid, gallery: {{{REDIS}}}}}
    streams:
      - {{name: door, source: 'rtsp://camera.invalid/live', sinks: ['srt://10.0.0.1:9000']}}
      - {{name: yard, source: /dev/video0, record: true, method: swap}}
      - {{name: loop, source: {tmp_path}/clip.mp4, sinks: [{tmp_path}/out/live.m3u8]}}
      - {{name: desk}}
      - {{name: phone, source: whip}}
    """
    (tmp_path / "clip.mp4").write_bytes(b"x")
    check_service(loaded(tmp_path, text))
