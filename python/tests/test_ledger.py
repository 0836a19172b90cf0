"""A ledger pays last, and for nothing that failed."""

import _thread
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dps
from conftest import ONE, PERSON, vectors


@pytest.fixture
def ledger(tmp_path):
    return dps.Ledger.create(
        tmp_path / "ledger", data="rows of a test", adjacency=ONE, epsilon=20, delta=1e-5
    )


def test_releases_are_paid_once_each_until_the_limit(tmp_path, rows, ledger):
    vectors().release(rows, ledger=ledger, label="first")
    vectors().write(tmp_path / "second.dps", rows, ledger=ledger)
    shown = ledger.show()
    assert [entry["epsilon"] for entry in shown["entries"]] == [8, 8]
    assert shown["entries"][0]["release"] == "first" and len(ledger) == 2
    assert shown["spent"]["pld"] < shown["spent"]["basic"] <= 16
    with pytest.raises(dps.errors.BudgetExceededError):
        vectors().release(rows, ledger=ledger)
    with pytest.raises(dps.errors.BudgetExceededError):
        vectors().write(tmp_path / "third.dps", rows, ledger=ledger)
    with pytest.raises(dps.errors.BudgetExceededError):
        ledger.check(vectors().guarantee)
    assert len(ledger) == 2 and not (tmp_path / "third.dps").exists()


def test_parts_of_the_rows_cost_what_the_worst_costs(tmp_path, rows, ledger):
    def of(name, by="row"):
        return ledger.part("regions", name, by=by)

    vectors().release(rows[:10], ledger=of("north"), label="one region")
    alone = ledger.show()["spent"]["basic"]
    vectors().write(tmp_path / "south.dps", rows[10:30], ledger=of("south"))
    ledger.part("regions", "west", by="row").add(vectors().release(rows[30:]), label="elsewhere")
    shown = ledger.show()
    assert shown["entries"][0]["part"] == {"partition": "regions", "name": "north", "by": "by-row"}
    assert shown["spent"]["basic"] == alone and "nobody checked" in shown["parts"]
    assert "nobody checked" in json.loads(ledger.to_exchange())["reason"]
    # What is of one part, and what is of all rows, adds up.
    of("south").record(vectors().release(rows), label="happened")
    assert ledger.show()["spent"]["basic"] > 1.9 * alone
    of("north").check(vectors().guarantee)
    for full in (of("south"), ledger, of("north", by="unit")):
        with pytest.raises(dps.errors.BudgetExceededError):
            full.check(vectors().guarantee)
        with pytest.raises(dps.errors.BudgetExceededError):
            vectors().release(rows, ledger=full)
    assert len(ledger) == 4
    for partition, name, by in [("regions", "North", "row"), ("", "north", "row"), ("regions", "north", "rows")]:
        with pytest.raises(dps.errors.ParameterError):
            ledger.part(partition, name, by=by)


def test_the_command_line_reads_parts_as_python_writes_them(command, tmp_path, rows, ledger):
    for name in ("north", "south"):
        vectors().release(rows, ledger=ledger.part("regions", name, by="row"))
    shown = json.loads(command("ledger", "show", ledger.path, "--json"))
    assert shown["spent_epsilon"] == 8 and "by a key of the row" in shown["entries"][0]["part"]
    with pytest.raises(dps.errors.ParameterError, match="no noise hides"):
        vectors().release(rows, ledger=ledger.part("regions", "west", by="content"))


def test_users_with_rows_in_every_part_are_refused(tmp_path, rows):
    users = dps.Adjacency.user(2, ONE)
    ledger = dps.Ledger.create(tmp_path / "users", data="rows", adjacency=users, epsilon=20, delta=0)
    mechanism = vectors(adjacency=users, noise="laplace", epsilon=9, delta=0)
    release, out = mechanism.release(rows), tmp_path / "out.dps"
    for by in ["row", "content"]:
        north = ledger.part("regions", "north", by=by)
        for pay in [
            lambda: north.check(mechanism.guarantee),
            lambda: north.declare(release.guarantee, label="a file"),
            lambda: north.add(release, label="a file"),
            lambda: north.record(release, label="a file"),
            lambda: mechanism.release(rows, ledger=north),
            lambda: mechanism.write(out, rows, ledger=north),
        ]:
            with pytest.raises(dps.errors.ParameterError, match="in every other part.*say unit"):
                pay()
    assert len(ledger) == 0 and not out.exists()
    ledger.part("regions", "north", by="unit").add(release, label="whole users")
    assert ledger.show()["spent"]["basic"] == pytest.approx(9)
    # Of one row each the ledger counts as many parts as its unit has rows.
    ledger.part("years", "first", by="row").check(vectors(noise="laplace", epsilon=1, delta=0).guarantee)


