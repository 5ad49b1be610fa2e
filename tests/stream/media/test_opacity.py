"""No face leaves in the opacity of a picture, nor in the colours beneath it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from skimage import data as photographs

from engines.backends.openvino import OpenVino
from engines.blending.compositor import compose, compose_unknown
from engines.blending.covers import cover_named
from engines.detectors.loading import detector_from_model
from engines.models.catalogue import centerface_path
from engines.pictures import Picture
from engines.types import Face, Frame, Track, TrackState
from stream.media import stills
from stream.media.opacity import CutOut, searchable
from stream.media.reading.image_source import ImageSource
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.image_sink import ImageSink

pytestmark = pytest.mark.unit

Pixels = NDArray[np.uint8]
Made = Callable[[Pixels], Image.Image]

BOX = np.array([182, 58, 270, 178], np.float32)
LANDMARKS = np.array([[206, 107], [243, 107], [224, 130], [210, 150], [240, 150]], np.float32)
FACE = (slice(70, 166), slice(190, 262))
COVERED = 0.5
"""The cover's own drawing is a little like any face."""
PORTRAIT: Pixels = np.ascontiguousarray(
    photographs.astronaut()[:384, :384]  # type: ignore[no-untyped-call]
)


def luma(rgb: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.uint8)


def ink(rgb: Pixels) -> Image.Image:
    """Black, whose opacity draws the picture."""
    return Image.fromarray(np.dstack([np.zeros_like(rgb), 255 - luma(rgb)]))


def chalk(rgb: Pixels) -> Image.Image:
    """White, whose opacity draws the picture."""
    return Image.fromarray(np.dstack([np.full_like(rgb, 255), luma(rgb)]))


def both(rgb: Pixels) -> Image.Image:
    return Image.fromarray(np.dstack([rgb, 255 - luma(rgb)]))


def grey_ink(rgb: Pixels) -> Image.Image:
    return Image.merge("LA", [Image.new("L", rgb.shape[1::-1]), Image.fromarray(255 - luma(rgb))])


def palette_ink(rgb: Pixels) -> Image.Image:
    """One colour 256 times, each of another opacity."""
    image = Image.fromarray(luma(rgb), "P")
    image.putpalette(bytes(768))
    image.info["transparency"] = bytes(range(255, -1, -1))
    return image


def faint(rgb: Pixels) -> Image.Image:
    return Image.fromarray(np.dstack([rgb, np.full(rgb.shape[:2], 60, np.uint8)]))


def raster(rgb: Pixels) -> Image.Image:
    dots = np.array(Image.fromarray(255 - luma(rgb)).convert("1"), np.uint8) * 255
    return Image.fromarray(np.dstack([np.zeros_like(rgb), dots]))


def hidden(rgb: Pixels) -> Image.Image:
    return Image.fromarray(np.dstack([rgb, np.zeros(rgb.shape[:2], np.uint8)]))


def hidden_grey(rgb: Pixels) -> Image.Image:
    grey = luma(rgb)
    return Image.merge("LA", [Image.fromarray(grey), Image.new("L", grey.shape[::-1])])


def hidden_palette(rgb: Pixels) -> Image.Image:
    image = Image.fromarray(rgb).quantize(64)
    image.info["transparency"] = bytes(64)
    return image


def nearly_hidden(rgb: Pixels) -> Image.Image:
    """As a lossy format writes what was hidden."""
    noise = np.random.default_rng(1).integers(0, 5, rgb.shape[:2])
    return Image.fromarray(np.dstack([rgb, noise.astype(np.uint8)]))


def saved(image: Image.Image, path: Path) -> Path:
    if path.suffix == ".webp":
        image.save(path, exact=True, lossless=True)
    else:
        image.save(path)
    return path


def views(image: Image.Image) -> list[Pixels]:
    """What somebody can look at: the colours alone, over white, over black, and the opacity."""
    rgba = np.array(image.convert("RGBA"), np.float32)
    colours, share = rgba[..., :3], rgba[..., 3:] / 255
    black = colours * share
    seen = [colours, black + 255 * (1 - share), black]
    greys = [luma(np.asarray(one, np.uint8)) for one in seen]
    return [*greys, np.asarray(rgba[..., 3], np.uint8)]


def likeness(view: Pixels) -> float:
    """Absolute correlation of a view with the portrait's face, which shows dark or bright."""
    face, seen = (cv2.GaussianBlur(one, (0, 0), 2)[FACE] for one in (luma(PORTRAIT), view))
    if seen.std() < 0.5:
        return 0.0
    return float(abs(np.corrcoef(face.ravel(), seen.ravel())[0, 1]))


def exposure(path: Path) -> float:
    with Image.open(path) as image:
        return max(likeness(view) for view in views(image))


def opacity_in(path: Path) -> Pixels:
    with Image.open(path) as image:
        return np.array(image.convert("RGBA"), np.uint8)[..., 3]


def only_frame(source: ImageSource) -> Frame:
    (frame,) = source.frames()
    return frame


