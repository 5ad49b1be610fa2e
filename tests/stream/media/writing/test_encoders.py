"""The encoder that is chosen works, keeps what can be kept, and says why it was chosen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from engines.pictures import Layout
from stream.errors import OutputNotWritable
from stream.media.containers import container_of, video_endings
from stream.media.ends import StreamShape
from stream.media.reading.probe import MediaProbe
from stream.media.writing import encoders
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.encoder_proof import Coding, encodes, passes_test_encode
from stream.media.writing.encoders import choose_encoder, hardware_encoders

pytestmark = pytest.mark.unit


def probe(
    codec: str = "h264",
    layout: Layout = "yuv420",
    depth: int = 8,
    height: int = 480,
    width: int = 640,
    rate: int = 25,
) -> MediaProbe:
    shape = StreamShape(height, width, Fraction(rate), Fraction(1, rate), None)
    return MediaProbe(Path("a.mp4"), "video", "mov", codec, "some", layout, depth, shape)


@pytest.mark.parametrize(
    ("source", "ending", "encoder", "pixel_format"),
    [
        (probe(), ".mp4", "libx264", "yuv420p"),
        (probe(layout="yuv422", depth=10), ".mov", "libx264", "yuv422p10le"),
        (probe("hevc", depth=10), ".mp4", "libx265", "yuv420p10le"),
        (probe("hevc", depth=12), ".mkv", "libx265", "yuv420p12le"),
        (probe("hevc"), ".mp4", "libx265", "yuv420p"),
        (probe("hevc"), ".h265", "libx265", "yuv420p"),
        (probe("vp9", depth=10), ".webm", "libsvtav1", "yuv420p10le"),
        (probe("vp9", height=65, width=97), ".webm", "libvpx-vp9", "yuv420p"),
        (probe("vp9", height=65, width=97), ".mov", "mjpeg", "yuvj420p"),
        (probe("h264", "yuv444", height=65, width=97), ".mp4", "libx264", "yuv444p"),
        (probe("gif", "bgr"), ".mp4", "libx264", "yuv420p"),
        (probe("gif", "bgr"), ".gif", "gif", "pal8"),
        (probe("prores", "yuv422", 10), ".mov", "libx264", "yuv422p10le"),
        (probe("mpeg4"), ".avi", "libx264", "yuv420p"),
        (probe("mjpeg", "yuv422"), ".avi", "mjpeg", "yuvj422p"),
        (probe("gray", "gray", 16), ".mp4", "libx265", "yuv420p12le"),
    ],
)
def test_choice_keeps_planes_and_depth_first(
    source: MediaProbe, ending: str, encoder: str, pixel_format: str
) -> None:
    choice = choose_encoder(source, container_of(Path(f"a{ending}")), EncodeSettings())
    assert (choice.name, choice.pixel_format) == (encoder, pixel_format)
    assert encoder in choice.reason


@pytest.mark.parametrize("ending", sorted(video_endings()))
@pytest.mark.parametrize("size", [(64, 96), (65, 97), (1, 1), (2, 4)])
def test_every_container_takes_every_size(ending: str, size: tuple[int, int]) -> None:
    if ending in (".265", ".h265", ".hevc") and min(size) < 16:
        pytest.skip("HEVC is not coded below 16 px")
    source = probe(height=size[0], width=size[1])
    choice = choose_encoder(source, container_of(Path(f"a{ending}")), EncodeSettings())
    if choice.codec != "gif":
        assert encodes(Coding(choice.name, choice.pixel_format, size[1], size[0], choice.options))


def test_rate_that_an_encoder_refuses_goes_to_the_next() -> None:
    usual = choose_encoder(probe("av1", rate=25), container_of(Path("a.mp4")), EncodeSettings())
    fast = choose_encoder(probe("av1", rate=1000), container_of(Path("a.mp4")), EncodeSettings())
    assert usual.codec == "av1"
    assert fast.codec == "h264"
    assert not encodes(Coding("libsvtav1", "yuv420p", 96, 64, rate=Fraction(1000)))


def test_settings_reach_the_encoder() -> None:
    settings = EncodeSettings(codec="hevc", crf=30, preset="ultrafast")
    choice = choose_encoder(probe(), container_of(Path("a.mkv")), settings)
    assert choice.name == "libx265"
    assert ("crf", "30") in choice.options
    assert ("preset", "ultrafast") in choice.options


@pytest.mark.parametrize("asked", ["h264_nvenc", "no_such_encoder", "libvpx-vp9"])
def test_encoder_that_does_not_work_is_refused_when_asked_for(asked: str) -> None:
    if hardware_encoders().get(asked):
        pytest.skip("this machine has it")
    with pytest.raises(OutputNotWritable, match=r"output\.encoder=auto"):
        choose_encoder(probe(), container_of(Path("a.mov")), EncodeSettings(encoder=asked))


def test_coding_that_the_kind_of_file_does_not_hold_is_told_as_that() -> None:
    settings = EncodeSettings(codec="h264")
    with pytest.raises(OutputNotWritable, match=r"webm holds .* and not h264; .* --codec") as told:
        choose_encoder(probe(), container_of(Path("a.webm")), settings)
    assert "does not work here" not in str(told.value)


def test_hardware_is_used_only_after_its_test_encode(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def passes(coding: Coding) -> bool:
        asked.append(coding.name)
        return coding.name == "h264_nvenc"

    monkeypatch.setattr(encoders, "passes_test_encode", passes)
    choice = choose_encoder(probe(), container_of(Path("a.mp4")), EncodeSettings())
    assert asked == ["h264_nvenc"]
    assert choice.is_hardware
    assert "passed a test encode" in choice.reason
    choice = choose_encoder(
        probe(), container_of(Path("a.mp4")), EncodeSettings(encoder="software")
    )
    assert not choice.is_hardware


def test_test_encode_decodes_what_was_coded() -> None:
    options = (("preset", "ultrafast"),)
    assert passes_test_encode(Coding("libx264", "yuv420p", 96, 64, options))
    assert not passes_test_encode(Coding("libx264", "yuv420p", 97, 64, options))


def test_lost_depth_is_told() -> None:
    source = replace(probe("mpeg2video", depth=10), pixel_format="yuv420p10le")
    choice = choose_encoder(source, container_of(Path("a.gif")), EncodeSettings())
    assert choice.name == "gif"
    source = probe("gray", "gray", 16)
    choice = choose_encoder(source, container_of(Path("a.mp4")), EncodeSettings())
    assert "12 of 16 bits" in choice.reason
