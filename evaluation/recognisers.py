"""Face recognisers that play the attacker: an ONNX network and a small TOML beside it.

The TOML says how the network wants its faces:

    network = "mobilefacenet_w128.onnx"   # beside the TOML, or in the folder of models
    alignment = "arcface"                 # or "kveil": the crop that all bundled networks use
    size = 112                            # side of the crop, px
    colour = "rgb"                        # or "bgr"
    mean = 127.5                          # network input = (value − mean) ÷ scale
    scale = 128.0
    threshold = 0.35                      # cosine at a false match rate of 1e-3, on originals
    seen_by_kveil = false                 # true: took part in clustering, gating or training
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.face.alignment import arcface_from_landmarks, crop_from_picture, kveil_from_landmarks
from engines.pictures import picture_from_bgr
from engines.types import Landmarks
from evaluation.errors import RecogniserRejected

__all__ = ["Description", "Embeddings", "OnnxRecogniser", "Recogniser", "description_from_toml"]
__all__ += ["models_folder", "network_hash", "preset_descriptions", "recognisers_from_names"]
__all__ += ["refuse_equal_names"]

Embeddings = NDArray[np.float32]
"""(N, D) float32, unit rows."""
Alignment = Literal["arcface", "kveil"]
PRESETS = Path(__file__).parent / "presets"
MODELS_VARIABLE = "KVEIL_EVALUATION_MODELS"


@dataclass(frozen=True, slots=True)
class Description:
    """How a recogniser wants its faces and when it calls two of them one person.

    Attributes:
        name: shown in reports.
        network: ONNX file.
        alignment: geometry of the crop.
        size: side of the crop, px.
        colour: channel order of the input.
        mean: subtracted from the 0…255 values.
        scale: divides the result.
        threshold: cosine above which two faces match; a larger one matches less.
        seen_by_kveil: it took part in clustering, gating or training, so it is no
            independent judge and the report says so.
    """

    name: str
    network: Path
    alignment: Alignment
    size: int
    colour: Literal["rgb", "bgr"]
    mean: float
    scale: float
    threshold: float
    seen_by_kveil: bool = False


class Recogniser(Protocol):
    """Turns a face into a vector that tells who it is."""

    @property
    def name(self) -> str:
        """Shown in reports."""

    @property
    def threshold(self) -> float:
        """Cosine above which two faces match, −1…1."""

    @property
    def seen_by_kveil(self) -> bool:
        """Whether it took part in making what it judges."""

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> Embeddings:
        """Unit vectors of the faces at `landmarks_px` in H×W×3 uint8 BGR images."""


class OnnxRecogniser:
    """A recogniser run by one of the engines' backends.

    Args:
        description: how to feed it.
        backend: runtime that loads the network.

    Raises:
        RecogniserRejected: the network does not take one picture and give one vector.
        ModelMissing: there is no such file.
        ModelRejected: the file is not a network.
    """

    def __init__(self, description: Description, backend: Backend) -> None:
        self.description = description
        self._session: Session = backend.load(description.network)
        if len(self._session.inputs) != 1 or len(self._session.outputs) < 1:
            message = f"{description.network.name}: one input and one output wanted"
            raise RecogniserRejected(message)
        self._input = self._session.inputs[0]
        self._output = self._session.outputs[0].name
        # A network exported for one face takes one; others take what they are given.
        self._batch = self._input.shape[0] or 16

    @property
    def name(self) -> str:
        """Shown in reports."""
        return self.description.name

    @property
    def threshold(self) -> float:
        """Cosine above which two faces match, −1…1."""
        return self.description.threshold

    @property
    def seen_by_kveil(self) -> bool:
        """Whether it took part in making what it judges."""
        return self.description.seen_by_kveil

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> Embeddings:
        """Unit vectors of the faces at `landmarks_px` in H×W×3 uint8 BGR images.

        Args:
            images: N pictures; the same one may stand more than once.
            landmarks_px: N times (5, 2) float32, px of its picture.

        Returns:
            (N, D) float32 with unit rows; (0, 0) without faces.

        Raises:
            EngineFault: the network failed.
        """
        crops = [
            self._crop(image, points) for image, points in zip(images, landmarks_px, strict=True)
        ]
        return self.embed_crops(np.stack(crops)) if crops else np.zeros((0, 0), np.float32)

    def embed_crops(self, crops: NDArray[np.uint8]) -> Embeddings:
        """Unit vectors of aligned crops, (N, size, size, 3) uint8 BGR."""
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(crops), self._batch):
            tensor = self._tensor(crops[start : start + self._batch])
            output = self._session.run({self._input.name: tensor})[self._output]
            rows.append(output.reshape(len(tensor), -1))
        vectors = np.concatenate(rows)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(length, 1e-12), np.float32)

    def _crop(self, image: NDArray[np.uint8], points: Landmarks) -> NDArray[np.uint8]:
        is_arcface = self.description.alignment == "arcface"
        map_from_landmarks = arcface_from_landmarks if is_arcface else kveil_from_landmarks
        size = self.description.size
        return crop_from_picture(picture_from_bgr(image), map_from_landmarks(points, size), size)

    def _tensor(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        ordered = crops[..., ::-1] if self.description.colour == "rgb" else crops
        scaled = (ordered.astype(np.float32) - self.description.mean) / self.description.scale
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2), np.float32)


def description_from_toml(path: Path, models: Path | None = None) -> Description:
    """Reads a recogniser's TOML.

    Args:
        path: the TOML.
        models: where to look for the network when it does not lie beside the TOML.

    Raises:
        RecogniserRejected: a key is missing, unknown or out of range.
    """
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        message = f"{path}: not a readable TOML ({error}); see evaluation/recognisers.py"
        raise RecogniserRejected(message) from error
    known = {"network", "alignment", "size", "colour", "mean", "scale", "threshold"}
    missing, unknown = known - set(values), set(values) - known - {"seen_by_kveil"}
    if missing or unknown:
        message = f"{path}: missing {sorted(missing)}, unknown {sorted(unknown)}"
        raise RecogniserRejected(message)
    if values["alignment"] not in ("arcface", "kveil") or values["colour"] not in ("rgb", "bgr"):
        message = f"{path}: alignment is arcface or kveil, colour is rgb or bgr"
        raise RecogniserRejected(message)
    if not 0 < values["size"] <= 1024 or values["scale"] <= 0 or not -1 < values["threshold"] < 1:
        message = f"{path}: size 1…1024, scale above 0 and threshold within −1…1 wanted"
        raise RecogniserRejected(message)
    return Description(
        name=path.stem,
        network=_network(path, str(values["network"]), models),
        alignment=values["alignment"],
        size=int(values["size"]),
        colour=values["colour"],
        mean=float(values["mean"]),
        scale=float(values["scale"]),
        threshold=float(values["threshold"]),
        seen_by_kveil=bool(values.get("seen_by_kveil", False)),
    )


def _network(toml: Path, name: str, models: Path | None) -> Path:
    beside = toml.parent / name
    return models / name if models is not None and not beside.is_file() else beside


def models_folder(chosen: Path | None = None) -> Path:
    """Where the networks of the preset recognisers lie: the option, then the environment."""
    if chosen is not None:
        return chosen
    named = os.environ.get(MODELS_VARIABLE)
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "models"
    return Path(named) if named else default


def preset_descriptions(models: Path) -> list[Description]:
    """The presets whose networks are present, by name."""
    found = [description_from_toml(path, models) for path in sorted(PRESETS.glob("*.toml"))]
    return [description for description in found if description.network.is_file()]


def recognisers_from_names(
    names: Sequence[str], backend: Backend, models: Path
) -> list[OnnxRecogniser]:
    """Loads presets by name and others by their TOML; every preset when `names` is empty.

    Raises:
        RecogniserRejected: nothing usable was named or found, or two have one name.
    """
    if not names:
        chosen = preset_descriptions(models)
    else:
        paths = [PRESETS / f"{name}.toml" for name in names]
        chosen = [
            description_from_toml(preset if preset.is_file() else Path(name), models)
            for preset, name in zip(paths, names, strict=True)
        ]
    if not chosen:
        message = (
            f"no recogniser in {models}: set {MODELS_VARIABLE} or --models to a folder that has "
            "one, or bring your own with --recogniser FILE.toml"
        )
        raise RecogniserRejected(message)
    refuse_equal_names([description.name for description in chosen])
    return [OnnxRecogniser(description, backend) for description in chosen]


def refuse_equal_names(names: Sequence[str]) -> None:
    """Figures are kept by the recogniser's name: of two equal ones the later would hide the other.

    Raises:
        RecogniserRejected: two recognisers have one name.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = (
            f"two recognisers are called {twice}: name each once, and give a TOML of your own a "
            "file name that no other has"
        )
        raise RecogniserRejected(message)


def network_hash(judge: Recogniser) -> str:
    """SHA-256 of a judge's network for the report; empty where it has no file."""
    inner = getattr(judge, "inner", judge)
    known = inner.description.network if isinstance(inner, OnnxRecogniser) else None
    network = known or getattr(inner, "network", None)
    return hashlib.sha256(network.read_bytes()).hexdigest() if network is not None else ""
