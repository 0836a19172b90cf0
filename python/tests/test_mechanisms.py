"""Every mechanism releases, verifies, and says what it promises."""

import math

import numpy as np
import pytest

import dps
from conftest import ONE, PERSON, vectors

SETS = [{"a", "b", f"c{i % 3}", f"d{i}"} for i in range(20)]
ITEMS = dps.Adjacency.set_items(alpha=1, min_size=3)
FEW = dps.Adjacency.set_items(alpha=2, min_size=4)
SHIFT = dps.Adjacency.row_shift(l2=1)
ZERO = dps.Adjacency.zero_row(bound=1)
BUDGET = dict(epsilon=2, delta=1e-6)
GROUPS = dps.Groups([1, 1, -2, 2, 3, 3, -3, 1, 2, 2, 1, 3])


def low_rank(method):
    return dps.LowRank(
        n=200, d=12, rank=2, oversampling=3, adjacency=SHIFT, row_bound=10, method=method, **BUDGET
    )


OF_ROWS = {
    "vectors": lambda: vectors(),
    "vectors, laplace": lambda: vectors(noise="laplace", delta=0),
    "vectors, staircase": lambda: vectors(noise="staircase", delta=0),
    "vectors, groups": lambda: vectors(family=GROUPS, k=None, seed=None),
    "vectors, averaged": lambda: vectors(calibration="averaged", adjacency=PERSON, seed=None),
    "vectors, sparse-jl": lambda: vectors(family="sparse-jl", nonzeros=2),
    "vectors, srht": lambda: vectors(family="srht"),
    "signs": lambda: dps.Signs(d=12, bits=12, adjacency=ONE, bound=1, epsilon=2, delta=0),
    "signs, averaged": lambda: dps.Signs(
        d=12, bits=12, adjacency=ONE, bound=1, calibration="averaged", lift=4.0, **BUDGET
    ),
    "bounded": lambda: dps.Bounded(d=12, low=-1, high=1, adjacency=dps.Adjacency.attribute(2), epsilon=3),
    "units": lambda: dps.Units(d=12, adjacency=PERSON, epsilon=8),
    "units, projected": lambda: dps.Units(
        d=12, k=4, family="oporp", adjacency=dps.Adjacency.any_input(), epsilon=8, seed=3
    ),
    "private groups": lambda: dps.PrivateGroups(d=12, bound=1, adjacency=ONE, row_norm=2.0, **BUDGET),
    "covariance": lambda: dps.Covariance(d=12, adjacency=PERSON, **BUDGET),
    "covariance, wishart": lambda: dps.Covariance(d=12, adjacency=PERSON, noise="wishart", **BUDGET),
    "covariance, jl": lambda: dps.Covariance(
        d=12, adjacency=PERSON, noise="jl", sketch_rows=40, **BUDGET
    ),
    "low rank": lambda: low_rank("find-and-project"),
    "range": lambda: low_rank("range-finder"),
    "window": lambda: dps.Window(d=12, window=64, adjacency=ZERO, **BUDGET),
    "window, decayed": lambda: dps.Window(
        d=12,
        window=64,
        adjacency=ZERO,
        schedule={"kind": "decayed", "decay": 0.5, "horizon": 100},
        **BUDGET,
    ),
}


@pytest.mark.parametrize("build", OF_ROWS.values(), ids=OF_ROWS.keys())
def test_releases_of_rows_verify_and_come_back_from_bytes(rows, build):
    mechanism = build()
    release = mechanism.release(rows)
    assert "not checked" not in release.verify()["sensitivity"]
    assert release.guarantee == mechanism.guarantee
    assert release.guarantee.provenance["kind"] == "proven"
    assert release.guarantee.profile.delta(release.guarantee.epsilon) <= release.guarantee.delta + 1e-300
    again = dps.Release.from_bytes(release.to_bytes())
    assert np.array_equal(again.to_numpy(), release.to_numpy())
    assert not np.array_equal(mechanism.release(rows).to_numpy(), release.to_numpy()), "fresh noise"


