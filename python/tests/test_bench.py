"""The scripts of `python/bench`, at tiny sizes: they run, and count what they say."""

import os
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.mark.skipif(os.name != "posix", reason="limits times by a signal")
def test_side_by_side():
    pytest.importorskip("sklearn")
    import side_by_side

    lines = side_by_side.table(1, small=True)
    ours = [line for line in lines if "| dps |" in line]
    assert len(ours) == 3 and all(len(line.split("|")) == 7 for line in lines)
    assert side_by_side.lines_of(side_by_side.regression_sklearn) == 2
    private = [float(line.split("|")[4]) for line in ours]
    assert all(error > 0 for error in private)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_speed():
    import speed

    tasks = {(name, form): run for name, form, run in speed.tasks(70, 8, 8)}
    assert {name for name, _ in tasks} == {
        "oporp",
        "gaussian",
        "signs",
        "covariance",
        "search",
        "hamming",
    }
    for run in tasks.values():
        run()
    assert speed.processor(os.getpid()) > 0
