#!/usr/bin/env python3
"""The worst errors of dp-core's special functions over random arguments.

    python tools/reference/special_search.py crates/dp-core/tests/vectors

runs the example `special_functions` on them (fixed seed), compares with mpmath, prints the worst error
of each function and writes the worst arguments to special_search.json (some minutes).
"""
import json
import random
import subprocess
import sys
from pathlib import Path

import mpmath as mp

from profiles import chi2_cdf, digits, phi_cdf

KEPT = 8
LINEAR = {"erfcx", "mills_ratio", "mills_slope"}


def scaled_erfc(x):
    return mp.exp(x * x) * mp.erfc(x)


def mills(t):
    return mp.sqrt(mp.pi / 2) * scaled_erfc(t / mp.sqrt(2))


def binomial(n, p, j):
    """Probabilities of j, of at most j and of more, each summed from its own largest term."""
    p = mp.mpf(p)
    odds = p / (1 - p)
    mass = mp.exp(mp.loggamma(n + 1) - mp.loggamma(j + 1) - mp.loggamma(n - j + 1) + j * mp.log(p) + (n - j) * mp.log1p(-p))

    def total(first, i, step):
        term, sum_ = first, mp.mpf(0)
        while 0 <= i <= n:
            sum_ += term
            if term < sum_ * mp.mpf(10) ** -45 and (i - n * p) * step > 0:
                break
            term *= odds * (n - i) / (i + 1) if step > 0 else i / (odds * (n - i + 1))
            i += step
        return sum_

    above = total(mass * odds * (n - j) / (j + 1), j + 1, 1) if j < n else mp.mpf(0)
    return mass, total(mass, j, -1), above


def arguments(pick):
    """Name, arguments, reference."""
    def real(low, high):
        # Uniform near the origin, by magnitude beyond.
        return pick.uniform(low, min(high, 12)) if pick.random() < 0.7 else 10 ** pick.uniform(0, mp.log10(high))

    for _ in range(6000):
        x = float(real(-20, 1e8))
        with mp.workdps(30 if abs(x) < 50 else 60):
            yield "erfcx", [x], scaled_erfc(mp.mpf(x)) if x < 1e4 else mp.mpf(1) / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * mp.mpf(x) ** 2) + 3 / (4 * mp.mpf(x) ** 4) - 15 / (8 * mp.mpf(x) ** 6))
    for _ in range(6000):
        t = float(pick.uniform(3.5, 4.5) if pick.random() < 0.2 else real(-5, 1e4))
        with mp.workdps(60):
            m = mills(mp.mpf(t))
            yield "mills_ratio", [t], m
            yield "mills_slope", [t], 1 - mp.mpf(t) * m
    for _ in range(8000):
        x = pick.uniform(-100, 37) if pick.random() < 0.5 else pick.uniform(-6, 6)
        with mp.workdps(40):
            x_ = mp.mpf(x)
            yield "ln_normal_cdf", [x], mp.log(mp.erfc(-x_ / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x_ / mp.sqrt(2)) / 2)
    for _ in range(500):
        k = int(10 ** pick.uniform(0, 4.5 if pick.random() < 0.98 else 6))
        x = k + pick.uniform(-30, 30) * (2 * k) ** 0.5
        if x <= 0 or abs(x - k) > 300 * k:
            continue
        with mp.workdps(420 if x > k else 40):
            cdf = chi2_cdf(k, x)
            yield "ln_chi_square_cdf", [k, x], mp.log(cdf)
            yield "ln_chi_square_sf", [k, x], mp.log1p(-cdf)
    for _ in range(1500):
        n = int(10 ** pick.uniform(0, 4.3))
        p = pick.random() if pick.random() < 0.5 else 10 ** pick.uniform(-6, -0.3)
        j = min(n - 1, max(0, round(n * p + pick.uniform(-25, 25) * (n * p * (1 - p)) ** 0.5)))
        with mp.workdps(50):
            mass, lower, upper = binomial(n, p, j)
            for name, value in [("pmf", mass), ("cdf", lower), ("sf", upper)]:
                if value > mp.exp(-330) and 1 - value > 0:
                    yield "ln_binomial_" + name, [n, p, j], mp.log(value)


def main(out):
    rows = list(arguments(random.Random(103)))
    lines = "\n".join(" ".join([name, *map(repr, args)]) for name, args, _ in rows)
    command = ["cargo", "run", "--quiet", "--package", "dp-core", "--example", "special_functions"]
    got = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.split()
    worst = {}
    for (name, args, value), text in zip(rows, got, strict=True):
        error = abs(mp.mpf(text) - value)
        error = float(error / abs(value) if name in LINEAR else error)
        worst.setdefault(name, []).append((error, {"f": name, "args": args, "value": digits(value)}))
    kept = []
    for name, found in worst.items():
        found.sort(key=lambda pair: -pair[0])
        print(f"{name}: worst {found[0][0]:.2g} of {len(found)}, at {found[0][1]['args']}")
        kept += [row for _, row in found[:KEPT]]
    text = ",\n".join("  " + json.dumps(row) for row in kept)
    (Path(out) / "special_search.json").write_text('{"rows": [\n' + text + "\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1])
