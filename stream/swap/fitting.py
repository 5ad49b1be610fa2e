"""Tries surrogates on: a donor that happens to resemble the subject is found before it is shown.

A surrogate is painted over the subject's own pictures as it will be shown, and the embedder
compares the results with the subject: in one frame, and in a few more those draws that may be
chosen, since the least alike of many in one frame is often least alike there alone. Of draws that
are unlike enough those come first that go with the subject's head, which is in view anyway. Nothing
of the comparison reaches what is painted: it only passes over draws, which keyed randomness had
dealt. A file waits until the choice is known; a live stream, whose frames ahead show little else,
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

from engines.face.attribute_bins import AttributeReader
from engines.face.control_reading import ControlReader, Painter
from engines.face.embedder import PersonThresholds
from engines.face.hair_fit import SUITS, suitability_costs
from engines.face.trying_on import Subject, subject_from_frame, tried_on, worth_trying
from engines.face.visible_doubt import softness
from engines.types import Embedding, Face, Frame, Latent
from stream.swap.control_track import UNFIT
from stream.swap.track_embedding import Embedder

__all__ = [
    "NEAREST",
    "TRYING_ON",
    "Draws",
    "Fit",
    "Fitting",
    "Trial",
    "choice_of",
    "first_suiting",
    "nearest",
]

TRYING_ON: Final = "trying_on"
"""Why a person is covered whose surrogate is not chosen yet."""
_NEXT: Final = 4
"""Draws that are painted at once where the first one resembles and all may be painted in one
frame; all others follow together."""

NEAREST: Final = 4
"""The best draws, which are tried on in further frames where all resemble in the first."""
_LAST: Final = 1e3
"""Added to what draws are chosen by that resemble too much."""
_SOFT: Final = 0.06
"""Softness from which a face counts as out of focus, or as seen at few pixels."""
_USUAL: Final = 0.25
"""Cosine in the middle of the draws of a face in focus."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draws:
    """What a person may get.

    Attributes:
        latents: of the draws, in their order.
        donors: what their main donors look like to the embedder; None where that is not known.
    """

    latents: Sequence[Latent]
    donors: Sequence[Embedding | None]


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
        subjects: the person's face in a few frames, at least one.
        embedding: (D,) float32 unit vector of the person.
        offered: latents of the draws that are tried on, as far as they were asked for.
        places: theirs among all draws.
        softness: of the face in the first of them, see `engines.face.visible_doubt`.
        likeness: cosines of those that were tried on, in their order; infinite where one could not
            be painted.
        misfits: how badly those go with the subject's head in the first frame.
        is_mean: which of them are means over all frames, and not of the first alone.
    """

    subjects: Sequence[Subject]
    embedding: Embedding
    offered: Sequence[Latent]
    softness: float = 0.0
    places: NDArray[np.intp] = field(default_factory=lambda: np.zeros(1, np.intp))
    likeness: Float32 = field(default_factory=lambda: np.empty(0, np.float32))
    misfits: Float32 = field(default_factory=lambda: np.empty(0, np.float32))
    is_mean: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))

    def anew(self, first: Latent) -> Trial:
        """The same person, on whom other draws are tried."""
        return Trial(self.subjects, self.embedding, [first], self.softness)


class Fitting:
    """Compares people with surrogates painted over them.

    Args:
        painter: control and generator, as they draw what is shown.
        embedder: tells people apart.
        thresholds: cosines from which a surrogate resembles its subject, and too much.
        attributes: reads how alike they look otherwise; None where that is not to be shown.
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
        attributes: AttributeReader | None = None,
        step_s: float = math.inf,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._painter = painter
        self._reader = ControlReader(painter)
        self._embedder = embedder
        self._thresholds = thresholds
        self._attributes = attributes
        self._step_s = step_s
        self._clock = clock

    @property
    def is_spread(self) -> bool:
        """Whether people are tried on over several frames."""
        return math.isfinite(self._step_s)

    def begin(
        self, places: Sequence[tuple[Frame, Face]], embedding: Embedding, first: Latent
    ) -> Trial | Fit:
        """Reads a face that surrogates shall be tried on.

        Args:
            places: frames that show the subject, and where; not needed any more afterwards.
            embedding: (D,) float32 unit vector of the subject.
            first: latent of the first draw.

        Returns:
            The trial, in those of the frames in which the face can be painted, of a live stream in
            the first of them; a fit without choice where it can be in none.

        Raises:
            EngineFault: a network failed.
        """
        together = [[one] for one in places] if self.is_spread else [places]
        seen = next(filter(None, map(self._seen, together)), [])
        if not seen:
            return Fit(None, UNFIT)
        return Trial([subject for subject, _ in seen], embedding, [first], seen[0][1])

    def _seen(self, places: Sequence[tuple[Frame, Face]]) -> list[tuple[Subject, float]]:
        """The face in those of the frames in which it can be painted, and how soft it is there."""
        looks = self._reader.looks(places)
        return [
            (subject, softness(look, frame.picture))
            for (frame, face), look in zip(places, looks, strict=True)
            if (subject := subject_from_frame(frame.picture, face, look)) is not None
        ]

    def step(self, trial: Trial, draws: Callable[[], Draws]) -> Fit | None:
        """Tries further draws on, in their order; None while it is open which one is chosen.

        It is the first draw that does not resemble the subject and goes with its head; else, of
        those that do not resemble too much, the one that resembles little and goes best with it.

        Args:
            trial: of `begin`; goes on.
            draws: gives all draws, the first one included; called once, where that resembles.
                Those are tried on that are worth it, see `worth_trying`.

        Raises:
            EngineFault: a network failed.
        """
        end_s = self._clock() + self._step_s
        while (fit := self._compared(trial, draws)) is None and self._clock() < end_s:
            pass
        return fit

    def _compared(self, trial: Trial, draws: Callable[[], Draws]) -> Fit | None:
        """Tries the next draws on that are painted together."""
        before = len(trial.likeness)
        part = trial.offered[before:][: self._most_at_once(trial)]
        found, misfits = self._compared_in_first(trial, part)
        if not before and np.isinf(found).all():
            return Fit(None, UNFIT)
        trial.likeness = np.concatenate([trial.likeness, found])
        trial.misfits = np.concatenate([trial.misfits, misfits])
        trial.is_mean = np.concatenate([trial.is_mean, np.zeros(len(found), np.bool_)])
        self._look_further(trial, np.flatnonzero(trial.likeness < self._thresholds.alike))
        place = first_suiting(trial.likeness, trial.misfits, self._thresholds.alike)
        if place is not None:
            return Fit(int(trial.places[place]))
        if len(trial.likeness) == 1:
            drawn = draws()
            if not drawn.latents:
                return Fit(None, "no_surrogate")
            trial.places = worth_trying(drawn.donors, trial.embedding)
            trial.offered = [drawn.latents[place] for place in trial.places.tolist()]
        if len(trial.likeness) < len(trial.offered):
            return None
        shared = _shared_likeness(trial)
        best = nearest(trial.likeness, trial.misfits, self._thresholds, shared)
        self._look_further(trial, best)
        likeness = np.full_like(trial.likeness, np.inf)
        likeness[best] = trial.likeness[best]
        chosen = choice_of(likeness, trial.misfits, self._thresholds, shared)
        return Fit(None if chosen is None else int(trial.places[chosen]))

    def _look_further(self, trial: Trial, places: NDArray[np.intp]) -> None:
        """Takes the draws at these places by their mean over all frames from now on."""
        places = places[~trial.is_mean[places] & np.isfinite(trial.likeness[places])]
        trial.is_mean[places] = True
        if len(trial.subjects) == 1 or not len(places):
            return
        latents = [trial.offered[place] for place in places]
        seen = [trial.likeness[places]]
        seen += [self._worn(trial, latents, one)[0] for one in trial.subjects[1:]]
        known = np.ma.masked_invalid(np.stack(seen))
        trial.likeness[places] = known.mean(axis=0).filled(np.inf)

    def _most_at_once(self, trial: Trial) -> int:
        if self.is_spread:
            return 1
        return _NEXT if len(trial.likeness) == 1 else len(trial.offered)

    def _compared_in_first(
        self, trial: Trial, latents: Sequence[Latent]
    ) -> tuple[Float32, Float32]:
        """Cosines and misfits (N,) float32 in the first frame; infinite as in `_worn`."""
        subject, reader = trial.subjects[0], self._attributes
        found, crops, rows, worn = self._worn(trial, latents, subject)
        misfits = np.full(len(latents), np.inf, np.float32)
        if len(rows):
            apart = None if reader is None else reader.apart(worn, trial.embedding)
            misfits[rows] = subject.misfits(crops, apart)
        return found, misfits

    def _worn(
        self, trial: Trial, latents: Sequence[Latent], subject: Subject
    ) -> tuple[Float32, NDArray[np.uint8], NDArray[np.intp], Float32]:
        """Cosines (N,) float32 in one frame, infinite where one was not painted; see `tried_on`.

        The crops and rows are of `tried_on`, float32[M, D] the embeddings of those crops.
        """
        crops, rows = tried_on(self._painter, [subject] * len(latents), np.stack(latents))
        found = np.full(len(latents), np.inf, np.float32)
        if not len(rows):
            return found, crops, rows, np.empty((0, len(trial.embedding)), np.float32)
        worn = self._embedder.embed(crops)
        found[rows] = worn @ trial.embedding
        return found, crops, rows, worn


