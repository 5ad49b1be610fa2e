"""Images keep their pixels, profile, opacity and look; what they tell about people goes."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageCms, ImageOps, PngImagePlugin

from engines.blending.compositor import compose
from stream.errors import (
    InputUnreadable,
    OutputExists,
    OutputNotWritable,
    StreamError,
    UsageRefused,
)
from stream.media import stills
from stream.media.marking import XMP_MARK
from stream.media.metadata import bare_profile
from stream.media.opening import open_sink, open_source
from stream.media.reading.recorded_source import RecordedSource
from stream.media.stills import decoded_still
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.still_writing import encoded_still
from tests.clips import Clip, made_clip, written_number

pytestmark = pytest.mark.unit


def grey(number: int = 37) -> NDArray[np.uint8]:
    return written_number(number, 65, 97)


def colour(number: int = 37) -> NDArray[np.uint8]:
    base = grey(number)
    return np.dstack([base, 255 - base, np.full_like(base, 77)])


def image_at(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
        return image


def passed_through(
    source: Path, target: Path, settings: EncodeSettings | None = None
) -> RecordedSource:
    reader = open_source(source)
    sink = open_sink(target, reader, settings or EncodeSettings())
    for frame in reader.frames():
        sink.write(compose(frame, [], {}))
    sink.finish()
    return reader


@pytest.mark.parametrize("ending", [".png", ".bmp", ".tif"])
def test_lossless_formats_keep_every_pixel(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"a{ending}"
    Image.fromarray(colour()).save(source)
    passed_through(source, tmp_path / f"out{ending}")
    np.testing.assert_array_equal(np.array(image_at(tmp_path / f"out{ending}")), colour())


@pytest.mark.parametrize("ending", [".jpg", ".webp"])
def test_lossy_formats_stay_close(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"a{ending}"
    Image.fromarray(colour()).save(source, quality=95)
    passed_through(source, tmp_path / f"out{ending}")
    before = np.array(image_at(source).convert("RGB")).astype(int)
    after = np.array(image_at(tmp_path / f"out{ending}").convert("RGB")).astype(int)
    assert np.abs(after - before).mean() < 4


def test_quality_reaches_the_file(tmp_path: Path) -> None:
    source = tmp_path / "a.png"
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (64, 64, 3)).astype(np.uint8)).save(source)
    passed_through(source, tmp_path / "fine.jpg", EncodeSettings(image_quality=95))
    passed_through(source, tmp_path / "poor.jpg", EncodeSettings(image_quality=20))
    assert (tmp_path / "poor.jpg").stat().st_size < (tmp_path / "fine.jpg").stat().st_size


def test_grey_stays_grey(tmp_path: Path) -> None:
    Image.fromarray(grey()).save(tmp_path / "a.png")
    passed_through(tmp_path / "a.png", tmp_path / "out.png")
    written = image_at(tmp_path / "out.png")
    assert written.mode == "L"
    np.testing.assert_array_equal(np.array(written), grey())


@pytest.mark.parametrize("ending", [".png", ".tiff"])
def test_16_bit_colour_is_kept(ending: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30, 3)).astype(np.uint16)
    cv2.imwrite(str(tmp_path / f"a{ending}"), pixels)
    passed_through(tmp_path / f"a{ending}", tmp_path / f"out{ending}")
    written = cv2.imread(str(tmp_path / f"out{ending}"), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(written, pixels)


def test_16_bit_grey_is_kept(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30)).astype(np.uint16)
    cv2.imwrite(str(tmp_path / "a.png"), pixels)
    passed_through(tmp_path / "a.png", tmp_path / "out.png")
    written = cv2.imread(str(tmp_path / "out.png"), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(written, pixels)


@pytest.mark.parametrize(
    ("kind", "scale"), [(np.float32, 17.0), (np.float32, 1e6), (np.int32, 100_000.0)]
)
def test_values_beyond_16_bits_are_scaled_and_told(
    kind: type[np.float32] | type[np.int32], scale: float, tmp_path: Path
) -> None:
    values = (grey() / 255 * scale - scale / 4).astype(kind)
    Image.fromarray(values).save(tmp_path / "a.tif")
    still = decoded_still(tmp_path / "a.tif", 1 << 20)
    assert still.picture.bit_depth == 16
    place = (values.astype(float) - values.min()) / (float(values.max()) - values.min())
    np.testing.assert_allclose(still.picture.planes[0], place * 65535, atol=1)
    assert any("scaled" in what for what in still.dropped)
    passed_through(tmp_path / "a.tif", tmp_path / "b.tif")
    np.testing.assert_array_equal(np.array(image_at(tmp_path / "b.tif")), still.picture.planes[0])


def test_values_that_are_no_numbers_are_black(tmp_path: Path) -> None:
    values = np.array([[np.nan, 1.0], [2.0, np.inf]], np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    pixels = decoded_still(tmp_path / "a.tif", 1 << 20).picture.planes[0]
    assert pixels.tolist() == [[0, 0], [65535, 0]]


def test_palette_pictures_pass_as_colours(tmp_path: Path) -> None:
    Image.fromarray(colour()).quantize(8).save(tmp_path / "p.png")
    passed_through(tmp_path / "p.png", tmp_path / "q.png")
    assert image_at(tmp_path / "q.png").mode == "RGB"


def srgb() -> bytes:
    return bytes(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())


def private_profile() -> bytes:
    """A profile with a tag of its maker's, and its traces in the header."""
    whole = bytearray(srgb())
    (count,) = struct.unpack_from(">I", whole, 128)
    table = b"".join(
        struct.pack(">4sII", name, offset + 12, size)
        for name, offset, size in struct.iter_unpack(">4sII", whole[132 : 132 + 12 * count])
    )
    secret = b"mAB \0\0\0\0Anna Muster serial C02XYZ".ljust(64, b"\0")
    table += struct.pack(">4sII", b"mmod", len(whole) + 12, len(secret))
    header = whole[:48] + b"ANNAMODL" + whole[56:80] + b"ANNA" + whole[84:128]
    made = header + struct.pack(">I", count + 1) + table + whole[132 + 12 * count :] + secret
    made[:4] = struct.pack(">I", len(made))
    return bytes(made)


