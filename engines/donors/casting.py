"""Makes a donor pack of people whom an imported generator mixes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend
from engines.detectors.loading import detector_from_model
from engines.donors.choice import Cause, Portrait, PortraitChoice
from engines.donors.making import (
    DonorPeople,
    DonorReader,
    donor_entries,
    write_donor_files,
)
from engines.donors.mixing import PortraitMixer
from engines.donors.packs import donor_manifest
from engines.errors import ModelRejected
from engines.face.embedder import embedder_from_pack
from engines.face.embedding_attributes import attributes_from_pack
from engines.models.catalogue import Listed, centerface_path
from engines.stylegan.pack import MANIFEST, Pack, bundled_pack, read_pack, swapper_from_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.warp import load_texture_frame
from engines.whole_folder import whole_folder

__all__ = ["FEWEST", "MOST", "SHEET", "Cast", "Wanted", "cast_donors"]

FEWEST: Final = 9
"""Donors that clusters of k = 5 need: 2k - 1 different ones."""
MOST: Final = 400
"""Donors whose mixtures the latent space can tell apart."""
SHEET: Final = "donors.jpg"
_SHEET_PX: Final = 96
_SHEET_COLUMNS: Final = 20

UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a network.

    Attributes:
        count: donors, `FEWEST` to `MOST`.
        mix: people in a mixture.
        psi: truncation, 0 to 1.
        seed: of the draws.
        tries: portraits that are painted at most.
    """

    count: int
    mix: int
    psi: float
    seed: int
    tries: int


@dataclass(slots=True)
class Cast:
    """What came of a network's portraits.

    Attributes:
        painted: portraits so far.
        taken: those that may become donors.
        refused: the others, by cause.
    """

    painted: int = 0
    taken: list[Portrait] = field(default_factory=list)
    refused: Counter[Cause] = field(default_factory=Counter)

    def told(self) -> str:
        """How many were refused and why, in one line.

        >>> Cast(3, [], Counter({"no face": 2, "turned": 1})).told()
        '1 of 3 portraits show one face; refused: no face 2, turned 1'
        """
        with_one = self.painted - self.refused["no face"] - self.refused["several faces"]
        causes = ", ".join(f"{cause} {count}" for cause, count in self.refused.most_common())
        shown = f"{with_one} of {self.painted} portraits show one face"
        return f"{shown}; refused: {causes or 'none'}"

    def bins(self) -> dict[str, npt.NDArray[np.str_]]:
        """By attribute, the values of those that were taken."""
        names = self.taken[0].bins if self.taken else {}
        return {name: np.array([one.bins[name] for one in self.taken]) for name in names}


def cast_donors(
    network: Listed,
    target: Path,
    wanted: Wanted,
    backend: Backend,
    advance: Callable[[int], None],
) -> Cast:
    """Paint mixtures of people, choose portraits among them, and write a donor pack.

    Args:
        network: an imported generator of portraits.
        target: folder of the pack; replaced if it is there.
        wanted: how many, and how they are mixed.
        backend: the runtime of all networks.
        advance: told how many donors are found.

    Raises:
        EngineFault: a network failed.
        ModelMissing: a file is absent.
        ModelRejected: a file is damaged, the network is no generator, or too few of its portraits
            may become donors.
        OSError: the pack cannot be written.
    """
    if network.kind != "generator":
        raise ModelRejected(f"{network.name} is a {network.kind}, not a generator of portraits")
    pack = read_pack(bundled_pack())
    swapper, _ = swapper_from_pack(backend, pack.folder)
    geometry = pack.path("shape.npz")
    embedder, thresholds = embedder_from_pack(backend)
    choice = PortraitChoice(
        detector_from_model(backend, centerface_path()),
        swapper,
        load_shape_model(geometry),
        load_texture_frame(geometry),
        embedder,
        attributes_from_pack(),
        thresholds.match,
    )
    mixer = PortraitMixer(backend, network.pack, wanted.mix, wanted.psi, wanted.seed)
    try:
        cast = _cast(islice(mixer.portraits(), wanted.tries), choice, wanted.count, advance)
    finally:
        mixer.close()
    if len(cast.taken) < wanted.count:
        raise ModelRejected(
            f"{network.name} gave {len(cast.taken)} of {wanted.count} donors: {cast.told()}; paint "
            "more with --tries, or bring a network of portraits"
        )
    reader = DonorReader(backend, pack, swapper)
    read = [reader.read(portrait.crop) for portrait in cast.taken]
    latents, textures = (np.stack(part) for part in zip(*read, strict=True))
    people = DonorPeople(latents, textures, cast.bins())
    with whole_folder(target) as folder:
        write_donor_files(folder, backend, pack, people, embedder)
        _write_sheet(folder / SHEET, cast.taken)
        _write_manifest(folder, target.name, network, wanted, pack)
    return cast


def _cast(
    portraits: Iterator[UInt8], choice: PortraitChoice, count: int, advance: Callable[[int], None]
) -> Cast:
    """Judges portraits until there are enough donors, or no more portraits."""
    cast = Cast()
    for picture in portraits:
        judged = choice.judge(picture)
        cast.painted += 1
        if isinstance(judged, Portrait):
            cast.taken.append(judged)
            advance(len(cast.taken))
        else:
            cast.refused[judged] += 1
        if len(cast.taken) == count:
            break
    return cast


def _write_manifest(
    folder: Path, name: str, network: Listed, wanted: Wanted, networks: Pack
) -> None:
    source: dict[str, object] = {
        "network": network.name,
        "sha256": network.pack.sha256["synthesis.onnx"],
        **asdict(wanted),
    }
    said = donor_manifest(name, network.licence, source, donor_entries(folder), networks)
    (folder / MANIFEST).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def _write_sheet(path: Path, taken: list[Portrait]) -> None:
    """A sheet of all donors, to be looked at: the checks do not tell everything."""
    side = (_SHEET_PX, _SHEET_PX)
    small = [cv2.resize(one.crop, side, interpolation=cv2.INTER_AREA) for one in taken]
    columns = min(len(small), _SHEET_COLUMNS)
    small += [np.zeros((_SHEET_PX, _SHEET_PX, 3), np.uint8)] * (-len(small) % columns)
    rows = [np.hstack(small[at : at + columns]) for at in range(0, len(small), columns)]
    _, data = cv2.imencode(".jpg", np.vstack(rows), [cv2.IMWRITE_JPEG_QUALITY, 92])
    path.write_bytes(data.tobytes())