def anonymized(path: Path, target: Path, *, has_face: bool) -> Path:
    """Writes the picture with the face covered, or as it leaves where no face was found."""
    source = ImageSource(path)
    sink = ImageSink(target, source, EncodeSettings(overwrite=True))
    track = Track(1, Face(BOX, LANDMARKS, 0.9), TrackState.DETECTED, 0)
    tracks = [track] if has_face else []
    sink.write(compose(only_frame(source), tracks, {}, cover_named("solid")))
    sink.finish()
    return target


DRAWN_BY_OPACITY: list[tuple[Made, str]] = [
    (ink, ".png"),
    (ink, ".webp"),
    (ink, ".tif"),
    (ink, ".avif"),
    (chalk, ".png"),
    (both, ".png"),
    (both, ".webp"),
    (grey_ink, ".png"),
    (grey_ink, ".tif"),
    (palette_ink, ".png"),
    (faint, ".png"),
    (raster, ".png"),
]
HIDDEN: list[tuple[Made, str]] = [
    (hidden, ".png"),
    (hidden, ".webp"),
    (hidden, ".tif"),
    (hidden_grey, ".png"),
    (hidden_palette, ".png"),
    (nearly_hidden, ".png"),
]


@pytest.mark.parametrize(("made", "ending"), DRAWN_BY_OPACITY)
def test_face_drawn_by_opacity_is_searched_and_covered(
    made: Made, ending: str, tmp_path: Path
) -> None:
    source = saved(made(PORTRAIT), tmp_path / f"a{ending}")
    assert exposure(source) > 0.8
    searched = only_frame(ImageSource(source)).picture.bgr()
    assert likeness(luma(searched[..., ::-1].copy())) > 0.8
    written = anonymized(source, tmp_path / f"out{ending}", has_face=True)
    assert exposure(written) < COVERED
    assert opacity_in(written).min() == 255


@pytest.mark.parametrize("made", [ink, both, grey_ink])
def test_face_drawn_by_opacity_is_found(made: Made, tmp_path: Path) -> None:
    source = saved(made(PORTRAIT), tmp_path / "a.png")
    searched = only_frame(ImageSource(source)).picture.bgr()
    detector = detector_from_model(OpenVino(threads=2), centerface_path())
    (found,) = detector.detect(searched, min_score=0.5)
    np.testing.assert_allclose(found.box_px, BOX, atol=8)


@pytest.mark.parametrize(("made", "ending"), HIDDEN)
def test_colours_that_nobody_sees_leave_blank(made: Made, ending: str, tmp_path: Path) -> None:
    source = saved(made(PORTRAIT), tmp_path / f"a{ending}")
    assert exposure(source) > 0.8
    assert exposure(anonymized(source, tmp_path / f"out{ending}", has_face=False)) == 0
    assert exposure(anonymized(source, tmp_path / "out.jpg", has_face=False)) == 0


