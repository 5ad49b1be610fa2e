"""Surrogates tried on: what a face would look like, as small as the embedder sees it.

The face is cut out of its frame at that size, and surrogates are painted over the cut as they will
be over frames: the same control, rim, focus and grain. It outlives the frame, whose pixels change
when its faces are covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.blending.patches import Patch, hides, warped_patch
from engines.face.alignment import (
    Similarity,
    crop_from_picture,
    inverse_of,
    kveil_from_landmarks,
    moved,
    scale_of,
    sized_region,
)
from engines.face.control_reading import Painter
from engines.face.face_look import Look, painted_points, painting_place
from engines.face.hair_fit import misfits, shades
from engines.face.painted_looks import (
    HeadUnder,
    control_from_looks,
    head_under,
    matched_to_head,
    patch_from_look,
)
from engines.face.sameness import central_part, likeness
from engines.face.swapper import DOUBT_LIMIT, Rendered
from engines.pictures import BgrImage, Picture, picture_from_bgr
from engines.stylegan.drawing import rise
from engines.types import Embedding, Face

__all__ = ["TRIED", "TRIED_SIZE", "Subject", "subject_from_frame", "tried_on", "worth_trying"]

TRIED_SIZE: Final = 128
"""Side of the crops that are compared, px: what the embedder takes."""
TRIED: Final = 24
"""Surrogates that are tried on at most, of all that a person may get. More find some that go better
with the head; each takes as long as several frames."""
_FEW_PIXELS: Final = 2.5
"""Pixels of the compared crop per pixel of the picture from which a face is seen at few of them:
its eyes are 20 px apart."""
_FOR_READING: Final = 0.8
"""Misfit of a surrogate that reads as of another gender or age. Larger: faces that go with their
heads; brows and beards that do less."""
_SAME: Final = (0.8, 0.9)
_FOR_SAMENESS: Final = 3.0
"""Likeness to what they hide from which, and from where wholly, surrogates are not taken that might
be covered for it, and the misfit that it adds then."""
_ROOM: Final = 0.1
"""Of the crop's side, around the crops that are cut out; filters look beyond their rims."""
_CORNERS: Final = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.float64) * TRIED_SIZE

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Subject:
    """A face that surrogates are tried on.

    Attributes:
        picture: what is around it, at most as large as the embedder sees it; owned.
        face: where it is, px of the picture.
        look: its control, in px of the picture.
    """

    picture: Picture
    face: Face
    look: Look

    @property
    def crop_from_picture(self) -> Similarity:
        """Map from the picture to the kveil crop that is compared."""
        return kveil_from_landmarks(self.face.landmarks_px, TRIED_SIZE)

    def crop(self) -> BgrImage:
        """The face itself as it is compared, uint8[S, S, 3] BGR of side `TRIED_SIZE`."""
        return crop_from_picture(self.picture, self.crop_from_picture, TRIED_SIZE)

    def misfits(self, crops: NDArray[np.uint8], apart: Float32 | None = None) -> Float32:
        """How badly surrogates go with its head, float32[N]; see `engines.face.hair_fit`.

        At few pixels nobody sees hair, and faces with brows and beards as dark look the same: there
        all go equally well with that. Who would be covered, since the picture hardly changes, goes
        badly with anybody.

        Args:
            crops: uint8[N, S, S, 3] of `tried_on`.
            apart: float32[N] of `AttributeReader.apart`; None where surrogates are to show nothing
                of the person.
        """
        unfit = _FOR_SAMENESS * self._sameness(crops)
        unfit += 0 if apart is None else _FOR_READING * apart
        if scale_of(self.crop_from_picture) > _FEW_PIXELS:
            return np.asarray(unfit, np.float32)
        marks = moved(self.crop_from_picture, self.face.landmarks_px).astype(np.float32)
        told = shades(np.concatenate([self.crop()[None], crops]), marks)
        return np.asarray(unfit + misfits(told[1:], told[:1]), np.float32)

    def _sameness(self, crops: NDArray[np.uint8]) -> Float32:
        """How nearly surrogates would be covered for changing too little, float32[N] in [0, 1]."""
        part = central_part(self.face, self.crop_from_picture, TRIED_SIZE)
        own = self.crop()[part]
        alike = np.array([likeness(own, one[part]) for one in crops], np.float32)
        return rise(alike, *_SAME)


