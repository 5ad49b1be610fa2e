"""Photographs of faces, some of them turned, with things drawn before them, to learn from."""

from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.masks import oval_from_points
from training.degrading import far_away, streak
from training.occluders import SIDE, Occluder, drawn, face_mask

SIZE: Final = 128
"""Height and width of the pictures, px."""
_FREE: Final = 0.3
"""Share of faces before which nothing is."""
_MASKED: Final = 0.06
"""Share of faces under a mask or a scarf."""
_FAR: Final = 0.4
"""Share of pictures that look as from far away."""
_TURNED: Final = 0.3
"""Share of heads that `training.turning` turned."""
_WIDEST: Final = 0.8
"""How much smaller than in a kveil crop other faces are at most."""
_BANK: Final = 4000

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class Scenes:
    """Photographs with things before them.

    Args:
        data: what `training.prepare` and `training.turning` wrote.
        rows: of the crops that are used.
        seed: decides everything that is drawn; anything where None.
    """

    def __init__(self, data: Path, rows: npt.NDArray[np.int64], seed: int | None) -> None:
        self.images = np.load(data / "faces128.npy", mmap_mode="r")
        self.points = np.load(data / "points.npy")
        self.rows = rows
        self.turned = np.load(data / "turned128.npy", mmap_mode="r")
        self.turned_points = np.load(data / "turned.npy")
        self.turned_rows = np.flatnonzero(np.isin(np.load(data / "turned_rows.npy"), rows))
        self.random = np.random.default_rng(seed)
        self.bank = [drawn(self.random, self._tile()) for _ in range(_BANK)]

    def batch(self, count: int) -> tuple[UInt8, Float32, Float32]:
        """Pictures uint8[N, 128, 128, 3] RGB, what is in front and the face's oval, [N, 128, 128].

        The oval is that of the whole face, whatever is before it.
        """
        made = []
        for _ in range(count):
            picture, front, points = self._one(*self._photograph())
            several = picture, front, oval_from_points(points, SIZE)
            is_mirrored = self.random.random() < 0.5
            made.append([one[:, ::-1] if is_mirrored else one for one in several])
        pictures, fronts, ovals = zip(*made, strict=True)
        return np.stack(pictures), np.stack(fronts), np.stack(ovals)

    def faces(self, count: int) -> tuple[UInt8, Float32]:
        """Pictures uint8[N, 128, 128, 3] RGB, and the points of their faces, [N, POINTS, 3]."""
        made = [self._one(*self._photograph()) for _ in range(count)]
        pictures, _, points = zip(*made, strict=True)
        return np.stack(pictures), np.stack(points)

    def _photograph(self) -> tuple[UInt8, Float32, float]:
        """A picture, its points float32[POINTS, 3], and how much smaller it shall become."""
        random = self.random
        if random.random() < _TURNED:
            row = random.choice(self.turned_rows)
            return np.asarray(self.turned[row]), self.turned_points[row], 1.0
        row = random.choice(self.rows)
        return np.asarray(self.images[row]), self.points[row], random.uniform(_WIDEST, 1)

    def _one(self, image: UInt8, shape: Float32, size: float) -> tuple[UInt8, Float32, Float32]:
        """The picture, what is in front, and the points in units of it."""
        random, points = self.random, shape[:, :2]
        place = _placed(random, 0.07, 0.12, 0.03, size)
        picture = _warped(image, place, cv2.BORDER_REPLICATE) / np.float32(255)
        seen = (points * SIZE) @ place[:, :2].T + place[:, 2]
        front = np.zeros((SIZE, SIZE), np.float32)
        draw = random.random()
        if draw > _FREE:
            skin = _skin_of(picture, seen)
            for _ in range(1 + (random.random() < 0.25)):
                picture, front = self._covered(picture, front, seen, skin)
        if draw > 1 - _MASKED:
            mask = face_mask(random, seen.astype(np.float32), self._tile())
            picture, front = _over(
                picture, front, mask.colour[:SIZE, :SIZE], mask.alpha[:SIZE, :SIZE]
            )
        if random.random() < _FAR:
            picture = far_away(random, picture)
        depth = shape[:, 2:] * np.float32(np.sqrt(np.linalg.det(place[:, :2])))
        placed = np.concatenate([(seen / SIZE).astype(np.float32), depth], axis=1)
        return (picture * 255).clip(0, 255).astype(np.uint8), front, placed

    def _covered(
        self, picture: Float32, front: Float32, points: Float32, skin: Float32
    ) -> tuple[Float32, Float32]:
        random = self.random
        thing = self.bank[random.integers(len(self.bank))]
        colour = _coloured(random, thing, skin)
        place = _placed(random, 0.25, 0.0, 0.0)
        turn = _rotation(random.normal(0, 0.9))
        linear = turn @ place[:, :2]
        # A point of the thing comes over a point of the face or beside it.
        onto = points[random.integers(len(points))] + random.normal(0, 14, 2)
        own = np.array([SIDE / 2, SIDE / 2 - 25]) + random.normal(0, 18, 2)
        matrix = np.hstack([linear, (onto - linear @ own)[:, None]])
        alpha = _warped(thing.alpha, matrix)
        colour = _warped(colour, matrix, cv2.BORDER_REPLICATE)
        if random.random() < 0.25:
            kernel = streak(random, random.uniform(3, 11))
            alpha, colour = (
                np.asarray(cv2.filter2D(one, -1, kernel), np.float32) for one in (alpha, colour)
            )
        if random.random() < 0.6:  # a shadow beside it
            shift = random.normal(0, 4, 2)
            moved = _warped(alpha, np.array([[1, 0, shift[0]], [0, 1, shift[1]]]))
            dark = np.asarray(cv2.GaussianBlur(moved, (0, 0), random.uniform(1, 5)), np.float32)
            picture = picture * (1 - np.float32(random.uniform(0, 0.5)) * dark[..., None])
        return _over(picture, front, colour, alpha)

    def _tile(self) -> UInt8:
        """A corner of a photograph: background, hair and clothes."""
        x, y = ((0, 88)[self.random.integers(2)] for _ in range(2))
        image = self.images[self.rows[self.random.integers(len(self.rows))]]
        return np.asarray(image[y : y + 40, x : x + 40])


