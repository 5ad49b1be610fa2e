from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.service import Sources
from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.errors import AddressRefused, SourceLost
from stream.live.network_source import NetworkSource, SourceOptions
from stream.service.url_guard import UrlGuard

pytestmark = pytest.mark.unit


class Names:
    """A name service that may change its answers."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def admitted(listed: Sources, text: str, *answers: Sequence[str]) -> tuple[str, ...]:
    return UrlGuard(listed, (), Names(*answers)).admit(address_from_text(text))


def test_named_host_with_a_public_address_passes() -> None:
    allowance = Sources(hosts=("*.cameras.example",))
    assert admitted(allowance, "rtsp://a.cameras.example/x", ["93.184.216.34"])
    with pytest.raises(AddressRefused):
        admitted(allowance, "rtsp://cameras.example.evil/x", ["93.184.216.34"])


@pytest.mark.parametrize(
    "answer",
    [
        "169.254.169.254",
        "127.0.0.1",
        "10.0.0.5",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "224.0.0.1",
        "100.100.100.200",
        "240.0.0.1",
        "fec0::1",
    ],
)
def test_allowed_name_that_leads_inside_is_refused(answer: str) -> None:
    with pytest.raises(AddressRefused):
        admitted(Sources(hosts=("*",)), "http://innocent.example/x", [answer])


@pytest.mark.parametrize("answer", ["127.0.0.1", "10.0.0.5", "::1", "fd12::1"])
def test_name_written_out_in_full_leads_inside_where_its_network_is_listed_alone(
    answer: str,
) -> None:
    named = Sources(hosts=("camera.example",))
    with pytest.raises(AddressRefused, match=r"sources\.networks"):
        admitted(named, "rtsp://camera.example/x", [answer])
    listed = Sources(hosts=named.hosts, networks=(answer,))
    assert admitted(listed, "rtsp://camera.example/x", [answer]) == (answer,)
    assert admitted(named, "rtsp://camera.example/x", ["93.184.216.34"]) == ("93.184.216.34",)


def test_one_bad_address_among_good_ones_is_refused() -> None:
    with pytest.raises(AddressRefused):
        admitted(Sources(hosts=("*",)), "http://x.example/", ["93.184.216.34", "10.0.0.1"])


def test_metadata_address_is_refused_even_where_the_list_allows_everything() -> None:
    everything = Sources(networks=("0.0.0.0/0", "::/0"), hosts=("*",))
    for text in ("http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://169.254.0.1/"):
        with pytest.raises(AddressRefused):
            UrlGuard(everything).admit(address_from_text(text))


def test_name_is_resolved_once_and_the_checked_address_is_used() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    guard = UrlGuard(Sources(networks=("127.0.0.0/8",)), resolve_name=names)
    address = address_from_text("rtsp://rebinding.example:9/cam")
    with pytest.raises(SourceLost, match="connection refused"):
        NetworkSource(address, guard, SystemClock(), SourceOptions(timeout_s=2.0))
    assert names.asked == 1


def test_http_name_that_changes_its_answer_is_refused() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    guard = UrlGuard(Sources(networks=("127.0.0.0/8",)), resolve_name=names)
    address = address_from_text("http://rebinding.example:9/live.m3u8")
    with pytest.raises((AddressRefused, SourceLost)):
        NetworkSource(address, guard, SystemClock(), SourceOptions(timeout_s=2.0))


def test_file_is_admitted_inside_its_folder_alone(tmp_path: Path) -> None:
    inside = tmp_path / "clips"
    inside.mkdir()
    (inside / "a.mp4").touch()
    (tmp_path / "secret.mp4").touch()
    (inside / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    guard = UrlGuard(Sources(folders=(str(inside),)))
    assert guard.admit(address_from_text(str(inside / "a.mp4"))) == ()
    for hostile in (inside / ".." / "secret.mp4", inside / "link.mp4", Path("/etc/passwd")):
        with pytest.raises(AddressRefused):
            guard.admit(address_from_text(str(hostile)))


@given(st.ip_addresses())
def test_without_an_allowance_no_address_passes(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    host = f"[{ip}]" if ip.version == 6 else str(ip)
    with pytest.raises((AddressRefused, SourceLost)):
        UrlGuard(Sources(), (), lambda _host, _port: [str(ip)]).admit(
            address_from_text(f"rtsp://{host}/x")
        )
