"""Estimators of scikit-learn, paid from a ledger."""

import numpy as np

import dps

try:
    from dps.sklearn import PrivatePCA, PrivateProjection
except ImportError:
    print("scikit-learn is not installed")
else:
    rows = np.random.default_rng(0).uniform(-1, 1, (1000, 16)) / 4
    person = dps.Adjacency.replace_row(bound=1)
    ledger = dps.Ledger.create("budget", data="rows", adjacency=person, epsilon=5, delta=1e-5)
    common = dict(adjacency=person, epsilon=2, delta=1e-6, ledger=ledger)
    projection = PrivateProjection(4, bound=1, random_state=0, **common).fit(rows)
    assert np.array_equal(projection.transform(rows), projection.transform(rows))
    print(PrivatePCA(2, **common).fit(rows).explained_)
    print(ledger)
