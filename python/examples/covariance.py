"""Second moments, principal components, and a window over a stream."""

import numpy as np

import dps

rows = np.random.default_rng(0).normal(size=(5000, 4)) * [0.5, 0.2, 0.1, 0.1]
person = dps.Adjacency.replace_row(bound=1)
release = dps.Covariance(d=4, adjacency=person, epsilon=1, delta=1e-6).release(rows)
print(release.pca(2))

row = dps.Adjacency.zero_row(bound=1)
stream = dps.Window(d=4, window=1024, adjacency=row, epsilon=1, delta=1e-6).stream()
for part in np.array_split(rows, 10):
    stream.push(part)
print(stream.release().span)
