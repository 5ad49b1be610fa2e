"""Faces painted once, without frames before them: from what was read to a patch in its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engines.blending.harmony import SeenHead, retouch_of, retouched, seen_head, sized_patch
from engines.blending.patches import Patch, reaching
from engines.blending.rim import HeadRim, RimMatch, head_rim_of, matched_at_rim, rim_match_of
from engines.face.alignment import crop_from_picture
from engines.face.face_look import Look, painted_points, painting_place, stacked
from engines.face.swapper import Control, Rendered
from engines.pictures import BgrImage, Picture
from engines.types import Face

__all__ = [
    "HeadUnder",
    "control_from_looks",
    "head_under",
    "matched_to_head",
    "patch_from_look",
]


def control_from_looks(looks: Sequence[Look]) -> Control:
    """What a painter needs of N faces, as they were read."""
    return Control(
        np.stack([painted_points(look.shape) for look in looks]),
        np.stack([look.light for look in looks]),
        np.array([look.doubt for look in looks], np.float32),
        contrast=np.array([look.contrast for look in looks], np.float32),
        inside=stacked([look.inside for look in looks]),
        raised=np.array([look.raised for look in looks], np.float32),
    )


def patch_from_look(rendered: Rendered, row: int, look: Look, face: Face) -> Patch:
    """One painted face in the place where it was read.

    Args:
        rendered: painted under the control of `control_from_looks`.
        row: of the face.
        look: of the face.
        face: as the detector or the tracker has it.
    """
    place = painting_place(look.motion, painted_points(look.shape), rendered.alpha.shape[1])
    return reaching(face, rendered.patch(row, place))


@dataclass(frozen=True, slots=True)
class HeadUnder:
    """A head under patches of one place, as far as they are compared with it.

    Attributes:
        crop: uint8[S, S, 3] what the patches' crop shows of the picture.
        rim: of its tone and light.
        seen: of its focus, grain and features.
    """

    crop: BgrImage
    rim: HeadRim
    seen: SeenHead


def head_under(picture: Picture, patch: Patch) -> HeadUnder:
    """Looks at the head under a patch.

    Args:
        picture: as it came.
        patch: of any size; its pixels do not count.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    patch = sized_patch(patch)
    crop = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    rim = head_rim_of(picture, patch, crop)
    behind_hair = matched_at_rim(patch, crop, RimMatch(None, rim.bare, rim.fringe, None))
    return HeadUnder(crop, rim, seen_head(picture, behind_hair, crop))


def matched_to_head(patch: Patch, head: HeadUnder, seed: tuple[int, int]) -> Patch:
    """A patch at the picture's scale, with the tone, focus and grain of what is around it.

    Args:
        patch: of any size.
        head: under it, or under another patch of the same place.
        seed: of the grain, see `engines.blending.harmony.retouched`.
    """
    patch = sized_patch(patch)
    patch = matched_at_rim(patch, head.crop, rim_match_of(head.rim, patch))
    return retouched(patch, retouch_of(head.seen, patch), seed)
