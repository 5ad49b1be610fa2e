from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageCms

from engines.blending.compositor import compose, compose_slate
from engines.blending.marking import MarkStyle, mark
from engines.pictures import Picture
from stream.live.encoder_choice import EncoderOptions
from stream.live.live_encoder import LiveEncoder
from stream.live.packet_muxer import TICKS
from stream.media.containers import container_of, video_endings
from stream.media.marking import CONTAINER_MARK, XMP_MARK, mark_in_bitstream
from stream.media.reading.file_source import FileSource
from stream.media.stills import IMAGE_ENDINGS, Beside
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.still_writing import encoded_still
from tests.clips import Clip, made_clip

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("size", [(720, 1280), (90, 160), (33, 41), (8, 8)])
def test_badge_is_opaque_and_stays_in_its_corner(size: tuple[int, int]) -> None:
    height, width = size
    slate = compose_slate(height, width, pts=0, time_base=TICKS, index=0, cause="test")
    before = slate.picture.planes[0].copy()
    mark(slate, MarkStyle(corner="bottom-left"))
    changed = np.argwhere(slate.picture.planes[0] != before)
    assert len(changed) > 10
    assert changed[:, 0].min() >= height - max(14, round(height * 0.05) + 2)


def test_key_frames_carry_the_machine_readable_mark_and_still_decode() -> None:
    encoder = LiveEncoder(EncoderOptions(fps=15), is_marked=True)
    data = b""
    for number in range(20):
        slate = compose_slate(
            90, 160, pts=number * 6000, time_base=TICKS, index=number, cause="test"
        )
        for picture in encoder.encode(slate):
            assert mark_in_bitstream(picture.data) is picture.is_key
            data += picture.data
    decoder = av.CodecContext.create("h264", "r")
    packets = decoder.parse(data) + decoder.parse(None)
    decoded = [frame for packet in packets for frame in decoder.decode(packet)]
    assert len(decoded) + len(decoder.decode(None)) == 20


@pytest.mark.parametrize("ending", sorted(video_endings() - {".ts", ".mts", ".m2ts"}))
def test_file_tells_that_its_faces_are_synthetic_or_the_report_that_it_cannot(
    ending: str, tmp_path: Path
) -> None:
    source = made_clip(tmp_path / "a.mp4", Clip(frames=3, metadata={"comment": "Lisbon"}))
    reader = FileSource(source)
    settings = EncodeSettings(is_marked=True, keep_metadata=True)
    sink = FileSink(tmp_path / f"b{ending}", reader.probe, settings)
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    with av.open(str(tmp_path / f"b{ending}")) as file:
        told = {key.lower(): text for key, text in file.metadata.items()}
    if container_of(Path(f"b{ending}")).holds_mark:
        assert told["comment"].startswith("Lisbon; ")
        assert told["comment"].endswith(CONTAINER_MARK["comment"])
    else:
        assert any("synthetic" in note for note in sink.notes)


@pytest.mark.parametrize(
    ("ending", "depth"), [(".png", 16), *((one, 8) for one in sorted(IMAGE_ENDINGS - {".bmp"}))]
)
def test_picture_tells_that_its_face_is_synthetic(ending: str, depth: int) -> None:
    plane = np.zeros((16, 24, 3), np.uint16 if depth == 16 else np.uint8)
    picture = Picture((plane,), "bgr", depth, "bt709", True)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    beside = Beside("PNG", profile=profile)
    for is_marked in (True, False):
        data = encoded_still(picture, beside, Path(f"a{ending}"), 90, is_marked=is_marked)
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            assert image.size == (24, 16)
            assert image.info["icc_profile"] == profile
        assert (XMP_MARK.encode() in data) is is_marked
