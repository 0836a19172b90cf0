"""A sketch of rows, its certificate, a distance: thirty lines."""

import numpy as np

import dps

rows = np.random.default_rng(0).uniform(-1, 1, (500, 32))
one_value = dps.Adjacency.attribute(beta=2)
mechanism = dps.Vectors(d=32, k=16, adjacency=one_value, bound=1, epsilon=8, delta=1e-6)
release = mechanism.release(rows)
print(release, release.verify())
truth = ((rows[0] - rows[1]) ** 2).sum()
estimate = release.distance(0, 1, measure="squared distance")
print(f"squared distance {estimate.value:.2f} +- {estimate.standard_error:.2f}; truth {truth:.2f}")
