"""Releases in parts without an engine: what workers of Spark run, in this process."""

import numpy as np
import pytest

import dps
import dps.spark
from conftest import ONE, vectors

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
COLUMNS = [f"x{j}" for j in range(12)]


@pytest.fixture
def data(rows, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    table = pa.table({"id": np.arange(len(rows))} | dict(zip(COLUMNS, rows.T)))
    for number in range(2):
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=70)
    return folder


def planned(data, place, mechanism=None, parts=3, **more):
    place.mkdir()
    more = {"block_rows": 32, "columns": COLUMNS, **more}
    return dps.spark.Job.plan(
        data,
        mechanism or vectors(),
        staging=place / "staging",
        key=place / "key",
        parts=parts,
        **more,
    )


def make(job, order):
    for i in order:
        dps.spark.make_part(
            str(job._staging), str(job._key), None, job._recipe, job._columns, job._d, job._of, i
        )


def test_parts_in_any_order_and_twice_are_one_release(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [3, 1, 2, 1])
    out = job.commit(tmp_path / "out.dps")
    release = dps.Release.open(out)
    release.verify()
    assert release.to_numpy().shape == (400, 5)
    # Equal rows of the two files have noises of their own.
    halves = release.to_numpy().reshape(2, 200, 5)
    assert not (halves[0] == halves[1]).any()
    assert not job._staging.exists() and "0" * 64 in job._key.read_text()
    # Nothing is left to make, and nothing else to publish.
    gone = dps.spark.Job(tmp_path / "job" / "staging", key=job._key)
    for ask in (lambda: gone.rows, lambda: gone.commit(tmp_path / "two.dps")):
        with pytest.raises((dps.errors.Error, OSError)):
            ask()
    assert not (tmp_path / "two.dps").exists()


def test_a_release_is_not_made_where_it_would_be_removed(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [1, 2, 3])
    for inside in [job._staging / "out.dps", job._staging / "x" / ".." / "out.dps"]:
        with pytest.raises(dps.errors.ParameterError, match="outside of the staging folder"):
            job.commit(inside)
    assert job.commit(tmp_path / "out.dps").exists()


def test_a_part_that_is_missing_publishes_nothing(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [1, 3])
    with pytest.raises(dps.errors.DataError, match="missing"):
        job.commit(tmp_path / "out.dps")
    assert not (tmp_path / "out.dps").exists()


def test_a_file_that_changed_is_refused(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [1])
    path = data / "1.parquet"
    path.write_bytes(path.read_bytes())
    with pytest.raises(dps.errors.Error, match="changed since"):
        make(job, [3])


def test_covariances_add_up(data, rows, tmp_path):
    adjacency = dps.Adjacency.replace_row(bound=1)
    mechanism = dps.Covariance(d=12, adjacency=adjacency, epsilon=1e6, delta=1e-6, means=True)
    job = planned(data, tmp_path / "job", mechanism)
    make(job, [2, 3, 1])
    release = dps.Release.open(job.commit(tmp_path / "out.dps"))
    # Next to no noise: every row was counted once.
    assert np.abs(release.to_numpy() - 2 * rows.T @ rows).max() < 0.01


def test_the_ledger_pays_when_the_manifest_is_made(data, tmp_path):
    ledger = dps.Ledger.create(
        tmp_path / "ledger", data="rows", adjacency=ONE, epsilon=10, delta=1e-5
    )
    job = planned(data, tmp_path / "job", ledger=ledger)
    entries = ledger.show()["entries"]
    assert len(entries) == 1 and job.id in entries[0]["release"]
    with pytest.raises(dps.errors.BudgetExceededError):
        planned(data, tmp_path / "again", ledger=ledger)
    assert not (tmp_path / "again" / "key").exists()
    make(job, [1, 2, 3])
    job.commit(tmp_path / "out.dps")
    assert len(ledger.show()["entries"]) == 1


