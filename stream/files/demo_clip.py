"""A short clip with a real face, made on the spot from a photograph in the public domain.

The photograph is NASA's portrait of the astronaut Eileen Collins, which ships with
scikit-image. The camera pans and zooms over it, so the face moves, grows and leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage

__all__ = ["demo_frames", "portrait", "write_demo_clip"]

_RATE = 25
_TONE_HZ = 440
_SAMPLE_RATE = 48_000


def portrait() -> BgrImage:
    """The 512×512×3 uint8 BGR photograph."""
    from skimage import data

    rgb = np.asarray(data.astronaut(), np.uint8)  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(rgb[..., ::-1])


def demo_frames(seconds: float, height: int = 720, width: int = 1280) -> Iterator[BgrImage]:
    """Frames of the clip: height×width×3 uint8 BGR, 25 a second."""
    photo = portrait()
    enlarged = cv2.resize(photo[:120, 300:400], (width, height))
    backdrop = np.asarray(cv2.GaussianBlur(enlarged, (0, 0), 25), np.uint8)
    count = round(seconds * _RATE)
    for number in range(count):
        phase = number / max(count - 1, 1)
        frame = backdrop.copy()
        scale = height / 512 * (0.8 + 0.5 * np.sin(np.pi * phase))
        x = width * (0.05 + 0.55 * phase)
        _paste(frame, photo, scale, x, height * 0.02)
        _paste(
            frame, photo[:, ::-1], height / 512 * 0.22, width * (0.9 - 0.75 * phase), height * 0.7
        )
        yield frame


def write_demo_clip(path: Path, seconds: float = 4.0) -> None:
    """Writes the clip with a quiet tone as H.264 and AAC in MP4.

    Raises:
        OSError: the folder cannot be written.
    """
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=_RATE, options={"crf": "18"})
        video.width, video.height, video.pix_fmt = 1280, 720, "yuv420p"
        video.time_base = Fraction(1, _RATE)
        audio = container.add_stream("aac", rate=_SAMPLE_RATE, layout="mono")
        for number, image in enumerate(demo_frames(seconds)):
            picture = av.VideoFrame.from_ndarray(image, "bgr24")
            picture.pts = number
            container.mux(video.encode(picture))
        container.mux(video.encode(None))
        for sound in _tone(seconds):
            container.mux(audio.encode(sound))
        container.mux(audio.encode(None))


def _paste(frame: BgrImage, photo: BgrImage, scale: float, x: float, y: float) -> None:
    """Draws the photograph with its top left corner at (x, y) px."""
    height, width = frame.shape[:2]
    move = np.array([[scale, 0, x], [0, scale, y]], np.float32)
    cv2.warpAffine(photo, move, (width, height), dst=frame, borderMode=cv2.BORDER_TRANSPARENT)


def _tone(seconds: float) -> Iterator[av.AudioFrame]:
    step = 1024
    for start in range(0, round(seconds * _SAMPLE_RATE), step):
        times = (np.arange(step) + start) / _SAMPLE_RATE
        wave: NDArray[np.float32] = (0.05 * np.sin(2 * np.pi * _TONE_HZ * times)).astype(np.float32)
        sound = av.AudioFrame.from_ndarray(wave[None], "fltp", "mono")
        sound.sample_rate, sound.pts = _SAMPLE_RATE, start
        yield sound
