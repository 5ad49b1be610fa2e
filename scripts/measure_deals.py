#!/usr/bin/env python3
"""How often somebody gets a surrogate that resembles them: `scripts/measure_deals.py CLIPS`.

CLIPS is a folder. The largest face of a frame is followed, and the donors of its bin are tried on
as `engines.face.trying_on` does, in frames spread over what is seen of the person. Deals of so many
draws are then chosen from as in `stream.swap.fitting`: by the first frame alone, and by several
frames of the first second for those that are least alike in the first. Recognisers that have no
part in the choice say of each deal whether, over all frames, they take the surrogate for the
person.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import coded_picture, largest_face
from config.settings import Settings
from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector
from engines.errors import EngineFault
from engines.face.alignment import crop_from_picture, kveil_from_landmarks, moved
from engines.face.control_reading import ControlReader
from engines.face.embedder import PersonThresholds
from engines.face.trying_on import (
    TRIED_SIZE,
    Subject,
    subject_from_frame,
    tried_on,
    worth_trying,
)
from engines.types import Face, Frame
from evaluation.clips import decoded
from evaluation.recognisers import Recogniser, models_folder, recognisers_from_names
from gallery.draws import DRAWS
from stream.pipeline.engine_set import SwapEngines, open_engines
from stream.pipeline.methods import SWAP
from stream.swap.fitting import choice_of, nearest

Float32 = NDArray[np.float32]

_RATE: Final = Fraction(25)
"""Frames a second of clips that do not say."""
_STEP_S: Final = 0.2
"""Between frames that are looked at."""
_FRAMES: Final = (7, 9)
"""Frames of a person at least and at most."""
_AHEAD_S: Final = 1.0
_LEAST_PX: Final = 48.0
_SAME: Final = 0.5
"""Cosine of the first frame from which a face is the same person's."""
_NAMES: Final = {0: "the first draw", 1: "one frame"}
_WAYS: Final = (1, 2, 4)
"""Frames of the first second by which a deal is chosen."""


@dataclass(frozen=True, slots=True)
class Person:
    """One person's draws.

    Attributes:
        own: cosines by the embedder, float32[frames, draws]; NaN where one could not be painted.
        misfits: how badly they go with the person's hair, float32[draws].
        who: (D,) float32 unit vector of the person by the embedder.
        donors: what the draws' donors look like by themselves, float32[draws, D].
        others: of each recogniser, of means over all frames, less its threshold: float32[draws].
    """

    own: Float32
    misfits: Float32
    who: Float32
    donors: Float32
    others: dict[str, Float32]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("--models", type=Path, help="folder of the recognisers")
    parser.add_argument("--recogniser", action="append", help="a preset's name or a TOML")
    parser.add_argument("--draws", type=int, default=20, help="donors that deals are made of")
    parser.add_argument("--visits", type=int, default=9, help="of people in a clip, at most")
    parser.add_argument("--deals", type=int, default=200, help="of each person")
    chosen = parser.parse_args()
    models = models_folder(chosen.models)
    names = chosen.recogniser or ["mobilefacenet_w128", "edgeface_xxs"]
    judges = recognisers_from_names(names, OpenVino(), models)
    settings = Settings().model_copy(update={"method": SWAP})
    people: list[Person] = []
    with open_engines(settings) as engines:
        assert engines.swap is not None
        for clip in sorted(path for path in chosen.clips.iterdir() if path.is_file()):
            for seen in islice(visits(clip, engines.detector, engines.swap), chosen.visits):
                one = tried(seen, engines.swap, judges, chosen.draws)
                people += [] if one is None else [one]
            print(f"{clip.name}: {len(people)} people so far", file=sys.stderr)
        limits = engines.swap.thresholds
    print(f"{len(people)} people, {chosen.deals} deals of {DRAWS} draws of {chosen.draws} donors\n")
    print(
        f"| chosen by | {' | '.join(f'taken by {name}' for name in names_of(people))} | covered |"
    )
    print(f"|---|{'---|' * (len(names_of(people)) + 1)}")
    for frames in (0, *_WAYS):
        rng = np.random.default_rng(0)
        found = [outcome(one, frames, rng, limits, chosen.deals) for one in people]
        taken = [np.mean([part[0][name] for part in found]) for name in names_of(people)]
        cells = [f"{share:.1%}" for share in [*taken, np.mean([part[1] for part in found])]]
        print(f"| {_NAMES.get(frames, f'{frames} frames')} | {' | '.join(cells)} |")
    return 0


def visits(
    clip: Path, detector: Detector, swap: SwapEngines
) -> Iterator[list[tuple[Frame, Face, Float32]]]:
    """People of a clip: frames in which each is the largest face, where, and the embedding."""
    seen: list[tuple[Frame, Face, Float32]] = []
    for frame in frames(clip):
        try:
            face = largest_face(detector, frame.picture.bgr())
        except EngineFault:
            continue
        if float((face.box_px[2:] - face.box_px[:2]).min()) < _LEAST_PX:
            continue
        place = kveil_from_landmarks(face.landmarks_px, TRIED_SIZE)
        crop = crop_from_picture(frame.picture, place, TRIED_SIZE)
        own = swap.embedder.embed(crop[None])[0]
        if seen and (float(own @ seen[0][2]) < _SAME or len(seen) == _FRAMES[1]):
            yield seen
            seen = []
        seen.append((frame, face, own))
    if seen:
        yield seen