@pytest.mark.parametrize("made", [ink, both, hidden])
def test_opacity_left_as_it_is_would_show_the_face(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(picture: Picture, opacity: Pixels) -> CutOut:
        return CutOut(opacity, picture.planes[0].copy())

    monkeypatch.setattr(stills, "searchable", careless)
    monkeypatch.setattr(CutOut, "around", lambda self, picture: self.opacity)
    source = saved(made(PORTRAIT), tmp_path / "a.png")
    has_face = made is not hidden
    assert exposure(anonymized(source, tmp_path / "out.png", has_face=has_face)) > 0.8


def sticker(is_smooth: bool = True) -> Pixels:
    """The portrait cut out along an ellipse, uint8 RGBA; clear pixels keep their colours."""
    large = np.zeros((1536, 1536), np.uint8)
    cv2.ellipse(large, (900, 760), (560, 700), 0, 0, 360, 255, cv2.FILLED)
    how = cv2.INTER_AREA if is_smooth else cv2.INTER_NEAREST
    return np.dstack([PORTRAIT, np.asarray(cv2.resize(large, (384, 384), interpolation=how))])


@pytest.mark.parametrize("is_smooth", [True, False])
@pytest.mark.parametrize("ending", [".png", ".tif"])
def test_plain_cut_out_stays_as_it_was(ending: str, is_smooth: bool, tmp_path: Path) -> None:
    before = sticker(is_smooth)
    source = saved(Image.fromarray(before), tmp_path / f"a{ending}")
    written = anonymized(source, tmp_path / f"out{ending}", has_face=False)
    with Image.open(written) as image:
        after = np.array(image)
    np.testing.assert_allclose(after[..., 3], before[..., 3], atol=8)
    is_seen = before[..., 3] > 8
    np.testing.assert_array_equal(after[is_seen][:, :3], before[is_seen][:, :3])
    assert (after[~is_seen] == [255, 255, 255, 0]).all()


@pytest.mark.parametrize("ending", [".webp", ".avif"])
def test_cut_out_of_a_lossy_format_stays_one(ending: str, tmp_path: Path) -> None:
    source = saved(Image.fromarray(sticker()), tmp_path / f"a{ending}")
    written = anonymized(source, tmp_path / f"out{ending}", has_face=False)
    off = opacity_in(written).astype(int) - sticker()[..., 3]
    assert np.abs(off).mean() < 1


def test_grey_cut_out_and_palette_cut_out_stay_transparent(tmp_path: Path) -> None:
    opacity = sticker(is_smooth=False)[..., 3]
    grey = Image.merge("LA", [Image.fromarray(luma(PORTRAIT)), Image.fromarray(opacity)])
    indices = np.where(opacity == 0, 0, 1 + luma(PORTRAIT) // 2).astype(np.uint8)
    palette = Image.fromarray(indices, "P")
    palette.putpalette([value for step in range(256) for value in (step, 0, 255 - step)])
    palette.info["transparency"] = 0
    for name, image in {"grey": grey, "palette": palette}.items():
        source = saved(image, tmp_path / f"{name}.png")
        written = anonymized(source, tmp_path / "out.png", has_face=False)
        np.testing.assert_array_equal(opacity_in(written), opacity, err_msg=name)


def test_cut_out_turns_solid_where_a_cover_lies(tmp_path: Path) -> None:
    before = sticker(is_smooth=False)
    cv2.rectangle(before, (225, 0), (384, 384), (0, 0, 0, 0), cv2.FILLED)
    source = saved(Image.fromarray(before), tmp_path / "a.png")
    written = anonymized(source, tmp_path / "out.png", has_face=True)
    assert exposure(written) < COVERED
    assert (opacity_in(written)[FACE] == 255).all()
    assert (opacity_in(written)[300:, 300:] == 0).all()


def test_what_lies_within_a_cover_is_solid_though_it_equals_the_original() -> None:
    plane = np.full((64, 64), 200, np.uint8)
    opacity = np.zeros((64, 64), np.uint8)
    opacity[:, :40] = 255
    picture = Picture((plane,), "gray", 8)
    cut_out = searchable(picture, opacity)
    assert cut_out is not None
    cv2.circle(plane, (40, 32), 16, 30, 2)
    solid = cut_out.around(picture)
    assert solid[32, 30:54].min() == 255
    assert solid[32, 63] == 0


def test_cut_out_under_a_full_cover_is_solid(tmp_path: Path) -> None:
    source = ImageSource(saved(Image.fromarray(sticker()), tmp_path / "a.png"))
    sink = ImageSink(tmp_path / "out.png", source, EncodeSettings())
    sink.write(compose_unknown(only_frame(source), "detector_fault"))
    sink.finish()
    assert opacity_in(tmp_path / "out.png").min() == 255


def test_cut_out_of_a_camera_that_hangs_turned_turns_with_its_picture(tmp_path: Path) -> None:
    pixels = sticker()
    source = ImageSource(saved(Image.fromarray(pixels), tmp_path / "a.png"), rotation=90)
    sink = ImageSink(tmp_path / "out.png", source, EncodeSettings())
    sink.write(compose(only_frame(source), [], {}))
    sink.finish()
    turned = np.rot90(pixels, -1)
    np.testing.assert_array_equal(opacity_in(tmp_path / "out.png"), turned[..., 3])
    shown = np.array(Image.open(tmp_path / "out.png"))[turned[..., 3] == 255]
    np.testing.assert_array_equal(shown, turned[turned[..., 3] == 255])


@pytest.mark.parametrize("level", range(0, 256, 15))
def test_outline_of_a_cut_out_is_searched(level: int, tmp_path: Path) -> None:
    opacity = sticker(is_smooth=False)[..., 3]
    shape = np.dstack([np.full_like(PORTRAIT, level), opacity])
    source = saved(Image.fromarray(shape), tmp_path / "a.png")
    searched = only_frame(ImageSource(source)).picture.bgr().astype(int)
    inside, outside = searched[opacity > 0].mean(), searched[opacity == 0].mean()
    assert abs(inside - outside) > 24
    assert level > 230 or outside == 255


def test_outline_of_many_tones_is_mostly_searched() -> None:
    picture = Picture((np.tile(np.arange(256, dtype=np.uint8), (256, 1)),), "gray", 8)
    opacity = np.zeros((256, 256), np.uint8)
    opacity[100:156] = 255
    plane = picture.planes[0].astype(int)
    assert searchable(picture, opacity) is not None
    assert (np.abs(plane[100] - int(picture.planes[0][0, 0])) > 24).mean() >= 5 / 6


def test_soft_shadow_is_laid_over_white_and_told(tmp_path: Path) -> None:
    before = sticker()
    before[..., 3] = np.asarray(cv2.GaussianBlur(before[..., 3], (0, 0), 6))
    source = ImageSource(saved(Image.fromarray(before), tmp_path / "a.png"))
    assert "opacity" in source.probe.dropped
    written = anonymized(tmp_path / "a.png", tmp_path / "out.png", has_face=False)
    ground = Image.new("RGBA", (384, 384), "white")
    seen = Image.alpha_composite(ground, Image.fromarray(before)).convert("RGB")
    with Image.open(written) as image:
        assert image.mode == "RGB"
        np.testing.assert_allclose(np.array(image, int), np.array(seen, int), atol=9)
