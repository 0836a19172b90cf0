"""The audit catches what is broken and never refutes what holds."""

import math

import numpy as np
import pytest

import dps

LAPLACE = np.random.default_rng(5)


def noisy(scale):
    return lambda data: sum(data) + LAPLACE.laplace(scale=scale)


def test_a_true_claim_stands_and_the_bound_is_near_it():
    found = dps.audit(noisy(1.0), [0, 0], [0, 1], runs=20_000)
    assert 0.7 < found.epsilon <= 1.0 and not found.refutes(1.0)


def test_a_broken_twin_is_caught():
    found = dps.audit(noisy(0.5), [0, 0], [0, 1], runs=20_000)
    assert found.refutes(1.0) and found.epsilon <= 2.0


def test_delta_and_scores_are_counted():
    def leaks(data):
        return 1 if data[0] and LAPLACE.random() < 0.1 else 0

    assert dps.audit(leaks, [0], [1], runs=4000).epsilon > 1
    assert dps.audit(leaks, [0], [1], runs=4000, delta=0.2).epsilon == 0
    found = dps.audit(lambda d: [0, d[0]], [0], [1], runs=400, score=lambda a: a[1])
    assert found.epsilon > 3


def test_no_number_is_an_answer_too():
    broken = lambda data: math.nan if LAPLACE.random() < 0.001 else noisy(0.5)(data)  # noqa: E731
    assert dps.audit(broken, [0, 0], [0, 1], runs=20_000).refutes(1.0)
    for none in (math.nan, math.inf, -math.inf):
        leak = lambda data, none=none: none if data[0] else -1.0  # noqa: E731
        assert dps.audit(leak, [0], [1], runs=400).epsilon > 3
        assert dps.audit(leak, [1], [0], runs=400).epsilon > 3
    assert dps.audit(lambda data: math.nan, [0], [1], runs=400).epsilon == 0


def test_our_own_mechanism_is_not_refuted():
    one = dps.Adjacency.attribute(beta=1)
    mechanism = dps.Vectors(
        d=1, k=1, adjacency=one, bound=1, epsilon=1, delta=1e-3, family="identity", seed=1
    )
    run = lambda x: mechanism.release(np.array([[x]])).to_numpy()[0, 0]  # noqa: E731
    found = dps.audit(run, 0.0, 1.0, runs=3000, delta=1e-3)
    assert found.epsilon <= 1


@pytest.mark.parametrize("wrong", [dict(delta=1), dict(runs=3), dict(confidence=1.0)], ids=str)
def test_parameters(wrong):
    with pytest.raises(dps.errors.ParameterError):
        dps.audit(noisy(1.0), [0], [1], **wrong)


def test_limits_of_rates_are_those_of_scipy():
    from scipy.stats import beta

    for hits, runs, alarm in [(0, 10, 0.01), (3, 10, 0.05), (500, 1000, 1e-6), (10, 10, 0.1)]:
        low, high = dps._dps.rate_limits(hits, runs, alarm)
        expected = beta.ppf(alarm, hits, runs - hits + 1) if hits else 0
        assert low == pytest.approx(expected, rel=1e-7, abs=1e-12)
        expected = beta.isf(alarm, hits + 1, runs - hits) if hits < runs else 1
        assert high == pytest.approx(expected, rel=1e-7)
