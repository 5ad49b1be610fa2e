"""People to choose donors from: parts of photographed adults, symmetric, clean and usual.

Every part of a person mixes two adults of one age band and gender presentation whose textures are
sharp and clean (even forehead, no glasses, even sides). Who is made so is made more symmetric, and
kept if clean and no odder in shape than most.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.shape import ShapeModel
from engines.stylegan.topology import MESH_POINTS
from training.axes import axes
from training.glasses import edges, fit_glasses, found_and_mistaken, read_labels
from training.logistic import LogisticModel
from training.parts import part_masks, relief_parts, shape_parts, side_by_side
from training.relief import mirrored_codes
from training.sources import lends, sharpness_of
from training.textures import luma_of, mirrored

__all__ = [
    "LAYERS",
    "Filter",
    "Looks",
    "People",
    "is_clean",
    "is_source",
    "latents_of",
    "layered",
    "least",
    "load_people",
    "looks_of",
    "sources_and_filter",
]

SYMMETRY: Final = 0.15
"""Share of the mirrored face in a person: 0 keeps shadows and partings, 0.5 leaves none."""
SHARP_SHARE: Final = 0.5
"""Of clean sources, those whose photographs are sharpest; blurred ones make blurred parts."""
CLEAN_SHARES: Final = (0.95, 0.95)
"""Shares of crops that pass as bare foreheads, and as evenly lit; less makes people alike."""
DRAWN_SHARES: Final = (0.98, 0.98)
"""The same of the people drawn."""
GLASSES_SHARE: Final = 0.75
"""Share of crops that pass as without glasses; nine in ten of those with them do not. People
drawn must be as free of them: what is left of frames adds up in some, and the choice of people
unlike each other would take these first."""
SHAPE_SHARE: Final = 0.9
"""Of the people drawn, those whose shape at rest is nearest to the mean: where features are
unusually placed, they fit nobody's head."""
YAW_LIMIT_DEG: Final = 15.0
LAYERS: Final = 12
FOREHEAD: Final = (slice(8, 32), slice(37, 91))
"""Rows and columns of the texture where hair and hats show."""
_AT_ONCE: Final = 4000
"""Textures."""

Float32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Looks:
    """What tells whether a texture shows a bare, evenly lit face.

    Attributes:
        forehead: largest detail on it, float32[N].
        sides: mean difference between the left and right one, float32[N].
        edges: around the eyes, float32[N, E]; see `training.glasses`.
    """

    forehead: Float32
    sides: Float32
    edges: Float32


