"""What a distributed engine does to a release, in a cluster of two worker processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dps
import dps.spark

COLUMNS = [f"x{j}" for j in range(6)]
ONE = dps.Adjacency.attribute(beta=1)
PERSON = dps.Adjacency.replace_row(bound=3)
KINDS = {
    "sketch": dps.Vectors(d=6, k=4, adjacency=ONE, bound=1, epsilon=2, delta=1e-6, seed=1),
    "averaged": dps.Vectors(
        d=6, k=4, adjacency=dps.Adjacency.row_shift(l2=1), bound=1, epsilon=2, delta=1e-6, calibration="averaged"
    ),
    "units": dps.Units(d=6, k=4, adjacency=dps.Adjacency.row_shift(l2=1), epsilon=4, family="gaussian", seed=1),
    "signs": dps.Signs(d=6, bits=5, adjacency=ONE, bound=1, epsilon=2, delta=0, seed=1),
    "sets": dps.Sets(
        adjacency=dps.Adjacency.set_items(alpha=1, min_size=2), k=8, symbols=2, epsilon=2, delta=0, seed=1
    ),
    "covariance": dps.Covariance(d=6, adjacency=PERSON, epsilon=1, delta=1e-6),
    "moments": dps.Covariance(d=6, adjacency=PERSON, epsilon=1, delta=1e-6, means=True),
}
RELEASES = {
    "averaged": dps.spark.sketch, "units": dps.spark.sketch, "moments": dps.spark.covariance,
}


def columns_of(kind):
    return ["items"] if kind == "sets" else COLUMNS


def planned(data, place, kind="sketch", parts=5, **more):
    place.mkdir(exist_ok=True)
    return dps.spark.Job.plan(
        data,
        KINDS[kind],
        columns=columns_of(kind),
        staging=place / "staging",
        key=place / "key",
        parts=parts,
        block_rows=more.pop("block_rows", 128),
        **more,
    )


def ledger(place):
    place.mkdir(exist_ok=True)
    return dps.Ledger.create(place / "ledger", data="rows", adjacency=ONE, epsilon=10, delta=1e-4)


def charges(held):
    return [entry["release"] for entry in held.show()["entries"]]


def with_key_of(job, place):
    """The same manifest and key for another run: what a test alone may do."""
    place.mkdir()
    (place / "staging").mkdir(mode=0o700)
    for name in ("manifest.json", "job.json"):
        os.link(job._staging / name, place / "staging" / name)
    key = place / "key"
    key.write_bytes(job._key.read_bytes())
    key.chmod(0o600)
    return dps.spark.Job(place / "staging", key=key)


def in_one_process(job, place):
    """The release that this process makes alone, in one part and backwards in three."""
    found = []
    for name, of in (("one", 1), ("three", 3)):
        twin = with_key_of(job, place / name)
        parts = []
        for i in range(of, 0, -1):
            out = twin._staging / f"own-{i}.part"
            twin._parts.make(
                dps._dps.Mechanism(*twin._recipe),
                twin._d,
                twin._parts.part(i, of),
                out,
                dps.spark._reader(twin._columns, twin._d is None),
            )
            parts.append(str(out))
        out = place / f"{name}.dps"
        dps._dps.parts_merge(twin._staging / "manifest.json", twin._key, parts, out)
        found.append(out.read_bytes())
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_cluster_gives_the_bits_of_one_process(spark, data, tmp_path, kind):
    job = planned(data, tmp_path / "job", kind)
    (tmp_path / "alone").mkdir()
    alone = in_one_process(job, tmp_path / "alone")
    for parts in (2, 7):
        twin = with_key_of(job, tmp_path / f"split-{parts}")
        twin._of = parts
        out = twin.run(spark, tmp_path / f"{parts}.dps")
        assert out.read_bytes() == alone
        assert not twin._staging.exists()
    release = dps.Release.open(tmp_path / "2.dps")
    release.verify()
    assert json.loads(release._core.certificate())["generator"] == "release-key-chacha12"


def attempts(job, before):
    """A frame whose workers call `before(part, attempt)` first."""
    run = dps.spark._task(
        str(job._staging), str(job._key), None, job._recipe, job._columns, job._d, job._of
    )

    def make(batches):
        from pyspark import TaskContext

        def watched():
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    before(part, TaskContext.get().attemptNumber())
                yield batch

        yield from run(watched())

    return make


def action(job, spark, before):
    numbers = spark.range(1, job._of + 1, 1, job._of)
    return numbers.mapInArrow(attempts(job, before), "part long").collect()


def events(cluster):
    texts = [path.read_text() for path in cluster.events.rglob("*") if path.is_file()]
    return [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]


def test_an_executor_that_is_killed_in_a_task(cluster, spark, data, tmp_path):
    held = ledger(tmp_path / "job")
    job = planned(data, tmp_path / "job", parts=6, ledger=held, label="killed")
    (tmp_path / "alone").mkdir()
    alone = in_one_process(job, tmp_path / "alone")
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(part, attempt):
        (marks / f"{part}-{attempt}-{os.getpid()}").touch()
        if part == 3 and attempt == 0:
            # It has left its part, and has not said so.
            dps.spark.make_part(*work, part)
            time.sleep(600)

    work = (
        str(job._staging), str(job._key), None, job._recipe, job._columns, job._d, job._of
    )

    def kill():
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(marks.glob("3-0-*")):
            time.sleep(0.1)
        time.sleep(1)
        worker = int(next(marks.glob("3-0-*")).name.split("-")[2])
        executors = cluster.executors()
        above = worker
        while above not in executors and above > 1:
            above = int(Path(f"/proc/{above}/stat").read_text().rsplit(")", 1)[1].split()[1])
        assert above in executors
        killed.append(above)
        os.kill(above, signal.SIGKILL)

    killed = []
    thread = threading.Thread(target=kill)
    thread.start()
    rows = action(job, spark, slow)
    thread.join()
    assert killed and sorted(row.part for row in rows) == [1, 2, 3, 4, 5, 6]
    # Part 3 was made twice, by different processes.
    assert len(list(marks.glob("3-*"))) >= 2
    assert job.commit(tmp_path / "out.dps").read_bytes() == alone
    assert len(charges(held)) == 1


DRIVER = """
import os, signal, sys
import dps, dps.spark
sys.path.insert(0, os.path.dirname(sys.argv[2]))
import test_spark
from pathlib import Path
job = test_spark.planned(Path(sys.argv[3]), Path(sys.argv[1]), ledger=sys.argv[1] + "/ledger", label="driver")
print(job.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_driver_that_is_killed_after_reserving(spark, data, tmp_path):
    place = tmp_path / "job"
    held = ledger(place)
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER, str(place), __file__, str(data)], capture_output=True, text=True
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    identity = ran.stdout.strip()
    # Spent, and shown under its number.
    assert len(charges(held)) == 1 and identity in charges(held)[0]
    job = dps.spark.Job(place / "staging", key=place / "key")
    assert job.id == identity
    dps.Release.open(job.run(spark, tmp_path / "out.dps")).verify()
    assert len(charges(held)) == 1
    # Another query is another release, and paid for again.
    again = planned(data, tmp_path / "again", ledger=held)
    assert again.id != identity and len(charges(held)) == 2


