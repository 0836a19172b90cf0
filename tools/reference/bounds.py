#!/usr/bin/env python3
"""Holds the error constants of the samplers against ball arithmetic, on every piece of every table.

    python3 tools/reference/bounds.py < tables.json

Reads what the library was compiled with (`noise/bounds.rs` writes it: polynomials, lines, declared constants) and answers
with the bound that ball arithmetic gives for each constant, as {"name": [bound, declared]}. Every number is an Arb ball
(python-flint), so what is printed is an upper bound and not an estimate. docs/proofs/rounded-noise.md and
docs/proofs/staircase.md say what is bounded. Needs python-flint.
"""

import json
import sys
from statistics import NormalDist

from flint import arb, ctx, fmpq

ctx.prec = 256
ORDER = 20
U = arb(2) ** -53
ROOT_HALF_PI = (arb.pi() / 2).sqrt()


def upper(x):
    """A number that no point of the ball is above, in absolute value."""
    return arb(x).abs_upper()


def ball(low, high):
    return arb(low).union(arb(high))


def power(exponent):
    return arb(fmpq(2) ** exponent)


class Gaussian:
    """F(V) = z with Pr[|N(0, 1)| > z] = V."""

    @staticmethod
    def quantile(v):
        """F at an exact V in (0, 1]: a ball whose ends are seen to lie on either side."""
        if v >= 1:
            return arb(0)
        near = float(v.mid())
        z = arb(-NormalDist().inv_cdf(near / 2)) if near < 0.9999 else (1 - v) * ROOT_HALF_PI
        for _ in range(5):
            z = (z + ((z / arb(2).sqrt()).erfc() - v) * ROOT_HALF_PI * (z * z / 2).exp()).mid()
        room = power(-150)
        above, below = ((z - room) / arb(2).sqrt()).erfc(), ((z + room) / arb(2).sqrt()).erfc()
        assert above > v > below, "Newton's method did not arrive"
        return ball(z - room, z + room)

    @staticmethod
    def series(z):
        """Taylor's coefficients of F where F(V) = z, by F' = -sqrt(pi/2) w, w = exp(F^2/2), w' = w F F'."""
        f, slope, w, product = [z], [], [(z * z / 2).exp()], []
        for n in range(ORDER):
            slope.append(-ROOT_HALF_PI * w[n])
            product.append(sum((f[i] * slope[n - i] for i in range(n + 1)), arb(0)))
            f.append(slope[n] / (n + 1))
            w.append(sum((w[i] * product[n - i] for i in range(n + 1)), arb(0)) / (n + 1))
        return f


class Laplace:
    """F(V) = -ln V."""

    @staticmethod
    def quantile(v):
        return -v.log()

    @staticmethod
    def series(z):
        v = (-z).exp()
        return [z] + [arb((-1) ** n) / (n * v**n) for n in range(1, ORDER + 1)]


