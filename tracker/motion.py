"""Constant-velocity Kalman filters of many boxes at once.

Each box is four independent filters: centre x, centre y, log width, log height, each with a
position and a velocity. Noise is relative to the face's size, so that a 12 px face and one
that fills the frame behave alike, and grows with time rather than with frames, so that
variable frame intervals and frames without a detector run are handled alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Motion", "boxes_from_centres", "centres_from_boxes", "correct", "predict"]
__all__ += [
    "join",
    "select",
    "sizes_and_speeds",
    "spread_sizes",
    "start",
    "steer",
    "unseen_log_spread",
]

Floats = NDArray[np.float64]

_MEASURED_STD = np.array([0.06, 0.06, 0.08, 0.08])
"""Detector jitter: sizes, sizes, log, log."""
_DRIFT = np.array([22.0, 22.0, 2.0, 2.0])
"""White acceleration: sizes²/s³, log²/s³; velocity changes by 1.5 sizes/s in 0.1 s."""
_START_VELOCITY_STD = np.array([12.0, 12.0, 1.0, 1.0])
"""A new track may move this fast: sizes/s, log/s."""
_LARGEST_LOG = 12.0


@dataclass(frozen=True, slots=True)
class Motion:
    """Filters of T boxes.

    Attributes:
        mean: (T, 4, 2) float64; axis 1 is centre x px, centre y px, log width, log height;
            axis 2 is position and velocity per second.
        spread: (T, 4, 3) float64; variance of position, covariance, variance of velocity.
    """

    mean: Floats
    spread: Floats

    @property
    def boxes_px(self) -> Floats:
        """(T, 4) float64 x0 y0 x1 y1."""
        return boxes_from_centres(self.mean[:, :, 0])

    @staticmethod
    def none() -> Motion:
        """No boxes.

        >>> Motion.none().boxes_px.shape
        (0, 4)
        """
        return Motion(np.zeros((0, 4, 2)), np.zeros((0, 4, 3)))


def centres_from_boxes(boxes_px: NDArray[np.floating]) -> Floats:
    """(N, 4) x0 y0 x1 y1 px to (N, 4) float64 centre x, centre y, log width, log height.

    >>> centres_from_boxes(np.array([[0.0, 0.0, 2.0, 1.0]]))[0, :2].tolist()
    [1.0, 0.5]
    """
    boxes = np.asarray(boxes_px, dtype=np.float64).reshape(-1, 4)
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 1e-3)
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, np.log(sides)], axis=1)


def boxes_from_centres(centres: Floats) -> Floats:
    """Inverse of `centres_from_boxes`.

    >>> boxes_from_centres(np.array([[1.0, 0.5, 0.0, 0.0]]))[0].tolist()
    [0.5, 0.0, 1.5, 1.0]
    """
    half = np.exp(np.clip(centres[:, 2:], -_LARGEST_LOG, _LARGEST_LOG)) / 2
    return np.concatenate([centres[:, :2] - half, centres[:, :2] + half], axis=1)


def _scales(log_sides: Floats) -> Floats:
    """(T, 4) unit of each filter: size px for the centre, 1 for the logarithms."""
    size = np.exp(np.clip(log_sides.mean(axis=1), -_LARGEST_LOG, _LARGEST_LOG))
    scales = np.ones((len(size), 4))
    scales[:, :2] = size[:, None]
    return scales


def start(
    boxes_px: NDArray[np.floating], velocity: Floats | None = None, *, is_guess: bool = False
) -> Motion:
    """Filters of new tracks.

    Args:
        boxes_px: (N, 4) x0 y0 x1 y1.
        velocity: (N, 4) per second of centre (px) and log sides; zero when unknown.
        is_guess: the velocity is as uncertain as one that is unknown.

    >>> start(np.array([[0.0, 0.0, 2.0, 2.0]])).boxes_px[0].round(6).tolist()
    [0.0, 0.0, 2.0, 2.0]
    """
    centres = centres_from_boxes(boxes_px)
    mean = np.zeros((len(centres), 4, 2))
    mean[:, :, 0] = centres
    if velocity is not None:
        mean[:, :, 1] = velocity
    is_new = velocity is None or is_guess
    scales = _scales(centres[:, 2:])
    spread = np.zeros((len(centres), 4, 3))
    spread[:, :, 0] = (_MEASURED_STD * scales) ** 2
    spread[:, :, 2] = (_START_VELOCITY_STD * scales * (1.0 if is_new else 0.5)) ** 2
    return Motion(mean, spread)


def predict(motion: Motion, interval_s: float) -> Motion:
    """Where the boxes are `interval_s` seconds later, and how sure that is.

    >>> still = start(np.array([[0.0, 0.0, 2.0, 2.0]]))
    >>> bool(spread_sizes(predict(still, 0.1))[0] > spread_sizes(still)[0])
    True
    """
    mean = motion.mean.copy()
    mean[:, :, 0] += interval_s * mean[:, :, 1]
    np.clip(mean[:, 2:, 0], -_LARGEST_LOG, _LARGEST_LOG, out=mean[:, 2:, 0])
    drift = _DRIFT * _scales(motion.mean[:, 2:, 0]) ** 2
    position, cross, velocity = np.moveaxis(motion.spread, 2, 0)
    spread = np.stack(
        [
            position + interval_s * (2 * cross + interval_s * velocity) + drift * interval_s**3 / 3,
            cross + interval_s * velocity + drift * interval_s**2 / 2,
            velocity + drift * interval_s,
        ],
        axis=2,
    )
    return Motion(mean, spread)


def correct(motion: Motion, rows: NDArray[np.intp], boxes_px: NDArray[np.floating]) -> Motion:
    """Take in detections.

    Args:
        motion: filters, predicted to the detections' time.
        rows: (M,) rows of `motion` that were detected, each at most once.
        boxes_px: (M, 4) their boxes.

    >>> moved = correct(start(np.zeros((1, 4)) + [0, 0, 2, 2]), np.array([0]),
    ...                 np.array([[1.0, 0.0, 3.0, 2.0]]))
    >>> bool(0.4 < moved.boxes_px[0, 0] < 1.0)
    True
    """
    seen = centres_from_boxes(boxes_px)
    mean, spread = motion.mean.copy(), motion.spread.copy()
    position, cross, velocity = np.moveaxis(spread[rows], 2, 0)
    noise = (_MEASURED_STD * _scales(seen[:, 2:])) ** 2
    gain_position = position / (position + noise)
    gain_velocity = cross / (position + noise)
    surprise = seen - mean[rows, :, 0]
    mean[rows, :, 0] += gain_position * surprise
    mean[rows, :, 1] += gain_velocity * surprise
    spread[rows] = np.stack(
        [
            (1 - gain_position) * position,
            (1 - gain_position) * cross,
            velocity - gain_velocity * cross,
        ],
        axis=2,
    )
    return Motion(mean, spread)


def steer(motion: Motion, turn_px: tuple[float, float], interval_s: float) -> Motion:
    """Change the speed of all boxes within the last interval: the camera began to turn.

    Args:
        motion: filters, already predicted over the interval.
        turn_px: change of the picture's motion, (dx, dy) px in the interval.
        interval_s: its length.

    >>> still = start(np.array([[0.0, 0.0, 2.0, 2.0]]))
    >>> round(float(predict(steer(still, (3.0, 0.0), 0.1), 0.1).boxes_px[0, 0]), 6)
    6.0
    """
    mean = motion.mean.copy()
    mean[:, :2, 0] += turn_px
    mean[:, :2, 1] += np.array(turn_px) / interval_s
    return Motion(mean, motion.spread)


def spread_sizes(motion: Motion) -> Floats:
    """(T,) standard deviation of the centre's place, in face sizes, detector jitter included."""
    sizes = _scales(motion.mean[:, 2:, 0])[:, 0]
    variance: Floats = motion.spread[:, :2, 0].max(axis=1) / sizes**2
    deviation: Floats = np.sqrt(variance + _MEASURED_STD[0] ** 2)
    return deviation


def sizes_and_speeds(motion: Motion) -> tuple[Floats, Floats]:
    """(T,) size in px, and (T,) speed in sizes per second."""
    sizes = _scales(motion.mean[:, 2:, 0])[:, 0]
    speeds: Floats = np.hypot(motion.mean[:, 0, 1], motion.mean[:, 1, 1]) / sizes
    return sizes, speeds


def unseen_log_spread(motion: Motion) -> Floats:
    """(T,) standard deviation of the log size, detector jitter included."""
    deviation: Floats = np.sqrt(motion.spread[:, 2:, 0].max(axis=1) + _MEASURED_STD[2] ** 2)
    return deviation


def select(motion: Motion, keep: NDArray[np.bool_]) -> Motion:
    """The rows where `keep` (T,) is true."""
    return Motion(motion.mean[keep], motion.spread[keep])


def join(first: Motion, second: Motion) -> Motion:
    """The rows of both, in order."""
    return Motion(
        np.concatenate([first.mean, second.mean]), np.concatenate([first.spread, second.spread])
    )
