"""Every method by the name that users write."""

from __future__ import annotations

import copy
from collections.abc import Callable

from evaluation.errors import EvaluationError
from evaluation.faces import Faces
from evaluation.methods.anonfaces import AnonFaces
from evaluation.methods.baselines import (
    IdentityMethod,
    RandomStranger,
    SurroundingsOnly,
    cover_method,
    cover_names,
)
from evaluation.methods.fpsp import FpspMorph
from evaluation.methods.generated import GeneratedSurrogates
from evaluation.methods.ksame import KSameEigen, KSamePixel
from evaluation.methods.latents import LatentMix, LayerSwap
from evaluation.methods.method import Method
from evaluation.methods.surrogate import DonorImages, DonorSurrogate, SurrogateRenderer

__all__ = ["CONTROLS", "QUICK", "fitted_maker", "method_named", "method_names"]

CONTROLS = ("none", "random stranger")
"""Run in every evaluation: the leak that must be found, the strangers who must not."""
QUICK = (
    "solid",
    "surroundings",
    "blur",
    "mosaic",
    "bar-mask",
    "k-Same-Pixel",
    "AnonFACES",
    "kveil",
)
_LATENT = ("AnonFACES latent", "StyleID layers")
_OTHERS = (
    "surroundings",
    "k-Same-Pixel",
    "k-Same-Eigen",
    "AnonFACES",
    "FPSP morph",
    *_LATENT,
    "kveil",
)


def method_names() -> list[str]:
    """Controls, covers, then methods that mix or replace."""
    return [*CONTROLS, *cover_names(), *_OTHERS]


def method_named(name: str, k: int, renderer: SurrogateRenderer | None = None) -> Method:
    """An unfitted method.

    Args:
        name: one of `method_names`.
        k: least people per cluster, where the method has any.
        renderer: of surrogates; donors' photographs when None.

    Raises:
        EvaluationError: there is no such method, or it needs a generator that is not there.

    >>> method_named("k-Same-Pixel", 3).name
    'k-Same-Pixel'
    """
    makers: dict[str, Callable[[], Method]] = {
        "none": IdentityMethod,
        "random stranger": RandomStranger,
        "surroundings": SurroundingsOnly,
        "k-Same-Pixel": lambda: KSamePixel(k=k),
        "k-Same-Eigen": lambda: KSameEigen(k=k),
        "AnonFACES": lambda: AnonFaces(k=k),
        "FPSP morph": FpspMorph,
        "kveil": lambda: DonorSurrogate(k=k, renderer=renderer or DonorImages()),
    }
    if name in makers:
        return makers[name]()
    if name in _LATENT:
        if not isinstance(renderer, GeneratedSurrogates):
            message = f"{name} mixes latents and needs the generator; install the model pack"
            raise EvaluationError(message)
        return LatentMix(renderer, k) if name == _LATENT[0] else LayerSwap(renderer)
    if name in cover_names():
        return cover_method(name)
    message = f"no method is called {name!r}; choose one of {', '.join(method_names())}"
    raise EvaluationError(message)


def fitted_maker(
    name: str, k: int, donors: Faces, renderer: SurrogateRenderer | None = None
) -> Callable[[], Method]:
    """Fits once; each call then gives an instance that remembers no earlier release."""
    fitted = method_named(name, k, renderer)
    fitted.fit(donors)
    return lambda: copy.copy(fitted)
