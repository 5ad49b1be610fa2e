"""FPSP whole (2023): cluster, surrogate, four protections, fusion, enhancement.

A face is fused with a small β first and again with a larger one while the pack's embedder
still calls it the same person. The paper calls a face protected once it is more like itself
than like the *least* similar face of its cluster, which says nothing (Eq. 20); here the
embedder's threshold decides, and other recognisers judge. There is no least cluster size, so
there is no k-anonymity, and the mixing weights say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.topology import MESH_POINTS
from evaluation.errors import TooFewPeople
from evaluation.faces import Faces, crop_window
from evaluation.methods.fpsp import five_points, nearest_centres
from evaluation.methods.fusion import FusionNetwork, fusion_inputs, fusion_network
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.method import Kind, Release, random_from_secret
from evaluation.methods.morphing import morph
from evaluation.methods.surrogate import oval_alpha, worn

__all__ = ["BETAS", "FpspFusion", "enhanced", "lenders"]

Float32 = NDArray[np.float32]

BETAS: Final = (0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Shares of the surrogate that are tried in turn (Table 2)."""
_FINE_PX: Final = 1.6
"""Details below this size, px at 128, come from the generator."""


@dataclass(slots=True)
class FpspFusion:
    """Surrogate and obscured copies, fused.

    Attributes:
        generator: landmarks, embedder, enhancement.
        clusters: k-means clusters at most (Eq. 11); the paper has 15.
        share: of the lender in shape and pixels (Eq. 12–13), 0…1.
        network: kveil's own when None.
        betas: of the last release, (N,) float32, the β that each face needed.
    """

    generator: PeopleGenerator
    clusters: int = 15
    share: float = 0.5
    network: FusionNetwork | None = None
    name: str = "FPSP"
    kind: Kind = "mean"
    betas: Float32 = field(default_factory=lambda: np.zeros(0, np.float32))

    def fit(self, donors: Faces) -> None:
        """Loads the network.

        Raises:
            ModelMissing: it is absent.
            ModelRejected: it is another network.
        """
        if self.network is None:
            self.network = fusion_network(self.generator.backend)

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Fuses every face; see `fit` for what else may be raised.

        Raises:
            TooFewPeople: a single person, to whom nobody can lend.
        """
        return self.released(faces, secret, BETAS)

    def released(self, faces: Faces, secret: bytes, betas: Sequence[float]) -> Release:
        """As `anonymize`, with other shares of the surrogate to try in turn."""
        self.fit(faces)
        crops = faces.images[:, *crop_window()]
        vectors = self.generator.told_apart(crops)
        lender = lenders(vectors, faces.persons, self.clusters, secret)
        inputs = self._inputs(crops, lender, secret)
        fused, self.betas = self._protected(inputs, vectors, crops.shape[1], betas)
        patches = enhanced(self.generator, fused)
        alpha = np.repeat(oval_alpha(crops.shape[1])[None], len(crops), axis=0)
        mixing = np.diag(1 - self.betas * np.float32(self.share)).astype(np.float32)
        mixing[np.arange(len(faces)), lender] += self.betas * np.float32(self.share)
        # Each output keeps a share of its own original, so it depends on that person alone.
        return Release(worn(faces.images, patches, alpha), np.arange(len(faces)), mixing)

    def _inputs(
        self, crops: NDArray[np.uint8], lender: NDArray[np.int64], secret: bytes
    ) -> Float32:
        points = self.generator.control(crops).points[:, :MESH_POINTS, :2]
        places = (points * np.float32(crops.shape[1])).astype(np.float32)
        surrogates = np.stack(
            [
                morph(crops[row], places[row], crops[other], places[other], self.share)
                for row, other in enumerate(lender)
            ]
        )
        noise = random_from_secret(secret, "laplace")
        return fusion_inputs(crops, five_points(places), surrogates, noise)

    def _protected(
        self, inputs: Float32, vectors: Float32, side: int, betas: Sequence[float]
    ) -> tuple[NDArray[np.uint8], Float32]:
        """Fused crops, uint8, and the β of each: the first at which it is no longer matched."""
        assert self.network is not None
        made = np.zeros((len(inputs), side, side, 3), np.uint8)
        beta = np.zeros(len(inputs), np.float32)
        open_rows = np.arange(len(inputs))
        for share in betas:
            wanted = np.full(len(open_rows), share, np.float32)
            faces = np.rint(self.network.fused(inputs[open_rows], wanted, side)).astype(np.uint8)
            made[open_rows], beta[open_rows] = faces, share
            cosines = (self.generator.told_apart(faces) * vectors[open_rows]).sum(axis=1)
            open_rows = open_rows[cosines >= self.generator.match]
            if not len(open_rows):
                break
        return made, beta


def lenders(
    vectors: Float32, persons: NDArray[np.int64], clusters: int, secret: bytes
) -> NDArray[np.int64]:
    """Row of the face that is morphed into each: of another person, nearest to the centre.

    The paper morphs the central face with itself; here the next one lends to it.

    Raises:
        TooFewPeople: a single person.
    """
    people = len(np.unique(persons))
    if people < 2:
        message = "a face needs another person's to be morphed with; release more people"
        raise TooFewPeople(message)
    count = max(1, min(clusters, people // 2))
    labels, _ = nearest_centres(vectors, count, secret)
    centres = np.stack(
        [
            vectors[labels == label].mean(axis=0) if (labels == label).any() else vectors[0]
            for label in range(count)
        ]
    )
    away = np.linalg.norm(vectors[None] - centres[:, None], axis=2)
    away = np.where(labels[None] == np.arange(count)[:, None], away, away + 10)
    order = np.argsort(away, axis=1, kind="stable")
    return np.array(
        [
            next(int(row) for row in order[label] if persons[row] != person)
            for label, person in zip(labels, persons, strict=True)
        ],
        np.int64,
    )


def enhanced(generator: PeopleGenerator, crops: NDArray[np.uint8]) -> Float32:
    """Fine detail from the generator's face prior, all else from the picture.

    The paper sends its output through GFP-GAN: features of a picture steer a StyleGAN that
    knows sharp faces (Eq. 6–10). In its stead the picture is encoded and painted again, and
    what is smaller than the fusion's pixels is taken from there.

    Args:
        generator: encodes and paints.
        crops: (N, S, S, 3) uint8 BGR.

    Returns:
        (N, S, S, 3) float32 BGR, 0…255.
    """
    painted, _ = generator.painted(crops, generator.encoded(crops))
    made = [
        _coarse(crop.astype(np.float32)) + (fine - _coarse(fine))
        for crop, fine in zip(crops, painted, strict=True)
    ]
    return np.asarray(np.clip(np.stack(made), 0, 255), np.float32)


def _coarse(picture: Float32) -> Float32:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), _FINE_PX), np.float32)
