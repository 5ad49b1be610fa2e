"""A5 inversion: attackers who learn, on other people, to restore the original picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.adaptive import training_release
from evaluation.attacks.attack import Bench, Finding, Judge, one_picture_each
from evaluation.attacks.learners import Map, Rows, kernel_ridge, ridge, unit
from evaluation.attacks.pixels import small_rows
from evaluation.attacks.recognition import finding_from_scores
from evaluation.eigenfaces import FaceSpace, face_space
from evaluation.faces import PORTRAIT, crop_window

__all__ = ["Inversion", "PatchRestorer", "patch_restorer"]

_COMPONENTS: Final = 120
_SIDE: Final = 64
_PATCH: Final = 8
_CONTEXT: Final = 8
_OVERVIEW: Final = 40


@dataclass(frozen=True, slots=True)
class Inversion:
    """A5: three regressions from anonymized to original pixels, trained on outsiders.

    Two guess the place of the original in a face space, by a plane and by a kernel; there
    the restored face is compared with the gallery. The third restores the picture patch by
    patch, each from its surroundings and an overview of the face, and shows it to the
    recognisers. Enough for blur, pixelation and masks; a generative network may restore more.
    """

    id: ClassVar[str] = "A5"
    question: ClassVar[str] = "Can the original be restored from the pixels?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Three attackers on the outsiders that A4 trains on as well."""
        outsiders, probes = bench.subjects.outsiders, bench.subjects.probes
        gallery, release = bench.subjects.gallery, training_release(bench)
        inside = np.isin(probes.persons, gallery.persons)
        if release is None or not inside.any() or not judges:
            return []
        persons = probes.persons[inside]
        space = face_space(small_rows(outsiders.images), _COMPONENTS)
        known = _whitened(space, gallery.images)
        seen, truth = small_rows(release.images), _whitened(space, outsiders.images)
        attacked = small_rows(bench.release.images[inside])
        learners: dict[str, Map] = {
            "regression on pixels": ridge(seen, truth, 0.1),
            "kernel regression on pixels": kernel_ridge(seen, truth, 1.0, 0.05),
        }
        findings = []
        for variant, guess in learners.items():
            scores = np.asarray(unit(guess(attacked)) @ known.T, np.float32)
            judge = _space_judge(judges[0])
            findings.append(
                finding_from_scores(self.id, variant, judge, scores, persons, gallery.persons)
            )
        if release.images.shape[1] != PORTRAIT:
            return findings
        restorer = patch_restorer(release.images, outsiders.images)
        rows = one_picture_each(probes.persons, gallery.persons)
        restored = probes.take(rows).showing(restorer.restore(bench.release.images[rows]))
        for judge in judges:
            scores = np.asarray(restored.embed(judge.recogniser) @ judge.gallery.T, np.float32)
            findings.append(
                finding_from_scores(
                    self.id, "restored picture", judge, scores, restored.persons, gallery.persons
                )
            )
        return findings


@dataclass(frozen=True, slots=True)
class PatchRestorer:
    """Restores the kveil crop of portraits patch by patch.

    Attributes:
        overview: main directions of whole small pictures.
        maps: one per patch, row by row: its context and the overview → its pixels.
    """

    overview: FaceSpace
    maps: Sequence[Map]

    def restore(self, images: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(N, S, S, 3) uint8 portraits with their crops restored."""
        small, whole = _small(images), self.overview.project(small_rows(images))
        guessed = np.zeros(small.shape, np.float32)
        for (rows, columns), guess in zip(_places(), self.maps, strict=True):
            patch = guess(_context(small, rows, columns, whole))
            guessed[:, rows, columns] = patch.reshape(len(images), _PATCH, _PATCH, 3)
        result = images.copy()
        window = crop_window()
        side = window[0].stop - window[0].start
        for image, face in zip(result, np.clip(guessed, 0, 255), strict=True):
            image[window] = cv2.resize(face, (side, side), interpolation=cv2.INTER_CUBIC).clip(
                0, 255
            )
        return result


def patch_restorer(
    anonymized: NDArray[np.uint8], originals: NDArray[np.uint8], penalty: float = 0.02
) -> PatchRestorer:
    """Learns from pairs of (N, S, S, 3) uint8 portraits of the same people in the same order.

    Args:
        anonymized: what the attacker will see.
        originals: what he wants.
        penalty: of the ridge regression; larger restores smoother faces.
    """
    rows = small_rows(anonymized)
    if float(rows.std()) == 0:
        rows = rows + np.random.default_rng(5).normal(0, 1e-3, rows.shape).astype(np.float32)
    overview = face_space(rows, _OVERVIEW)
    whole = overview.project(rows)
    seen, wanted = _small(anonymized), _small(originals)
    maps = [
        ridge(
            _context(seen, rows, columns, whole),
            wanted[:, rows, columns].reshape(len(wanted), -1),
            penalty,
        )
        for rows, columns in _places()
    ]
    return PatchRestorer(overview, maps)


def _places() -> list[tuple[slice, slice]]:
    starts = range(0, _SIDE, _PATCH)
    return [(slice(y, y + _PATCH), slice(x, x + _PATCH)) for y in starts for x in starts]


def _small(images: NDArray[np.uint8]) -> Rows:
    """(N, 64, 64, 3) float32 kveil crops."""
    crops = images[:, *crop_window()]
    small = [cv2.resize(crop, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA) for crop in crops]
    return np.stack(small).astype(np.float32)


def _context(small: Rows, rows: slice, columns: slice, whole: Rows) -> Rows:
    """(N, D): every second pixel around a patch, the patch itself, and the overview."""
    top, left = max(0, rows.start - _CONTEXT), max(0, columns.start - _CONTEXT)
    around = small[:, top : rows.stop + _CONTEXT : 2, left : columns.stop + _CONTEXT : 2]
    own = small[:, rows, columns]
    count = len(small)
    # The overview counts as much as the pixels: both go in with a similar spread.
    parts = [own.reshape(count, -1), around.reshape(count, -1), whole * np.float32(8)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True)
class _FaceSpaceJudge:
    name: str = "face space"
    threshold: float = 1.0
    seen_by_kveil: bool = False

    def embed(self, images: object, landmarks_px: object) -> Rows:
        raise NotImplementedError("the face space compares pixels, not crops")


def _space_judge(like: Judge) -> Judge:
    """A judge without a threshold of its own: pixels verify nobody."""
    return Judge(_FaceSpaceJudge(), 1.0, 1e-3, 0, like.probes, like.gallery, like.outsiders)


def _whitened(space: FaceSpace, images: NDArray[np.uint8]) -> Rows:
    """Unit weights in the face space, whitened so that light does not drown identity."""
    spread = np.asarray(np.sqrt(space.variances), np.float32)
    return unit(np.asarray(space.project(small_rows(images)) / spread, np.float32))