def same_colours(one: bytes, other: bytes) -> bool:
    """Whether two profiles give noise the same colours."""
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3)).astype(np.uint8))
    lab = ImageCms.createProfile("LAB")
    seen = [
        ImageCms.profileToProfile(
            noise, ImageCms.ImageCmsProfile(io.BytesIO(profile)), lab, outputMode="LAB"
        )
        for profile in (one, other)
    ]
    return seen[0] is not None and seen[1] is not None and seen[0].tobytes() == seen[1].tobytes()


@pytest.mark.parametrize("ending", [".jpg", ".png", ".webp", ".tif"])
def test_of_a_profile_pass_the_colours_alone(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"a{ending}"
    Image.fromarray(colour()).save(source, icc_profile=private_profile())
    passed_through(source, tmp_path / f"out{ending}")
    written = image_at(tmp_path / f"out{ending}").info["icc_profile"]
    assert b"C02XYZ" in image_at(source).info["icc_profile"]
    for secret in (b"C02XYZ", b"Anna", b"ANNA", b"mmod", b"MODL"):
        assert secret not in written
    assert same_colours(written, srgb())


def test_planted_profile_that_passes_whole_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.fromarray(colour()).save(tmp_path / "a.jpg", icc_profile=private_profile())
    monkeypatch.setattr(stills, "bare_profile", lambda profile: profile)
    passed_through(tmp_path / "a.jpg", tmp_path / "out.jpg")
    assert b"C02XYZ" in image_at(tmp_path / "out.jpg").info["icc_profile"]


@pytest.mark.parametrize("kept", [0, 20, 131, 140, 300])
def test_profile_that_cannot_be_read_is_dropped_and_told(kept: int, tmp_path: Path) -> None:
    damaged = private_profile()[:kept] + b"Anna"
    Image.fromarray(colour()).save(tmp_path / "a.png", icc_profile=damaged)
    reader = passed_through(tmp_path / "a.png", tmp_path / "out.png")
    assert "icc_profile" not in image_at(tmp_path / "out.png").info
    assert "colour profile" in reader.probe.dropped


def test_text_behind_the_numbers_of_a_profile_is_cut_off() -> None:
    whole = bytearray(srgb())
    (count,) = struct.unpack_from(">I", whole, 128)
    for place in range(132, 132 + 12 * count, 12):
        name, offset, size = struct.unpack_from(">4sII", whole, place)
        if name in (b"rXYZ", b"rTRC", b"chad"):
            struct.pack_into(">4sII", whole, place, name, len(whole), size + 12)
            whole += whole[offset : offset + size] + b"Anna at home"
        if name == b"wtpt":
            struct.pack_into(">4sII", whole, place, name, len(whole), 20)
            whole += b"text\0\0\0\0Anna at home"
    bare = bare_profile(bytes(whole))
    assert bare is not None
    assert b"Anna" not in bare
    assert same_colours(bare, srgb())


@pytest.mark.parametrize("version", [2, 4])
def test_texts_of_a_profile_are_neutral_in_both_versions(version: int) -> None:
    whole = bytearray(srgb())
    whole[8] = version
    bare = bare_profile(bytes(whole))
    assert bare is not None
    opened = ImageCms.ImageCmsProfile(io.BytesIO(bare))
    assert ImageCms.getProfileDescription(opened).strip() == "Colour profile"
    assert bare_profile(bare) == bare


@pytest.mark.parametrize("ending", [".png", ".tiff"])
def test_16_bit_colour_keeps_profile_and_mark(ending: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (21, 31, 3)).astype(np.uint16)
    data = cv2.imencode(".png", pixels)[1].tobytes()
    profile = chunk(b"iCCP", b"x\0\0" + zlib.compress(private_profile()))
    (tmp_path / "a.png").write_bytes(data[:33] + profile + data[33:])
    still, target = decoded_still(tmp_path / "a.png", 1000), tmp_path / f"out{ending}"
    target.write_bytes(encoded_still(still.picture, still.beside, target, 90, is_marked=True))
    np.testing.assert_array_equal(cv2.imread(str(target), cv2.IMREAD_UNCHANGED), pixels)
    written = image_at(target)
    assert same_colours(written.info["icc_profile"], srgb())
    assert XMP_MARK.encode() in target.read_bytes()
    if ending == ".tiff":
        assert XMP_MARK.encode() in written.info["xmp"]


def private_jpeg(path: Path, orientation: int = 1) -> Path:
    image = Image.fromarray(colour())
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "AcmeCam"
    exif[0x0132] = "2024:05:06 07:08:09"
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 13.0)
    image.save(path, exif=exif, icc_profile=srgb(), comment=b"call me", quality=95)
    return path


