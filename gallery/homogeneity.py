"""What the clusters of a window tell about the attributes of their people.

k hides who; it does not hide what all of a cluster share. l-diversity and t-closeness are counted
over the full clusters alone: nothing of the others is promised yet.
"""

from __future__ import annotations

import numpy as np

from gallery.buffer import Buffer
from gallery.clustering.partition import Partition
from gallery.diversity import AttributeDiversity, attribute_diversity

__all__ = ["cluster_diversity"]


def cluster_diversity(buffer: Buffer, k: int) -> dict[str, AttributeDiversity]:
    """Diversity of each attribute over the window's full clusters; empty without any.

    Args:
        buffer: a window as the log yields it.
        k: people of a full cluster.
    """
    full = [cluster for cluster in buffer.clusters.values() if len(cluster.people) >= k]
    people = [person for cluster in full for person in cluster.people]
    bins = [_parts(buffer.records[person].bin) for person in people]
    names = sorted({name for values in bins for name in values})
    if not names:
        return {}
    labels = np.repeat(np.arange(len(full)), [len(cluster.people) for cluster in full])
    partition = Partition(labels, np.arange(len(people)), k)
    return {
        name: attribute_diversity(
            partition, np.array([values.get(name, "") for values in bins], dtype=np.str_)
        )
        for name in names
    }


def _parts(attribute_bin: str) -> dict[str, str]:
    """Attributes of "name=value|name=value"."""
    return dict(part.split("=", 1) for part in attribute_bin.split("|") if "=" in part)
