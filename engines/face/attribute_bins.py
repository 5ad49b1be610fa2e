"""The bin of a person: what the untouched head shows to everybody anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engines.face.embedding_attributes import EmbeddingAttributes
from engines.types import Embedding

__all__ = ["AttributeReader", "dealt_as", "dealt_values"]

Float32 = NDArray[np.float32]

_ORDER: Final = ("gender", "age", "tone")
"""Most important first: the last is given up where too few donors fit."""
_DEALT_AS: Final = {"child": "adult", "young": "adult"}
"""Nobody of the donors is a child. Younger and older adults are one bin: which of them somebody is
is read wrongly too often to tell people apart, and `AttributeReader.apart` tells whom it suits."""
_FROM_YOUNG: Final = ("child", "young", "adult", "old")
_SURE: Final = 0.6
"""Share of a value from which `coarse` shows it. Larger leaves more unknown."""


class AttributeReader:
    """Reads gender presentation, skin tone and age band off an embedding.

    Args:
        model: reads attributes.
        mode: `matched` decides all for everybody, since the surrogate must suit the head; a
            child counts as an adult. `coarse` leaves out what is not sure.
    """

    def __init__(
        self, model: EmbeddingAttributes, mode: Literal["matched", "coarse"] = "matched"
    ) -> None:
        self._model = model
        self._least = 0.0 if mode == "matched" else _SURE

    def bin_of(self, embedding: Embedding) -> str | None:
        """Such as "gender=female|age=adult|tone=light"; None where nothing is sure.

        Args:
            embedding: (D,) float32 of the person, unit length.
        """
        values = self.values_of(embedding)
        return "|".join(f"{name}={value}" for name, value in values.items()) or None

    def values_of(self, embedding: Embedding) -> dict[str, str]:
        """The same by attribute, most important first; without what is not sure."""
        found = self._model.shares(embedding)
        return {
            name: value for name in _ORDER if name in found and (value := self._value(found[name]))
        }

    def apart(self, worn: Float32, own: Embedding) -> Float32:
        """How differently surrogates read that are worn, float32[N], from 0 on.

        Of each attribute it is the distance in total variation, and of age how many bands lie
        between them: an old face on a young head is worse than an adult one. Bins are coarser.

        Args:
            worn: float32[N, D] embeddings of the person with surrogates on.
            own: (D,) float32 of the person.
        """
        theirs, known = self._model.shares_of(worn), self._model.shares_of(own[None])
        each = [self._distance(name, theirs[name] - known[name]) for name in known]
        return np.asarray(np.sum(each, axis=0), np.float32)

    def _distance(self, name: str, differences: Float32) -> Float32:
        """How far apart shares of an attribute are, float32[N], by their differences [N, B]."""
        values = self._model.values[name]
        if set(values) != set(_FROM_YOUNG):
            return np.asarray(np.abs(differences).sum(axis=1) / 2, np.float32)
        order = [values.index(one) for one in _FROM_YOUNG]
        moved = np.abs(np.cumsum(differences[:, order], axis=1))
        return np.asarray(moved.sum(axis=1), np.float32)

    def _value(self, shares: Mapping[str, float]) -> str:
        """The likeliest value that donors have; "" where it is not sure."""
        dealt: dict[str, float] = {}
        for name, share in shares.items():
            known = dealt_as(name)
            dealt[known] = dealt.get(known, 0.0) + share
        best = max(dealt, key=lambda name: dealt[name])
        return best if dealt[best] >= self._least else ""


def dealt_as(value: str) -> str:
    """The value of an attribute by which people are dealt who have a finer one.

    >>> dealt_as("young"), dealt_as("old")
    ('adult', 'old')
    """
    return _DEALT_AS.get(value, value)


def dealt_values(model: EmbeddingAttributes) -> dict[str, frozenset[str]]:
    """By attribute of a bin, the values that donors may have; every donor has one of each.

    >>> import numpy as np
    >>> flat = np.zeros((3, 2), np.float32)
    >>> model = EmbeddingAttributes(flat, {"age": flat}, {"age": ("child", "old")})
    >>> sorted(dealt_values(model)["age"])
    ['adult', 'old']
    """
    return {
        name: frozenset(dealt_as(value) for value in model.values[name])
        for name in _ORDER
        if name in model.values
    }
