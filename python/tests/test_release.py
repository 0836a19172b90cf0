"""Questions to releases: against numbers computed from the released arrays alone."""

import json
import pickle
import re

import numpy as np
import pytest

import dps
from conftest import ONE, PERSON, vectors


def test_distances_subtract_the_noise(rows):
    release = vectors(epsilon=30).release(rows)
    values, correction = release.to_numpy(), release.correction()
    estimate = release.distance(0, 1, measure="squared distance")
    noisy = ((values[0] - values[1]) ** 2).sum()
    assert estimate.value == pytest.approx(noisy - correction["squared_distance"], rel=1e-9)
    names = [e.measure for e in release.distance(0, 1)]
    assert "squared distance" in names and "inner product" in names
    assert estimate.low <= max(estimate.value, 0) <= estimate.high  # an estimate may be negative, a range is not


def test_stated_intervals_cover_the_true_distances():
    """19 in 20 intervals cover: of 400 pairs, fewer than 350 once in a million sets of pairs or less."""
    rows = np.random.default_rng(2).uniform(-1, 1, (800, 12))
    release = vectors(epsilon=30).release(rows)
    covered = 0
    for i in range(0, 800, 2):
        estimate = release.distance(i, i + 1, measure="squared distance")
        covered += estimate.low <= ((rows[i] - rows[i + 1]) ** 2).sum() <= estimate.high
    assert covered >= 350


def test_two_releases_of_one_seed_are_compared(rows):
    left, right = vectors().release(rows), vectors().release(rows)
    assert left.distance(3, 3, other=right, measure="squared distance").standard_error > 0
    with pytest.raises(dps.errors.MismatchError):
        left.distance(0, 0, other=vectors(seed=4).release(rows))
    with pytest.raises(dps.errors.RowIndexError):
        left.distance(0, 200)
    for measure in ["jaccard similarity", "squared-distance"]:
        with pytest.raises(dps.errors.DataError, match="squared distance, inner product, cosine"):
            left.distance(0, 1, measure=measure)
    with pytest.raises(dps.errors.ParameterError, match="^top = 0 "):
        left.search(rows=[0], top=0)
    for confidence in [0, 1, 1.5]:
        with pytest.raises(dps.errors.ParameterError):
            left.distance(0, 1, confidence=confidence)


def test_search_is_the_best_of_the_released_rows(rows):
    release = vectors(epsilon=30).release(rows)
    values = release.to_numpy()
    hits, scores = release.search(rows=[5, 9], top=4, score="inner")
    expected = values[[5, 9]] @ values.T
    for query in range(2):
        best = np.argsort(-expected[query], kind="stable")[:4]
        assert hits[query].tolist() == best.tolist()
        assert scores[query] == pytest.approx(expected[query][best])
    hits, _ = release.search(top=1)
    assert hits.ravel().tolist() == list(range(200))
    assert release.search(top=500)[0].shape == (200, 200)
    with pytest.raises(dps.errors.Error):
        release.search(top=0)


def test_search_by_squared_distance_is_the_least_of_all_distances(rows):
    release = vectors(epsilon=30).release(rows)
    hits, scores = release.search(rows=[5, 9], top=4, score="squared-distance")
    for query, found, told in zip([5, 9], hits, scores, strict=True):
        pairs = [release.distance(i, query, measure="squared distance") for i in range(200)]
        all_distances = np.array([estimate.value for estimate in pairs])
        assert set(found) <= set(np.argsort(all_distances, kind="stable")[:5]) | {query}
        assert told.tolist() == sorted(all_distances[found])
    with pytest.raises(ValueError):
        release.search(score="euclidean")


def test_signs_are_searched_by_differing_bits(rows):
    mechanism = dps.Signs(
        d=12, bits=12, adjacency=ONE, bound=1, epsilon=9, delta=0, family="gaussian"
    )
    release = mechanism.release(rows)
    signs = release.to_numpy()
    assert set(np.unique(signs)) == {-1, 1} and signs.dtype == np.int8
    unpacked = np.unpackbits(release.packed(), axis=1, bitorder="little")[:, :12]
    assert np.array_equal(unpacked == 1, signs == 1)
    hits, counts = release.search(rows=[0], top=5)
    expected = (signs[0] != signs).sum(axis=1)
    assert counts[0].tolist() == sorted(expected)[:5]
    assert expected[hits[0]].tolist() == counts[0].tolist()


