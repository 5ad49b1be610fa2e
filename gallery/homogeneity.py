"""What the clusters of a window tell about the attributes of their people.

k hides who; it does not hide what all of a cluster share. l-diversity and t-closeness are counted
over the full clusters alone: nothing of the others is promised yet. Whose value is not known is
left out: not to know is no value that would hide another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gallery.buffer import Buffer
from gallery.diversity import AttributeDiversity, counted_diversity

__all__ = ["cluster_diversity"]


def cluster_diversity(buffer: Buffer, k: int) -> dict[str, AttributeDiversity]:
    """Diversity of each attribute over the window's full clusters; empty without any.

    Clusters in which an attribute is known of nobody tell nothing of it and do not count.

    Args:
        buffer: a window as the log yields it.
        k: people of a full cluster.
    """
    full = [
        [_parts(buffer.records[person].bin) for person in cluster.people]
        for cluster in buffer.clusters.values()
        if len(cluster.people) >= k
    ]
    names = sorted({name for people in full for values in people for name in values})
    return {
        name: _diversity([[values.get(name, "") for values in people] for people in full])
        for name in names
    }


def _diversity(clusters: Sequence[Sequence[str]]) -> AttributeDiversity:
    """Of the values in each cluster, "" where unknown; somebody's is known."""
    known = [values for cluster in clusters if (values := [one for one in cluster if one])]
    kinds = sorted({one for values in known for one in values})
    counts = [[values.count(kind) for kind in kinds] for values in known]
    total = sum(len(cluster) for cluster in clusters)
    unknown = 1 - sum(len(values) for values in known) / total
    return replace(counted_diversity(np.array(counts, np.float64)), unknown=unknown)


def _parts(attribute_bin: str) -> dict[str, str]:
    """Attributes of "name=value|name=value" that have a value."""
    pairs = (part.split("=", 1) for part in attribute_bin.split("|") if "=" in part)
    return {name: value for name, value in pairs if value}
