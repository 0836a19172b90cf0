#!/usr/bin/env python3
"""Bounds the error of the normal law's special functions over their whole range, by ball arithmetic.

    python3 tools/reference/special_bounds.py < answers.json

Each function of `numeric/normal.rs` is run here operation by operation, over boxes of arguments that cover its range: a number is
a ball that holds what exact arithmetic would give, and a bound on what floating point can be away from it. What exact arithmetic gives is
then compared with the function itself (series and fractions that were cut). So the sum holds for every f64 of the range.

Taken for granted: sums, products, quotients and roots are rounded to nearest; `exp`, `ln`, `ln_1p` of the C library and `erfc` of libm
are within one unit in the last place. Nothing here is subnormal.

Reads {"answers": [[name, argument, value]]}, what the library answered (hexadecimal): each must lie within the bound, which sees a difference
between this text and the compiled one. Answers {"bounds": {name: bound}, "worst": {name: largest share of the bound seen}}. Needs python-flint.
"""

import json
import sys

from flint import arb, ctx, fmpq

ctx.prec = 192
U = arb(2) ** -53
SQRT_HALF_PI, FRAC_1_SQRT_2 = (arb.pi() / 2).sqrt(), 1 / arb(2).sqrt()
LN_SQRT_2PI = (2 * arb.pi()).log() / 2
PER_ROOT_PI = 2 / arb.pi().sqrt()


def between(a, b):
    return arb(a).union(arb(b))


def upper(x):
    return arb(x).abs_upper()


class Number:
    """The ball `v` of what exact arithmetic gives, and `e`, how far the f64 may be from it."""

    __slots__ = ("v", "e")

    def __init__(self, v, e=0):
        self.v, self.e = arb(v), arb(e)

    @classmethod
    def rounded(cls, v, e, units=1):
        """After an operation whose result is wrong by so many halves of a unit in the last place."""
        return cls(v, e + units * U * (upper(v) + e))

    def __add__(self, other):
        return self.rounded(self.v + other.v, self.e + other.e)

    def __sub__(self, other):
        return self.rounded(self.v - other.v, self.e + other.e)

    def __mul__(self, other):
        e = upper(self.v) * other.e + upper(other.v) * self.e + self.e * other.e
        return self.rounded(self.v * other.v, e)

    def __truediv__(self, other):
        least = other.v.abs_lower() - other.e
        assert least > 0
        return self.rounded(self.v / other.v, (self.e + upper(self.v / other.v) * other.e) / least)

    def through(self, v, slope):
        """A function of the C library of this number: its value, and the most its slope is."""
        return self.rounded(v, upper(slope) * self.e, 2)

    def ln(self):
        least = self.v.abs_lower() - self.e
        assert self.v > 0 and least > 0
        return self.through(self.v.log(), 1 / least)


def number(x):
    """A constant of the program: the f64 nearest to it."""
    return Number(x, upper(arb(float(x.mid())) - x))


# A product with the constant 1/sqrt 2 is off by so much of itself: the constant, and the product.
MOVED = upper(arb(float(FRAC_1_SQRT_2.mid())) / FRAC_1_SQRT_2 - 1) * (1 + U) + U
ONE, HALF = Number(1), Number(fmpq(1, 2))


def erfcx(x):
    """Over a ball of arguments, each of them an f64."""
    series, product = x.upper() >= 25, x.lower() <= 25
    e = max((way(x).e for way, used in ((by_series, series), (by_product, product)) if used), key=lambda e: e.mid())
    return Number(scaled_erfc(x), e)


def by_series(x):
    y = ONE / (Number(2 * x) * Number(x))
    series = ONE
    for odd in (11, 9, 7, 5, 3, 1):
        series = ONE - (Number(odd) * y) * series if odd > 1 else ONE - y * series
    root = arb.pi().sqrt()
    found = series / (Number(x) * Number(root, 2 * U * root))
    # The remainder of an alternating series: at most the first term left out.
    cut = 135135 * upper(y.v) ** 7
    return Number(found.v, found.e + upper(found.v) * cut)


