"""Fit the attribute model of the bundled embedder.

``python -m training.attributes --data DIR --out engines/weights/embedder/attributes.npz`` reads
labelled crops, embeds them as they are, mirrored, and twice as footage shows them: off by a little,
out of focus, in warm or dim light, behind a hand. It fits gender presentation, skin tone and age
band by a small network (`training.reader_fitting`). A held-out fifth tells the balanced accuracy on
crops as they are and on the others. The manifest beside the file is brought up to date.
"""

import csv
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import cv2
import numpy as np
import numpy.typing as npt
import typer

from engines.backends.openvino import OpenVino
from engines.face.embedder import embedder_from_pack
from engines.face.embedding_attributes import EmbeddingAttributes
from engines.stylegan.attributes import shares_from_scores
from training.reader_fitting import fit_reader

__all__ = [
    "Labelled",
    "age_band",
    "balanced_accuracy",
    "chosen_rows",
    "crops_of",
    "fit_classifier",
    "fit_embedding_attributes",
    "moved",
    "skin_tone",
    "write_embedding_attributes",
]

RIDGE: Final = 3.0
_NAMES: Final = ("gender", "tone", "age")
_SOURCE: Final = "utkface"
_HELD: Final = 0.2
"""Share of crops that only measure."""
_BATCH: Final = 64
_SCALE: Final = 10.0
"""By how much unit vectors are enlarged, so that their numbers are about one in size."""
_SHIFT: Final = 0.03
_TURN_DEG: Final = 4.0
_ZOOM: Final = 0.05
"""How far a detector's landmarks are off: standard deviations of place, over the crop's side, of
roll, and of the logarithm of size."""
_SOFTEST_PX: Final = 48
"""Smallest side that a crop is reduced to, and enlarged again."""
_TINT: Final = 0.18
_GAMMA: Final = 0.3
"""Standard deviations of the logarithms of each colour's gain, and of an exponent for all."""
_HAND: Final = 0.35
"""How often something of the colour of skin lies before a face, in its lower two thirds."""
_HAND_SIDES: Final = (0.12, 0.3)
"""Semi-axes of it, shares of the crop's side."""

