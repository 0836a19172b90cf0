"""Rows are never misread: every form of the same numbers gives the same release."""

import tempfile

import numpy as np
import pytest
import scipy.sparse

import dps
from conftest import ONE, PERSON, vectors
from dps._rows import prepared


def bits(data, **changed):
    return vectors(**changed).release(data, insecure_test_noise=5).to_numpy()


def misaligned(rows):
    """The same numbers, one byte off."""
    raw = np.zeros(rows.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(rows.shape)
    view[:] = rows
    assert not view.flags.aligned
    return view


def mapped(rows):
    with tempfile.TemporaryFile() as file:
        view = np.memmap(file, dtype=np.float64, shape=rows.shape)
    view[:] = rows
    return view


FORMS = {
    "fortran": np.asfortranarray,
    "transposed twice": lambda x: np.ascontiguousarray(x.T).T,
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "turned round": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "misaligned": misaligned,
    "read only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "a list": lambda x: x.tolist(),
    "a subclass": lambda x: x.view(type("Renamed", (np.ndarray,), {"__getitem__": lambda *_: 9.0})),
    "a memory map": mapped,
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_matrix,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_form_of_the_rows_gives_the_same_bits(rows, form):
    assert np.array_equal(bits(form(rows)), bits(rows))


def test_square_rows_in_fortran_order_are_not_their_transpose(rows):
    square = np.asfortranarray(rows[:12])
    expected = bits(np.ascontiguousarray(square))
    assert np.array_equal(bits(square), expected)
    assert not np.array_equal(bits(square.T), expected)


def test_arrays_in_c_order_are_not_copied(rows):
    assert prepared(rows) is rows or np.shares_memory(prepared(rows), rows)
    single = rows.astype(np.float32)
    assert np.shares_memory(prepared(single), single)
    csr = scipy.sparse.csr_array(rows)
    assert np.shares_memory(prepared(csr)[4], csr.data)


def test_numbers_of_other_types(rows):
    single = rows.astype(np.float32)
    assert np.array_equal(bits(single), bits(single.astype(np.float64)))
    ones = (rows > 0).astype(np.int64)
    for dtype in [np.bool_, np.uint8, np.int8, np.int32, np.uint64, np.float16]:
        assert np.array_equal(bits(ones.astype(dtype)), bits(ones.astype(np.float64))), dtype


WHOLE = [f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)]


def test_columns_and_lists_of_other_types_and_their_slices(rows):
    pa = pytest.importorskip("pyarrow")
    ones = rows > 0
    expected = ones.astype(np.float64)
    for dtype in [bool, *WHOLE, np.float16, np.float32, np.float64]:
        typed = ones.astype(dtype)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(typed.ravel()), 12)
        side_by_side = {f"x{j}": pa.array(typed[:, j]) for j in range(12)}
        for table in (pa.table(side_by_side), pa.table({"x": lists})):
            assert np.array_equal(bits(table), bits(expected)), dtype
            assert np.array_equal(bits(table.slice(3)), bits(expected[3:])), dtype


def test_sparse_rows_that_are_not_canonical(rows):
    csr = scipy.sparse.csr_matrix(
        (np.array([0.25, 0.25, 0.5]), np.array([3, 3, 1]), np.array([0, 3])), shape=(1, 12)
    )
    expected = np.zeros((1, 12))
    expected[0, [1, 3]] = 0.5
    assert np.array_equal(bits(csr), bits(expected))
    assert csr.nnz == 3, "the caller's matrix stays as it was"


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(12),
        np.zeros((2, 3, 12)),
        np.zeros((2, 12), dtype=complex),
        np.array([["a"] * 12]),
        np.array([[None] * 12]),
        np.array([[0.5] * 12], dtype=object),
        np.zeros((1, 12), dtype=np.longdouble),
        np.zeros((1,), dtype=[("x", float, 12)]),
        np.zeros((2, 0)),
        scipy.sparse.csr_matrix(np.full((1, 12), 2**60)),
        scipy.sparse.csr_matrix(np.zeros((1, 12), dtype=np.longdouble)),
        np.full((1, 12), np.datetime64("2020-01-01")),
        np.ma.masked_greater(np.ones((2, 12)), 0.5),
        np.full((1, 12), 2**60),
        np.full((2, 12), np.nan),
        np.full((2, 12), np.inf),
        np.full((2, 12), 1.5),
        np.zeros((2, 11)),
        "rows.csv",
        scipy.sparse.csr_matrix(np.full((1, 12), np.nan)),
    ],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')} {getattr(x, 'shape', '')}",
)
def test_what_is_no_row_is_refused(wrong):
    with pytest.raises(dps.errors.DataError) as caught:
        bits(wrong)
    assert "1.5" not in str(caught.value), "no private value"