def by_product(x):
    # head^2 is exact, and rest = x^2 - head^2.
    most = upper(x) ** 2 * (arb(2) ** -24 + arb(2) ** -50)
    rest = Number(arb(0, most), 3 * U * most)
    factor = ONE + rest * (ONE + rest * (HALF + rest / Number(6)))
    # The exponential of the head times the exact e^rest is e^(x^2); what is left of it has its relative error.
    off = (factor.e + most**4 / 24 * 2) / (1 - 2 * most)
    relative = (1 + 2 * U) * (1 + off) * (1 + U) * (1 + 2 * U) * (1 + U) - 1
    value = scaled_erfc(x)
    return Number(value, upper(value) * relative)


def scaled_erfc(x):
    if x > 30:
        # erfcx falls: between the values at the ends, by the continued fraction's first bounds.
        low, high = arb(x.lower()), arb(x.upper())
        bound = lambda t, c: PER_ROOT_PI / (t + (t * t + c).sqrt())
        return bound(high, 2).union(bound(low, 4 / arb.pi()))
    ends = [(arb(t) ** 2).exp() * arb(t).erfc() for t in (x.lower(), x.upper())]
    return ends[0].union(ends[1])


def mills_ratio(t):
    x = t * FRAC_1_SQRT_2
    value = erfcx(x)
    moved = MOVED * upper(x) * steepest(x)
    return number(SQRT_HALF_PI) * Number(value.v, value.e + moved * (1 + 64 * U))


def steepest(x):
    """The most that the slope of erfcx is on the ball: it is convex, so at the left end."""
    t = arb(x.lower())
    if t > 25:
        return PER_ROOT_PI / (2 * t * t)
    return upper(2 * t * (t * t).exp() * t.erfc() - PER_ROOT_PI)


