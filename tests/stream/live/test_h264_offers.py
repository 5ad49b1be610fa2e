"""Offers of H.264 as encoders, phones and browsers write them."""

from __future__ import annotations

import re

import pytest

from stream.live.errors import OfferRefused
from stream.live.h264_offers import SENT_MODES, offer_in_baseline, with_offered_profiles
from stream.live.trickle import candidates_of_fragment
from tests.stream.live.whip_entrance import answer_to

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]

HEAD = """v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE {bundle}
a=msid-semantic: WMS *
"""
SECTION = """m={kind} 9 UDP/TLS/RTP/SAVPF {numbers}
c=IN IP4 0.0.0.0
a=mid:{mid}
a=sendonly
a=rtcp-mux
a=rtcp-rsize
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=fingerprint:sha-256 {print}
a=setup:{setup}
{formats}
"""
PRINT = ":".join(["6B"] * 32)


def offer(*formats: str, setup: str = "actpass", with_sound: bool = False) -> str:
    """An offer of video in these formats, each a line after `a=`."""
    numbers = " ".join(dict.fromkeys(re.findall(r"^rtpmap:(\d+)", "\n".join(formats), re.M)))
    lines = "\n".join(f"a={one}" for one in formats)
    sections = []
    if with_sound:
        sound = "a=rtpmap:111 opus/48000/2\na=fmtp:111 minptime=10;useinbandfec=1"
        sections.append(("audio", "111", sound))
    sections.append(("video", numbers, lines))
    text = HEAD.format(bundle=" ".join(str(mid) for mid in range(len(sections))))
    for mid, (kind, named, told) in enumerate(sections):
        text += SECTION.format(
            kind=kind, numbers=named, mid=mid, print=PRINT, setup=setup, formats=told
        )
    return text.replace("\n", "\r\n")


def h264(number: int, rest: str) -> tuple[str, str]:
    return f"rtpmap:{number} H264/90000", f"fmtp:{number} {rest}"


MAIN = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d0028"
HIGH = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640032"
CONSTRAINED_HIGH = "profile-level-id=640c1f;packetization-mode=1;level-asymmetry-allowed=1"
OFFERS = {
    "obs": offer(*h264(96, HIGH), "rtcp-fb:96 nack pli", with_sound=True),
    "gstreamer": offer(
        *h264(96, "packetization-mode=1;profile-level-id=42c016"), "rtcp-fb:96 nack pli"
    ),
    "ffmpeg": offer(*h264(106, MAIN), with_sound=True, setup="passive"),
    "iphone": offer(*h264(98, CONSTRAINED_HIGH), "rtpmap:99 rtx/90000", "fmtp:99 apt=98"),
    "main": offer(*h264(96, MAIN)),
    "high without asymmetry": offer(*h264(96, "packetization-mode=1;profile-level-id=64001f")),
    "mode 0": offer(*h264(97, "packetization-mode=0;profile-level-id=64001f")),
    "no mode": offer(*h264(97, "profile-level-id=4D401F")),
    "nothing said": offer("rtpmap:97 H264/90000"),
    "name in small letters": offer("rtpmap:97 h264/90000", "fmtp:97 profile-level-id=640c1f"),
}


@pytest.mark.parametrize("who", OFFERS)
def test_offer_of_h264_alone_is_answered_in_its_own_profile(who: str) -> None:
    answer = answer_to(OFFERS[who])
    number = re.search(r"rtpmap:(\d+) h264", OFFERS[who], re.I)
    assert number is not None
    assert f"a=rtpmap:{number[1]} H264/90000" in answer
    offered = re.search(r"profile-level-id=(\w{6})", OFFERS[who])
    told = re.search(rf"a=fmtp:{number[1]} .*profile-level-id=(\w{{6}})", answer)
    assert told is not None
    assert told[1] == (offered[1] if offered else "42e01f")
    assert "a=recvonly" in answer


def test_answer_names_the_mode_that_was_offered() -> None:
    assert "packetization-mode=0" in answer_to(OFFERS["mode 0"])
    assert "packetization-mode=1" in answer_to(OFFERS["obs"])


def test_every_profile_of_one_offer_keeps_its_own_number() -> None:
    formats = (*h264(102, HIGH), *h264(103, MAIN), *h264(104, CONSTRAINED_HIGH))
    answer = answer_to(offer(*formats))
    for number, profile in (("102", "640032"), ("103", "4d0028"), ("104", "640c1f")):
        assert re.search(rf"a=fmtp:{number} .*profile-level-id={profile}", answer)


def test_interleaved_packets_are_refused() -> None:
    with pytest.raises(OfferRefused, match=r"H\.264"):
        answer_to(offer(*h264(96, "packetization-mode=2;profile-level-id=42e01f")))


def test_format_whose_number_the_library_would_exchange_is_left_out() -> None:
    answer = answer_to(offer(*h264(39, MAIN), *h264(102, MAIN)))
    assert "a=rtpmap:102 H264" in answer
    assert ":39 " not in answer
    assert re.search(r"m=video \d+ \S+ 102\r", answer)


@pytest.mark.parametrize("profile", ["", "64", "zzzzzz", "6400320", "64001f;;;=;"])
def test_malformed_profile_is_no_format(profile: str) -> None:
    text = offer(*h264(96, f"packetization-mode=1;profile-level-id={profile}"))
    _, were = offer_in_baseline(text)
    assert bool(were) == profile.startswith("64001f")


def test_pictures_are_sent_in_the_mode_of_cut_packets_alone() -> None:
    _, were = offer_in_baseline(
        offer(*h264(96, HIGH), *h264(97, "packetization-mode=0;profile-level-id=42e01f")),
        SENT_MODES,
    )
    assert list(were) == ["96"]


def test_answer_without_h264_is_left_alone() -> None:
    plain = offer("rtpmap:96 VP8/90000")
    text, were = offer_in_baseline(plain)
    assert (text, were) == (plain, {})
    assert with_offered_profiles(plain, were) == plain


def test_candidates_that_no_peer_has_are_left_out() -> None:
    found = candidates_of_fragment(
        "a=mid:1\r\n"
        "a=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\n"
        "a=candidate:1 1 udp 1 169.254.169.254 80 typ host\r\n"
        "a=candidate:1 1 udp 1 ::1 80 typ host\r\n"
        "a=candidate:1 1 udp 1 d0c5.local 80 typ host\r\n"
        "a=candidate:1 1 udp 1 10.1.2.3 5000 typ host\r\n"
        "a=end-of-candidates\r\n"
    )
    assert [(one.ip, one.port, one.sdpMid) for one in found] == [("10.1.2.3", 5000, "1")]


@pytest.mark.parametrize(
    "fragment",
    ["a=candidate:\r\n", "a=candidate:1 1 udp x 1 y typ host\r\n", "a=candidate:1 1\r\n" * 65],
)
def test_malformed_fragment_is_refused(fragment: str) -> None:
    with pytest.raises(OfferRefused):
        candidates_of_fragment(fragment)
