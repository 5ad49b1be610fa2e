"""Files that must not become generators."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

import numpy as np
import pytest

from engines.errors import ModelMissing, ModelRejected
from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.imports.networks import StyleGan2
from tests.engines.stylegan.imports.generators import rosinality, stylegan2, stylegan3
from tests.engines.stylegan.pickle_writing import (
    Named,
    module,
    network_pickle,
    pickled,
    rebuilt,
    write_archive,
)

pytestmark = pytest.mark.unit


def refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ModelRejected, match=words) as caught:
        generator_from_file(path)
    assert caught.value.exit_code == 5
    assert len(str(caught.value).splitlines()) == 1


def state_of(named: Named) -> dict[str, object]:
    meta = named.arguments[0]
    assert isinstance(meta, dict)
    state: dict[str, object] = meta["state"]
    return state


def part(named: Named, *names: str) -> Named:
    for name in names:
        modules = state_of(named)["_modules"]
        assert isinstance(modules, dict)
        named = modules[name]
    return named


def put(named: Named, kind: str, name: str, values: object) -> None:
    tensors = state_of(named)[kind]
    assert isinstance(tensors, dict)
    tensors[name] = values if values is None else rebuilt(np.asarray(values, np.float32))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"c_dim": 10}, "labels"),
        ({"img_channels": 1}, "RGB"),
        ({"img_resolution": 1 << 20}, "img_resolution"),
        ({"img_resolution": 96}, "96 px"),
        ({"img_resolution": 128}, "lacks|no b128"),
        ({"img_resolution": "64"}, "img_resolution"),
        ({"w_dim": 33}, "shape"),
        ({"w_dim": np.float64("nan")}, "w_dim"),
    ],
)
def test_generator_of_another_kind_is_refused(
    tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    refused(tmp_path / "n.pkl", network_pickle(stylegan2(**changed)), words)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    made = stylegan2()
    put(part(made, "synthesis", "b16", "conv0"), "_parameters", "bias", np.full(12, value))
    refused(tmp_path / "n.pkl", network_pickle(made), "NaN or infinity")


@pytest.mark.parametrize("shape", [(11,), (12, 1), (0,), (1, 12)])
def test_weights_of_another_shape_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    made = stylegan2()
    put(part(made, "synthesis", "b8", "conv1"), "_parameters", "bias", np.zeros(shape))
    refused(tmp_path / "n.pkl", network_pickle(made), "shape")


def test_other_architecture_is_refused(tmp_path: Path) -> None:
    made = stylegan2()
    state_of(part(made, "synthesis", "b8"))["architecture"] = "resnet"
    refused(tmp_path / "n.pkl", network_pickle(made), "skip connections")


def test_other_filter_in_one_block_is_refused(tmp_path: Path) -> None:
    made = stylegan2()
    put(part(made, "synthesis", "b32"), "_buffers", "resample_filter", np.eye(4))
    refused(tmp_path / "n.pkl", network_pickle(made), "filters")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("up_factor", 64, "up_factor"),
        ("up_factor", 2.5, "whole number"),
        ("padding", [1 << 40] * 4, "impossible"),
        ("padding", [9, 8, 9, 9], "differently"),
        ("padding", [4000, 4000] * 2, "px"),
        ("padding", [-500, -500] * 2, "px"),
        ("is_torgb", None, "is_torgb"),
    ],
)
def test_impossible_layer_of_stylegan3_is_refused(
    tmp_path: Path, key: str, value: object, words: str
) -> None:
    made = stylegan3()
    names = state_of(part(made, "synthesis"))["layer_names"]
    assert isinstance(names, list)
    state_of(part(made, "synthesis", names[1]))[key] = value
    refused(tmp_path / "n.pkl", network_pickle(made), words)


@pytest.mark.parametrize("taps", [np.zeros((12, 11)), np.zeros((1, 1, 4)), np.zeros(65)])
def test_odd_filter_of_stylegan3_is_refused(tmp_path: Path, taps: object) -> None:
    made = stylegan3()
    names = state_of(part(made, "synthesis"))["layer_names"]
    assert isinstance(names, list)
    put(part(made, "synthesis", names[1]), "_buffers", "down_filter", taps)
    refused(tmp_path / "n.pkl", network_pickle(made), "no filter")


def test_input_larger_than_any_picture_is_refused(tmp_path: Path) -> None:
    made = stylegan3()
    state_of(part(made, "synthesis", "input"))["size"] = np.array([1 << 30, 1 << 30])
    refused(tmp_path / "n.pkl", network_pickle(made), "px")


def test_rosinality_layers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    state = rosinality()
    state["convs.3.conv.weight"] = state["convs.3.conv.weight"][:, :, :5]
    path = write_archive(tmp_path / "n.pt", {"g_ema": state})
    with pytest.raises(ModelRejected, match="shape"):
        generator_from_file(path)
    del state["convs.3.conv.weight"]
    with pytest.raises(ModelRejected, match="7 layers"):
        generator_from_file(write_archive(path, {"g_ema": state}))


def test_rosinality_mean_comes_from_the_file_where_it_has_one(tmp_path: Path) -> None:
    mean = np.full(32, 0.25, np.float32)
    path = write_archive(tmp_path / "n.pt", {"g_ema": rosinality(), "latent_avg": mean})
    network = generator_from_file(path).network
    assert isinstance(network, StyleGan2)
    assert np.array_equal(network.mapping.mean, mean)


def test_rosinality_checkpoint_of_a_training_run_is_read(tmp_path: Path) -> None:
    """It holds optimizers, the command line and the other networks too."""
    content = {
        "g": {"input.input": np.zeros(3)},
        "g_ema": rosinality(),
        "g_optim": {"state": {0: {"step": 3}}, "param_groups": [{"lr": 0.002, "params": [0]}]},
        "args": argparse.Namespace(size=64, path="faces", betas=(0.0, 0.99)),
        "ada_aug_p": 0.1,
    }
    read = generator_from_file(write_archive(tmp_path / "n.pt", content))
    assert (read.source, read.network.size) == ("rosinality", 64)


@pytest.mark.parametrize(
    "content",
    [
        pickled({}),
        pickled([1, 2]),
        pickled({"G_ema": {"weight": 1}}),
        network_pickle(module("Generator")),
        network_pickle(stylegan2())[:-200],
    ],
)
def test_file_without_a_generator_is_refused(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path / "n.pkl", content, "holds no|has no|say its|damaged")


def test_absent_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        generator_from_file(tmp_path / "none.pkl")


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_read_or_refused_and_nothing_else(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = (lambda: network_pickle(stylegan2(channels=4)), lambda: network_pickle(stylegan3()))
    content = bytearray(kinds[seed % 2]())
    # What describes the network is mostly ASCII; weights are not worth flipping.
    places = [n for n, byte in enumerate(content) if 32 <= byte < 127]
    for place in rng.choice(places, 3):
        content[place] = rng.integers(256)
    path = tmp_path / "n.pkl"
    path.write_bytes(bytes(content))
    with contextlib.suppress(ModelRejected):
        generator_from_file(path)


@pytest.mark.parametrize("state", [{1: np.zeros(3)}, {"style.1.weight": 3, 2.5: None}])
def test_names_that_are_no_words_are_refused(tmp_path: Path, state: dict[object, object]) -> None:
    path = tmp_path / "n.pkl"
    path.write_bytes(pickled({"g_ema": state}))
    with pytest.raises(ModelRejected):
        generator_from_file(path)
