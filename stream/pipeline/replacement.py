"""What takes the place of a face: the seam between the pipeline and the swap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from engines.blending.compositor import FaceLayers, Patch
from engines.types import Frame, Track
from stream.files.report import ClusterCounts

__all__ = ["AheadReplacer", "CoverEveryFace", "FaceReplacer", "Replacement"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Patches for the faces of one frame, and why the others have none.

    Attributes:
        patches: by track id.
        causes: by track id, for tracks without a patch; they are covered.
    """

    patches: dict[int, Patch | FaceLayers] = field(default_factory=dict)
    causes: dict[int, str] = field(default_factory=dict)


class FaceReplacer(Protocol):
    """Makes the synthetic faces of a stream; keeps state per track."""

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks that can have one; called in order, once per frame.

        Raises:
            EngineFault: nothing could be made; the caller covers every face.
        """

    def counts(self) -> ClusterCounts:
        """Sizes of the clusters used so far."""


@runtime_checkable
class AheadReplacer(Protocol):
    """A replacer that can begin on a frame while the one before is composed."""

    @property
    def ahead(self) -> int:
        """Frames that it pays to begin before the first of them is completed.

        It is 0 where nobody else works on what was begun.
        """

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        """Begins as `FaceReplacer.replace` would, and gives how to get what that gives.

        Called in order, once per frame, at most `ahead` times before the first one's patches are
        got; those are got in order too, and laid before the next ones are.

        Raises:
            EngineFault: nothing could be made; what is given may raise it as well.
        """

    def close(self) -> None:
        """Forgets the stream; idempotent."""


class CoverEveryFace:
    """The replacer of all cover methods: no face gets a patch.

    Args:
        cause: what the report says of each face.
    """

    def __init__(self, cause: str = "method") -> None:
        self._cause = cause

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """No patches."""
        return Replacement(causes={track.id: self._cause for track in tracks})

    def counts(self) -> ClusterCounts:
        """No clusters."""
        return ClusterCounts()
