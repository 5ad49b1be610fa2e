"""Which generator a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engines.errors import ModelRejected
from engines.stylegan.imports.networks import Network, SourceFormat
from engines.stylegan.imports.rosinality import stylegan2_from_state
from engines.stylegan.imports.stylegan2 import stylegan2_from_module
from engines.stylegan.imports.stylegan3 import is_radial, stylegan3_from_module
from engines.stylegan.pickles import StoredModule, read_checkpoint

__all__ = ["Recognised", "generator_from_file"]

_OFFICIAL: Final = ("G_ema", "G")
_STATES: Final = ("g_ema", "g")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A generator and the kind of file it came from.

    Attributes:
        network: its weights.
        source: format of the file.
    """

    network: Network
    source: SourceFormat


def generator_from_file(path: Path) -> Recognised:
    """Read a generator from an official pickle or a rosinality-style checkpoint.

    Nothing in the file is executed.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is damaged, hostile, or holds no generator of a known kind.
    """
    content = read_checkpoint(path)
    try:
        return _recognised(content, path.name)
    except ModelRejected:
        raise
    except Exception as fault:  # what a file says may have any type in any place
        kind = type(fault).__name__
        raise ModelRejected(f"{path.name} is damaged or no generator ({kind})") from fault


def _recognised(content: object, file: str) -> Recognised:
    if isinstance(content, Mapping):
        for name in _OFFICIAL:
            if isinstance(content.get(name), StoredModule):
                return _official(content[name])
        for name in _STATES:
            if isinstance(content.get(name), Mapping):
                mean = content.get("latent_avg")
                return Recognised(stylegan2_from_state(content[name], mean), "rosinality")
        if "input.input" in content:
            return Recognised(stylegan2_from_state(content), "rosinality")
    if isinstance(content, StoredModule):
        return _official(content)
    raise ModelRejected(
        f"{file} holds no generator that kveil knows; bring an official StyleGAN2-ADA or "
        "StyleGAN3 pickle, or a rosinality checkpoint"
    )


def _official(generator: StoredModule) -> Recognised:
    modules = generator.state.get("_modules")
    synthesis = modules.get("synthesis") if isinstance(modules, dict) else None
    if isinstance(synthesis, StoredModule) and "layer_names" in synthesis.state:
        network = stylegan3_from_module(generator)
        return Recognised(network, "stylegan3-r" if is_radial(network) else "stylegan3-t")
    return Recognised(stylegan2_from_module(generator), "stylegan2-ada")