def test_exif_place_time_and_device_are_dropped_and_the_profile_kept(tmp_path: Path) -> None:
    source = private_jpeg(tmp_path / "a.jpg")
    reader = passed_through(source, tmp_path / "out.jpg")
    content = (tmp_path / "out.jpg").read_bytes()
    for secret in (b"AcmeCam", b"2024", b"call me", b"Exif"):
        assert secret not in content
    written = image_at(tmp_path / "out.jpg")
    assert not written.getexif()
    assert same_colours(written.info["icc_profile"], image_at(source).info["icc_profile"])
    assert "GPS position" in reader.probe.dropped


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_so_that_it_looks_the_same(orientation: int, tmp_path: Path) -> None:
    source = private_jpeg(tmp_path / "a.jpg", orientation)
    passed_through(source, tmp_path / "out.png")
    seen = np.array(ImageOps.exif_transpose(image_at(source)))
    np.testing.assert_array_equal(np.array(image_at(tmp_path / "out.png")), seen)


@pytest.mark.parametrize("ending", [".png", ".tiff"])
def test_opaque_16_bit_colour_with_a_channel_of_opacity_keeps_its_bits(
    ending: str, tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30, 4)).astype(np.uint16)
    pixels[..., 3] = 65535
    source, target = tmp_path / f"a{ending}", tmp_path / f"out{ending}"
    source.write_bytes(cv2.imencode(ending, pixels)[1].tobytes())
    assert passed_through(source, target).report.warnings == ()
    np.testing.assert_array_equal(cv2.imread(str(target), -1), pixels[..., :3])


