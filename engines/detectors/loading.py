"""Loads the detector that a model file holds, of whichever layout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from engines.backends.backend import Backend, Precision
from engines.backends.networks import refuse_giants, stripped
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import Detector
from engines.detectors.scrfd import Scrfd
from engines.detectors.yunet import YuNet
from engines.errors import ModelRejected

__all__ = ["DetectorLayout", "detector_from_model", "layout_of"]

DetectorLayout = Literal["centerface", "yunet", "scrfd"]


def layout_of(model: Path | bytes) -> DetectorLayout:
    """Tells by its outputs how a detector answers.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is none of the known layouts, or would take gigabytes.
    """
    import onnx

    content = stripped(model)
    refuse_giants(content)
    graph = onnx.load_model_from_string(content).graph
    names = {value.name for value in graph.output}
    sizes = [[size.dim_value for size in v.type.tensor_type.shape.dim] for v in graph.output]
    if {f"{part}_{stride}" for part in ("cls", "obj", "bbox", "kps") for stride in (8, 16, 32)} <= (
        names
    ):
        return "yunet"
    if sorted(size[1] for size in sizes if len(size) == 4) == [1, 2, 2, 10]:
        return "centerface"
    if sorted(size[-1] for size in sizes if size) == [1] * 3 + [4] * 3 + [10] * 3:
        return "scrfd"
    raise ModelRejected(
        "this network is no face detector that kveil knows; bring CenterFace, or YuNet or SCRFD "
        "with five landmarks"
    )


def detector_from_model(
    backend: Backend, model: Path | bytes, precision: Precision = "fp32"
) -> Detector:
    """Loads a detector of whichever layout the file has.

    Args:
        backend: the runtime.
        model: ONNX file or its bytes.
        precision: arithmetic.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is no detector of a known layout, or the runtime cannot read it.
    """
    content = stripped(model)
    layout = layout_of(content)
    if layout == "centerface":
        return CenterFace(backend, content, precision)
    fixed = _fixed_size(content)
    if layout == "yunet":
        return YuNet(backend, content, precision, fixed)
    return Scrfd(backend, content, precision, fixed)


def _fixed_size(content: bytes) -> tuple[int, int] | None:
    """Height and width that the file declares for its image, where it declares any."""
    import onnx

    graph = onnx.load_model_from_string(stripped(content)).graph
    sizes = [size.dim_value for size in graph.input[0].type.tensor_type.shape.dim]
    return (sizes[2], sizes[3]) if len(sizes) == 4 and sizes[2] > 0 and sizes[3] > 0 else None
