"""How fast Python is beside the Rust call, in one run: ``python speed.py TWIN [ROWS FEATURES NUMBERS [REPETITIONS]]``.

TWIN is ``target/release/examples/python_twin`` (``cargo build --release -p linalg-dp --example python_twin``). Both do each
task in turn, so that what else the machine does hits both; ratios are medians of the pairs' ratios, Rust by Python, of
the time on the clock and of the time of the processor (all threads), which other programs disturb less.
"""

import glob
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import dps

try:
    import pyarrow as pa
except ImportError:
    pa = None


def tasks(n, d, k):
    """What Python does, beside the name of the twin's task."""
    rows = ((np.arange(n * d) % 509) / 508 - 0.5).reshape(n, d)
    one = dps.Adjacency.attribute(beta=1)
    common = dict(d=d, adjacency=one, bound=1, seed=3)

    def vectors(family):
        return dps.Vectors(k=k, epsilon=8, delta=1e-6, family=family, **common)

    oporp, gaussian = vectors("oporp"), vectors("gaussian")
    signs = dps.Signs(bits=k, epsilon=8, delta=0, **common)
    person = dps.Adjacency.replace_row(bound=100)
    covariance = dps.Covariance(d=d, adjacency=person, epsilon=8, delta=1e-6)
    found, bits, asked = oporp.release(rows), signs.release(rows), range(min(n, 500))
    forms = {"array": rows}
    if pa is not None:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), d)
        forms["Arrow lists"] = pa.Table.from_batches(pa.table({"x": lists}).to_batches(16_384))
        columns = pa.table({f"x{j}": np.ascontiguousarray(rows[:, j]) for j in range(d)})
        forms["Arrow columns"] = pa.Table.from_batches(columns.to_batches(16_384))
    mechanisms = {"oporp": oporp, "gaussian": gaussian, "signs": signs, "covariance": covariance}
    for name, mechanism in mechanisms.items():
        for form, data in forms.items():
            yield name, form, lambda m=mechanism, x=data: m.release(x)
    yield "search", "vectors", lambda: found.search(rows=asked, top=10)
    yield "hamming", "signs", lambda: bits.search(rows=asked, top=10)


def processor(process):
    """Seconds that all threads of a process have run."""
    total = 0
    for path in glob.glob(f"/proc/{process}/task/*/schedstat"):
        with open(path) as file:
            total += int(file.read().split()[0])
    return total / 1e9


def compared(twin, n, d, k, repetitions):
    """Name, form, medians of both in seconds, and two ratios, of every task."""
    command = [twin, str(n), str(d), str(k)]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    with subprocess.Popen(command, **pipes) as process:

        def rust(name):
            before = processor(process.pid)
            process.stdin.write(name + "\n")
            process.stdin.flush()
            clock = float(process.stdout.readline())
            return clock, processor(process.pid) - before

        def python(run):
            before, begin = processor(os.getpid()), time.perf_counter()
            run()
            clock = time.perf_counter() - begin
            return clock, processor(os.getpid()) - before

        for name, form, run in tasks(n, d, k):
            pairs = []
            for turn in range(repetitions + 1):
                first = rust(name) if turn % 2 else None
                ours = python(run)
                pairs.append((*ours, *(rust(name) if first is None else first)))
            pairs = pairs[1:]  # the first one warms up
            clock, work, rust_clock, rust_work = map(list, zip(*pairs))
            ratios = [
                statistics.median(r / p for r, p in zip(theirs, ours))
                for theirs, ours in [(rust_clock, clock), (rust_work, work)]
            ]
            yield name, form, statistics.median(clock), statistics.median(rust_clock), *ratios
        process.stdin.close()


def main():
    twin, *numbers = sys.argv[1:]
    n, d, k, repetitions = [int(x) for x in numbers] + [20_000, 512, 128, 101][len(numbers) :]
    print(f"{n} x {d} doubles to {k}, {repetitions} pairs")
    print("| task | from | Python, ms | Rust, ms | Rust / Python, clock | processor |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, form, ours, theirs, ratio, work in compared(twin, n, d, k, repetitions):
        row = f"| {name} | {form} | {1e3 * ours:.1f} | {1e3 * theirs:.1f} | {ratio:.2f} | {work:.2f} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