def test_groups_are_signed_sums(rows):
    sums = np.zeros((12, 3))
    sums[np.arange(12), np.abs(GROUPS.signed) - 1] = np.sign(GROUPS.signed)
    released = vectors(family=GROUPS, k=None, seed=None, epsilon=60).release(rows)
    sigma = released.correction()["noise_variance"] ** 0.5
    # 600 numbers, seven standard deviations: a false alarm in a thousand million runs.
    assert np.abs(released.to_numpy() - rows @ sums).max() < 7 * sigma < 1
    grid = dps.Groups.grid(3, 4, cell=2)
    assert grid.signed == (1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4) and grid != GROUPS
    assert grid == dps.Groups(np.array(grid.signed, dtype=np.int8)) and "4 of 12" in repr(grid)
    for wrong in [[], [0, 1], [1, 3], [1.0, 2.0], [[1, 2]], [2**40], ["a"], np.arange(2**17)]:
        with pytest.raises(dps.errors.ParameterError):
            dps.Groups(wrong)
    for height, width, cell in [(0, 4, 1), (4, 4, 0), (2**40, 2**40, 1)]:
        with pytest.raises(dps.errors.ParameterError):
            dps.Groups.grid(height, width, cell=cell)
    for changed in [dict(seed=3), dict(k=4), dict(d=11), dict(nonzeros=2)]:
        with pytest.raises(dps.errors.ParameterError):
            vectors(**{"family": GROUPS, "k": None, "seed": None, **changed})
    with pytest.raises(TypeError):
        vectors(k=None)


def test_scales_share_one_budget(rows):
    parameters = dict(d=12, sizes=[2, 6], shares=[1, 2], adjacency=ONE, bound=1, seeds=[1, 2])
    release = dps.MultiScale(epsilon=20, delta=1e-6, **parameters).release(rows)
    release.verify()
    assert release.to_numpy().shape == (200, 8)
    # 19 in 20 ranges hold the distance: of independent pairs fewer than 75 of 100 less than once in a thousand million.
    true = ((rows[::2] - rows[1::2]) ** 2).sum(axis=1)
    stated = [release.distance(2 * i, 2 * i + 1, expected=1.0) for i in range(100)]
    assert sum(e.low <= t <= e.high for e, t in zip(stated, true)) >= 75
    with pytest.raises(ValueError):
        dps.MultiScale(epsilon=20, delta=1e-6, **{**parameters, "shares": [1]})
    with pytest.raises(dps.errors.ParameterError):
        dps.MultiScale(epsilon=20, delta=1e-6, **{**parameters, "seeds": [1, 1]})


def test_the_published_low_rank_is_taken_by_name_alone(rows):
    parameters = dict(n=200, d=12, rank=2, oversampling=3, adjacency=SHIFT, row_bound=10)
    mechanism = dps.LowRank(method="published", epsilon=1, delta=1e-6, **parameters)
    release = mechanism.release(rows)
    with pytest.raises(dps.errors.NotAcceptedError) as caught:
        release.verify()
    assert caught.value.exception == "published"
    release.verify(accept=["published"])


def test_a_public_basis(rows):
    basis = np.full((200, 1), 200**-0.5)
    mechanism = dps.Basis(
        basis, reason="the average of rows", d=12, adjacency=SHIFT, row_bound=10, **BUDGET
    )
    release = mechanism.release(rows)
    release.verify()
    with pytest.raises(dps.errors.ParameterError, match="columns of the basis = 3"):
        dps.Basis(np.eye(2, 3), reason="none", d=12, adjacency=SHIFT, row_bound=10, **BUDGET)
    error = np.abs(release.to_numpy() - rows.mean(axis=0)).max()
    assert 0 < error < 6 * dps.calibrate.gaussian(**BUDGET).sigma / 200


