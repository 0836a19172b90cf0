"""What looks like rows or sets and is something else is refused, and costs nothing."""

import numpy as np
import pytest

import dps
from conftest import ONE, vectors

ITEMS = dps.Adjacency.set_items(alpha=1, min_size=1)

BUDGET = dict(epsilon=8, delta=1e-6)
refused = pytest.raises((dps.errors.DataError, TypeError, ValueError))


def test_lists_whose_lengths_differ_between_chunks_are_no_rows(tmp_path):
    # Nine numbers in all: cut anew, one person's would be in two rows.
    arrow = pytest.importorskip("pyarrow")
    ragged = arrow.table({"v": arrow.chunked_array([[[0.1]], [[1.0] * 5], [[0.5] * 3]])})
    anyone = dps.Adjacency.any_input()
    path = tmp_path / "ledger"
    ledger = dps.Ledger.create(path, data="lists", adjacency=anyone, epsilon=20, delta=1e-5)
    units = dps.Units(d=3, k=3, adjacency=anyone, epsilon=8)
    bounded = dps.Bounded(d=3, low=0, high=1, adjacency=ONE, epsilon=8)
    with refused:
        units.release(ragged, ledger=ledger)
    with refused:
        bounded.release(ragged)
    assert len(ledger) == 0
    everything = dps.Adjacency.zero_row(bound=1)
    stream = dps.Window(d=3, window=16, adjacency=everything, **BUDGET).stream()
    with refused:
        stream.push(ragged)
    assert stream.next_row == 0
    released = vectors(d=3, k=3).release(np.eye(3))
    with refused:
        released.search(ragged)


def test_sets_are_not_the_names_of_columns_nor_a_dense_matrix():
    arrow = pytest.importorskip("pyarrow")
    neighbours = dps.Adjacency.set_items(1, 2)
    mechanism = dps.Sets(adjacency=neighbours, k=20, seed=4, **BUDGET)
    words = [["a", "b", "c"], ["c", "d"]]
    bits = lambda sets: mechanism.release(sets, insecure_test_noise=2).to_numpy()
    table = arrow.table({"items": words})
    batch = table.to_batches()[0]
    for form in (table, batch, table["items"]):
        assert np.array_equal(bits(form), bits(words))
    two = arrow.table({"items": words, "more": words})
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    frames = [made({"a": ["x", "y"], "b": ["z", "w"]}) for made in (pandas.DataFrame, polars.DataFrame)]
    assert np.array_equal(bits(pandas.DataFrame({"items": words})["items"]), bits(words))
    assert np.array_equal(bits(polars.DataFrame({"items": words})["items"]), bits(words))
    lines = [{"items": row} for row in words]
    for wrong in (*frames, two, lines, [b"abc", b"de"], [bytearray(b"abc")], np.eye(4, dtype=int), np.ones((3, 3), dtype=bool)):
        with refused:
            bits(wrong)


def test_numbers_are_numbers():
    mechanism = dps.Numbers(
        length=2,
        sensitivity=1,
        largest=1e6,
        adjacency=ONE,
        epsilon=1,
        delta=0,
        noise="laplace",
        by="a test",
        reason="each is a count",
    )
    masked = np.ma.array([1.0, 9.0], mask=[False, True])
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    for wrong in (masked, dates, [1j, 2j], ["1", "2"], ["12.5", "4111-1111"]):
        with pytest.raises(dps.errors.DataError) as error:
            mechanism.release(wrong)
        assert "4111" not in str(error.value) and error.value.__cause__ is None
    with pytest.raises(dps.errors.DataError, match="beyond"):
        mechanism.release([2**53 + 1, 0])
    with pytest.raises(dps.errors.DataError, match="must be numbers"):
        mechanism.release(np.zeros(2, dtype=np.longdouble))
    mechanism.release(np.array([1, 2], dtype=np.int32))
    masks = [np.ma.array([0.1] * 12, mask=[True] + [False] * 11), np.zeros(12)]
    with refused:
        vectors().release(masks)


