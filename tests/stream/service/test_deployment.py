from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest
import yaml

from config.service import ServiceSettings
from config.service_loading import load_service
from config.settings import Settings

pytestmark = pytest.mark.unit
ROOT = Path(__file__).resolve().parents[3]
Tree = dict[str, object]


def read(name: str) -> list[Tree]:
    return cast(list[Tree], list(yaml.safe_load_all((ROOT / name).read_text())))


def dig(tree: object, *path: str | int) -> object:
    for step in path:
        tree = cast(dict[str | int, object], tree)[step]
    return tree


def test_compose_runs_kveil_without_rights_it_does_not_need() -> None:
    kveil = dig(read("compose.yaml")[0], "services", "kveil")
    assert dig(kveil, "read_only") is True
    assert dig(kveil, "cap_drop") == ["ALL"]
    assert str(dig(kveil, "user")).startswith("10001")
    assert str(dig(kveil, "ports", 0)).startswith("127.0.0.1:")


def test_redis_is_reached_by_kveil_alone_and_writes_nothing() -> None:
    redis = dig(read("compose.yaml")[0], "services", "redis")
    assert dig(redis, "networks") == ["inside"]
    assert "ports" not in cast(Tree, redis)
    assert dig(read("compose.yaml")[0], "networks", "inside", "internal") is True
    assert "--appendonly" in cast(list[str], dig(redis, "command"))


def test_pods_run_as_nobody_with_a_read_only_root() -> None:
    pods = [one for one in read("deploy/kubernetes.yaml") if one["kind"] == "Deployment"]
    assert len(pods) == 2
    for pod in pods:
        spec = dig(pod, "spec", "template", "spec")
        assert dig(spec, "securityContext", "runAsNonRoot") is True
        assert dig(spec, "automountServiceAccountToken") is False
        container = dig(spec, "containers", 0, "securityContext")
        assert dig(container, "readOnlyRootFilesystem") is True
        assert dig(container, "allowPrivilegeEscalation") is False


def test_every_container_of_the_pods_is_probed_and_bounded() -> None:
    for pod in (one for one in read("deploy/kubernetes.yaml") if one["kind"] == "Deployment"):
        for container in cast(list[Tree], dig(pod, "spec", "template", "spec", "containers")):
            assert "memory" in cast(Tree, dig(container, "resources", "limits"))
            assert {"livenessProbe", "readinessProbe"} <= container.keys()


def environment_of_the_pod() -> dict[str, object]:
    pod = next(one for one in read("deploy/kubernetes.yaml") if one["kind"] == "Deployment")
    given = cast(list[Tree], dig(pod, "spec", "template", "spec", "containers", 0, "env"))
    return {str(one["name"]): one.get("value") for one in given}


def test_redis_is_shared_by_all_that_run_and_its_keys_come_from_outside() -> None:
    compose = cast(Tree, dig(read("compose.yaml")[0], "services", "kveil", "environment"))
    for given in (compose, environment_of_the_pod()):
        texts = {name: str(value) for name, value in given.items() if value is not None}
        texts.pop("KVEIL_GALLERY_KEYS", None)
        settings = load_service(None, texts)
        assert settings.anonymize.gallery.redis_url.get_secret_value() == "redis://redis:6379/0"
        assert settings.anonymize.gallery.session
    assert str(compose["KVEIL_GALLERY_KEYS"]).startswith("${KVEIL_GALLERY_KEYS:?")
    assert environment_of_the_pod()["KVEIL_GALLERY_KEYS"] is None  # from a secret


def test_every_variable_that_is_set_is_one_that_is_read() -> None:
    known = {*ServiceSettings.model_fields, *Settings.model_fields}
    for name in environment_of_the_pod():
        if name != "KVEIL_GALLERY_KEYS":
            assert name.removeprefix("KVEIL_").lower().split("__")[0] in known


def test_manifests_hold_to_the_schemas_of_kubernetes() -> None:
    validator = pytest.importorskip(
        "kubernetes_validate", reason="pip install kubernetes-validate for the schemas"
    )
    for one in read("deploy/kubernetes.yaml"):
        validator.validate(one, "1.30", strict=True)


@pytest.mark.parametrize("name", ["compose.yaml", "deploy/compose.gpu.yaml"])
def test_compose_files_hold_to_the_specification_of_compose(name: str) -> None:
    models = pytest.importorskip(
        "compose_spec.models", reason="pip install compose-spec for the specification"
    )
    assert models.ComposeSpecification(**read(name)[0]).services


def test_unit_of_systemd_holds_to_what_systemd_knows() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze")
    told = subprocess.run(
        [program, "verify", str(ROOT / "deploy" / "kveil.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [
        line for line in told.stderr.splitlines() if "/opt/kveil/bin/kveil is not exec" not in line
    ]
    assert not [line for line in complaints if "kveil.service" in line]


def test_images_end_as_a_user_and_say_whether_they_live() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for target in ("gpu", "jetson", "cpu"):
        part = text.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER kveil" in part
    assert text.count("HEALTHCHECK") == 2