IN_MEMORY = {
    "directions": lambda: dps.Directions(d=12, k=2, adjacency=PERSON, **BUDGET),
    "input perturbation": lambda: low_rank("input-perturbation"),
    "distances": lambda: dps.Distances(n=200, d=12, low=-1, high=1, adjacency=ONE, **BUDGET),
    "scales": lambda: dps.MultiScale(d=12, sizes=[2, 6], shares=[1, 2], adjacency=ONE, bound=1, **BUDGET),
}


@pytest.mark.parametrize("build", IN_MEMORY.values(), ids=IN_MEMORY.keys())
def test_releases_that_have_no_file(rows, build):
    mechanism = build()
    release = mechanism.release(rows)
    release.verify()
    assert np.isfinite(release.to_numpy()).all()
    with pytest.raises(dps.errors.DataError):
        release.to_bytes()
    # Said where it is read.
    assert "`" + type(mechanism).__name__ in dps.Release.save.__doc__.replace("``", "`")
    assert "o file holds" in type(mechanism).__doc__


def test_newton_finds_the_coefficients():
    generator = np.random.default_rng(3)
    features = generator.uniform(-0.5, 0.5, size=(50_000, 3))
    target = features @ [0.8, -0.4, 0.0] + 0.05 * generator.normal(size=50_000)
    person = dps.Adjacency.add_remove_row(1)
    mechanism = dps.Newton(d=4, adjacency=person, label_bound=1, epsilon=1, delta=1e-6)
    release = mechanism.release(np.column_stack([features, target]))
    assert release.to_numpy() == pytest.approx([0.8, -0.4, 0.0], abs=0.03)
    again = dps.Release.from_bytes(release.to_bytes())
    again.verify()
    line = again.regression()
    assert (line.coefficients == release.to_numpy()).all() and line.intercept is None
    assert (line.ranges[:, 0] < line.coefficients).all()
    with pytest.raises(dps.errors.DataError, match="leave it out"):
        again.regression(0)
    mechanism = dps.Newton(
        d=4, adjacency=person, label_bound=1, epsilon=1, delta=1e-6, intercept=True
    )
    found = mechanism.release(np.column_stack([features, target + 0.2])).regression()
    assert found.intercept == pytest.approx(0.2, abs=0.03)
    with pytest.raises(dps.errors.DataError):
        mechanism.release(np.zeros((4, 6)))


def test_bits_are_zero_or_one_and_pure():
    mechanism = dps.Bits(d=2, adjacency=ONE, epsilon=1, delta=0)
    for bad in [-1.0, 0.5]:
        with pytest.raises(dps.errors.DataError, match="row 1, column 0 is no bit") as caught:
            mechanism.release(np.array([[0.0, 1.0], [bad, 1.0]]))
        assert str(bad) not in str(caught.value)
    with pytest.raises(dps.errors.ParameterError) as refused:
        dps.Bits(d=2, adjacency=ONE, epsilon=1, delta=1e-6)
    assert refused.value.parameter == "delta"


def test_bits_are_flipped_at_the_stated_rate(rows):
    bits = (np.random.default_rng(1).random((4000, 12)) < 0.5).astype(np.uint8)
    mechanism = dps.Bits(d=12, adjacency=ONE, epsilon=1, delta=0)
    released = mechanism.release(bits).to_numpy()
    rate, runs = 1 / (1 + math.e), bits.size
    # Five standard deviations: a false alarm in two million runs; 0.7 of the rate is 37 away.
    assert abs((released != bits).mean() - rate) < 5 * math.sqrt(rate / runs)


@pytest.mark.parametrize(
    "parameters",
    [
        dict(mechanism="bins", adjacency=ITEMS),
        dict(mechanism="bins", adjacency=FEW, k=3, fresh=True),
        dict(mechanism="mixture", adjacency=ITEMS, concatenation=2),
        dict(mechanism="buckets", adjacency=dps.Adjacency.any_input(), delta=0),
    ],
    ids=lambda p: p["mechanism"],
)
def test_sets(parameters):
    mechanism = dps.Sets(**{**BUDGET, "k": 50, **parameters})
    release = mechanism.release(SETS)
    release.verify()
    estimate = release.distance(0, 3, measure="jaccard similarity")
    assert estimate.low <= estimate.high and estimate.standard_error > 0
    hits, scores = release.search(rows=[0, 1], top=3)
    assert hits.shape == scores.shape == (2, 3)
    assert dps.Release.from_bytes(release.to_bytes()).kind == "set signatures"


