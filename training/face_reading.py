"""Finds the faces of whole pictures and reads them as the product does."""

from fractions import Fraction

from engines.backends.openvino import OpenVino
from engines.detectors.centerface import CenterFace
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.face.control_reading import ControlReader, Painter
from engines.face.face_look import Look
from engines.models.catalogue import centerface_path
from engines.pictures import Picture
from engines.types import Face, Frame


class FaceReader:
    """Finds faces and reads their control.

    Args:
        painter: has the networks that read.
    """

    def __init__(self, painter: Painter) -> None:
        self._detector = CenterFace(OpenVino(), centerface_path())
        self._reader = ControlReader(painter)

    def faces(self, picture: Picture) -> list[Face]:
        """The faces of a picture."""
        longest = max(picture.height, picture.width)
        plan = DetectionPlan(min(960, 2 * longest), (), 640, 0)
        return list(detect_picture(self._detector, picture, plan, 0.5))

    def look(self, picture: Picture, face: Face) -> Look:
        """What is read of one face."""
        (look,) = self._reader.looks([(Frame(picture, 0, Fraction(1, 25), 0, ""), face)])
        return look
