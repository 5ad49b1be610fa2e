"""The picture track of an output: pictures in, coded packets out, times unchanged."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import av
import numpy as np
from av.codec.context import CodecContext, Flags
from av.container import OutputContainer
from av.filter import Graph
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream
from PIL import Image

from engines.blending.compositor import Composite
from engines.pictures import Picture
from stream.media.containers import Container
from stream.media.planes import frame_from_picture
from stream.media.projection import Projection, template_of
from stream.media.reading.probe import ColourTags, Fields, MediaProbe
from stream.media.writing.encoders import EncoderChoice

__all__ = [
    "INTERLACED_ENCODERS",
    "FieldMark",
    "PictureClock",
    "TrackEnd",
    "VideoTrack",
    "kept_projection",
    "track_time_base",
]

INTERLACED_ENCODERS: Final = ("libx264",)
"""Encoders that are told the order of fields; the others code the lines as one picture."""
_FIELD_ORDER: Final[dict[Fields, int]] = {"tff": 2, "bff": 3}
_IN_ORDER: Final = 2
"""Pictures of a stream that has none to reorder."""
_GIF_TICK: Final = Fraction(1, 100)
_MATRIX_TAG: Final = {"bt601": 6, "bt709": 1, "bt2020": 9}


def track_time_base(probe: MediaProbe, container: Container) -> Fraction:
    """Seconds per tick of the output's picture track: the input's wherever possible."""
    if container.muxer == "gif":
        return _GIF_TICK
    if container.muxer == "avi" and probe.container != "avi":
        return 1 / probe.shape.rate
    return probe.shape.time_base


def kept_projection(probe: MediaProbe, container: Container) -> Projection | None:
    """What a kind of output keeps of how the input is shown as 360° or 3D; None for nothing."""
    kept = (probe.projection or Projection()).kept_in(container.muxer)
    return kept if kept.names else None


class PictureClock:
    """Turns composites' times into ticks of the output that always grow.

    Args:
        time_base: seconds per tick of the output.
    """

    def __init__(self, time_base: Fraction) -> None:
        self.time_base = time_base
        self.nudged = 0
        self._shift: int | None = None
        self._last: int | None = None

    @property
    def shift_s(self) -> Fraction:
        """Seconds added to all times; not zero only where the input starts before zero."""
        return (self._shift or 0) * self.time_base

    def ticks(self, composite: Composite) -> int:
        """Presentation time of the next composite, ticks, at least 0."""
        if composite.time_base == self.time_base:
            pts = composite.pts
        else:
            pts = round(composite.pts * composite.time_base / self.time_base)
        if self._shift is None:
            self._shift = max(0, -pts)
        pts += self._shift
        if self._last is not None and pts <= self._last:
            pts = self._last + 1
            self.nudged += 1
        self._last = pts
        return pts

    def length(self, composite: Composite) -> int:
        """For how long a composite is shown, ticks; 0 where not known."""
        return round(composite.duration * composite.time_base / self.time_base)


class VideoTrack:
    """Codes pictures for one track of an open output.

    Args:
        output: the open output; the track is added to it.
        probe: format of the input.
        container: kind of the output.
        choice: the encoder.
        threads: encoder threads, 0 for as many as there are processors.
    """

    def __init__(
        self,
        output: OutputContainer,
        probe: MediaProbe,
        container: Container,
        choice: EncoderChoice,
        threads: int,
    ) -> None:
        self._choice = choice
        self._time_base = track_time_base(probe, container)
        self.stream = _added(output, probe, container, choice)
        self.stream.time_base = self._time_base
        shown, self._coder = self.stream.codec_context, _encoder(self.stream, choice)
        self._coder.time_base = self._time_base
        for context in {shown, self._coder}:
            self._set_up(context, probe, container, threads)
        if shown is not self._coder:
            self._coder.open()
            shown.extradata = self._coder.extradata
        self._fields = FieldMark(probe.fields) if _is_interlaced(probe, choice) else None
        if container.holds_rotation and probe.display_matrix is not None:
            self.stream.set_display_matrix(probe.display_matrix)
        self._turns = probe.turns if container.holds_rotation else 0
        self._pictures = 0
        self._period = max(1, round(1 / (probe.shape.rate * self._time_base)))
        self._lengths: dict[int, int] = {}

    def packets(self, picture: Picture, pts: int, length: int = 0) -> list[Packet[VideoStream]]:
        """Codes one picture; its packets come now or with later calls.

        Args:
            picture: what is shown.
            pts: from when on, ticks.
            length: for how long, ticks; 0 where not known: for one nominal period.
        """
        self._pictures += 1
        self._lengths[pts] = length or self._period
        if self._choice.pixel_format == "pal8":
            frame = _palette_frame(picture, pts, self._time_base, self._turns)
        else:
            form = self._choice.pixel_format
            frame = frame_from_picture(picture, form, self._turns, pts, self._time_base)
            if self._fields is not None:
                frame = self._fields.marked(frame)
        return self._timed(self._coder.encode(frame))

    def rest(self) -> list[Packet[VideoStream]]:
        """What is left when the last picture was given.

        Of one or two pictures, which are decoded in the order in which they are shown, x265 leaves
        the decoding times as it found them in memory.
        """
        packets = self._coder.encode(None)
        if self._pictures <= _IN_ORDER:
            for packet in packets:
                packet.dts = packet.pts
        return self._timed(packets)

    def _timed(self, packets: list[Packet[VideoStream]]) -> list[Packet[VideoStream]]:
        """The packets with the lengths of their pictures, which encoders do not pass on."""
        for packet in packets:
            packet.stream = self.stream
            if packet.pts is not None:
                packet.duration = self._lengths.pop(packet.pts, self._period)
        return packets

    def _set_up(
        self, context: VideoCodecContext, probe: MediaProbe, container: Container, threads: int
    ) -> None:
        choice = self._choice
        context.options = dict(choice.options)
        context.height, context.width = probe.coded_size
        context.pix_fmt = choice.pixel_format
        context.framerate = probe.shape.rate
        context.sample_aspect_ratio = probe.sample_aspect
        context.thread_count = threads
        context.thread_type = "AUTO"
        _tag(context, probe)
        if choice.quality is not None:
            context.qscale = True
            context.global_quality = choice.quality
        if not container.holds_early_times and container.muxer != "matroska":
            context.max_b_frames = 0
        if choice.codec == "hevc" and container.muxer in ("mp4", "mov"):
            context.codec_tag = "hvc1"
        if _is_interlaced(probe, choice):
            context.flags |= Flags.interlaced_dct | Flags.interlaced_me
            context.field_order = _FIELD_ORDER[probe.fields]


class FieldMark:
    """Marks frames as interlaced, which the library lets only a filter do.

    Args:
        fields: which field is shown first.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._graph: Graph | None = None

    def marked(self, frame: av.VideoFrame) -> av.VideoFrame:
        """The frame with its flags set; its pixels and time are unchanged."""
        if self._graph is None:
            self._graph = graph = Graph()
            source = graph.add_buffer(
                width=frame.width,
                height=frame.height,
                format=frame.format,
                time_base=frame.time_base,
            )
            graph.link_nodes(
                source, graph.add("setfield", f"mode={self._fields}"), graph.add("buffersink")
            ).configure()
        self._graph.vpush(frame)
        return self._graph.vpull()


