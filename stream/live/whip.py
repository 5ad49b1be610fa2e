"""WebRTC ingest (RFC 9725): a browser's camera as the source of a stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from aiortc import MediaStreamTrack
from aiortc.mediastreams import MediaStreamError
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame

from engines.types import Frame
from stream.errors import MailboxClosed
from stream.live.bounded_decoders import bound_decoders
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.errors import OfferRefused, ViewerRefused
from stream.live.network_source import LIVE_MAX_PIXELS
from stream.live.offer_sections import sends_video
from stream.live.packet_muxer import TICKS
from stream.live.rtc_queues import bound_queues
from stream.live.rtc_sessions import RtcSession
from stream.live.sound import Hear, SoundDecoder
from stream.media.ends import StreamShape
from stream.media.planes import picture_from_frame
from stream.media.reading.inspection import upright_format
from stream.pipeline.mailbox import Mailbox

__all__ = ["PublishedSource", "WhipEntrance"]

_IDLE_S = 1.0


class PublishedSource:
    """Frames of whoever publishes at the moment; waits while nobody does."""

    def __init__(self, frames: Mailbox[Frame]) -> None:
        self._frames = frames
        self._closed = threading.Event()

    @property
    def shape(self) -> StreamShape:
        """Unknown before the first frame; the nominal clock of WebRTC."""
        return StreamShape(0, 0, Fraction(30), TICKS, None)

    def frames(self) -> Iterator[Frame]:
        """Frames until closed."""
        while not self._closed.is_set():
            try:
                yield self._frames.receive(_IDLE_S)
            except TimeoutError:
                continue
            except MailboxClosed:
                return

    def close(self) -> None:
        """Ends `frames` within a second; idempotent."""
        self._closed.set()


class WhipEntrance:
    """Where browsers publish one stream, one at a time.

    Args:
        counters: of the stream; gets drops.
        capacity: most decoded frames waiting; the oldest is dropped.
        max_pixels: larger pictures are dropped.
        clock: tells which pictures and sounds came together, as each has a clock of its own.
        rotation: degrees clockwise by which pictures are turned.
    """

    def __init__(
        self,
        counters: Counters,
        capacity: int,
        max_pixels: int,
        clock: Clock,
        rotation: int = 0,
    ) -> None:
        bound_decoders(LIVE_MAX_PIXELS)
        self._clock = clock
        self._hear: Hear | None = None
        self._seen: tuple[float, float] | None = None
        self._counters = counters
        self._max_pixels = max_pixels
        self._rotation = rotation
        self._mailbox = Mailbox[Frame](capacity, on_full="drop_oldest")
        self._session: RtcSession | None = None
        self._index = 0

    def connect(self, hear: Hear | None = None) -> PublishedSource:
        """The source of the stream; see `SourceKeeper`.

        Args:
            hear: takes the sound, by the clock of the frames; None leaves it out.
        """
        self._hear = hear
        return PublishedSource(self._mailbox)

    def close(self) -> None:
        """No more frames will come; idempotent."""
        self._mailbox.cancel()

    @property
    def unconnected(self) -> RtcSession | None:
        """The session that has the place and has not connected yet; None where there is none.

        It gives way to a newer one: an encoder that tries again must not wait for its own offer.
        """
        session = self._session
        if session is None or session.is_ended:
            return None
        return None if session.connection.connectionState == "connected" else session

    async def receive_from(self, session: RtcSession) -> None:
        """Takes the video of a session until it ends.

        Raises:
            ViewerRefused: somebody else publishes already.
            OfferRefused: there is no video in the offer, or there is a data channel.
        """
        if self._session is not None and not self._session.is_ended:
            raise ViewerRefused("somebody publishes this stream already")
        transceivers = session.connection.getTransceivers()
        tracks = [t.receiver.track for t in transceivers if t.kind == "video"]
        if session.connection.sctp is not None:  # the library keeps unfinished messages for ever
            raise OfferRefused("the offer has a data channel; leave it out")
        if not tracks or not sends_video(session.offer):
            raise OfferRefused("the offer sends no video")
        self._session, self._seen = session, None
        heard = [t.receiver.track for t in transceivers if t.kind == "audio"][:1]
        bound_queues(session.connection, lambda: self._counters.add("dropped_input"))
        for other in transceivers:
            if other.receiver.track in heard and self._hear is not None:
                self._spawn(session, self._take_sound(other.receiver.track, self._hear))
            elif other.receiver.track is not tracks[0]:
                self._spawn(session, self._drain(other.receiver.track))
        self._spawn(session, self._take(tracks[0]))

    def _spawn(self, session: RtcSession, work: object) -> None:
        assert asyncio.iscoroutine(work)
        task = asyncio.create_task(work)
        session.tasks.add(task)
        task.add_done_callback(session.tasks.discard)

    async def _take(self, track: MediaStreamTrack) -> None:
        with suppress(MediaStreamError, MailboxClosed):
            while True:
                decoded = await track.recv()
                if isinstance(decoded, VideoFrame):
                    await asyncio.to_thread(self._keep, decoded)

    async def _take_sound(self, track: MediaStreamTrack, hear: Hear) -> None:
        decoder, ahead_s = SoundDecoder(), None
        with suppress(MediaStreamError):
            while True:
                decoded = await track.recv()
                if not isinstance(decoded, AudioFrame) or self._seen is None:
                    continue
                for sound in decoder.sounds(decoded):
                    if ahead_s is None:
                        frame_s, arrived_s = self._seen
                        ahead_s = frame_s + self._clock.now() - arrived_s - sound.time_s
                    hear(replace(sound, time_s=sound.time_s + ahead_s))

    async def _drain(self, track: MediaStreamTrack) -> None:
        """Reads and drops, so that nothing gathers."""
        with suppress(MediaStreamError):
            while True:
                await track.recv()

    def _keep(self, decoded: VideoFrame) -> None:
        if decoded.width * decoded.height > self._max_pixels or decoded.pts is None:
            self._counters.add("dropped_input")
            return
        picture = picture_from_frame(decoded, *upright_format(decoded, self._rotation))
        base = decoded.time_base or TICKS
        is_damaged = decoded.is_corrupt
        self._seen = (float(decoded.pts * base), self._clock.now())
        self._mailbox.send(Frame(picture, decoded.pts, base, self._index, is_damaged=is_damaged))
        self._index += 1
