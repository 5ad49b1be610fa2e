"""Everything of our own that parses bytes from outside, with what it may raise and where to start.

`test_parsers.py` runs each of them for a moment; `scripts/fuzz_parsers.py` for as long as wanted,
guided by coverage.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from config.errors import ConfigError
from config.loading import load_settings
from config.service_loading import commented_yaml, load_service
from engines.backends.networks import stripped
from engines.detectors.gate import kept_verdict
from engines.detectors.loading import layout_of
from engines.errors import KveilError
from engines.face.embedder import thresholds_from_file
from engines.models.catalogue import catalogue
from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.pack import FORMAT, MANIFEST, read_pack
from engines.stylegan.pickles import read_checkpoint
from gallery.entries import Joined, Same, Settled, decoded, encoded
from gallery.ledger import check_folder
from gallery.secrets import SecretRing
from stream.finding.finding_memory import faces_from_json
from stream.live.address import address_from_text
from stream.live.bounded_decoders import vp8_size
from stream.live.digest_sign_in import DigestTranslation, digest_authorization
from stream.live.h264_offers import offer_in_baseline, with_offered_profiles
from stream.live.part_cutter import boxes_of
from stream.live.rtc_sessions import check_offer
from stream.live.rtsp_talk import Replies, Requests, RtspTalk
from stream.live.srt_bridge import options_of
from stream.live.trickle import candidates_of_fragment, restarts_ice, with_peers_alone
from stream.live.whep import codec_of_offer
from stream.media.marking import mark_in_bitstream, sei_nal
from stream.media.metadata import bare_profile, passing_tags
from stream.media.reading.field_pairs import FieldPairs
from stream.media.reading.matroska import is_whole_matroska, seconds_of_tag
from stream.media.writing.segment_files import Journal
from tests.engines.stylegan.pickle_writing import Named, legacy, pickled

__all__ = ["PARSERS", "Parser"]


@dataclass(frozen=True)
class Parser:
    """One reader.

    Attributes:
        read: takes bytes, and a folder of its own.
        seeds: inputs that it knows.
        refuses: what it may raise.
    """

    read: Callable[[bytes, Path], object]
    seeds: tuple[bytes, ...]
    refuses: tuple[type[Exception], ...] = (KveilError, ConfigError)


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def in_file(data: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def matroska(data: bytes, folder: Path) -> None:
    is_whole_matroska(in_file(data, folder, "a.mkv"))
    seconds_of_tag(text_of(data))


def fields(data: bytes, folder: Path) -> None:
    size = data[0] if data else 0
    pairs = FieldPairs.of(data[1 : 1 + size])
    for start in range(1 + size, len(data), 40):
        pairs.is_second(data[start : start + 80], is_key=bool(start & 1))


def profile(data: bytes, folder: Path) -> None:
    again = bare_profile(data)
    if again is not None:
        assert bare_profile(again) == again
    words = text_of(data).split("\n")
    passing_tags(dict(pairwise(words)), keep=bool(len(data) & 1))


def rtsp(data: bytes, folder: Path) -> None:
    """What passes hangs on the bytes, not on how they arrive."""
    for kind in (Replies, Requests):
        whole = kind(RtspTalk(address_from_text("rtsp://me:secret@192.0.2.1/live")))
        at_once = whole.passed(bytearray(data), len(data))
        parts = kind(RtspTalk(address_from_text("rtsp://me:secret@192.0.2.1/live")))
        step = 1 + len(data) % 7
        passed = bytearray()
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            more = parts.passed(bytearray(piece), len(piece))
            if more is None:
                assert at_once is None
                break
            passed += more
        else:
            assert at_once is not None
            assert at_once.startswith(passed) or passed.startswith(at_once)


def digest(data: bytes, folder: Path) -> None:
    lines = text_of(data).split("\n")
    digest_authorization(lines, "me", "secret", "GET", "/live")
    translation = DigestTranslation("secret")
    translation.begin()
    for line in lines:
        seen = translation.challenge(line)
        assert "\n" not in translation.answer(line, "DESCRIBE"), seen


def offer(data: bytes, folder: Path) -> None:
    text = text_of(data)
    check_offer(text)
    plain, were = offer_in_baseline(text)
    with_offered_profiles(plain, were)
    with_peers_alone(plain)
    codec_of_offer(text)


def fragment(data: bytes, folder: Path) -> None:
    text = text_of(data)
    restarts_ice(text, text[::2])
    candidates_of_fragment(text)


def address(data: bytes, folder: Path) -> None:
    read = address_from_text(text_of(data))
    if read.is_network:
        again = address_from_text(read.url())
        assert (again.host, again.port, again.username) == (read.host, read.port, read.username)
        is_secret = len(read.password) > 8 and read.password not in f"{read.host}{read.path}"
        assert not is_secret or read.password not in f"{read} {read!r}"


def settings(data: bytes, folder: Path) -> None:
    file = in_file(data, folder, "a.yaml")
    with suppress(ConfigError):
        load_settings(file=file, environment={})
    with suppress(ConfigError):
        load_service(file, {})
    text = text_of(data)
    load_service(None, {"KVEIL_STREAMS__0__NAME": text, "KVEIL_LISTEN__PORT": text})


def sealed(data: bytes, folder: Path) -> None:
    RING.unseal(data, "entry", "w")


def ledger(data: bytes, folder: Path) -> None:
    in_file(data, folder, "releases-0.jsonl")
    check_folder(folder)


def journal(data: bytes, folder: Path) -> None:
    in_file(data, folder, "journal.json")
    Journal.opened(folder, "words")


def kept_faces(data: bytes, folder: Path) -> None:
    faces_from_json(json.loads(data))


def checkpoint(data: bytes, folder: Path) -> None:
    path = in_file(data, folder, "a.pkl")
    with suppress(KveilError):
        read_checkpoint(path)
    generator_from_file(path)


def network(data: bytes, folder: Path) -> None:
    stripped(data)
    layout_of(data)


def manifest(data: bytes, folder: Path) -> None:
    (folder / "mine").mkdir(exist_ok=True)
    in_file(data, folder / "mine", MANIFEST)
    for listed in catalogue(folder):
        assert listed.name
    pack = read_pack(folder / "mine")
    for name in pack.sha256:
        pack.path(name)


def thresholds(data: bytes, folder: Path) -> None:
    thresholds_from_file(in_file(data, folder, "thresholds.json"))


def verdicts(data: bytes, folder: Path) -> None:
    kept_verdict(in_file(data, folder, "verdicts.json"), "key")


DEEP = b"[" * 100_000
RING = SecretRing([bytes(range(32))])
_RELEASE = {"kind": "release", "window": "w", "person": 1, "record": 1, "cluster": 1, "slot": 0}
_LEDGER = [
    {"kind": "window", "window": "w", "k": 2, "below_k": "swap"},
    _RELEASE | {"candidates": [1]},
    {"kind": "period", "window": "w", "people": [1, 2]},
    {"kind": "lone", "window": "w"},
    {"kind": "suspect", "window": "w", "record": 1, "other": 2},
]
_OFFER = b"""v=0\r
o=- 0 0 IN IP4 127.0.0.1\r
s=-\r
t=0 0\r
m=video 9 UDP/TLS/RTP/SAVPF 96 97\r
c=IN IP4 0.0.0.0\r
a=mid:0\r
a=ice-ufrag:abcd\r
a=ice-pwd:abcdabcdabcdabcdabcdab\r
a=fingerprint:sha-256 00:11\r
a=setup:actpass\r
a=rtpmap:96 H264/90000\r
a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f\r
a=rtpmap:97 VP8/90000\r
a=candidate:1 1 udp 2130706431 192.0.2.7 4000 typ host\r
a=end-of-candidates\r
"""
_REPLY = b"""RTSP/1.0 401 Unauthorized\r
CSeq: 2\r
WWW-Authenticate: Digest realm="a", nonce="b", algorithm=SHA-256, qop="auth"\r
WWW-Authenticate: Digest realm="a", nonce="b"\r
\r
RTSP/1.0 200 OK\r
CSeq: 3\r
Content-Length: 5\r
\r
v=0\r
$\x00\x00\x04abcd"""
_REQUEST = b"""DESCRIBE rtsp://192.0.2.1/live RTSP/1.0\r
CSeq: 3\r
Authorization: Digest username="me", realm="a", nonce="b", uri="/live", response="00"\r
\r
"""
_CHALLENGE = b"""Digest realm="a", nonce="b", algorithm=SHA-512-256-sess, qop="auth,auth-int"
Basic realm="a"
Digest realm="a", nonce="b", opaque=c"""
_SEQUENCE = bytes.fromhex("6742c00dd901a1b2c80000030008000003019078a1524d40001f96540a00b742")
_MODULES: dict[str, object] = {"_modules": OrderedDict(), "_parameters": {}, "_buffers": {}}


def _icc() -> bytes:
    head = bytearray(128)
    head[8], head[36:40] = 4, b"acsp"
    number = b"XYZ " + bytes(16)
    names = (b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC", b"wtpt")
    curve = b"para" + bytes(8) + bytes(4)
    contents = [curve if name.endswith(b"TRC") else number for name in names]
    start = 132 + 12 * len(names)
    table, body = b"", b""
    for name, content in zip(names, contents, strict=True):
        table += name + (start + len(body)).to_bytes(4, "big") + len(content).to_bytes(4, "big")
        body += content
    return bytes(head) + len(names).to_bytes(4, "big") + table + body


def _onnx() -> bytes:
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size, 8, 8])
        for name, size in (("a", 1), ("b", 2), ("c", 2), ("d", 10))
    ]
    weights = [
        helper.make_tensor(f"w{name.name}", TensorProto.FLOAT, [1], [1.0]) for name in outputs
    ]
    nodes = [helper.make_node("Mul", ["x", f"w{one.name}"], [one.name]) for one in outputs]
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
    graph = helper.make_graph(nodes, "g", [taken], outputs, weights)
    return bytes(onnx.helper.make_model(graph).SerializeToString())


def _module() -> bytes:
    network = Named("torch_utils.persistence", "_reconstruct_persistent_obj", {
        "type": "class", "version": 6, "module_src": "", "class_name": "Generator",
        "state": _MODULES,
    })  # fmt: skip
    return pickled({"G_ema": network})


def _joined() -> bytes:
    return encoded(Joined(1, 1, 0, False, "a", "b", np.ones(4, np.float32)))


_MANIFEST = {"format": FORMAT, "name": "mine", "kind": "detector", "licence": "MIT"}
_FILES = {"files": {"detector.onnx": {"sha256": "00"}}}

PARSERS: dict[str, Parser] = {
    "matroska": Parser(
        matroska, (b"\x1aE\xdf\xa3\x83abc\x18S\x80g\x84\x1fC\xb6u", b"00:00:12.345000000")
    ),
    "fields of H.264": Parser(
        fields, (b"\x20" + _SEQUENCE + b"\0\0\1\x65\x88\x84\0\0\1\x41\x9a", b"\0\0\0\1" * 30)
    ),
    "ICC profile": Parser(profile, (_icc(), b"title\nat home\nlocation\n+1+2")),
    "mark in a bitstream": Parser(
        lambda data, _: mark_in_bitstream(data), (sei_nal(), b"\0\0\1\6\5\xff\xff\xff")
    ),
    "boxes": Parser(lambda data, _: boxes_of(data), (b"\0\0\0\x09free!moo", b"\0\0\0\1mdat")),
    "size of VP8": Parser(lambda data, _: vp8_size(data), (b"\x10\0\0\x9d\1\x2a\x80\2\x68\1",)),
    "RTSP": Parser(rtsp, (_REPLY, _REQUEST)),
    "digest": Parser(digest, (_CHALLENGE, _REQUEST, _REPLY)),
    "offer": Parser(offer, (_OFFER,)),
    "fragment of candidates": Parser(fragment, (_OFFER,)),
    "address": Parser(
        address, (b"rtsp://me:secret@camera.example:554/live?x=1", b"srt://[::1]:9000?mode=caller")
    ),
    "options of SRT": Parser(
        lambda data, _: options_of(text_of(data)), (b"mode=listener&latency=200",), (ValueError,)
    ),
    "settings": Parser(
        settings,
        (commented_yaml().encode(), b"a: &a [*a]\n", b"a: 2020-13-01\n<<: {b: 1}", b"? [a]\n: b"),
    ),
    "keys": Parser(
        lambda data, _: SecretRing.from_text(text_of(data)), (base64.b64encode(bytes(32)),)
    ),
    "sealed value": Parser(sealed, (RING.seal(b"abc", "entry", "w"), RING.seal(b"", "entry"))),
    "entry": Parser(
        lambda data, _: decoded(data),
        (_joined(), encoded(Same(7, 3)), encoded(Settled(1, bytes(8), 2))),
    ),
    "ledger": Parser(
        ledger,
        (
            "\n".join([*map(json.dumps, _LEDGER), ""]).encode(),
            b'{"kind": "window", "window": "w", "k": 2}\n',
            b'{"kind": "window", "window": "w", "k": [], "below_k": {}}\n',
            DEEP + b"\n",
        ),
    ),
    "journal": Parser(
        journal, (b'{"schema": 1, "fingerprint": "words", "segments": [{"frames": 1}]}', DEEP)
    ),
    "kept faces": Parser(
        kept_faces,
        (b'"skipped"', json.dumps([[0.5] * 15]).encode()),
        (ValueError, KveilError),
    ),
    "checkpoint": Parser(
        checkpoint,
        (
            _module(),
            legacy(np.ones(3, np.float32)),
            pickled({"g_ema": {"input.input": 1}}),
            pickle.dumps({"a": [1, (2.5, None)], "b": b"c"}, 4),
        ),
    ),
    "ONNX": Parser(network, (_onnx(),)),
    "manifest": Parser(
        manifest,
        (
            json.dumps(_MANIFEST | _FILES).encode(),
            json.dumps(_MANIFEST | {"files": {"a": "b"}}).encode(),
            DEEP,
        ),
    ),
    "thresholds": Parser(
        thresholds, (b'{"match": 0.4, "doubt": 0.3, "alike": 0.5, "too_alike": 0.6}', DEEP)
    ),
    "verdicts": Parser(verdicts, (b'{"key": ["passed", "why"]}', DEEP)),
}
