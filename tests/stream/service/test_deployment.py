from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import yaml

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


def test_images_end_as_a_user_and_say_whether_they_live() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for target in ("gpu", "jetson", "cpu"):
        part = text.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER kveil" in part
    assert text.count("HEALTHCHECK") == 2
