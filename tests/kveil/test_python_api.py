"""kveil as a library: what a program of somebody else's does with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import skimage.data as photographs
from numpy.typing import NDArray

import kveil
from config.settings import Settings
from engines.errors import EngineFault
from stream.errors import UsageRefused
from tests.clips import Clip, decoded, made_clip

pytestmark = pytest.mark.unit
Image = NDArray[np.uint8]
FACE = slice(90, 150), slice(195, 255)
FRAMES = 8


@pytest.fixture(scope="module")
def photograph() -> Image:
    rgb: Image = photographs.astronaut()  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(rgb[..., ::-1])


@pytest.fixture(scope="module")
def anonymizer() -> Iterator[kveil.FrameAnonymizer]:
    with kveil.open_anonymizer(kveil.load_settings(flags={"privacy.k": 2})) as opened:
        yield opened


def changed(pixels: Image, safe: Image) -> float:
    """Mean difference on the face, grey levels."""
    return float(np.abs(pixels[FACE].astype(int) - safe[FACE]).mean())


def test_picture_comes_back_with_another_face_and_the_rest_as_it_was(
    anonymizer: kveil.FrameAnonymizer, photograph: Image
) -> None:
    before = photograph.copy()
    composite = anonymizer.image(photograph)
    safe = composite.picture.bgr()
    assert [one.result for one in composite.outcomes] == ["swapped"]
    assert changed(photograph, safe) > 5
    np.testing.assert_array_equal(safe[300:], photograph[300:])
    np.testing.assert_array_equal(photograph, before)


def test_every_frame_of_a_video_comes_back_in_order_without_its_face(
    anonymizer: kveil.FrameAnonymizer, photograph: Image
) -> None:
    frames = [np.roll(photograph, number, axis=1) for number in range(FRAMES)]
    safe = list(anonymizer.video(frames, 25.0, name="hall"))
    assert [one.index for one in safe] == list(range(FRAMES))
    assert [float(one.pts * one.time_base) for one in safe] == [
        pytest.approx(number / 25) for number in range(FRAMES)
    ]
    for pixels, one in zip(frames, safe, strict=True):
        assert len(one.outcomes) == 1
        assert changed(pixels, one.picture.bgr()) > 5
        assert one.stream == "hall"


def test_who_comes_again_in_another_video_wears_the_same_face(
    anonymizer: kveil.FrameAnonymizer, photograph: Image
) -> None:
    once, again = (list(anonymizer.video([photograph] * 4, 25.0)) for _ in range(2))
    difference = once[-1].picture.bgr()[FACE].astype(int) - again[-1].picture.bgr()[FACE]
    assert np.abs(difference).mean() < 2


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (np.zeros((40, 60), np.uint8), r"uint8\[40, 60\]"),
        (np.zeros((40, 60, 4), np.uint8), r"uint8\[40, 60, 4\]"),
        (np.zeros((40, 60, 3), np.float32), "float32"),
        (np.zeros((0, 60, 3), np.uint8), r"\[0, 60, 3\]"),
    ],
)
def test_what_is_no_picture_is_refused_in_words(
    anonymizer: kveil.FrameAnonymizer, pixels: Image, words: str
) -> None:
    with pytest.raises(UsageRefused, match=words):
        anonymizer.image(pixels)
    with pytest.raises(UsageRefused, match=words):
        list(anonymizer.video([pixels], 25.0))


@pytest.mark.parametrize("pixels", [None, "in.png", [[[0, 0, 0]]]])
def test_what_is_no_array_is_refused_by_its_type(
    anonymizer: kveil.FrameAnonymizer, pixels: Image
) -> None:
    words = f"of type {type(pixels).__name__}; give uint8"
    with pytest.raises(UsageRefused, match=words):
        anonymizer.image(pixels)
    with pytest.raises(UsageRefused, match=words):
        list(anonymizer.video([pixels], 25.0))


def test_time_lapse_keeps_its_times_and_impossible_rates_are_refused(
    anonymizer: kveil.FrameAnonymizer,
) -> None:
    frames = [np.zeros((40, 60, 3), np.uint8)] * 2
    safe = list(anonymizer.video(frames, 1 / 3600))
    assert [one.pts * one.time_base for one in safe] == [0, 3600]
    assert len(list(anonymizer.video(frames, np.float32(25)))) == 2  # type: ignore[arg-type]
    with pytest.raises(UsageRefused, match="not str"):
        list(anonymizer.video(frames, "25"))  # type: ignore[arg-type]
    with pytest.raises(UsageRefused, match="90000 at most"):
        list(anonymizer.video(frames, 1e9))


def test_anonymizer_used_after_its_block_says_that_it_is_closed(photograph: Image) -> None:
    with kveil.open_anonymizer() as anonymizer:
        begun = anonymizer.video([photograph] * 60, 25.0)
        next(begun)
    with pytest.raises(UsageRefused, match="closed"):
        anonymizer.image(photograph)
    with pytest.raises(UsageRefused, match="closed"):
        list(begun)


def test_frames_of_two_sizes_and_no_rate_are_refused(anonymizer: kveil.FrameAnonymizer) -> None:
    frames = [np.zeros((40, 60, 3), np.uint8), np.zeros((60, 40, 3), np.uint8)]
    with pytest.raises(UsageRefused, match="40x60 after ones of 60x40"):
        list(anonymizer.video(frames, 25.0))
    with pytest.raises(UsageRefused, match="above zero"):
        list(anonymizer.video(frames, 0.0))
    assert list(anonymizer.video([], 25.0)) == []


def test_dead_detector_lets_no_frame_through(
    photograph: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: every search fails."""
    settings = kveil.load_settings(flags={"method": "solid"})
    with kveil.open_anonymizer(settings) as anonymizer:

        def dies(*arguments: object, **keywords: object) -> object:
            raise EngineFault("dead")

        monkeypatch.setattr(anonymizer.engines.detector, "detect", dies)
        safe = list(anonymizer.video([photograph] * 3, 25.0))
    assert all(one.is_fully_covered for one in safe)
    assert all(np.ptp(one.picture.bgr()[FACE].reshape(-1, 3), axis=0).max() == 0 for one in safe)


def test_files_are_anonymized_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = made_clip(tmp_path / "in.mp4", Clip(frames=6))
    settings = kveil.load_settings(flags={"method": "solid"})
    (report,) = kveil.run_files([source], tmp_path / "out.mp4", settings)
    assert report.status == "complete"
    assert len(decoded(tmp_path / "out.mp4").times_s) == 6
    assert capfd.readouterr().err == ""
    with pytest.raises(kveil.KveilError, match="exists"):
        kveil.run_files([source], tmp_path / "out.mp4", settings)


def test_files_without_settings_are_anonymized_by_the_defaults(tmp_path: Path) -> None:
    source = made_clip(tmp_path / "in.mp4", Clip(frames=2))
    (report,) = kveil.run_files([str(source)], str(tmp_path / "out.mp4"))
    assert report.method == Settings().method
    with pytest.raises(UsageRefused, match="list of paths"):
        kveil.run_files(str(source), tmp_path / "other.mp4")


def test_wrong_setting_is_an_error_that_a_program_can_catch() -> None:
    with pytest.raises(kveil.ConfigError, match="unknown setting"):
        kveil.load_settings(flags={"nope": 1})