def test_16_bit_colour_that_shows_through_is_told_to_lose_bits(tmp_path: Path) -> None:
    pixels = np.full((20, 30, 4), 40_000, np.uint16)
    source = tmp_path / "a.png"
    source.write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
    told = passed_through(source, tmp_path / "out.png").report.warnings
    assert "8 of 16 bits are kept" in told


def test_band_of_lab_is_no_opacity(tmp_path: Path) -> None:
    lab = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    picture = Image.fromarray(colour())
    there = ImageCms.profileToProfile(picture, lab[1], lab[0], outputMode="LAB")
    assert there is not None
    there.save(tmp_path / "a.tif")
    reader = passed_through(tmp_path / "a.tif", tmp_path / "out.tif")
    assert reader.report.warnings == ()
    apart = np.array(image_at(tmp_path / "out.tif"), int) - colour()
    assert np.abs(apart).mean() < 3


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("kind", ["jpg", "grey png", "16-bit png", "16-bit tiff", "sticker"])
def test_picture_of_a_camera_that_hangs_turned_comes_upright(
    kind: str, rotation: int, tmp_path: Path
) -> None:
    wide = np.random.default_rng(0).integers(0, 65536, (20, 30, 3)).astype(np.uint16)
    source = tmp_path / f"a.{kind.split()[-1].replace('sticker', 'png')}"
    if kind == "jpg":
        private_jpeg(source, orientation=6)
    elif kind == "grey png":
        Image.fromarray(wide[..., 0]).save(source)
    elif kind == "sticker":
        cut = np.dstack(
            [wide.astype(np.uint8), np.where(np.arange(30) < 8, 0, 255)[None].repeat(20, 0)]
        )
        Image.fromarray(cut.astype(np.uint8)).save(source)
    else:
        source.write_bytes((turned_png if kind.endswith("png") else turned_tiff)(wide, 6))
    (straight,) = open_source(source).frames()
    turned = open_source(source, rotation=rotation)
    (frame,) = turned.frames()
    expected = np.rot90(straight.picture.planes[0], -rotation // 90)
    np.testing.assert_array_equal(frame.picture.planes[0], expected)
    assert frame.picture.bit_depth == straight.picture.bit_depth
    assert (turned.shape.height, turned.shape.width) == expected.shape[:2]


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG."""
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def turned_png(pixels: NDArray[np.uint16], orientation: int) -> bytes:
    """16-bit pixels, BGR or grey, with an EXIF orientation."""
    data = cv2.imencode(".png", pixels)[1].tobytes()
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    return data[:33] + chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0")) + data[33:]


def turned_tiff(pixels: NDArray[np.uint16], orientation: int) -> bytes:
    """16-bit BGR pixels whose tag of the plane order, which is the default, became this one."""
    data = cv2.imencode(".tiff", pixels)[1].tobytes()
    planes = struct.pack("<HHIHH", 284, 3, 1, 1, 0)
    assert data.count(planes) == 1
    return data.replace(planes, struct.pack("<HHIHH", 274, 3, 1, orientation, 0))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", [".png", ".tiff"])
def test_16_bit_colour_is_searched_and_written_upright(
    ending: str, orientation: int, tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30, 3)).astype(np.uint16)
    make = turned_png if ending == ".png" else turned_tiff
    source = tmp_path / f"a{ending}"
    source.write_bytes(make(pixels, orientation))
    with Image.open(source) as image:
        assert image.getexif()[ExifTags.Base.Orientation] == orientation
        upright = np.array(ImageOps.exif_transpose(image))
    (frame,) = open_source(source).frames()
    assert frame.picture.bit_depth == 16
    np.testing.assert_array_equal(frame.picture.planes[0][..., ::-1] >> 8, upright)
    passed_through(source, tmp_path / f"out{ending}")
    with Image.open(tmp_path / f"out{ending}") as image:
        assert image.getexif().get(ExifTags.Base.Orientation, 1) == 1
    written = cv2.imread(str(tmp_path / f"out{ending}"), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(np.asarray(written, np.uint16)[..., ::-1] >> 8, upright)


def test_16_bit_grey_is_searched_and_written_upright(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30)).astype(np.uint16)
    (tmp_path / "a.png").write_bytes(turned_png(pixels, 6))
    passed_through(tmp_path / "a.png", tmp_path / "out.png")
    written = cv2.imread(str(tmp_path / "out.png"), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(written, np.rot90(pixels, -1))


def test_16_bit_colour_that_decoders_see_differently_keeps_8_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30, 3)).astype(np.uint16)
    (tmp_path / "a.png").write_bytes(turned_png(pixels, 3))
    monkeypatch.setattr(stills, "_turned", lambda pixels, orientation: pixels)
    (frame,) = open_source(tmp_path / "a.png").frames()
    assert frame.picture.bit_depth == 8
    np.testing.assert_array_equal(frame.picture.planes[0], pixels[::-1, ::-1] >> 8)


def test_png_texts_are_dropped(tmp_path: Path) -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Author", "Anna")
    Image.fromarray(colour()).save(tmp_path / "a.png", pnginfo=texts)
    passed_through(tmp_path / "a.png", tmp_path / "out.png")
    assert b"Anna" not in (tmp_path / "out.png").read_bytes()


def two_pages(path: Path) -> None:
    pages = [Image.fromarray(grey(number)) for number in range(2)]
    pages[0].save(path, save_all=True, append_images=pages[1:])


def cut_short(path: Path) -> None:
    file = io.BytesIO()
    Image.fromarray(colour()).save(file, "PNG")
    path.write_bytes(file.getvalue()[: len(file.getvalue()) // 2])


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("a.png", lambda path: None),
        ("a.png", lambda path: path.write_bytes(b"")),
        ("a.jpg", lambda path: path.write_bytes(b"no picture at all")),
        ("a.png", cut_short),
        ("a.tif", two_pages),
        ("a.webp", two_pages),
    ],
    ids=["missing", "empty", "noise", "cut short", "pages", "moving"],
)
def test_defective_image_is_refused_in_one_line(name: str, defect: object, tmp_path: Path) -> None:
    assert callable(defect)
    defect(tmp_path / name)
    with pytest.raises(InputUnreadable) as caught:
        open_source(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_huge_picture_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    Image.new("1", (3000, 3000)).save(tmp_path / "a.png")
    with pytest.raises(InputUnreadable, match="pixels"):
        open_source(tmp_path / "a.png", max_pixels=1000 * 1000)


def test_picture_is_written_as_it_was_read_whatever_becomes_of_its_file(tmp_path: Path) -> None:
    source = private_jpeg(tmp_path / "a.jpg")
    profile = image_at(source).info["icc_profile"]
    reader = open_source(source)
    sink = open_sink(tmp_path / "out.png", reader, EncodeSettings())
    (frame,) = reader.frames()
    before = frame.picture.bgr()
    source.write_bytes(b"no picture any more")
    composite = compose(frame, [], {})
    sink.write(composite)
    with pytest.raises(OutputNotWritable):
        sink.write(composite)
    sink.finish()
    written = image_at(tmp_path / "out.png")
    np.testing.assert_array_equal(np.array(written), before[..., ::-1])
    assert written.info["icc_profile"] == bare_profile(profile)


def test_largest_picture_that_is_read_is_written(tmp_path: Path) -> None:
    pixels = colour()
    Image.fromarray(pixels).save(tmp_path / "a.png")
    largest = pixels.shape[0] * pixels.shape[1]
    with pytest.raises(InputUnreadable, match="pixels"):
        open_source(tmp_path / "a.png", max_pixels=largest - 1)
    reader = open_source(tmp_path / "a.png", max_pixels=largest)
    sink = open_sink(tmp_path / "out.png", reader, EncodeSettings())
    sink.write(compose(next(reader.frames()), [], {}))
    sink.finish()
    np.testing.assert_array_equal(np.array(image_at(tmp_path / "out.png")), pixels)


@pytest.mark.parametrize(
    ("target", "error"),
    [("a.png", UsageRefused), ("b.png", OutputExists), ("out.mp4", UsageRefused)],
)
def test_impossible_output_is_refused(
    target: str, error: type[StreamError], tmp_path: Path
) -> None:
    for name in ("a.png", "b.png"):
        Image.fromarray(grey()).save(tmp_path / name)
    before = (tmp_path / "a.png").read_bytes()
    with pytest.raises(error):
        open_sink(tmp_path / target, open_source(tmp_path / "a.png"), EncodeSettings())
    assert (tmp_path / "a.png").read_bytes() == before


def test_abort_leaves_no_file(tmp_path: Path) -> None:
    Image.fromarray(grey()).save(tmp_path / "a.png")
    reader = open_source(tmp_path / "a.png")
    sink = open_sink(tmp_path / "out.png", reader, EncodeSettings())
    sink.write(compose(next(reader.frames()), [], {}))
    sink.abort()
    sink.abort()
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def two_views(path: Path) -> None:
    first, second = (Image.fromarray(colour(number)) for number in (37, 38))
    first.save(path, format="MPO", save_all=True, append_images=[second])


def motion_photo(path: Path) -> None:
    clip = made_clip(path.with_suffix(".mp4"), Clip(frames=3))
    Image.fromarray(colour()).save(path)
    path.write_bytes(path.read_bytes() + clip.read_bytes())


@pytest.mark.parametrize(
    ("made", "words"), [(two_views, "second picture"), (motion_photo, "clip behind the picture")]
)
def test_what_a_jpeg_shows_besides_its_picture_is_left_out_and_told(
    made: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    made(tmp_path / "a.jpg")
    reader = passed_through(tmp_path / "a.jpg", tmp_path / "out.jpg")
    assert any(words in one for one in (*reader.probe.lost, *reader.report.warnings))
    written = (tmp_path / "out.jpg").read_bytes()
    assert b"ftyp" not in written
    assert image_at(tmp_path / "out.jpg").format == "JPEG"


@pytest.mark.parametrize("name", ["a.ppm", "a.ico", "a.tga", "a.jp2", "a.heic"])
def test_picture_of_another_kind_is_told_what_is_read(name: str, tmp_path: Path) -> None:
    Image.fromarray(colour()).save(tmp_path / "a.ppm")
    if name not in ("a.ppm", "a.heic"):
        Image.fromarray(colour()).save(tmp_path / name)
    if name == "a.heic":
        (tmp_path / name).write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64))
    with pytest.raises(InputUnreadable, match=r"\.png|a kind that is not read") as refused:
        open_source(tmp_path / name)
    assert "Invalid argument" not in str(refused.value)
