"""Packs of donors that a user brings: a folder with a manifest, `donors.npz` and `details.npz`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from engines.errors import ModelMissing, ModelRejected
from engines.json_reading import value_from_json
from engines.stylegan.pack import DETAILS, DONORS, FORMAT, MANIFEST, Pack, read_pack

__all__ = ["DONOR_KIND", "donor_manifest", "is_donor_pack", "read_donor_pack"]

DONOR_KIND: Final = "donors"
_FRAME: Final = ("generator.onnx", "shape.npz")
"""What latents and details of donors are made for: with others they would be other people."""


def donor_manifest(
    name: str,
    licence: str,
    source: Mapping[str, object],
    files: Mapping[str, Mapping[str, object]],
    networks: Pack,
) -> dict[str, object]:
    """What the manifest of a donor pack says.

    Args:
        name: of the pack.
        licence: of the network that painted the donors.
        source: which network, and how it was asked.
        files: by name, their hashes and sizes.
        networks: the pack whose generator paints the donors.
    """
    frame = {one: networks.sha256[one] for one in _FRAME}
    return {
        "format": FORMAT,
        "name": name,
        "kind": DONOR_KIND,
        "licence": licence,
        "source": dict(source),
        "frame": frame,
        "files": dict(files),
    }


def read_donor_pack(folder: Path, networks: Pack) -> Pack:
    """A donor pack whose files may be read; they are verified when they are asked for.

    Args:
        folder: of the pack.
        networks: the pack whose generator shall paint the donors.

    Raises:
        ModelMissing: there is no such pack, or a file of it is absent.
        ModelRejected: its manifest is damaged, it is no donor pack, or one for other networks.
    """
    content = _manifest(folder)
    pack = read_pack(folder)
    if content.get("kind") != DONOR_KIND:
        raise ModelRejected(
            f"{folder.name} is no donor pack; make one with `kveil models donors NETWORK`"
        )
    frame = content.get("frame")
    if frame != {one: networks.sha256[one] for one in _FRAME}:
        raise ModelRejected(
            f"the donor pack {folder.name} is of another frame: its donors are made for another "
            "generator; make it again with `kveil models donors NETWORK`"
        )
    for name in (DONORS, DETAILS):
        _sound(pack, folder, name)
    return pack


def is_donor_pack(folder: Path) -> bool:
    """Whether a folder is a donor pack, sound or not, that may be replaced by another one."""
    try:
        return _manifest(folder).get("kind") == DONOR_KIND
    except (ModelMissing, ModelRejected):
        return False


def _manifest(folder: Path) -> Mapping[str, object]:
    try:
        content = value_from_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(
            f"there is no donor pack {folder.name}; make one with `kveil models donors NETWORK`, "
            "or leave models.donors empty"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelRejected(
            f"the manifest of the donor pack {folder.name} is damaged; make the pack again"
        ) from error
    if not isinstance(content, dict):
        raise ModelRejected(
            f"the manifest of the donor pack {folder.name} is damaged; make the pack again"
        )
    return content


def _sound(pack: Pack, folder: Path, name: str) -> None:
    try:
        pack.path(name)
    except (ModelMissing, ModelRejected) as fault:
        raise type(fault)(
            f"{name} of the donor pack {folder.name} is absent or damaged; make the pack again"
        ) from fault