def test_two_actions_on_one_manifest(spark, data, tmp_path):
    job = planned(data, tmp_path / "job")
    (tmp_path / "alone").mkdir()
    alone = in_one_process(job, tmp_path / "alone")
    frame = job.frame(spark)
    assert frame.count() == job._of
    first = {path.name: path.read_bytes() for path in job._staging.glob("*.part")}
    assert frame.count() == job._of
    assert {path.name: path.read_bytes() for path in job._staging.glob("*.part")} == first
    assert job.commit(tmp_path / "out.dps").read_bytes() == alone
    with pytest.raises((dps.errors.Error, OSError, FileNotFoundError)):
        job.commit(tmp_path / "two.dps")
    assert not (tmp_path / "two.dps").exists()


def test_a_changed_file_is_refused(spark, data, tmp_path):
    held = ledger(tmp_path / "job")
    job = planned(data, tmp_path / "job", ledger=held)
    changed = data / "1.parquet"
    bytes_before = changed.read_bytes()
    changed.write_bytes(bytes_before[:-200] + bytes([bytes_before[-200] ^ 1]) + bytes_before[-199:])
    with pytest.raises(Exception, match="changed since the manifest"):
        job.run(spark, tmp_path / "out.dps")
    assert not (tmp_path / "out.dps").exists()
    assert len(charges(held)) == 1
    # Every part that was made is of rows that were pinned.
    assert all((path.stat().st_mode & 0o777) == 0o600 for path in job._staging.glob("*.part"))


def test_no_row_has_two_noises(spark, data, tmp_path):
    """Staging and output together hold one noise a row: every row of every part is that of the output."""
    job = planned(data, tmp_path / "job", "sketch")
    job.frame(spark).count()
    parts = [job._staging / f"{i}-{job._of}.part" for i in range(1, job._of + 1)]
    held = b""
    for part in parts:
        raw = part.read_bytes()
        footer = int.from_bytes(raw[-40:-32], "little")
        held += raw[8 : len(raw) - 40 - footer]
    names = {path.name for path in job._staging.iterdir()}
    assert names == {"manifest.json", "job.json"} | {part.name for part in parts}
    out = dps.Release.open(job.commit(tmp_path / "out.dps"))
    assert np.array_equal(np.frombuffer(held).reshape(-1, 4), out.to_numpy())


