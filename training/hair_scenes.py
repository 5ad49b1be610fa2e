"""Heads with known hair, to learn from: hair, skin, walls and cameras other than they were.

A few dozen heads are at hand, so each is drawn anew every time: its hair in another colour and of
another thickness, gone now and then, other walls behind it, another light and another camera. The
face under the patch is one colour, for no more than that is known of it where hair is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.polar import GRID, RAYS, REACH
from engines.stylegan.drawing import LUMA
from training.heads import SIZE

__all__ = ["HairScenes", "LabelledHead", "labelled", "plain"]

_SURE: Final = (0.3, 0.7)
"""What the teacher says between which it is in doubt."""
_HAIR_BGR: Final = np.array(
    [
        (30, 28, 28), (35, 40, 50), (45, 60, 85), (60, 85, 120), (95, 135, 175), (140, 175, 205),
        (150, 150, 150), (200, 200, 200), (40, 60, 120), (225, 230, 235),
    ],
    np.float32,
)  # fmt: skip
_SKIN_BGR: Final = np.array(
    [
        (150, 175, 215), (130, 155, 200), (110, 140, 190), (85, 115, 160), (60, 85, 125),
        (45, 60, 90), (165, 190, 235),
    ],
    np.float32,
)  # fmt: skip
_HEAD: Final = 1.17
"""Radius of a head without its hair, in radii of its face."""
_BELOW: Final = 0.12
"""From which height below the middle on a picture shows neck and clothes, shares of the side."""
_COLOURFUL: Final = 0.45
"""Share of what is drawn that was not grey."""
_FAINT: Final = 1e-3

_STEPS = (np.arange(SIZE, dtype=np.float32) + np.float32(0.5)) * np.float32(2 * REACH / SIZE)
_X, _Y = np.meshgrid(_STEPS - np.float32(REACH), _STEPS - np.float32(REACH))
_RADIUS: Final = np.hypot(_X, _Y)
_TURN: Final = (np.arctan2(_Y, _X) % (2 * np.pi)).astype(np.float32)

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class LabelledHead:
    """A head and where its hair is; SIZE px square.

    Attributes:
        name: of the clip or person.
        image: float32[SIZE, SIZE, 3] BGR.
        hair: float32[SIZE, SIZE] in [0, 1].
        known: float32[SIZE, SIZE], 1 where the picture shows anything.
        hidden, outline: float32[SIZE, SIZE], radius of patch and face in each direction.
        is_grey: without colours.
    """

    name: str
    image: Float32
    hair: Float32
    known: Float32
    hidden: Float32
    outline: Float32
    is_grey: bool


def labelled(arrays: dict[str, npt.NDArray[np.generic]], row: int) -> LabelledHead:
    """One of the heads that `training.heads` wrote."""
    low, high = _SURE
    image = np.asarray(arrays["images"][row], np.float32)
    hair = np.asarray(arrays["hair"][row], np.float32) / np.float32(255)
    turns = np.linspace(0, 2 * np.pi, RAYS, endpoint=False)
    hidden, outline = (
        np.interp(_TURN.ravel(), turns, np.asarray(arrays[name][row]), period=2 * np.pi)
        .reshape(_TURN.shape)
        .astype(np.float32)
        for name in ("hidden", "outline")
    )
    return LabelledHead(
        str(arrays["names"][row]),
        image,
        np.clip((hair - low) / (high - low), 0, 1).astype(np.float32),
        np.asarray(arrays["known"][row], np.float32),
        hidden,
        outline,
        bool(np.ptp(image, axis=2).max() < 3),
    )


def plain(head: LabelledHead) -> tuple[UInt8, Float32, Float32]:
    """A head as it is, as `HairScenes.batch` gives them: fed, hair and what counts."""
    skin = _mean_colour(head.image, _skin_of(head))
    hidden = (_small(_RADIUS) < _small(head.hidden)).astype(np.float32)
    return (
        _fed(_small(head.image), hidden, skin),
        _small(head.hair),
        _small(head.known) * (1 - hidden),
    )


class HairScenes:
    """Draws heads.

    Args:
        heads: that are drawn from, each name as often as any other of its kind.
        walls: pictures uint8[H, W, 3] BGR of which what is behind heads is made.
        seed: decides everything that is drawn.
    """

    def __init__(self, heads: list[LabelledHead], walls: list[UInt8], seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._walls = walls
        names = sorted({head.name for head in heads})
        own = [[head for head in heads if head.name == name] for name in names]
        self._colourful = [one for one in own if not one[0].is_grey]
        self._grey = [one for one in own if one[0].is_grey]

    def batch(self, count: int) -> tuple[UInt8, Float32, Float32]:
        """Pictures, where their hair is and what counts.

        Returns:
            uint8[N, GRID, GRID, 4] BGR and 255 under the patch; float32[N, GRID, GRID] in [0, 1],
            twice.
        """
        fed, hair, counts = zip(*(self._one() for _ in range(count)), strict=True)
        return np.stack(fed), np.stack(hair), np.stack(counts)

    def _one(self) -> tuple[UInt8, Float32, Float32]:
        random = self._random
        kind = self._colourful if random.random() < _COLOURFUL or not self._grey else self._grey
        of_one = kind[random.integers(len(kind))]
        head = of_one[random.integers(len(of_one))]
        image, hair = self._coloured(head), head.hair
        if random.random() < 0.35:
            image, hair = self._balding(head, image)
        image, counts = self._before_a_wall(head, image)
        planes = self._moved(head, image, hair, counts)
        return self._photographed(*planes)

    def _coloured(self, head: LabelledHead) -> Float32:
        """With hair of another colour; grey heads get colours all over."""
        random, image, known = self._random, head.image, head.known
        luma = np.asarray(image @ LUMA, np.float32)
        if head.is_grey and random.random() < 0.9:
            skin = _varied(random, _SKIN_BGR, (0.7, 1.2), 6)
            image = _toned(luma, _skin_of(head), skin, random.uniform(0.6, 1.3))
            below = _blurred((0.5 + 0.15 * np.abs(_X) < _Y).astype(np.float32), 2.0)
            cloth = random.uniform(10, 230, 3).astype(np.float32)
            clothes = _toned(luma, (_Y > 0.5) * known, cloth, 1.0)
            image = _laid(image, clothes, below)
        if head.is_grey or random.random() < 0.4:
            dye = _varied(random, _HAIR_BGR, (0.75, 1.25), 8)
            if random.random() < 0.1:  # a cap, for what a reader makes of it
                dye = random.uniform(10, 230, 3).astype(np.float32)
            dyed = _toned(luma, head.hair * known, dye, random.uniform(0.6, 1.4))
            image = _laid(image, dyed, _blurred(head.hair, 0.8))
        return image

    def _balding(self, head: LabelledHead, image: Float32) -> tuple[Float32, Float32]:
        """With a hairline farther up, farther at the sides or in the middle, or no hair at all."""
        random = self._random
        gone = random.uniform(0.05, 0.22) * (1 + 0.4 * np.cos(4 * _TURN)) * (random.random() < 0.8)
        end = head.outline + np.where(gone > 0, gone, 2.0)
        bare = _blurred((end > _RADIUS).astype(np.float32), 1.5)
        skin = _mean_colour(image, _skin_of(head)) * np.float32(random.uniform(0.75, 1.1))
        luma = np.asarray(image @ LUMA, np.float32)
        fine = luma - _blurred(luma, 5.0)
        made = _laid(image, skin + 0.3 * fine[..., None], _blurred(head.hair, 0.8) * bare)
        return made, np.asarray(head.hair * (1 - bare), np.float32)

    def _before_a_wall(self, head: LabelledHead, image: Float32) -> tuple[Float32, Float32]:
        """With something else behind it, and what counts of it then."""
        random = self._random
        known = cv2.erode(head.known, np.ones((3, 3)))
        if random.random() < (0.1 if head.is_grey else 0.25):
            return image, np.asarray(known, np.float32)
        bald = (head.outline * _HEAD > _RADIUS).astype(np.float32)
        person = np.maximum(_blurred(head.hair, 0.8), _blurred(bald, 1.0))
        below = np.clip((_Y - _BELOW) / 0.15, 0, 1) * head.known
        wall = self._wall()
        if random.random() < 0.15 and head.hair.sum() > 50:  # as bright as the hair before it
            wall = (
                wall
                - wall.mean(axis=(0, 1))
                + _mean_colour(image, head.hair)
                + random.normal(0, 12)
            )
        made = _laid(wall.astype(np.float32), image, np.maximum(person, below))
        edge = head.known * (1 - cv2.erode(head.known, np.ones((7, 7))))
        is_cut_off = head.is_grey and float((head.hair * edge).sum()) > 25
        return made, np.asarray(known if is_cut_off else np.ones_like(known), np.float32)

    def _wall(self) -> Float32:
        random = self._random
        kind = random.random()
        if kind < 0.6:
            image = self._walls[random.integers(len(self._walls))]
            side = int(random.integers(40, min(image.shape[:2]) + 1))
            top, left = (int(random.integers(size - side + 1)) for size in image.shape[:2])
            part = image[top : top + side, left : left + side].astype(np.float32)
            wall = _resized(part, SIZE)
            if random.random() < 0.5:
                wall = _blurred(wall, random.uniform(1, 8))
            wall = wall[..., random.permutation(3)] if random.random() < 0.3 else wall
            return np.asarray(wall * random.uniform(0.5, 1.4) + random.uniform(-40, 40), np.float32)
        if kind < 0.85:
            colour = random.uniform(0, 255, 3) * random.uniform(0.3, 1)
            colour = np.full(3, colour.mean()) if random.random() < 0.5 else colour
            slope = _X * random.normal(0, 25) + _Y * random.normal(0, 25)
            cells = max(2, int(SIZE / random.uniform(4, 60)))
            spots = random.normal(0, random.uniform(0, 10), (cells, cells)).astype(np.float32)
            spots = np.asarray(cv2.resize(spots, (SIZE, SIZE), interpolation=cv2.INTER_CUBIC))
            return np.asarray(colour + (slope + spots)[..., None], np.float32)
        wall = np.full((SIZE, SIZE, 3), random.uniform(0, 255, 3), np.float32)
        for _ in range(random.integers(1, 8)):
            corners = cv2.convexHull(random.uniform(0, SIZE, (4, 2)).astype(np.int32))
            cv2.fillConvexPoly(wall, corners, tuple(random.uniform(0, 255, 3)))
        return _blurred(wall, random.uniform(0.6, 5))

    def _moved(
        self, head: LabelledHead, image: Float32, hair: Float32, counts: Float32
    ) -> tuple[Float32, Float32, Float32, Float32, Float32]:
        """Turned, scaled, mirrored, and with hair of another thickness.

        Returns:
            Image, hair, what counts, radius of the patch and skin's colour.
        """
        random = self._random
        turn, scale = random.normal(0, 6), float(np.exp(random.normal(0, 0.06)))
        middle = (SIZE / 2, SIZE / 2)
        place = np.array(cv2.getRotationMatrix2D(middle, turn, scale), np.float64)
        wider = float(np.exp(random.normal(0, 0.06)))
        place[:, 2] += random.normal(0, 3, 2)
        place[0] *= wider
        place[0, 2] += (1 - wider) * SIZE / 2
        is_mirrored = random.random() < 0.5

        def moved(plane: Float32, border: int = cv2.BORDER_REPLICATE) -> Float32:
            made = cv2.warpAffine(plane, place, (SIZE, SIZE), borderMode=border)
            return np.ascontiguousarray(made[:, ::-1] if is_mirrored else made, np.float32)

        skin = _mean_colour(image, _skin_of(head) * (head.outline * 0.9 > _RADIUS))
        hidden, outline = moved(head.hidden), moved(head.outline)
        hidden = hidden * np.float32(np.exp(random.normal(0, 0.04)))
        planes = [moved(image), moved(hair), moved(counts, cv2.BORDER_CONSTANT)]
        if random.random() < 0.75:
            way = _thickened(random, outline)
            planes = [
                np.asarray(cv2.remap(one, *way, cv2.INTER_LINEAR, borderMode=border), np.float32)
                for one, border in zip(
                    planes,
                    (cv2.BORDER_REPLICATE, cv2.BORDER_REPLICATE, cv2.BORDER_CONSTANT),
                    strict=True,
                )
            ]
        return planes[0], planes[1], planes[2], hidden, skin

    def _photographed(
        self, image: Float32, hair: Float32, counts: Float32, hidden: Float32, skin: Float32
    ) -> tuple[UInt8, Float32, Float32]:
        random = self._random
        if random.random() < 0.5:
            side = max(16, int(SIZE * random.uniform(0.25, 1)))
            image = _resized(_resized(image, side), SIZE)
        if random.random() < 0.3:
            image = _blurred(image, random.uniform(0.5, 2.5))
        lamp = 1 + _X * random.normal(0, 0.15) + _Y * random.normal(0, 0.15)
        gain = np.exp(random.normal(0, 0.25)) * np.exp(random.normal(0, 0.08, 3))
        contrast, offset = np.exp(random.normal(0, 0.2)), random.normal(0, 12)

        def seen(colours: Float32, light: npt.NDArray[np.floating]) -> Float32:
            lit = (colours * gain * light - 110) * contrast + 110 + offset
            return np.asarray(np.clip(lit, 0, 255), np.float32)

        image = _small(seen(image, lamp[..., None]))
        if random.random() < 0.5:
            noise = random.normal(0, random.uniform(0, 8), image.shape)
            image = np.asarray(image + noise, np.float32)
        patch = _small(_RADIUS) < _small(hidden) + np.float32(random.normal(0, 0.008))
        painted = seen(skin, np.ones(1)) * np.exp(
            random.normal(0, 0.08) + random.normal(0, 0.03, 3)
        )
        hides = patch.astype(np.float32)
        return _fed(image, hides, painted), _small(hair), _small(counts) * (1 - hides)


def _thickened(random: np.random.Generator, outline: Float32) -> tuple[Float32, Float32]:
    """Where places are taken from if hair is thicker or thinner, here more and there less."""
    uneven = sum(
        random.normal(0, 0.16 / turns) * np.cos(turns * _TURN - random.uniform(0, 2 * np.pi))
        for turns in range(1, 7)
    )
    thicker = np.exp(random.normal(0, 0.3) + uneven)
    face = _blurred(outline, 3.0)
    band = np.float32(0.35)
    top, end = face + band * np.minimum(thicker, 2), np.float32(1.3 * REACH)
    inner = face + (top - face) / thicker
    beyond = inner + (_RADIUS - top) * (end - inner) / (end - top)
    hair = face + (_RADIUS - face) / thicker
    radius = np.where(face >= _RADIUS, _RADIUS, np.where(top >= _RADIUS, hair, beyond))
    share = (radius / np.maximum(_RADIUS, np.float32(_FAINT))).astype(np.float32)
    scale, half = np.float32(SIZE / (2 * REACH)), np.float32(0.5)
    return (_X * share + REACH) * scale - half, (_Y * share + REACH) * scale - half


def _skin_of(head: LabelledHead) -> Float32:
    inside = (head.outline > _RADIUS).astype(np.float32)
    return np.asarray(inside * (1 - head.hair) * head.known, np.float32)


def _mean_colour(image: Float32, weight: Float32) -> Float32:
    total = (image * weight[..., None]).sum(axis=(0, 1))
    return np.asarray(total / (weight.sum() + _FAINT), np.float32)


def _toned(luma: Float32, place: Float32, colour: Float32, contrast: float) -> Float32:
    """A place in another colour, with its own light and shade: float32[SIZE, SIZE, 3]."""
    mean = float((luma * place).sum() / (place.sum() + _FAINT))
    wanted = float(colour @ LUMA)
    apart = (luma - mean) * np.float32(contrast * min(max(wanted, 25) / max(mean, 20), 2.2))
    tint = 0.5 + 0.5 * colour / max(wanted, 1.0)
    return np.asarray(colour + apart[..., None] * tint, np.float32)


def _varied(
    random: np.random.Generator, colours: Float32, gain: tuple[float, float], spread: float
) -> Float32:
    colour = colours[random.integers(len(colours))] * random.uniform(*gain)
    return np.asarray(np.clip(colour + random.normal(0, spread, 3), 5, 250), np.float32)


def _laid(under: Float32, over: Float32, share: npt.NDArray[np.floating]) -> Float32:
    return np.asarray(under + share[..., None] * (over - under), np.float32)


def _small(plane: Float32) -> Float32:
    return _resized(plane, GRID)


def _resized(plane: Float32, side: int) -> Float32:
    shrinks = side < plane.shape[0]
    way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(plane, (side, side), interpolation=way), np.float32)


def _blurred(plane: Float32, deviation: float) -> Float32:
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigmaX=deviation), np.float32)


def _fed(image: npt.NDArray[np.floating], hidden: Float32, skin: Float32) -> UInt8:
    seen = _laid(np.asarray(image, np.float32), np.asarray(skin, np.float32), hidden)
    planes = np.dstack([np.clip(seen, 0, 255), 255 * hidden])
    return planes.round().astype(np.uint8)
