"""The estimators are scikit-learn's kind, and pay once for a batch."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import dps  # noqa: E402
import dps.sklearn as estimators  # noqa: E402
from conftest import ONE, PERSON  # noqa: E402

WIDE = dps.Adjacency.attribute(beta=1)
BUDGET = dict(epsilon=8, delta=1e-6)
FAR = dps.Adjacency.replace_row(bound=1e4)

ALL = {
    "projection": (
        estimators.PrivateProjection(adjacency=WIDE, bound=1e6, **BUDGET),
        {
            "check_estimators_pickle": "a pickle drops what was remembered, so that it releases anew",
        },
    ),
    "signs": (
        estimators.PrivateSigns(1, adjacency=WIDE, bound=1e6, epsilon=8, delta=0),
        {
            "check_estimators_pickle": "a pickle drops what was remembered, so that it releases anew",
        },
    ),
    "covariance": (estimators.PrivateCovariance(adjacency=FAR, **BUDGET), {}),
    "pca": (estimators.PrivatePCA(1, adjacency=FAR, **BUDGET), {}),
    "regression": (
        estimators.PrivateRegression(adjacency=FAR, **BUDGET),
        {
            "check_regressor_data_not_an_array": "two objects release with two noises",
            "check_regressors_int": "two objects release with two noises",
        },
    ),
}


@pytest.mark.parametrize("name", ALL)
def test_the_checks_of_scikit_learn(name):
    estimator, exceptions = ALL[name]
    results = check_estimator(
        estimator, expected_failed_checks=exceptions, on_skip=None, on_fail=None
    )
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)
    xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
    # A sign is seldom flipped: two releases can agree by chance.
    assert xfailed == set(exceptions) or name == "signs", "no exception is listed that is not needed"


def projection(**changed):
    parameters = dict(adjacency=ONE, bound=1, random_state=3, **BUDGET)
    return estimators.PrivateProjection(4, **{**parameters, **changed})


def test_a_batch_is_paid_once_and_another_batch_is_another_release(tmp_path, rows):
    ledger = dps.Ledger.create(tmp_path / "l", data="rows", adjacency=ONE, epsilon=30, delta=1e-5)
    model = projection(ledger=ledger).fit(rows)
    assert len(ledger) == 0, "fit reads no value"
    first = model.transform(rows)
    assert np.array_equal(model.transform(rows.copy()), first) and len(ledger) == 1
    assert np.array_equal(model.transform(np.asfortranarray(rows)), first) and len(ledger) == 1
    other = model.transform(rows[:100])
    assert len(ledger) == 2 and not np.array_equal(other, first[:100])
    model.release(rows).verify()
    with pytest.raises(dps.errors.BudgetExceededError):
        for last in range(1, 9):
            model.transform(rows[:-last])


def test_random_state_is_public_randomness_alone(rows):
    one, two = projection().fit(rows), projection().fit(rows)
    assert one.seed_ == two.seed_ and not np.array_equal(one.transform(rows), two.transform(rows))
    assert projection(random_state=4).fit(rows).seed_ != one.seed_
    assert projection(random_state=None).fit(rows).seed_ != projection(random_state=None).fit(rows).seed_
    mechanism = one.release(rows).certificate["mechanism"]
    assert "fresh" not in mechanism, "a seed that was known before the rows: realised calibration"


def test_the_same_fit_again_remembers(rows):
    model = projection().fit(rows)
    first = model.transform(rows)
    assert np.array_equal(model.fit(rows).transform(rows), first)
    assert not np.array_equal(model.set_params(epsilon=4).fit(rows).transform(rows), first)


def test_pickles_and_clones_drop_keys_and_releases(rows):
    model = projection().fit(rows)
    first = model.transform(rows)
    key = model._remembered._key
    data = pickle.dumps(model)
    assert key not in data
    again = pickle.loads(data)
    assert again.seed_ == model.seed_ and not again._remembered._releases
    assert again._remembered._key != key
    assert not np.array_equal(again.transform(rows), first)
    assert not hasattr(clone(model), "seed_")
    pca = estimators.PrivatePCA(2, adjacency=PERSON, **BUDGET).fit(rows)
    back = pickle.loads(pickle.dumps(pca))
    assert np.array_equal(back.components_, pca.components_)
    back.release_.verify()


@pytest.mark.parametrize(
    "changed",
    [
        dict(n_components=3),
        dict(adjacency=dps.Adjacency.attribute(beta=2)),
        dict(epsilon=1),
        dict(delta=1e-7),
        dict(bound=2),
        dict(family="oporp"),
        dict(noise="laplace"),
        dict(random_state=4),
    ],
    ids=str,
)
def test_parameters_that_change_after_fit_need_another_fit(tmp_path, rows, changed):
    path = tmp_path / "l"
    ledger = dps.Ledger.create(path, data="rows", adjacency=ONE, epsilon=30, delta=1e-5)
    model = projection(ledger=path).fit(rows)
    first = model.transform(rows)
    (name,) = changed
    before = model.get_params()[name]
    kept = pickle.loads(pickle.dumps(model)).set_params(**changed)
    model.set_params(**changed)
    for other in (model, kept, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for ask in (other.release, other.transform):
            with pytest.raises(dps.errors.ParameterError, match=rf"fit again \({name}\)") as caught:
                ask(rows)
            assert caught.value.parameter == name
    assert len(ledger) == 1, "a refusal costs nothing"
    assert np.array_equal(model.set_params(**{name: before}).transform(rows), first)
    assert kept.set_params(**{name: before}).transform(rows).shape == first.shape
    assert len(ledger) == 2, "a pickle remembers no release"


def test_all_parameters_that_changed_are_named(rows):
    signs = estimators.PrivateSigns(4, adjacency=ONE, bound=1, epsilon=8, delta=0).fit(rows)
    signs.set_params(flips="response", epsilon=4)
    with pytest.raises(dps.errors.ParameterError, match="epsilon, flips"):
        signs.transform(rows)
    assert signs.fit(rows).release(rows).guarantee.epsilon == pytest.approx(4)
    # A fit that fails leaves no mechanism of other parameters behind.
    with pytest.raises(dps.errors.Error):
        signs.set_params(epsilon=-1).fit(rows)
    with pytest.raises(dps.errors.ParameterError, match="fit again"):
        signs.transform(rows)


def test_generators_and_ledgers_after_a_pickle(tmp_path, rows):
    model = projection(random_state=np.random.RandomState(3)).fit(rows)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.transform(rows).shape == (200, 4) and again.seed_ == model.seed_
        # The ledger alone takes effect at once.
        path = tmp_path / str(id(again))
        ledger = dps.Ledger.create(path, data="rows", adjacency=ONE, epsilon=30, delta=1e-5)
        again.set_params(ledger=ledger).transform(rows)
        assert len(ledger) == 1
        again.set_params(random_state=np.random.RandomState(3))
        with pytest.raises(dps.errors.ParameterError, match="random_state"):
            again.transform(rows)


def test_moments_are_paid_once(tmp_path, rows):
    ledger = dps.Ledger.create(
        tmp_path / "l", data="rows", adjacency=PERSON, epsilon=30, delta=1e-5
    )
    model = estimators.PrivatePCA(2, adjacency=PERSON, ledger=ledger, **BUDGET)
    first = model.fit(rows).components_
    assert np.array_equal(model.fit(rows).components_, first) and len(ledger) == 1
    model.fit(rows[:150])
    assert len(ledger) == 2
    model.set_params(epsilon=4).fit(rows)
    assert len(ledger) == 3 and model.release_.guarantee.epsilon == 4
    again = pickle.loads(pickle.dumps(model.set_params(ledger=None)))
    assert again.fit(rows).release_.guarantee.epsilon == 4


def test_names_and_frames(rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=[f"x{j}" for j in range(12)])
    model = projection().set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == [f"privateprojection{j}" for j in range(4)]
    signs = estimators.PrivateSigns(6, adjacency=ONE, bound=1, epsilon=4, delta=0).fit(frame)
    assert len(signs.get_feature_names_out()) == 6


def test_in_a_pipeline(rows):
    from sklearn.linear_model import LinearRegression

    model = make_pipeline(projection(), LinearRegression())
    assert model.fit(rows, rows[:, 0]).predict(rows).shape == (200,)


def test_regression_finds_the_coefficients():
    generator = np.random.default_rng(6)
    rows = generator.uniform(-1, 1, (50_000, 3)) / 2
    y = rows @ [1.0, -0.5, 0.25] + 0.25
    adjacency = dps.Adjacency.replace_row(bound=2)
    model = estimators.PrivateRegression(adjacency=adjacency, epsilon=2, delta=1e-6)
    assert model.fit(rows, y).coef_ == pytest.approx([1.0, -0.5, 0.25], abs=0.1)
    assert model.intercept_ == pytest.approx(0.25, abs=0.02)
    assert np.all(np.diff(model.coef_ranges_) > 0)
    assert model.score(rows, y) > 0.9
    through_zero = clone(model).set_params(fit_intercept=False).fit(rows, y)
    assert through_zero.intercept_ == 0 and through_zero.score(rows, y) < model.score(rows, y)


def test_components_are_around_the_mean():
    generator = np.random.default_rng(7)
    rows = generator.normal(size=(50_000, 3)) * [0.2, 0.05, 0.05] + [0, 0.5, 0]
    common = dict(adjacency=dps.Adjacency.replace_row(bound=2), epsilon=2, delta=1e-6)
    model = estimators.PrivatePCA(1, **common).fit(rows)
    assert model.mean_ == pytest.approx([0, 0.5, 0], abs=0.02)
    assert abs(model.components_[0, 0]) > 0.99 and abs(model.transform(rows).mean()) < 0.02
    zero = estimators.PrivatePCA(1, center=False, **common).fit(rows)
    assert abs(zero.components_[0, 1]) > 0.9 and np.all(zero.mean_ == 0)


def test_privacy_must_be_said(rows):
    with pytest.raises(dps.errors.ParameterError):
        estimators.PrivateProjection().fit(rows)
    with pytest.raises((TypeError, ValueError)):
        estimators.PrivatePCA(adjacency=PERSON).fit(rows)


def test_a_batch_of_many_threads_is_one_release(tmp_path, monkeypatch, rows):
    ledger = dps.Ledger.create(
        tmp_path / "ledger", data="rows", adjacency=WIDE, epsilon=100, delta=1e-3
    )
    estimator = estimators.PrivateProjection(4, adjacency=WIDE, bound=1, ledger=ledger, **BUDGET)
    estimator.fit(rows)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: estimator.transform(rows), range(12)))
    assert all(np.array_equal(found[0], again) for again in found) and len(ledger) == 1
    # A new fit with the same parameters remembers; another ledger has not paid.
    seeded = estimators.PrivateSigns(
        4, adjacency=WIDE, bound=1, epsilon=8, delta=0, ledger=ledger, random_state=3
    )
    first = seeded.fit(rows).transform(rows)
    assert np.array_equal(seeded.fit(rows).transform(rows), first) and len(ledger) == 2
    other = dps.Ledger.create(
        tmp_path / "other", data="rows", adjacency=WIDE, epsilon=100, delta=1e-3
    )
    assert not np.array_equal(seeded.set_params(ledger=other).transform(rows), first)
    assert len(other) == 1 and len(ledger) == 2
    # The same words for another file.
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        near = dps.Ledger.create("near", data="rows", adjacency=WIDE, epsilon=100, delta=1e-3)
        seeded.set_params(ledger="near").transform(rows)
        seeded.transform(rows)
        assert len(near) == 1


@pytest.mark.parametrize("components", [0, 13, 2.5, "mle", True])
def test_components_are_counted_before_anything_is_paid(tmp_path, rows, components):
    ledger = dps.Ledger.create(
        tmp_path / "ledger", data="rows", adjacency=PERSON, epsilon=100, delta=1e-3
    )
    estimator = estimators.PrivatePCA(components, adjacency=PERSON, ledger=ledger, **BUDGET)
    with pytest.raises(dps.errors.ParameterError, match="n_components"):
        estimator.fit(rows)
    assert len(ledger) == 0


def test_what_conversion_would_hide_is_refused():
    """As of arrays that mechanisms are given; and no refusal shows a value."""
    rows = np.zeros((4, 3))
    masked = np.ma.masked_array(rows, mask=np.eye(4, 3, dtype=bool))
    dates = np.full((4, 3), "2020-01-01", dtype="datetime64[D]")
    texts = np.full((4, 3), "12345")
    names = np.full((4, 3), "Alice Smith", dtype=object)
    large = np.full((4, 3), 2**53 + 1)
    for estimator, _ in ALL.values():
        for bad in (masked, dates, texts, names, large, rows + 0.123456j):
            y = [np.zeros(4)] if estimator is ALL["regression"][0] else []
            with pytest.raises(dps.errors.DataError) as refused:
                clone(estimator).fit(bad, *y)
            for secret in ("Alice", "12345", "0.123456", "2020"):
                assert secret not in str(refused.value)
            assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_no_refusal_of_scikit_learn_shows_a_row():
    rows = np.full((4, 3), 0.123456)
    ragged = [[0.123456] * 3, [0.123456] * 2]
    for estimator, _ in ALL.values():
        y = [np.zeros(4)] if estimator is ALL["regression"][0] else []
        for bad in (rows[0], rows[0].tolist(), 0.123456, rows[None], ragged, "0.123456"):
            with pytest.raises(dps.errors.DataError) as refused:
                clone(estimator).fit(bad, *y)
            assert "0.123456" not in str(refused.value), refused.value
            assert refused.value.__suppress_context__ or refused.value.__context__ is None
    # What tells shapes alone is told.
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(ALL["regression"][0]).fit(rows, np.zeros(3))
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(ALL["regression"][0]).fit(rows, None)


def test_numbers_alone_are_rows():
    pandas, polars, sparse = map(pytest.importorskip, ("pandas", "polars", "scipy.sparse"))
    import datetime

    large, day = 2**53 + 1, datetime.date(2020, 1, 1)
    columns = {
        "texts": ["12345"] * 4,
        "dates": [day] * 4,
        "times": [datetime.timedelta(seconds=12345)] * 4,
        "large": [large] * 4,
    }
    bad = [
        np.array([["12345", 0.5]] * 4, dtype=object),
        np.array([[large, 0.5]] * 4, dtype=object),
        np.array([[np.datetime64("2020-01-01"), 0.5]] * 4, dtype=object),
        np.zeros((4, 2), dtype=np.longdouble),
        [["12345", "0.5"]] * 4,
        [[b"12345", 0.5]] * 4,
        [[bytearray(b"12345"), 0.5]] * 4,
        [[large, 0.5]] * 4,
        [np.ma.array([0.5, 12345], mask=[False, True])] * 4,
        sparse.csr_matrix(np.full((4, 2), large)),
    ]
    for name, column in columns.items():
        bad += [made({"x": [0.5] * 4, name: column}) for made in (pandas.DataFrame, polars.DataFrame)]
    bad.append(polars.DataFrame({"x": [0.5] * 4, "c": polars.Series(["12345"] * 4, dtype=polars.Categorical)}))
    for rows in bad:
        with pytest.raises(dps.errors.DataError) as refused:
            projection().fit(rows)
        assert "12345" not in str(refused.value) and str(large) not in str(refused.value)
    numbers = {"x": [0.5] * 4, "whole": [2**53] * 4, "bit": [True, False] * 2}
    good = [made(numbers) for made in (pandas.DataFrame, polars.DataFrame)]
    for rows in (*good, [[0.5, 2**53]] * 4, np.array([[0.5, 1]] * 4, dtype=object)):
        assert projection().set_params(n_components=2).fit(rows).n_features_in_ == np.shape(rows)[1]
    # A column of a frame is a target.
    frame = pandas.DataFrame(np.random.default_rng(2).uniform(-0.5, 0.5, (20_000, 3)), columns=["a", "b", "c"])
    regression = estimators.PrivateRegression(adjacency=PERSON, **BUDGET)
    assert regression.fit(frame[["a", "b"]], frame["c"]).coef_.shape == (2,)


def test_several_threads_after_a_pickle_pay_once(tmp_path, rows):
    ledger = dps.Ledger.create(tmp_path / "l", data="rows", adjacency=ONE, epsilon=30, delta=1e-5)
    again = pickle.loads(pickle.dumps(projection(ledger=ledger).fit(rows)))
    kept = again._remembered
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: again.transform(rows), range(12)))
    assert all(np.array_equal(found[0], other) for other in found) and len(ledger) == 1
    # There is one place to remember, from before the first thread.
    assert again._remembered is kept


def test_a_release_that_tells_nothing_is_paid_and_kept(tmp_path):
    rows = np.random.default_rng(1).normal(size=(20_000, 3)) / 4
    adjacency = dps.Adjacency.add_remove_row(bound=1)
    ledger = dps.Ledger.create(tmp_path / "l", data="rows", adjacency=adjacency, epsilon=30, delta=1e-4)
    common = dict(adjacency=adjacency, epsilon=8, delta=1e-6, ledger=ledger)
    for model, y, read in (
        (estimators.PrivatePCA(1, **common), [], "components_"),
        (estimators.PrivateRegression(**common), [rows[:, 0]], "coef_"),
    ):
        model.fit(rows, *y)
        before, paid = getattr(model, read), len(ledger)
        # Refused before the payment: all stays.
        with pytest.raises(dps.errors.Error):
            model.set_params(epsilon=1e3).fit(rows, *y)
        assert getattr(model, read) is before and len(ledger) == paid
        model.set_params(epsilon=0.01)
        with pytest.raises(dps.errors.Error):
            model.fit(rows[:20], *(target[:20] for target in y))
        assert len(ledger) == paid + 1
        assert model.release_.guarantee.epsilon == model.guarantee_.epsilon == 0.01
        model.release_.verify()
        # Nothing is of another release.
        assert not hasattr(model, read)
        with pytest.raises(NotFittedError):
            (model.predict if y else model.transform)(rows)