Float32 = npt.NDArray[np.float32]
Words = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Embedded crops with what their table says of them.

    Attributes:
        embeddings: float32[V, N, D], unit length: of the crops as they are, and of views of them.
        labels: per attribute, str[N].
    """

    embeddings: Float32
    labels: dict[str, Words]


def fit_classifier(
    codes: Float32, labels: Words, values: tuple[str, ...], steps: int = 300
) -> Float32:
    """Softmax regression with balanced classes, float32[C + 1, B]; bias last."""
    design = np.concatenate([codes, np.ones((len(codes), 1), np.float32)], axis=1)
    target = np.stack([labels == value for value in values], axis=1).astype(np.float32)
    balance = (1.0 / np.maximum(target.sum(axis=0), 1.0))[target.argmax(axis=1)]
    balance = (balance / balance.mean())[:, None]
    weights = np.zeros((design.shape[1], len(values)), np.float32)
    for _ in range(steps):
        error = (shares_from_scores(design @ weights) - target) * balance
        weights -= 0.5 * (design.T @ error / len(design) + RIDGE / len(design) * weights)
    return weights


def balanced_accuracy(
    codes: Float32, labels: Words, values: tuple[str, ...], weights: Float32
) -> float:
    """Mean over the values of the share of each that is read right."""
    guess = np.array(values)[(codes @ weights[:-1] + weights[-1]).argmax(axis=1)]
    return float(np.mean([(guess == v)[labels == v].mean() for v in values]))


def fit_embedding_attributes(
    people: Labelled, held: npt.NDArray[np.bool_]
) -> tuple[dict[str, npt.NDArray[np.generic]], dict[str, float]]:
    """Fit the model of `engines.face.embedding_attributes`.

    Args:
        people: embedded, labelled crops.
        held: bool[N], crops that only measure.

    Returns:
        Arrays of the model's file, and the balanced held-out accuracy of each attribute, on crops
        as they are and on the last view of them.
    """
    codes = people.embeddings * np.float32(_SCALE)
    learnt = {name: np.tile(labels[~held], len(codes)) for name, labels in people.labels.items()}
    hidden, weights, values = fit_reader(np.concatenate(codes[:, ~held]), learnt)
    hidden[:-1] *= _SCALE
    model = EmbeddingAttributes(hidden, weights, values)
    facts: dict[str, float] = {}
    for which, view in (("", people.embeddings[0]), ("_moved", people.embeddings[-1])):
        raised = model.raised(view)
        for name, labels in people.labels.items():
            test = held & (labels != "")
            facts[f"{name}_accuracy{which}"] = balanced_accuracy(
                raised[test], labels[test], values[name], weights[name]
            )
    arrays: dict[str, npt.NDArray[np.generic]] = {"hidden": hidden}
    for name in people.labels:
        arrays[f"weights.{name}"] = weights[name]
        arrays[f"values.{name}"] = np.array(values[name])
    return arrays, facts


def write_embedding_attributes(
    out: Path, arrays: dict[str, npt.NDArray[np.generic]], facts: dict[str, float]
) -> None:
    """Write the model, and its hash and accuracy into the manifest beside it.

    Raises:
        OSError: the folder has no manifest, or cannot be written.
    """
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    manifest = out.parent / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    content["files"][out.name] = {"sha256": digest}
    content.setdefault("facts", {}).update(facts)
    out.write_bytes(buffer.getvalue())
    manifest.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def age_band(age: str) -> str:
    """Name the band of an age in years; empty where unknown.

    >>> age_band("34"), age_band("")
    ('adult', '')
    """
    if not age:
        return ""
    years = float(age)
    bands = ((13, "child"), (33, "young"), (50, "adult"))
    return next((name for limit, name in bands if years < limit), "old")


def skin_tone(group: str) -> str:
    """Dark or light, as the crops' table groups people; empty where it does not tell.

    Measured colours would follow the lamp; who was grouped so by others has mostly such skin.

    >>> skin_tone("black"), skin_tone("white"), skin_tone("")
    ('dark', 'light', '')
    """
    if not group:
        return ""
    return "dark" if group == "black" else "light"


def chosen_rows(data: Path, count: int, seed: int) -> dict[str, dict[str, str]]:
    """Rows of the table of so many random labelled crops, by name."""
    with (data / "faces256.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == _SOURCE]
    order = np.random.default_rng(seed).permutation(len(rows))[:count]
    return {rows[place]["name"]: rows[place] for place in order.tolist()}


def crops_of(data: Path, wanted: set[str]) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """Names and pictures uint8[S, S, 3] BGR of the wanted crops."""
    for path in sorted(data.glob("faces256-*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                name = Path(member.name).name
                file = tar.extractfile(member) if name in wanted else None
                if file is None:
                    continue
                crop = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
                if crop is not None:
                    yield name, np.asarray(crop, np.uint8)


def moved(crop: npt.NDArray[np.uint8], random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """A crop as footage may show it: off by a little, softer, in other light, behind a hand.

    Args:
        crop: uint8[S, S, 3] BGR.
        random: draws all of it.
    """
    side = crop.shape[0]
    turn, zoom = random.normal(0, _TURN_DEG), np.exp(random.normal(0, _ZOOM))
    place = np.asarray(cv2.getRotationMatrix2D((side / 2, side / 2), turn, zoom), np.float64)
    place[:, 2] += random.normal(0, _SHIFT * side, 2)
    cut = cv2.warpAffine(crop, place, (side, side), borderMode=cv2.BORDER_REFLECT_101)
    shown = _in_light(_behind_hand(np.asarray(cut, np.uint8), random), random)
    small = int(random.integers(_SOFTEST_PX, side + 1))
    soft = cv2.resize(shown, (small, small), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(soft, (side, side), interpolation=cv2.INTER_LINEAR), np.uint8)


def _in_light(crop: npt.NDArray[np.uint8], random: np.random.Generator) -> npt.NDArray[np.uint8]:
    gain, power = np.exp(random.normal(0, _TINT, 3)), np.exp(random.normal(0, _GAMMA))
    levels = np.arange(256)[:, None] / 255
    table = np.clip(255 * gain * levels**power, 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(crop, table[None]), np.uint8)


def _behind_hand(crop: npt.NDArray[np.uint8], random: np.random.Generator) -> npt.NDArray[np.uint8]:
    if random.random() > _HAND:
        return crop
    side = crop.shape[0]
    x, y = random.uniform((0.2, 0.45), (0.8, 1.0)) * side
    axes = (random.uniform(*_HAND_SIDES, 2) * side).astype(int)
    skin = crop[side // 2 : side * 5 // 8, side // 4 : side * 3 // 4].mean(axis=(0, 1))
    turned = (int(x), int(y)), tuple(axes.tolist()), random.uniform(0, 180)
    mask = cv2.ellipse(np.zeros((side, side), np.uint8), *turned, 0, 360, 255, -1)
    shade = skin * random.uniform(0.8, 1.25)
    hidden = crop.copy()
    hidden[mask > 0] = np.clip(shade + random.normal(0, 6, (int((mask > 0).sum()), 3)), 0, 255)
    return hidden


def _embedded(data: Path, embedder_folder: Path, count: int, seed: int) -> Labelled:
    rows = chosen_rows(data, count, seed)
    embedder, _ = embedder_from_pack(OpenVino(threads=1), embedder_folder)
    names: list[str] = []
    found: list[Float32] = []
    crops, random = crops_of(data, set(rows)), np.random.default_rng(seed + 2)
    while batch := list(islice(crops, _BATCH)):
        names += [name for name, _ in batch]
        seen = np.stack([crop for _, crop in batch])
        views = [seen, seen[:, :, ::-1]]
        views += [np.stack([moved(one, random) for one in view]) for view in views[::-1]]
        embedded = embedder.embed(np.concatenate(views))
        found.append(embedded.reshape(len(views), len(batch), -1))
    labels = {
        "gender": np.array([rows[name]["gender"] for name in names]),
        "tone": np.array([skin_tone(rows[name]["ethnicity"]) for name in names]),
        "age": np.array([age_band(rows[name]["age"]) for name in names]),
    }
    return Labelled(np.concatenate(found, axis=1), labels)


def main(
    data: Annotated[Path, typer.Option(help="Folder of faces256.csv and its tars.")],
    out: Annotated[Path, typer.Option(help="attributes.npz in the embedder's folder.")],
    count: Annotated[int, typer.Option(help="Crops, at most.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Other seeds take other crops.")] = 0,
) -> None:
    """Fit the model, write it, and print its balanced accuracy on a held-out fifth."""
    people = _embedded(data, out.parent, count, seed)
    held = np.random.default_rng(seed + 1).random(people.embeddings.shape[1:2]) < _HELD
    arrays, facts = fit_embedding_attributes(people, held)
    write_embedding_attributes(out, arrays, facts)
    typer.echo(f"{len(held)} crops, {int(held.sum())} held out")
    for name in _NAMES:
        plain, off = facts[f"{name}_accuracy"], facts[f"{name}_accuracy_moved"]
        typer.echo(f"{name}: balanced accuracy {plain:.1%}, {off:.1%} of crops that are off")


if __name__ == "__main__":
    typer.run(main)
