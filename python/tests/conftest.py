"""What tests share: public rows, and the mechanisms' parameters."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dps

ONE = dps.Adjacency.attribute(beta=1)
PERSON = dps.Adjacency.replace_row(bound=1)


@pytest.fixture
def rows():
    """200 rows of 12 numbers in [-1, 1], of norm at most one."""
    values = np.random.default_rng(7).uniform(-1, 1, (200, 12))
    return values / np.maximum(1, np.linalg.norm(values, axis=1, keepdims=True)) * 0.999


def vectors(**changed):
    parameters = dict(d=12, k=5, adjacency=ONE, bound=1, epsilon=8, delta=1e-6, seed=3)
    return dps.Vectors(**{**parameters, **changed})


@pytest.fixture
def command():
    """Runs the command line `dps`."""
    binary = os.environ.get("DPS_BINARY")
    if binary is None or not Path(binary).exists():
        pytest.skip("DPS_BINARY names no command line")

    def run(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
