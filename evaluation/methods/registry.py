"""Every method by the name that users write."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Final

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
from evaluation.methods.channels import ChannelSwap
from evaluation.methods.fpsp import FpspMorph
from evaluation.methods.fpsp_fusion import FpspFusion
from evaluation.methods.generated import GeneratedSurrogates
from evaluation.methods.ksalsa import KSalsa
from evaluation.methods.ksame import KSameEigen, KSamePixel
from evaluation.methods.latent_swapper import LatentSwap
from evaluation.methods.latents import LatentMix, LayerSwap
from evaluation.methods.levels import LEVELS, Level, TunableStyleId
from evaluation.methods.masked import AREAS, Area, MaskSwap
from evaluation.methods.method import Method
from evaluation.methods.surrogate import DonorImages, DonorSurrogate, SurrogateRenderer

__all__ = ["CONTROLS", "QUICK", "fitted_maker", "method_named", "method_names"]
__all__ += ["variant_names"]

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
_OTHERS = (
    "surroundings",
    "k-Same-Pixel",
    "k-Same-Eigen",
    "AnonFACES",
    "FPSP morph",
)


def _levelled(level: Level) -> Callable[[GeneratedSurrogates, int], Method]:
    return lambda generator, k: TunableStyleId(generator, level, k)


def _masked(area: Area) -> Callable[[GeneratedSurrogates, int], Method]:
    return lambda generator, _: MaskSwap(generator, area)


_GENERATED: Final[dict[str, Callable[[GeneratedSurrogates, int], Method]]] = {
    "AnonFACES latent": LatentMix,
    "k-SALSA": lambda generator, k: KSalsa(generator, k),
    "StyleID layers": lambda generator, _: LayerSwap(generator),
    "StyleID channels": lambda generator, _: ChannelSwap(generator),
    "StyleID face": _masked("face"),
    "StyleID swapper": lambda generator, _: LatentSwap(generator),
    "FPSP": lambda generator, _: FpspFusion(generator),
}
"""Methods that need the generator, by their makers."""
_VARIANTS: Final[dict[str, Callable[[GeneratedSurrogates, int], Method]]] = {
    **{f"StyleID {level}": _levelled(level) for level in LEVELS},
    **{f"StyleID {area}": _masked(area) for area in AREAS if area != "face"},
}
"""StyleID's settings: its three levels and the areas of its masks."""


def method_names() -> list[str]:
    """Controls, covers, then methods that mix or replace."""
    return [*CONTROLS, *cover_names(), *_OTHERS, *_GENERATED, "kveil"]


def variant_names() -> list[str]:
    """Settings of StyleID that can be asked for by name and are not run otherwise."""
    return list(_VARIANTS)


def method_named(name: str, k: int, renderer: SurrogateRenderer | None = None) -> Method:
    """An unfitted method.

    Args:
        name: one of `method_names` or `variant_names`.
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
    maker = _GENERATED.get(name) or _VARIANTS.get(name)
    if maker is not None:
        if not isinstance(renderer, GeneratedSurrogates):
            message = f"{name} needs the generator; install the model pack"
            raise EvaluationError(message)
        return maker(renderer, k)
    if name in cover_names():
        return cover_method(name)
    known = [*method_names(), *variant_names()]
    message = f"no method is called {name!r}; choose one of {', '.join(known)}"
    raise EvaluationError(message)


def fitted_maker(
    name: str, k: int, donors: Faces, renderer: SurrogateRenderer | None = None
) -> Callable[[], Method]:
    """Fits once; each call then gives an instance that remembers no earlier release."""
    fitted = method_named(name, k, renderer)
    fitted.fit(donors)
    return lambda: copy.copy(fitted)
