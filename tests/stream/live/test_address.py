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


@pytest.mark.parametrize(
    "text",
    [
        "rtsp://me:p#w@host/x",
        "rtsp://me:p/w@host/x",
        "rtsp://me:12/w@10.0.0.1/x",
        "rtsp://me:p?w@host/x",
        "rtsp://me:p[w@host/x",
        "rtsp://me:p]w@host:554/x",
        "srt://host:9000?streamid=#!::u=a",
        "rtsp://host/cam#1",
    ],
)
def test_raw_sign_that_ends_the_host_is_named_as_the_cause(text: str) -> None:
    with pytest.raises(AddressRefused, match="%23") as refused:
        address_from_text(text)
    assert "p#w" not in str(refused.value)


@pytest.mark.parametrize(
    ("password", "said"), [("p%E9", "UTF-8"), ("p%0aq", "control"), ("p%00", "control")]
)
@pytest.mark.parametrize("place", ["rtsp://me:{}@host/x", "rtsp://{}:word@host/x"])
def test_sign_in_that_no_camera_can_take_is_refused_with_the_cause(
    place: str, password: str, said: str
) -> None:
    with pytest.raises(AddressRefused, match=said) as refused:
        address_from_text(place.format(password))
    assert password not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "host", "path", "password"),
    [
        ("rtsp://me:p@w@host/x", "host", "/x", "p@w"),
        ("rtsp://me:50%off@host/x", "host", "/x", "50%off"),
        ("rtsp://me:a%23b@host/x", "host", "/x", "a#b"),
        ("rtsp://cam:554/user@x", "cam", "/user@x", ""),
        ("rtsp://[::1]:554/p@q", "::1", "/p@q", ""),
        ("rtsp://me:p@[::1]/x", "::1", "/x", "p"),
        ("rtmp://host/app/key?x=a@b", "host", "/app/key?x=a@b", ""),
    ],
)
def test_sign_that_is_in_its_place_is_taken(text: str, host: str, path: str, password: str) -> None:
    address = address_from_text(text)
    assert (address.host, address.path, address.password) == (host, path, password)
