"""Put a pack into its folder with a manifest: `python -m training.bundle`.

Files and figures that a run did not make, such as the donors of `training.portrait_donors`, stay as
they are.
"""

import argparse
import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from engines.donors.making import PURPOSES
from engines.stylegan.pack import FORMAT, MANIFEST, file_entry

FILES: Final = {
    "generator.onnx": "paints a surrogate's texture at rest from its latents, 256 px RGB",
    "landmarker.onnx": "control points and their expected error of a 128 px RGB crop",
    "lids.onnx": "how far an eye is open, 48×32 px grey",
    "encoder.onnx": "w+ latent of a crop from its texture and identity shape",
    "outline.npz": "how far read outlines are off: where a face ends",
    "shape.npz": "shape model, texture frame, relief and faces at rest",
    **PURPOSES,
    "attributes.npz": "age band and gender presentation of a latent",
}
MOST_BYTES: Final = 16_000_000
MOST_TOGETHER: Final = 60_000_000

log = logging.getLogger(__name__)


def manifest(pack: Path, name: str, metrics: dict[str, float]) -> dict[str, object]:
    """Describe the files of `pack`.

    Raises:
        ValueError: a file, or all together, are larger than a repository should hold.
    """
    files: dict[str, object] = {}
    together = 0
    for file, purpose in FILES.items():
        size = (pack / file).stat().st_size
        together += size
        if size > MOST_BYTES:
            raise ValueError(f"{file} has {size} bytes; keep files below {MOST_BYTES}")
        files[file] = file_entry(pack / file, purpose)
    if together > MOST_TOGETHER:
        raise ValueError(f"the pack has {together} bytes; keep it below {MOST_TOGETHER}")
    return {
        "format": FORMAT,
        "name": name,
        "licence": "Apache-2.0",
        "training_data": "UTKFace (non-commercial research), a generated-faces set, portraits of "
        "generated people (omi, CC BY-NC-SA 4.0; SFHQ and openpeople, MIT), ORL faces (research), "
        "portraits of consenting people (Face Research Lab London Set, CC BY 4.0) and clips of "
        "public projects; see README",
        "files": files,
        "metrics": metrics,
    }


def enter(folder: Path, entries: Mapping[str, Mapping[str, object]]) -> None:
    """Brings a manifest's entries of some files up to date."""
    path = folder / MANIFEST
    content = json.loads(path.read_text(encoding="utf-8"))
    content["files"] |= entries
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, default=Path("runs/pack"))
    parser.add_argument("--name", default="kveil-face-256")
    parser.add_argument("--out", type=Path, default=Path("engines/weights"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    known = args.out / MANIFEST
    metrics: dict[str, float] = json.loads(known.read_text())["metrics"] if known.exists() else {}
    for part in (
        "training.json",
        "attributes.json",
        "nearest.json",
        "outline.json",
        "measured.json",
    ):
        if (args.pack / part).exists():
            metrics |= json.loads((args.pack / part).read_text())
    args.out.mkdir(parents=True, exist_ok=True)
    made = [file for file in FILES if (args.pack / file).exists()]
    for file in made:
        shutil.copyfile(args.pack / file, args.out / file)
    described = manifest(args.out, args.name, metrics)
    (args.out / MANIFEST).write_text(json.dumps(described, indent=1) + "\n")
    log.info("bundled %d files", len(made))


if __name__ == "__main__":
    main()
