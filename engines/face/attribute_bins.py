"""The bin of a person: what the untouched head shows to everybody anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from engines.face.embedding_attributes import EmbeddingAttributes
from engines.types import Embedding

__all__ = ["AttributeReader", "dealt_values"]

_ORDER: Final = ("gender", "tone", "age")
"""Most important first: the last is given up where too few donors fit."""
_DEALT_AS: Final = {"child": "young"}
"""Nobody of the donors is a child: a child gets a young adult's face."""
_SURE: Final = 0.6
"""Share of a value from which `coarse` shows it. Larger leaves more unknown."""


class AttributeReader:
    """Reads gender presentation, skin tone and age band off an embedding.

    Args:
        model: reads attributes.
        mode: `matched` decides all for everybody, since the surrogate must suit the head; a
            child counts as young. `coarse` leaves out what is not sure.
    """

    def __init__(
        self, model: EmbeddingAttributes, mode: Literal["matched", "coarse"] = "matched"
    ) -> None:
        self._model = model
        self._least = 0.0 if mode == "matched" else _SURE

    def bin_of(self, embedding: Embedding) -> str | None:
        """Such as "gender=female|tone=light|age=adult"; None where nothing is sure.

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

    def _value(self, shares: Mapping[str, float]) -> str:
        """The likeliest value that donors have; "" where it is not sure."""
        dealt: dict[str, float] = {}
        for name, share in shares.items():
            known = _DEALT_AS.get(name, name)
            dealt[known] = dealt.get(known, 0.0) + share
        best = max(dealt, key=lambda name: dealt[name])
        return best if dealt[best] >= self._least else ""


def dealt_values(model: EmbeddingAttributes) -> dict[str, frozenset[str]]:
    """By attribute of a bin, the values that donors may have; every donor has one of each.

    >>> import numpy as np
    >>> flat = np.zeros((3, 2), np.float32)
    >>> model = EmbeddingAttributes(flat, {"age": flat}, {"age": ("child", "old")})
    >>> sorted(dealt_values(model)["age"])
    ['old', 'young']
    """
    return {
        name: frozenset(_DEALT_AS.get(value, value) for value in model.values[name])
        for name in _ORDER
        if name in model.values
    }
