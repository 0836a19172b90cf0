#!/usr/bin/env python3
"""Noise on one core: this library against numpy (insecure) and OpenDP (secure), in turn.

    python3 benches/peers/bench_3_noise.py [rounds]

    python3 benches/peers/bench_3_noise.py numpy_noise | opendp_noise

The second form measures one library and prints one JSON line a law.

Needs cargo, numpy and opendp. Every round measures all libraries once, one after
the other; the table shows the best round of each, because a busy machine only ever
makes a round slower. One JSON line a round goes to standard error.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
N = 1 << 16
OURS = {
    "gaussian": f"noise/gaussian/{N}",
    "laplace": f"noise/laplace/{N}",
    "chacha12 floor, 64-bit words": f"noise/chacha12-floor/{N}",
    "bernoulli bits, p = 0.269": f"noise/bernoulli-bits/{N}/0.269",
    "discrete gaussian, sigma 20": "noise/discrete-gaussian/1024/20",
}


def best(work, count, reps):
    """Largest rate over `reps` timed calls."""
    work()
    rate = 0.0
    for _ in range(reps):
        start = time.perf_counter()
        work()
        rate = max(rate, count / (time.perf_counter() - start))
    return rate


def ours():
    """Rates from criterion: work in one iteration over the least mean time of its samples."""
    names = "|".join(name.replace("/", ".") for name in OURS.values())
    command = ["cargo", "bench", "-q", "-p", "benches", "--bench", "noise", "--"]
    options = ["--warm-up-time", "0.2", "--measurement-time", "1", f"({names})$"]
    subprocess.run(command + options, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rates = {}
    for name, bench in OURS.items():
        group, function = bench.split("/", 1)
        path = ROOT / "target/criterion" / group / function.replace("/", "_") / "new/sample.json"
        sample = json.loads(path.read_text())
        seconds = min(t / n for t, n in zip(sample["times"], sample["iters"])) * 1e-9
        rates[name] = (1024 if "discrete" in name else N) / seconds
    return rates


def numpy_rates():
    import numpy as np

    generator, out = np.random.default_rng(0), np.empty(N)
    return {
        "gaussian": best(lambda: generator.standard_normal(out=out), N, 200),
        "laplace": best(lambda: generator.laplace(size=N), N, 200),
    }


def opendp_rates():
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    reals = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    integers = dp.vector_domain(dp.atom_domain(T=dp.i32))
    gaussian = dp.m.make_gaussian(reals, dp.l2_distance(T=float), scale=1.0)
    laplace = dp.m.make_laplace(reals, dp.l1_distance(T=float), scale=1.0)
    discrete = dp.m.make_gaussian(integers, dp.l2_distance(T=float), scale=20.0)
    count = 4000
    return {
        "gaussian": best(lambda: gaussian([0.0] * count), count, 5),
        "laplace": best(lambda: laplace([0.0] * count), count, 5),
        "discrete gaussian, sigma 20": best(lambda: discrete([0] * count), count, 5),
    }


def emit(library, rates):
    from importlib.metadata import version

    for law, rate in rates.items():
        line = {"lib": library, "version": version(library), "params": {"op": law}, "throughput": rate}
        print(json.dumps({**line, "unit": "samples/s", "contended": False}), flush=True)


def numpy_noise():
    emit("numpy", numpy_rates())


def opendp_noise():
    emit("opendp", opendp_rates())


def main():
    for case in (numpy_noise, opendp_noise):
        if sys.argv[1:] == [case.__name__]:
            return case()
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = "1"
    libraries = {"ours": ours, "numpy": numpy_rates, "opendp": opendp_rates}
    top = {library: {} for library in libraries}
    for index in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        for library, measure in libraries.items():
            rates = measure()
            print(json.dumps({"round": index, "library": library, "rates": rates}), file=sys.stderr)
            for name, rate in rates.items():
                top[library][name] = max(rate, top[library].get(name, 0.0))
    print("| samples a second, one core | ours | numpy | opendp | ours / numpy | ours / opendp |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, rate in top["ours"].items():
        peers = [top[library].get(name) for library in ("numpy", "opendp")]
        shown = [f"{p:.3g}" if p else "" for p in peers] + [f"{rate / p:.3g}" if p else "" for p in peers]
        print(f"| {name} | {rate:.3g} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    main()