def test_hidden_values_below_a_mask_that_hides_nothing(rows):
    assert np.array_equal(bits(np.ma.MaskedArray(rows)), bits(rows))


def test_nothing_is_released_where_there_is_no_row():
    for empty in [np.zeros((0, 12)), scipy.sparse.csr_matrix((0, 12)), [[]]]:
        with pytest.raises(dps.errors.Error):
            bits(empty)
    with pytest.raises(dps.errors.DataError):
        dps.Sets(adjacency=dps.Adjacency.set_items(1, 1), epsilon=1, delta=0).release([])


pa = pytest.importorskip("pyarrow")


def tables(rows):
    columns = pa.table({f"x{j}": rows[:, j] for j in range(rows.shape[1])})
    flat = pa.array(rows.ravel())
    lists = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    ragged = pa.ListArray.from_arrays(np.arange(0, rows.size + 1, rows.shape[1]), flat)
    padded = pa.FixedSizeListArray.from_arrays(
        pa.array(np.vstack([np.ones((3, 12)), rows]).ravel()), 12
    )
    yield "columns", columns
    yield "chunks", pa.Table.from_batches(columns.to_batches(max_chunksize=17))
    yield "a batch", columns.to_batches()[0]
    yield "a slice", pa.concat_tables([columns.slice(100), columns]).slice(100)
    yield "a reader", pa.RecordBatchReader.from_batches(
        columns.schema, iter(columns.to_batches(max_chunksize=33))
    )
    yield "lists of one length", pa.table({"x": lists})
    yield "lists", pa.table({"x": ragged})
    yield "a slice of lists", pa.table({"x": padded.slice(3)})


def test_every_form_of_arrow_gives_the_same_bits(rows):
    for name, table in tables(rows):
        assert np.array_equal(bits(table), bits(rows)), name


def test_frames_of_other_libraries(rows):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    names = [f"x{j}" for j in range(12)]
    assert np.array_equal(bits(pandas.DataFrame(rows, columns=names)), bits(rows))
    assert np.array_equal(bits(polars.DataFrame(rows, schema=names)), bits(rows))


def test_queries_of_duckdb(rows):
    duckdb = pytest.importorskip("duckdb")
    given = pa.table({f"x{j}": rows[:, j] for j in range(12)})  # noqa: F841
    assert np.array_equal(bits(duckdb.sql("select * from given order by x0")), bits(rows[rows[:, 0].argsort()]))


def test_arrow_in_every_mechanism_of_rows(rows):
    table = pa.Table.from_batches(
        pa.table({f"x{j}": rows[:, j] for j in range(12)}).to_batches(max_chunksize=17)
    )
    for mechanism in [
        dps.Signs(d=12, bits=12, adjacency=ONE, bound=1, epsilon=4, delta=0, seed=1),
        dps.Covariance(d=12, adjacency=PERSON, epsilon=1, delta=1e-6),
        dps.Directions(d=12, k=2, adjacency=PERSON, epsilon=1, delta=1e-6, seed=1),
        dps.Window(
            d=12,
            window=64,
            adjacency=dps.Adjacency.zero_row(1),
            epsilon=1,
            delta=1e-6,
        ),
    ]:
        ours = mechanism.release(table, insecure_test_noise=2).to_numpy()
        assert np.array_equal(ours, mechanism.release(rows, insecure_test_noise=2).to_numpy())


def long_table(rows):
    """Columns of several batches, longer than what is handed on at a time; their rows begin behind others."""
    columns = np.vstack([np.full((3, 12), 9.0), rows])
    table = pa.table({f"x{j}": columns[:, j].copy() for j in range(12)}).slice(3)
    return pa.Table.from_batches(table.to_batches(max_chunksize=9_000))


def signs_of_rows():
    return dps.Signs(d=12, bits=12, adjacency=ONE, bound=1, epsilon=4, delta=0, seed=1)


