"""The least that any anonymizer pays for a file: decode, BGR, encode, nothing between.

`kveil bench` sets its own speed against this, with the very encoder settings that it uses.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from stream.errors import reading, writing
from stream.media.containers import Container, container_of
from stream.media.reading.file_source import FileSource
from stream.media.reading.inspection import chosen_video, opened_input
from stream.media.reading.probe import MediaProbe
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.encoders import EncoderChoice, choose_encoder
from stream.media.writing.video_track import VideoTrack

__all__ = ["CodecFloor", "codec_floor"]


@dataclass(frozen=True, slots=True)
class CodecFloor:
    """What the codecs alone take.

    Attributes:
        frames: frames decoded and encoded.
        seconds: wall time.
        encoder: the encoder that was used.
    """

    frames: int
    seconds: float
    encoder: str

    @property
    def fps(self) -> float:
        """Frames a second."""
        return self.frames / self.seconds if self.seconds > 0 else 0.0


def codec_floor(
    path: Path,
    settings: EncodeSettings,
    *,
    ending: str = ".mp4",
    most_frames: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> CodecFloor:
    """Decodes a video to BGR arrays and encodes these again, one step after the other.

    The coded pictures are thrown away: they are not anonymized, so they touch no disk.

    Args:
        path: the video.
        settings: encoder settings, the same as of the run to compare with.
        ending: kind of file that the encoder is chosen for.
        most_frames: stop after so many frames, None for all.
        clock: seconds.

    Raises:
        InputUnreadable: the video cannot be read.
        OutputNotWritable: no encoder works for it.
    """
    source = FileSource(path, is_upright=False)
    source.close()
    container = container_of(Path(f"floor{ending}"))
    choice = choose_encoder(source.probe, container, settings)
    started_s = clock()
    frames = _recoded(path, source.probe, container, choice, settings.threads, most_frames)
    return CodecFloor(frames, clock() - started_s, choice.name)


def _recoded(
    path: Path,
    probe: MediaProbe,
    container: Container,
    choice: EncoderChoice,
    threads: int,
    most_frames: int | None,
) -> int:
    nowhere = av.open(io.BytesIO(), "w", format=container.muxer)
    track = VideoTrack(nowhere, probe, container, choice, threads)
    context = track.stream.codec_context
    period = max(1, round(1 / (probe.shape.rate * context.time_base)))
    count = 0
    with writing("the codec floor"):
        for pixels in _bgr_frames(path):
            frame = av.VideoFrame.from_ndarray(pixels, format="bgr24")
            frame = frame.reformat(format=choice.pixel_format)
            frame.pts, frame.time_base = count * period, Fraction(context.time_base)
            track.stream.encode(frame)
            count += 1
            if count == most_frames:
                break
        track.stream.encode(None)
    return count


def _bgr_frames(path: Path) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    """Decoded frames as H×W×3 uint8 BGR."""
    with reading(path.name), opened_input(path) as source:
        track = chosen_video(source, path.name)
        track.thread_type = "AUTO"
        for image in source.decode(track):
            yield np.asarray(image.to_ndarray(format="bgr24"), np.uint8)


def main() -> None:
    """`python -m benchmarks.codec_floor CLIP TARGET`: prints frames, seconds and encoder as JSON.

    TARGET is not written; its ending says which kind of file the encoder is chosen for.
    """
    clip, target = Path(sys.argv[1]), Path(sys.argv[2])
    floor = codec_floor(clip, EncodeSettings(), ending=target.suffix)
    print(json.dumps(asdict(floor)))


if __name__ == "__main__":
    main()