def test_what_cannot_be_made_in_parts_costs_nothing(data, tmp_path):
    person = dps.Adjacency.replace_row(bound=1)
    for number, mechanism in enumerate(
        [
            vectors(seed=None),
            dps.Covariance(d=12, adjacency=person, epsilon=1, delta=1e-6, within=0.9),
            dps.Covariance(d=12, adjacency=person, epsilon=1, delta=1e-6, noise="wishart"),
            dps.IndividualSigns(d=12, bits=4, adjacency=ONE, bound=1, epsilon=1, delta=0, noise="response", seed=1),
        ]
    ):
        with pytest.raises(dps.errors.Error):
            planned(data, tmp_path / str(number), mechanism)
        assert not (tmp_path / str(number) / "key").exists()


def test_columns_that_do_not_fit_cost_nothing(data, rows, tmp_path):
    ledger = dps.Ledger.create(tmp_path / "ledger", data="rows", adjacency=ONE, epsilon=10, delta=1e-5)
    words = pa.table({"id": ["Alice Smith"] * 5} | dict(zip(COLUMNS, rows[:5].T)))
    parquet.write_table(words, data / "2.parquet")
    lists = pa.table({"x": pa.array(rows[:5, :7].tolist()), "items": [["a", 1.5]] * 0 + [[1.5]] * 5})
    (tmp_path / "lists").mkdir()
    parquet.write_table(lists, tmp_path / "lists" / "0.parquet")
    sets = dps.Sets(adjacency=dps.Adjacency.set_items(alpha=1, min_size=1), epsilon=2.0, delta=0.0, seed=1)
    for number, (folder, columns, mechanism) in enumerate(
        [
            (data, COLUMNS[:11], vectors()),
            (data, COLUMNS[:11] + ["id"], vectors()),
            (tmp_path / "lists", ["x"], vectors()),
            (tmp_path / "lists", ["items"], sets),
        ]
    ):
        with pytest.raises((dps.errors.Error, TypeError)) as error:
            planned(folder, tmp_path / str(number), mechanism, columns=columns, ledger=ledger)
        assert "Alice" not in str(error.value)
        assert not (tmp_path / str(number) / "key").exists()
    assert len(ledger) == 0


def test_folders_are_read_as_spark_reads_them(data, tmp_path):
    inside = data / "day=1"
    inside.mkdir()
    (data / "1.parquet").rename(inside / "1.parquet")
    for name in ("_temporary", ".staging"):
        (data / name).mkdir()
        (data / name / "0.parquet").write_bytes(b"no file yet")
    (data / "_part.parquet").write_bytes(b"no file yet")
    assert planned(data, tmp_path / "job").rows == 400
    inside.rename(data / "_day=1")
    assert planned(data, tmp_path / "hidden no more").rows == 400
    (data / "_day=1").rename(inside)
    for number in range(2):
        # A copy, or a link to it: its rows would be the same again.
        elsewhere = data / "backup" if number == 0 else data / "day=2"
        elsewhere.mkdir() if number == 0 else elsewhere.symlink_to(inside)
        with pytest.raises(dps.errors.DataError, match="no folder of a partition"):
            planned(data, tmp_path / f"elsewhere {number}")
        elsewhere.rmdir() if number == 0 else elsewhere.unlink()
    (data / "again.parquet").hardlink_to(inside / "1.parquet")
    with pytest.raises(dps.errors.DataError, match="twice"):
        planned(data, tmp_path / "twice")


@pytest.mark.parametrize("log", ["_delta_log", "_spark_metadata", ".hoodie", "metadata"])
def test_tables_with_a_log_are_not_read_as_folders(data, tmp_path, log):
    inside = data / "day=1"
    inside.mkdir()
    (data / "1.parquet").rename(inside / "1.parquet")
    (data / log).mkdir()
    (data / log / "v1.metadata.json").write_text("{}")
    # A part of the table is no better.
    for number, folder in enumerate((data, inside)):
        with pytest.raises(dps.errors.DataError, match="name the files") as refused:
            planned(folder, tmp_path / str(number))
        assert str(data) in str(refused.value)
        assert not (tmp_path / str(number) / "key").exists()
    assert planned([data / "0.parquet", inside / "1.parquet"], tmp_path / "named").rows == 400