def test_counts_of_groups():
    parameters = dict(adjacency=dps.Adjacency.set_items(1, 1), epsilon=60, delta=1e-6)
    groups = [["ant", "bee", "wasp"], {"oak", "elm"}]
    mechanism = dps.Counts(groups=groups, **parameters)
    assert mechanism.guarantee.delta == 0 and mechanism.predict() < 1e-12
    sets = [["ant", "bee"], ["oak", "ant", "elm"], ["wasp"]]
    release = mechanism.release(sets)
    release.verify()
    # At epsilon 60 a count is wrong once in 10^26.
    assert release.to_numpy().tolist() == [[2, 0], [1, 2], [1, 0]]
    hits, scores = release.search(rows=[0, 2], top=2)
    assert hits.shape == scores.shape == (2, 2) and 2 in hits[0] and 0 in hits[1]
    again = dps.Release.from_bytes(release.to_bytes())
    assert again.kind == "counts of groups" and np.array_equal(again.to_numpy(), release.to_numpy())
    themes = [[10 * (i % 8) + j for j in range(10) if (i + j) % 4] for i in range(64)]
    learned = dps.Counts(public=themes, **parameters)
    learned.release(themes[:5]).verify()
    for wrong in [dict(), dict(groups=groups, public=themes)]:
        with pytest.raises(TypeError):
            dps.Counts(**wrong, **parameters)
    for wrong in [dict(groups=[[1, 2], [2]]), dict(groups=[]), dict(public=themes[:3])]:
        with pytest.raises(dps.errors.ParameterError):
            dps.Counts(**wrong, **parameters)
    with pytest.raises(dps.errors.ParameterError):
        dps.Counts(groups=groups, adjacency=PERSON, epsilon=1, delta=0)


def test_the_published_minhash_is_taken_by_name_alone():
    parameters = dict(mechanism="noisy-minhash", adjacency=ITEMS, k=50, epsilon=2, delta=1e-2)
    mechanism = dps.Sets(accept_true_delta=True, **parameters)
    release = mechanism.release(SETS)
    with pytest.raises(dps.errors.NotAcceptedError) as caught:
        release.verify()
    assert caught.value.exception == "published"
    release.verify(accept=["published"])


def test_sets_of_words_numbers_and_sparse_columns():
    import scipy.sparse

    mechanism = dps.Sets(adjacency=dps.Adjacency.set_items(1, 2), k=20, seed=4, **BUDGET)

    def bits(sets):
        return mechanism.release(sets, insecure_test_noise=1).to_numpy()

    numbers = [[1, 2, 2], [5, 0], [7, 3]]
    assert np.array_equal(bits(numbers), bits([{np.int64(x) for x in s} for s in numbers]))
    matrix = scipy.sparse.csr_matrix(
        (np.ones(6), ([0, 0, 1, 1, 2, 2], [1, 2, 5, 0, 7, 3])), shape=(3, 9)
    )
    assert np.array_equal(bits(matrix), bits(numbers))
    for wrong in [["ab", "cd"], [["a", 1]], [["a", "b"], [1, 2]], [[1.5, 2]], [[True, 2]], [[-1, 2]]]:
        with pytest.raises((TypeError, ValueError)):
            bits(wrong)
    with pytest.raises(dps.errors.DataError):
        bits([["only one"]])
    with pytest.raises(dps.errors.ParameterError):
        bits([[]])