def test_numbers_of_rows_are_whole_and_no_mask(rows):
    release = vectors().release(rows)
    for wrong in (np.arange(200) < 2, [True, False]):
        with pytest.raises(TypeError):
            release.search(release, rows=wrong)
    times = [np.array([1, 2], kind) for kind in ("m8[ns]", "M8[ns]")]
    fractions = ([0.7], [1.0], np.array([1.0]))
    beyond = ([-1], [0, 2**64], np.array([0, -1]), range(-1, 2), range(1, -2, -1), range(0, 2**65, 2**64))
    for wrong in (*fractions, *times, *beyond, np.array([[1]])):
        with pytest.raises(dps.errors.ParameterError):
            release.search(release, rows=wrong)
    expected = release.search(rows=[3, 5])
    for same in (np.array([3, 5], np.uint8), (3, np.int64(5)), range(3, 6, 2)):
        assert all(map(np.array_equal, release.search(rows=same), expected))
    assert all(len(found) == 0 for found in release.search(rows=range(0)))
    scales = dps.MultiScale(d=12, sizes=[2, 6], shares=[1, 2], adjacency=ONE, bound=1, **BUDGET)
    released = scales.release(rows)
    with pytest.raises(TypeError):
        released.distance(0, 1, expected=1.0, other=released)
    with pytest.raises(TypeError):
        released.distance(0, 1, expected=1.0, measure="cosine")


def test_a_basis_is_orthonormal():
    shift = dps.Adjacency.row_shift(l2=0.5)
    known = dict(reason="a test", d=3, adjacency=shift, row_bound=1, **BUDGET)
    for wrong in (np.ones((4, 2)), 2 * np.eye(4)[:, :2]):
        with pytest.raises(ValueError, match="orthonormal"):
            dps.Basis(wrong, **known)
    dps.Basis(np.linalg.qr(np.ones((4, 2)) + np.eye(4)[:, :2])[0], **known)


def test_a_ledger_and_the_data_are_never_written_over(tmp_path, rows):
    path, data = tmp_path / "ledger", tmp_path / "data.csv"
    ledger = dps.Ledger.create(path, data="rows", adjacency=ONE, epsilon=20, delta=1e-5)
    data.write_text("1,2\n")
    release = vectors().release(rows)
    before = path.read_bytes()
    for taken in (path, data, tmp_path):
        with pytest.raises(dps.errors.FileAccessError):
            release.save(taken, replace=True)
        with pytest.raises(dps.errors.FileAccessError):
            vectors().write(taken, rows, replace=True, ledger=ledger)
    assert path.read_bytes() == before and data.read_text() == "1,2\n" and len(ledger) == 0
    out = tmp_path / "out.dps"
    release.save(out)
    with pytest.raises(dps.errors.FileAccessError, match="replace=True"):
        release.save(out)
    vectors().write(out, rows, replace=True, ledger=ledger)
    assert dps.Release.open(out).to_numpy().shape == (200, 5) and len(ledger) == 1


def test_whole_numbers_are_refused_by_name():
    rows = np.random.default_rng(0).uniform(-1, 1, (20, 8))
    one, person = dps.Adjacency.attribute(beta=1), dps.Adjacency.replace_row(bound=3)
    vectors = dps.Vectors(d=8, k=4, adjacency=one, bound=1, epsilon=8, delta=1e-6)
    release = vectors.release(rows)
    covariance = dps.Covariance(d=8, adjacency=person, epsilon=8, delta=1e-6).release(rows)
    asked = {
        "i": lambda x: release.distance(x, 0),
        "j": lambda x: release.distance(0, x),
        "top": lambda x: release.search(rows=[0], top=x),
        "k": lambda x: covariance.pca(x),
        "target": lambda x: covariance.regression(x),
        "alpha": lambda x: dps.Adjacency.set_items(alpha=x, min_size=3),
        "min_size": lambda x: dps.Adjacency.set_items(alpha=1, min_size=x),
        "runs": lambda x: dps.compose([(release.guarantee, x)], delta=1e-5),
        "height": lambda x: dps.Groups.grid(x, 4, cell=2),
        "insecure_test_noise": lambda x: vectors.release(rows, insecure_test_noise=x),
        "rows": lambda x: (release.search(rows=[x]), dps.Adjacency.user(x, person)),
    }
    for name, ask in asked.items():
        for bad in (-1, 2**64, 0.5):
            with pytest.raises(dps.errors.ParameterError, match=f"{name} = ") as error:
                ask(bad)
            assert error.value.parameter == name
    with pytest.raises(dps.errors.ParameterError, match="rows = 2.9"):
        dps.Adjacency.user(2.9, person)


