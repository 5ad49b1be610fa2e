"""Things that come before a face, drawn: hands, objects, clothes, the backs of heads, face masks.

No photographs of hands are at hand that could be shipped with or trained from. A hand is drawn
instead as capsules of a skeleton in space whose fingers bend at will, as a height over the
picture that is lit from a random side; its skin is that of the face it is put before.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE, NOSE_BRIDGE_SLICE, OVAL_SLICE

SIDE: Final = 160
"""Height and width of what is drawn, px of a crop of 128."""
_SPREAD: Final = (-0.16, -0.05, 0.06, 0.17)
"""Places of the four knuckles across the palm, lengths of the hand."""
_LENGTHS: Final = (0.40, 0.46, 0.43, 0.34)
_PHALANGES: Final = (0.45, 0.31, 0.24)
_SMALLEST: Final = 1e-3

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Occluder:
    """One thing to put before a face.

    Attributes:
        colour: float32[S, S, 3] RGB in [0, 1]; of skin, what multiplies the face's colour.
        alpha: float32[S, S].
        is_skin: whether the colour multiplies.
    """

    colour: Float32
    alpha: Float32
    is_skin: bool


def drawn(random: np.random.Generator, tile: UInt8) -> Occluder:
    """Draw a hand, an object or something large.

    Args:
        random: decides what it is.
        tile: uint8[H, W, 3] RGB, a part of any picture to print on objects and clothes.
    """
    kind = random.random()
    if kind < 0.6:
        return _hand(random, tile)
    shape = _object(random) if kind < 0.85 else _large(random)
    return Occluder(_lit(random, _print(random, tile), shape), shape, is_skin=False)


def face_mask(random: np.random.Generator, points: Float32, tile: UInt8) -> Occluder:
    """A mask or a scarf from the bridge of the nose down.

    Args:
        random: decides how high it sits and what it is made of.
        points: float32[POINTS, >=2] of the face, px of a crop of 128.
        tile: see `drawn`.
    """
    oval = points[OVAL_SLICE, :2]
    nose = points[NOSE_BRIDGE_SLICE, :2]
    eyes = (points[EYE_LEFT_SLICE, :2].mean(0) + points[EYE_RIGHT_SLICE, :2].mean(0)) / 2
    top = eyes + (nose[-1] - eyes) * random.uniform(0.35, 1.05)
    low = oval[(oval - top) @ (nose[-1] - eyes) > 0]
    middle = low.mean(axis=0)
    hull = cv2.convexHull(
        np.concatenate([middle + (low - middle) * random.uniform(1.0, 1.15), top[None]]).astype(
            np.float32
        )
    )
    alpha = np.zeros((SIDE, SIDE), np.float32)
    cv2.fillPoly(alpha, [np.round(hull * 16).astype(np.int32)], 1.0, cv2.LINE_AA, 4)
    colour = _print(random, tile)
    if random.random() < 0.6:
        plain = random.choice(np.array([[0.7, 0.85, 0.92], [0.93, 0.93, 0.93], [0.1, 0.1, 0.12]]))
        folds = 1 + 0.06 * np.sin(np.arange(SIDE) / random.uniform(1.5, 5))[:, None, None]
        colour = np.clip(plain * folds + np.zeros((SIDE, SIDE, 1)), 0, 1).astype(np.float32)
    return Occluder(_lit(random, colour, alpha), alpha, is_skin=False)


def _hand(random: np.random.Generator, tile: UInt8) -> Occluder:
    """A hand with its forearm below, in a sleeve or not."""
    length = random.uniform(65, 135)
    stout = random.uniform(0.9, 1.25)
    height = np.full((SIDE, SIDE), -1e3, np.float32)
    wrist = np.array([SIDE / 2, SIDE / 2 + 0.25 * length, 0.0])
    curl = random.uniform(0.0, 1.9) if random.random() < 0.8 else 0.0
    fan = random.uniform(0.0, 0.25)
    roll = np.cos(random.uniform(0.0, 1.35))  # a hand seen from its edge is narrow
    for across, reach in zip(_SPREAD, _LENGTHS, strict=True):
        knuckle = wrist + np.array([across * roll, -0.42, 0.1 * across]) * length
        ends = (0.075 * stout * length, 0.06 * stout * length)
        _capsule(height, wrist + (knuckle - wrist) * 0.15, knuckle, *ends)
        bend = 0.0 if random.random() < 0.25 else curl * random.uniform(0.6, 1.2)
        _finger(
            random, height, knuckle, (across * 2 * fan, bend), reach * length, 0.05 * stout * length
        )
    root = wrist + np.array([-0.14 * roll, -0.12, 0.05]) * length
    lean = random.uniform(-1.1, 0.1)
    thumb = (0.42 * length, 0.058 * stout * length)
    _finger(random, height, root, (lean, random.uniform(0, 0.7)), *thumb)
    lean = random.uniform(-0.4, 0.4)
    elbow = wrist + np.array([np.sin(lean), np.cos(lean), -0.1]) * 1.6 * length
    _capsule(height, wrist, elbow, 0.12 * stout * length, 0.18 * stout * length)
    alpha = _soft(height > -500)
    colour = _skin(random, height)
    if random.random() < 0.5:
        start = wrist[1] + random.uniform(0.05, 0.6) * length
        is_cloth = (np.arange(SIDE) > start)[:, None] & (height > -500)
        cloth = _lit(random, _print(random, tile), alpha)
        # The sleeve's colour is not the skin's: it is divided out when the skin's is put on.
        colour = np.where(is_cloth[..., None], -cloth - _SMALLEST, colour)
    return Occluder(colour.astype(np.float32), alpha, is_skin=True)


def _finger(
    random: np.random.Generator,
    height: Float32,
    start: npt.NDArray[np.float64],
    angles: tuple[float, float],
    length: float,
    radius: float,
) -> None:
    """Three bones from `start`; `angles` are the lean in the picture and the bend out of it."""
    lean, bend = angles
    lean += random.normal(0, 0.06)
    along, turned = start, 0.0
    for share in _PHALANGES:
        turned += bend * random.uniform(0.8, 1.2)
        flat = np.cos(turned)
        step = np.array([np.sin(lean) * flat, -np.cos(lean) * flat, np.sin(turned)])
        end = along + step * length * share
        _capsule(height, along, end, radius, radius * 0.93)
        along, radius = end, radius * 0.93


def _capsule(
    height: Float32,
    start: npt.NDArray[np.float64],
    end: npt.NDArray[np.float64],
    first: float,
    last: float,
) -> None:
    """Raise `height` to a capsule between two points x, y, z px, of changing radius."""
    reach = max(first, last) + 1
    low = np.floor(np.minimum(start, end)[:2] - reach).astype(int).clip(0, SIDE)
    high = np.ceil(np.maximum(start, end)[:2] + reach).astype(int).clip(0, SIDE)
    if (high <= low).any():
        return
    x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
    line = end[:2] - start[:2]
    share = ((x - start[0]) * line[0] + (y - start[1]) * line[1]) / max(line @ line, 1e-6)
    share = share.clip(0, 1)
    away = (x - start[0] - share * line[0]) ** 2 + (y - start[1] - share * line[1]) ** 2
    radius = first + (last - first) * share
    raised = np.sqrt(np.maximum(radius**2 - away, 0)) + start[2] + share * (end[2] - start[2])
    part = height[low[1] : high[1], low[0] : high[0]]
    np.maximum(part, np.where(away < radius**2, raised, -1e3), out=part)


def _skin(random: np.random.Generator, height: Float32) -> Float32:
    """What light and blood do to skin of one colour, float32[S, S, 3] about 1."""
    solid = np.where(height > -500, height, height[height > -500].min()).astype(np.float32)
    fine = cv2.GaussianBlur(solid, (0, 0), 0.8)
    slope_x = cv2.Sobel(fine, cv2.CV_32F, 1, 0, scale=0.125)
    slope_y = cv2.Sobel(fine, cv2.CV_32F, 0, 1, scale=0.125)
    lamp = np.array([random.normal(0, 0.5), random.normal(-0.5, 0.4), 1.0])
    lamp /= np.linalg.norm(lamp)
    steep = np.sqrt(1 + slope_x**2 + slope_y**2)
    facing = (-slope_x * lamp[0] - slope_y * lamp[1] + lamp[2]) / steep
    ambient = random.uniform(0.45, 0.8)
    shade = ambient + (1.1 - ambient) * facing.clip(0, 1)
    hollow = cv2.GaussianBlur(solid, (0, 0), 4) - fine
    shade -= 0.03 * random.uniform(0.3, 1.5) * hollow.clip(0, 6)
    blood = _noise(random, 9) * 0.03
    tint = np.stack([1 + blood, 1 - blood * 0.7, 1 - blood], -1)
    grain = 1 + _noise(random, 40)[..., None] * random.uniform(0, 0.05)
    return np.asarray((shade[..., None] * tint * grain).clip(0.05, 1.5), np.float32)


def _object(random: np.random.Generator) -> Float32:
    """The shape of a cup, a microphone, a telephone, a stick or of nothing in particular."""
    alpha = np.zeros((SIDE, SIDE), np.float32)
    centre = (SIDE / 2, SIDE / 2)
    kind = random.integers(4)
    if kind == 0:
        size = (random.uniform(16, 60), random.uniform(30, 120))
        box = cv2.boxPoints((centre, size, float(random.uniform(0, 180))))
        cv2.fillPoly(alpha, [np.round(box * 16).astype(np.int32)], 1.0, cv2.LINE_AA, 4)
        if random.random() < 0.5:  # rounded
            alpha = (cv2.GaussianBlur(alpha, (0, 0), random.uniform(2, 6)) > 0.5).astype(np.float32)
    elif kind == 1:
        axes = (int(random.uniform(10, 45)), int(random.uniform(10, 45)))
        middle = (SIDE // 2, SIDE // 2)
        cv2.ellipse(alpha, middle, axes, random.uniform(0, 180), 0, 360, 1.0, -1, cv2.LINE_AA)
        if random.random() < 0.6:  # a handle, as of a microphone
            wide = int(random.uniform(6, 22))
            cv2.line(alpha, middle, (int(random.uniform(20, 140)), SIDE), 1.0, wide, cv2.LINE_AA)
    elif kind == 2:
        wide = int(random.uniform(3, 16))
        ends = [(int(random.uniform(0, SIDE)), end) for end in (0, SIDE - 1)]
        cv2.line(alpha, ends[0], ends[1], 1.0, wide, cv2.LINE_AA)
    else:
        alpha = (_noise(random, random.uniform(4, 8)) > 0.5).astype(np.float32)
        distance = np.hypot(*np.meshgrid(np.arange(SIDE) - 80, np.arange(SIDE) - 80))
        alpha *= distance < random.uniform(25, 60)
    return _soft(alpha > 0.5)


def _large(random: np.random.Generator) -> Float32:
    """A shoulder, a wall or the back of a head: everything to one side of a bent line."""
    x, y = np.meshgrid(np.arange(SIDE) - SIDE / 2, np.arange(SIDE) - SIDE / 2)
    if random.random() < 0.5:
        wave = random.uniform(0, 6) * np.sin(x / random.uniform(8, 40) + random.uniform(0, 6))
        bent = random.uniform(-0.01, 0.01) * x**2
        return _soft(y > wave + bent)
    axes = random.uniform(35, 75, 2)
    head = (x / axes[0]) ** 2 + (y / axes[1]) ** 2 < 1 + 0.15 * _noise(random, 6)
    body = (np.abs(x) < axes[0] * 1.5) & (y > axes[1] * 0.8)
    return _soft(head | body)


def _print(random: np.random.Generator, tile: UInt8) -> Float32:
    """What an object looks like: plain, shaded across, striped, streaked or printed."""
    first, second = random.random(3), random.random(3)
    kind = random.integers(5)
    if kind == 0:
        colour = np.zeros((SIDE, SIDE, 3)) + first
    elif kind == 1:
        share = np.linspace(0, 1, SIDE)[:, None, None] * np.ones((1, SIDE, 1))
        colour = first + (second - first) * share
    elif kind == 2:
        x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
        wave = np.sin((x * random.normal() + y * random.normal()) / random.uniform(2, 9))
        colour = np.where(wave[..., None] > 0, first, second)
    elif kind == 3:  # hair or cloth
        fibres = random.normal(size=(SIDE, SIDE // 4)).astype(np.float32)
        soft = cv2.GaussianBlur(fibres, (0, 0), sigmaX=0.7, sigmaY=12)
        streaks = np.asarray(cv2.resize(soft, (SIDE, SIDE)), np.float32) * 2
        colour = first * 0.5 * (1 + streaks[..., None] * random.uniform(0.3, 1.2))
    else:
        wide = cv2.resize(tile, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
        colour = np.asarray(wide, np.float64) / 255.0
    return np.asarray(np.clip(colour + _noise(random, 20)[..., None] * 0.04, 0, 1), np.float32)


def _lit(random: np.random.Generator, colour: Float32, alpha: Float32) -> Float32:
    """Round an object's rim by shade and light it from one side."""
    depth = cv2.GaussianBlur(alpha, (0, 0), random.uniform(3, 12))
    slope = cv2.Sobel(depth, cv2.CV_32F, 1, 0) * random.normal(0, 0.8)
    slope += cv2.Sobel(depth, cv2.CV_32F, 0, 1) * random.normal(0, 0.8)
    round_off = 1 - random.uniform(0, 0.6) * (1 - depth)
    return np.asarray(np.clip(colour * (round_off + slope)[..., None], 0, 1), np.float32)


def _soft(shape: npt.NDArray[np.bool_]) -> Float32:
    return np.asarray(cv2.GaussianBlur(shape.astype(np.float32), (0, 0), 0.6), np.float32)


def _noise(random: np.random.Generator, cells: float) -> Float32:
    """Smooth noise of deviation about 1, float32[S, S]."""
    count = max(2, int(cells))
    coarse = random.normal(size=(count, count)).astype(np.float32)
    return np.asarray(cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC), np.float32)
