"""A13: what is left of a person beside the face that was replaced, and what the face leaks.

A method that replaces a region has two ways to give a person away: through what it paints,
and through what it leaves. Both attackers look at one of them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import identity_mask
from evaluation.attacks.attack import Bench, Finding, Judge, one_picture_each
from evaluation.attacks.recognition import finding_from_scores
from evaluation.faces import CROP, PORTRAIT, crop_window

__all__ = ["SideChannels", "changed_region"]

_CHANGE: Final = 3
"""Grey levels by which a pixel must differ to count as replaced: re-encoding is no change."""
_CLOSED_PX: Final = 17
_GREY: Final = 128
_LEAST_SHARE: Final = 0.01


def changed_region(original: NDArray[np.uint8], released: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """H×W bool: the pixels that a method replaced, without holes where values coincide.

    Args:
        original: H×W×3 uint8.
        released: the same place after the method.

    >>> before = np.zeros((20, 20, 3), np.uint8)
    >>> after = before.copy(); after[5:15, 5:15] = 90; after[9, 9] = 0
    >>> int(changed_region(before, after).sum())
    100
    """
    difference = np.abs(original.astype(np.int16) - released.astype(np.int16)).max(axis=2)
    mask = (difference > _CHANGE).astype(np.uint8)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_CLOSED_PX, _CLOSED_PX))
    padded = cv2.copyMakeBorder(mask, *(_CLOSED_PX,) * 4, borderType=cv2.BORDER_CONSTANT, value=0)
    closed = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, kernel)
    return np.asarray(closed[_CLOSED_PX:-_CLOSED_PX, _CLOSED_PX:-_CLOSED_PX] > 0)


@dataclass(frozen=True, slots=True)
class SideChannels:
    """A13: recognition from the surroundings alone, and from the replaced region alone.

    The first greys whatever the method changed: hair, ears, clothes and background remain.
    The second moves what the method painted onto strangers' heads: the face remains, with
    the pose and light that it kept. A method that changed nothing is tested on the oval of
    the face, so that a leak is found there too.
    """

    id: ClassVar[str] = "A13"
    question: ClassVar[str] = "Which part gives a person away: the surroundings or the new face?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Both attackers with other photographs of the people, one released picture each."""
        subjects, gallery = bench.subjects, bench.subjects.gallery
        rows = one_picture_each(subjects.probes.persons, gallery.persons)
        if not len(rows):
            return []
        probes, released = subjects.probes.take(rows), bench.release.images[rows]
        masks = np.stack(
            [changed_region(*pair) for pair in zip(probes.images, released, strict=True)]
        )
        kept = 1 - float(masks.mean())
        greyed = probes.images.copy()
        greyed[masks] = _GREY
        variants = {"surroundings alone": greyed}
        heads = subjects.donors.images
        if len(heads):
            order = np.random.default_rng(13).integers(0, len(heads), len(probes))
            worn = heads[order]
            region = _tested_region(masks)
            worn[region] = released[region]
            variants["new face alone"] = worn
        findings = []
        for variant, images in variants.items():
            faces = probes.showing(images)
            for judge in judges:
                scores = np.asarray(faces.embed(judge.recogniser) @ judge.gallery.T, np.float32)
                finding = finding_from_scores(
                    self.id, variant, judge, scores, faces.persons, gallery.persons
                )
                measures = {**finding.measures, "pixels_kept": kept}
                findings.append(replace(finding, measures=measures))
        return findings


def _tested_region(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The changed pixels of each face, or the oval where nothing was changed."""
    region = masks.copy()
    untouched = masks.mean(axis=(1, 2)) < _LEAST_SHARE
    oval = np.zeros(masks.shape[1:], bool)
    if masks.shape[1] == PORTRAIT:
        oval[crop_window()] = identity_mask(CROP)
    region[untouched] = oval
    return region
