"""Makes the donors of a pack of whole synthetic portraits: `python -m training.portrait_donors`.

Every portrait of `training/donor_portraits.csv` was looked at, alone and worn on two heads: no
children, glasses, hats, hair over the brows, hard shadows, open mouths, heavy make-up, moustaches
or looks that nobody has at rest. `engines.donors` makes donors of them.
"""

import argparse
import csv
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.donors.making import (
    CROP_SIZE,
    DonorPeople,
    DonorReader,
    donor_entries,
    write_donor_files,
)
from engines.face.attribute_bins import dealt_as
from engines.face.embedder import embedder_from_pack
from engines.stylegan.pack import read_pack, swapper_from_pack
from training.bundle import enter

LIST: Final = Path(__file__).with_name("donor_portraits.csv")
_WIDE_EYES: Final = ((0.36, 0.42), (0.64, 0.42))
_EYES: Final = ((0.30, 0.37), (0.70, 0.37))
"""Where the eyes lie in the portraits, and in the kveil crop, shares of the side."""
_BINS: Final = ("gender", "tone", "age")

UInt8 = npt.NDArray[np.uint8]


def portraits(folder: Path, names: list[str], faces: Path | None = None) -> Iterator[UInt8]:
    """Kveil crops uint8[384, 384, 3] BGR of portraits, in the order of their names.

    Args:
        folder: holds one tar of wide crops for each source; a name begins with its source.
        names: such as `omi-0001.webp`, or `faces256-00/000002.webp` of a tar of kveil crops.
        faces: folder of the latter.
    """
    archives: dict[Path, tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]] = {}
    for name in names:
        source, _, crop = name.rpartition("/")
        path = folder / f"{name.rsplit('-', 1)[0]}.tar"
        if source:
            assert faces is not None, f"{name} is no portrait"
            path = faces / f"{source}.tar"
        if path not in archives:
            tar = tarfile.open(path)  # noqa: SIM115
            members = {Path(one.name).name: one for one in tar.getmembers() if one.isfile()}
            archives[path] = tar, members
        tar, members = archives[path]
        picture = _decoded(tar.extractfile(members[crop]), name)
        yield _enlarged(picture) if source else _kveil_crop(picture)
    for tar, _ in archives.values():
        tar.close()


def _decoded(file: IO[bytes] | None, name: str) -> UInt8:
    assert file is not None, f"{name} is no file"
    picture = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None, f"{name} is no picture"
    return np.asarray(picture, np.uint8)


def _enlarged(crop: UInt8) -> UInt8:
    side = (CROP_SIZE, CROP_SIZE)
    return np.asarray(cv2.resize(crop, side, interpolation=cv2.INTER_CUBIC), np.uint8)


def _kveil_crop(picture: UInt8) -> UInt8:
    (x, y), (right, _) = _WIDE_EYES
    (to_x, to_y), (to_right, _) = _EYES
    side = picture.shape[0]
    scale = (to_right - to_x) * CROP_SIZE / ((right - x) * side)
    place = np.array(
        [
            [scale, 0, to_x * CROP_SIZE - scale * x * side],
            [0, scale, to_y * CROP_SIZE - scale * y * side],
        ]
    )
    way = cv2.INTER_CUBIC
    crop = cv2.warpAffine(
        picture, place, (CROP_SIZE, CROP_SIZE), flags=way, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(crop, np.uint8)


def write(folder: Path, faces: Path, weights: Path) -> None:
    """Write `donors.npz` and `details.npz` into a pack, and both into its manifest.

    Args:
        folder: of the portraits.
        faces: of the crops.
        weights: of the pack, whose networks are used.
    """
    with LIST.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pack, backend = read_pack(weights), OpenVino()
    swapper, _ = swapper_from_pack(backend, weights)
    reader = DonorReader(backend, pack, swapper)
    names = [row["name"] for row in rows]
    read = [reader.read(crop) for crop in portraits(folder, names, faces)]
    latents, textures = (np.stack(part) for part in zip(*read, strict=True))
    bins = {name: np.array([dealt_as(row[name]) for row in rows]).astype(np.str_) for name in _BINS}
    people = DonorPeople(latents, textures, bins)
    embedder, _ = embedder_from_pack(backend, weights / "embedder")
    write_donor_files(weights, backend, pack, people, embedder)
    enter(weights, donor_entries(weights))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--portraits", type=Path, required=True, help="folder of the tars")
    parser.add_argument("--faces", type=Path, required=True, help="folder of the tars of crops")
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    args = parser.parse_args()
    write(args.portraits, args.faces, args.pack)


if __name__ == "__main__":
    main()
