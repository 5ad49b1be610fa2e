"""Gives the patches of one face the light, focus and grain of the picture around them.

What a picture looks like around a face is measured now and then: it stays for a few frames, as long
as what the crop shows looks the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.harmony import Retouch, retouch_of, retouched, seen_head
from engines.blending.patches import Patch
from engines.blending.rim import RimMatch, head_rim_of, matched_at_rim, rim_match_of
from engines.blending.temples import Temples, temples_beside, without_temples
from engines.pictures import BgrImage, Picture

__all__ = ["PatchMatching"]

_HELD_FRAMES: Final = 3
"""Frames after which light, hair and temples are looked at again. More cost less, and follow what
moves slowly later."""
_SAME: Final = 10.0
"""Grey levels by which a place of the head may change until then. More follows less."""
_PLACES: Final = 16
"""Places along each side of the crop in which that is looked for."""
_RETOUCH_FRAMES: Final = 10
"""Frames between two measures of focus and grain; cameras change slowly."""
_RETOUCH_SHARE: Final = 0.36
"""What a new measure of those counts beside the ones before."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a face.

    Attributes:
        index: of the frame.
        places: uint8[_PLACES, _PLACES, 3], what its crop shows.
        rim: of its light and hair.
        temples: of glasses; None without.
    """

    index: int
    places: NDArray[np.uint8]
    rim: RimMatch
    temples: Temples | None

    def holds(self, index: int, places: NDArray[np.uint8]) -> bool:
        """Whether a crop of another frame looks the same."""
        if index - self.index >= _HELD_FRAMES:
            return False
        return float(cv2.norm(self.places, places, cv2.NORM_INF)) <= _SAME


@dataclass(slots=True)
class PatchMatching:
    """What is known of the pictures around one face."""

    _around: _Around | None = field(default=None, repr=False)
    _retouch: Retouch | None = None
    _retouch_frame: int = 0

    def matched(
        self, picture: Picture, patch: Patch, head: BgrImage, index: int, seed: int
    ) -> Patch:
        """The patch as if it had been taken with its picture.

        Args:
            picture: the frame as it came.
            patch: at the frame's scale, see `engines.blending.harmony.sized_patch`.
            head: uint8[S, S, 3] what its crop shows of the picture.
            index: of the frame; rises from call to call.
            seed: of the grain, with the index.

        Raises:
            EngineFault: the patch is not placed by a similarity.
        """
        around = self._looked_around(picture, patch, head, index)
        patch = matched_at_rim(patch, head, around.rim)
        if around.temples is not None:
            patch = without_temples(patch, around.temples)
        known = self._retouch
        if known is None or index - self._retouch_frame >= _RETOUCH_FRAMES:
            found = retouch_of(seen_head(picture, patch, head), patch)
            self._retouch_frame = index
            known = known.followed_by(found, _RETOUCH_SHARE) if known else found
            self._retouch = known
        return retouched(patch, known, (seed, index))

    def _looked_around(self, picture: Picture, patch: Patch, head: BgrImage, index: int) -> _Around:
        side = (_PLACES, _PLACES)
        places = np.asarray(cv2.resize(head, side, interpolation=cv2.INTER_AREA), np.uint8)
        if self._around is None or not self._around.holds(index, places):
            rim = rim_match_of(head_rim_of(picture, patch, head), patch)
            self._around = _Around(index, places, rim, temples_beside(patch, head))
        return self._around