def frames(clip: Path) -> Iterator[Frame]:
    """A clip's frames, one every so often."""
    due_s = 0.0
    for index, still in enumerate(decoded(clip)):
        time_s = index / _RATE if still.time_s is None else still.time_s
        if time_s >= due_s:
            due_s += _STEP_S
            yield Frame(coded_picture(still.image), index, 1 / _RATE, index)


def tried(
    seen: Sequence[tuple[Frame, Face, Float32]],
    swap: SwapEngines,
    judges: Sequence[Recogniser],
    draws: int,
) -> Person | None:
    """All draws on a person; None where too few frames show the face so that it can be painted."""
    looks = ControlReader(swap.painter).looks([(frame, face) for frame, face, _ in seen])
    kept = [
        (subject, own)
        for (frame, face, own), look in zip(seen, looks, strict=True)
        if (subject := subject_from_frame(frame.picture, face, look)) is not None
    ]
    if len(kept) < _FRAMES[0]:
        return None
    subjects = [subject for subject, _ in kept]
    who = np.sum([own for _, own in kept[: max(_WAYS)]], axis=0)
    who /= np.linalg.norm(who)
    pool = swap.donors.matching(swap.attributes.values_of(who) if swap.attributes else {}, draws)
    rows = np.random.default_rng(len(pool)).choice(pool, min(draws, len(pool)), replace=False)
    own = np.full((len(subjects), len(rows)), np.nan, np.float32)
    misfits = np.zeros(len(rows), np.float32)
    means = [_means(subjects, _bare(subjects), judges)]
    for draw, row in enumerate(rows):
        latents = np.repeat(swap.donors.latents[[row]], len(subjects), axis=0)
        crops, painted = tried_on(swap.painter, subjects, latents)
        if not len(painted):
            return None
        worn = swap.embedder.embed(crops)
        own[painted, draw] = worn @ who
        apart = None if swap.attributes is None else swap.attributes.apart(worn[:1], who)
        misfits[draw] = subjects[painted[0]].misfits(crops[:1], apart)[0]
        means.append(_means([subjects[one] for one in painted], crops, judges))
    others = {
        judge.name: np.array(
            [means[0][judge.name] @ one[judge.name] - judge.threshold for one in means[1:]],
            np.float32,
        )
        for judge in judges
    }
    return Person(own, misfits, who, swap.donors.faces[rows], others)


def _bare(subjects: Sequence[Subject]) -> NDArray[np.uint8]:
    return np.stack([one.crop() for one in subjects])


def _means(
    subjects: Sequence[Subject], crops: NDArray[np.uint8], judges: Sequence[Recogniser]
) -> dict[str, Float32]:
    """By recogniser, the unit mean of crops' vectors."""
    places = [moved(one.crop_from_picture, one.face.landmarks_px) for one in subjects]
    marks = [np.asarray(one, np.float32) for one in places]
    sums = {judge.name: judge.embed(list(crops), marks).sum(axis=0) for judge in judges}
    return {name: one / np.linalg.norm(one) for name, one in sums.items()}


def outcome(
    person: Person, frames: int, rng: np.random.Generator, limits: PersonThresholds, deals: int
) -> tuple[dict[str, float], float]:
    """Shares of deals that each recogniser takes for the person, and of those that are covered."""
    later = np.linspace(0, round(_AHEAD_S / _STEP_S), max(frames, 1)).round().astype(int)
    with np.errstate(invalid="ignore"):
        likeness, mean = (np.nanmean(person.own[rows], axis=0) for rows in ([0], later))
    likeness, mean = (np.where(np.isnan(one), np.inf, one) for one in (likeness, mean))
    taken, covered = dict.fromkeys(person.others, 0), 0
    for _ in range(deals):
        drawn = rng.choice(len(likeness), min(DRAWS, len(likeness)), replace=False)
        drawn = drawn[worth_trying(person.donors[drawn], person.who)]
        told = np.full(len(drawn), np.inf, np.float32)
        misfits = person.misfits[drawn]
        best = nearest(likeness[drawn].astype(np.float32), misfits, limits)
        told[best] = mean[drawn[best]]
        choice = choice_of(told, misfits, limits) if frames else 0
        if choice is None:
            covered += 1
            continue
        for name, cosines in person.others.items():
            taken[name] += int(cosines[drawn[choice]] >= 0)
    return {name: count / deals for name, count in taken.items()}, covered / deals


def names_of(people: Sequence[Person]) -> list[str]:
    """The recognisers' names."""
    return list(people[0].others) if people else []


if __name__ == "__main__":
    sys.exit(main())