def said(work):
    """All that an exception holds."""
    with pytest.raises(Exception) as caught:
        work()
    error, words = caught.value, []
    while error is not None:
        words += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__
    return " ".join(words)


def test_no_exception_repeats_data_in_the_place_of_a_parameter(rows):
    secret = np.full((3, 2), 0.123456789)
    release = dps.Vectors(d=12, k=4, adjacency=ONE, bound=1.0, epsilon=1.0, delta=1e-6).release(rows)
    for work in (
        lambda: release.search(rows=secret),
        lambda: release.distance(secret, 1),
        lambda: release.search(rows=secret.tolist()),
        lambda: dps.Vectors(d=12, k=4, adjacency=ONE, bound=secret, epsilon=1.0, delta=1e-6),
        lambda: dps.Vectors(d=secret, k=4, adjacency=ONE, bound=1.0, epsilon=1.0, delta=1e-6),
        lambda: dps.Sets(adjacency=ITEMS, epsilon=2.0, delta=0.0).release([["Alice Smith\ud800"]]),
    ):
        words = said(work)
        assert "0.1234" not in words and "Alice" not in words, words


def test_what_a_producer_says_of_values_is_not_repeated(tmp_path):
    csv = pytest.importorskip("pyarrow.csv")
    file = tmp_path / "x.csv"
    file.write_text("a,b\n" + "0.5,0.25\n" * 200_000 + "Alice Smith,0.5\n")
    vectors = dps.Vectors(d=2, k=2, adjacency=ONE, bound=1.0, epsilon=1.0, delta=1e-6)
    assert "Alice" not in said(lambda: vectors.release(csv.open_csv(file)))


def test_what_a_producer_says_before_its_first_batch_is_not_repeated(tmp_path):
    class Producer:
        def __init__(self, error):
            self.error = error

        def __arrow_c_stream__(self, schema=None):
            raise self.error

    pandas = pytest.importorskip("pandas")
    vectors = dps.Vectors(d=2, k=2, adjacency=ONE, bound=1.0, epsilon=1.0, delta=1e-6)
    mixed = pandas.DataFrame({"a": pandas.Series([0.5, "Alice Smith"], dtype=object), "b": [0.5, 0.5]})
    for bad in (mixed, Producer(ValueError("Alice Smith")), Producer(RuntimeError("Alice Smith"))):
        for work in (vectors.release, lambda bad: vectors.write(tmp_path / "out.dps", bad)):
            with pytest.raises(dps.errors.DataError, match="producer failed"):
                work(bad)
            assert "Alice" not in said(lambda: work(bad))
    for error in (KeyboardInterrupt(), MemoryError(), ImportError("no pyarrow")):
        with pytest.raises(type(error)):
            vectors.release(Producer(error))


def test_columns_beyond_32_bits_are_no_others():
    sparse = pytest.importorskip("scipy.sparse")
    vectors = dps.Vectors(d=3, k=2, adjacency=ONE, bound=1.0, epsilon=1.0, delta=1e-6)
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices = matrix.indices.astype(np.int64) + 2**32
    with pytest.raises(dps.errors.DataError, match="no column"):
        vectors.release(matrix)
