"""What a cluster tells about an attribute even when nobody in it is singled out.

k-anonymity hides who; it does not hide what all members share. l-diversity asks for several
values in every cluster, t-closeness for roughly the values of the whole crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import Partition
from gallery.quality import Values, value_counts

__all__ = ["AttributeDiversity", "attribute_diversity", "counted_diversity"]


@dataclass(frozen=True, slots=True)
class AttributeDiversity:
    """What the worst cluster gives away about one attribute.

    Attributes:
        distinct: fewest distinct values in a cluster; 1 means that a cluster tells the value.
        effective: smallest exp(entropy in nats) of a cluster, 1…distinct; entropy l-diversity
            holds for every l up to it (Machanavajhala et al. 2006).
        distance: largest distance between a cluster's distribution and everybody's, 0…1;
            t-closeness holds for every t from it on (Li, Li, Venkatasubramanian 2007).
        unknown: share of the people whose value is not known, 0…1; they are left out.
    """

    distinct: int
    effective: float
    distance: float
    unknown: float = 0.0


def attribute_diversity(partition: Partition, values: Values) -> AttributeDiversity:
    """Measures one attribute in every cluster, counting people.

    Args:
        partition: the clustering.
        values: (n,) one value per row; a person's is that of the first row.

    Raises:
        EmbeddingsRejected: the numbers of rows differ.

    >>> partition = Partition(np.array([0, 0, 1, 1]), np.arange(4), 2)
    >>> attribute_diversity(partition, np.array(["f", "m", "f", "f"]))
    AttributeDiversity(distinct=1, effective=1.0, distance=0.25, unknown=0.0)
    """
    return counted_diversity(value_counts(partition, values))


def counted_diversity(counts: NDArray[np.float64]) -> AttributeDiversity:
    """`attribute_diversity` of counted people.

    Args:
        counts: (n_clusters, distinct values) people of each cluster with each value; nobody
            lacks one, and no cluster is empty.
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    everybody = counts.sum(axis=0) / counts.sum()
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return AttributeDiversity(
        distinct=int((shares > 0).sum(axis=1).min()),
        effective=float(np.exp(np.abs((shares * logs).sum(axis=1))).min()),
        distance=float((np.abs(shares - everybody).sum(axis=1) / 2).max()),
    )
