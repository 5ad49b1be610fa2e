"""StyleID's latent swapper (2023, Section 6): a network says how much of each channel stays.

It sees the person's code and a random target's and answers α in (0, 1) for every channel:
what is released is α of the one and 1 − α of the other. `training.latent_swapper` trains it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.errors import ModelMissing, ModelRejected
from evaluation.faces import Faces
from evaluation.methods.fusion import networks_folder
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.latents import TargetSwap
from evaluation.methods.method import Kind

__all__ = ["LatentSwap", "SwapperNetwork", "swapper_network"]

_NETWORK: Final = "swapper.onnx"
_FACTS: Final = "swapper.json"
_TRAIN: Final = "python -m training.latent_swapper"


class SwapperNetwork:
    """The trained network.

    Args:
        session: `source` and `target` float32[N, C] -> `alpha` float32[N, C] in (0, 1).

    Raises:
        ModelRejected: the network has other inputs or outputs.
    """

    def __init__(self, session: Session) -> None:
        names = {spec.name for spec in session.inputs}, {spec.name for spec in session.outputs}
        if names != ({"source", "target"}, {"alpha"}):
            raise ModelRejected(f"this is no latent swapper; train one with {_TRAIN}")
        self._session = session

    def kept(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N, C) share of each channel that stays the source's.

        Raises:
            EngineFault: the network failed.
        """
        return self._session.run({"source": source, "target": target})["alpha"]


def swapper_network(backend: Backend, fingerprint: str) -> SwapperNetwork:
    """The network that comes with kveil.

    Raises:
        ModelMissing: it is absent.
        ModelRejected: it was trained on the latents of another pack.
    """
    try:
        facts = json.loads((networks_folder() / _FACTS).read_text("utf-8"))
    except OSError as fault:
        raise ModelMissing(f"there is no latent swapper; train one with {_TRAIN}") from fault
    if facts.get("pack") != fingerprint:
        message = f"the latent swapper belongs to another model pack; train it again with {_TRAIN}"
        raise ModelRejected(message)
    return SwapperNetwork(backend.load(networks_folder() / _NETWORK))


@dataclass(slots=True)
class LatentSwap(TargetSwap):
    """Each person's code and a random target's, mixed as the network says.

    Attributes:
        generator: encodes and renders.
        network: the pack's own when None.
    """

    generator: PeopleGenerator
    use: ClassVar[str] = "swapper"
    network: SwapperNetwork | None = None
    name: str = "StyleID swapper"
    kind: Kind = "mean"

    def fit(self, donors: Faces) -> None:
        """Loads the network.

        Raises:
            ModelMissing: it is absent.
            ModelRejected: it was trained on another pack.
        """
        if self.network is None:
            self.network = swapper_network(self.generator.backend, self.generator.fingerprint)

    def _swapped(self, own: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
        assert self.network is not None
        directions = self.generator.directions
        source, target = directions.codes(own), directions.codes(other)
        kept = self.network.kept(source, target)
        return directions.moved(own, kept * source + (1 - kept) * target)
