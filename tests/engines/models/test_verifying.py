from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from engines.backends.backend import TensorSpec
from engines.errors import ModelRejected
from engines.models.catalogue import Listed, catalogue, centerface_path
from engines.models.probes import PROBES, probes_for
from engines.models.verifying import Verdict, verified
from tests.engines.models.packs import network, small_generator, write_pack

pytestmark = pytest.mark.unit


def listed_from(folder: Path) -> Listed:
    return list(catalogue(folder.parent))[-1]


def only(folder: Path) -> Verdict:
    verdicts = list(verified(listed_from(folder)))
    assert len(verdicts) == 1
    return verdicts[0]


def test_sound_generator_passes(tmp_path: Path) -> None:
    verdict = only(write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator()}))
    assert not verdict.fault
    assert verdict.runtimes is not None
    assert verdict.runtimes < 1e-5
    assert verdict.bf16


@pytest.mark.parametrize(("gain", "words"), [(0.0, "everybody"), (np.nan, "NaN"), (1e-5, "blank")])
def test_generator_without_a_picture_fails(tmp_path: Path, gain: float, words: str) -> None:
    verdict = only(write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator(gain)}))
    assert words in verdict.fault


@pytest.mark.parametrize("content", [b"", b"not a network", small_generator()[:-40]])
def test_damaged_network_fails(tmp_path: Path, content: bytes) -> None:
    assert only(write_pack(tmp_path / "mine", {"synthesis.onnx": content})).fault


def test_other_hash_fails_and_says_what_to_do(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator()})
    (folder / "synthesis.onnx").write_bytes(small_generator(2.0))
    assert "import it again" in only(folder).fault
    (folder / "synthesis.onnx").unlink()
    assert "import it again" in only(folder).fault


def test_other_hash_of_a_table_fails(tmp_path: Path) -> None:
    folder = write_pack(
        tmp_path / "mine", {"synthesis.onnx": small_generator(), "donors.npz": b"table"}
    )
    (folder / "donors.npz").write_bytes(b"other")
    faults = {verdict.file: verdict.fault for verdict in verified(listed_from(folder))}
    assert faults["donors.npz"]


@pytest.mark.parametrize("value", [0.5, np.nan])
def test_table_must_hold_numbers(tmp_path: Path, value: float) -> None:
    table = io.BytesIO()
    np.savez(table, latents=np.full((1, 2, 8), value, np.float32), names=np.array(["a"]))
    files = {"synthesis.onnx": small_generator(), "attributes.npz": table.getvalue()}
    faults = [v.fault for v in verified(listed_from(write_pack(tmp_path / "mine", files)))]
    assert any("NaN" in fault for fault in faults) == np.isnan(value)


def test_damaged_table_fails(tmp_path: Path) -> None:
    files = {"attributes.npz": b"no table"}
    assert "no sound table" in only(write_pack(tmp_path / "mine", files)).fault


def test_sound_detector_passes(tmp_path: Path) -> None:
    content = centerface_path().read_bytes()
    verdict = only(write_pack(tmp_path / "mine", {"detector.onnx": content}, "detector"))
    assert not verdict.fault
    assert verdict.bf16


def test_network_that_is_no_detector_fails_as_one(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine", {"detector.onnx": small_generator()}, "detector")
    assert "no face detector" in only(folder).fault


def test_precision_that_loses_identity_is_refused(tmp_path: Path) -> None:
    """One thousand and a little that tells people apart: bf16 keeps the thousand alone."""
    content = network(
        [
            helper.make_node("Flatten", ["latents"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weight"], ["planes"]),
            helper.make_node("Add", ["planes", "much"], ["raised"]),
            helper.make_node("MatMul", ["raised", "apart"], ["embedding"]),
        ],
        {"latents": ["n", 2, 8]},
        {"embedding": ["n", 4]},
        {
            "weight": np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32) * 0.5,
            "much": np.full(4, 1000, np.float32),
            "apart": np.eye(4, dtype=np.float32) - np.float32(0.25),
        },
    )
    verdict = only(write_pack(tmp_path / "mine", {"synthesis.onnx": content}))
    assert not verdict.fault
    if verdict.cosine is None:
        pytest.skip("the processor has no bf16")
    assert verdict.cosine < 0.99
    assert verdict.bf16.startswith("refused")


@pytest.mark.parametrize(
    "spec",
    [
        TensorSpec("image", (None, 3, 1 << 14, 1 << 14), np.dtype(np.float32)),
        TensorSpec("image", (None, 3, 8, 8), np.dtype(np.int64)),
        TensorSpec("image", (), np.dtype(np.float32)),
    ],
)
def test_port_that_no_probe_fits_is_refused(tmp_path: Path, spec: TensorSpec) -> None:
    pack = listed_from(write_pack(tmp_path / "mine", {})).pack
    with pytest.raises(ModelRejected):
        probes_for([spec], pack)


def test_every_probe_is_another_person(tmp_path: Path) -> None:
    pack = listed_from(write_pack(tmp_path / "mine", {})).pack
    floats = np.dtype(np.float32)
    specs = [
        TensorSpec("image", (None, 3, 64, 64), floats),
        TensorSpec("latents", (None, 4, 16), floats),
        TensorSpec("shape", (None, 16), floats),
        TensorSpec("eyes", (None, 1, 32, 48), floats),
        TensorSpec("around", (None, 4, 96, 96), floats),
    ]
    for values in probes_for(specs, pack).values():
        assert len(values) == PROBES
        assert len(np.unique(values.reshape(PROBES, -1), axis=0)) == PROBES


def test_bundled_networks_pass() -> None:
    for listed in catalogue():
        if listed.origin == "bundled":
            assert {one.file: one.fault for one in verified(listed) if one.fault} == {}
