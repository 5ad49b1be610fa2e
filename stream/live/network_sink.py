"""What every connection that takes encoded pictures has in common; `publishing` has the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from engines.errors import KveilError
from stream.live.address import Address
from stream.live.errors import SinkLost
from stream.live.library_errors import reason_of
from stream.live.live_encoder import EncodedPicture
from stream.live.sound import Sound, SoundLine

__all__ = ["NetworkSink", "publishing_errors"]


class NetworkSink(ABC):
    """One connection to a server, or one HLS folder.

    Args:
        address: where to publish.
        has_sound: there is a track of sound, fed by `write_sound`.
    """

    def __init__(self, address: Address, *, has_sound: bool) -> None:
        self._address = address
        self._has_sound = has_sound
        self._line = SoundLine()
        self._is_over = False

    @property
    def failure(self) -> str:
        """What is known about why it failed; empty if nothing."""
        return ""

    def write(self, picture: EncodedPicture) -> None:
        """Sends one picture; may block until `abort`.

        Raises:
            SinkLost: the server is gone, refuses, or the folder cannot be written.
        """
        with self._telling():
            self._send(picture)

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        """Sends sound; see `PictureSink.write_sound`.

        Raises:
            SinkLost: the server is gone.
        """
        with self._telling():
            for pcm, place in self._line.laid(sounds, until_s) if self._has_sound else ():
                self._send_sound(pcm, place)

    def finish(self) -> None:
        """Says goodbye to the server; idempotent.

        Raises:
            SinkLost: the server did not answer, or had not taken what it was sent.
        """
        if self._is_over:
            return
        self._is_over = True
        try:
            with self._telling():
                self._say_goodbye()
        finally:
            self.abort()

    @abstractmethod
    def abort(self) -> None:
        """Breaks off at once, also under a stuck write; idempotent, from any thread."""

    def _telling(self) -> AbstractContextManager[None]:
        return publishing_errors(self._address, lambda: self.failure)

    @abstractmethod
    def _send(self, picture: EncodedPicture) -> None:
        """Sends one picture; an OSError says that the other end is gone."""

    @abstractmethod
    def _send_sound(self, pcm: bytes, place: int) -> None:
        """Sends sound; see `PacketMuxer.write_sound`."""

    @abstractmethod
    def _say_goodbye(self) -> None:
        """Ends, and waits until that is done; an OSError says that not all has arrived."""


@contextmanager
def publishing_errors(address: Address, failure: Callable[[], str] = str) -> Iterator[None]:
    """Turns whatever the media library or the system raises into one line about the sink.

    Args:
        address: of the sink.
        failure: what is known about why it failed.

    Raises:
        SinkLost: in place of any foreign exception.
    """
    try:
        yield
    except KveilError:
        raise
    except Exception as error:
        reason = ""
        with suppress(OSError, ValueError):
            reason = failure()
        reason = reason or reason_of(error) or f"it broke off ({type(error).__name__})"
        raise SinkLost(f"cannot publish to {address}: {reason}") from None
