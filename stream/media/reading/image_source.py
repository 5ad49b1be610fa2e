"""Pictures of one image file or of a folder of them, one frame each."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from engines.types import Frame
from stream.errors import InputUnreadable, reading
from stream.media.containers import video_endings
from stream.media.ends import StreamShape
from stream.media.reading.decoder_bounds import MAX_PIXELS
from stream.media.reading.probe import ColourTags, MediaProbe, SourceReport
from stream.media.reading.recorded_source import RecordedSource
from stream.media.stills import IMAGE_ENDINGS, Beside, Still, decoded_still

__all__ = ["FolderListing", "ImageSource", "counted", "folder_listing"]

_TIME_BASE: Final = Fraction(1)


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Media in a folder and below it, each list in order of name.

    Attributes:
        images: single pictures.
        videos: recordings.
        others: files that are neither.
    """

    images: tuple[Path, ...]
    videos: tuple[Path, ...]
    others: tuple[Path, ...]


def folder_listing(folder: Path) -> FolderListing:
    """Sorts a folder's files by kind; hidden files and links that lead out are left alone.

    Raises:
        InputUnreadable: no folder, or no rights to read it.
    """
    with reading(folder.name):
        if not folder.is_dir():
            raise InputUnreadable(f"cannot read {folder.name}: it is no folder")
        root = folder.resolve()
        files = sorted(
            path
            for path in folder.rglob("*")
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and path.resolve().is_relative_to(root)
        )
    kinds = [_kind(path) for path in files]
    by_kind = {
        wanted: tuple(path for path, kind in zip(files, kinds, strict=True) if kind == wanted)
        for wanted in ("image", "video", "other")
    }
    return FolderListing(by_kind["image"], by_kind["video"], by_kind["other"])


def _kind(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in IMAGE_ENDINGS:
        return "image"
    return "video" if ending in video_endings() else "other"


def counted(losses: Counter[str], pictures: int) -> Iterator[str]:
    """One line for each loss, with the number of pictures where there are several.

    >>> list(counted(Counter({"8 of 16 bits are kept": 3}), 9))
    ['8 of 16 bits are kept (3 pictures)']
    """
    for loss, count in losses.items():
        yield loss if pictures == 1 else f"{loss} ({count} pictures)"


class ImageSource(RecordedSource):
    """Gives each image as one frame; frame `i` is image `i` of `paths`, at second `i`.

    Pictures of a folder have nothing to do with each other: they differ in size and show
    different people, so nothing is tracked across them.

    Args:
        path: an image, or a folder of images (and of folders of images).
        max_pixels: larger pictures are refused.
        rotation: degrees clockwise by which pictures are turned besides what the file says.

    Raises:
        InputUnreadable: missing, empty, damaged, or a folder without images.
    """

    def __init__(self, path: Path, *, max_pixels: int = MAX_PIXELS, rotation: int = 0) -> None:
        self._max_pixels = max_pixels
        self._rotation = rotation
        self._lock = threading.Lock()
        self._is_closed = False
        self._besides: dict[int, Beside] = {}
        self._lost: Counter[str] = Counter()
        is_folder = path.is_dir()
        self._paths = folder_listing(path).images if is_folder else (path,)
        if not self._paths:
            raise InputUnreadable(f"cannot read {path.name}: the folder holds no images")
        first = self._first_readable(is_folder)
        picture = first.picture
        shape = StreamShape(
            picture.height, picture.width, 1 / _TIME_BASE, _TIME_BASE, len(self._paths)
        )
        self._probe = MediaProbe(
            path=path,
            kind="folder" if is_folder else "image",
            container=first.beside.format,
            codec=first.beside.format.lower(),
            pixel_format=picture.layout,
            layout=picture.layout,
            bit_depth=picture.bit_depth,
            shape=shape,
            colour=ColourTags(range=2),
            dropped=first.dropped,
        )
        self._report = SourceReport()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The images in the order of their frames."""
        return self._paths

    def frames(self) -> Iterator[Frame]:
        """Every readable image once; in a folder, unreadable ones are skipped and reported.

        Raises:
            InputUnreadable: the single image cannot be read.
        """
        for index, path in enumerate(self._paths):
            with self._lock:
                if self._is_closed:
                    return
            still = self._read(path)
            if still is None:
                continue
            self._report = replace(self._report, frames=self._report.frames + 1)
            self._lost.update(still.lost)
            with self._lock:
                self._besides[index] = still.beside
            yield Frame(still.picture, index, _TIME_BASE, index)
        told = tuple(counted(self._lost, len(self._paths)))
        self._report = replace(self._report, warnings=self._report.warnings + told)

    def beside(self, index: int) -> Beside | None:
        """What must return with image `index`, once, after its frame was given; else None.

        So what is written belongs to the pixels that were searched, whatever has become of the
        file. Callable from any thread.
        """
        with self._lock:
            return self._besides.pop(index, None)

    def close(self) -> None:
        """Stops `frames`; idempotent, callable from any thread."""
        with self._lock:
            self._is_closed = True

    def _read(self, path: Path) -> Still | None:
        try:
            return decoded_still(path, self._max_pixels, self._rotation)
        except InputUnreadable as error:
            if self._probe.kind == "image":
                raise
            known = self._report.warnings
            self._report = replace(self._report, warnings=(*known, f"skipped: {error}"))
            return None

    def _first_readable(self, is_folder: bool) -> Still:
        problems: list[InputUnreadable] = []
        for path in self._paths:
            try:
                return decoded_still(path, self._max_pixels, self._rotation)
            except InputUnreadable as error:
                problems.append(error)
                if not is_folder:
                    raise
        raise problems[0]
