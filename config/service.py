"""What the service may be told: where it listens, who may do what, and which streams it runs.

A value is taken from the first of: environment variable (`KVEIL_SECTION__KEY`, or
`KVEIL_STREAMS__0__SOURCE` for items of a list), configuration file (YAML), default here. The
REST interface changes streams by the same keys.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from config.settings import Section, Settings

__all__ = [
    "Access",
    "Bounds",
    "Listen",
    "Live",
    "Logging",
    "Recording",
    "Role",
    "ServiceSettings",
    "Sources",
    "StreamSpec",
    "TokenSpec",
    "Webrtc",
]

Role = Literal["viewer", "publisher", "operator"]
"""viewer: watches and reads status; publisher: also sends by WHIP; operator: everything."""
NAME_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9_-]{0,46}[a-z0-9])?$"
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=48)]
Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0.0, le=3600.0)]
_HOST: Final = re.compile(r"[A-Za-z0-9*]([A-Za-z0-9.*-]{0,252})")


def _network(text: str) -> str:
    ipaddress.ip_network(text)
    return text


def _address(text: str) -> str:
    ipaddress.ip_address(text)
    return text


def _host(text: str) -> str:
    if _HOST.fullmatch(text) is None:
        raise ValueError("a host name, with * for any part")
    return text.lower()


def _source(text: str) -> str:
    return "" if text.lower() == "whip" else text


def _origin(text: str) -> str:
    if re.fullmatch(r"https?://[A-Za-z0-9.\[\]:-]{1,255}", text) is None:
        raise ValueError("an origin such as https://console.example, without a path")
    return text


class Listen(Section):
    """Where the service answers."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for all. Use TLS, or a proxy that has it, beyond loopback."""
    port: Port = 8080
    """TCP port; 0 takes a free one."""
    tls_certificate: str = ""
    """PEM file of the certificate chain; with `tls_key` the service speaks HTTPS."""
    tls_key: str = ""
    """PEM file of the private key."""
    root_path: Annotated[str, Field(pattern=r"^((/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?)?$")] = ""
    """Prefix under which a reverse proxy shows the service, such as /kveil; the header
    X-Forwarded-Prefix of the proxy says the same."""
    cors_origins: tuple[Annotated[str, AfterValidator(_origin)], ...] = ()
    """Origins of other web pages that may call the service; none by default."""


class TokenSpec(Section):
    """One bearer token; only its hash is kept."""

    name: Name
    """Who holds it; shown in logs."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of the token, as `kveil serve --new-token NAME` prints it."""
    role: Role
    """What it allows."""
    expires: datetime | None = None
    """When it stops working; never if left out."""


class Access(Section):
    """Who may do what."""

    tokens: tuple[TokenSpec, ...] = ()
    """Without any token the service answers on loopback alone, and there to everyone."""
    metrics_need_token: bool = True
    """Whether /metrics asks for a token of any role."""


class Sources(Section):
    """Which addresses streams may be read from and published to."""

    hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = ()
    """Host names, with * for any part. Names that lead to private addresses need `networks`."""
    networks: tuple[Annotated[str, AfterValidator(_network)], ...] = ()
    """Address ranges, such as 10.20.0.0/16. Metadata and link-local addresses never pass."""
    schemes: tuple[Literal["rtsp", "rtsps", "rtmp", "rtmps", "srt", "http", "https"], ...] = (
        "rtsp",
        "rtsps",
        "rtmp",
        "rtmps",
        "srt",
        "http",
        "https",
    )
    """Protocols that may be used."""
    folders: tuple[str, ...] = ()
    """Folders whose video files may be played; none by default."""
    devices: tuple[Annotated[str, Field(pattern=r"^/dev/video\d{1,3}$")], ...] = ()
    """Cameras that may be opened."""
    rtsp_transport: Literal["tcp", "udp"] = "tcp"
    """tcp loses nothing and may lag behind; udp loses packets and does not."""


class Webrtc(Section):
    """WHIP in, WHEP out."""

    is_enabled: bool = True
    """Whether browsers may publish and watch."""
    addresses: tuple[Annotated[str, AfterValidator(_address)], ...] = ()
    """Addresses of this machine to offer; all but loopback if empty."""
    max_viewers: Annotated[int, Field(ge=0, le=1000)] = 16
    """Most viewers of one stream; more are told to come back later."""
    max_viewers_per_token: Annotated[int, Field(ge=0, le=1000)] = 0
    """Most viewers of one stream by one token, or by one address where no token is asked for, so
    that nobody takes every place; 0 for half of `max_viewers`."""
    max_publishers: Annotated[int, Field(ge=0, le=100)] = 8
    """Most browsers that publish at once."""
    stun: tuple[Annotated[str, Field(pattern=r"^stuns?:[A-Za-z0-9.:\[\]-]{1,255}$")], ...] = ()
    """STUN servers; none is asked by default."""
    turn_url: Annotated[str, Field(pattern=r"^(turns?:[A-Za-z0-9.:\[\]?=-]{1,255})?$")] = ""
    """TURN server, for viewers behind strict firewalls."""
    turn_username: str = ""
    """User name at the TURN server."""
    turn_password: SecretStr = SecretStr("")
    """Password at the TURN server."""
    idle_s: Seconds = 20.0
    """A session that has not connected, or lost its connection, is ended after this time."""

    @property
    def viewers_per_token(self) -> int:
        """Places of one stream that one token may hold."""
        return self.max_viewers_per_token or (self.max_viewers + 1) // 2


