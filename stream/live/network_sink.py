"""Publishes encoded pictures by RTSP, RTMP, SRT or HLS, one connection each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from engines.errors import KveilError
from stream.live.address import Address, Gate
from stream.live.errors import SinkLost
from stream.live.library_errors import reason_of
from stream.live.live_encoder import EncodedPicture
from stream.live.publishing import Outgoing, SinkCodec, outgoing_to
from stream.live.sound import Sound, SoundLine
from stream.media.marking import CONTAINER_MARK

__all__ = ["NetworkSink"]


class NetworkSink:
    """One connection to a server, or one HLS folder; connects at the first picture.

    Args:
        address: where to publish; a file ending in `.m3u8` makes HLS with fMP4 segments.
        gate: decides whether it may be reached.
        codec: of the pictures.
        is_marked: adds the machine-readable mark to the metadata.
        timeout_s: for connecting.
        has_sound: there is a track of sound, fed by `write_sound`.
    """

    def __init__(
        self,
        address: Address,
        gate: Gate,
        codec: SinkCodec = "h264",
        *,
        is_marked: bool = True,
        timeout_s: float = 5.0,
        has_sound: bool = False,
    ) -> None:
        self._address = address
        self._gate, self._codec = gate, codec
        self._metadata = CONTAINER_MARK if is_marked else {}
        self._timeout_s = timeout_s
        self._has_sound = has_sound
        self._line = SoundLine()
        self._outgoing: Outgoing | None = None
        self._is_aborted = False

    def write(self, picture: EncodedPicture) -> None:
        """Sends one picture.

        Raises:
            AddressRefused: the gate does not let it through.
            SinkLost: the server is gone, refuses, or the folder cannot be written.
        """
        with self._telling():
            if self._outgoing is None:
                self._outgoing = outgoing_to(
                    self._address,
                    self._gate,
                    self._metadata,
                    self._timeout_s,
                    self._codec,
                    has_sound=self._has_sound,
                )
                if self._is_aborted:
                    self._outgoing.cut()
            self._outgoing.write(picture)

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        """Sends sound; see `PictureSink.write_sound`.

        Raises:
            SinkLost: the server is gone.
        """
        with self._telling():
            for pcm, place in self._line.laid(sounds, until_s):
                if self._outgoing is not None and self._has_sound:
                    self._outgoing.write_sound(pcm, place)

    def finish(self) -> None:
        """Says goodbye to the server; idempotent.

        Raises:
            SinkLost: the server did not answer, or had not taken what it was sent.
        """
        outgoing, self._outgoing = self._outgoing, None
        if outgoing is None:
            return
        try:
            with self._telling(outgoing):
                outgoing.finish()
        finally:
            outgoing.cut()

    def abort(self) -> None:
        """Breaks the connection off, also under a stuck write; idempotent, from any thread."""
        self._is_aborted = True
        outgoing = self._outgoing
        if outgoing is not None:
            outgoing.cut()

    @contextmanager
    def _telling(self, leaving: Outgoing | None = None) -> Iterator[None]:
        """Turns whatever the media library raises into one line about the sink.

        Args:
            leaving: the connection that is said goodbye to; the present one if left out.
        """
        try:
            yield
        except KveilError:
            raise
        except Exception as error:
            reason, outgoing = "", leaving or self._outgoing
            if outgoing is not None:
                with suppress(OSError, ValueError):
                    reason = outgoing.failure
            reason = reason or reason_of(error) or f"it broke off ({type(error).__name__})"
            raise SinkLost(f"cannot publish to {self._address}: {reason}") from None
