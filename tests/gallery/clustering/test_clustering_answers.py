"""Small cases worked out by hand, one or two per algorithm."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from gallery.clustering.dendrogram import dendrogram_from_linkage
from gallery.clustering.hierarchical import HierarchicalClustering, Linkage, merge_tree
from gallery.clustering.kmember import KMemberClustering
from gallery.clustering.ksalsa import KSalsaClustering
from gallery.clustering.ksame import KSameClustering
from gallery.clustering.maxdist import MaxDistanceClustering
from gallery.clustering.mdav import MdavClustering
from gallery.clustering.oka import OkaClustering
from gallery.clustering.partition import Partition, balanced_sizes, partition_people
from gallery.clustering.samesize import SameSizeKMeansClustering
from gallery.clustering.shuffle import RandomClustering
from gallery.errors import PartitionBroken

pytestmark = pytest.mark.unit

LINE = np.array([[0.0], [1.0], [2.1], [3.3], [10.0], [11.05], [20.0]], np.float32)


def squared_error(rows: NDArray[np.float32], partition: Partition) -> float:
    return sum(
        float(((rows[members] - rows[members].mean(axis=0)) ** 2).sum())
        for members in map(partition.members, range(partition.n_clusters))
    )


def test_ksalsa_starts_from_the_outlier_with_the_largest_mean_distance() -> None:
    # 20 takes 11.05; of the rest 10 is farthest on average and takes 3.3.
    labels = KSalsaClustering().partition(LINE, 2, 0).labels
    assert labels.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_mdav_takes_both_ends() -> None:
    # 20 is farthest from the mean and takes 11.05; 0 is farthest from 20 and takes 1.
    labels = MdavClustering().partition(LINE, 2, 0).labels
    assert labels.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_maximum_distance_starts_next_at_the_farthest_from_earlier_starts() -> None:
    # Starts 20, then 0, then 10 (7 from 0's start is less than 10's 10): fewer than 2k left.
    rows = np.array([[0.0], [1.0], [9.0], [10.0], [20.0], [21.0], [4.0], [5.0]], np.float32)
    # 21 takes 20; 0 takes 1; 10 is now farther from both starts than 4, 5 and 9: takes 9.
    labels = MaxDistanceClustering().partition(rows, 2, 0).labels
    assert labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_kmember_starts_far_from_the_last_start_and_deals_out_the_rest() -> None:
    # From 20: {20, 11.05}, {0, 1}, {10, 3.3}, and 2.1 joins {0, 1}. From 0: {0, 1},
    # {20, 11.05}, {2.1, 3.3}, and 10 joins {20, 11.05}, whose centroid is nearer.
    seen = {tuple(KMemberClustering().partition(LINE, 2, s).labels.tolist()) for s in range(12)}
    assert seen == {(0, 0, 0, 1, 1, 2, 2), (0, 0, 1, 1, 2, 2, 2)}


def test_kmember_grows_towards_the_centroid_not_the_start() -> None:
    # From 0: after 4 the centroid is 2 and 7.5 costs less than -5; nearest to 0 would be -5.
    rows = np.array([[0.0], [4.0], [7.5], [-6.0], [1e6], [1e6 + 1], [1e6 + 2]], np.float32)
    partition = KMemberClustering().partition(rows, 3, 0)
    assert partition.labels.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_ksame_takes_a_face_and_its_nearest_in_seeded_order() -> None:
    rows = np.array([[0.0], [1.0], [5.0], [6.0], [50.0], [51.0]], np.float32)
    for seed in range(6):
        assert KSameClustering().partition(rows, 2, seed).labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_ksame_keeps_the_chosen_face_among_identical_ones() -> None:
    partition = KSameClustering().partition(np.zeros((9, 2), np.float32), 2, 5)
    assert sorted(partition.sizes.tolist()) == [2, 2, 2, 3]


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_hierarchy_gives_the_lowest_of_the_largest_subtree(linkage: Linkage) -> None:
    # Sizes 3, 2, 2. Cut in three: {0, 1, 2.1, 3.3} is largest.
    partition = HierarchicalClustering(linkage).partition(LINE, 2, 0)
    assert sorted(partition.sizes.tolist()) == [2, 2, 3]
    assert partition.labels[0] == partition.labels[1]
    assert partition.labels[4] == partition.labels[5]


def test_single_linkage_leaves_the_outlier_to_the_last_cluster() -> None:
    # {0, 1, 2.1} leave first; then {3.3, 10, 11.05} is largest and gives its lowest, 10 and
    # 11.05; 3.3 and 20 remain.
    labels = HierarchicalClustering("single").partition(LINE, 2, 0).labels
    assert labels.tolist() == [0, 0, 0, 1, 2, 2, 1]


PAPER_LOSES = {3: {4, 5, 8}, 5: {6, 7, 8, 9, 12, 13, 14, 18, 19, 24}}


@pytest.mark.parametrize("k", [3, 5])
def test_sizes_add_up_where_algorithm_1_as_printed_loses_people(k: int) -> None:
    printed = {n: (n // k) * k + n % (n // k) for n in range(k, 8 * k)}
    assert {n for n, dealt in printed.items() if dealt != n} == PAPER_LOSES[k]
    assert all(sum(balanced_sizes(n, k)) == n for n in printed)


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize(("k", "n"), [(k, n) for k, cases in PAPER_LOSES.items() for n in cases])
def test_nobody_is_lost_where_algorithm_1_as_printed_loses_people(
    k: int, n: int, linkage: Linkage
) -> None:
    rows = np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32)
    partition = HierarchicalClustering(linkage).partition(rows, k, 0)
    m = n // k
    assert sorted(partition.sizes.tolist(), reverse=True) == balanced_sizes(n, k)
    assert set(partition.sizes.tolist()) <= {n // m, n // m + 1}


def test_cut_tree_agrees_with_a_cut_by_height() -> None:
    rows = np.random.default_rng(2).normal(size=(40, 3))
    tree = dendrogram_from_linkage(merge_tree(rows, "average"))
    top = tree.largest_subtree(8)
    from scipy.cluster.hierarchy import fcluster

    labels = fcluster(merge_tree(rows, "average"), 8, criterion="maxclust")
    assert tree.size(top) == np.bincount(labels).max()


@settings(max_examples=40)
@given(seed=st.integers(0, 9999), leaves=st.integers(5, 30), pruned=st.integers(0, 3))
def test_cut_of_a_pruned_tree_agrees_with_merging_step_by_step(
    seed: int, leaves: int, pruned: int
) -> None:
    random = np.random.default_rng(seed)
    merges = merge_tree(random.normal(size=(leaves, 2)), "average")
    gone = random.permutation(leaves)[:pruned]
    count = int(random.integers(1, leaves - pruned))
    tree = dendrogram_from_linkage(merges)
    tree.prune(gone.astype(np.intp))
    assert tree.size(tree.largest_subtree(count)) == largest_by_steps(merges, gone, count)


def largest_by_steps(merges: NDArray[np.float64], gone: NDArray[np.integer], count: int) -> int:
    """Largest cluster once `count` are left, merging the living leaves one step at a time."""
    leaves = len(merges) + 1
    nodes = [set() if leaf in gone else {leaf} for leaf in range(leaves)]
    clusters = [node for node in nodes if node]
    for left, right in merges[:, :2].astype(int).tolist():
        nodes.append(nodes[left] | nodes[right])
        if nodes[left] and nodes[right] and len(clusters) > count:
            clusters = [c for c in clusters if not c <= nodes[-1]] + [nodes[-1]]
    return max(map(len, clusters))


def test_pruned_tree_forgets_merges_with_an_emptied_side() -> None:
    tree = dendrogram_from_linkage(
        np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 9.0, 4]], np.float64)
    )
    tree.prune(np.array([2, 3]))
    assert tree.size(tree.largest_subtree(1)) == 2
    assert tree.lowest_leaves(6, 2).tolist() == [0, 1]


def test_oka_deals_the_outermost_of_a_crowded_cluster_to_a_short_one() -> None:
    # Eight near 0 and two at 100: a cluster that starts at 100 gets three from the crowd.
    rows = np.concatenate([np.arange(8.0), [100.0, 101.0]])[:, None].astype(np.float32)
    results = [OkaClustering().partition(rows, 5, seed) for seed in range(20)]
    assert {tuple(result.sizes.tolist()) for result in results} == {(5, 5)}
    together = [result.labels[8] == result.labels[9] for result in results]
    assert any(together)
    for result, is_together in zip(results, together, strict=True):
        if is_together and set(result.labels[:8].tolist()) == {0, 1}:
            assert np.bincount(result.labels[:8]).min() == 3


def test_same_size_kmeans_only_lowers_the_squared_error() -> None:
    rows = np.random.default_rng(5).normal(size=(90, 4)).astype(np.float32)
    errors = [
        squared_error(rows, SameSizeKMeansClustering(max_rounds=rounds).partition(rows, 6, 1))
        for rounds in range(8)
    ]
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < 0.9 * errors[0]


def test_same_size_kmeans_keeps_sizes_within_one() -> None:
    rows = np.random.default_rng(5).normal(size=(47, 2)).astype(np.float32)
    sizes = SameSizeKMeansClustering().partition(rows, 5, 3).sizes
    assert set(sizes.tolist()) <= {5, 6}


@pytest.mark.parametrize(
    "algorithm",
    [
        HierarchicalClustering("ward"),
        KMemberClustering(),
        KSalsaClustering(),
        KSameClustering(),
        MaxDistanceClustering(),
        MdavClustering(),
        OkaClustering(),
        SameSizeKMeansClustering(),
    ],
    ids=lambda one: one.name,
)
def test_any_rule_that_looks_at_faces_beats_random_groups(
    algorithm: MdavClustering | HierarchicalClustering,
) -> None:
    random = np.random.default_rng(11)
    crowds = np.repeat(random.normal(size=(12, 8)) * 4, 7, axis=0)
    rows = (crowds + random.normal(size=(84, 8))).astype(np.float32)
    guess = squared_error(rows, RandomClustering().partition(rows, 6, 0))
    assert squared_error(rows, algorithm.partition(rows, 6, 0)) < 0.6 * guess


def test_people_are_averaged_before_they_are_compared() -> None:
    # The second person's two pictures lie at -9 and 11: on average beside the first.
    rows = np.array([[0.0], [-9.0], [11.0], [40.0], [41.0]], np.float32)
    persons = np.array([7, 3, 3, 9, 1])
    assert MdavClustering().partition(rows, 2, 0, persons).labels.tolist() == [0, 0, 0, 1, 1]


def test_a_rule_that_drops_a_person_is_caught() -> None:
    rows = np.zeros((4, 1), np.float32)
    with pytest.raises(PartitionBroken, match="lost or repeated"):
        partition_people(lambda points, k, random: [np.arange(3)], rows, 2, 0)


def test_a_rule_that_makes_a_small_cluster_is_caught() -> None:
    rows = np.zeros((4, 1), np.float32)
    with pytest.raises(PartitionBroken, match="1 to 3 people, not 2 to 3"):
        partition_people(lambda points, k, random: [np.arange(3), np.array([3])], rows, 2, 0)


def test_a_partition_that_splits_a_person_cannot_be_made() -> None:
    with pytest.raises(PartitionBroken, match="two clusters"):
        Partition(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), k=1)


def test_identical_rows_are_equally_far_from_everything() -> None:
    rows = np.repeat(np.random.default_rng(0).normal(size=(1, 128)), 9, axis=0)
    assert pdist(rows).max() == 0
    assert MdavClustering().partition(rows.astype(np.float32), 3, 0).labels.tolist() == [
        0, 0, 0, 1, 1, 1, 2, 2, 2,
    ]  # fmt: skip
