"""Plans are those of the command line, and build what they speak of."""

import json

import numpy as np
import pytest

import dps
from conftest import ONE, PERSON

ROWS = dict(n=100, d=64, adjacency=ONE, epsilon=2, delta=1e-6, squared_distance=40.0)
ITEMS = dps.Adjacency.set_items(alpha=1, min_size=20)
SETS = dict(adjacency=ITEMS, epsilon=4, delta=1e-4, size=31, near=0.28, far=0.04, returned=0.034)


def test_plans_of_rows_are_sorted_and_their_mechanisms_predict_the_same():
    for changed in [{}, {"delta": 0}, {"adjacency": PERSON}, {"low": 0, "high": 1}, {"bits": True}]:
        plans = dps.plan.distances(**{**ROWS, **changed})
        errors = [plan.standard_error for plan in plans]
        assert errors == sorted(errors) and len(plans) >= 3
        for plan in plans:
            mechanism = plan.mechanism()
            delta = 0 if plan.method == "flipped bits" else changed.get("delta", 1e-6)
            assert mechanism.guarantee.epsilon == 2 and mechanism.guarantee.delta == delta
            if isinstance(mechanism, dps.Vectors):
                # Of a whole row another seed has another sensitivity.
                near = 1e-9 if mechanism.guarantee.adjacency == ONE else 0.3
                assert mechanism.predict(40.0) == pytest.approx(plan.standard_error, rel=near)
    methods = {plan.method for plan in dps.plan.distances(**ROWS, bits=True)}
    assert {"projection", "flipped bits", "several scales", "noise on distances"} <= methods
    assert "flipped bits" not in {p.method for p in dps.plan.distances(**ROWS, low=0, high=1)}


def test_the_best_plan_errs_as_it_says():
    """400 distances from one release: their root mean square error has a spread of 5 % or so; half is 10 away."""
    rows = np.random.default_rng(4).uniform(-1, 1, (800, 64))
    truth = ((rows[::2] - rows[1::2]) ** 2).sum(axis=1)
    best = dps.plan.distances(**{**ROWS, "n": 800, "squared_distance": float(truth.mean())})[0]
    release = best.mechanism(seed=3).release(rows)
    found = [release.distance(i, i + 1, measure="squared distance").value for i in range(0, 800, 2)]
    error = float(np.sqrt(np.mean((np.array(found) - truth) ** 2)))
    assert 0.5 * best.standard_error < error < 1.5 * best.standard_error


def test_an_epsilon_for_an_error():
    facts = {name: value for name, value in ROWS.items() if name != "epsilon"}
    error = dps.plan.distances(**ROWS)[0].standard_error
    assert dps.plan.epsilon_for_error(error, **facts) == pytest.approx(2, rel=0.011)
    assert dps.plan.epsilon_for_error(1e-9, **facts) is None
    with pytest.raises(dps.errors.ParameterError):
        dps.plan.epsilon_for_error(0, **facts)


def test_plans_are_those_of_the_command_line(command):
    facts = ["--rows", 100, "--features", 64, "--adjacency", "attribute", "--beta", 1, "--epsilon", 2]
    facts += ["--delta", 1e-6, "--low=-1", "--high", 1, "--squared-distance", 40]
    said = json.loads(command("plan", "vectors", *facts, "--json"))["methods"]
    ours = dps.plan.distances(**ROWS)
    assert [row["standard_error"] for row in said] == pytest.approx([p.standard_error for p in ours])
    facts = ["--epsilon", 4, "--delta", 1e-4, "--alpha", 1, "--min-size", 20, "--size", 31]
    facts += ["--near", 0.28, "--far", 0.04, "--returned", 0.034]
    said = json.loads(command("plan", "sets", *facts, "--json"))["plans"]
    for row in said:
        plan = dps.plan.sets(**SETS, aim=row["best_for"])
        assert (plan.kind, plan.k, plan.symbols) == (row["mechanism"], row["k"], row["symbols"])
        assert plan.recall == pytest.approx(row["recall"])
        assert plan.mechanism().guarantee.epsilon == 4


LOW_RANK = dict(n=1000, d=400, rank=20, row_bound=1e4, epsilon=1, delta=1e-6)


@pytest.mark.parametrize("changed", [{}, dict(d=150), dict(rank=3), dict(n=60, rank=4)], ids=str)
def test_the_default_sketch_of_a_low_rank_release_is_that_of_the_plan(command, changed):
    facts = {**LOW_RANK, **changed}
    options = ["--rows", facts["n"], "--features", facts["d"], "--adjacency", "row-shift", "--shift", 1]
    for name in ("rank", "row_bound", "epsilon", "delta"):
        options += [f"--{name.replace('_', '-')}", facts[name]]
    said = json.loads(command("plan", "low-rank", *options, "--json"))["methods"]
    (planned,) = [row for row in said if row["method"].startswith("find and project")]
    ours = dps.LowRank(adjacency=dps.Adjacency.row_shift(1), **facts)
    assert ours.predict() == pytest.approx(planned["error"], rel=1e-9)


@pytest.mark.parametrize("changed, columns", [({}, 333), (dict(d=150), 150), (dict(rank=3), 60)], ids=str)
def test_the_default_sketch_of_a_low_rank_release_is_the_recommended_one(changed, columns):
    facts = {**LOW_RANK, "adjacency": dps.Adjacency.row_shift(1), **changed}
    default = dps.LowRank(**facts)
    assert default.predict() == dps.LowRank(oversampling=columns - facts["rank"], **facts).predict()
    assert default.predict() < dps.LowRank(oversampling=10, **facts).predict()
    with pytest.raises(dps.errors.ParameterError, match="oversampling"):
        dps.LowRank(oversampling=1, **facts)


@pytest.mark.parametrize(
    "changed",
    [
        dict(n=1),
        dict(d=0),
        dict(squared_distance=0),
        dict(epsilon=-1),
        dict(adjacency=dps.Adjacency.zero_row(1)),
        dict(low=1, high=0),
        dict(low=float("nan")),
    ],
    ids=str,
)
def test_senseless_facts_of_rows_are_refused(changed):
    with pytest.raises(dps.errors.ParameterError):
        dps.plan.distances(**{**ROWS, **changed})


@pytest.mark.parametrize(
    "changed",
    [dict(near=0.01), dict(size=3), dict(positions=0), dict(aim="speed"), dict(adjacency=ONE)],
    ids=str,
)
def test_senseless_facts_of_sets_are_refused(changed):
    with pytest.raises(dps.errors.ParameterError):
        dps.plan.sets(**{**SETS, **changed})
