"""Which encoder a live stream uses: the first that proves here that it is fit for live use."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from stream.media.writing.encoder_proof import Coding, passes_live_test
from stream.media.writing.encoders import (
    SOFTWARE,
    EncoderChoice,
    encoder_names,
    encoder_spelling,
    is_hardware,
)

__all__ = ["THREADS", "EncoderOptions", "LiveCodec", "choose_live_encoder"]

LiveCodec = Literal["h264", "hevc", "vp8"]
THREADS: Final = 1
"""Of software encoders; more shorten the time of one frame and cost the others theirs."""
_NEVER: Final = "65535"
"""Spacing of key frames, in frames, that no encoder reaches: they are asked for one by one."""


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """How a live output is encoded.

    Attributes:
        fps: nominal rate, for rate control and key frame spacing.
        bitrate_kbps: ceiling; larger keeps more detail and needs a wider line.
        keyframe_s: seconds between key frames; smaller lets viewers in sooner and costs bits.
        encoder: `auto` (hardware where it passes its test, else software), `software`, or the
            name of an encoder such as `h264_nvenc`.
    """

    fps: int = 25
    bitrate_kbps: int = 4000
    keyframe_s: float = 1.0
    encoder: str = "auto"


def choose_live_encoder(
    codec: LiveCodec, options: EncoderOptions, height: int, width: int
) -> EncoderChoice:
    """The first encoder that passes its test encode at this size; the software one needs none.

    >>> choose_live_encoder("h264", EncoderOptions(encoder="software"), 48, 64).name
    'libx264'
    """
    rate = Fraction(options.fps)
    for name in encoder_names(codec, options.encoder):
        spelling = encoder_spelling(name, "yuv420p")
        if not is_hardware(name) or spelling is None:
            continue
        told = _options_of(name, options)
        if passes_live_test(Coding(name, spelling, width, height, told, rate)):
            reason = f"{name} (hardware, passed a test encode)"
            return EncoderChoice(name, codec, spelling, told, None, True, reason)
    name = SOFTWARE[codec]
    reason = f"{name} (software{_excuse(codec, options.encoder)})"
    return EncoderChoice(name, codec, "yuv420p", _options_of(name, options), None, False, reason)


def _excuse(codec: LiveCodec, wanted: str) -> str:
    """Why it is no hardware encoder; empty where software was asked for."""
    if wanted in ("software", SOFTWARE[codec]):
        return ""
    if wanted == "auto":
        has_others = any(is_hardware(name) for name in encoder_names(codec, wanted))
        return ", since no hardware encoder passed a test encode" if has_others else ""
    return f", since {wanted} does not work here"


def _options_of(name: str, options: EncoderOptions) -> tuple[tuple[str, str], ...]:
    """An encoder's options for live use by its own names: no delay, no picture out of order."""
    bits = {"maxrate": f"{options.bitrate_kbps}k", "bufsize": f"{options.bitrate_kbps}k"}
    chosen = {"g": _NEVER}
    if name == "libvpx":
        chosen |= {"b": f"{options.bitrate_kbps}k", "deadline": "realtime", "cpu-used": "8"}
        chosen |= {"lag-in-frames": "0", "error-resilient": "default", "static-thresh": "100"}
    elif name == "libx264":
        chosen |= bits | {"preset": "superfast", "tune": "zerolatency", "crf": "23"}
        chosen |= {"profile": "baseline", "forced-idr": "1"}
    elif name == "libx265":
        rate = str(options.bitrate_kbps)
        inner = {"vbv-maxrate": rate, "vbv-bufsize": rate, "pools": str(THREADS)}
        inner |= {"log-level": "none", "repeat-headers": "1"}
        chosen |= {"preset": "ultrafast", "tune": "zerolatency", "crf": "26", "forced-idr": "1"}
        chosen["x265-params"] = ":".join(f"{key}={value}" for key, value in inner.items())
    elif name.endswith("_nvenc"):
        chosen |= bits | {"preset": "p4", "tune": "ull", "rc": "vbr", "cq": "23", "b": "0"}
        chosen |= {"bf": "0", "delay": "0", "zerolatency": "1", "forced-idr": "1"}
    elif name.endswith("_qsv"):
        chosen |= bits | {"preset": "veryfast", "b": f"{options.bitrate_kbps}k", "bf": "0"}
        chosen |= {"async_depth": "1", "forced_idr": "1"}
    else:
        chosen |= {"b": f"{options.bitrate_kbps}k", "bf": "0"}
        chosen |= {"realtime": "1"} if name.endswith("_videotoolbox") else {}
    if name.startswith("h264_"):
        chosen["profile"] = "baseline"
    return tuple(sorted(chosen.items()))