class Live(Section):
    """How every stream behaves, unless its own entry says otherwise."""

    inbox_frames: Annotated[int, Field(ge=1, le=64)] = 2
    """Decoded frames that may wait; the oldest is dropped. More delay, fewer drops."""
    outbox_frames: Annotated[int, Field(ge=1, le=256)] = 8
    """Finished pictures that may wait for an encoder; the oldest is dropped."""
    stall_s: Seconds = 5.0
    """Silence of a source after which it is connected again."""
    reconnect_first_s: Seconds = 0.5
    """Pause before the second attempt; doubles with each failure."""
    reconnect_longest_s: Seconds = 15.0
    """Longest pause between attempts."""
    hold_s: Seconds = 1.0
    """Time without a picture after which the slate shows; above the look-ahead's duration."""
    slate_fps: Annotated[float, Field(gt=0, le=30)] = 5.0
    """Slates per second."""
    hang_s: Seconds = 5.0
    """Longest work on one picture before a fresh worker takes over, and the slate shows. A run of a
    network that is not done in half of it costs a cover."""
    clock_jump_s: Seconds = 1.0
    """Disagreement of a camera's clock with ours that counts as a jump."""
    slate_height: Annotated[int, Field(ge=16, le=4320)] = 720
    """Height of the slate before the first picture, px."""
    slate_width: Annotated[int, Field(ge=16, le=8192)] = 1280
    """Width of the slate before the first picture, px."""
    fps: Annotated[int, Field(ge=1, le=120)] = 25
    """Nominal rate for the encoders; pictures leave when they come."""
    codec: Literal["h264", "hevc"] = "h264"
    """Coding of outputs: H.265 needs less of the line and more of the processor, where no GPU has
    an encoder. RTMP, viewers and low-latency HLS get H.264 all the same, by a second encoder."""
    bitrate_kbps: Annotated[int, Field(ge=100, le=100_000)] = 4000
    """Ceiling of each output's bit rate."""
    keyframe_s: Seconds = 1.0
    """Seconds between key frames; smaller lets viewers in sooner and costs bits."""
    batch_wait_ms: Annotated[float, Field(ge=0, le=100)] = 0.0
    """How long a face waits for those of other streams to be run together; 0 for no longer than the
    network is busy."""
    sheds_load: bool = True
    """Under overload: coarser detection, then rarer, then covers instead of swaps."""
    label_corner: Literal["top-left", "top-right", "bottom-left", "bottom-right"] = "bottom-left"
    """Where the visible mark of synthetic video stands (`anonymize.privacy.label`)."""
    label_text: Annotated[str, Field(pattern=r"^[ -~]{1,60}$")] = "AI: faces synthetic"
    """What it says."""


class Recording(Section):
    """Rolling recordings of the anonymized pictures."""

    folder: str = ""
    """Where recordings go, one folder per stream; none are made if empty."""
    segment_s: Seconds = 300.0
    """Length of one file."""
    keep_hours: Annotated[float, Field(gt=0, le=87_600)] = 24.0
    """Older files are deleted."""
    keep_gb: Annotated[float, Field(gt=0, le=1_000_000)] = 20.0
    """Beyond this many gigabytes of one stream its oldest files are deleted."""


class Bounds(Section):
    """Limits on requests."""

    body_bytes: Annotated[int, Field(ge=1024, le=16_777_216)] = 65_536
    """Largest request body; larger ones are refused with 413."""
    requests_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 600
    """Requests of one client address; more are refused with 429."""
    failures_per_minute: Annotated[int, Field(ge=1, le=10_000)] = 20
    """Wrong tokens of one client address; more are refused unheard with 429."""
    streams: Annotated[int, Field(ge=1, le=1000)] = 16
    """Most streams at once."""


class Logging(Section):
    """What is written down; never a face, an address with secrets, or a token."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least important message that is written."""
    format: Literal["json", "text"] = "json"
    """One JSON object a line, or text for people."""


class StreamSpec(Section):
    """One stream."""

    name: Name
    """Small letters, digits, - and _; part of every address of the stream."""
    source: Annotated[str, AfterValidator(_source), Field(max_length=2048)] = ""
    """URL, file or /dev/videoN; empty, or `whip`, for a stream that a browser or an encoder
    publishes by WHIP at /whip/NAME."""
    sinks: Annotated[tuple[Annotated[str, Field(max_length=2048)], ...], Field(max_length=8)] = ()
    """Where to publish: rtsp, rtmp or srt URLs, or a file name in .m3u8."""
    record: bool = False
    """Whether to keep a rolling recording; see `recording`."""
    repeat: bool = False
    """Whether a file starts over at its end."""
    audio: Literal["pass", "drop"] = "drop"
    """Whether sound leaves with the pictures, as AAC, to viewers as Opus. A voice identifies
    a person too."""
    start: bool = True
    """Whether the stream runs as soon as it is known."""
    label: bool | None = None
    """Whether the visible mark is drawn; as `anonymize.privacy.label` says if left out."""
    method: Annotated[str, Field(max_length=40)] | None = None
    """`swap` or a cover, for this stream alone."""


class ServiceSettings(Section):
    """Everything the service may be told."""

    listen: Listen = Listen()
    access: Access = Access()
    sources: Sources = Sources()
    webrtc: Webrtc = Webrtc()
    live: Live = Live()
    recording: Recording = Recording()
    bounds: Bounds = Bounds()
    logging: Logging = Logging()
    streams: tuple[StreamSpec, ...] = ()
    anonymize: Settings = Settings()

    @model_validator(mode="after")
    def _is_consistent(self) -> ServiceSettings:
        names = [stream.name for stream in self.streams]
        if len(set(names)) < len(names):
            raise ValueError("two streams have the same name")
        if bool(self.listen.tls_certificate) != bool(self.listen.tls_key):
            raise ValueError("listen.tls_certificate and listen.tls_key come together")
        if not self.access.tokens and not _is_loopback(self.listen.host):
            raise ValueError("beyond loopback the service needs access.tokens")
        return self


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
