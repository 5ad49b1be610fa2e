"""Sample faces for the page; only where the people on them allow it."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from evaluation.faces import Faces

__all__ = ["strip_of_faces"]


def strip_of_faces(faces: Faces) -> str:
    """A strip of portraits side by side, JPEG in base64."""
    _, encoded = cv2.imencode(".jpg", np.hstack(list(faces.images)), [cv2.IMWRITE_JPEG_QUALITY, 85])
    return base64.b64encode(encoded.tobytes()).decode("ascii")
