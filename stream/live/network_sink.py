"""Publishes composites by RTSP, RTMP, SRT or HLS, one connection each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from engines.compositor import Composite
from engines.errors import KveilError
from stream.live.address import Address, Gate
from stream.live.encoder_share import Encoding, MakeEncoding
from stream.live.errors import SinkLost
from stream.live.library_errors import reason_of
from stream.live.live_encoder import EncoderOptions, LiveEncoder
from stream.live.publishing import Outgoing, outgoing_to
from stream.live.sound import Sound, SoundLine
from stream.marking import CONTAINER_MARK, sei_nal

__all__ = ["NetworkSink"]


class NetworkSink:
    """One connection to a server, or one HLS folder; connects at the first composite.

    Args:
        address: where to publish; a file ending in `.m3u8` makes HLS with fMP4 segments.
        gate: decides whether it may be reached.
        options: of the encoder.
        is_marked: adds the machine-readable mark to key frames and metadata.
        timeout_s: for connecting.
        has_sound: there is a track of sound, fed by `write_sound`.
        begin: gives the encoding, where others share it; one of its own where None.
    """

    def __init__(
        self,
        address: Address,
        gate: Gate,
        options: EncoderOptions | None = None,
        *,
        is_marked: bool = True,
        timeout_s: float = 5.0,
        has_sound: bool = False,
        begin: MakeEncoding | None = None,
    ) -> None:
        self._address = address
        self._gate = gate
        self._metadata = CONTAINER_MARK if is_marked else {}
        self._timeout_s = timeout_s
        self._has_sound = has_sound
        self._line = SoundLine()
        mark = sei_nal() if is_marked else b""
        own = partial(LiveEncoder, options or EncoderOptions(), "h264", mark)
        self._encoder: Encoding = (begin or own)()
        self._outgoing: Outgoing | None = None
        self._is_aborted = False

    def write(self, composite: Composite) -> None:
        """Encodes and sends one composite.

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
                    has_sound=self._has_sound,
                )
                if self._is_aborted:
                    self._outgoing.cut()
            for picture in self._encoder.encode(composite):
                self._outgoing.write(picture)

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        """Sends sound; see `Hearing.write_sound`.

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
