"""One painter for several streams: faces that are asked for together are painted together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.stylegan.contrast import UNBOUNDED
from engines.swapper import Control, Rendered
from stream.live.batching import BatchingSession
from stream.swapping import Painter

__all__ = ["JointPainter"]

Outputs = dict[str, NDArray[np.float32]]
_MOST_FACES = 16


class JointPainter:
    """A painter that joins the calls of several streams; see `BatchingSession`.

    Args:
        painter: paints for all.
        wait_s: how long the first to ask waits for others.
        deadline_s: how long the others wait for the answer.
    """

    def __init__(self, painter: Painter, wait_s: float, deadline_s: float) -> None:
        self._painter = painter
        self._reads = BatchingSession(_Step(self._read), _MOST_FACES, wait_s, deadline_s)
        self._paints = {
            size: BatchingSession(
                _Step(partial(self._paint, size=size)), _MOST_FACES, wait_s, deadline_s
            )
            for size in painter.sizes
        }

    @property
    def size(self) -> int:
        """Side of the crops, and of the largest patches, px."""
        return self._painter.size

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sides that patches can have, px, ascending."""
        return self._painter.sizes

    @property
    def faces_per_run(self) -> float:
        """Mean number of faces painted together; 0 before the first."""
        rows, runs = (
            sum(counts)
            for counts in zip(*((one.rows, one.runs) for one in self._paints.values()), strict=True)
        )
        return rows / runs if runs else 0.0

    def read(self, crops: NDArray[np.uint8], *, is_lit: bool = True) -> Control:
        """Control of uint8 N×S×S×3 BGR crops; streams ask for it without light, and jointly.

        Raises:
            EngineFault: the joint run failed or took too long.
        """
        if is_lit:
            return self._painter.read(crops)
        told = self._reads.run({"crops": crops})
        return Control(
            told["points"],
            told["light"],
            told["doubt"],
            told.get("occlusion"),
            openness=told.get("openness"),
        )

    def paint(
        self, control: Control, latents: NDArray[np.float32], size: int | None = None
    ) -> Rendered:
        """Surrogates under that control, of one of the sizes; of the largest by default.

        Raises:
            EngineFault: the joint run failed or took too long.
        """
        painted = self._paints[size or self.size].run(
            {
                "points": control.points,
                "light": control.light,
                "doubt": control.doubt,
                "contrast": _bound(control),
                "latents": latents,
            }
        )
        return Rendered(
            painted["pixels"],
            painted["alpha"],
            painted["identity"],
            painted["is_usable"] > 0.5,
        )

    def _read(self, tensors: Tensors) -> Outputs:
        control = self._painter.read(np.asarray(tensors["crops"], np.uint8), is_lit=False)
        told = {"points": control.points, "light": control.light, "doubt": control.doubt}
        seen = {"occlusion": control.occlusion, "openness": control.openness}
        return told | {name: one for name, one in seen.items() if one is not None}

    def _paint(self, tensors: Tensors, size: int) -> Outputs:
        points, light, doubt, contrast, latents = (
            np.asarray(tensors[name], np.float32)
            for name in ("points", "light", "doubt", "contrast", "latents")
        )
        control = Control(points, light, doubt, contrast=contrast)
        rendered = self._painter.paint(control, latents, size)
        usable = rendered.is_usable.astype(np.float32)
        return {
            "pixels": rendered.pixels,
            "alpha": rendered.alpha,
            "identity": rendered.identity,
            "is_usable": usable,
        }


def _bound(control: Control) -> NDArray[np.float32]:
    """Contrast that surrogates may have, float32[N]."""
    if control.contrast is not None:
        return control.contrast
    return np.full(len(control.doubt), UNBOUNDED, np.float32)


class _Step:
    """One step of the painter in the form of a session."""

    def __init__(self, work: Callable[[Tensors], Outputs]) -> None:
        self._work = work
        self.inputs: tuple[TensorSpec, ...] = ()
        self.outputs: tuple[TensorSpec, ...] = ()

    def run(self, tensors: Tensors) -> Outputs:
        """Runs the step once."""
        return self._work(tensors)

    def close(self) -> None:
        """The painter belongs to its maker."""
