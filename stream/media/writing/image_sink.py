"""A composite into an image file, under its final name only when complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engines.blending.compositor import Composite
from stream.errors import OutputNotWritable, UsageRefused, writing
from stream.media.reading.image_source import ImageSource
from stream.media.stills import IMAGE_ENDINGS, Beside
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import checked_composite
from stream.media.writing.partial_file import PartialFile
from stream.media.writing.still_writing import encoded_still, lost_in

__all__ = ["ImageSink"]


class ImageSink:
    """Writes the image of a source from its composite.

    Args:
        path: final name; its ending chooses the format.
        source: gives the image, and what returns beside its pixels.
        settings: quality and overwriting.

    Attributes:
        losses: what the format of the output does not keep, one line each.

    Raises:
        UsageRefused: the output is the input, or its name is no picture's.
        OutputNotWritable: it exists or cannot be made.
    """

    def __init__(self, path: Path, source: ImageSource, settings: EncodeSettings) -> None:
        if path.suffix.lower() not in IMAGE_ENDINGS:
            known = " ".join(sorted(IMAGE_ENDINGS))
            raise UsageRefused(f"cannot write {path.name} as a picture; use one of: {known}")
        self._settings = settings
        self._source = source
        self._is_over = False
        self._file = PartialFile(path, source.probe.path, overwrite=settings.overwrite)
        self.losses: tuple[str, ...] = ()

    def write(self, composite: Composite) -> None:
        """Encodes the composite.

        Raises:
            OutputNotWritable: disk full, or the format cannot hold the picture.
        """
        checked_composite(composite)
        if self._is_over:
            raise OutputNotWritable("the output is closed; nothing more is written")
        final, beside = self._file.final, self._beside(composite)
        self.losses = lost_in(final, composite.picture, beside)
        with writing(final.name):
            data = encoded_still(
                composite.picture,
                beside,
                final,
                self._settings.image_quality,
                is_marked=self._settings.is_marked and _shows_surrogates(composite),
            )
            self._file.path.write_bytes(data)

    def finish(self) -> None:
        """Gives the image its final name."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self._file.publish()
        except BaseException:
            self._file.discard()
            raise

    def abort(self) -> None:
        """Ends at once and removes what is incomplete; idempotent."""
        if not self._is_over:
            self._file.discard()
        self._is_over = True

    def _beside(self, composite: Composite) -> Beside:
        beside = self._source.beside()
        if beside is None:
            name = self._file.final.name
            raise OutputNotWritable(
                f"cannot write {name}: its picture was not read, or was written"
            )
        if composite.is_fully_covered:
            return replace(beside, cut_out=None)
        return beside


def _shows_surrogates(composite: Composite) -> bool:
    return any(outcome.result == "swapped" for outcome in composite.outcomes)
