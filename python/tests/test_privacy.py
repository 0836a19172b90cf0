"""Calibration, profiles, composition. Numbers from outside are computed here with SciPy."""

import json
import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

import dps
from conftest import ONE, PERSON, vectors


def gaussian_delta(epsilon, mu):
    """Balle and Wang 2018, theorem 8."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussian_profile_is_the_published_one(epsilon):
    profile = dps.Profile("gaussian", sensitivity=1.0, sigma=2.0)
    assert profile.delta(epsilon) == pytest.approx(gaussian_delta(epsilon, 0.5), rel=1e-9)
    assert profile.epsilon(profile.delta(epsilon)) == pytest.approx(epsilon, rel=1e-6)
    assert math.exp(profile.ln_delta(epsilon)) == pytest.approx(profile.delta(epsilon))


def test_calibrated_noise_is_least_and_meets_its_budget():
    for epsilon, delta in [(0.5, 1e-5), (1.0, 1e-6), (8.0, 1e-9)]:
        sigma = dps.calibrate.gaussian(epsilon, delta).sigma
        assert gaussian_delta(epsilon, 1 / sigma) <= delta * (1 + 1e-9)
        assert gaussian_delta(epsilon, 1.001 / sigma) > delta


def test_every_family_meets_its_budget():
    found = [
        dps.calibrate.laplace(1, 0),
        dps.calibrate.randomized_response(1, 0),
        dps.calibrate.kary_response(1, 0, alphabet=5),
        dps.calibrate.gaussian_projection(1, 1e-6, k=8),
        dps.calibrate.range_finder(1, 1e-6, k=8),
        dps.calibrate.jl(1, 1e-6, rows=10),
        dps.calibrate.wishart(1, 1e-6, dim=3, dof=20),
        dps.calibrate.symmetric_gaussian(1, 1e-6, replace=True),
    ]
    for profile in found:
        assert profile.delta(1) <= 1.000001e-6, profile
    assert found[0].scale == pytest.approx(1.0)
    assert found[1].keep == pytest.approx(math.e / (1 + math.e))
    with pytest.raises(AttributeError):
        _ = found[0].sigma


def test_composition_of_gaussians_is_one_gaussian():
    sigma = dps.calibrate.gaussian(1, 1e-6).sigma
    profile = dps.Profile("gaussian", sensitivity=1.0, sigma=sigma)
    run = dps.Guarantee.declared(ONE, 1, 1.01e-6, profile, by="a test", reason="its noise")
    together = dps.Profile("gaussian", sensitivity=math.sqrt(10), sigma=sigma).epsilon(1e-6)
    low, high = dps.compose([(run, 10)], delta=1e-6)
    assert low <= together <= high * (1 + 1e-9) and high / low < 1.01
    assert dps.compose([(run, 4), (run, 6)], delta=1e-6, method="gdp")[1] == pytest.approx(
        together, rel=1e-6
    )
    assert dps.compose([run] * 10, delta=1.01e-5, method="basic")[1] <= 10


def test_exchange_returns_what_was_given():
    profile = dps.Profile("gaussian", sensitivity=1.0, sigma=5.0)
    given = dps.Guarantee.declared(PERSON, 1, 1e-4, profile, by="a test", reason="its noise")
    back = dps.Guarantee.from_exchange(given.to_exchange(), delta=1e-6)
    assert back.provenance["kind"] == "declared" and back.adjacency == PERSON
    assert back.epsilon == pytest.approx(profile.epsilon(1e-6), rel=1e-6)


def test_releases_are_handed_on_as_ledgers_count_them(tmp_path, rows, command):
    path, out = tmp_path / "rows.npy", tmp_path / "out.dps"
    np.save(path, rows)
    sizes = ["-k", 5, "--adjacency", "attribute", "--beta", 1, "--bound", 1000]
    common = ["release", "sketch", path, *sizes, "--epsilon", 8, "--delta", 1e-6, "--out", out]
    command(*common)
    plain = dps.Release.open(out, accept=["test-noise"]).guarantee
    assert json.loads(plain.to_exchange())["guarantee"]["kind"]
    command(*common, "--divide", 0.01, "--force")
    mapped = dps.Release.open(out, accept=["test-noise"]).guarantee
    for guarantee in [mapped, pickle.loads(pickle.dumps(mapped))]:
        with pytest.raises(dps.errors.CertificateError, match="were mapped"):
            guarantee.to_exchange()
    ledger = dps.Ledger.create(
        tmp_path / "ledger", data="rows", adjacency=ONE, epsilon=1e4, delta=1e-3
    )
    for counts in [
        ledger.check,
        lambda guarantee: ledger.declare(guarantee, label="a file"),
        lambda guarantee: dps.compose([guarantee], delta=1e-6),
        lambda guarantee: dps.compose([plain, (guarantee, 2)], delta=1e-6),
    ]:
        counts(plain)
        with pytest.raises(dps.errors.CertificateError, match="were mapped"):
            counts(mapped)
    command(*common, "--insecure-test-noise", 3, "--force")
    known = dps.Release.open(out, accept=["test-noise"]).guarantee
    for counts in [dps.Guarantee.to_exchange, lambda known: dps.compose([known], delta=1e-6)]:
        with pytest.raises(dps.errors.CertificateError, match="known number"):
            counts(known)


def test_releases_that_no_loss_distribution_can_state_are_counted(rows):
    given = vectors(noise="laplace", epsilon=1000, delta=0).release(rows).guarantee
    with pytest.raises(dps.errors.CalibrationError):
        given.to_exchange()
    assert dps.compose([(given, 2)], delta=0, method="basic")[1] == pytest.approx(2000)


def test_dp_accounting_reads_what_we_hand_on():
    pytest.importorskip("dp_accounting")
    gaussian = dps.Profile("gaussian", sensitivity=1.0, sigma=3.0)
    laplace = dps.Profile("laplace", sensitivity=1.0, scale=2.0)
    for profile in [gaussian, laplace]:
        given = dps.Guarantee.declared(ONE, 2, 0.1, profile, by="a test", reason="its noise")
        theirs = given.to_dp_accounting()
        for delta in [1e-3, 1e-6]:
            ours = profile.epsilon(delta)
            assert ours * 0.999 <= theirs.get_epsilon_for_delta(delta) <= ours * 1.02 + 0.002


def test_measurements_of_opendp_are_declared():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    pure = opendp.m.make_laplace(*space, scale=2.0)
    words = dict(by="a test", reason="its own map")
    given = dps.Guarantee.from_opendp(pure, 1.0, ONE, **words)
    assert given.epsilon == pytest.approx(0.5) and given.delta == 0
    gaussian = opendp.m.make_gaussian(*space, scale=2.0)
    given = dps.Guarantee.from_opendp(gaussian, 1.0, ONE, delta=1e-6, **words)
    assert given.profile.rho == pytest.approx(0.125) and given.provenance["kind"] == "declared"


def test_what_no_guarantee_is_made_of_is_said():
    class Measurement:
        output_measure = "Approximate(ZeroConcentratedDivergence())"

        def map(self, d_in):
            return (0.125, 1e-6)

    with pytest.raises(ValueError, match="fix a delta"):
        dps.Guarantee.from_opendp(Measurement(), 1.0, ONE, by="a test", reason="its own map")


def test_concentrated_guarantees_are_no_loss_distributions():
    pytest.importorskip("dp_accounting")
    stated = {
        "form": "dp-guarantee/1",
        "adjacency": ONE.to_dict(),
        "declared by": "a test",
        "reason": "none",
        "guarantee": {"kind": "zcdp", "rho": 0.1},
    }
    given = dps.Guarantee.from_exchange(json.dumps(stated), delta=1e-6)
    with pytest.raises(ValueError, match="zero-concentrated"):
        given.to_dp_accounting()


@pytest.mark.parametrize("epsilon, delta", [(0, 1e-6), (-1, 0.1), (1, 1), (1, -0.1), (math.nan, 0)])
def test_budgets_outside_their_range_are_refused(epsilon, delta):
    with pytest.raises(dps.errors.ParameterError) as caught:
        dps.calibrate.gaussian(epsilon, delta)
    assert caught.value.parameter and caught.value.allowed


def test_refusals_of_other_values():
    with pytest.raises(dps.errors.ParameterError) as caught:
        dps.Adjacency.attribute(beta=-1)
    assert (caught.value.value, caught.value.allowed) == ("shift = -1", "(0, inf)")
    for beta in [math.nan, math.inf, -math.inf]:
        with pytest.raises(dps.errors.ParameterError, match="beta = NaN or infinity"):
            dps.Adjacency.attribute(beta=beta)
    with pytest.raises(dps.errors.ParameterError):
        dps.Adjacency("anything")
    with pytest.raises(dps.errors.ParameterError):
        dps.Profile("gaussian", sensitivity=1.0, sigma=0.0)
    with pytest.raises(dps.errors.ParameterError):
        dps.compose([], delta=1e-6)
    with pytest.raises(dps.errors.Error):
        dps.calibrate.gaussian(1, 0)
    profile = dps.Profile("gaussian", sensitivity=1.0, sigma=0.5)
    with pytest.raises(dps.errors.CalibrationError):
        dps.Guarantee.declared(ONE, 0.1, 1e-6, profile, by="a test", reason="too little")


def test_values_are_pickled_and_compared():
    user = dps.Adjacency.user(3, dps.Adjacency.attribute(beta=np.float64(1)))
    profile = dps.calibrate.laplace(1, 0)
    for value in [user, profile]:
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(pickle.loads(pickle.dumps(value))) == hash(value)
    assert user != ONE and "3" in str(user)
    assert dps.Adjacency.user(3, dps.Adjacency.replace_row(2)).bound == 2


def test_what_is_equal_has_one_hash():
    guarantee = vectors().guarantee
    turned = dict(reversed(guarantee.to_dict().items()))
    other = dps.Guarantee(json.dumps(turned))
    assert other == guarantee and len({other, guarantee}) == 1
    whole = [dps.Profile("gaussian", sensitivity=one, sigma=2.0) for one in (1, 1.0)]
    assert whole[0] == whole[1] and len(set(whole)) == 1