class TrackEnd:
    """Sees to it that a track ends when its last picture does.

    Muxers count a track's length in decoding time, which runs ahead of the pictures by the
    encoder's delay, and take the last packet's length from the nominal rate; with variable
    rates the end would be cut off. So the newest packet is held back until it is known to
    be the last, and is then given its length.

    Args:
        period: ticks of one nominal frame, for which a picture of unknown length is shown.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        self._held: Packet[VideoStream] | None = None
        self._first_dts: int | None = None
        self._first_pts: int | None = None
        self._end = 0

    def passed(self, packets: list[Packet[VideoStream]]) -> list[Packet[VideoStream]]:
        """Packets that are surely not the last."""
        for packet in packets:
            if packet.pts is None:
                continue
            if self._first_pts is None:
                self._first_pts, self._first_dts = packet.pts, packet.dts
            self._first_pts = min(self._first_pts, packet.pts)
            self._end = max(self._end, packet.pts + (packet.duration or self._period))
        ready = packets if self._held is None else [self._held, *packets]
        self._held = ready.pop() if ready else None
        return ready

    def last(self) -> list[Packet[VideoStream]]:
        """The last packet, with its length."""
        packet, self._held = self._held, None
        if packet is None:
            return []
        if packet.dts is not None and self._first_dts is not None:
            length = self._end - (self._first_pts or 0)
            packet.duration = max(1, self._first_dts + length - packet.dts)
        return [packet]


def _added(
    output: OutputContainer, probe: MediaProbe, container: Container, choice: EncoderChoice
) -> VideoStream:
    kept = kept_projection(probe, container)
    if kept is None:
        stream = output.add_stream(choice.name, rate=probe.shape.rate)
    else:
        with template_of(kept, choice.codec) as template:
            (track,) = template.streams.video
            stream = output.add_stream_from_template(track, opaque=True)
    assert isinstance(stream, VideoStream)
    return stream


def _encoder(stream: VideoStream, choice: EncoderChoice) -> VideoCodecContext:
    """The track's own encoder; a track that was made after a template has none."""
    if stream.codec_context.is_encoder:
        return stream.codec_context
    encoder = CodecContext.create(choice.name, "w")
    assert isinstance(encoder, VideoCodecContext)
    encoder.flags |= Flags.global_header
    return encoder


def _is_interlaced(probe: MediaProbe, choice: EncoderChoice) -> bool:
    """Whether the input's pictures are and the encoder codes them so."""
    return bool(probe.fields) and choice.name in INTERLACED_ENCODERS


def _tag(context: VideoCodecContext, probe: MediaProbe) -> None:
    tags = probe.colour
    if probe.layout == "bgr" and context.pix_fmt != "pal8":
        matrix = _MATRIX_TAG["bt601" if probe.shape.height < 720 else "bt709"]
        tags = ColourTags(tags.primaries, tags.transfer, matrix, 1)
    context.color_primaries = tags.primaries
    context.color_trc = tags.transfer
    context.colorspace = tags.matrix
    context.color_range = 2 if (context.pix_fmt or "").startswith("yuvj") else tags.range


def _palette_frame(picture: Picture, pts: int, time_base: Fraction, turns: int) -> av.VideoFrame:
    """A frame of at most 256 colours chosen for this picture, without dithering."""
    bgr = np.rot90(picture.bgr(), -turns)
    image = Image.fromarray(np.ascontiguousarray(bgr[..., ::-1])).quantize(
        256, dither=Image.Dither.NONE
    )
    colours = np.full((256, 4), 255, np.uint8)
    flat = np.array(image.getpalette() or [], np.uint8).reshape(-1, 3)
    colours[: len(flat), :3] = flat[:, ::-1]
    frame = av.VideoFrame(image.width, image.height, "pal8")
    indices, palette = frame.planes
    rows = np.frombuffer(memoryview(indices), np.uint8).reshape(-1, indices.line_size)
    rows[: image.height, : image.width] = np.asarray(image, np.uint8)
    palette.update(colours.tobytes())
    frame.pts, frame.time_base = pts, time_base
    return frame
