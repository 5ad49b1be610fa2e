"""Choose again among a pack's donors: `python -m training.thinning --models DIR --count N`.

What changes how surrogates are painted changes who resembles whom. Instead of drawing people anew,
those are kept of the donors there are that are least alike as they are painted now, under other
people's control, in equal numbers over age band and gender presentation. Writes `donors.npz` and
what was measured, `donors.json`, of the pack that is being made.
"""

import argparse
import json
import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.stylegan.shape import load_shape_model
from training.choosing import shown, unlike
from training.donors import unlisted_swapper
from training.nearest import nearness
from training.people import layered
from training.portraits import portraits
from training.sources import is_real_adult

Arrays = dict[str, npt.NDArray[np.generic]]

log = logging.getLogger(__name__)


def write(data: Path, out: Path, models: Path, count: int, seed: int) -> dict[str, float]:
    """Thin the donors of a pack out; return what was measured of those left.

    Args:
        data: folder of prepared crops.
        out: folder of the pack.
        models: folder of the recognisers.
        count: donors wanted.
        seed: decides under whose control they are compared.
    """
    with np.load(out / "donors.npz", allow_pickle=False) as file:
        donors: Arrays = {name: file[name] for name in file.files}
    latents = layered(np.asarray(donors["latents"][:, 0], np.float32))
    swapper, shape = unlisted_swapper(OpenVino(), out), load_shape_model(out / "shape.npz")
    seen = shown(swapper, shape, latents, data, models, seed).seen
    chosen = unlike(seen, bins_of(donors), count)
    pictures, points = portraits(swapper, shape, latents[chosen])
    held = np.load(data / "split.npy")
    near = nearness(pictures, points, data, models, is_real_adult(data) & ~held)
    np.savez_compressed(out / "donors.npz", allow_pickle=False, **thinned(donors, chosen))
    facts = {"donors": float(len(chosen))}
    for name, each in near.items():
        facts |= each.facts(name, np.arange(len(chosen)))
    return facts


def bins_of(donors: Arrays) -> list[dict[str, str]]:
    """Attributes of donors by their names; one that is not known is left out.

    >>> bins_of({"latents": np.zeros((2, 1, 4)), "attribute.age": np.array([1, -1]),
    ...          "values.age": np.array(["young", "old"])})
    [{'age': 'old'}, {}]
    """
    bins: list[dict[str, str]] = [{} for _ in donors["latents"]]
    for key in donors:
        if key.startswith("attribute."):
            name = key.removeprefix("attribute.")
            values = donors[f"values.{name}"]
            for one, code in zip(bins, np.asarray(donors[key], np.int64), strict=True):
                if code >= 0:
                    one[name] = str(values[code])
    return bins


def thinned(donors: Arrays, chosen: npt.NDArray[np.int64]) -> Arrays:
    """The arrays of some donors alone.

    >>> two = {"latents": np.arange(4.0).reshape(4, 1), "mean": np.zeros(1)}
    >>> thinned(two, np.array([1, 3]))["latents"].ravel().tolist()
    [1.0, 3.0]
    """
    own = {"latents"} | {key for key in donors if key.startswith("attribute.")}
    return {key: values[chosen] if key in own else values for key, values in donors.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("runs/data"))
    parser.add_argument("--out", type=Path, default=Path("runs/pack"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=20261123)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    told = args.out / "donors.json"
    facts: dict[str, float] = json.loads(told.read_text()) if told.exists() else {}
    facts |= write(args.data, args.out, args.models, args.count, args.seed)
    told.write_text(json.dumps(facts))
    log.info("%s", facts)


if __name__ == "__main__":
    main()
