#!/usr/bin/env python3
"""Bounds what the rule of the JL and Wishart profiles is away from its integral, and holds answers at huge counts against that integral.

    python3 tools/reference/expectation_bounds.py < answers.json

docs/proofs/chi-expectations.md reduces the error of `ln_expectation` for the root of a chi-square to suprema over one or two
bounded numbers: they are bounded here by ball arithmetic, box by box. The names are those of that page.

Reads {"nodes": [[node, weight]], "answers": [[kind, counts, number, epsilon, ln delta]]} with hexadecimal floats, kind `jl` (counts: rows; number: bound over
lift) or `wishart` (dimension and degrees of freedom; the scale, for a bound of 1), one row more or less. Answers {"bounds": {name: bound}, "holds": {name: bool},
"answers": [least, most]}: by how much ln delta is above the truth, in units of what the page allows. The truth is an integral over panels of 48 points, whose own
error is of the order 1e-25 and no ball. Needs python-flint.
"""

import json
import sys

from flint import arb, ctx, fmpq

ctx.prec = 96
NEGLIGIBLE, WIDEST, RHO = 84, 2, 4
# Semi-axes of an ellipse around [-1, 1] in which the integrand is bounded.
LONG, SHORT = arb(RHO + fmpq(1, RHO)) / 2, arb(RHO - fmpq(1, RHO)) / 2
# Error of the rule of sixteen points: so many times half the panel times the largest absolute value in the ellipse.
RULE = (4 + fmpq(4, 1023)) / (1 - fmpq(1, RHO**2)) / arb(RHO) ** 32
# The farthest point of an ellipse, over the far edge of its panel, whose centre is three halves of it or more away.
FAR = (3 + LONG) / 4


def between(a, b):
    return arb(a).union(arb(b))


def upper(x):
    return arb(x.abs_upper())


def largest(values):
    return max((arb(v.upper()) for v in values), key=lambda x: x.mid())


def integral_below(f, low, high, pieces=400):
    """Of a falling function, from below."""
    step = (arb(high) - low) / pieces
    return sum((arb((f(low + (i + 1) * step) * step).lower()) for i in range(pieces - 1)), arb(0))


def beyond_first(growth):
    """The most of E (r/l) growth(slope, r) / 2 over all slopes at the threshold, where r is the reach and l = 1/(1 + slope)."""

    def at(slope, reach):
        half = (reach / 4).min(arb(WIDEST) / 2)
        return ((SHORT * half) ** 2).exp() * reach * (1 + slope) * growth(slope, reach) / 2

    def reach(slope):
        return NEGLIGIBLE / (slope + (slope * slope + NEGLIGIBLE).sqrt())

    slopes = [between(fmpq(i, 128), fmpq(i + 1, 128)) for i in range(128 * 64)]
    # From a slope of 64 on by its inverse, with a reach below 42/slope.
    inverse = between(0, fmpq(1, 64))
    rest = ((SHORT * fmpq(21, 128)) ** 2).exp() * 42 * (1 + inverse) * growth(None, 42 * (1 + inverse)) / 2
    return largest([at(slope, reach(slope)) for slope in slopes] + [rest])


def linear(slope, reach):
    """The farthest point over l."""
    return FAR * (reach if slope is None else reach * (1 + slope))


def quadratic(slope, reach):
    """The square of the farthest point over l/2, times the density at the nearest: of panels whose far edge is the r that is worst."""
    near = (3 - LONG) / 4
    if slope is not None and near * slope * reach < 2:
        return (2 * linear(slope, reach)) ** 2 * (-near * slope * reach).exp()
    over = 1 + fmpq(1, 64) if slope is None else (1 + slope) / slope
    return (2 * FAR * 2 / near * over) ** 2 * arb(-2).exp()


