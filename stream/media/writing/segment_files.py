"""Coded segments on the disk, and the journal that says which of them count."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeAlias

from av.packet import Packet
from av.video.stream import VideoStream

from engines.durable import sync_file, sync_folder
from engines.json_reading import value_from_json
from stream.digests import file_digest
from stream.media.writing.partial_file import partial_name

__all__ = ["LOCK_NAME", "CodedPacket", "Journal", "JsonValue", "SegmentReader", "SegmentWriter"]

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"

_SCHEMA: Final = 1
_LENGTH_BYTES: Final = 8
LOCK_NAME: Final = "lock"
"""File in the folder whose lock keeps other runs out; network file systems lock no folder."""


@dataclass(frozen=True, slots=True)
class CodedPacket:
    """One coded picture.

    Attributes:
        data: the encoder's bytes.
        pts: presentation time, ticks.
        duration: ticks, 0 where unknown.
        is_key: decoding may start here.
    """

    data: bytes
    pts: int
    duration: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A finished segment, as the journal knows it.

    Attributes:
        frames: composites in it.
        sha256: digest of its file.
    """

    frames: int
    sha256: str


class SegmentWriter:
    """Writes one segment: coded pictures as they come, then what is known of them.

    Args:
        path: name of the finished segment.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = partial_name(path)
        self._file = self._partial.open("wb")
        self._rows: list[tuple[int, int, int, bool]] = []
        self.frames = 0

    def add(self, packets: list[Packet[VideoStream]]) -> None:
        """Appends coded pictures in decoding order."""
        for packet in packets:
            if packet.pts is None:
                continue
            self._file.write(bytes(packet))
            row = (packet.size, packet.pts, packet.duration or 0, packet.is_keyframe)
            self._rows.append(row)

    def completed(self, records: Mapping[str, JsonValue]) -> SegmentEntry:
        """Ends the segment, makes it durable and gives it its name."""
        trailer = json.dumps({"packets": self._rows, "records": records}).encode()
        self._file.write(trailer + len(trailer).to_bytes(_LENGTH_BYTES, "big"))
        self._file.close()
        sync_file(self._partial)
        digest = file_digest(self._partial)
        self._partial.replace(self._path)
        return SegmentEntry(self.frames, digest)

    def discard(self) -> None:
        """Removes the unfinished segment; idempotent."""
        with suppress(OSError):  # of a full disk, which does not take what is waiting
            self._file.close()
        self._partial.unlink(missing_ok=True)


class SegmentReader:
    """Reads one finished segment.

    Args:
        path: the segment.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            file.seek(-_LENGTH_BYTES, os.SEEK_END)
            length = int.from_bytes(file.read(_LENGTH_BYTES), "big")
            file.seek(-_LENGTH_BYTES - length, os.SEEK_END)
            trailer = value_from_json(file.read(length))
        self._rows: list[tuple[int, int, int, bool]] = [tuple(r) for r in trailer["packets"]]
        self.records: dict[str, JsonValue] = trailer["records"]

    @property
    def times(self) -> list[int]:
        """Presentation times in decoding order, ticks."""
        return [pts for _, pts, _, _ in self._rows]

    @property
    def delay(self) -> int:
        """Pictures by which decoding must run ahead of presentation."""
        rank = {pts: place for place, pts in enumerate(sorted(self.times))}
        return max((place - rank[pts] for place, pts in enumerate(self.times)), default=0)

    def packets(self) -> Iterator[CodedPacket]:
        """Coded pictures in decoding order."""
        with self._path.open("rb") as file:
            for size, pts, duration, is_key in self._rows:
                yield CodedPacket(file.read(size), pts, duration, is_key)


@dataclass(frozen=True, slots=True)
class Journal:
    """Which segments of a folder count, and for what.

    Attributes:
        folder: where journal and segments lie.
        fingerprint: digest of everything that the segments depend on.
        segments: the finished ones, in order.
    """

    folder: Path
    fingerprint: str
    segments: tuple[SegmentEntry, ...] = ()

    @classmethod
    def opened(cls, folder: Path, fingerprint: str) -> Journal:
        """The folder's journal; what does not belong to it is removed.

        Segments count up to the first that is missing or damaged, and only if they were
        made under the same fingerprint.
        """
        journal = cls(folder, fingerprint, _known_segments(folder, fingerprint))
        keep = {journal.path_of(number) for number in range(len(journal.segments))}
        keep.add(folder / LOCK_NAME)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():  # of a run over several tracks
                shutil.rmtree(path, ignore_errors=True)
            elif path not in keep:
                path.unlink()
        journal.save()
        return journal

    def path_of(self, number: int) -> Path:
        """Name of a segment."""
        return self.folder / f"{number:06}.segment"

    def extended(self, segment: SegmentEntry) -> Journal:
        """The journal with one more finished segment, safe on the disk."""
        longer = Journal(self.folder, self.fingerprint, (*self.segments, segment))
        longer.save()
        return longer

    def save(self) -> None:
        """Writes the journal in one step."""
        path = self.folder / "journal.json"
        entries = [asdict(segment) for segment in self.segments]
        content = {"schema": _SCHEMA, "fingerprint": self.fingerprint, "segments": entries}
        partial = partial_name(path)
        partial.write_text(json.dumps(content), "utf-8")
        sync_file(partial)
        partial.replace(path)
        sync_folder(self.folder)


def _known_segments(folder: Path, fingerprint: str) -> tuple[SegmentEntry, ...]:
    try:
        content = value_from_json((folder / "journal.json").read_text("utf-8"))
        if content["schema"] != _SCHEMA or content["fingerprint"] != fingerprint:
            return ()
        entries = [SegmentEntry(**entry) for entry in content["segments"]]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    sound: list[SegmentEntry] = []
    for number, entry in enumerate(entries):
        path = folder / f"{number:06}.segment"
        if not path.is_file() or file_digest(path) != entry.sha256:
            break
        sound.append(entry)
    return tuple(sound)
