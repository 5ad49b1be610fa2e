"""What takes a face's place in one picture: the layers that the compositor lays over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engines.blending.foreground import foreground
from engines.blending.patches import Patch, Placed, PlacedPlanes, defect_of, placed_patch
from engines.pictures import Picture
from engines.types import Box, Face

__all__ = ["FaceLayers", "Laid", "PatchLayers"]

Laid = Placed | PlacedPlanes
"""A layer with its place, for `Picture.lay`."""


class FaceLayers(Protocol):
    """The layers of one face in one picture, worked out here or by another process."""

    def front(self, picture: Picture, others: Sequence[Box]) -> Laid | None:
        """What is in front of the face, to be laid last; see `engines.blending.foreground`.

        Args:
            picture: the frame as it came.
            others: boxes x0 y0 x1 y1 px of the other faces.
        """

    def face(self, picture: Picture, face: Face) -> Laid | str:
        """What hides the face, or why nothing does, in words."""


@dataclass(frozen=True, slots=True)
class PatchLayers:
    """The layers of a patch, worked out when they are asked for.

    Attributes:
        patch: may have any defect.
    """

    patch: Patch

    def front(self, picture: Picture, others: Sequence[Box]) -> Placed | None:
        """What is in front of the face; see `FaceLayers.front`."""
        return foreground(picture, self.patch, others)

    def face(self, picture: Picture, face: Face) -> Placed | str:
        """The patch in the frame, or its defect; see `FaceLayers.face`."""
        return defect_of(self.patch) or placed_patch(picture, face, self.patch)