def _over(
    picture: Float32, front: Float32, colour: Float32, alpha: Float32
) -> tuple[Float32, Float32]:
    weight = alpha[..., None]
    return picture * (1 - weight) + colour * weight, np.maximum(front, alpha)


def _coloured(random: np.random.Generator, thing: Occluder, skin: Float32) -> Float32:
    if not thing.is_skin:
        return thing.colour
    tone = skin * np.exp(random.normal(0, 0.12) + random.normal(0, 0.05, 3)).astype(np.float32)
    if random.random() < 0.1:  # a glove, or somebody else's hand
        tone = random.uniform(0.05, 0.95, 3).astype(np.float32)
    skin_or_cloth = np.where(thing.colour < 0, -thing.colour, thing.colour * tone)
    return np.asarray(skin_or_cloth.clip(0, 1), np.float32)


def _skin_of(picture: Float32, points: Float32) -> Float32:
    """The brighter half's mean colour of a face, float32[3]."""
    inside = oval_from_points((points / SIZE).astype(np.float32), SIZE) > 0.5
    colours = picture[inside]
    if len(colours) < 16:
        return np.full(3, 0.6, np.float32)
    grey = colours.mean(axis=1)
    return np.asarray(colours[grey >= np.median(grey)].mean(axis=0), np.float32)


def _placed(
    random: np.random.Generator, scale: float, angle: float, shift: float, size: float = 1.0
) -> Float32:
    linear = _rotation(random.normal(0, angle)) * (size * np.exp(random.normal(0, scale)))
    middle = np.array([SIZE / 2, SIZE / 2])
    moved = middle - linear @ middle + random.normal(0, shift * SIZE, 2)
    return np.hstack([linear, moved[:, None]]).astype(np.float32)


def _rotation(angle: float) -> Float32:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]], np.float32)


def _warped(
    image: npt.NDArray[np.generic],
    matrix: npt.NDArray[np.floating],
    border: int = cv2.BORDER_CONSTANT,
) -> Float32:
    """A picture moved into the crop, float32[SIZE, SIZE, ...]."""
    moved = cv2.warpAffine(image.astype(np.float32), matrix, (SIZE, SIZE), borderMode=border)
    return np.asarray(moved, np.float32)