def mills_slope(t):
    if t.mid() < 4:
        m = mills_ratio(t)
        return Number(true_slope(t), (ONE - Number(t) * m).e)
    terms = int((10 + 470 / float((t * t).lower())) // 1) if t < 1e100 else 10
    fewest = int((10 + 470 / float((t * t).upper())) // 1) if t < 1e100 else 10
    worst = None
    for count in range(fewest, terms + 1):
        # `within` holds the fraction whatever is left out of it; what was left out moves it by at most `spread`:
        # d (j / (t + r)) = -(j / (t + r))^2 / j dr.
        tail, within, spread = Number(0), between(0, count / t.lower()), arb(count) / t.lower()
        for j in range(count - 1, 1, -1):
            tail = Number(j) / (Number(t) + tail)
            within = between((j / (t.upper() + within)).lower(), (j / (t.lower() + within)).upper())
            spread = spread * upper(within) ** 2 / j
        c = ONE / (Number(t) + tail)
        # c/(t + c) moves by t/(t + c)^2 dc, and c by c^2 dr.
        most = upper(1 / (t + within))
        spread = spread * most**2
        found = c / (Number(t) + c)
        e = found.e + spread / t.lower()
        worst = e if worst is None else max(worst, e, key=lambda x: x.mid())
    return Number(true_slope(t), worst)


def true_slope(t):
    """1 - t M(t), positive and falling: a ball from both ends."""
    if t > 30:
        # 1/(t^2 + 3) < 1 - t M(t) < 1/(t^2 + 1).
        return (1 / (arb(t.upper()) ** 2 + 3)).union(1 / (arb(t.lower()) ** 2 + 1))
    at = lambda s: 1 - s * SQRT_HALF_PI * (s * s / 2).exp() * (s * FRAC_1_SQRT_2).erfc()
    return at(arb(t.lower())).union(at(arb(t.upper())))


def ln_normal_cdf(x):
    if x.mid() > -2:
        sign = 1 if x.mid() > 0 else -1
        at = sign * x * FRAC_1_SQRT_2
        tail = at.erfc()
        slope = PER_ROOT_PI * upper((-at * at).exp())
        tail = Number(tail, 2 * U * upper(tail) + MOVED * upper(at) * slope)
        if x.mid() > 0:
            p = Number(tail.v / 2, tail.e / 2)
            return p.through((-p.v).log1p(), 1 / (1 - upper(p.v) - p.e))
        return Number(tail.v / 2, tail.e / 2).ln()
    # mills_ratio of -x > 0: the ball of the exact value from both ends.
    pdf = Number(-x / 2) * Number(x) - number(LN_SQRT_2PI)
    return pdf + mills_ratio(-x).ln()


FUNCTIONS = {
    # Name: function, range, and whether the bound is relative; an absolute one is beside 4e-16 of the value.
    "erfcx": (erfcx, -5, True),
    "mills_ratio": (mills_ratio, -5, True),
    "mills_ratio from 0": (mills_ratio, 0, True),
    "mills_slope": (mills_slope, -5, True),
    "ln_normal_cdf": (ln_normal_cdf, None, False),
}
# Where a program takes another way, and where boxes end.
EDGES = [-5, -2, 0, 4, 25, 40]
FAR = 400


def boxes(low):
    """Balls that cover the range, closed at both ends, none of them across an edge."""
    if low is None:
        # ln Phi: from -2^FAR, by ever longer boxes.
        for i in range(40 * 16, FAR * 16):
            yield -between(fmpq(2) ** (i // 16) * (16 + i % 16) / 16, fmpq(2) ** (i // 16) * (17 + i % 16) / 16)
        yield from even(-fmpq(2) ** 40, -40, fmpq(1, 16))
        low = -40
    edges = [low] + [e for e in EDGES if e > low]
    for a, b in zip(edges, edges[1:]):
        yield from even(a, b, fmpq(1, 64))
    yield from even(40, fmpq(2) ** 40, fmpq(1, 16))
    for i in range(40 * 16, FAR * 16):
        yield between(fmpq(2) ** (i // 16) * (16 + i % 16) / 16, fmpq(2) ** (i // 16) * (17 + i % 16) / 16)


def even(a, b, width):
    """Boxes of at most this width, relative to the larger of one and the end that is nearer to zero."""
    a, b = fmpq(a), fmpq(b)
    while a < b:
        size = max(fmpq(1), min(abs(a), abs(b))) * width if a >= 0 or b <= 0 else width
        if a < 0:
            size = max(fmpq(1), abs(a)) * width / 2
        size = size / max(fmpq(1), min(abs(a), fmpq(8))) if abs(a) < 40 else size
        end = min(b, a + size)
        yield between(a, end)
        a = end


def bound(name):
    function, low, relative = FUNCTIONS[name]
    worst, where = arb(0), None
    for box in boxes(low):
        found = function(box)
        least = found.v.abs_lower()
        e = found.e / least if relative else found.e - fmpq(4, 10**16) * least
        if e.upper() > worst:
            worst, where = arb(e.upper()), box
    return worst, where


def seen(name, argument, value, limit):
    """The error of an answer, as a share of the bound."""
    # The radius of erfc is that of its argument times a bound on its slope, which is far off for large ones.
    ctx.prec = 4096
    x = arb(argument)
    root = 1 / arb(2).sqrt()
    if name == "ln_normal_cdf":
        exact = ((-x * root).erfc() / 2).log() if x < 0 else (-(x * root).erfc() / 2).log1p()
        error = upper(arb(value) - exact)
        share = error / (limit + fmpq(4, 10**16) * upper(exact))
    else:
        s = x if name == "erfcx" else x * root
        scaled = (s * s).exp() * s.erfc()
        m = (arb.pi() / 2).sqrt() * scaled
        exact = {"erfcx": scaled, "mills_slope": 1 - x * m}.get(name, m)
        share = upper(arb(value) / exact - 1) / limit
    ctx.prec = 192
    return share


def main():
    given = json.load(sys.stdin)
    bounds = {name: bound(name) for name in FUNCTIONS}
    worst = {name: 0.0 for name in FUNCTIONS}
    for name, argument, value in given["answers"]:
        share = seen(name, float.fromhex(argument), float.fromhex(value), bounds[name][0])
        worst[name] = max(worst[name], float(share.upper()))
    up = lambda x: float(x.upper()) * (1 + 2**-50)
    print(json.dumps({"bounds": {n: up(b) for n, (b, _) in bounds.items()}, "worst": worst}))
    for name, (_, where) in bounds.items():
        print(f"{name}: worst at {where}", file=sys.stderr)


if __name__ == "__main__":
    main()
