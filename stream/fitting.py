"""Tries surrogates on: a donor that happens to resemble the subject is found before it is shown.

A surrogate is painted over the subject's own picture as it will be shown, and the embedder compares
the result with the subject. Nothing of the comparison reaches what is painted: it only passes over
draws, which keyed randomness had dealt. A file waits until the choice is known; a live stream
compares a draw or a few in each frame and covers the person meanwhile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.control_reading import ControlReader, Painter
from engines.embedder import PersonThresholds
from engines.trying_on import Subject, subject_from_frame, tried_on
from engines.types import Embedding, Face, Frame, Latent
from engines.visible_doubt import softness
from stream.face_drawing import UNFIT
from stream.track_embedding import Embedder

__all__ = ["TRYING_ON", "Fit", "Fitting", "Trial", "choice_of", "first_unlike"]

TRYING_ON: Final = "trying_on"
"""Why a person is covered whose surrogate is not chosen yet."""
_NEXT: Final = 4
"""Draws that are painted at once where the first one resembles and all may be painted in one
frame; all others follow together."""

_SOFT: Final = 0.06
"""Softness from which a face counts as out of focus, or as seen at few pixels."""
_USUAL: Final = 0.25
"""Cosine in the middle of the draws of a face in focus."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fit:
    """What trying on found.

    Attributes:
        choice: place of the first draw that does not resemble the subject; None where all do,
            or none could be painted.
        cause: why none could be painted; "" where they were.
    """

    choice: int | None
    cause: str = ""


@dataclass(slots=True)
class Trial:
    """One person on whom draws are tried.

    Attributes:
        subject: the person's face.
        embedding: (D,) float32 unit vector of the person.
        offered: latents of the draws, as far as they were asked for.
        softness: of the face, see `engines.visible_doubt`.
        likeness: cosines of those that were tried on, in their order; infinite where one could
            not be painted.
    """

    subject: Subject
    embedding: Embedding
    offered: Sequence[Latent]
    softness: float = 0.0
    likeness: Float32 = field(default_factory=lambda: np.empty(0, np.float32))


class Fitting:
    """Compares people with surrogates painted over them.

    Args:
        painter: control and generator, as they draw what is shown.
        embedder: tells people apart.
        thresholds: cosines from which a surrogate resembles its subject, and too much.
        step_s: time of a step after which no further draw is begun; at least one is tried on.
            When it grows, people are shown sooner and frames are later. By default all draws are
            tried on in one step.
        clock: seconds, never going back.
    """

    def __init__(
        self,
        painter: Painter,
        embedder: Embedder,
        thresholds: PersonThresholds,
        step_s: float = math.inf,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._painter = painter
        self._reader = ControlReader(painter)
        self._embedder = embedder
        self._thresholds = thresholds
        self._step_s = step_s
        self._clock = clock

    @property
    def is_spread(self) -> bool:
        """Whether people are tried on over several frames."""
        return math.isfinite(self._step_s)

    def begin(self, frame: Frame, face: Face, embedding: Embedding, first: Latent) -> Trial | Fit:
        """Reads a face that surrogates shall be tried on.

        Args:
            frame: shows the subject; not needed any more afterwards.
            face: where.
            embedding: (D,) float32 unit vector of the subject.
            first: latent of the first draw.

        Returns:
            The trial, or a fit without choice where the face cannot be painted just now.

        Raises:
            EngineFault: a network failed.
        """
        (look,) = self._reader.looks([(frame, face)])
        subject = subject_from_frame(frame.picture, face, look)
        if subject is None:
            return Fit(None, UNFIT)
        return Trial(subject, embedding, [first], softness(look, frame.picture))

    def step(self, trial: Trial, draws: Callable[[], Sequence[Latent]]) -> Fit | None:
        """Tries further draws on, in their order; None while it is open which one is chosen.

        It is the first draw that does not resemble the subject; else the one that does least.

        Args:
            trial: of `begin`; goes on.
            draws: gives the latents of all draws, the first one's included; called once, where
                the first one resembles.

        Raises:
            EngineFault: a network failed.
        """
        end_s = self._clock() + self._step_s
        while (fit := self._compared(trial, draws)) is None and self._clock() < end_s:
            pass
        return fit

    def _compared(self, trial: Trial, draws: Callable[[], Sequence[Latent]]) -> Fit | None:
        """Tries the next draws on that are painted together."""
        part = trial.offered[len(trial.likeness) :][: self._most_at_once(trial)]
        found = self._likeness(trial, part)
        if not len(trial.likeness) and np.isinf(found).all():
            return Fit(None, UNFIT)
        trial.likeness = np.concatenate([trial.likeness, found])
        place = first_unlike(trial.likeness, self._thresholds.alike)
        if place is not None:
            return Fit(place)
        if len(trial.likeness) == 1:
            trial.offered = draws()
            if not trial.offered:
                return Fit(None, "no_surrogate")
        if len(trial.likeness) < len(trial.offered):
            return None
        return Fit(choice_of(trial.likeness, self._thresholds, _shared_likeness(trial)))

    def _most_at_once(self, trial: Trial) -> int:
        if self.is_spread:
            return 1
        return _NEXT if len(trial.likeness) == 1 else len(trial.offered)

    def _likeness(self, trial: Trial, latents: Sequence[Latent]) -> Float32:
        """Cosines (N,) float32, infinite where a face could not be painted."""
        subjects = [trial.subject] * len(latents)
        crops, rows = tried_on(self._painter, subjects, np.stack(latents))
        found = np.full(len(latents), np.inf, np.float32)
        if len(rows):
            found[rows] = self._embedder.embed(crops) @ trial.embedding
        return found


def choice_of(likeness: Float32, limits: PersonThresholds, shared: float = 0.0) -> int | None:
    """Place of the draw that is chosen where all are known; None for a cover.

    Args:
        likeness: cosines of the draws, in their order; infinite where one could not be painted.
        limits: from which a draw resembles, and too much.
        shared: how much of it is no likeness of the draws themselves.

    >>> choice_of(np.float32([0.3, 0.25]), PersonThresholds(0.9, 0.8, alike=0.2, too_alike=0.3))
    1
    """
    place = first_unlike(likeness, limits.alike)
    if place is not None:
        return place
    least = int(likeness.argmin())
    return least if float(likeness[least]) < limits.too_alike + shared else None


def _shared_likeness(trial: Trial) -> float:
    """How much more all draws resemble a face out of focus than they would one in focus.

    Blur makes everybody alike to an embedder: what all draws share is then no likeness of theirs.
    """
    seen = trial.likeness[np.isfinite(trial.likeness)]
    if trial.softness < _SOFT or not len(seen):
        return 0.0
    return max(0.0, float(np.median(seen)) - _USUAL)


def first_unlike(likeness: Float32, alike: float) -> int | None:
    """Place of the first number below the threshold; None where there is none.

    >>> first_unlike(np.float32([0.4, np.inf, 0.1, 0.0]), 0.2)
    2
    """
    places = np.flatnonzero(likeness < alike)
    return int(places[0]) if len(places) else None
