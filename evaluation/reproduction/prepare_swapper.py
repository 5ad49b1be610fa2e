"""Writes what the latent swapper learns from.

`python -m evaluation.reproduction.prepare_swapper --help`. Sources S and targets R are the
pack's synthetic people; the truth is the code of S with R's face in its mask (StyleID 2023,
Section 6.2), so that backgrounds and looks outside the mask are those of S.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from engines.backends.openvino import OpenVino
from evaluation.methods.generated import GeneratedSurrogates, surrogates_from_pack
from evaluation.methods.masked import area_alpha

__all__ = ["prepare_swapper"]

_BATCH = 64


def prepare_swapper(
    output: Annotated[Path, typer.Option("-o")] = Path("runs/swapper.npz"),
    pairs: Annotated[int, typer.Option(help="Pairs of source and target.")] = 1500,
) -> None:
    """Paints pairs and writes codes, truths and the embedder's vectors."""
    generator = surrogates_from_pack(OpenVino())
    rows: dict[str, list[NDArray[np.float32]]] = {}
    for start in range(0, pairs, _BATCH):
        numbers = np.arange(start, min(start + _BATCH, pairs))
        for name, values in _pairs(generator, numbers, pairs).items():
            rows.setdefault(name, []).append(values)
        typer.echo(f"{numbers[-1] + 1} of {pairs}")
    output.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, NDArray[np.generic]] = {}
    arrays |= {name: np.concatenate(parts) for name, parts in rows.items()}
    arrays["pack"] = np.array(generator.fingerprint)
    np.savez(output, allow_pickle=False, **arrays)
    typer.echo(f"wrote {output}")


def _pairs(
    generator: GeneratedSurrogates, numbers: NDArray[np.int64], pairs: int
) -> dict[str, NDArray[np.float32]]:
    source, target = generator.latents(numbers), generator.latents(numbers + pairs)
    pictures = [_picture(generator.neutral(latents)) for latents in (source, target)]
    points = generator.control(pictures[0]).points
    size = pictures[0].shape[1]
    alpha = np.stack([area_alpha(marks, "face", size) for marks in points])[..., None]
    truth = _picture(alpha * pictures[1] + (1 - alpha) * pictures[0])
    codes = generator.directions.codes
    return {
        "source": codes(source),
        "target": codes(target),
        "truth": codes(generator.encoded(truth)),
        "source_vector": generator.told_apart(pictures[0]),
        "target_vector": generator.told_apart(pictures[1]),
    }


def _picture(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


if __name__ == "__main__":
    typer.run(prepare_swapper)
