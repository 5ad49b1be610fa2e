"""Faces painted once, without frames before them: from what was read to a patch in its picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engines.blending.harmony import retouch_of, retouched, sized_patch
from engines.blending.patches import Patch, reaching
from engines.blending.rim import matched_at_rim, rim_match_of
from engines.face.alignment import crop_from_picture
from engines.face.face_look import Look, painted_points, painting_place, stacked
from engines.face.swapper import Control, Rendered
from engines.pictures import Picture
from engines.types import Face

__all__ = ["control_from_looks", "matched_to_picture", "patch_from_look"]


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


def matched_to_picture(picture: Picture, patch: Patch, seed: tuple[int, int]) -> Patch:
    """A patch at the picture's scale, with the tone, focus and grain of what is around it.

    Args:
        picture: as it came.
        patch: of any size.
        seed: of the grain, see `engines.blending.harmony.retouched`.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    patch = sized_patch(patch)
    head = crop_from_picture(picture, patch.crop_from_frame, patch.alpha.shape[0])
    patch = matched_at_rim(patch, head, rim_match_of(picture, patch, head))
    return retouched(patch, retouch_of(picture, patch, head), seed)
