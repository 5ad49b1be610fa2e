"""AnonFACES Figs 2 and 3 on real faces: the order of the algorithms, not the paper's numbers."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from engines.backends.openvino import OpenVino
from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.kmember import KMemberClustering
from gallery.clustering.ksame import KSameClustering
from gallery.clustering.shuffle import RandomClustering
from gallery.embedding import embedder_from_models
from gallery.faces import FaceSet, faces_from_pictures, pictures_in_folder
from gallery.quality import cluster_quality
from gallery.tuning import Judge, sweep
from tests.archives import unpack

pytestmark = pytest.mark.data

PEOPLE = 160


@pytest.fixture(scope="module")
def faces(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    archive = shared_data / "lfw" / "lfw.tar"
    network = shared_data / "models" / "mobilefacenet_w128.onnx"
    if not archive.is_file() or not network.is_file():
        pytest.skip("needs lfw/lfw.tar and models/mobilefacenet_w128.onnx in ../shared/data")
    folder = tmp_path_factory.mktemp("lfw")
    with tarfile.open(archive) as tar:
        firsts = [m for m in tar if m.isfile() and m.name.endswith("_0001.webp")]
        unpack(tar, firsts[:PEOPLE], folder)
    pictures = pictures_in_folder(folder, one_each=True)
    return faces_from_pictures(pictures, embedder_from_models(OpenVino(threads=2), network))


def test_every_portrait_is_embedded_at_unit_length(faces: FaceSet) -> None:
    assert faces.skipped <= PEOPLE // 50
    assert np.allclose(np.linalg.norm(faces.embeddings, axis=1), 1, atol=1e-4)


def test_hierarchical_partitioning_beats_knn_and_random_within_clusters(faces: FaceSet) -> None:
    algorithms = (
        HierarchicalClustering("average"),
        HierarchicalClustering("ward"),
        KMemberClustering(),
        KSameClustering(),
        RandomClustering(),
    )
    rows = {
        a.name: cluster_quality(
            faces.embeddings, a.partition(faces.embeddings, 10, 0, faces.persons)
        )
        for a in algorithms
    }
    for name in ("hierarchical-average", "hierarchical-ward", "k-member"):
        assert rows[name].mean_distance < rows["k-same"].mean_distance
        assert rows[name].silhouette > rows["k-same"].silhouette
        assert rows[name].information_loss < rows["random"].information_loss
    assert rows["k-same"].mean_distance < rows["random"].mean_distance


def test_a_mean_of_five_members_matches_nearly_all_of_them(faces: FaceSet) -> None:
    (point,) = sweep(faces, (5,), HierarchicalClustering(), 0, Judge(faces.embeddings, 0.35))
    assert point.match_rate > 0.9
    assert point.rank_one_rate <= 1 / 5
