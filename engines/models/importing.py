"""Brings a foreign network into the user's folder: checked, described, under a name.

Generators become two ONNX networks, `mapping.onnx` and `synthesis.onnx`; detectors stay as they
are. The folder appears under its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engines.backends.networks import model_bytes, stripped
from engines.backends.onnxruntime import OnnxRuntime
from engines.detectors.drawn_faces import drawn_scene
from engines.detectors.loading import detector_from_model, layout_of
from engines.errors import EngineFault, ModelMissing, ModelRejected
from engines.json_reading import value_from_json
from engines.models.catalogue import CENTERFACE, models_folder
from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.imports.onnx_graphs import mapping_onnx, synthesis_onnx
from engines.stylegan.imports.reference import mapped
from engines.stylegan.pack import FORMAT, MANIFEST
from engines.whole_folder import whole_folder

__all__ = ["Imported", "import_model", "name_from_file"]

_REVISION: Final = 1
"""Goes up when the graphs change, so that the same file is imported anew."""
_LEAST_VARIATION: Final = 1.0 / 127.5
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PROBE_PX: Final = (256, 320)
Manifest = dict[str, object]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        name: of the network.
        folder: where it lies.
        source: format of the file, such as `stylegan3-r` or `yunet`.
        is_new: false where the same file had been imported under that name before.
    """

    name: str
    folder: Path
    source: str
    is_new: bool


def import_model(
    path: Path,
    *,
    name: str | None = None,
    licence: str | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
) -> Imported:
    """Import a generator or a detector.

    Args:
        path: an official StyleGAN2-ADA or StyleGAN3 pickle, a rosinality checkpoint, or an ONNX
            detector (CenterFace, YuNet, SCRFD).
        name: lower case; made from the file's name where None.
        licence: of the network, in words; `unknown` where None.
        folder: of imported networks; see `models_folder`.
        overwrite: replace another network of that name.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is damaged, hostile, of an unknown kind, or its pictures are blank.
        FileExistsError: another network has that name.
        OSError: the folder cannot be written.
    """
    named = name or name_from_file(path)
    if not _NAME.fullmatch(named) or named == CENTERFACE:
        raise ModelRejected(
            f"{named!r} is no name for a network; use a-z, 0-9, '.', '_' and '-', not `centerface`"
        )
    target = models_folder(folder) / named
    digest = _digest(path)
    known = _source(target)
    if known is not None and known[0] == digest and licence in (None, known[2]):
        return Imported(named, target, known[1], is_new=False)
    if target.exists() and not overwrite:
        raise FileExistsError(17, "another network has that name", named)
    files, manifest = _read(path)
    source = manifest.pop("source_format")
    described: Manifest = {"format": FORMAT, "name": named, "licence": licence or "unknown"}
    described |= {"source": {"format": source, "sha256": digest, "revision": _REVISION}, **manifest}
    _written(target, files, described)
    return Imported(named, target, str(source), is_new=True)


def name_from_file(path: Path) -> str:
    """A name for the network in a file.

    >>> name_from_file(Path("StyleGAN3 T (FFHQ).pkl"))
    'stylegan3-t-ffhq'
    """
    return re.sub(r"[^a-z0-9._]+", "-", path.stem.lower()).strip("-._") or "network"


def _read(path: Path) -> tuple[Mapping[str, bytes], Manifest]:
    if path.suffix.lower() == ".onnx":
        return _detector(path)
    return _generator(path)


def _generator(path: Path) -> tuple[Mapping[str, bytes], Manifest]:
    read = generator_from_file(path)
    network = read.network
    files = {
        "mapping.onnx": mapping_onnx(network.mapping, network.layers),
        "synthesis.onnx": synthesis_onnx(network),
    }
    draws = np.random.default_rng(0).standard_normal((2, len(network.mapping.layers[0].weight[0])))
    latents = np.repeat(
        mapped(network.mapping, draws.astype(np.float32))[:, None], network.layers, axis=1
    )
    refuse_blank(files["synthesis.onnx"], latents)
    width = len(network.mapping.mean)
    purposes = {
        "mapping.onnx": "z (normal) and psi [0, 1] -> latents",
        "synthesis.onnx": f"latents -> image, {network.size} px RGB about [-1, 1]",
    }
    manifest: Manifest = {
        "kind": "generator",
        "source_format": read.source,
        "size_px": network.size,
        "latents": [network.layers, width],
        "files": _entries(files, purposes),
    }
    return files, manifest


def refuse_blank(
    synthesis: bytes, latents: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
) -> None:
    """Refuse a generator that paints nothing, or the same for different people.

    Raises:
        ModelRejected: it does.
    """
    try:
        with closing(OnnxRuntime().load(synthesis)) as session:
            image = session.run({"latents": latents})["image"]
    except EngineFault as fault:
        raise ModelRejected(f"the generator does not paint: {fault}") from fault
    if image.std(axis=(1, 2, 3)).min() < _LEAST_VARIATION:
        raise ModelRejected("the generator paints a blank; the file is damaged")
    if np.abs(image[0] - image[1]).max() < _LEAST_VARIATION:
        raise ModelRejected("the generator paints the same for everybody; the file is damaged")


def _detector(path: Path) -> tuple[Mapping[str, bytes], Manifest]:
    content = model_bytes(path)
    layout = layout_of(content)
    scene, _ = drawn_scene(*_PROBE_PX, 2, side_px=90.0)
    detector = detector_from_model(OnnxRuntime(), content)
    try:
        detector.detect(scene, min_score=0.3)
    except EngineFault as fault:
        raise ModelRejected(f"the detector does not run: {fault}") from fault
    files = {"detector.onnx": content}
    purposes = {"detector.onnx": f"faces with five landmarks, {layout} layout"}
    manifest: Manifest = {
        "kind": "detector",
        "source_format": layout,
        "files": _entries(files, purposes),
    }
    return files, manifest


def _entries(files: Mapping[str, bytes], purposes: Mapping[str, str]) -> Manifest:
    return {
        name: {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "purpose": purposes[name],
            **_ports(content),
        }
        for name, content in files.items()
    }


def _ports(content: bytes) -> Manifest:
    """Names and shapes of inputs and outputs, as the graph says them."""
    import onnx

    graph = onnx.load_model_from_string(stripped(content)).graph
    return {
        side: {
            value.name: [
                size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim
            ]
            for value in values
        }
        for side, values in (("inputs", graph.input), ("outputs", graph.output))
    }


def _digest(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would be waited for, perhaps for ever
        raise ModelMissing(f"{path.name} is no regular file; save the model to one first")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        message = f"{path.name} cannot be read ({fault.strerror}); check its path"
        raise ModelMissing(message) from fault


def _source(folder: Path) -> tuple[str, str, str] | None:
    """Hash and format of the file that an earlier import took, and the licence it was given."""
    try:
        content = value_from_json((folder / MANIFEST).read_text(encoding="utf-8"))
        source = content["source"]
        if source["revision"] != _REVISION:
            return None
        return str(source["sha256"]), str(source["format"]), str(content["licence"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _written(target: Path, files: Mapping[str, bytes], manifest: Manifest) -> None:
    with whole_folder(target) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
