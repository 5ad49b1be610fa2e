"""What showing attributes costs: ``python -m benchmarks.attribute_price FOLDER RECOGNISER``.

Each person's second picture is swapped, once for each choice of `gallery.attributes`; the attacker
holds the first pictures and a recogniser that took no part. AUC is the chance that a surrogate
resembles its own person's other picture more than a stranger's: 0.5 tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import typer
from numpy.typing import NDArray

from config.settings import Gallery as Kept
from config.settings import Privacy, Settings
from engines.backends.openvino import OpenVino
from engines.face.alignment import (
    ARCFACE_SIZE,
    arcface_from_landmarks,
    crop_from_picture,
    kveil_from_landmarks,
    moved,
)
from engines.face.attribute_bins import AttributeReader
from engines.face.embedding_attributes import attributes_from_pack
from engines.pictures import picture_from_bgr
from engines.types import Face, Frame, Surrogate, Track, TrackState
from gallery.embedding import ArcFaceEmbedder, embedder_from_models
from gallery.pictures import people_in_folder, read_picture
from gallery.settings import Attributes
from stream.pipeline.engine_set import SwapEngines, open_engines
from stream.swap.lending import GalleryLender, gallery_from_settings

__all__ = ["Price", "auc", "auc_interval"]

_MIN_SCORE = 0.5
_RESAMPLES = 500


@dataclass(slots=True)
class Price:
    """Surrogates of one gallery, as the recogniser sees them.

    Attributes:
        lender: asks that gallery.
        persons: whose surrogate each row is.
        rows: (D,) embeddings of the surrogates.
    """

    lender: GalleryLender
    persons: list[int] = field(default_factory=list)
    rows: list[NDArray[np.float32]] = field(default_factory=list)


def auc(genuine: NDArray[np.floating], impostor: NDArray[np.floating]) -> float:
    """Chance that a genuine score exceeds an impostor's; ties count half.

    >>> auc(np.array([0.2, 0.9]), np.array([0.1, 0.2]))
    0.875
    """
    ordered = np.sort(impostor)
    below = np.searchsorted(ordered, genuine, side="left")
    up_to = np.searchsorted(ordered, genuine, side="right")
    return float((below + up_to).mean() / (2 * len(ordered)))


def auc_interval(scores: NDArray[np.floating]) -> tuple[float, float, float]:
    """AUC of a square matrix with the genuine scores on its diagonal, and its 95 % interval.

    Args:
        scores: (n, n), row: surrogate, column: person; people are resampled.
    """
    dice = np.random.default_rng(0)
    found = [_auc_of(scores, dice.integers(0, len(scores), len(scores))) for _ in range(_RESAMPLES)]
    low, high = np.quantile(found, [0.025, 0.975])
    return _auc_of(scores, np.arange(len(scores))), float(low), float(high)


def _auc_of(scores: NDArray[np.floating], people: NDArray[np.integer]) -> float:
    part = scores[np.ix_(people, people)]
    is_own = people[:, None] == people[None, :]
    return auc(np.diag(part), part[~is_own])


def main(
    folder: Annotated[Path, typer.Argument(help="One folder per person, two pictures or more.")],
    recogniser: Annotated[Path, typer.Argument(help="The attacker's, ONNX, ArcFace family.")],
    people: Annotated[int, typer.Option(help="At most.")] = 200,
    k: Annotated[int, typer.Option(help="People of a full cluster.")] = 5,
) -> None:
    """Print one row for each choice of `gallery.attributes`."""
    pictures = [paths[:2] for paths in people_in_folder(folder).values() if len(paths) > 1]
    attacker = embedder_from_models(OpenVino(threads=2), recogniser)
    settings = Settings(privacy=Privacy(k=k))
    with open_engines(settings) as engines:
        swap = engines.swap
        if swap is None:
            raise typer.BadParameter("the swap's networks are needed; see `kveil doctor`")
        prices = {mode: Price(_lender(mode, k, swap)) for mode in get_args(Attributes)}
        own = _attacked(pictures[:people], swap, attacker, prices)
    typer.echo(f"{len(own)} people, k = {k}")
    for name, price in prices.items():
        middle, low, high = auc_interval(np.stack(price.rows) @ own.T)
        typer.echo(f"{name:8} AUC {middle:.3f} ({low:.3f} to {high:.3f})")


def _lender(mode: Attributes, k: int, swap: SwapEngines) -> GalleryLender:
    settings = Settings(privacy=Privacy(k=k), gallery=Kept(attributes=mode))
    gallery = gallery_from_settings(settings, swap.donors, swap.thresholds)
    reader = None if mode == "none" else AttributeReader(attributes_from_pack(), mode)
    return GalleryLender(gallery, "folder", reader)


def _attacked(
    pictures: Sequence[Sequence[Path]],
    swap: SwapEngines,
    attacker: ArcFaceEmbedder,
    prices: dict[str, Price],
) -> NDArray[np.float32]:
    """Embeddings of the first pictures, (n, D), of people whose second one was swapped."""
    own: list[NDArray[np.float32]] = []
    for number, (first, second) in enumerate(pictures):
        known = attacker.embed(read_picture(first))
        image = read_picture(second)
        faces = attacker.detector.detect(image, min_score=_MIN_SCORE)
        if known is None or not faces:
            continue
        face = max(faces, key=lambda one: float(np.prod(one.box_px[2:] - one.box_px[:2])))
        frame = Frame(picture_from_bgr(image), number, Fraction(1, 25), number)
        shown = [_shown(frame, face, swap, attacker, price.lender) for price in prices.values()]
        if any(row is None for row in shown):
            continue
        own.append(known)
        for price, row in zip(prices.values(), shown, strict=True):
            assert row is not None
            price.persons.append(number)
            price.rows.append(row)
    return np.stack(own)


def _shown(
    frame: Frame,
    face: Face,
    swap: SwapEngines,
    attacker: ArcFaceEmbedder,
    lender: GalleryLender,
) -> NDArray[np.float32] | None:
    """The surrogate as the attacker's recogniser sees it; None where it is covered."""
    size = swap.painter.size
    crop_from_frame = kveil_from_landmarks(face.landmarks_px, size)
    crop = crop_from_picture(frame.picture, crop_from_frame, size)[None]
    track = Track(frame.index, face, TrackState.DETECTED, 5, True)
    lender.see(frame, [track])
    lent = lender.lend(frame, track, swap.embedder.embed(crop)[0])
    if not isinstance(lent, Surrogate):
        return None
    painted = swap.painter.paint(swap.painter.read(crop), lent.latent[None])
    if not painted.is_usable[0]:
        return None
    pixels = np.clip(painted.pixels[0].round(), 0, 255).astype(np.uint8)
    points = moved(crop_from_frame, face.landmarks_px).astype(np.float32)
    aligned = crop_from_picture(
        picture_from_bgr(pixels), arcface_from_landmarks(points), ARCFACE_SIZE
    )
    return attacker.embed_aligned(aligned)


if __name__ == "__main__":
    typer.run(main)
