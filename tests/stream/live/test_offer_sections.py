"""Offers of which a section cannot be taken: it is refused, and the others are answered."""

from __future__ import annotations

import re

import pytest

from stream.live.errors import OfferRefused
from tests.stream.live.whip_entrance import answer_to

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]

PRINT = ":".join(["6B"] * 32)
OPUS, AAC = "111 opus/48000/2", "97 MPEG4-GENERIC/48000/2"
VP8, T140 = "96 VP8/90000", "98 t140/1000"


def section(kind: str, mid: str, coding: str, *more: str, port: int = 9, without: str = "") -> str:
    lines = [
        f"m={kind} {port} UDP/TLS/RTP/SAVPF {coding.split()[0]}",
        *("c=IN IP4 0.0.0.0", f"a=mid:{mid}", "a=sendonly", "a=rtcp-mux"),
        *("a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx"),
        *(f"a=fingerprint:sha-256 {PRINT}", "a=setup:actpass", f"a=rtpmap:{coding}", *more),
    ]
    return "".join(f"{line}\r\n" for line in lines if not without or not line.startswith(without))


def offer(*sections: str, bundle: str | None = "0 1") -> str:
    group = f"a=group:BUNDLE {bundle}\r\n" if bundle is not None else ""
    return "v=0\r\no=- 4611 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n" + group + "".join(sections)


def taken(answer: str) -> list[tuple[str, bool]]:
    """Kind of each section, and whether it is taken."""
    return [(kind, port != "0") for kind, port in re.findall(r"m=(\w+) (\d+)", answer)]


SOUND, VIDEO = section("audio", "0", OPUS), section("video", "1", VP8)


@pytest.mark.parametrize(
    ("text", "sections", "bundle"),
    [
        (offer(SOUND, VIDEO), [("audio", True), ("video", True)], "0 1"),
        (offer(SOUND, VIDEO, bundle="1 0"), [("audio", True), ("video", True)], "1 0"),
        (offer(SOUND, VIDEO, bundle="0"), [("audio", True), ("video", True)], "0"),
        (offer(SOUND, VIDEO, bundle=None), [("audio", True), ("video", True)], None),
        # Refused by the offer itself.
        (
            offer(section("audio", "0", OPUS, port=0), VIDEO),
            [("audio", False), ("video", True)],
            "1",
        ),
        (
            offer(section("video", "0", VP8, port=0), VIDEO),
            [("video", False), ("video", True)],
            "1",
        ),
        (
            offer(SOUND, section("video", "1", VP8, "a=bundle-only", port=0)),
            [("audio", True), ("video", True)],
            "0 1",
        ),
        # Not known here.
        (offer(section("audio", "0", AAC), VIDEO), [("audio", False), ("video", True)], "1"),
        (offer(section("text", "0", T140), VIDEO), [("text", False), ("video", True)], "1"),
        # Left to defaults.
        (offer(section("video", "0", VP8, without="a=sendonly")), [("video", True)], "0"),
        (offer(section("video", "0", VP8, without="a=setup")), [("video", True)], "0"),
        (offer(section("video", "0", VP8, without="a=mid"), bundle=None), [("video", True)], None),
    ],
)
def test_sections_are_answered_in_their_places(
    text: str, sections: list[tuple[str, bool]], bundle: str | None
) -> None:
    answer = answer_to(text)
    assert taken(answer) == sections
    assert re.findall(r"a=group:BUNDLE (.*)\r", answer) == ([] if bundle is None else [bundle])
    offered = re.findall(r"a=mid:(\S+)", text)
    assert not offered or re.findall(r"a=mid:(\S+)", answer) == offered
    assert answer.count("a=inactive") == sum(not is_taken for _, is_taken in sections)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (offer(SOUND, section("video", "1", VP8, port=0)), "sends no video"),
        (offer(section("video", "0", VP8).replace("sendonly", "recvonly")), "sends no video"),
        (offer(section("video", "0", VP8).replace("sendonly", "inactive")), "sends no video"),
        (offer(section("video", "0", VP8, without="a=rtcp-mux")), "a=rtcp-mux"),
        (offer(section("video", "0", VP8, without="a=ice-pwd")), "ICE credentials"),
        (offer(section("video", "0", VP8, without="a=fingerprint")), "fingerprint"),
        (offer(section("video", "0", "100 H265/90000")), "VP8 or H.264"),
    ],
)
def test_offer_without_video_to_take_is_refused_with_the_cause(text: str, said: str) -> None:
    with pytest.raises(OfferRefused, match=said):
        answer_to(text)
