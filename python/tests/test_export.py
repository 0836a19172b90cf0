"""Tables that `dps export` writes load in other programs without code of their own."""

import numpy as np
import pytest

import dps
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


NAMED = 'who,"größe, cm","say ""x"""\n007,0.1,0.2\nZoë,0.3,0.4\n"x, y",0.5,0.6\n'
IDS = ["007", "Zoë", "x, y"]
COLUMNS = ["größe, cm", 'say "x"']


@pytest.fixture
def named(tmp_path, command):
    """Tables with ids of rows, and with names of columns."""
    (tmp_path / "t.csv").write_text(NAMED, encoding="utf-8")
    one = ["--epsilon", 1, "--delta", "1e-6", "--adjacency"]
    sketch = ["attribute", "--beta", 1, "--bound", 1, "-k", 2, "--keep-id", "who"]
    person = ["add-remove-row", "--norm-bound", 2, "--id", "who", "--keep-names"]
    releases = [("sketch", "r", sketch), ("covariance", "c", person)]
    for kind, name, options in releases:
        release = tmp_path / f"{name}.dps"
        command("release", kind, tmp_path / "t.csv", "--out", release, *one, *options)
        for end in ["csv", "arrow", "parquet"]:
            command("export", release, "--out", tmp_path / f"{name}.{end}")
    return tmp_path


def test_ids_are_read_in_python(named):
    release = dps.Release.open(named / "r.dps")
    assert release.ids() == IDS
    assert dps.Release.from_bytes(release.to_bytes()).ids() == IDS
    assert dps.Release.open(named / "c.dps").ids() is None
    damaged = (named / "r.dps").read_bytes().replace("Zoë\n".encode(), "Zoé\n".encode(), 1)
    with pytest.raises(dps.errors.Error):
        dps.Release.from_bytes(damaged)


def test_ids_and_names_of_columns_in_pandas(named):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    values = dps.Release.open(named / "r.dps").to_numpy()
    for frame in [pandas.read_parquet(named / "r.parquet"), pandas.read_feather(named / "r.arrow")]:
        assert frame["id"].tolist() == IDS
        assert np.array_equal(np.stack(frame["values"]), values)
    frame = pandas.read_csv(named / "r.csv", index_col="id")
    assert frame.index.tolist() == IDS
    assert np.array_equal(frame[["v0", "v1"]], values)
    frame = pandas.read_csv(named / "c.csv", index_col="row")
    assert frame.columns.tolist() == COLUMNS
    assert np.array_equal(frame, dps.Release.open(named / "c.dps").to_numpy())


def test_ids_and_names_of_columns_in_polars(named):
    polars = pytest.importorskip("polars")
    values = dps.Release.open(named / "r.dps").to_numpy()
    for frame in [polars.read_parquet(named / "r.parquet"), polars.read_ipc(named / "r.arrow")]:
        assert frame["id"].to_list() == IDS
        assert np.array_equal(np.array(frame["values"].to_list()), values)
    assert polars.read_csv(named / "r.csv")["id"].to_list() == IDS
    # Of doubled quotes in a header polars keeps both.
    assert polars.read_csv(named / "c.csv").columns[:2] == ["row", COLUMNS[0]]
