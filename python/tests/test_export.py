"""Tables that `dps export` writes load in other programs without code of their own."""

import numpy as np
import pytest

from conftest import vectors


@pytest.fixture
def tables(tmp_path, rows, command):
    """A release, and the same as a table in every format."""
    release = vectors().release(rows, insecure_test_noise=11)
    release.save(tmp_path / "r.dps")
    for end in ["csv", "npy", "arrow", "parquet"]:
        out = tmp_path / f"t.{end}"
        command("export", tmp_path / "r.dps", "--out", out, "--accept", "test-noise")
    return release.to_numpy(), tmp_path


def test_numpy(tables):
    expected, folder = tables
    assert np.array_equal(np.load(folder / "t.npy"), expected)
    text = np.loadtxt(folder / "t.csv", delimiter=",", skiprows=1)
    assert np.array_equal(text[:, 1:], expected)
    assert np.array_equal(text[:, 0], np.arange(len(expected)))


def test_pandas(tables):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    expected, folder = tables
    frame = pandas.read_parquet(folder / "t.parquet")
    assert np.array_equal(np.stack(frame["values"]), expected)
    assert np.array_equal(pandas.read_csv(folder / "t.csv", index_col="row"), expected)


def test_polars(tables):
    polars = pytest.importorskip("polars")
    expected, folder = tables
    for frame in [polars.read_parquet(folder / "t.parquet"), polars.read_ipc(folder / "t.arrow")]:
        assert np.array_equal(np.stack(frame["values"].to_list()), expected)


def test_duckdb(tables):
    duckdb = pytest.importorskip("duckdb")
    expected, folder = tables
    path = folder / "t.parquet"
    found = duckdb.sql(f"select values from '{path}' order by row").fetchall()
    assert np.array_equal([row[0] for row in found], expected)


def test_metadata(tables):
    parquet = pytest.importorskip("pyarrow.parquet")
    _, folder = tables
    about = parquet.read_schema(folder / "t.parquet").metadata
    assert len(about[b"dps.release.sha256"]) == 64
    assert b"dps.certificate" in about


def test_faiss(tables):
    faiss = pytest.importorskip("faiss")
    expected, folder = tables
    index = faiss.IndexFlatL2(expected.shape[1])
    index.add(np.load(folder / "t.npy").astype(np.float32))
    assert index.ntotal == len(expected)