@pytest.mark.parametrize("name", ["2.PARQUET", "2.parquet.gz", "part-00002", "2.csv"])
def test_visible_files_are_not_left_out(data, tmp_path, name):
    (data / "1.parquet").rename(data / name)
    with pytest.raises(dps.errors.DataError, match=name):
        planned(data, tmp_path / "job")
    assert not (tmp_path / "job" / "key").exists()


@pytest.mark.parametrize("wrong", [dict(parts=2.5), dict(parts="3"), dict(parts=0), dict(block_rows=2.5)], ids=str)
def test_parts_and_rows_of_blocks_are_counted_before_the_payment(data, tmp_path, wrong):
    ledger = dps.Ledger.create(tmp_path / "ledger", data="rows", adjacency=ONE, epsilon=10, delta=1e-5)
    with pytest.raises(dps.errors.ParameterError) as refused:
        planned(data, tmp_path / "job", ledger=ledger, **wrong)
    assert refused.value.parameter == next(iter(wrong)) and len(ledger) == 0
    assert not list((tmp_path / "job").iterdir())


def test_a_plan_that_cannot_be_written_leaves_no_folder(data, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(dps.spark.Path, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            planned(data, tmp_path / "job")
    assert not list((tmp_path / "job").iterdir())


def test_cleaning_up_can_be_repeated_and_hides_no_release(data, tmp_path, monkeypatch):
    job = planned(data, tmp_path / "job")
    make(job, [1, 2, 3])
    staging, out = job._staging, tmp_path / "out.dps"

    def fails(folder):
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(dps.spark.shutil, "rmtree", fails)
        with pytest.warns(UserWarning, match="the release is out"):
            assert job.commit(out) == out
    held = out.read_bytes()
    (left,) = [path for path in staging.parent.iterdir() if path.name.startswith(".staging.")]
    beside = staging.parent / ".staging.notes"
    beside.mkdir()
    for again in (job, dps.spark.Job(staging, key=job._key), dps.spark.Job(staging, key=job._key)):
        assert again.commit(out) == out and out.read_bytes() == held
        assert not left.exists() and not staging.exists() and beside.exists()
    # No session is asked for what is out.
    assert dps.spark.Job(staging, key=job._key).run(None, out) == out


def test_a_driver_killed_at_the_very_end_commits_again(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [1, 2, 3])
    staging, out = job._staging, tmp_path / "out.dps"
    parts = [str(dps.spark._part(staging, i, 3)) for i in (1, 2, 3)]
    dps.spark._dps.parts_merge(staging / dps.spark._MANIFEST, job._key, parts, out)
    held = out.read_bytes()
    other = tmp_path / "other.dps"
    with pytest.raises(dps.errors.Error, match="one key, one output"):
        dps.spark.Job(staging, key=job._key).commit(other)
    assert not other.exists()
    assert dps.spark.Job(staging, key=job._key).commit(out) == out
    assert out.read_bytes() == held and not staging.exists()


def test_files_without_rows_cost_nothing(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    parquet.write_table(pa.table({x: pa.array([], pa.float64()) for x in COLUMNS}), folder / "0.parquet")
    ledger = dps.Ledger.create(tmp_path / "l", data="a test", adjacency=ONE, epsilon=20, delta=1e-5)
    for place in ("first", "again"):
        with pytest.raises(dps.errors.DataError, match="no row"):
            planned(folder, tmp_path / place, ledger=ledger)
        assert not (tmp_path / place / "staging").exists() and len(ledger) == 0


def test_a_task_that_was_given_up_finds_no_folder(data, tmp_path):
    job = planned(data, tmp_path / "job")
    make(job, [1, 2, 3])
    job.commit(tmp_path / "out.dps")
    with pytest.raises((dps.errors.Error, OSError)):
        make(job, [2])
    # Neither the folder nor anything beside it is left.
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["key"]