def test_numbers_are_declared():
    mechanism = dps.Numbers(
        length=3,
        sensitivity=1,
        largest=1e6,
        touched=1,
        adjacency=dps.Adjacency.add_remove_row(bound=1),
        epsilon=1,
        delta=0,
        noise="laplace",
        by="a test",
        reason="a person is in one category",
    )
    release = mechanism.release([120, 33, 7])
    assert release.to_numpy().shape == (3,)
    with pytest.raises(dps.errors.NotAcceptedError) as caught:
        release.verify()
    assert caught.value.exception == "declared"
    release.verify(accept=["declared"])
    with pytest.raises(dps.errors.ParameterError):
        mechanism.release([1, 2])
    with pytest.raises(dps.errors.ParameterError) as caught:
        mechanism.release([1, 2, 1234567.0])
    assert "1234567" not in str(caught.value)


def test_shares_of_categories(tmp_path):
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.choice(4, 3000, p=[0.5, 0.3, 0.2, 0.0]), rng.integers(0, 2, 3000)])
    mechanism = dps.Bounded(d=2, categories=4, adjacency=dps.Adjacency.attribute(3), epsilon=2)
    release = mechanism.release(rows)
    release.save(tmp_path / "a.dps")
    for column in range(2):
        shares = dps.Release.open(tmp_path / "a.dps").shares(column, failure=1e-6)
        assert len(shares) == 4 and sum(s.value for s in shares) == pytest.approx(1)
        for category, share in enumerate(shares):
            low, high = share.interval
            truth = (rows[:, column] == category).mean()
            assert low <= truth <= high and high - low < 0.3 and share.standard_error < 0.03
    with pytest.raises(dps.errors.DataError, match="row 0, column 0 is not a whole") as caught:
        mechanism.release(rows + 0.5)
    assert "0.5" not in str(caught.value)
    with pytest.raises(TypeError):
        dps.Bounded(d=2, categories=4, low=0, adjacency=dps.Adjacency.attribute(3), epsilon=2)
    with pytest.raises(dps.errors.Error):
        dps.Bounded(d=2, categories=257, adjacency=dps.Adjacency.attribute(256), epsilon=2)


@pytest.mark.parametrize("noise, delta", [("discrete-laplace", 0), ("discrete-gaussian", 1e-6)])
def test_whole_numbers_stay_whole(noise, delta):
    mechanism = dps.Numbers(
        length=3,
        sensitivity=1,
        largest=1e6,
        touched=1,
        adjacency=dps.Adjacency.add_remove_row(bound=1),
        epsilon=1,
        delta=delta,
        noise=noise,
        by="a test",
        reason="a person is in one category",
    )
    release = mechanism.release([120, 33, 7])
    assert (release.to_numpy() % 1 == 0).all()
    release.verify(accept=["declared"])
    least = getattr(dps.calibrate, noise.replace("-", "_"))(1, delta)
    assert mechanism.guarantee.profile == least
    with pytest.raises(dps.errors.ParameterError) as caught:
        mechanism.release([120, 33, 7.25])
    assert "7.25" not in str(caught.value)


def test_individual_signs_are_no_differential_privacy(tmp_path, rows):
    mechanism = dps.IndividualSigns(
        d=12, bits=12, adjacency=ONE, bound=1, epsilon=2, delta=0, noise="response"
    )
    assert mechanism.guarantee is None
    ledger = dps.Ledger.create(tmp_path / "l", data="rows", adjacency=ONE, epsilon=9, delta=0)
    with pytest.raises(dps.errors.ParameterError):
        mechanism.release(rows, ledger=ledger)
    release = mechanism.release(rows)
    with pytest.raises(dps.errors.NotAcceptedError):
        release.verify()
    release.verify(accept=["individual"])


def test_streams_and_their_journal(tmp_path, rows):
    mechanism = dps.Window(d=12, window=64, adjacency=ZERO, **BUDGET)
    whole = mechanism.release(rows, insecure_test_noise=9).to_numpy()
    stream = mechanism.stream(insecure_test_noise=9)
    for part in np.array_split(rows, 7):
        stream.push(part)
    released = stream.release()
    assert np.array_equal(released.to_numpy(), whole)
    assert released.span == (136, 200)
    journal = tmp_path / "journal"
    stream = mechanism.stream(journal=journal)
    stream.push(rows[:101])
    before = stream.release().to_numpy()
    del stream
    again = dps.Stream.resume(journal)
    assert np.array_equal(again.release().to_numpy(), before)
    again.push(rows[again.next_row :])
    again.release().verify()
    with pytest.raises(dps.errors.Error):
        mechanism.stream().release()


