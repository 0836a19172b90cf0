#!/usr/bin/env python3
"""Bounds the errors of the parts of the saddle-point forms (binomial and chi-square laws), by ball arithmetic.

    python3 tools/reference/binomial_bounds.py < answers.json

`stirling_error` and `deviance` of `numeric/gamma.rs` are run here operation by operation over boxes that cover all arguments (the deviance
depends on the ratio of its two arguments alone, but for a factor), as `special_bounds.py` does and under what it takes for granted. How
the errors of the parts make those of `ln_pmf` and of the chi-square functions is told in `docs/proofs/special-functions.md`.

Reads {"answers": [[name, arguments, value]]}, what the library answered (arguments and value hexadecimal), and {"stated": {name: [c, r]}}: each
answer must be within c + r |value|. Answers {"bounds": {name: bound}, "worst": {name: largest share of what is stated}}. Needs python-flint.
"""

import json
import sys

from flint import arb, ctx, fmpq
from special_bounds import Number, U, between, upper

ODD = [fmpq(1, 2 * i + 3) for i in range(31)]
TERMS = [(fmpq(1, 2**14), 4), (fmpq(1, 2**8), 7), (fmpq(1, 2**5), 11), (fmpq(1, 2**3), 18), (fmpq(1), 31)]
# Where the series ends, and as much further on either side as rounding of the comparison could move it.
EDGE, FUZZ = fmpq(55, 100), fmpq(1, 10**9)


def up(x):
    """The upper end of a ball, as a ball."""
    return arb(arb(x).upper())