def test_rows_that_were_never_released_are_searched_for(rows):
    cell = dps.Adjacency.attribute(beta=2)
    any_two = dps.Adjacency.any_input()
    mechanisms = [
        dps.Vectors(d=12, k=12, bound=1, epsilon=4000, delta=0, adjacency=cell, noise="laplace"),
        dps.Bounded(d=12, low=-1, high=1, epsilon=30, adjacency=cell),
        dps.Signs(d=12, bits=240, repetitions=20, bound=1, epsilon=1920, delta=0, adjacency=cell),
        dps.Units(d=12, epsilon=60, adjacency=any_two),
    ]
    for mechanism in mechanisms:
        # Of one draw of noise: with others a row is not always the first.
        release = mechanism.release(rows, insecure_test_noise=1)
        hits, scores = release.search(rows[[3, 150]], top=5)
        assert hits.shape == scores.shape == (2, 5), release.kind
        assert hits[:, 0].tolist() == [3, 150], release.kind
        assert (np.diff(scores) <= 0).all(), release.kind
        again, _ = release.search(rows[[3, 150]].astype(np.float32), top=5)
        assert again.shape == hits.shape
        with pytest.raises(TypeError, match="queries alone"):
            release.search(rows, rows=[1])
        with pytest.raises(dps.errors.Error):
            release.search(rows[:, :11])
    with pytest.raises(dps.errors.DataError, match="never released"):
        dps.Covariance(d=12, adjacency=PERSON, epsilon=5, delta=1e-6).release(rows).search(rows)


def test_the_signs_of_rows_are_summed_with_a_query_that_is_known(rows):
    mechanism = dps.Signs(
        d=12, bits=12, adjacency=ONE, bound=1, epsilon=12, delta=0, family="rademacher", seed=3
    )
    release = mechanism.release(rows)
    hits, scores = release.search(rows[:3], top=200)
    # Projected as the certificate says, by what vectors of the same seed are without noise worth speaking of.
    same = dps.Vectors(
        d=12,
        k=12,
        adjacency=ONE,
        bound=1,
        epsilon=1e5,
        delta=0,
        family="rademacher",
        noise="laplace",
        seed=3,
    )
    projected = same.release(rows[:3]).to_numpy()
    expected = projected @ release.to_numpy().T.astype(float)
    assert np.allclose(np.take_along_axis(expected, hits, axis=1), scores, atol=1e-2)


def test_sets_that_were_never_released_are_searched_for():
    sets = [[str(100 * i + j) for j in range(40)] for i in range(20)]
    one = dict(adjacency=dps.Adjacency.set_items(1, 20), epsilon=20, delta=0)
    groups = [sorted(s) for s in sets]
    for release in [
        dps.Counts(groups=groups, **one).release(sets),
        dps.Sets(mechanism="bins", symbols=1, k=512, **one).release(sets),
    ]:
        hits, _ = release.search([sets[4], sets[11]], top=1)
        assert hits.ravel().tolist() == [4, 11], release.kind


def test_sets_of_two_releases_find_each_other():
    sets = [range(100 * i, 100 * i + 40) for i in range(20)]
    alike = dict(mechanism="bins", adjacency=dps.Adjacency.set_items(1, 20), k=256, epsilon=8, delta=0)
    ours, theirs = [dps.Sets(seed=4, **alike).release(sets) for _ in range(2)]
    hits, _ = ours.search(theirs, rows=[3, 17], top=1)
    assert hits.ravel().tolist() == [3, 17]
    with pytest.raises(dps.errors.MismatchError):
        ours.search(dps.Sets(seed=5, **alike).release(sets), top=1)


