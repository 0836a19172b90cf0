"""Speed and memory of the Python package beside Rust.

    cargo build --release -p sketch --example timed
    python tools/python/speed.py target/release/examples/timed

Rust and Python run in turn; each figure is the least of all rounds, and a ratio is Rust's time over Python's. Memory is the peak of a
process of its own above what it held after its imports, less input and output.
"""

import json
import subprocess
import sys
import time

import numpy as np

import dps

N, D, K, ROUNDS = 200_000, 256, 64, 5


def mechanism():
    one_value = dps.Adjacency.attribute(beta=1)
    return dps.Vectors(d=D, k=K, adjacency=one_value, bound=1, epsilon=8, delta=1e-6, seed=7)


def rows():
    return (np.arange(N * D, dtype=np.int64) * 7919 % 2003 / 1001 - 1).reshape(N, D)


def arrow(values):
    import pyarrow as pa

    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), D)
    table = pa.table({"x": lists})
    return pa.Table.from_batches(table.to_batches(max_chunksize=16_384))


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def memory(what):
    """In a process of its own: MiB beyond input and output at the peak."""

    def status(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

    if what == "arrow":
        import pyarrow  # noqa: F401
    before = status("VmRSS")
    values = rows()
    given = arrow(values) if what == "arrow" else values
    # What made the rows is not part of it.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    held = status("VmRSS")
    release = mechanism().release(given)
    peak = status("VmHWM")
    output = N * K * 8 / 2**20
    print(json.dumps({"input": held - before, "extra": peak - held - output}))
    assert release.kind == "vectors"


def main(binary):
    if binary.startswith("memory="):
        return memory(binary.removeprefix("memory="))
    values, ours = rows(), mechanism()
    table = arrow(values)
    best = {name: np.inf for name in ["rust", "numpy", "arrow", "rust search", "search"]}
    for _ in range(ROUNDS):
        done = subprocess.run(
            [binary, str(N), str(D), str(K), "2"], capture_output=True, text=True, check=True
        )
        release, search = map(float, done.stdout.split())
        best["rust"], best["rust search"] = min(best["rust"], release), min(best["rust search"], search)
        for _ in range(2):
            seconds, released = timed(lambda: ours.release(values))
            best["numpy"] = min(best["numpy"], seconds)
            seconds, _ = timed(lambda: released.search(rows=range(100), top=10))
            best["search"] = min(best["search"], seconds)
            seconds, _ = timed(lambda: ours.release(table))
            best["arrow"] = min(best["arrow"], seconds)
    print(f"n = {N}, d = {D}, k = {K}, least of {2 * ROUNDS} runs, seconds:")
    for name, seconds in best.items():
        rust = best["rust search"] if "search" in name else best["rust"]
        print(f"  {name:12s} {seconds:8.4f}   {100 * rust / seconds:6.1f} % of Rust's speed")
    for what in ["numpy", "arrow"]:
        done = subprocess.run(
            [sys.executable, __file__, f"memory={what}"], capture_output=True, text=True, check=True
        )
        print(f"  memory from {what}: {done.stdout.strip()} MiB")
    return None


if __name__ == "__main__":
    main(sys.argv[1])
