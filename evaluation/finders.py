"""The evaluator's detector: not kveil's default, and run at a scale that sees small faces."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import Detector
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.detectors.scrfd import Scrfd
from engines.errors import ModelMissing
from engines.models.catalogue import centerface_path
from engines.pictures import picture_from_bgr
from engines.types import Face
from evaluation.exposure import FaceFinder

__all__ = ["FrameFinder", "PortraitFinder", "finder_from_models", "largest_central"]
__all__ += ["finder_fingerprint", "product_finder", "without_cut_copies"]

_NETWORK: Final = "scrfd_500m_bnkps.onnx"
_INPUT_PX: Final = 640
_LEAST_SCORE: Final = 0.5
_WITHIN: Final = 0.8
_AS_LONG: Final = 0.8


@dataclass(frozen=True, slots=True)
class FrameFinder:
    """Searches a frame as a whole, and enlarged in tiles of the network's own size.

    Attributes:
        detector: looks at one image at a time.
        name: shown in the report.
        enlarged: factor of the tiled search; at 1.5 a face of 16 px is seen as one of 24.
        network_sha256: of the detector's file; empty where it has none.
        least_score: less sure finds are left out.
    """

    detector: Detector
    name: str
    enlarged: float = 1.5
    network_sha256: str = ""
    least_score: float = _LEAST_SCORE

    @property
    def fingerprint(self) -> str:
        """All that decides what is found in a picture, for caches."""
        return f"{self.name} {self.network_sha256} {self.enlarged} {self.least_score}"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of an H×W×3 uint8 BGR image, each once."""
        longest = round(max(image.shape[:2]) * self.enlarged)
        plan = DetectionPlan(longest, (_INPUT_PX,), _INPUT_PX, 128, max(1.0, self.enlarged))
        found = detect_picture(self.detector, picture_from_bgr(image), plan, self.least_score)
        return without_cut_copies(found)


@dataclass(frozen=True, slots=True)
class PortraitFinder:
    """Searches a picture of one person once, at the network's own size.

    Attributes:
        detector: looks at one image at a time.
        name: shown in the report.
        network_sha256: of the detector's file; empty where it has none.
    """

    detector: Detector
    name: str
    network_sha256: str = ""

    @property
    def fingerprint(self) -> str:
        """All that decides what is found in a picture, for caches."""
        return f"{self.name} {self.network_sha256}"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of an H×W×3 uint8 BGR image with a score of 0.5 or more."""
        plan = DetectionPlan(min(_INPUT_PX, 2 * max(image.shape[:2])), (), _INPUT_PX, 0)
        return detect_picture(self.detector, picture_from_bgr(image), plan, _LEAST_SCORE)


def finder_from_models(backend: Backend, models: Path) -> tuple[FrameFinder, PortraitFinder]:
    """Finders for clips and for portraits, from the network in a folder.

    Raises:
        ModelMissing: it is not there.
        ModelRejected: it is not a detector of that layout.
    """
    path = models / _NETWORK
    if not path.is_file():
        message = (
            f"{_NETWORK} is not in {models}: set KVEIL_EVALUATION_MODELS or --models to the "
            "folder of the evaluator's networks"
        )
        raise ModelMissing(message)
    detector = Scrfd(backend, path, fixed=(_INPUT_PX, _INPUT_PX))
    name = f"{path.stem} at {_INPUT_PX} px"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return (
        FrameFinder(detector, f"{name}, frame and tiles × 1.5", network_sha256=digest),
        PortraitFinder(detector, name, digest),
    )


def finder_fingerprint(finder: FaceFinder) -> str:
    """What tells a finder from others that would find other faces; its name where it has no more.

    Args:
        finder: one of these, or another that may have a `fingerprint` of its own.
    """
    return str(getattr(finder, "fingerprint", finder.name))


def without_cut_copies(faces: Sequence[Face]) -> list[Face]:
    """Leaves out the half of a face that the edge of a tile cut off.

    Such a find lies in a surer one and has its width or its height, but not both, so that
    their overlap is small; its landmarks are squeezed into the half.

    >>> corners = ([0, 0, 100, 120], [2, 1, 98, 60], [30, 30, 50, 55])
    >>> points = np.zeros((5, 2), np.float32)
    >>> faces = [Face(np.array(box, np.float32), points, 0.9 - 0.1 * place)
    ...          for place, box in enumerate(corners)]
    >>> [face.box_px.tolist()[2] for face in without_cut_copies(faces)]
    [100.0, 50.0]
    """
    return [
        face
        for face in faces
        if not any(other.score > face.score and _is_cut_from(face, other) for other in faces)
    ]


def _is_cut_from(part: Face, whole: Face) -> bool:
    sides, own = part.box_px[2:] - part.box_px[:2], whole.box_px[2:] - whole.box_px[:2]
    shared = np.minimum(part.box_px[2:], whole.box_px[2:])
    shared = np.maximum(shared - np.maximum(part.box_px[:2], whole.box_px[:2]), 0)
    is_within = float(np.prod(shared)) >= _WITHIN * float(np.prod(sides))
    return is_within and bool((sides >= _AS_LONG * own).any())


def product_finder(backend: Backend) -> PortraitFinder:
    """The product's own detector, for work that is not a judgement of it.

    Raises:
        ModelMissing: the package that ships its weights is not installed.
    """
    return PortraitFinder(CenterFace(backend, centerface_path()), "centerface")


def largest_central(faces: Sequence[Face], height: int, width: int) -> Face | None:
    """The face a portrait is about: large and near the middle; None without faces."""
    middle, reach = np.array([width, height]) / 2, float(np.hypot(width, height)) / 2

    def prominence(face: Face) -> float:
        size = float(np.prod(np.maximum(face.box_px[2:] - face.box_px[:2], 0)))
        away = float(np.linalg.norm((face.box_px[:2] + face.box_px[2:]) / 2 - middle)) / reach
        return size * max(0.0, 1 - away)

    return max(faces, key=prominence, default=None)