def test_components_and_regression_are_those_of_the_released_matrix(rows):
    release = dps.Covariance(d=12, adjacency=PERSON, epsilon=50, delta=1e-6).release(rows)
    matrix = release.to_numpy()
    assert np.array_equal(matrix, matrix.T)
    values, vectors_ = np.linalg.eigh(matrix)
    found = release.pca(3)
    # Denoised: falling, not negative, and no further from the released eigenvalues than is stated.
    explained = np.asarray(found.explained)
    assert np.all(np.diff(explained) <= 0) and np.all(explained >= 0)
    assert np.all(np.abs(explained - values[::-1][:3]) <= found.explained_error)
    assert np.abs(np.sum(found.directions * vectors_[:, ::-1].T[:3], axis=1)) == pytest.approx(1)
    assert found.total == pytest.approx(np.trace(matrix))
    assert np.linalg.norm(matrix - rows.T @ rows, 2) <= release.spectral_error(failure=1e-6)
    line = release.regression(11)
    assert line.coefficients.shape == (11,) and line.ranges.shape == (11, 2)
    assert line.intercept is None
    for ask in [release.spectral_error, lambda **of: release.pca(1, **of), lambda **of: release.regression(1, **of)]:
        with pytest.raises(dps.errors.ParameterError, match="^failure = 0 ") as caught:
            ask(failure=0)
        assert caught.value.parameter == "failure"
    assert np.linalg.eigvalsh(release.positive()).min() > -1e-9
    with pytest.raises(dps.errors.Error):
        release.pca(13)


def test_moments_around_the_mean(rows):
    shifted = 0.3 * rows / np.linalg.norm(rows, axis=1).max() + 0.1
    bound = float(np.linalg.norm(shifted, axis=1).max())
    person = dps.Adjacency.replace_row(bound)
    parameters = {"d": 12, "adjacency": person, "epsilon": 200, "delta": 1e-3}
    release = dps.Covariance(means=True, **parameters).release(shifted)
    moments = release.moments()
    assert moments.rows == len(rows) and moments.rows_range == (len(rows), len(rows))
    assert moments.means == pytest.approx(shifted.mean(axis=0), abs=0.02)
    low, high = moments.mean_ranges.T
    assert np.all(low <= moments.means) and np.all(moments.means <= high)
    low, high = moments.deviation_ranges.T
    assert np.all(low <= moments.deviations) and np.all(moments.deviations <= high)
    assert np.diag(moments.correlations) == pytest.approx(1)
    centred = shifted - shifted.mean(axis=0)
    found = release.pca(2, center=True)
    strongest = np.linalg.eigvalsh(centred.T @ centred)[-1]
    assert abs(found.explained[0] - strongest) <= found.explained_error
    line = release.regression(3)
    assert line.coefficients.shape == (11,) and line.ranges.shape == (11, 2)
    assert line.intercept_range[0] <= line.intercept <= line.intercept_range[1]
    again = dps.Release.from_bytes(release.to_bytes())
    assert np.array_equal(again.moments().means, moments.means)
    plain = dps.Covariance(**parameters).release(shifted)
    assert plain.regression(3).intercept is None
    with pytest.raises(dps.errors.Error, match="release moments"):
        plain.moments()
    with pytest.raises(dps.errors.Error, match="release moments"):
        plain.pca(2, center=True)
    with pytest.raises(dps.errors.ParameterError):
        dps.Covariance(means=True, noise="wishart", **parameters)


def test_a_bound_that_is_chosen():
    generator = np.random.default_rng(9)
    rows = generator.normal(size=(20_000, 3)) * [40, 10, 5]
    parameters = dict(d=3, adjacency=dps.Adjacency.replace_row(1e6), epsilon=1, delta=1e-6)
    release = dps.Covariance(within=0.9, **parameters).release(rows)
    release.verify()
    norms = np.linalg.norm(rows, axis=1)
    public = release.certificate["public"]
    assert 0.84 * np.quantile(norms, 0.9) < public["chosen bound"] < 1.42 * np.quantile(norms, 0.9)
    assert abs(release.pca(1).directions[0, 0]) > 0.99
    again = dps.Release.from_bytes(release.to_bytes())
    assert np.array_equal(again.to_numpy(), release.to_numpy())
    both = dps.Covariance(within=0.97, means=True, **{**parameters, "epsilon": 4}).release(rows + 30)
    assert both.moments().means == pytest.approx(30, abs=6)
    for wrong in (0.2, 1.5):
        with pytest.raises(dps.errors.Error):
            dps.Covariance(within=wrong, **parameters)
    with pytest.raises(dps.errors.ParameterError, match="gaussian"):
        dps.Covariance(within=0.9, noise="wishart", **parameters)


