"""Frames of a program's own in, the same without identities out: no files, no codecs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, count
from numbers import Real
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from config.settings import Settings
from engines.blending.compositor import Composite
from engines.pictures import picture_from_bgr
from engines.types import Frame
from gallery.gallery import Gallery
from stream.errors import UsageRefused
from stream.files.track_run import recording_anonymizer, replacer_for
from stream.media.ends import StreamShape
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.pipeline.stage_clock import StageClock
from stream.swap.swap_setup import shared_gallery

__all__ = ["FrameAnonymizer", "open_anonymizer"]

_TICKS: Final = Fraction(1, 90_000)
"""Seconds per unit of the frames' own times."""
_LARGEST_TERM: Final = 1001
"""Of the rate as a fraction; broadcast rates such as 30000/1001 stay exact."""


@dataclass(frozen=True, slots=True)
class FrameAnonymizer:
    """Anonymizes pictures that a program holds as arrays; made by `open_anonymizer`.

    One thread uses it at a time. People are known by one gallery, so somebody who comes again, in
    a later video too, wears the same face for as long as the settings say.
    """

    settings: Settings
    engines: EngineSet
    gallery: Gallery | None
    _ended: Event
    _numbers: Iterator[int] = field(default_factory=count)

    def video(
        self, frames: Iterable[NDArray[np.uint8]], rate: float, *, name: str = ""
    ) -> Iterator[Composite]:
        """The frames of one video, in order, each once what comes after it has been looked at.

        Args:
            frames: H×W×3 uint8, BGR, all of one size, in the order in which they are shown.
            rate: frames per second, at most 90 000; less than 1 for time lapse.
            name: of the video, for its composites; people in two videos of different names are
                never taken for twins side by side.

        Yields:
            One composite per frame, some seconds later: `composite.picture.bgr()` is the
            picture, `composite.outcomes` says what became of each face.

        Raises:
            UsageRefused: a frame is no such picture, the rate is out of range, or the block of
                `open_anonymizer` has ended.
            EngineFault: the detector died; no frame was let through.
        """
        exact = _exact(rate)
        coming = iter(frames)
        try:
            first = next(coming)
        except StopIteration:
            return
        _refuse_other(first)
        shape = StreamShape(first.shape[0], first.shape[1], exact, _TICKS, None)
        with self._anonymizing(shape, name, is_image=False) as anonymizer:
            for index, pixels in enumerate(chain([first], coming)):
                _refuse_other(pixels, first.shape)
                self._refuse_ended()
                yield from anonymizer.push(_frame(pixels, index, exact, name))
            self._refuse_ended()
            yield from anonymizer.flush()

    def image(self, pixels: NDArray[np.uint8], *, name: str = "") -> Composite:
        """One picture by itself.

        Args:
            pixels: H×W×3 uint8, BGR; left as it is.
            name: of the picture, for its composite.

        Raises:
            UsageRefused: it is no such picture, or the block of `open_anonymizer` has ended.
            EngineFault: the detector died.
        """
        _refuse_other(pixels)
        shape = StreamShape(pixels.shape[0], pixels.shape[1], Fraction(1), _TICKS, 1)
        with self._anonymizing(shape, name, is_image=True) as anonymizer:
            frame = _frame(pixels, 0, Fraction(1), name)
            (composite,) = [*anonymizer.push(frame), *anonymizer.flush()]
        return composite

    @contextmanager
    def _anonymizing(
        self, shape: StreamShape, name: str, *, is_image: bool
    ) -> Iterator[Anonymizer]:
        """What frames are pushed through, and forgotten by at the end."""
        self._refuse_ended()
        settings, engines, gallery = self.settings, self.engines, self.gallery
        stream = gallery.opaque_name(f"{name}\0{next(self._numbers)}") if gallery else ""
        replacer = replacer_for(stream, settings, engines, gallery, is_image=is_image)
        anonymizer = recording_anonymizer(
            settings, engines, replacer, shape, StageClock(), is_image=is_image
        )
        try:
            yield anonymizer
        finally:
            anonymizer.close()
            if gallery is not None:
                gallery.end(stream)

    def _refuse_ended(self) -> None:
        """Without its networks a search fails, and frames would come back covered as a whole."""
        if self._ended.is_set():
            raise UsageRefused("the anonymizer is closed; use it inside its `with` block")


@contextmanager
def open_anonymizer(settings: Settings | None = None) -> Iterator[FrameAnonymizer]:
    """Opens networks and gallery once, for as many videos and pictures as there are.

    Args:
        settings: what was chosen, see `load_settings`; the defaults otherwise.

    Raises:
        KveilError: a network, a donor pack or the gallery's store cannot be opened.
    """
    chosen = Settings() if settings is None else settings
    with (
        open_engines(chosen, is_recorded=True) as engines,
        shared_gallery(chosen, engines) as gallery,
    ):
        ended = Event()
        try:
            yield FrameAnonymizer(chosen, engines, gallery, ended)
        finally:
            ended.set()


def _exact(rate: float) -> Fraction:
    """The rate as a fraction of small terms: of the rate, or below 1 of its inverse.

    >>> _exact(29.97), _exact(1 / 3600)
    (Fraction(2997, 100), Fraction(1, 3600))

    Raises:
        UsageRefused: it is no number above zero, or frames would share a time.
    """
    if not isinstance(rate, Real):
        raise UsageRefused(f"a rate is a number of frames a second, not {type(rate).__name__}")
    if not rate > 0:
        raise UsageRefused(f"{rate} frames a second are none; give a rate above zero")
    if rate > 1 / _TICKS:
        raise UsageRefused(f"{rate} frames a second are too many; give 90000 at most")
    given = rate if isinstance(rate, Fraction) else Fraction(float(rate))
    if given < 1:
        return 1 / (1 / given).limit_denominator(_LARGEST_TERM)
    return given.limit_denominator(_LARGEST_TERM)


def _refuse_other(pixels: object, shape: tuple[int, ...] | None = None) -> None:
    """Refuses what is no picture, or one of another shape than the first."""
    if not isinstance(pixels, np.ndarray):
        raise UsageRefused(
            f"a frame is of type {type(pixels).__name__}; give uint8[height, width, 3], BGR"
        )
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise UsageRefused(
            f"a frame is {pixels.dtype}{list(pixels.shape)}; give uint8[height, width, 3], BGR"
        )
    if shape is not None and pixels.shape != shape:
        raise UsageRefused(
            f"a frame is {pixels.shape[1]}x{pixels.shape[0]} after ones of {shape[1]}x{shape[0]}; "
            "give frames of another size as another video"
        )


def _frame(pixels: NDArray[np.uint8], index: int, rate: Fraction, name: str) -> Frame:
    """A frame with pixels of its own: the compositor writes into them."""
    ticks = Fraction(index) / rate / _TICKS
    return Frame(
        picture=picture_from_bgr(np.array(pixels, order="C")),
        pts=round(ticks),
        time_base=_TICKS,
        index=index,
        stream=name,
        duration=round(1 / rate / _TICKS),
    )