def constants():
    one = arb(1)
    # What is left of the density where the threshold is on the lower side, and on the upper side.
    lower = integral_below(lambda v: (1 - v) * (-v * v / (1 - v)).exp(), fmpq(1, 4), 1)
    higher = (-one / 2).exp() - (-one).exp() + arb.pi().sqrt() / 2 * one.erfc()
    grown, twice = RULE * beyond_first(linear), RULE * beyond_first(quadratic)
    # min(1, x) is at most so many times 1 - e^-x.
    part = 1 / (1 - (-one).exp())
    # The first panel of all: E and the density there, and the share of g.
    first = RULE * ((1 + LONG) / 2 + (SHORT / 2) ** 2).exp()
    return {
        "jl-down": grown * 4 * 2 * part / lower + first * 180 / lower,
        "jl-up": twice * 2 * part / higher + first * 80 / higher,
        "wishart-added": grown * 2 * fmpq(68, 10) / higher + first * 24000 / higher,
        "wishart-removed": grown * 4 * 2 * part * one.exp() * fmpq(51, 50) / lower + first * 30700 / lower + fmpq(3, 10**13),
    }


def ellipses(shapes=48, arcs=96):
    """Boxes of points of the ellipses around all panels whose centre is at least three halves away and whose far edge is at 1/2."""
    for i in range(shapes):
        h = between(fmpq(i, 8 * shapes), fmpq(i + 1, 8 * shapes))
        for j in range(arcs):
            turn = arb.pi() * between(fmpq(j, arcs), fmpq(j + 1, arcs))
            # Centre and half-width are of the same h.
            yield fmpq(1, 2) + h * (LONG * turn.cos() - 1), h * SHORT * turn.sin()


def angle(y, x):
    return (y / x).atan()


def in_cone():
    """Every such ellipse is where the imaginary part is at most .9 of the real part: the tangents from the origin are, to the ellipse of
    centre 3 and half-width 1, whose semi-axes these are."""
    return bool(SHORT**2 < fmpq(81, 100) * (9 - LONG**2))


def bounded_near():
    """e^(-w) of a removed row is at most one around panels graded from the threshold: cos(arg) is at least half the modulus."""
    for x, y in ellipses():
        turned = angle(y, x) + 2 * angle(y, 1 - x) - angle(y, 2 - x)
        if not turned.cos() > (x * x + y * y).sqrt() / 2:
            return False
    return True


def bounded_certain():
    """The same around panels graded from where the loss becomes infinite: coefficients of a polynomial in d are not negative."""
    for x, y in ellipses():
        rr = x * x + y * y
        # c r and (4 c^2 - 2) r^2, of the angle's cosine c.
        cr, kr = x, 2 * (x * x - y * y)
        first, power = [1, 4 * cr, kr], [1, 4, 6, 4, 1]
        left = [sum((arb(first[i]) * power[n - i] for i in range(3) if 0 <= n - i < 5), arb(0)) for n in range(7)]
        square = [arb(1), 4 * cr, 4 * cr * cr + 2 * rr, 4 * cr * rr, rr * rr]
        right = [sum((arb(c) * square[n - i] for i, c in enumerate((1, 4, 2)) if 0 <= n - i < 5), arb(0)) for n in range(7)]
        # The first two are the same on both sides.
        if not all(left[n] > right[n] for n in range(2, 7)):
            return False
    return True


def rule_is_gauss(nodes):
    """The constants of the program, to a unit in the last place."""
    exact = sorted((arb.legendre_p_root(16, i, weight=True) for i in range(8)), key=lambda n: n[0].mid())
    close = lambda given, true: upper(arb(float.fromhex(given)) / true - 1) < arb(2) ** -52
    return all(close(x, a) and close(w, b) for (x, w), (a, b) in zip(nodes, exact))


POINTS = 48


def panels(f, length, tiny, rule):
    """By doubling widths from zero on."""
    total, at, width = arb(0), arb(0), length * tiny
    while at < length:
        end = (at + width).min(length)
        centre, half = (at + end) / 2, (end - at) / 2
        total += half * sum((w * f(centre + half * x) for x, w in rule), arb(0))
        at, width = end.mid() if end < length else end, (2 * width).min(arb(fmpq(1, 2)))
    return total