def test_what_is_refused_costs_nothing(tmp_path, rows, ledger):
    with pytest.raises(dps.errors.DataError):
        vectors().release(rows * 100, ledger=ledger)
    with pytest.raises(dps.errors.DataError):
        vectors().write(tmp_path / "out.dps", rows * 100, ledger=ledger)
    with pytest.raises(dps.errors.MismatchError):
        vectors(adjacency=PERSON).release(rows, ledger=ledger)
    with pytest.raises(dps.errors.ParameterError):
        vectors().release(rows, ledger=ledger, insecure_test_noise=1)

    def broken(done, total):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        vectors().release(rows, ledger=ledger, progress=broken)
    with pytest.raises(RuntimeError, match="stop"):
        vectors().write(tmp_path / "out.dps", rows, ledger=ledger, progress=broken)
    assert len(ledger) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger"]


def test_a_release_of_elsewhere_is_added_or_recorded(rows, ledger):
    release = dps.Release.from_bytes(vectors().release(rows).to_bytes())
    ledger.add(release, label="from elsewhere")
    assert len(ledger) == 1
    with pytest.raises(dps.errors.MismatchError):
        ledger.add(release, label="again")


def test_what_has_happened_is_recorded_past_the_limit_with_a_warning(rows, ledger):
    for _ in range(2):
        ledger.record(vectors().release(rows), label="happened")
    shown = ledger.show()
    assert not shown["passed"] and "2 were entered after they had happened" in shown["answers_hold"]
    with pytest.warns(UserWarning, match="PASSED"):
        ledger.record(vectors().release(rows), label="too much")
    assert len(ledger) == 3
    shown = ledger.show()
    assert shown["passed"] and "promises nothing any more" in shown["answers_hold"]


def test_declared_guarantees_enter_by_name(ledger):
    profile = dps.Profile("pure-dp", epsilon=1.0)
    given = dps.Guarantee.declared(ONE, 1, 0, profile, by="others", reason="their paper")
    ledger.declare(given, label="others", runs=3)
    assert ledger.show()["entries"][0]["runs"] == 3
    assert "others" in repr(ledger.show()["entries"][0]["release"])


def test_ledgers_are_not_started_over_and_broken_ones_refused(tmp_path, ledger):
    with pytest.raises(dps.errors.LedgerError):
        dps.Ledger.create(ledger.path, data="x", adjacency=ONE, epsilon=1, delta=0)
    with pytest.raises(dps.errors.FileAccessError):
        dps.Ledger(tmp_path / "nowhere")
    (tmp_path / "broken").write_text("no ledger\n")
    with pytest.raises(dps.errors.LedgerError):
        dps.Ledger(tmp_path / "broken")


def test_progress_reaches_the_end(rows):
    seen = []
    vectors().release(rows, progress=lambda done, total: seen.append((done, total)))
    assert seen and all(done <= total for done, total in seen)


def test_other_threads_run_while_a_release_is_made():
    big = np.zeros((60_000, 256))
    mechanism = vectors(d=256, k=64, family="gaussian")
    counted, going = [0], True

    def count():
        while going:
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    mechanism.release(big)
    during = counted[0] - before
    going = False
    thread.join()
    assert during > 3


INTERRUPTED = """
import sys, numpy as np, dps
one = dps.Adjacency.attribute(beta=1)
mechanism = dps.Vectors(d=64, k=64, adjacency=one, bound=1, epsilon=8, delta=1e-6, family="gaussian")
rows = np.zeros((20_000, 64))
def parts():
    import pyarrow as pa
    batch = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 64)}).to_batches()[0]
    schema = batch.schema
    def forever():
        while True:
            yield batch
    return pa.RecordBatchReader.from_batches(schema, forever())
source = parts()
print("begin", flush=True)
try:
    mechanism.write(sys.argv[2], source, ledger=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(0)
"""


