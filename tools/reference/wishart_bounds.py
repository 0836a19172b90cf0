#!/usr/bin/env python3
"""Holds answers for a row against an orthogonal one under Wishart noise against their integral in ball arithmetic.

    python3 tools/reference/wishart_bounds.py < answers.json

Reads [[2a, t, epsilon, ln delta]], 2a a whole number, the others hexadecimal floats. Answers [least, most], by how much ln delta is above the truth, in units
of what docs/proofs/wishart-orthogonal.md allows at this size. The truth is the sum of that page, of other steps than the program's and with what it misses and cuts as
balls; the expectations at its points are differences of incomplete gamma functions with all their digits. Needs python-flint.
"""

import json
import sys
from math import atan, floor, log, log1p, pi, sqrt

from flint import arb, ctx, fmpq

# The parts that are left out, as exponents: the program's own are about 29.
MISSED = 43


def series(k, z):
    """Pr[Gamma(k) <= z] by positive terms; what is left of them is below the last of a geometric series."""
    if not z > 0:
        return arb(0)
    term, total, j = arb(1), arb(1), 1
    while True:
        ratio = z / (k + j)
        term *= ratio
        total += term
        if ratio < fmpq(1, 2) and term < total * arb(2) ** -ctx.prec:
            break
        j += 1
    total += arb(0, term)
    return z**k * (-z).exp() / (k + 1).gamma() * total


def step(first, second, aim):
    """A step, and the exponent of what the trapezoidal rule with it misses."""
    x = aim / (first + second)
    t = sqrt(2 * x) + x / 2
    reached = lambda t: first * (t * atan(t) - log1p(t * t) / 2) + second * (t * (1 + t * t) * atan(t) - t * t / 2)
    low, high = 0.0, t
    for _ in range(20):
        t = (low + high) / 2
        low, high = (low, t) if reached(t) >= aim else (t, high)
    width = 0.93 * 2 * pi / (high * (first + second * (1 + high * high)))
    return width, 0.7 + first * log1p(high * high) / 2 + second * high * high / 2 - 2 * pi / width * atan(high)


class Orthogonal:
    def __init__(self, twice, t, eps):
        self.a, self.t = fmpq(twice, 2), t
        self.s = self.a + fmpq(3, 2)
        self.grown = (eps / self.a).expm1()
        self.gamma = arb(self.s).lgamma()
        a, small = float(self.a), float(t)
        shrink = float(-(-eps / self.a).expm1())
        m = small / 2 / shrink if shrink > 0 else 1e300
        # A bound on all expectations, from above.
        self.most = min(0.0, log(small)) + 1e-6 - (a * log(a / m) + m - a if m < a else 0.0)

    def odds(self, p):
        return self.grown * (1 + self.t / p) + self.t / p

    def mean(self, h, odds):
        largest, k = h + h / odds, arb(self.a) + 1
        return series(k, largest / 2) - (self.a * odds.log1p() - h / 2).exp() * series(k, (largest - h) / 2)

    def ln_density(self, w):
        return self.s * (w - arb(2).log()) - w.exp() / 2 - self.gamma

    def over_v(self, p, odds, first):
        size = p + self.t
        width, missed = step(float(2 * self.a + 4), float(size), MISSED)
        total, i = first / 2, 1
        while True:
            cosh = (arb(width) * i).cosh()
            share = 1 / (cosh * cosh)
            term = share * (-size * (1 - share) / 2).exp() * self.mean(self.t * share, odds)
            total += term
            if term < total * arb(10) ** -20:
                break
            i += 1
        total = 2 * (total * width + arb(0, term)) * (size / (2 * arb.pi())).sqrt()
        return total * (1 + arb(0, 1.01 * 2.718281829**missed))

    def ln_delta(self):
        s = float(self.s)
        top, at = -1e300, 0.0
        for i in range(400):
            w = log(2 * s) + i / (2 * sqrt(s))
            p = arb(w).exp()
            density = float(self.ln_density(arb(w)))
            if density + self.most < top:
                break
            here = density + float(self.mean(self.t, self.odds(p)).log())
            top, at = max((top, at), (here, w))
        width, missed = step(2 * s, 0.0, max(self.most - top + log(s) / 2, 0.0) + MISSED)
        total, unit = arb(0), arb(top)
        for start, direction in ((floor(at / width), 1), (floor(at / width) - 1, -1)):
            i = start
            while True:
                w = arb(width) * i
                p, density = w.exp(), (self.ln_density(w) - unit).exp()
                odds = self.odds(p)
                first = self.mean(self.t, odds)
                whole = density * first
                total += density * self.over_v(p, odds, first) if whole > 1e-21 else whole.union(arb(0))
                falls = direction * (p / 2 - self.s)
                if falls > 0:
                    rest = density * (arb(self.most).exp() if direction > 0 else first) / (falls * width)
                    if rest < 1e-19:
                        total += rest.union(arb(0))
                        break
                i += direction
        total = total * width + arb(0, (arb(self.most + missed) - unit).exp().mid())
        return unit + total.log()


def above(row):
    twice, t, eps, said = row[0], *(arb(float.fromhex(x)) for x in row[1:])
    ctx.prec = 240 + int(3 * max(0.0, -log(float(t)))) + int(2 * max(0.0, -log(max(float(eps), float(t) * 1e-9))))
    truth = Orthogonal(twice, t, eps).ln_delta()
    size = truth.abs_upper()
    allowed = arb(10) ** -10 * (1 + size / 100) + arb(2) ** -48 * arb(twice).sqrt() * (28 + size.sqrt() * 3)
    return (said - truth) / allowed


def main():
    shares = []
    for row in json.load(sys.stdin):
        found = above(row)
        shares.append(found)
        if not found > 0:
            print(f"not above the truth: {row}: {found}", file=sys.stderr)
    print(json.dumps([min(float(x.lower()) for x in shares), max(float(x.upper()) for x in shares)]))


if __name__ == "__main__":
    main()
