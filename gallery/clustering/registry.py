"""Every clustering algorithm by name."""

from __future__ import annotations

from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.kmember import KMemberClustering
from gallery.clustering.ksalsa import KSalsaClustering
from gallery.clustering.ksame import KSameClustering
from gallery.clustering.maxdist import MaxDistanceClustering
from gallery.clustering.mdav import MdavClustering
from gallery.clustering.oka import OkaClustering
from gallery.clustering.online import OnlineClustering
from gallery.clustering.partition import ClusteringAlgorithm
from gallery.clustering.samesize import SameSizeKMeansClustering
from gallery.clustering.shuffle import RandomClustering
from gallery.errors import UnknownAlgorithm

__all__ = ["ALGORITHMS", "algorithm_by_name"]

ALGORITHMS: tuple[ClusteringAlgorithm, ...] = (
    HierarchicalClustering("single"),
    HierarchicalClustering("complete"),
    HierarchicalClustering("average"),
    HierarchicalClustering("ward"),
    SameSizeKMeansClustering(),
    OkaClustering(),
    KSameClustering(),
    KMemberClustering(),
    KSalsaClustering(),
    MaxDistanceClustering(),
    MdavClustering(),
    OnlineClustering(),
    RandomClustering(),
)
"""All of them, with their default settings, in the order of AnonFACES Fig. 2."""


def algorithm_by_name(name: str) -> ClusteringAlgorithm:
    """The algorithm with this name.

    Raises:
        UnknownAlgorithm: there is none; the message lists the names.

    >>> algorithm_by_name("mdav").name
    'mdav'
    """
    for algorithm in ALGORITHMS:
        if algorithm.name == name:
            return algorithm
    known = ", ".join(algorithm.name for algorithm in ALGORITHMS)
    raise UnknownAlgorithm(f"no clustering is called {name!r}; choose one of {known}")