def expectation(k, z0, sign, g, certain, rule):
    """ln E[g(distance)] over the root of chi2_k on one side of z0."""
    k, mode = arb(k), arb(k - 1).sqrt()
    outside = sign * (z0 - mode)
    slope = abs((k - 1) / z0 - z0) if outside > 0 else arb(0)
    reach = 260 / (slope + (slope * slope + 260).sqrt())
    peak = z0 if outside > 0 else mode
    start = arb(0).max(-outside - reach)
    end = arb(0).max(-outside) + reach
    end = end.min(z0) if sign < 0 else end
    power = (lambda x: (k - 1) * x.log()) if k > 1 else lambda _: arb(0)
    top = (1 - k / 2) * arb(2).log() - (k / 2).lgamma() + power(peak) - peak * peak / 2

    def f(s):
        z = z0 + sign * s
        moved = z - peak
        return (power(z / peak) - peak * moved - moved * moved / 2).exp() * g(s)

    tiny = arb(2) ** -90
    if certain is not None and start < certain < end:
        middle = (start + certain) / 2
        total = panels(lambda r: f(start + r), middle - start, tiny, rule)
        total += panels(lambda r: f(certain - r), certain - middle, arb(2) ** -160, rule)
        total += panels(lambda r: f(certain + r), end - certain, tiny, rule)
    else:
        total = panels(lambda r: f(start + r), end - start, tiny, rule)
    return top + total.log()


def jl(rows, ratio, eps, rule):
    x = ratio * ratio
    shift = arb(rows) / 2 * x.log1p()
    ways = [((shift + eps) / (x / 2), 1, x / 2)]
    if shift > eps:
        c = x / (1 + x) / 2
        ways.append(((shift - eps) / c, -1, c))
    found = []
    for t, sign, c in ways:
        z0 = t.sqrt()
        found.append(expectation(rows, z0, sign, lambda s: -(-c * s * (2 * z0 + sign * s)).expm1(), None, rule))
    return found


def wishart(dim, dof, scale, eps, rule):
    t, a, k = 1 / scale, arb(dof - dim - 1) / 2, dof - dim + 1
    gap, root = t / ((eps + t / 2) / a).expm1(), t.sqrt()
    certain = gap / (root + (t + gap).sqrt())
    z0 = root + certain

    def removed(s):
        left = certain - s
        if not left > 0:
            return arb(1)
        z = root + left
        rest = t / (z * z) * s * (z0 + z) / gap
        ln = (-rest).log1p() if rest < fmpq(1, 2) else ((z0 / z) ** 2 * left * (root + z) / gap).log()
        return -(a * ln).expm1()

    found = [expectation(k, z0, -1, removed, certain, rule)]
    if eps < t / 2:
        last = t / ((t / 2 - eps) / a).expm1()
        z1 = last.sqrt()
        added = lambda s: -(a * (-t / (last + t) * s * (2 * z1 + s) / (z1 + s) ** 2).log1p()).expm1()
        found.append(expectation(k, z1, 1, added, None, rule))
    return found


def above(row, rule):
    """By how much an answer is above the truth, in units of what the page allows at this size."""
    kind, counts, given, eps, said = row
    given, eps, said = (arb(float.fromhex(x)) for x in (given, eps, said))
    found = jl(*counts, given, eps, rule) if kind == "jl" else wishart(*counts, given, eps, rule)
    truth = found[0] if len(found) == 1 else found[0].max(found[1])
    k = counts[0] if kind == "jl" else counts[1] - counts[0] + 1
    size = truth.abs_upper()
    allowed = arb(10) ** -10 * (1 + size / 100) + arb(2) ** -48 * arb(k).sqrt() * (28 + size.sqrt() * 3)
    return (said - truth) / allowed


def main():
    given = json.load(sys.stdin)
    bounds = {name: float(bound.upper()) * (1 + 2**-50) for name, bound in constants().items()}
    holds = {f.__name__: f() for f in (in_cone, bounded_near, bounded_certain)}
    holds["rule_is_gauss"] = rule_is_gauss(given["nodes"])
    ctx.prec = 320
    rule = [arb.legendre_p_root(POINTS, i, weight=True) for i in range(POINTS)]
    found = [above(row, rule) for row in given["answers"]]
    shares = [min((float(x.lower()) for x in found), default=0.0), max((float(x.upper()) for x in found), default=0.0)]
    for row, x in zip(given["answers"], found):
        if not x > 0:
            print(f"below the truth: {row}: {x}", file=sys.stderr)
    print(json.dumps({"bounds": bounds, "holds": holds, "answers": shares}))


if __name__ == "__main__":
    main()