def test_low_rank_factors(rows):
    mechanism = dps.LowRank(
        n=200,
        d=12,
        rank=2,
        oversampling=3,
        adjacency=dps.Adjacency.row_shift(1),
        row_bound=10,
        epsilon=4,
        delta=1e-6,
    )
    release = mechanism.release(rows)
    left, right = release.factors(shrunk=False)
    assert left @ right == pytest.approx(release.to_numpy())
    left, right = release.factors()
    assert left.shape[0] == 200 and right.shape[1] == 12
    with pytest.raises(dps.errors.DataError):
        mechanism.release(rows[:-1])


def test_the_picture_shows_the_certificate_and_no_row(rows):
    release = vectors().release(rows)
    text = release._repr_html_()
    assert "<svg" in text and "1e-06" in text and "private projection" in text
    numbers = {float(x) for x in re.findall(r"-?\d+\.\d{6,}", text)}
    secret = np.concatenate([rows.ravel(), release.to_numpy().ravel()])
    assert not numbers & set(secret.tolist())
    evil = dps.Numbers(
        length=1,
        sensitivity=1,
        largest=10,
        adjacency=ONE,
        epsilon=1,
        delta=0,
        noise="laplace",
        by="<script>alert(1)</script>",
        reason="its reason",
    ).release([1])
    assert "<script>" not in evil._repr_html_()


def test_arrow_keeps_numbers_and_certificate(rows):
    pytest.importorskip("pyarrow")
    release = vectors().release(rows)
    table = release.to_arrow()
    back = np.vstack(table.column(0).to_pylist())
    assert np.array_equal(back, release.to_numpy())
    assert b"private projection" in table.schema.metadata[b"certificate"]


def test_arrays_of_vectors_are_views_that_nobody_can_change(rows):
    release = vectors().release(rows)
    view, copy = np.asarray(release), release.to_numpy()
    del release
    assert np.array_equal(view, copy) and copy.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1
    with pytest.raises(ValueError):
        view.flags.writeable = True
    moments = dps.Covariance(d=12, adjacency=PERSON, epsilon=1, delta=1e-6).release(rows)
    assert np.array_equal(np.asarray(moments), moments.to_numpy())
    with pytest.raises(ValueError):
        moments.__array__(copy=False)


def test_an_engine_finds_what_we_find(rows):
    faiss = pytest.importorskip("faiss")
    release = vectors(epsilon=30).release(rows)
    index = release.to_faiss()
    found, _ = index.search(release.to_numpy()[:1].astype(np.float32), 200)
    estimate = release.distance(0, 7, measure="squared distance").value
    at = np.flatnonzero(index.search(release.to_numpy()[:1].astype(np.float32), 200)[1][0] == 7)[0]
    noisy = found[0][at] - release.correction()["squared_distance"]
    assert noisy == pytest.approx(estimate, abs=1e-3)
    assert faiss is not None


def test_hostile_files_are_refused(tmp_path, rows):
    good = vectors().release(rows).to_bytes()
    generator = np.random.default_rng(3)
    for at in generator.integers(0, len(good), 60):
        broken = bytearray(good)
        broken[at] ^= 1 << generator.integers(0, 8)
        with pytest.raises(dps.errors.Error):
            dps.Release.from_bytes(bytes(broken)).verify()
    for cut in [0, 1, 20, len(good) - 1]:
        with pytest.raises(dps.errors.Error):
            dps.Release.from_bytes(good[:cut])
    with pytest.raises(dps.errors.FileAccessError):
        dps.Release.open(tmp_path / "nowhere.dps")
    assert issubclass(dps.errors.FileAccessError, OSError)


def test_releases_and_mechanisms_are_not_pickled_by_accident(rows):
    with pytest.raises(TypeError):
        pickle.dumps(vectors())


