#!/usr/bin/env python3
"""Adds up what rounding can do to the Gaussian profile, by ball arithmetic over boxes of its two parameters.

    python3 tools/reference/gaussian_bounds.py < answers.json

`ln_delta` of `profile/gaussian.rs` states an error, max(2e-13, 1e-15 b) + 1e-15 |a| b. It is proven by hand for all parameters
(docs/proofs/gaussian.md, "The error"); here the same sum is taken without the page's inequalities for mu/(M(a) - M(b)), for Mills' ratio and for the rule
of six points, over boxes that cover mu in [1e-130, 2^46] and a from -64 to 64. Also checks the nodes and weights of the rule.

Taken for granted: what `special_bounds.py` takes, and that `exp` is within one unit in the last place.

Reads {"answers": [[mu, epsilon, value, error]], "pure": [[mu, epsilon, pure, value]]}, what the library answered (hexadecimal): the logarithm of the
profile with the error it states, and the upper bound of a Gaussian and a pure step together. Answers {"shares": {way: largest share of the
stated error that is needed}, "worst": {way: the largest share that an answer used}, "least": by how many units of 2^-53 the upper bounds are above the
truth at least}. Needs python-flint.
"""

import json
import sys

from flint import arb, ctx, fmpq

from special_bounds import U, upper

# (mu, epsilon) may together be off by four halves of a unit in the last place, and their quotient is rounded.
OFF = 5 * U
# What the functions of `numeric/normal.rs` state.
RATIO, SLOPE, CDF = arb("1.2e-15"), arb("2.5e-14"), (arb("1e-15"), arb("4e-16"))
LEAST, MOST, FAR = arb(fmpq(1, 10**130)), fmpq(2) ** 46, 64
# Of the asymptotic series: from here on, so many terms.
SERIES, TERMS = 10**4, 20


def odd(k):
    """(2k - 1)!!"""
    return odd(k - 1) * (2 * k - 1) if k else 1


ODD = [odd(k) for k in range(TERMS + 1)]


def phi(t):
    return (-t * t / 2).exp() / (2 * arb.pi()).sqrt()


def mills(t):
    """Mills' ratio at a narrow ball."""
    if t > SERIES:
        # An alternating series: what is left out is at most the first term of it.
        total = sum(((-1) ** k * ODD[k] / t ** (2 * k + 1) for k in range(TERMS)), arb(0))
        return total + arb(0, upper(ODD[TERMS] / t ** (2 * TERMS + 1)))
    return (arb.pi() / 2).sqrt() * (t * t / 2).exp() * (t / arb(2).sqrt()).erfc()


def slope(t):
    return 1 - t * mills(t)


def difference(a, mu):
    """M(a) - M(a + mu)."""
    b = a + mu
    if a > SERIES:
        # Term by term; the slope of what is left out is at most that of the first term.
        total = sum(((-1) ** k * ODD[k] * (1 / a ** (2 * k + 1) - 1 / b ** (2 * k + 1)) for k in range(TERMS)), arb(0))
        return total + arb(0, upper(ODD[TERMS] * mu / a ** (2 * TERMS)))
    return mills(a) - mills(b)


def stated(a, b):
    """The error that is stated, at its least: it is rounded itself."""
    return (max(arb("2e-13"), arb("1e-15") * b, key=lambda x: x.mid()) + arb("1e-15") * a * b) * (1 - 20 * U)


def rounding(a, q, e):
    """ln phi(a) from a rounded a, its sum with a logarithm q, and the sum with the error: units of 2^-53."""
    pdf = a * a / 2 + arb("0.92")
    # a; the product; the constant and the difference; the logarithm; the two sums.
    return a * a + a * a / 2 + (pdf + fmpq(1, 2)) + 2 * q + 2 * (pdf + q) + e


def twelfth():
    """The most that the rule of six points is off, of the integral: where the slope's twelfth derivative is largest against the slope."""
    ctx.prec = 256
    t = arb(-0.25)
    # M' = t M - 1, so M^(n+1) = t M^(n) + n M^(n-1).
    m = [mills(t)]
    m.append(t * m[0] - 1)
    for n in range(1, 13):
        m.append(t * m[n] + n * m[n - 1])
    constant = arb(720) ** 4 / (13 * arb(479001600) ** 3)
    found = constant * fmpq(1, 2) ** 12 * -m[13] / slope(arb(0.25))
    ctx.prec = 192
    return found


def largest(x, y):
    return max(abs(x), abs(y), key=lambda t: t.mid())


def short(a1, a2, m1, m2, e_rule):
    """mu < 1/2: the integral of the slope, between that at b and that at a."""
    last = slope(a2 + m2)
    q = largest((m1 * last).log(), (m2 * slope(a1)).log())
    # A point is off by a unit of itself and half a unit, for which the slope changes by three units of itself at most; sums and products of the rule.
    relative = SLOPE + e_rule + 12 * U
    nearest = arb(0) if a1 < 0 else a1
    e = stated(nearest, nearest + m1)
    return (OFF / last + relative / (1 - relative) + U * rounding(largest(a1, a2), q, e)) / e


def negative(a1, a2, m1, m2):
    """mu >= 1/2, a < 0: one less what is lost."""
    # Epsilon is at least zero, so that b is at least -a and mu/2.
    b = max(-a2, a1 + m1, m1 / 2, key=lambda x: x.mid())
    # Where mu is large, the parameters' own errors move a.
    high = a2 + 12 * U * m2
    delta = phi(a2) * difference(a2, m1)
    tail = lambda t: (-t / arb(2).sqrt()).erfc() / 2
    # ln Phi, its exponential, the rounded a; the exponential of the density and its exponent, Mills' ratio, its argument, the product; the sum.
    lost = tail(a2) * (CDF[0] + CDF[1] * abs(tail(a1).log()) + 2 * U) + U * abs(a1) * phi(a2)
    lost += phi(a2) * mills(b) * (RATIO + U * (2 * a1 * a1 + fmpq(3, 2) + 4)) + U
    e = stated(-a2, b)
    return (OFF * m2 / difference(high, m2) + lost / (delta - lost) + U * (4 * abs(delta.log()) + e)) / e


