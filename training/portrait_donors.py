"""Makes the donors of a pack of whole synthetic portraits: `python -m training.portrait_donors`.

Every portrait of `training/donor_portraits.csv` was looked at: no children, glasses, hats, hair
over the brows, hard shadows or open mouths. `engines.donors` makes donors of them.
"""

import argparse
import csv
import logging
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
from engines.embedder import embedder_from_pack
from engines.stylegan.pack import read_pack, swapper_from_pack
from training.bundle import enter

LIST: Final = Path(__file__).with_name("donor_portraits.csv")
_WIDE_EYES: Final = ((0.36, 0.42), (0.64, 0.42))
_EYES: Final = ((0.30, 0.37), (0.70, 0.37))
"""Where the eyes lie in the portraits, and in the kveil crop, shares of the side."""
_BINS: Final = ("gender", "tone", "age")

UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


def portraits(folder: Path, names: list[str]) -> Iterator[UInt8]:
    """Kveil crops uint8[384, 384, 3] BGR of portraits, in the order of their names.

    Args:
        folder: holds one tar for each source; a name begins with its source.
        names: such as `omi-0001.webp`.
    """
    archives: dict[str, tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]] = {}
    for name in names:
        source = name.rsplit("-", 1)[0]
        if source not in archives:
            tar = tarfile.open(folder / f"{source}.tar")  # noqa: SIM115
            members = {Path(one.name).name: one for one in tar.getmembers() if one.isfile()}
            archives[source] = tar, members
        tar, members = archives[source]
        file = tar.extractfile(members[name])
        assert file is not None, f"{name} is no file"
        picture = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None, f"{name} is no picture"
        yield _kveil_crop(np.asarray(picture, np.uint8))
    for tar, _ in archives.values():
        tar.close()


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


def write(folder: Path, weights: Path) -> None:
    """Write `donors.npz` and `details.npz` into a pack, and both into its manifest.

    Args:
        folder: of the portraits.
        weights: of the pack, whose networks are used.
    """
    with LIST.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pack, backend = read_pack(weights), OpenVino()
    swapper, _ = swapper_from_pack(backend, weights)
    reader = DonorReader(backend, pack, swapper)
    read = [reader.read(crop) for crop in portraits(folder, [row["name"] for row in rows])]
    latents, textures = (np.stack(part) for part in zip(*read, strict=True))
    bins = {name: np.array([row[name] for row in rows]).astype(np.str_) for name in _BINS}
    people = DonorPeople(latents, textures, bins)
    embedder, thresholds = embedder_from_pack(backend, 60.0, weights / "embedder")
    alike = write_donor_files(weights, backend, pack, people, embedder, thresholds.match)
    log.info("%d pairs of %d donors look alike", alike, len(rows))
    enter(weights, donor_entries(weights))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--portraits", type=Path, required=True, help="folder of the tars")
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    write(args.portraits, args.pack)


if __name__ == "__main__":
    main()