def test_an_interrupt_while_the_last_part_is_made_costs_nothing(tmp_path, ledger):
    rows, out = np.full((8192, 1024), 0.5), tmp_path / "out.dps"
    mechanism = vectors(d=1024, k=1024, family="gaussian")
    # One part: nobody is asked while it is projected, which takes longer than this.
    soon = lambda done, total: threading.Timer(0.03, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        mechanism.write(out, rows, ledger=ledger, progress=soon)
        time.sleep(10)
    assert not out.exists() and len(ledger) == 0


def test_a_ledger_without_entries_is_a_ledger(ledger, rows):
    assert len(ledger) == 0 and bool(ledger)
    vectors().release(rows, ledger=ledger if ledger else None)
    assert len(ledger) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupts_leave_nothing_half_and_cost_nothing(tmp_path, ledger):
    pytest.importorskip("pyarrow")
    out = tmp_path / "out.dps"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, ledger.path, str(out)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert rest == "interrupted\n" and process.returncode == 0
    assert not out.exists() and len(ledger) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger"]


def test_a_stream_goes_on_only_where_its_ledger_holds_the_payment(tmp_path, rows):
    everything = dps.Adjacency.zero_row(bound=1)
    path, journal = tmp_path / "paying", tmp_path / "journal"
    ledger = dps.Ledger.create(path, data="rows", adjacency=everything, epsilon=6, delta=1e-5)
    window = lambda epsilon: dps.Window(
        d=12, window=64, adjacency=everything, epsilon=epsilon, delta=1e-6
    )
    with pytest.raises(dps.errors.BudgetExceededError):
        window(7).stream(journal=journal, ledger=ledger)
    assert not journal.exists() and len(ledger) == 0
    window(5).stream(journal=journal, ledger=ledger, label="weeks")
    assert len(ledger) == 1 and ledger.show()["entries"][0]["release"].startswith("weeks")
    with pytest.raises(dps.errors.DataError, match="ledger"):
        dps.Stream.resume(journal)
    other = dps.Ledger.create(
        tmp_path / "other", data="rows", adjacency=everything, epsilon=9, delta=1e-5
    )
    with pytest.raises(dps.errors.DataError, match="another ledger"):
        dps.Stream.resume(journal, ledger=other)
    stream = dps.Stream.resume(journal, ledger=ledger)
    assert len(ledger) == 1 and len(other) == 0
    stream.push(rows[:64])
    stream.release()
    # A copy of the ledger from before the payment, put back.
    old = tmp_path / "old"
    old_ledger = dps.Ledger.create(old, data="rows", adjacency=everything, epsilon=6, delta=1e-5)
    copy = old.read_bytes()
    window(5).stream(journal=tmp_path / "second", ledger=old_ledger)
    started = (tmp_path / "second").read_bytes()
    old.write_bytes(copy)
    # Nothing is out: it pays now, once.
    dps.Stream.resume(tmp_path / "second", ledger=old_ledger)
    assert len(old_ledger) == 1
    second = dps.Stream.resume(tmp_path / "second", ledger=old_ledger)
    second.push(rows[:64])
    del second
    old.write_bytes(copy)
    with pytest.raises(dps.errors.DataError, match="does not hold its payment"):
        dps.Stream.resume(tmp_path / "second", ledger=old_ledger)
    assert started != (tmp_path / "second").read_bytes()
    window(5).stream(journal=tmp_path / "unpaid")
    with pytest.raises(dps.errors.DataError, match="without a ledger"):
        dps.Stream.resume(tmp_path / "unpaid", ledger=other)
    dps.Stream.resume(tmp_path / "unpaid")


def test_a_stream_of_the_command_line_is_not_taken_up(tmp_path, rows, command):
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header=",".join("abcdefghijkl"), comments="")
    journal = tmp_path / "journal"
    command(
        *["window", tmp_path / "rows.csv", "--out", tmp_path / "ticks", "--journal", journal],
        *["--window", 64, "--adjacency", "zero-row", "--norm-bound", 1],
        *["--epsilon", 5, "--delta", 1e-6],
    )
    with pytest.raises(dps.errors.DataError, match="another program"):
        dps.Stream.resume(journal)


def test_a_ledger_is_the_same_file_in_every_folder(tmp_path, rows, monkeypatch):
    made = {}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        made[name] = dps.Ledger.create("budget", data=name, adjacency=ONE, epsilon=20, delta=1e-5)
    monkeypatch.chdir(tmp_path / "b")
    vectors().release(rows, ledger=made["a"])
    again = pickle.loads(pickle.dumps(made["a"]))
    vectors().release(rows, ledger=again)
    assert (len(made["a"]), len(made["b"]), len(again)) == (2, 0, 2)