def test_what_a_stream_refuses_is_not_in_it():
    # Beyond the rows that are handed on at a time, and in a later batch: what came before counts once when all is pushed again.
    arrow = pytest.importorskip("pyarrow")
    mechanism = dps.Window(d=12, window=20_000, adjacency=ZERO, **BUDGET)
    good = np.random.default_rng(4).uniform(-0.2, 0.2, (20_000, 12))
    bad = good.copy()
    bad[19_000, 5] = np.nan
    named = lambda x: arrow.table({f"x{j}": x[:, j] for j in range(12)})
    batched = lambda x: arrow.Table.from_batches(named(x).to_batches(3_000))
    forms = [lambda x: x, lambda x: x.astype(np.float32), named, batched]
    for form in forms:
        whole, stream = [mechanism.stream(insecure_test_noise=3) for _ in range(2)]
        whole.push(form(good))
        with pytest.raises(dps.errors.DataError, match="19000|19,000"):
            stream.push(form(bad))
        assert stream.next_row == 0
        stream.push(form(good))
        assert np.array_equal(stream.release().to_numpy(), whole.release().to_numpy())


def test_a_push_that_is_refused_takes_nothing_however_long():
    """More rows than are converted at a time: those before the one without room would be pushed twice by whoever pushes again."""
    part = 1 << 21
    person = dps.Adjacency.add_remove_row(1.0)
    window = dps.Window(d=1, window=part + 10, block=part + 10, clock=True, adjacency=person, **BUDGET)
    rows = np.full((part + 1000, 1), 0.5)
    for form in (rows, rows.astype("f4")):
        stream = window.stream(insecure_test_noise=9)
        with pytest.raises(dps.errors.Error):
            stream.push(form)
        assert stream.next_row == 0


def test_rows_without_memory_for_their_sums_are_refused():
    wide = 1 << 20
    for make in (
        lambda: dps.Covariance(d=wide, adjacency=ZERO, **BUDGET),
        lambda: dps.Covariance(d=wide, adjacency=ZERO, means=True, **BUDGET),
        lambda: dps.Window(d=wide, window=64, adjacency=ZERO, **BUDGET),
    ):
        with pytest.raises(dps.errors.ParameterError, match="fit in memory"):
            make()
    for bound in (1e-60, 1e60):
        person = dps.Adjacency.replace_row(bound)
        dps.Covariance(d=2, adjacency=person, **BUDGET)
        with pytest.raises(dps.errors.ParameterError, match="scale the data"):
            dps.Covariance(d=2, adjacency=person, means=True, **BUDGET)



def test_predictions_read_no_data():
    assert vectors().predict(1.0) > 0
    assert dps.Covariance(d=12, adjacency=PERSON, **BUDGET).predict(100.0) > 0
    assert low_rank("find-and-project").predict() > 0
    assert dps.Sets(adjacency=ITEMS, **BUDGET).predict(size=20, similarity=0.5) > 0


@pytest.mark.parametrize(
    "changed",
    [
        dict(k=0),
        dict(k=13),
        dict(k=2**62),
        dict(d=2**62),
        dict(k=2**70),
        dict(k=2.5),
        dict(noise="staircase", delta=0, family="gaussian"),
        dict(d=0),
        dict(bound=-1),
        dict(epsilon=0),
        dict(delta=1),
        dict(family="nothing"),
        dict(noise="cauchy"),
        dict(nonzeros=3),
        dict(calibration="averaged"),
        dict(calibration="averaged", seed=None, family="oporp"),
        dict(bound=None),
        dict(adjacency=ZERO),
        dict(seed=-1),
    ],
    ids=str,
)
def test_parameters_outside_their_range_are_refused(changed):
    with pytest.raises(dps.errors.Error):
        vectors(**changed)