def nearest(
    likeness: Float32, misfits: Float32, limits: PersonThresholds, shared: float = 0.0
) -> NDArray[np.intp]:
    """Places of the `NEAREST` draws that `choice_of` would choose first; see there."""
    return np.argsort(_costs(likeness, misfits, limits, shared), kind="stable")[:NEAREST]


def choice_of(
    likeness: Float32, misfits: Float32, limits: PersonThresholds, shared: float = 0.0
) -> int | None:
    """Place of the draw that is chosen where all are known; None for a cover.

    Args:
        likeness: cosines of the draws, in their order; infinite where one could not be painted.
        misfits: how badly they go with the subject's head.
        limits: from which a draw resembles, and too much.
        shared: how much of it is no likeness of the draws themselves.

    >>> limits = PersonThresholds(0.9, 0.8, alike=0.2, too_alike=0.3)
    >>> choice_of(np.float32([0.3, 0.25, 0.27]), np.float32([0.1, 0.4, 0.1]), limits)
    2
    """
    place = first_suiting(likeness, misfits, limits.alike)
    if place is not None:
        return place
    least = int(_costs(likeness, misfits, limits, shared).argmin())
    return least if float(likeness[least]) < limits.too_alike + shared else None


def _costs(likeness: Float32, misfits: Float32, limits: PersonThresholds, shared: float) -> Float32:
    """What the draws are chosen by, the least first; those that resemble too much come last."""
    too_alike = likeness >= limits.too_alike + shared
    costs = suitability_costs(likeness, misfits)
    return np.asarray(np.where(too_alike, _LAST + likeness, costs), np.float32)


def _shared_likeness(trial: Trial) -> float:
    """How much more all draws resemble a face out of focus than they would one in focus.

    Blur makes everybody alike to an embedder: what all draws share is then no likeness of theirs.
    """
    seen = trial.likeness[np.isfinite(trial.likeness)]
    if trial.softness < _SOFT or not len(seen):
        return 0.0
    return max(0.0, float(np.median(seen)) - _USUAL)


def first_suiting(likeness: Float32, misfits: Float32, alike: float) -> int | None:
    """Place of the first draw below the threshold that goes with the head; None without one.

    >>> likeness, misfits = np.float32([0.4, np.inf, 0.1, 0.0]), np.float32([0, np.inf, 0.5, 0.1])
    >>> first_suiting(likeness, misfits, 0.2)
    3
    """
    places = np.flatnonzero((likeness < alike) & (misfits <= SUITS))
    return int(places[0]) if len(places) else None
