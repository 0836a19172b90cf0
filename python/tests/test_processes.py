"""Processes: memory, forks, threads that write, exceptions in callbacks."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dps
from conftest import vectors

MEMORY = """
import re, sys
import numpy as np, dps
try:
    import pyarrow as pa
except ImportError:
    pa = None

def status(field):
    return int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024

n, d, k = 200_000, 100, 50
form = sys.argv[1]
if form != "array" and pa is None:
    print("skip")
    sys.exit()
one = dps.Adjacency.attribute(beta=1)
family = "gaussian" if form == "columns" else "oporp"
mechanism = dps.Vectors(d=d, k=k, adjacency=one, bound=1, epsilon=8, delta=1e-6, family=family, seed=1)
if pa is not None:
    # The first table imports pandas, if that is there.
    pa.table({"x": np.zeros(2)})
before = status("VmRSS")
rows = np.full((n, d), 0.5)
if form == "lists":
    rows = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), d)})
if form == "columns":
    rows = pa.table({f"x{j}": np.full(n, 0.5) for j in range(d)})
open("/proc/self/clear_refs", "w").write("5")
release = mechanism.release(rows)
more = status("VmHWM") - before - (n * d + n * k) * 8 / 2**20
view = np.asarray(release)
assert view.shape == (n, k) and not view.flags.writeable
assert status("VmHWM") - before - (n * d + n * k) * 8 / 2**20 < more + 1, "asarray copies"
print(more)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("form", ["array", "lists", "columns"])
def test_memory_is_input_and_output_and_64_mib(form):
    done = subprocess.run([sys.executable, "-c", MEMORY, form], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "skip":
        pytest.skip("pyarrow is not installed")
    assert float(done.stdout) < 64, done.stdout


def in_a_fork(work):
    """What `work` returned in a process that was forked."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=lambda: answers.put(work()))
    child.start()
    try:
        return answers.get(timeout=60)
    finally:
        child.kill()
        child.join()


@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_was_forked_releases_and_has_its_own_noise():
    rows = np.zeros((20_000, 64))
    mechanism = vectors(d=64, k=32, family="gaussian")
    mechanism.release(rows)  # the threads of this process are at work
    def numbers():
        return mechanism.release(rows[:2]).to_numpy()

    def work():
        big = mechanism.release(rows, insecure_test_noise=5).to_numpy().sum()
        return big, numbers(), in_a_fork(numbers)

    big, first, second = in_a_fork(work)
    assert big == mechanism.release(rows, insecure_test_noise=5).to_numpy().sum()
    assert not np.array_equal(first, second) and not np.array_equal(first, numbers())


@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_stream_does_not_go_on_in_a_copy_of_its_process(rows):
    stream = dps.Window(
        d=12, window=64, adjacency=dps.Adjacency.zero_row(bound=1), epsilon=2, delta=1e-6
    ).stream()
    stream.push(rows[:100])

    def refused():
        count = 0
        for call in [lambda: stream.push(rows[100:]), stream.release]:
            try:
                call()
            except dps.errors.Error:
                count += 1
        return count

    assert in_a_fork(refused) == 2
    stream.push(rows[100:])
    stream.release().verify()


def test_a_thread_that_writes_while_rows_are_released_breaks_nothing():
    """What is released then is anybody's guess: it is finite, and every later release is right."""
    rows = np.zeros((40_000, 64))
    mechanism = vectors(d=64, k=32, family="gaussian")
    going = True

    def write():
        value = 0.0
        while going:
            rows[:] = value = 1 - value

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(3):
            assert np.isfinite(mechanism.release(rows).to_numpy()).all()
    finally:
        going = False
        thread.join()
    rows[:] = 0.5
    again = mechanism.release(rows, insecure_test_noise=1).to_numpy()
    assert np.array_equal(again, mechanism.release(rows.copy(), insecure_test_noise=1).to_numpy())


def test_tqdm_shows_progress(rows):
    tqdm = pytest.importorskip("tqdm")
    with tqdm.tqdm(disable=None, file=open(os.devnull, "w")) as bar:

        def show(done, total):
            bar.total = total
            bar.update(done - bar.n)

        vectors().release(rows, progress=show)
        dps.Sets(adjacency=dps.Adjacency.set_items(1, 1), epsilon=1, delta=0).release(
            [["a", "b"]] * 50, progress=show
        )


def test_a_callback_that_is_no_callback_is_refused(rows):
    with pytest.raises(TypeError):
        vectors().release(rows, progress=3)