def subject_from_frame(picture: Picture, face: Face, look: Look) -> Subject | None:
    """Cuts a face out of a frame; None where it cannot be followed or lies outside.

    Args:
        picture: the frame's pixels; not changed.
        face: where it is.
        look: what was read of it there.

    Raises:
        EngineFault: its eyes coincide or are not finite.
    """
    if not look.doubt <= DOUBT_LIMIT:
        return None
    compared = kveil_from_landmarks(face.landmarks_px, TRIED_SIZE)
    painted = painting_place(look.motion, painted_points(look.shape), TRIED_SIZE)
    seen = np.concatenate([moved(inverse_of(one), _CORNERS) for one in (compared, painted)])
    room = _ROOM * TRIED_SIZE / scale_of(compared)
    region = sized_region(np.concatenate([seen.min(0) - room, seen.max(0) + room]), picture)
    if region is None:
        return None
    top, left, height, width = region
    share = min(1.0, scale_of(compared))
    small = (max(1, round(height * share)), max(1, round(width * share)))
    pixels = picture.region_bgr(*region, scaled=small)
    share, corner = small[1] / width, np.array([left, top], np.float32)
    own = Face(
        ((face.box_px - np.tile(corner, 2)) * share).astype(np.float32),
        ((face.landmarks_px - corner) * share).astype(np.float32),
        face.score,
    )
    away = np.concatenate([corner, np.zeros(2, np.float32)])
    motion = ((look.motion - away) * share).astype(np.float32)
    return Subject(picture_from_bgr(pixels), own, replace(look, motion=motion))


def worth_trying(donors: Sequence[Embedding | None] | Float32, own: Embedding) -> NDArray[np.intp]:
    """Places of at most `TRIED` draws that a person may get, in their order, the first among them.

    They are those whose donors resemble the person least by themselves: worn, surrogates resemble
    their people by as much more or less.

    Args:
        donors: (D,) float32 unit vectors of the draws' main donors; None where one is not known.
        own: (D,) float32 unit vector of the person.

    >>> few = worth_trying([np.float32([1, 0])] * 3, np.float32([1, 0]))
    >>> few.tolist()
    [0, 1, 2]
    """
    likeness = np.array([-np.inf if one is None else float(one @ own) for one in donors])
    likeness[:1] = -np.inf
    return np.sort(np.argsort(likeness, kind="stable")[:TRIED])


def tried_on(
    painter: Painter, subjects: Sequence[Subject], latents: Float32
) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Faces with surrogates on.

    Args:
        painter: paints as it does for frames, at its least size.
        subjects: N faces.
        latents: float32[N, L, 512], one surrogate each.

    Returns:
        uint8[M, S, S, 3] BGR kveil crops of side `TRIED_SIZE`, of those that could be painted so
        that the face is hidden, and their M rows.

    Raises:
        EngineFault: a network failed.
    """
    control = control_from_looks([one.look for one in subjects])
    rendered = painter.paint(control, latents, painter.sizes[0])
    heads: dict[int, HeadUnder] = {}
    made: dict[int, BgrImage] = {}
    for row, subject in enumerate(subjects):
        patch = _patch_of(subject, rendered, row)
        if patch is not None:
            # Where a face is hidden is told by its control alone: the head is looked at once.
            head = heads.get(id(subject)) or head_under(subject.picture, patch)
            heads[id(subject)] = head
            made[row] = _laid(subject, matched_to_head(patch, head, (row, subject.look.index)))
    shape = (0, TRIED_SIZE, TRIED_SIZE, 3)
    crops = np.stack(list(made.values())) if made else np.empty(shape, np.uint8)
    return crops, np.array(list(made), np.intp)


def _patch_of(subject: Subject, rendered: Rendered, row: int) -> Patch | None:
    """A surrogate over one face; None where it could not be painted, or does not hide it."""
    patch = patch_from_look(rendered, row, subject.look, subject.face)
    is_sound = bool(rendered.is_usable[row]) and bool(np.isfinite(patch.pixels).all())
    return patch if is_sound and hides(subject.face, patch) else None


def _laid(subject: Subject, patch: Patch) -> BgrImage:
    """A patch in the crop that is compared, over what is seen there."""
    there, crop = subject.crop_from_picture, subject.crop()
    picture_from_crop = np.vstack([inverse_of(there), [0, 0, 1]])
    place = (patch.crop_from_frame.astype(np.float64) @ picture_from_crop).astype(np.float32)
    laid = picture_from_bgr(crop)
    placed = warped_patch(laid, replace(patch, crop_from_frame=place))
    if placed is not None:
        placed.lay(laid)
    return laid.bgr()