def test_explain_bounds_what_an_attacker_learns(tmp_path, rows, command):
    release = vectors(noise="laplace", epsilon=1, delta=0).release(rows)
    found = release.explain(prior=[0.01, 0.5])
    # Purely epsilon-private: no guess at equal odds is right more often than 1/(1 + e^-1).
    few, even = found["alone"]["guesses"]
    assert even["right_at_most"] <= 1 / (1 + np.exp(-1)) + 1e-12
    assert few["belief_at_most"] == pytest.approx(0.01 * np.e / (0.99 + 0.01 * np.e), rel=1e-6)
    assert found["in_ledger"] is None and found["with_ledger"] is None
    assert any("row" in point for point in found["not_protected"])
    # As the command line says it.
    path = tmp_path / "one.dps"
    release.save(path)
    said = json.loads(command("explain", path, "--prior", 0.5, "--json"))
    assert said["advantage_at_most"] == pytest.approx(found["alone"]["advantage"], rel=1e-9)

    ledger = dps.Ledger.create(
        tmp_path / "l.json", data="people", adjacency=ONE, epsilon=9, delta=1e-5
    )
    written = tmp_path / "paid.dps"
    vectors(noise="laplace", epsilon=1, delta=0).write(written, rows, ledger=ledger)
    paid = dps.Release.open(written)
    once = paid.explain(ledger=tmp_path / "l.json")
    assert once["in_ledger"] and not release.explain(ledger=tmp_path / "l.json")["in_ledger"]
    twice = release.explain(ledger=tmp_path / "l.json")["with_ledger"]["advantage"]
    assert once["with_ledger"]["advantage"] < twice < 1

    with pytest.raises(dps.errors.ParameterError):
        release.explain(prior=[2])
    individual = dps.IndividualSigns(
        d=12, bits=12, adjacency=ONE, epsilon=1, delta=0, bound=1, noise="response", seed=3
    ).release(rows)
    with pytest.raises(dps.errors.CertificateError):
        individual.explain()


def test_what_states_a_guarantee_says_that_values_were_mapped(tmp_path, rows, command):
    table, out = tmp_path / "rows.npy", tmp_path / "out.dps"
    np.save(table, rows)
    spends = ["--adjacency", "attribute", "--beta", 1, "--bound", 1000, "--epsilon", 1, "--delta", 0]
    common = ["--out", out, "-k", 4, "--noise", "laplace", *spends]
    command("release", "sketch", table, *common, "--divide", 0.01)
    release = dps.Release.open(out)
    found = release.explain()
    said = json.loads(command("explain", out, "--json"))
    assert found["preprocessing"] == said["preprocessing"] == ["12 others: times 100.0"]
    assert found["units"] == said["units"] and "after the preprocessing" in found["units"]
    page = release._repr_html_()
    assert "times 100.0" in page and found["units"] in page and "scale" not in page
    assert "after the preprocessing" in repr(release)
    plain = vectors().release(rows)
    found = plain.explain()
    assert found["preprocessing"] is None and found["units"] is None
    assert "preprocessing" not in repr(plain) + plain._repr_html_()


def test_rows_that_were_mapped_in_different_ways_do_not_compare(tmp_path, rows, command):
    table, mapped = tmp_path / "rows.npy", tmp_path / "map.toml"
    np.save(table, rows)
    mapped.write_text("[default]\nscale = 0.5\n")
    spends = ["--adjacency", "attribute", "--beta", 1, "--bound", 1, "--epsilon", 8, "--delta", 0]
    releases = []
    for name, more in [("raw", []), ("half", ["--preprocess", mapped])]:
        out = tmp_path / f"{name}.dps"
        test = ["--insecure-test-noise", 5, "--force"]
        command(
            *["release", "sketch", table, "--out", out, "-k", 4, "--seed", 3, *spends],
            *["--noise", "laplace", *more, *test],
        )
        releases.append(dps.Release.open(out))
    raw, half = releases
    assert "scale" in half.certificate["public"]["preprocessing"]
    assert half.search(top=1, rows=[0])
    with pytest.raises(dps.errors.MismatchError, match="mapped"):
        raw.search(top=1, queries=half)
    with pytest.raises(dps.errors.MismatchError, match="mapped"):
        raw.distance(0, 0, other=half)


def test_many_queries_are_answered_in_portions(rows):
    # More queries than one portion: those of parts, and a row that is refused is named by its place among all.
    release = vectors(epsilon=50).release(np.tile(rows, (200, 1)))
    queries = np.tile(rows, (25, 1))
    found, scores = release.search(queries, top=3)
    parts = [release.search(part, top=3) for part in np.array_split(queries, 7)]
    assert np.array_equal(found, np.concatenate([part[0] for part in parts]))
    assert np.allclose(scores, np.concatenate([part[1] for part in parts]))
    within, _ = release.search(top=2, rows=list(range(4200)))
    assert np.array_equal(within[4199], release.search(top=2, rows=[4199])[0][0])
    queries[4500, 3] = np.nan
    with pytest.raises(dps.errors.DataError, match="4500"):
        release.search(queries)