def unit(x):
    """The largest unit in the last place of numbers in the ball, at least, 0 not in it."""
    most = upper(x)
    power = int(float((most.log() / arb(2).log()).upper()) // 1)
    return 2 * U * arb(2) ** power


def series_bound(v):
    """The relative error of the deviance, in units, where v = (x - m)/(x + m) is in the ball: by the series."""
    size = upper(v)
    # x - m is exact where neither is more than twice the other: up to v = 1/3.
    d = arb(0 if size < arb(1) / 3 else 1)
    worst = arb(0)
    for edge, count in TERMS:
        # The comparison is made with the rounded square.
        before = [e for e, _ in TERMS if e < edge]
        if v.abs_lower() ** 2 > edge * (1 + FUZZ) or (before and size**2 < before[-1] * (1 - FUZZ)):
            continue
        e_v = d + 2
        e_w = 2 * e_v + 1
        w = between(v.abs_lower() ** 2, size**2)
        # Horner's rule: c + w p, from the last coefficient, which is rounded itself.
        p, e_p = arb(ODD[count - 1]), arb(1)
        for i in range(count - 2, -1, -1):
            product = w * p
            total = ODD[i] + product
            # Of the sum one unit is the coefficient's, of the product more: the more, the larger its share.
            e_p = up(1 + upper(product / total) * (e_w + e_p)) + 1
            p = total
        # What was cut, as a share of at least a third.
        cut = 3 * w**count / (2 * count + 3) / (1 - w)
        e_p = up(e_p + cut / U)
        e_tail = e_v + 1 + e_w + 1 + e_p + 1  # 2 x v square series; doubling is exact
        e_first = d + e_v + 1
        # tail / first = (1 + v) v p.
        share = (1 + v) * v * (p + between(0, upper(cut)) / 3)
        found = (e_first + upper(share) * e_tail) / (1 + share).abs_lower() + 1
        worst = max(worst, up(found), key=lambda x: x.mid())
    # Second order: products of a hundred errors of a unit.
    return worst * (1 + 2000 * U)


def logarithm_bound(t):
    """The same by the logarithm, where ln(x/m) is in the ball t: D/x = t - 1 + e^-t."""
    # Each kind of error in units of x, and D/x, which rises away from t = 0, at its least.
    near = arb(t.lower()) if t > 0 else arb(t.upper())
    least = near - 1 + (-near).exp()
    r = t.exp()
    # The quotient: half a unit of its own, or one of the larger kind where the box is wide.
    quotient = min(arb(1), up(unit(r) / 2 / U / r.abs_lower()), key=lambda x: x.mid())
    ln, product = unit(t) / U, upper(t)
    # x - m, beside D: below one above x = m, and (e^|t| - 1)/(e^|t| - 1 - |t|) below, which falls as |t| rises.
    difference = 1 / least if t > 0 else 1 / (1 + near / ((-near).exp() - 1))
    return up((quotient + ln + product) / least + upper(difference) + 1) * (1 + 2000 * U)


def deviance():
    """In units, over all x and m."""
    worst, where = arb(0), None

    def seen(found, at):
        nonlocal worst, where
        if found.upper() > worst:
            worst, where = arb(found.upper()), at

    # Series: towards zero the error tends to that at zero, and each box of the last kind holds zero itself.
    last = EDGE + FUZZ
    steps = 800
    for sign in (1, -1):
        for i in range(steps):
            v = sign * between(last * i / steps, last * (i + 1) / steps)
            seen(series_bound(v), ("v", v))
    # Logarithm: v = 0.55 is x/m = 1.55/0.45.
    for sign in (1, -1):
        low = arb((1 + EDGE - FUZZ) / (1 - EDGE + FUZZ)).log()
        edges = [fmpq(int(float(low.lower()) * 10**6), 10**6)]
        while edges[-1] < 3:
            edges.append(edges[-1] + fmpq(1, 1000))
        while edges[-1] < 1500:
            edges.append(edges[-1] * fmpq(101, 100))
        for a, b in zip(edges, edges[1:]):
            t = sign * between(a, b)
            seen(logarithm_bound(t), ("ln", t))
    # Where x/m overflows, ln x - ln m with x up to 2^53 and m from 2^-1074 on: the two are off by a unit each, their difference is
    # rounded, so is the product, and x - m; their difference is at least 709.7.
    x, m, gap = 53 * arb(2).log(), 1074 * arb(2).log(), arb("709.7")
    seen((2 * x + 2 * m + 2 * (x + m) + 1) / (gap - 1) + 1, ("overflow", gap))
    return worst, where


def stirling(n):
    """The error of `stirling_error` where n is in the ball (an f64 each): those of its steps below 16, one by one, and all others."""
    total, at, steps, rest = Number(0), arb(n), [], arb(0)
    while at.mid() < 16:
        exact = at.is_exact()
        half = Number(at + fmpq(1, 2)) if exact else Number(at) + Number(fmpq(1, 2))
        part = half * ln_1p(at) - Number(1)
        steps.append(part.e)
        # The sums alone: each is rounded.
        total = total + Number(part.v)
        at = at + 1
        if not exact:
            # n + 1 may be rounded; the slope of the function is at most 1/12 / n^2.
            rest += 16 * U / 12 / at.abs_lower() ** 2
    y = Number(1) / (Number(at) * Number(at))
    series = number_of(fmpq(1, 156))
    for c in (fmpq(691, 360360), fmpq(1, 1188), fmpq(1, 1680), fmpq(1, 1260), fmpq(1, 360), fmpq(1, 12)):
        series = number_of(c) - y * series
    total = total + series / Number(at)
    # The first term left out bounds the remainder of Stirling's series.
    return steps, up(total.e + rest + arb(fmpq(3617, 122400)) / at.abs_lower() ** 15)


def number_of(x):
    """A constant of the program: the quotient of two whole numbers."""
    return Number(x, U * upper(x))


def ln_1p(n):
    """ln(1 + 1/n): its argument is rounded, and it is off by a unit in the last place."""
    argument = Number(1) / Number(n)
    value = (1 + 1 / n).log()
    e = argument.e / (1 + argument.v.abs_lower() - argument.e)
    return Number(value, e + unit(value))


def stirling_errors():
    """Of any argument from 1/2 on, and of s(n) - s(j) - s(n - j) in `ln_pmf`, where steps that two of them share are off alike."""
    whole = {n: stirling(arb(n)) for n in range(1, 17)}
    largest = lambda list: max(list, key=lambda x: x.mid())

    def three(j, k):
        n = min(j + k, 16)
        step = whole[1][0]
        shared = lambda i: (i >= n) - (i >= j) - (i >= k)
        return sum((abs(shared(i)) * step[i - 1] for i in range(1, 16)), arb(0)) + whole[n][1] + whole[j][1] + whole[k][1]

    # From 16 on everything falls as n grows.
    boxes = [stirling(between(fmpq(i, 64), fmpq(i + 1, 64))) for i in range(32, 1024)] + [whole[16]]
    any_argument = largest([sum(steps, arb(0)) + rest for steps, rest in boxes])
    return up(any_argument), up(largest([three(j, k) for j in range(1, 17) for k in range(j, 17)]))


def odds_of_lower():
    """The most that P(a, a + 1)/Q(a, a + 1) is for a in [1/2, 10], beside 1/(1 + ln a): as a table of (a, most from a on)."""
    table = []
    for low, high in ((fmpq(1, 2), 1), (1, 2), (2, 4), (4, 7), (7, 10)):
        worst, a = arb(0), fmpq(low)
        while a < high:
            # P(a, y) falls in a and rises in y.
            end = a + fmpq(1, 16)
            q = arb(end + 1).gamma_upper(arb(a), 1)
            worst, a = max(worst, up((1 - q) / q), key=lambda x: x.mid()), end
        table.append((float(low), float(worst.upper())))
    return table


def exact(name, at):
    """The function itself."""
    x = [arb(float.fromhex(a)) if isinstance(a, str) else arb(a) for a in at]
    if name == "stirling_error":
        (n,) = x
        return (n + 1).lgamma() - n * n.log() + n - (2 * arb.pi() * n).log() / 2
    if name == "deviance":
        x, m = x
        return x * (x / m).log() + m - x
    if name == "ln_pmf":
        n, p, j = x
        return (n + 1).lgamma() - (j + 1).lgamma() - (n - j + 1).lgamma() + j * p.log() + (n - j) * (1 - p).log()
    a, y = x[0] / 2, x[1] / 2
    upper_side = y > a
    tail = y.gamma_upper(a, 1) if upper_side else lower_tail(a, y)
    return tail.log() if upper_side == (name == "ln_chi_square_sf") else (-tail).log1p()


def lower_tail(a, y):
    """P(a, y) for y <= a, by its power series: terms are positive, and what is left is below the geometric series of the next ratio."""
    term = total = (a * y.log() - y - (a + 1).lgamma()).exp()
    j = 0
    while True:
        j += 1
        ratio = y / (a + j)
        term *= ratio
        total += term
        if term < total * arb(2) ** -200:
            return total + between(0, term * ratio / (1 - ratio))


def main():
    given = json.load(sys.stdin)
    ctx.prec = 128
    of_deviance, where = deviance()
    print(f"deviance: {of_deviance} units at {where}", file=sys.stderr)
    any_argument, three = stirling_errors()
    number = lambda x: float(arb(x).upper()) * (1 + 2**-50)
    bounds = {"deviance": number(of_deviance * U), "stirling_error": number(any_argument), "stirling_error of three": number(three)}
    worst = {}
    for name, at, value in given["answers"]:
        c, r = given["stated"][name]
        value = arb(float.fromhex(value))
        ctx.prec = 400
        truth = exact(name, at)
        error = upper(value - truth)
        assert error.is_finite(), (name, at)
        share = float((error / (c + r * upper(truth))).upper())
        ctx.prec = 128
        worst[name] = max(worst.get(name, 0.0), share)
    print(json.dumps({"bounds": bounds, "worst": worst, "odds": odds_of_lower()}))


if __name__ == "__main__":
    main()