def chebyshev(coefficients):
    """The most a polynomial can be on [-1, 1]: the sum of its absolute coefficients in Chebyshev's basis."""
    found = [arb(0)] * len(coefficients)
    for k, c in enumerate(coefficients):
        for j in range(k // 2 + 1):
            share = fmpq(2) * arb.bin_uiui(k, j) / arb(2) ** k
            found[k - 2 * j] += c * (share / 2 if k == 2 * j else share)
    return sum((upper(c) for c in found), arb(0))


def rows(law, table):
    """For every row: its octave, and the bounds with 63 and with 127 known bits of V."""
    half = arb(fmpq(1, 64))
    ends = [law.quantile(power(-32))]
    for i, row in enumerate(table):
        octave, j = i // 32 - 32, i % 32
        left, right = fmpq(32 + j, 32), fmpq(33 + j, 32)
        scale = power(octave)
        ends.append(law.quantile(scale * right))
        exact = law.series(law.quantile(scale * (left + right) / 2))
        inside = law.series(ball(ends[i], ends[i + 1]))
        gap = [arb(row[k] if k < 8 else 0) - exact[k] * scale**k for k in range(ORDER)]
        wrong = chebyshev([g * half**k for k, g in enumerate(gap)])
        wrong += upper(inside[ORDER]) * (scale * half) ** ORDER
        value, error = upper(row[7]), arb(0)
        for c in reversed(row[:7]):
            product = half * (value + error)
            error = half * error + U * product
            value = upper(c) + half * value
            error += U * (value + error)
        yield octave, [
            wrong + error + moved(law, scale * left, scale * right, bits) + U * (value + error) for bits in (63, 127)
        ]


def moved(law, left, right, bits):
    """How far F can be from where V stands in floating point: rounded, at most one ulp below one, bits unknown."""
    off = U * right + power(-bits)
    ends = [law.quantile((left - off).mid() * (1 - power(-200))), law.quantile(min(right + off, arb(1)))]
    return upper(law.series(ball(*ends))[1]) * off


def tables(given):
    for name, law in (("gaussian", Gaussian), ("laplace", Laplace)):
        table = given[name]
        found = list(rows(law, [[arb(float.fromhex(c)) for c in row] for row in table["rows"]]))
        assert len(found) == 1024
        for tier, (key, first) in enumerate((("first", -9), ("second", -32))):
            bounds = [bound[tier] for octave, bound in found if octave >= first]
            yield f"{name} {key}", max(bounds), arb(float.fromhex(table[key]))


def stairs(shape):
    """The most by which a cell's lines are wrong, in units of what its limit allows for."""
    epsilon, width, inner = arb(float.fromhex(shape["epsilon"])), shape["width"], shape["inner"]
    half = inner - arb(fmpq(1, 2)) + width / epsilon.expm1()
    at = lambda q: half + q * width
    slope = lambda q: half * (q * epsilon).exp()
    worst = arb(0)
    for i, cell in enumerate(shape["cells"]):
        left, right = power(i // 32 - 9) * fmpq(32 + i % 32, 32), power(i // 32 - 9) * fmpq(33 + i % 32, 32)
        lines = []
        for a, s, level in zip(cell["at"], cell["slope"], cell["levels"]):
            a, s = arb(float.fromhex(a)), arb(float.fromhex(s)) * power(63)
            # The numbers of the cell, the unknown part of V, the product's and the difference's rounding.
            wrong = upper(a - at(level)) + upper(s - slope(level)) * right
            wrong += slope(level) * (U * right + power(-63)) + upper(s * right) * U
            wrong += max(upper(a - s * left), upper(a - s * right)) * U * 2
            lines.append((level, wrong))
        # Lines of other levels: steeper ones are highest at the left end, flatter ones at the right end.
        off = U * right + power(-63)
        own = lambda v: max((at(q) - slope(q) * v for q, _ in lines), key=lambda x: x.mid())
        for other, v in ((lines[1][0] + 1, left - off), (lines[0][0] - 1, right + off)):
            if other >= 0:
                above = at(other) - slope(other) * v - own(v)
                lines.append((other, upper(above) if not above < 0 else arb(0)))
        worst = max(worst, max(w for _, w in lines) / at(lines[1][0]))
    return worst


def line(shape, declared):
    """The most by which a line of a shape is wrong for a V that is rounded once, in units of what is allowed for."""
    epsilon, width, inner = arb(float.fromhex(shape["epsilon"])), shape["width"], shape["inner"]
    half = inner - arb(fmpq(1, 2)) + width / epsilon.expm1()
    worst = arb(0)
    for given in shape["lines"]:
        q, at, slope = given["level"], arb(float.fromhex(given["at"])), arb(float.fromhex(given["slope"]))
        # Rounding of V, of the product and of the difference, which is at most the larger of its parts; 96 bits of V
        # below 2^-32 are known.
        allowed = arb(float.fromhex(declared["at"])) * at
        constant = (upper(at - (half + q * width)) + U * at) / allowed
        exact = half * (q * epsilon).exp()
        relative = upper(slope - exact) / slope + exact / slope * (U + power(-95)) + 2 * U
        worst = max(worst, constant, relative / ((declared["product"] + q * epsilon) * U), key=lambda x: x.mid())
    return worst


def staircase(given):
    yield "staircase line", max((line(shape, given["line"]) for shape in given["shapes"]), key=lambda x: x.mid()), arb(1)
    yield "staircase", max(stairs(shape) for shape in given["shapes"]), arb(float.fromhex(given["wrong"]))


def main():
    given = json.load(sys.stdin)
    checks = list(tables(given["tables"])) + list(staircase(given["staircase"]))
    # Rounded away from what is claimed: the bound up, the constant is exact.
    print(json.dumps({name: [float(bound.upper()) * (1 + 2**-50), float(declared)] for name, bound, declared in checks}))


if __name__ == "__main__":
    main()
