#!/usr/bin/env python3
"""Rounded Gaussian and Laplace samples from given random words, by mpmath.

    python3 tools/reference/rounded_noise_vectors.py > crates/dp-core/tests/data/rounded_noise.json

The first word's lowest bit is the sign (1: negative), its other 63 bits and the words after
it are the binary expansion of V; the sample is round(scale F(V) / 2^grid) with
Pr[|N(0,1)| > F(V)] = V, or F(V) = -ln V. "edge" cases have V within 2^-900 or so of a
rounding boundary, so that they need hundreds of bits. Needs mpmath.
"""

import json
import random
import struct

from mpmath import erfc, exp, floor, log, mp, mpf, nint, pi, sqrt

mp.prec = 1600
WORDS = 17
BITS = 64 * WORDS - 1


def survival(law, y):
    return erfc(y / sqrt(mpf(2))) if law == "gaussian" else exp(-y)


def quantile(law, v):
    if law == "laplace":
        return -log(v)
    with mp.workprec(60):
        lo, hi = mpf(0), mpf(40)
        for _ in range(60):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if survival(law, mid) > v else (lo, mid)
    z = lo
    for _ in range(7):
        z += (survival(law, z) - v) / (2 * exp(-z * z / 2) / sqrt(2 * pi))
    return z


def words(v, sign):
    bits = [(v >> (64 * (WORDS - 1 - i))) & (2**64 - 1) for i in range(WORDS)]
    bits[0] = bits[0] << 1 | sign
    return [f"{w:016x}" for w in bits]


def case(kind, law, scale, grid, v, sign, expected):
    steps = mpf(scale) / mpf(2) ** grid
    n = int(nint(steps * quantile(law, mpf(v) / 2**BITS)))
    assert expected is None or n == expected, (kind, law, scale, grid, n, expected)
    (bits,) = struct.unpack("<Q", struct.pack("<d", scale))
    return {"kind": kind, "law": law, "scale_bits": f"{bits:016x}", "grid": grid,
            "words": words(v, sign), "steps": -n if sign else n}


def main():
    rng = random.Random(20240607)
    cases = []
    settings = [(1.0, -30), (1.7, -30), (0.0123, -36), (3.3, 0), (1e9 / 7, 20), (2.5, -45), (1e-200, -700)]
    for law in ("gaussian", "laplace"):
        for scale, grid in settings:
            for _ in range(4):
                cases.append(case("plain", law, scale, grid, rng.getrandbits(BITS), rng.getrandbits(1), None))
            for zeros in (8, 12, 31, 34, 62, 90):
                cases.append(case("tail", law, scale, grid, rng.getrandbits(BITS - zeros) | 1, rng.getrandbits(1), None))
            top = min(40, int(mpf(scale) / mpf(2) ** grid * 3) + 1) if grid >= 0 else int(mpf(scale) / mpf(2) ** grid * 3)
            for _ in range(3):
                j = rng.randrange(0, top)
                boundary = int(floor(survival(law, mpf(2 * j + 1) / (2 * mpf(scale) / mpf(2) ** grid)) * 2**BITS))
                offset = rng.choice([2**200, 2**300, 2**560])
                # A larger V is a smaller magnitude.
                cases.append(case("edge", law, scale, grid, boundary + 1 + offset, rng.getrandbits(1), j))
                cases.append(case("edge", law, scale, grid, boundary - offset, rng.getrandbits(1), j + 1))
    lines = ",\n".join(json.dumps(c) for c in cases)
    print('{"source": "tools/reference/rounded_noise_vectors.py", "cases": [\n' + lines + "\n]}")


if __name__ == "__main__":
    main()
