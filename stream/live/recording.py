"""Rolling recordings: MP4 files of the anonymized pictures, and their deletion in time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from config.service import Recording
from engines.errors import KveilError
from stream.live.errors import AddressRefused, SinkLost
from stream.live.live_encoder import TICKS, EncodedPicture
from stream.live.packet_muxer import PacketMuxer
from stream.live.publishing import SinkCodec
from stream.live.sound import Sound, SoundLine
from stream.media.marking import CONTAINER_MARK

__all__ = ["RecordingSink", "recording_folder"]

_SAFE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
_PARTIAL: Final = ".partial"
_OPTIONS: Final = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}


def recording_folder(root: Path, stream: str) -> Path:
    """Folder of a stream's recordings, certainly inside `root`.

    >>> recording_folder(Path("/srv"), "entrance").name
    'entrance'

    Raises:
        AddressRefused: the name could lead elsewhere.
    """
    if _SAFE.fullmatch(stream) is None:
        raise AddressRefused("a recording's name has small letters, digits, - and _ alone")
    return root / stream


class RecordingSink:
    """Writes fragmented MP4, one file after the other, and deletes what is too old.

    A file has its final name only when it is complete; one cut off by a crash can still be
    played, as each second is a fragment of its own, and is named when recording goes on.

    Args:
        folder: of this stream.
        kept: length of a file, and how many stay; as configured by default.
        wall: present time, for names and ages.
        codec: of the pictures.
        is_marked: adds the machine-readable mark to the metadata.
        has_sound: there is a track of sound, fed by `write_sound`.
        want_key: asks for a key frame, with which the next file can begin.
    """

    def __init__(
        self,
        folder: Path,
        kept: Recording | None = None,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        codec: SinkCodec = "h264",
        is_marked: bool = True,
        has_sound: bool = False,
        want_key: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._kept = kept or Recording()
        self._wall = wall
        self._codec: SinkCodec = codec
        self._has_sound = has_sound
        self._line = SoundLine()
        self._metadata = CONTAINER_MARK if is_marked else {}
        self._want_key = want_key
        self._muxer: PacketMuxer | None = None
        self._path: Path | None = None
        self._began = 0

    def write(self, picture: EncodedPicture) -> None:
        """Adds one picture; begins a new file at the first key frame after its time.

        Raises:
            SinkLost: the disk is full or the folder cannot be written.
        """
        with _telling():
            if self._is_due(picture.pts):
                if picture.is_key:
                    self._roll(picture.pts)
                else:
                    self._want_key()
            if self._muxer is not None:
                self._muxer.write(picture.data, picture.pts, picture.is_key)

    def write_sound(self, sounds: Sequence[Sound], until_s: float) -> None:
        """Adds sound; see `PictureSink.write_sound`.

        Raises:
            SinkLost: the disk is full.
        """
        with _telling():
            for pcm, place in self._line.laid(sounds, until_s):
                if self._muxer is not None:
                    self._muxer.write_sound(pcm, place)

    def finish(self) -> None:
        """Completes the present file; idempotent."""
        muxer, self._muxer = self._muxer, None
        if muxer is not None:
            muxer.close()
            self._name_complete()

    def abort(self) -> None:
        """Ends without completing; the file stays playable under its partial name."""
        muxer, self._muxer = self._muxer, None
        if muxer is not None:
            muxer.discard()

    def delete_old(self) -> int:
        """Deletes files beyond age or size; gives their number."""
        now_s = self._wall().timestamp()
        files = sorted(self._folder.glob("*.mp4"), reverse=True)
        most_s, most_bytes = self._kept.keep_hours * 3600, int(self._kept.keep_gb * 1e9)
        kept_bytes, deleted = 0, 0
        for file in files:
            with suppress(FileNotFoundError):
                status = file.stat()
                kept_bytes += status.st_size
                is_old = now_s - status.st_mtime > most_s
                if is_old or kept_bytes > most_bytes:
                    file.unlink()
                    deleted += 1
        return deleted

    def _is_due(self, pts: int) -> bool:
        length_s = float((pts - self._began) * TICKS)
        return self._muxer is None or length_s >= self._kept.segment_s

    def _roll(self, pts: int) -> None:
        self.finish()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._name_left_behind()
        self.delete_old()
        stamp = self._wall().strftime("%Y%m%dT%H%M%S%fZ")
        self._path = self._folder / f"{stamp}.mp4{_PARTIAL}"
        kind = (str(self._path), "mp4", _OPTIONS, self._codec, self._metadata)
        self._muxer = PacketMuxer(*kind, has_sound=self._has_sound)
        self._began = pts

    def _name_complete(self) -> None:
        if self._path is not None and self._path.exists():
            self._path.replace(self._path.with_suffix(""))

    def _name_left_behind(self) -> None:
        for file in self._folder.glob(f"*.mp4{_PARTIAL}"):
            file.replace(file.with_suffix(""))


@contextmanager
def _telling() -> Iterator[None]:
    """Turns whatever the disk or the media library raises into one line."""
    try:
        yield
    except KveilError:
        raise
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) else None
        reason = (text or type(error).__name__).lower()
        raise SinkLost(f"cannot record: {reason}; free some space or check rights") from None