def positive(a1, a2, m1, m2):
    """mu >= 1/2, a >= 0: the difference of two ratios, which falls in a and rises in mu."""
    high = a2 + 6 * U * (a2 + m2)
    least, most = difference(high, m1), difference(a1, m2)
    relative = (RATIO + U) * (mills(a1) + mills(a1 + m1)) / least + U
    e = stated(a1, a1 + m1)
    # mu/(M(a) - M(b)) rises in both.
    moved = OFF * m2 / difference(high, m2)
    return (moved + relative / (1 - relative) + U * rounding(high, largest(least.log(), most.log()), e)) / e


def steps(low, high, width, finest):
    """Neighbouring intervals from low to high: as wide as this part of their lower end and at least `finest`."""
    while low < high:
        end = min(high, low + max(low * width, finest))
        yield arb(low), arb(end)
        low = end


def shares():
    """The largest share of the stated error that is needed, for each way through the program."""
    e_rule = twelfth()
    right = list(steps(fmpq(0), fmpq(FAR), fmpq(1, 32), fmpq(1, 8)))
    left = [(-high, -low) for low, high in steps(fmpq(0), fmpq(FAR), fmpq(1, 8), fmpq(1, 8))]
    tiny = [(arb(2) ** (16 * i) * LEAST, arb(2) ** (16 * (i + 1)) * LEAST) for i in range(20)]
    small = tiny + [(arb(2) ** (-i - 1), arb(2) ** -i) for i in range(1, 13)]
    large = list(steps(fmpq(1, 2), fmpq(64), fmpq(1, 32), fmpq(0))) + list(steps(fmpq(64), MOST, fmpq(1, 4), fmpq(0)))
    worst = {"short": (arb(0), None), "negative": (arb(0), None), "positive": (arb(0), None)}

    def add(name, share, *where):
        assert share.is_finite()
        if share.upper() > worst[name][0]:
            worst[name] = (arb(share.upper()), where)

    for mu in small:
        for a in [(-mu[1] / 2, arb(0))] + right:
            add("short", short(*a, *mu, e_rule), *a, *mu)
    for mu in large:
        for a in right:
            add("positive", positive(*a, *mu), *a, *mu)
        for a in left:
            if -a[1] <= mu[1] / 2:
                add("negative", negative(*a, *mu), *a, *mu)
    return worst


def nodes():
    """The nodes and weights in `numeric/quadrature.rs` are the true ones, rounded to nearest."""
    listed = [
        (0.238_619_186_083_196_9, 0.467_913_934_572_691_05),
        (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
        (0.932_469_514_203_152, 0.171_324_492_379_170_36),
    ]
    for i, (node, weight) in enumerate(listed):
        x, w = arb.legendre_p_root(6, 2 - i, weight=True)
        assert abs(arb(node) - x) <= U * x and abs(arb(weight) - w) <= U * w


def truth(mu, epsilon):
    """ln delta of a Gaussian, its ball narrower than 2^-70 of the larger of one and itself."""
    prec = 192
    while prec < 20000:
        ctx.prec = prec
        a = epsilon / mu - mu / 2
        if a > -3:
            ln = difference(a, mu).log() - a * a / 2 - (2 * arb.pi()).log() / 2
        else:
            lost = (-a / arb(2).sqrt()).erfc() / 2 + (-a * a / 2).exp() / (2 * arb.pi()).sqrt() * mills(a + mu)
            ln = (-lost).log1p()
        if ln.is_finite() and ln.rad() < arb(2) ** -70 * max(1, abs(ln.mid()), key=lambda x: arb(x).mid()):
            return ln
        prec *= 2
    raise ValueError((mu, epsilon))


def signed(mu, x):
    """The Gaussian's ln delta at an epsilon of either sign."""
    ln = truth(mu, abs(x))
    ctx.prec = 2400
    return ln if x >= 0 else (-x.expm1() + (x + ln).exp()).log()


def both(mu, epsilon, pure):
    """ln delta of a Gaussian and a pure step."""
    ctx.prec = 2400
    told, other = signed(mu, epsilon - pure), signed(mu, epsilon + pure) - pure
    return (told.exp() + other.exp()).log() - (-pure).exp().log1p()


def main():
    given = json.load(sys.stdin)
    nodes()
    needed = shares()
    worst, least = {name: 0.0 for name in needed}, float("inf")
    for answer in given["answers"]:
        mu, epsilon, value, error = (arb(float.fromhex(x)) for x in answer)
        name = "short" if mu < fmpq(1, 2) else "negative" if epsilon / mu < mu / 2 else "positive"
        share = upper(value - truth(mu, epsilon)) / error
        worst[name] = max(worst[name], float(share.upper()))
    for answer in given["pure"]:
        mu, epsilon, pure, value = (arb(float.fromhex(x)) for x in answer)
        least = min(least, float(((value - both(mu, epsilon, pure)) / U).lower()))
    # The factor covers terms of second order.
    print(json.dumps({"shares": {n: float(s) * (1 + 1e-9) for n, (s, _) in needed.items()}, "worst": worst, "least": least}))
    for name, (_, where) in needed.items():
        print(f"{name}: worst at {[float(x) for x in where]}", file=sys.stderr)


if __name__ == "__main__":
    main()