def looks_of(luma: Float32) -> Looks:
    """Read planes of textures, float32[N, 128, 128]."""
    forehead = np.abs(luma[:, *FOREHEAD]).reshape(len(luma), -1).max(axis=1)
    soft = luma.reshape(len(luma), 8, luma.shape[1] // 8, 8, -1).mean(axis=(2, 4))
    sides = np.abs(soft - soft[:, :, ::-1])[:, 1:7, 2:6].mean(axis=(1, 2))
    return Looks(forehead, sides, edges(luma))


def is_clean(looks: Looks, shares: tuple[float, float]) -> Bool:
    """Which textures show a bare, evenly lit face, bool[N].

    Args:
        looks: of N textures.
        shares: of them that the forehead's and the sides' test let pass, 0 to 1.
    """
    forehead, sides = shares
    return least(looks.forehead, forehead) & least(looks.sides, sides)


def least(values: Float32, share: float) -> Bool:
    """Which of N values are among the share of the least ones, bool[N].

    >>> int(least(np.arange(5, dtype=np.float32), 0.8).sum())
    4
    """
    return np.asarray(values <= np.quantile(values, share), np.bool_)


def _evened_texture(codes: Float32, basis: Float32, encoding: Float32, mean: Float32) -> Float32:
    """Move texture codes float32[N, T] by SYMMETRY towards their mirrored faces."""
    mirror = mirrored(basis) @ encoding.T
    offset = (mirrored(mean) - mean) @ encoding.T
    return np.asarray(codes + SYMMETRY * (codes @ mirror + offset - codes), np.float32)


def _evened_relief(codes: Float32, model: Path) -> Float32:
    """Move relief codes float32[N, K] by SYMMETRY towards their mirrored faces."""
    with np.load(model) as file:
        mirror = mirrored_codes(codes, file["mean"], file["basis"])
    return np.asarray(codes + SYMMETRY * (mirror - codes), np.float32)


def is_source(data: Path, shape: ShapeModel) -> npt.NDArray[np.bool_]:
    """Which crops may lend to a donor: photographed adults who face the camera, bool[N]."""
    yaw = shape.pose_of(np.load(data / "points.npy")).angles_deg()[:, 0]
    return lends(data, yaw, YAW_LIMIT_DEG)


@dataclass(frozen=True, slots=True)
class People:
    """Everybody in the prepared data, and the model that paints them.

    Attributes:
        codes: of texture and shape without movement, float32[N, CODE].
        behind: of relief, and of faces at rest, float32[N, K] each.
        mean: of textures' vectors, float32[LENGTH].
        basis: float32[T, LENGTH]; the first T codes count along it.
        encoding: float32[T, LENGTH], its inverse.
        relief: file of the relief model.
        parts: float32[PARTS, C, C], what each part brings to a person's code and to what is
            behind it, see `training.parts`.
    """

    codes: Float32
    behind: list[Float32]
    mean: Float32
    basis: Float32
    encoding: Float32
    relief: Path
    parts: Float32

    @property
    def whole(self) -> Float32:
        """Codes and what is behind them, float32[N, C]."""
        return np.concatenate([self.codes, *self.behind], axis=1)

    def luma(self, codes: Float32) -> Float32:
        """Of textures, without what the generator adds, float32[N, S, S]."""
        return luma_of(self.mean + codes[:, : len(self.basis)] @ self.basis)

    def looks(self, codes: Float32) -> Looks:
        """Of people, float32[N, C]."""
        starts = range(0, len(codes), _AT_ONCE)
        parts = [looks_of(self.luma(codes[i : i + _AT_ONCE])) for i in starts]
        return Looks(
            np.concatenate([part.forehead for part in parts]),
            np.concatenate([part.sides for part in parts]),
            np.concatenate([part.edges for part in parts]),
        )

    def evened(self, drawn: Float32) -> Float32:
        """Make people, with what is behind their codes, more symmetric: float32[N, C]."""
        count, shade = len(self.basis), self.codes.shape[1]
        end = shade + self.behind[0].shape[1]
        made = drawn.copy()
        made[:, :count] = _evened_texture(drawn[:, :count], self.basis, self.encoding, self.mean)
        made[:, shade:end] = _evened_relief(drawn[:, shade:end], self.relief)
        return made


def load_people(data: Path, texture: Path, relief: Path, shape: ShapeModel) -> People:
    """Read everybody.

    Args:
        data: folder of prepared crops.
        texture: file of the texture model.
        relief: file of the relief model.
        shape: of the pack.
    """
    codes = np.load(data / "codes.npy") - np.load(data / "movement.npy")
    behind = [np.load(data / name) for name in ("relief.npy", "rest.npy")]
    with np.load(texture) as file:
        model = {name: np.asarray(file[name], np.float32) for name in file.files}
    with np.load(relief) as file:
        shade = file["basis"]
    places = model["frame_points"][:MESH_POINTS]
    masks = part_masks(places)
    rest = shape_parts(masks, places, shape.expression, model["rest_spread"])
    parts = side_by_side(model["parts"], relief_parts(masks, shade), rest)
    return People(codes, behind, model["mean"], model["basis"], model["encoding"], relief, parts)


@dataclass(frozen=True, slots=True)
class Filter:
    """Tells people who are clean, without glasses and usual in shape.

    Attributes:
        people: paints them.
        shape: of the pack.
        glasses: tells who wears them.
        limit: log odds of glasses up to which somebody wears none.
    """

    people: People
    shape: ShapeModel
    glasses: LogisticModel
    limit: float

    def fits(self, drawn: Float32) -> Bool:
        """Which people float32[N, C] are, bool[N]."""
        looks = self.people.looks(drawn)
        fits = is_clean(looks, DRAWN_SHARES) & (self.glasses.scores(looks.edges) <= self.limit)
        return fits & least(_oddness(self.shape, latents_of(drawn)), SHAPE_SHARE)


def sources_and_filter(
    people: People, shape: ShapeModel, data: Path
) -> tuple[npt.NDArray[np.int64], Filter, dict[str, float]]:
    """Who lends, by what people are refused, and how glasses are told.

    Args:
        people: everybody.
        shape: of the pack.
        data: folder of prepared crops.

    Returns:
        Rows of the crops that lend; the filter; and shares of labelled crops with and without
        glasses that are refused, held out.
    """
    sources, labels = np.flatnonzero(is_source(data, shape)), read_labels(data)
    looks = people.looks(people.codes[sources])
    seen = people.looks(people.codes[labels.crops]).edges
    found, mistaken = found_and_mistaken(seen, labels, looks.edges, GLASSES_SHARE)
    glasses = fit_glasses(seen, labels.has_glasses, looks.edges)
    scores = glasses.scores(looks.edges)
    limit = float(np.quantile(scores, GLASSES_SHARE))
    clean = sources[is_clean(looks, CLEAN_SHARES) & (scores <= limit)]
    sharpness = sharpness_of(data)[clean]
    clean = clean[sharpness >= np.quantile(sharpness, 1 - SHARP_SHARE)]
    told = {"sources": float(len(clean)), "glasses_found": found, "glasses_mistaken": mistaken}
    return clean, Filter(people, shape, glasses, limit), told


def _oddness(shape: ShapeModel, latents: Float32) -> Float32:
    """Mean distance of shapes at rest from the mean shape, as seen from the front; float32[N]."""
    away = (shape.at_rest(layered(latents)) - shape.mean)[..., :2]
    return np.asarray(np.linalg.norm(away, axis=2).mean(axis=1), np.float32)


def latents_of(drawn: Float32) -> Float32:
    """Latents float32[N, 512] of people float32[N, C], as precise as a pack keeps them."""
    halves = (drawn @ axes(drawn.shape[1]).T).astype(np.float16)
    return np.asarray(halves, np.float32)


def layered(latents: Float32) -> Float32:
    """The same latent in every layer: a view float32[N, LAYERS, 512] of float32[N, 512]."""
    return np.broadcast_to(latents[:, None], (len(latents), LAYERS, latents.shape[1]))
