from __future__ import annotations

import pytest

from stream.live.address import address_from_text
from stream.live.errors import AddressRefused

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gopher://host/x",
        "concat:/etc/passwd|x://",
        "rtsp://",
        "rtsp://host:99999/x",
        "rtsp://host:0x1/x",
        "rtsp://ho st/x",
        "rtsp://host/x\r\nX-Injected: 1",
        "rtsp://host\\@evil/x",
        "rtsp://ho%73t/x",
        "srt://host",
        "http://[::1/x",
        "rtsp://host/" + "x" * 3000,
    ],
)
def test_malformed_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(AddressRefused) as refusal:
        address_from_text(text)
    assert "\n" not in str(refusal.value)


def test_secrets_show_in_neither_text_nor_repr() -> None:
    address = address_from_text("rtmps://me:pass%40word@host/app/streamkey?token=abc")
    assert address.password == "pass@word"
    for shown in (str(address), repr(address), f"{address}"):
        assert not {"me", "pass", "streamkey", "abc"} & set(shown.replace("/", " ").split())
        assert "pass" not in shown
        assert "streamkey" not in shown


def test_pinned_url_keeps_secrets_and_replaces_the_host() -> None:
    address = address_from_text("rtsp://me:p%3Aw@camera/live?x=1")
    assert address.url("10.0.0.7", 8554) == "rtsp://me:p%3Aw@10.0.0.7:8554/live?x=1"