def test_no_key_where_others_read(cluster, spark, data, tmp_path):
    job = planned(data, tmp_path / "job")
    digits = job._key.read_text().split()[5]
    assert len(digits) == 64
    frame = job.frame(spark)
    plans = frame._jdf.queryExecution().toString() + str(frame.schema)
    # What is shipped: the function with all it holds.
    import pyspark.cloudpickle as cloudpickle

    shipped = cloudpickle.dumps(
        dps.spark._task(str(job._staging), str(job._key), None, job._recipe, job._columns, job._d, job._of)
    )
    frame.repartition(3).count()
    settings = json.dumps(spark.sparkContext.getConf().getAll())
    job.commit(tmp_path / "out.dps")
    cluster.end_session()
    secrets = [digits.encode(), bytes.fromhex(digits)]
    texts = {"plans": plans.encode(), "shipped": shipped, "settings": settings.encode()}
    for folder in (cluster.events, cluster.local, cluster.logs, cluster.folder / "work"):
        texts |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    # What is searched can be read.
    logs = b"".join(text for name, text in texts.items() if str(cluster.events) in name)
    assert b"SparkListenerApplicationEnd" in logs and b"spark.io.encryption.enabled" in logs
    assert str(job._key).encode() in shipped
    for name, text in texts.items():
        assert not any(secret in text for secret in secrets), name
    assert not any(secret in (tmp_path / "job" / "key").read_bytes() for secret in secrets)


def test_forced_speculation(cluster, data, tmp_path):
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    session = cluster.session(**settings)
    job = planned(data, tmp_path / "job", parts=6)
    (tmp_path / "alone").mkdir()
    alone = in_one_process(job, tmp_path / "alone")
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(part, attempt):
        (marks / f"{part}-{attempt}").touch()
        if part == 6 and attempt == 0:
            time.sleep(8)

    action(job, session, slow)
    # Both attempts ran.
    assert (marks / "6-1").exists()
    assert job.commit(tmp_path / "out.dps").read_bytes() == alone
    assert any(
        event.get("Task Info", {}).get("Speculative") for event in events(cluster)
    )


@pytest.mark.parametrize("kind", ["sketch", "signs", "sets", "covariance"])
def test_releases_on_local_threads(cluster, data, tmp_path, kind):
    session = cluster.session(master="local[2]")
    release = RELEASES.get(kind, getattr(dps.spark, kind))
    held = dict(columns=columns_of(kind), staging=tmp_path / "staging", key=tmp_path / "key")
    out = release(session, data, KINDS[kind], tmp_path / "out.dps", **held)
    dps.Release.open(out).verify()
    with pytest.raises(TypeError):
        other = dps.spark.sets if kind != "sets" else dps.spark.sketch
        other(session, data, KINDS[kind], tmp_path / "x.dps", **held)
    assert "0" * 64 in (tmp_path / "key").read_text()


def test_sessions_that_do_not_encrypt_are_refused(cluster, data, tmp_path):
    session = cluster.session(master="local[1]", **{"spark.io.encryption.enabled": "false"})
    held = ledger(tmp_path / "job")
    with pytest.raises(dps.errors.ParameterError, match="in clear"):
        dps.spark.sketch(
            session,
            data,
            KINDS["sketch"],
            tmp_path / "out.dps",
            columns=COLUMNS,
            staging=tmp_path / "staging",
            key=tmp_path / "key",
            ledger=held,
        )
    assert charges(held) == [] and not (tmp_path / "key").exists()


def test_what_is_refused_costs_nothing(data, tmp_path):
    place = tmp_path / "job"
    held = ledger(place)
    unseeded = dps.Vectors(d=6, k=4, adjacency=ONE, bound=1, epsilon=2, delta=1e-6)
    for mechanism, columns, words in [
        (unseeded, COLUMNS, "seed"),
        (KINDS["sketch"], ["x0", "none"], "no column"),
        (KINDS["sketch"], [], "columns"),
        (KINDS["sets"], COLUMNS, "columns"),
    ]:
        with pytest.raises((dps.errors.Error, ValueError), match=words):
            dps.spark.Job.plan(
                data, mechanism, columns=columns, staging=place / "s", key=place / "k", parts=2, ledger=held
            )
        assert charges(held) == [] and not (place / "k").exists() and not (place / "s").exists()
    # A key that is there is not written over.
    (place / "k").write_text("something")
    with pytest.raises((dps.errors.Error, OSError)):
        dps.spark.Job.plan(
            data, KINDS["sketch"], columns=COLUMNS, staging=place / "s", key=place / "k", parts=2, ledger=held
        )
    assert charges(held) == [] and (place / "k").read_text() == "something"
