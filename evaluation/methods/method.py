"""The contract of every method, and what an attacker may learn from its releases."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces

__all__ = ["Kind", "Method", "Release", "alone", "random_from_secret"]

Kind = Literal["control", "cover", "mean", "surrogate"]


@dataclass(frozen=True, slots=True)
class Release:
    """Anonymized faces and how they came about.

    Attributes:
        images: (N, S, S, 3) uint8 BGR, in the order of the input.
        clusters: (N,) int64 number of the set of people who could have caused a face;
            −1 where the output depends on nobody.
        mixing: (N, N) float32 weight of input face j's own pixels or latent in output i;
            a row of zeros where no person's data went in.
        latents: (N, L, 512) float32 w+ where the method has a generator, else empty.
    """

    images: NDArray[np.uint8]
    clusters: NDArray[np.int64]
    mixing: NDArray[np.float32]
    latents: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.float32))


class Method(Protocol):
    """A way to anonymize face images."""

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def kind(self) -> Kind:
        """What it is, for the order and the words of the report."""

    def fit(self, donors: Faces) -> None:
        """Learns from people who are neither in the gallery nor among the probes."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Makes one release.

        Args:
            faces: people to protect; a person may stand there more than once.
            secret: all randomness comes from it: the same secret and faces give the same
                release.

        Raises:
            TooFewPeople: fewer people than the method needs.
        """


def random_from_secret(secret: bytes, purpose: str) -> np.random.Generator:
    """A stream of random numbers that nobody can reproduce without the secret."""
    digest = hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


def alone(images: NDArray[np.uint8]) -> Release:
    """A release whose faces each come from their own original and nothing else."""
    count = len(images)
    return Release(images, np.arange(count), np.eye(count, dtype=np.float32))
