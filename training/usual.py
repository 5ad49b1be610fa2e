"""Measure what textures usually look like: `python -m training.usual --out PACK`.

The mean and the spread of the donors' textures go into the pack's `shape.npz`; surrogates' textures
are held within them, see `engines.stylegan.usual`. Done once, before donors are drawn anew: these
are held within bounds themselves and would narrow them.
"""

import argparse
from pathlib import Path

import numpy as np

from engines.backends.openvino import OpenVino
from engines.stylegan.pack import donor_latents, load_role, read_pack
from engines.stylegan.usual import usual_from_textures
from training.portraits import BATCH


def write(pack_folder: Path, out: Path) -> None:
    """Measure a pack's donors, and write its `shape.npz` with what was found.

    Args:
        pack_folder: of the pack.
        out: folder to write into.
    """
    pack = read_pack(pack_folder)
    latents = donor_latents(pack)
    generator = load_role(OpenVino(), pack, "generator")
    textures = [
        generator.run({"latents": latents[start : start + BATCH]})["texture"]
        for start in range(0, len(latents), BATCH)
    ]
    usual = usual_from_textures(np.concatenate(textures))
    with np.load(pack.path("shape.npz"), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["usual_mean"] = usual.mean.astype(np.float16)
    arrays["usual_spread"] = usual.spread.astype(np.float16)
    np.savez_compressed(out / "shape.npz", allow_pickle=False, **arrays)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=Path("engines/weights"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    args = parser.parse_args()
    write(args.pack, args.out)


if __name__ == "__main__":
    main()