@pytest.mark.parametrize(
    "name, changed",
    [
        ("d", dict(d="12")),
        ("d", dict(d=-12)),
        ("d", dict(d=12.0)),
        ("k", dict(k=True)),
        ("seed", dict(seed=-1)),
        ("seed", dict(seed=2**64)),
        ("bound", dict(bound=math.nan)),
        ("nonzeros", dict(family="sparse-jl", nonzeros=-1)),
    ],
)
def test_parameters_are_refused_by_their_names(name, changed):
    with pytest.raises(dps.errors.ParameterError, match=f"^{name} = ") as caught:
        vectors(**changed)
    assert caught.value.parameter == name
    assert caught.value.allowed == ("(-inf, inf)" if name == "bound" else "the whole numbers of [0, 2^64)")


def test_privacy_has_no_defaults():
    for missing in ["adjacency", "epsilon", "delta"]:
        parameters = dict(d=12, k=5, adjacency=ONE, bound=1, epsilon=8, delta=1e-6)
        parameters.pop(missing)
        with pytest.raises(TypeError):
            dps.Vectors(**parameters)
    with pytest.raises(TypeError):
        vectors(adjacency={"kind": "attribute", "beta": 1})


def test_noise_has_the_stated_scale():
    """Rows of zeros release the noise alone: 50,000 numbers, five standard deviations of a variance."""
    release = vectors(epsilon=1, adjacency=PERSON).release(np.zeros((10_000, 12)))
    variance = release.correction()["noise_variance"]
    found = release.to_numpy().var()
    assert abs(found / variance - 1) < 5 * math.sqrt(2 / 50_000)


def test_users_with_several_rows_are_a_unit():
    def user(each):
        return dps.Adjacency.user(3, each)

    rows = np.random.default_rng(5).uniform(-0.25, 0.25, (40, 12))
    words = [[f"w{i}", f"w{i + 1}"] for i in range(20)]
    one, person = dps.Adjacency.attribute(1.0), dps.Adjacency.replace_row(1.0)
    items, any_input = dps.Adjacency.set_items(1, 1), dps.Adjacency.any_input()
    pure = {"epsilon": 9.0, "delta": 0.0}
    made = [
        (dps.Signs(d=12, bits=12, bound=1, adjacency=user(one), **pure), rows),
        (dps.Bounded(d=12, low=-0.5, high=0.5, adjacency=user(one), epsilon=9.0), rows),
        (dps.Covariance(d=12, adjacency=user(person), **BUDGET), rows),
        (dps.Covariance(d=12, adjacency=user(person), means=True, **BUDGET), rows),
        (dps.Covariance(d=12, adjacency=user(person), within=0.9, **BUDGET), rows),
        (dps.Newton(d=12, adjacency=user(person), label_bound=1, **BUDGET), rows),
        (dps.Sets(adjacency=user(items), k=10, **pure), words),
        (dps.Sets(adjacency=user(any_input), mechanism="buckets", k=10, **pure), words),
    ]
    for mechanism, data in made:
        release = mechanism.release(data)
        release.verify()
        adjacency = release.certificate["guarantee"]["adjacency"]
        assert adjacency["kind"] == "user" and adjacency["rows"] == 3

    def sigma(adjacency):
        release = dps.Covariance(d=12, adjacency=adjacency, **BUDGET).release(rows)
        return release.certificate["guarantee"]["profile"]["sigma"]

    assert sigma(user(person)) == pytest.approx(3 * sigma(person), rel=1e-6)
    for refused in [
        lambda: dps.Covariance(d=12, adjacency=user(person), noise="wishart", **BUDGET),
        lambda: dps.Sets(adjacency=user(items), mechanism="mixture", k=10, **BUDGET),
        lambda: dps.Signs(d=12, bits=12, bound=1, adjacency=user(one), calibration="averaged", lift=1, **BUDGET),
    ]:
        with pytest.raises(dps.errors.Error):
            refused()
