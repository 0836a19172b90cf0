"""Signatures of item sets, and their similarity."""

import dps

sets = [["a", "b", "c", f"{i}"] for i in range(50)]
adjacency = dps.Adjacency.set_items(alpha=1, min_size=4)
release = dps.Sets(k=400, adjacency=adjacency, epsilon=4, delta=1e-6).release(sets)
print(release.distance(0, 1, measure="jaccard similarity"))
