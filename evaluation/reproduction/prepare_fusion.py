"""Writes what fusion learns from: `python -m evaluation.reproduction.prepare_fusion --help`.

Clusters (FPSP Eq. 11), surrogates (Eq. 12–13) and protections are made here, by the very code
that anonymizes; training then needs nothing but arrays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from engines.backends.openvino import OpenVino
from engines.stylegan.topology import MESH_POINTS
from evaluation.methods.directions import resized
from evaluation.methods.fpsp import five_points, nearest_centres
from evaluation.methods.fusion import FUSION_SIZE, fusion_inputs
from evaluation.methods.generated import surrogates_from_pack
from evaluation.methods.morphing import morph

__all__ = ["prepare_fusion"]

_SECRET = b"the training's own secret, of no further use"
_BATCH = 64


def prepare_fusion(
    crops: Annotated[Path, typer.Argument(help="npy of uint8 N×128×128×3 RGB kveil crops.")],
    output: Annotated[Path, typer.Option("-o")] = Path("runs/fusion.npz"),
    count: Annotated[int, typer.Option(help="Faces to use, from the first on.")] = 3000,
    clusters: Annotated[int, typer.Option(help="Clusters; the paper has 15.")] = 15,
) -> None:
    """Reads crops of training people and writes inputs, targets and expressions."""
    generator = surrogates_from_pack(OpenVino())
    faces = np.ascontiguousarray(np.load(crops, mmap_mode="r")[:count][..., ::-1])
    vectors = generator.told_apart(faces)
    labels, centres = nearest_centres(vectors, clusters, _SECRET)
    control = generator.control(faces)
    places = control.points[:, :MESH_POINTS, :2] * np.float32(faces.shape[1])
    noise = np.random.default_rng(1)
    parts = []
    for start in range(0, len(faces), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(faces)))
        lent = centres[labels[rows]]
        surrogates = np.stack(
            [
                morph(faces[row], places[row], faces[centre], places[centre], 0.5)
                for row, centre in zip(rows, lent, strict=True)
            ]
        )
        made = fusion_inputs(faces[rows], five_points(places[rows]), surrogates, noise)
        parts.append(np.rint((made + 1) * 127.5).astype(np.uint8))
        typer.echo(f"{rows[-1] + 1} of {len(faces)}")
    pose = generator.shape.pose_of(control.points)
    expression = generator.shape.expression_of(control.points, pose)
    targets = resized(faces.astype(np.float32), FUSION_SIZE).transpose(0, 3, 1, 2)
    output.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        output,
        copies=np.concatenate(parts),
        faces=np.rint(targets).astype(np.uint8),
        expression=expression.astype(np.float32),
    )
    typer.echo(f"wrote {output}")


if __name__ == "__main__":
    typer.run(prepare_fusion)