def test_long_tables_give_the_bits_of_rows(rows):
    long = np.resize(rows, (20_011, 12))
    for mechanism in [
        vectors(),
        vectors(family="gaussian"),
        signs_of_rows(),
        dps.Covariance(d=12, adjacency=PERSON, epsilon=1, delta=1e-6),
    ]:
        ours = mechanism.release(long_table(long), insecure_test_noise=2).to_numpy()
        assert np.array_equal(ours, mechanism.release(long, insecure_test_noise=2).to_numpy())


@pytest.mark.parametrize("value", [np.nan, -np.inf, 7.0])
def test_a_number_that_is_refused_is_named_and_costs_nothing(tmp_path, rows, value):
    long = np.resize(rows, (20_011, 12))
    long[17_500, 5] = value
    table, out = long_table(long), tmp_path / "out.dps"
    ledger = dps.Ledger.create(
        tmp_path / "ledger", data="rows of a test", adjacency=ONE, epsilon=20, delta=1e-5
    )
    tries = [
        lambda m=m: m.release(table, ledger=ledger)
        for m in [vectors(), vectors(family="gaussian"), signs_of_rows()]
    ]
    tries.append(lambda: vectors().write(out, table, ledger=ledger))
    if not np.isfinite(value):  # rows that are too long are scaled
        covariance = dps.Covariance(d=12, adjacency=PERSON, epsilon=1, delta=1e-6)
        tries.append(lambda: covariance.release(table))
    for attempt in tries:
        with pytest.raises(dps.errors.DataError, match="row 17500, column 5"):
            attempt()
    assert len(ledger) == 0 and not out.exists()


def test_arrow_that_holds_no_rows(rows):
    for column in [["a"] * 3, [1.0, None, 2.0], [1.0, float("nan"), 0.0]]:
        table = pa.table({f"x{j}": column for j in range(12)})
        with pytest.raises(dps.errors.DataError):
            bits(table)
    ragged = pa.table({"x": [[0.0] * 12, [0.0] * 11]})
    with pytest.raises(dps.errors.DataError):
        bits(ragged)
    with pytest.raises(dps.errors.DataError):
        bits(pa.table({"x": [0.5]}))
    with pytest.raises(dps.errors.DataError):
        bits(pa.table({f"x{j}": pa.array([], pa.float64()) for j in range(12)}))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("int64", 2**53 + 1), ("int64", -(2**53) - 1), ("uint64", 2**53 + 1), ("uint64", 2**64 - 1)],
)
def test_whole_numbers_that_would_be_rounded_are_refused(dtype, number):
    beyond = np.zeros((2, 12), dtype=dtype)
    beyond[1, 3] = number
    lists = pa.FixedSizeListArray.from_arrays(pa.array(beyond.ravel()), 12)
    for rows, name in [
        (pa.table({f"x{j}": beyond[:, j] for j in range(12)}), 'column "x3": '),
        (pa.table({"x": lists}), 'column "x": '),
        (beyond, "^"),
    ]:
        with pytest.raises(dps.errors.DataError, match=name + r"whole numbers beyond 2\^53") as caught:
            bits(rows)
        assert str(abs(number)) not in str(caught.value), "no private value"


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_up_to_there_are_beyond_the_bound_only(dtype):
    within = np.full((2, 12), 2**53, dtype=dtype)
    for rows in [pa.table({f"x{j}": within[:, j] for j in range(12)}), within]:
        with pytest.raises(dps.errors.DataError) as caught:
            bits(rows)
        assert "float64" not in str(caught.value)


def test_a_stream_that_breaks_releases_nothing(tmp_path, rows):
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(12)])
    batch = pa.table({f"x{j}": rows[:, j] for j in range(12)}).to_batches()[0]

    def breaking():
        yield batch
        raise RuntimeError("the source went away")

    reader = pa.RecordBatchReader.from_batches(schema, breaking())
    with pytest.raises(dps.errors.DataError):
        vectors().write(tmp_path / "out.dps", reader)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("said", [2**62, -1, "many", None])
def test_a_producer_that_says_a_wrong_number_of_rows_is_read_as_it_is(rows, said):
    class Producer:
        num_rows = said

        def __arrow_c_stream__(self, schema=None):
            return pa.table({f"x{j}": rows[:, j] for j in range(12)}).__arrow_c_stream__(schema)

    assert np.array_equal(bits(Producer()), bits(rows))
