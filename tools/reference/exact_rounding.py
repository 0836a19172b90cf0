#!/usr/bin/env python3
"""Exactly rounded samples from the same random bits as the library, by mpmath at 320 bits.

    python3 tools/reference/exact_rounding.py < requests.json > answers.json

A request names a law, its parameters, the number that keys the generator and the first of its streams; the answer is
the rounded sample in steps of the grid. The key stream is computed here (ChaCha with 12 rounds), and so is everything
else: nothing is shared with the library but the definition of the samples (docs/proofs/exact-rounding.md).
Needs mpmath.
"""

import json
import struct
import sys
from statistics import NormalDist

from mpmath import erfc, exp, floor, log, matrix, eigsy, mp, mpf, pi, sqrt

mp.prec = 320
MASK = 0xFFFFFFFF


def quarter(x, a, b, c, d):
    for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[p] = (x[p] + x[q]) & MASK
        t = x[r] ^ x[p]
        x[r] = (t << turn | t >> (32 - turn)) & MASK


def block(key, nonce, counter):
    """Eight 64-bit words of the key stream."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key),
             counter & MASK, counter >> 32, nonce & MASK, nonce >> 32]
    x = list(start)
    for _ in range(6):
        for i in range(4):
            quarter(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.unpack("<8Q", struct.pack("<16I", *[(a + b) & MASK for a, b in zip(x, start)]))


class Stream:
    def __init__(self, seed, nonce):
        self.key, self.nonce, self.blocks = struct.pack("<Q", seed) + bytes(24), nonce, {}

    def word(self, sample, index):
        place = sample if index == 0 else (sample + 1 << 32) + index - 1
        if place // 8 not in self.blocks:
            self.blocks[place // 8] = block(self.key, self.nonce, place // 8)
        return self.blocks[place // 8][place % 8]

    def uniform(self, sample, skip=0):
        value, bits = self.word(sample, 0) >> skip, 64 - skip
        for index in range(1, 6):
            value, bits = value << 64 | self.word(sample, index), bits + 64
        return (mpf(value) + mpf(1) / 2) / mpf(2) ** bits

    def normal(self, sample):
        z = quantile(self.uniform(sample, 1))
        return -z if self.word(sample, 0) & 1 else z


def quantile(v):
    """The y with erfc(y / sqrt 2) = v, for v below 1."""
    y = mpf(-NormalDist().inv_cdf(float(v) / 2)) if v < mpf("0.9999") else (1 - v) * sqrt(pi / 2)
    for _ in range(8):
        step = (erfc(y / sqrt(mpf(2))) - v) / (2 * exp(-y * y / 2) / sqrt(2 * pi))
        y += step
        if abs(step) < mpf(2) ** -160:
            return y
    raise ValueError(f"no quantile of {v}")


def steps(x, grid):
    x /= mpf(2) ** grid
    n = floor(x + mpf(1) / 2)
    assert abs(x - n) < mpf(1) / 2 - mpf(2) ** -150, "too close to a boundary for 320 bits"
    return int(n)


def chi_squared(stream, dof, first):
    if dof <= 32:
        return sum(stream.normal(first + i) ** 2 for i in range(dof))
    d = mpf(dof) / 2 - mpf(1) / 3
    while True:
        z, u = stream.normal(first), stream.uniform(first + 1)
        v = (1 + z / sqrt(9 * d)) ** 3
        if v > 0 and log(u) < z * z / 2 + d - d * v + d * log(v):
            return 2 * d * v
        first += 2


def wishart(r, nonce):
    d, dof, scale = r["dim"], r["dof"], mpf(r["scale"])
    rows = []
    for i in range(d):
        stream = Stream(r["seed"], nonce + i)
        rows.append([stream.normal(k) for k in range(i)] + [sqrt(chi_squared(stream, dof - i, i))])
    unit = mpf(2) ** r["exponent"]
    product = lambda i, j: sum(a * b for a, b in zip(rows[i], rows[j]))
    return [steps(int(r["totals"][i * d + j]) * unit + scale * product(i, j), r["grid"])
            for i in range(d) for j in range(i + 1)], d


def gram_rows(r, nonce):
    d, half = r["dim"], mpf(r["lift"]) / 2
    # The factor is the library's; that it is one of the matrix is checked here.
    lower = matrix(d, d)
    for i in range(d):
        for j in range(i + 1):
            lower[i, j] = mpf(int(r["lower"][i * d + j])) * mpf(2) ** r["unit"]
    with mp.workprec(1200):
        product = lower * lower.T
        rest = matrix(d, d)
        for i in range(d):
            for j in range(d):
                total = mpf(int(r["totals"][max(i, j) * d + min(i, j)])) * mpf(2) ** r["exponent"]
                rest[i, j] = total + (4 * half * half if i == j else 0) - product[i, j]
        rest /= half * half
        values, vectors = eigsy(rest)
        assert all(abs(v - 1) < mpf(2) ** -24 for v in values), "the rest is not near the identity"
        root = vectors * matrix([[sqrt(values[i]) if i == j else 0 for j in range(d)] for i in range(d)]) * vectors.T
    out, block = [], max(1, 4096 // (2 * d))
    for row in range(r["rows"]):
        if row % block == 0:
            stream = Stream(r["seed"], nonce + row // block)
        g = matrix([stream.normal(row % block * 2 * d + k) for k in range(2 * d)])
        y = lower * g[:d] + half * (root * g[d:])
        out += [steps(y[j], r["grid"]) for j in range(d)]
    return out, -(-r["rows"] // block)


def above(stream, sample, threshold):
    t = stream.uniform(sample) * erfc(mpf(threshold) / sqrt(mpf(2)))  # twice the upper tail
    return quantile(t) if t < 1 else -quantile(2 - t)


def truncated(r, nonce):
    return [steps(above(Stream(r["seed"], nonce), 0, r["threshold"]), r["grid"])], 1


def half_space(r, nonce):
    stream, x = Stream(r["seed"], nonce), [mpf(n) for n in r["direction"]]
    norm = sqrt(sum(n * n for n in x))
    g = [stream.normal(k) for k in range(len(x))]
    more = above(stream, len(x), r["threshold"]) - sum(a * b / norm for a, b in zip(g, x))
    return [steps(a + more * n / norm, r["grid"]) for a, n in zip(g, x)], 1


def unit_cap(r, nonce):
    stream, x = Stream(r["seed"], nonce), [mpf(n) for n in r["direction"]]
    norm, d = sqrt(sum(n * n for n in x)), len(x)
    g = [stream.normal(k) for k in range(d)]
    inside = stream.uniform(d + 1) < mpf(r["inside"])
    alpha = above(stream, d, r["threshold"]) if inside else -above(stream, d, -r["threshold"])
    more = alpha - sum(a * b / norm for a, b in zip(g, x))
    return [steps(a + more * n / norm, r["grid"]) for a, n in zip(g, x)], 1


def chi_square(r, nonce):
    return [steps(chi_squared(Stream(r["seed"], nonce), r["dof"], 0), r["grid"])], 1


LAWS = {"chi-square": chi_square, "wishart": wishart, "gram-rows": gram_rows, "truncated-normal": truncated,
        "half-space": half_space, "unit-cap": unit_cap}


def answer(r):
    out, nonce = [], 0
    for _ in range(r["draws"]):
        values, streams = LAWS[r["law"]](r, nonce)
        out += [str(v) for v in values]
        nonce += streams
    return out


def main():
    cases = [{**r, "steps": answer(r)} for r in json.load(sys.stdin)]
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


if __name__ == "__main__":
    main()
