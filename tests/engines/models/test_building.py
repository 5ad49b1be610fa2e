"""Every bundled network builds for every capability, without a GPU."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from engines.backends.backend import Precision
from engines.backends.tensorrt import engine_request
from engines.backends.tensorrt_build import (
    BuildRequest,
    build_engine,
    capabilities,
    shape_ranges,
    tensorrt_module,
)
from engines.errors import BackendMissing, ModelRejected
from engines.models.building import built, loaded_network
from engines.models.catalogue import Listed, buildable_of, catalogue
from engines.stylegan.imports.checkpoints import generator_from_file
from engines.stylegan.imports.onnx_graphs import mapping_onnx, synthesis_onnx
from tests.engines.models.packs import small_generator, write_pack
from tests.engines.stylegan.imports.generators import stylegan2, stylegan3
from tests.engines.stylegan.pickle_writing import network_pickle

pytestmark = pytest.mark.unit

HAS_RTX = util.find_spec("tensorrt_rtx") is not None
needs_rtx = pytest.mark.skipif(not HAS_RTX, reason="needs tensorrt-rtx: pip install 'kveil[gpu]'")
BUNDLED = [
    (listed, name) for listed in catalogue(Path("/nonexistent")) for name in buildable_of(listed)
]
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16", "bf16")


@needs_rtx
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize(("listed", "name"), BUNDLED, ids=[name for _, name in BUNDLED])
def test_bundled_network_builds(listed: Listed, name: str, capability: str) -> None:
    content = loaded_network(listed, name)
    request = BuildRequest("fp32", capability, shape_ranges(content), "tensorrt-rtx")
    assert len(build_engine(content, request)) > 100_000


@needs_rtx
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(("listed", "name"), BUNDLED, ids=[name for _, name in BUNDLED])
def test_bundled_network_builds_in_half_precision(
    listed: Listed, name: str, precision: Precision
) -> None:
    content = loaded_network(listed, name)
    request = BuildRequest(precision, "8.6", shape_ranges(content), "tensorrt-rtx")
    assert len(build_engine(content, request)) > 100_000


@needs_rtx
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["2", "t", "r"])
def test_imported_generator_builds(tmp_path: Path, kind: str, precision: Precision) -> None:
    path = tmp_path / "n.pkl"
    made = stylegan2() if kind == "2" else stylegan3(64, "t" if kind == "t" else "r")
    path.write_bytes(network_pickle(made))
    network = generator_from_file(path).network
    for content in (mapping_onnx(network.mapping, network.layers), synthesis_onnx(network)):
        request = BuildRequest(precision, "8.9", shape_ranges(content), "tensorrt-rtx")
        assert build_engine(content, request)


@needs_rtx
def test_known_capabilities_are_those_of_the_module() -> None:
    assert set(CAPABILITIES) <= set(capabilities("tensorrt-rtx"))


@needs_rtx
def test_second_build_is_there_and_one_failure_stops_no_other(tmp_path: Path) -> None:
    write_pack(tmp_path / "models" / "mine", {"synthesis.onnx": small_generator()})
    listed = list(catalogue(tmp_path / "models"))[-1]
    cache = tmp_path / "engines"
    rows = list(built(listed, ["7.5", "8.6"], ["bf16"], cache, "tensorrt-rtx"))
    assert "bf16" in rows[0].fault
    assert rows[1].nbytes > 0
    assert rows[1].seconds > 0
    again = next(iter(built(listed, ["8.6"], ["bf16"], cache, "tensorrt-rtx")))
    assert (again.path, again.seconds) == (rows[1].path, 0.0)


def test_absent_tensorrt_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(BackendMissing, match="pip install"):
        tensorrt_module()
    with pytest.raises(BackendMissing, match="NVIDIA"):
        tensorrt_module("tensorrt")


@pytest.mark.parametrize(("listed", "name"), BUNDLED, ids=[name for _, name in BUNDLED])
def test_engine_that_is_built_is_the_one_that_runs(listed: Listed, name: str) -> None:
    """The backend asks for the same network and ranges as the build, whatever the clip."""
    content = loaded_network(listed, name)
    ranges = shape_ranges(content)
    assert ranges
    for shape in ((1, 448, 768, 3), (1, 736, 1280, 3), (1, 1088, 1920, 3)):
        wanted = {"image_bgr": shape} if "image_bgr" in ranges else {}
        assert engine_request(content, "fp16", "8.6", wanted).shapes == ranges


def test_size_beyond_the_range_gets_its_own_engine() -> None:
    content = loaded_network(*BUNDLED[0])
    shape = (1, 4320, 7680, 3)
    request = engine_request(content, "fp32", "8.6", {"image_bgr": shape})
    assert request.shapes["image_bgr"].least == shape


def test_damaged_pack_is_refused(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine", {"synthesis.onnx": small_generator()})
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ModelRejected):
        list(built(list(catalogue(tmp_path))[-1], ["8.6"], ["fp32"], tmp_path))
