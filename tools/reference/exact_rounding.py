#!/usr/bin/env python3
"""Exactly rounded samples from the same random bits as the library, by ball arithmetic at 256 bits and more.

    python3 tools/reference/exact_rounding.py < requests.json > answers.json

A request names a law, its parameters, the number that keys the generator and the first of its streams; the answer is
the rounded sample in steps of the grid. The key stream is computed here (ChaCha with 12 rounds), and so is everything
else: nothing is shared with the library but the definition of the samples (docs/proofs/exact-rounding.md and
rounded-noise.md). Every number is a ball of FLINT that holds the real one; where a ball leaves more than one answer,
the sample is computed again from more bits. Needs python-flint and numpy.
"""

import json
import struct
import sys
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, ctx, fmpz

BATCH = 1 << 14  # blocks of the key stream at once


class Undecided(Exception):
    """A ball leaves more than one answer."""


def blocks(key, nonces, counters):
    """The 64-byte blocks of ChaCha12 as rows of eight words of 64 bits."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    nonces, counters = np.asarray(nonces, np.uint64), np.asarray(counters, np.uint64)
    start = [np.full(len(nonces), w, np.uint32)
             for w in (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key))]
    start += [(w).astype(np.uint32) for w in (counters & low, counters >> high, nonces & low, nonces >> high)]
    x = [w.copy() for w in start]

    def quarter(a, b, c, d):
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] += x[q]
            t = x[r] ^ x[p]
            x[r] = t << np.uint32(turn) | t >> np.uint32(32 - turn)

    for _ in range(6):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    words = [(a + b).astype(np.uint64) for a, b in zip(x, start)]
    return np.stack([words[2 * i] | words[2 * i + 1] << high for i in range(8)], axis=1).tolist()


class Streams:
    """Words of the key stream; what is known to be needed is computed many blocks at once."""

    def __init__(self, seed):
        self.key, self.known = struct.pack("<Q", seed) + bytes(24), {}

    def expect(self, nonces, samples):
        """The first words of these samples and eight more of each."""
        counters = sorted({s // 8 for s in samples} | {(s + 1) << 29 for s in samples})
        places = [(n, c) for n in nonces for c in counters]
        self.known = dict(zip(places, blocks(self.key, *zip(*places))))

    def word(self, nonce, place):
        at = nonce, place // 8
        if at not in self.known:
            self.known[at] = blocks(self.key, [nonce], [place // 8])[0]
        return self.known[at][place % 8]


class Stream:
    """The samples of one stream: word i and the words (i + 1) 2^32 + k - 1 are those of sample i."""

    def __init__(self, streams, nonce):
        self.streams, self.nonce = streams, nonce

    def word(self, sample, index):
        return self.streams.word(self.nonce, sample if index == 0 else (sample + 1 << 32) + index - 1)

    def uniform(self, sample, skip=0):
        words = [self.word(sample, index) for index in range(1 + -(-ctx.prec // 64))]
        return digits(words, skip)

    def normal(self, sample):
        z = quantile(self.uniform(sample, 1))
        return -z if self.word(sample, 0) & 1 else z


def digits(words, skip):
    """All reals in (0, 1) whose digits start with these."""
    value = words[0] >> skip
    for word in words[1:]:
        value = value << 64 | word
    bits = 64 * len(words) - skip
    return arb((fmpz(2 * value + 1), -bits - 1), (fmpz(1), -bits - 1))


def quantile(v):
    """The y with erfc(y / sqrt 2) = v, v in (0, 2)."""
    return v.erfcinv() * arb(2).sqrt()


def whole(x):
    """floor(x + 1/2)."""
    n = (x + arb(0.5)).floor().unique_fmpz()
    if n is None:
        raise Undecided
    return int(n)


def steps(x, grid):
    return whole(x * arb((fmpz(1), -grid)))


def is_less(x, y):
    if x < y:
        return True
    if x >= y:
        return False
    raise Undecided


def chi_squared(stream, dof, first):
    if dof <= 32:
        return sum((stream.normal(first + i) ** 2 for i in range(dof)), arb(0))
    d = arb(dof) / 2 - arb(1) / 3
    while True:
        z, u = stream.normal(first), stream.uniform(first + 1)
        v = (1 + z / (9 * d).sqrt()) ** 3
        if is_less(arb(0), v) and is_less(u.log(), z * z / 2 + d - d * v + d * v.log()):
            return 2 * d * v
        first += 2


def dyadic(n, exponent):
    return arb((fmpz(n), exponent))


class Law:
    """A request: streams and samples that a draw takes (nearly always), and the draw."""

    streams = 1

    def __init__(self, r):
        self.r = r

    def prepare(self):
        """What depends on the request and the precision alone."""


def chi_samples(dof, first):
    return range(first, first + (dof if dof <= 32 else 2))


class ChiSquare(Law):
    def samples(self):
        return chi_samples(self.r["dof"], 0)

    def draw(self, stream):
        return [steps(chi_squared(stream(0), self.r["dof"], 0), self.r["grid"])]


class Wishart(Law):
    def __init__(self, r):
        super().__init__(r)
        self.streams = r["dim"]

    def samples(self):
        d, dof = self.r["dim"], self.r["dof"]
        return sorted({s for i in range(d) for s in [*range(i), *chi_samples(dof - i, i)]})

    def prepare(self):
        d, unit = self.r["dim"], self.r["exponent"]
        self.totals = [dyadic(int(t), unit) for t in self.r["totals"]]
        self.scale = arb(self.r["scale"])

    def draw(self, stream):
        d, dof, rows = self.r["dim"], self.r["dof"], []
        for i in range(d):
            s = stream(i)
            rows.append([s.normal(k) for k in range(i)] + [chi_squared(s, dof - i, i).sqrt()])
        product = lambda i, j: sum((a * b for a, b in zip(rows[i], rows[j])), arb(0))
        return [steps(self.totals[i * d + j] + self.scale * product(i, j), self.r["grid"])
                for i in range(d) for j in range(i + 1)]


class GramRows(Law):
    def __init__(self, r):
        super().__init__(r)
        self.block = max(1, 4096 // (2 * r["dim"]))
        self.streams = -(-r["rows"] // self.block)

    def samples(self):
        return range(2 * self.r["dim"] * min(self.r["rows"], self.block))

    def prepare(self):
        # The factor is the library's; that it is one of the matrix is checked here, exactly.
        r, d = self.r, self.r["dim"]
        unit = Fraction(2) ** r["unit"]
        self.lower = [[dyadic(int(r["lower"][i * d + j]), r["unit"]) for j in range(i + 1)] for i in range(d)]
        self.half = arb(r["lift"]) / 2
        l = [[int(r["lower"][i * d + j]) for j in range(i + 1)] for i in range(d)]
        half = Fraction(r["lift"]) / 2

        def entry(i, j):
            i, j = max(i, j), min(i, j)
            total = int(r["totals"][i * d + j]) * Fraction(2) ** r["exponent"] + (4 * half * half if i == j else 0)
            rest = (total - sum(l[i][k] * l[j][k] for k in range(j + 1)) * unit * unit) / (half * half)
            return arb(fmpz(rest.numerator)) / arb(fmpz(rest.denominator))

        rest = arb_mat(d, d, [entry(i, j) for i in range(d) for j in range(d)])
        far = lambda m: max(sum(float(abs(m[i, j]).upper()) for j in range(d)) for i in range(d))
        one = arb_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])
        assert far(rest - one) < 2.0 ** -23, "the rest is not near the identity"
        # Newton's method finds a symmetric X; X >= I/2 and |X^2 - rest| <= e put the root within e of it.
        x = one
        for _ in range(8):
            x = ((x + x.inv() * rest) * (arb(1) / 2))
            x = arb_mat(d, d, [((x[i, j] + x[j, i]) / 2).mid() for i in range(d) for j in range(d)])
        assert far(x - one) < 0.25
        gap = x * x - rest
        error = sum((abs(gap[i, j]).upper() for i in range(d) for j in range(d)), arb(0)).upper()
        self.root = [[x[i, j] + arb(0, error) for j in range(d)] for i in range(d)]

    def draw(self, stream):
        d, out = self.r["dim"], []
        for row in range(self.r["rows"]):
            s, first = stream(row // self.block), row % self.block * 2 * d
            z = [s.normal(first + k) for k in range(2 * d)]
            for lower, root in zip(self.lower, self.root):
                y = sum((a * b for a, b in zip(lower, z)), arb(0))
                y += self.half * sum((a * b for a, b in zip(root, z[d:])), arb(0))
                out.append(steps(y, self.r["grid"]))
        return out


class Truncated(Law):
    dim = 0

    def samples(self):
        return range(self.dim + 1)

    def prepare(self):
        self.tail = (arb(self.r["threshold"]) / arb(2).sqrt()).erfc()  # twice the upper tail

    def above(self, stream):
        return quantile(stream.uniform(self.dim) * self.tail)

    def draw(self, stream):
        return [steps(self.above(stream(0)), self.r["grid"])]


class HalfSpace(Truncated):
    def __init__(self, r):
        super().__init__(r)
        self.x, self.dim = [arb(n) for n in r["direction"]], len(r["direction"])

    def prepare(self):
        super().prepare()
        norm = sum((n * n for n in self.x), arb(0)).sqrt()
        self.unit = [n / norm for n in self.x]

    def draw(self, stream):
        stream = stream(0)
        g = [stream.normal(k) for k in range(self.dim)]
        more = self.above(stream) - sum((a * b for a, b in zip(g, self.unit)), arb(0))
        return [steps(a + more * n, self.r["grid"]) for a, n in zip(g, self.unit)]


class UnitCap(HalfSpace):
    def samples(self):
        return range(self.dim + 2)

    def prepare(self):
        super().prepare()
        self.inside = arb(self.r["inside"])
        self.rest = (-arb(self.r["threshold"]) / arb(2).sqrt()).erfc()

    def above(self, stream):
        if is_less(stream.uniform(self.dim + 1), self.inside):
            return super().above(stream)
        return -quantile(stream.uniform(self.dim) * self.rest)


LAWS = {"chi-square": ChiSquare, "wishart": Wishart, "gram-rows": GramRows, "truncated-normal": Truncated,
        "half-space": HalfSpace, "unit-cap": UnitCap}


def vectors(r):
    law, streams, out = LAWS[r["law"]](r), Streams(r["seed"]), []
    samples = list(law.samples())
    at_once = max(1, BATCH // (2 * len(samples) * law.streams))
    law.prepare()
    for draw in range(r["draws"]):
        first = draw * law.streams
        if draw % at_once == 0:
            streams.expect(range(first, first + min(at_once, r["draws"] - draw) * law.streams), samples)
        stream = lambda i: Stream(streams, first + i)
        try:
            out += law.draw(stream)
        except Undecided:
            with ctx.workprec(512):
                law.prepare()
                out += law.draw(stream)
            law.prepare()
    return out


def scalars(r):
    """Words one after the other: one for each of 512 values, then the further ones that the library drew for some of
    those values; it says how many. Any continuation of the bits that were drawn must give the same answer."""
    streams, out, place = Streams(r["seed"]), [], 0
    more = {i: count for i, count in r["more"]}
    scale = arb(r["scale"]) * arb((fmpz(1), -r["grid"]))
    tail = quantile if r["law"] == "gaussian" else lambda v: -v.log()

    def next_words(count):
        nonlocal place
        place += count
        return [streams.word(0, p) for p in range(place - count, place)]

    def magnitude(words):
        v = digits(words, 1)
        try:
            return whole(scale * tail(v))
        except Undecided:
            # Falling in V: both ends of what is left.
            low, high = (whole(scale * tail(end)) for end in (v.lower(), v.upper()))
            assert low == high, f"{words} leave more than one answer"
            return low

    for start in range(0, r["draws"], 512):
        # Of nonce 0, the blocks of this chunk.
        counters = range(place // 8, place // 8 + 128)
        streams.known = dict(zip([(0, c) for c in counters], blocks(streams.key, [0] * len(counters), counters)))
        values = range(start, min(start + 512, r["draws"]))
        for i, word in zip(values, next_words(len(values))):
            out.append([word])
        for i in values:
            out[i] += next_words(more.get(i, 0))
            bits = 64 * len(out[i]) + 128
            with ctx.workprec(bits):
                n = magnitude(out[i])
            out[i] = -n if out[i][0] & 1 else n
    return out


def answer(r):
    return [str(n) for n in (scalars(r) if "more" in r else vectors(r))]


def main():
    ctx.prec = 256
    cases = [{**r, "steps": answer(r)} for r in json.load(sys.stdin)]
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


if __name__ == "__main__":
    main()
