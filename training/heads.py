"""Whole heads to learn hair from: `python -m training.heads`.

The crops of `training.prepare` end at the hairline. Clips and a small set of portraits show hair:
every face in them is cut out as the swap looks around a face (`engines.surroundings`), and a larger
network says where its hair is (`training.hair_teacher`).
"""

import argparse
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt
from engines.polar import GRID, hidden_radii, outline_radii
from engines.surroundings import grid_place

from engines.alignment import crop_from_picture
from engines.backends.openvino import OpenVino
from engines.crop_regions import inside_of
from engines.face_look import painted_points, painting_place
from engines.patches import Patch
from engines.pictures import picture_from_bgr
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack, swapper_from_pack
from engines.swapper import Control, Swapper
from engines.types import Face
from training.face_reading import FaceReader
from training.hair_teacher import HAIR_FILE, HairTeacher
from training.sources import framed_portrait, portraits_of_people

SIZE: Final = 2 * GRID
"""Height and width of the pictures, px; they show what the grid around a face does."""
_FRAMES: Final = 25
"""Of a clip, at most."""
_LEAST_EYES_PX: Final = 30.0
"""Distance of the eyes from which on the teacher is right about hair."""
_BATCH: Final = 8

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """What is around one face.

    Attributes:
        name: of the clip or the person.
        image: uint8[SIZE, SIZE, 3] BGR, black where the picture ends.
        known: uint8[SIZE, SIZE], 1 where it does not.
        hidden: float32[RAYS], how far a patch over the face would reach.
        outline: float32[RAYS], the face's own outline.
    """

    name: str
    image: UInt8
    known: UInt8
    hidden: Float32
    outline: Float32


class HeadFinder:
    """Finds the faces of a picture and cuts out their heads."""

    def __init__(self) -> None:
        self._swapper: Swapper = swapper_from_pack(OpenVino())[0]
        self._reader = FaceReader(self._swapper)
        self._latents = donor_latents(read_pack(bundled_pack()), 1)

    def heads(self, image: UInt8, name: str, known: UInt8 | None = None) -> Iterator[Head]:
        """Heads of an image uint8[H, W, 3] BGR; `known` uint8[H, W] is 1 where it shows any."""
        for face in self._reader.faces(picture_from_bgr(image)):
            apart = face.landmarks_px[1] - face.landmarks_px[0]
            if float(np.hypot(*apart)) >= _LEAST_EYES_PX:
                yield from self._head(image, face, name, known)

    def _head(self, image: UInt8, face: Face, name: str, known: UInt8 | None) -> Iterator[Head]:
        picture = picture_from_bgr(image.copy())
        look = self._reader.look(picture, face)
        points = painted_points(look.shape)
        control = Control(points[None], look.light[None], np.array([look.doubt], np.float32))
        made = self._swapper.paint(control, self._latents)
        if not made.is_usable[0]:
            return
        place = painting_place(look.motion, points, made.alpha.shape[1])
        patch = Patch(made.pixels[0], made.alpha[0], place, made.outline[0])
        wide = (grid_place(patch) * np.float32(SIZE / GRID)).astype(np.float32)
        seen = crop_from_picture(picture, wide, SIZE)
        shows = inside_of(picture, wide, SIZE)
        if known is not None:
            mask = picture_from_bgr(np.repeat(255 * known[..., None], 3, axis=2))
            shows = (crop_from_picture(mask, wide, SIZE)[..., 0] > 250).astype(np.uint8)
        hidden, outline = hidden_radii(made.alpha[0]), outline_radii(made.outline[0])
        yield Head(name, np.asarray(seen * shows[..., None], np.uint8), shows, hidden, outline)


def heads_of_clip(finder: HeadFinder, path: Path) -> Iterator[Head]:
    """Heads in up to `_FRAMES` frames of a clip, spread over it."""
    count = int(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT))
    for image in frames_of(path, count, max(count // _FRAMES, 3)):
        yield from finder.heads(image, path.stem)


def frames_of(path: Path, count: int, every: int) -> Iterator[UInt8]:
    """One in so many of a clip's first frames, uint8[H, W, 3] BGR; none where it cannot be read."""
    clip = cv2.VideoCapture(str(path))
    for number in range(count):
        if not clip.grab():
            return
        if number % every == 0 and (read := clip.retrieve())[0]:
            yield np.asarray(read[1], np.uint8)


def heads_of_portraits(finder: HeadFinder, path: Path) -> Iterator[Head]:
    """Heads in a tar of person/number.pgm; names are those of the people."""
    for person, grey in portraits_of_people(path):
        wide, known = framed_portrait(grey)
        yield from islice(finder.heads(wide, f"portrait {person}", known), 1)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=Path, required=True, help="folder of clips")
    parser.add_argument("--people", type=Path, required=True, help="tar of person/number.pgm")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/heads.npz"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    finder, teacher = HeadFinder(), HairTeacher(args.models / HAIR_FILE)
    heads: list[Head] = []
    for path in sorted(args.videos.iterdir()):
        found = list(heads_of_clip(finder, path))
        log.info("%s: %d heads", path.name, len(found))
        heads += found
    heads += heads_of_portraits(finder, args.people)
    images = np.stack([head.image for head in heads])
    hair = [teacher.hair(images[at : at + _BATCH]) for at in range(0, len(heads), _BATCH)]
    np.savez_compressed(
        args.out,
        allow_pickle=False,
        names=np.array([head.name for head in heads]),
        images=images,
        known=np.stack([head.known for head in heads]),
        hair=np.round(255 * np.concatenate(hair)).astype(np.uint8),
        hidden=np.stack([head.hidden for head in heads]),
        outline=np.stack([head.outline for head in heads]),
    )
    log.info("%d heads of %d clips and people", len(heads), len({head.name for head in heads}))


if __name__ == "__main__":
    main()
