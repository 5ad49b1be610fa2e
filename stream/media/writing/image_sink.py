"""Composites into image files, each under its final name only when complete."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from engines.blending.compositor import Composite
from stream.errors import OutputNotWritable, UsageRefused, writing
from stream.media.reading.image_source import ImageSource, counted
from stream.media.stills import IMAGE_ENDINGS, Beside
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import checked_composite
from stream.media.writing.partial_file import PartialFile, made_folder
from stream.media.writing.still_writing import encoded_still, lost_in

__all__ = ["ImageSink"]


class ImageSink:
    """Writes image `i` of a source from composite `i`.

    Args:
        path: a file for a single image; for a folder, a folder, which is made and gets
            the input's names and folders.
        source: gives the images, and what returns beside their pixels.
        settings: quality and overwriting.

    Raises:
        UsageRefused: the output is the input or lies in it.
        OutputNotWritable: it exists or cannot be made.
    """

    def __init__(self, path: Path, source: ImageSource, settings: EncodeSettings) -> None:
        self._settings = settings
        self._source = source
        root = source.probe.path
        self._is_over = False
        self._lost: Counter[str] = Counter()
        self._waiting: PartialFile | None = None
        self._is_folder = root.is_dir()
        if self._is_folder:
            _check_folder(path, root)
            self._targets = tuple(path / image.relative_to(root) for image in source.paths)
        else:
            self._targets = (path,)
            if path.suffix.lower() not in IMAGE_ENDINGS:
                known = " ".join(sorted(IMAGE_ENDINGS))
                raise UsageRefused(f"cannot write {path.name} as a picture; use one of: {known}")
            self._waiting = PartialFile(path, root, overwrite=settings.overwrite)

    @property
    def losses(self) -> tuple[str, ...]:
        """What the format of the output does not keep, one line each."""
        return tuple(counted(self._lost, len(self._targets)))

    def write(self, composite: Composite) -> None:
        """Encodes one composite; in a folder its file is complete when this returns.

        Raises:
            OutputNotWritable: disk full, or the format cannot hold the picture.
        """
        checked_composite(composite)
        if self._is_over:
            raise OutputNotWritable("the output is closed; nothing more is written")
        target = self._targets[composite.index]
        beside = self._beside(composite)
        self._lost.update(lost_in(target, composite.picture, beside))
        with writing(target.name):
            data = encoded_still(
                composite.picture,
                beside,
                target,
                self._settings.image_quality,
                is_marked=self._settings.is_marked and _shows_surrogates(composite),
            )
            if self._waiting is not None:
                self._waiting.path.write_bytes(data)
            else:
                self._write_into_folder(target, self._source.paths[composite.index], data)

    def finish(self) -> None:
        """Gives a single image its final name; a folder's files have theirs."""
        if self._is_over:
            return
        self._is_over = True
        if self._waiting is not None:
            try:
                self._waiting.publish()
            except BaseException:
                self._waiting.discard()
                raise

    def abort(self) -> None:
        """Ends at once and removes what is incomplete; idempotent."""
        if not self._is_over and self._waiting is not None:
            self._waiting.discard()
        self._is_over = True

    def _beside(self, composite: Composite) -> Beside:
        beside = self._source.beside(composite.index)
        if beside is None:
            name = self._targets[composite.index].name
            raise OutputNotWritable(
                f"cannot write {name}: its picture was not read, or was written"
            )
        if composite.is_fully_covered:
            return replace(beside, cut_out=None)
        return beside

    def _write_into_folder(self, target: Path, source: Path, data: bytes) -> None:
        made_folder(target.parent)
        file = PartialFile(target, source, overwrite=self._settings.overwrite)
        try:
            file.path.write_bytes(data)
            file.publish()
        except BaseException:
            file.discard()
            raise


def _shows_surrogates(composite: Composite) -> bool:
    return any(outcome.result == "swapped" for outcome in composite.outcomes)


def _check_folder(path: Path, root: Path) -> None:
    output, source = path.resolve(), root.resolve()
    if output == source or output.is_relative_to(source):
        raise UsageRefused(f"{path.name} lies in the input folder; name a folder outside it")
    with writing(path.name):
        if path.exists() and not path.is_dir():
            raise OutputNotWritable(f"cannot write into {path.name}: it is a file; name a folder")
        made_folder(path)
