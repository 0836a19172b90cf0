#!/usr/bin/env python3
"""A second opinion on delta(epsilon), by ball arithmetic.

    python3 tools/reference/profile_bounds.py < answers.json

Reads {"answers": [{"profile": ..., "epsilon": hexadecimal, "ln_delta": hexadecimal}]}: profiles as certificates write them
(docs/FORMAT.md, section 6), and what the library says of them. Answers {"kind": [answers, least excess, largest excess]}: of ln delta over
the truth, and over the truth at an epsilon smaller by NEAR of itself (losses are rounded up, and delta falls to zero at the largest), both
ends of the ball on the unfavourable side. A least excess below zero is a guarantee that does not hold. The formulas are
the textbook ones of docs/FORMAT.md but where a line says what else; precision grows until the ball is narrow. Needs python-flint.
"""

import json
import math
import sys

from flint import acb, arb, ctx, fmpq

NEAR = fmpq(1, 2**47)
# What the library promises of ln delta: only beyond it the second truth is asked for.
LIMIT = arb(1e-10)


def exact(x):
    """The very number a certificate states."""
    return arb(float(x)) if not isinstance(x, int) else arb(x)


def phi(x):
    """Phi(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian(mu, eps):
    return phi(mu / 2 - eps / mu) - eps.exp() * phi(-mu / 2 - eps / mu)


def laplace(ratio, eps):
    return -((eps - ratio) / 2).expm1() if eps < ratio else arb(0)


def beyond(x):
    """1 - e^-x above zero, else nothing; the ball of a zero where that is not known."""
    return arb(0) if x <= 0 else -(-x).expm1() if x > 0 else arb(0).union(-(-x).expm1().upper())


# What is left out of a sum is less than this share of it, and counts as a ball.
REST = arb(2) ** -90
NEAR_ZERO = arb(2) ** -300


def binomial_mean(n, p, value, first=0):
    """Sum over j >= first of Bin(n, p)(j) value(j), for values in [0, 1] that do not fall; p a ball in (0, 1]."""
    if (1 - p).is_zero():
        return value(n)
    q = 1 - p
    top = min(n, max(first, math.floor(float(((n + 1) * p).mid()))))
    # By the logarithm: a binomial coefficient of millions has as many digits.
    lgamma = lambda m: arb(m + 1).lgamma()
    start = (lgamma(n) - lgamma(top) - lgamma(n - top) + top * p.log() + (n - top) * q.log()).exp()
    total, weight, j = start * value(top), start, top
    while j < n:
        weight = weight * (n - j) / (j + 1) * p / q
        j += 1
        ratio = p / q * (n - j) / (j + 1)
        # Values are at most one, and the weights fall faster than geometrically from here on.
        if ratio < arb(0.999) and weight < REST * total * (1 - ratio):
            total += arb(0).union((weight / (1 - ratio)).upper())
            break
        total += weight * value(j)
    weight = start
    for j in range(top - 1, first - 1, -1):
        weight = weight * (j + 1) / (n - j) * q / p
        term = weight * value(j)
        # Below the mode both factors fall.
        if term * (j - first + 1) < REST * total:
            total += arb(0).union((term * (j - first + 1)).upper())
            break
        total += term
    return total


def bits(n, high, eps):
    """n bits that all differ, each kept with probability `high` (or its complement), a ball."""
    if not high > fmpq(1, 2):
        high = 1 - high
    if n == 0 or (high - fmpq(1, 2)).is_zero():
        return arb(0)
    if (1 - high).is_zero():
        return arb(1)
    loss = (high / (1 - high)).log()
    if not loss.is_finite():
        return loss
    if n * loss <= eps:
        return arb(0)
    # From the first j whose loss may be above eps.
    first = min(n, max(0, math.floor(float(((n + eps / loss) / 2).lower())) - 1))
    return binomial_mean(n, high, lambda j: beyond((2 * j - n) * loss - eps), first)


def walk(n, up, down, eps):
    """The sum of n steps, each a loss l up with probability `up`, as much down with probability `down`, else none; e^l = up/down. The
    probabilities are coefficients of (up + rest x + down x^2)^n, by the recurrence of a power, all of whose terms are positive."""
    if (up - down).is_zero():
        return arb(0)
    if not up > down:
        up, down = down, up
    if down.is_zero():
        return 1 - (1 - up) ** n
    loss, rest = (up / down).log(), 1 - up - down
    total, before, this = arb(0), arb(0), up**n
    for i in range(n + 1):
        value = beyond((n - i) * loss - eps)
        if value.is_zero():
            break
        total += this * value
        before, this = this, ((n - i) * rest * this + (2 * n - i + 1) * down * before) / ((i + 1) * up)
    return total


def letters(n, alphabet, keep, eps, share=1):
    return walk(n, share * keep, share * (1 - keep) / (alphabet - 1), eps)


def chi_below(k, x):
    """Pr[chi2_k < x], by the series `y^a e^-y / Gamma(a + 1) (1 + y/(a+1) + y^2/((a+1)(a+2)) + ...)`, all of whose terms are positive."""
    a, y = arb(k) / 2, x / 2
    if y > 40000 and y > 4 * a:
        return 1 - y.gamma_upper(a, regularized=1)
    term, total, j, small = arb(1), arb(1), 0, arb(2) ** -ctx.prec
    while True:
        j += 1
        term = term * y / (a + j)
        total += term
        if j % 16 == 0 and term < small * total and 2 * y < a + j:
            # The rest falls by a half at least from one to the next.
            total += arb(0).union(term.upper())
            return (a * y.log() - y - (a + 1).lgamma()).exp() * total


def chi_above(k, x):
    """Pr[chi2_k > x], the complement, with the digits that the difference takes. (Arb's upper function may take minutes.)"""
    a, y, given = arb(k) / 2, x / 2, ctx.prec
    if y > 40000 and y > 4 * a:
        return y.gamma_upper(a, regularized=1)
    if y > a:
        # Chernoff's bound, of which the tail is not a small part.
        ctx.prec = given + 96 + math.ceil(float((y - a - a * (y / a).log()).upper()) / math.log(2))
    try:
        return 1 - chi_below(k, x)
    finally:
        ctx.prec = given


def jl(rows, x, eps):
    """One row added or removed, x = (bound/lift)^2."""
    shift, half = arb(rows) / 2 * x.log1p(), x / 2
    t, u = (shift - eps) * (1 + x) / half, (shift + eps) / half
    down = chi_below(rows, t) - eps.exp() * chi_below(rows, t / (1 + x)) if t > 0 else arb(0)
    up = chi_above(rows, u) - eps.exp() * chi_above(rows, u * (1 + x))
    return down.max(up)


NOWHERE = acb("nan")


def off_the_cut(z):
    """Whether the principal powers, roots and logarithms are analytic on this ball."""
    return z.real > 0 or not z.imag.contains(0)


def centred(f, slope, z):
    """f on a ball from its middle and the slope on the ball: narrower than f of the ball where terms of the slope cancel."""
    middle = z.mid()
    return f(middle) + slope(z) * (z - middle)


def rising(slope, low, high):
    """Just below where it becomes positive."""
    for _ in range(60):
        middle = (low * high).sqrt().mid() if low * 4 < high else ((low + high) / 2).mid()
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


# Set where the size of delta is enough.
only_about = False


def inversion(half, x, later, eps):
    """Delta of a loss with `E e^(zL) = ((1 - x z) (1 + x z/(1 + x)))^(-half) e^(later^2 z (1 + z)/2)`: the inverse Laplace transform
    1/(2 pi i) int E e^(zL) e^(-z eps) / (z (1 + z)) dz, here along two rays from a point near the saddle, 60 degrees to both sides of the real axis."""
    half, other, square = arb(half), x / (1 + x), later * later / 2

    def exponent(z):
        ln = -half * ((1 - x * z).log() + (1 + other * z).log()) + square * z * (1 + z)
        return ln - z * eps - z.log() - (1 + z).log()

    def slope(z):
        return half * (x / (1 - x * z) - other / (1 + other * z)) + square * (1 + 2 * z) - eps - 1 / z - 1 / (1 + z)

    c = rising(slope, (arb(2) ** -200 / (1 + x)).mid(), (1 / x).mid())
    turn, top = acb(fmpq(1, 2), arb(3).sqrt() / 2), exponent(acb(c)).real
    if only_about:
        return (top + c.log()).exp()

    def f(y, analytic):
        z = c + y * turn
        if analytic and not all(off_the_cut(w) for w in (z, 1 + z, 1 - x * z, 1 + other * z)):
            return NOWHERE
        return (centred(exponent, slope, z) - top).exp() * turn

    # Beyond the end every factor falls, by the imaginary part alone like (y/end)^(-2 - 2 half).
    end, tiny = 2 * (1 / x + 1 + c), REST * c.min(1 / half.sqrt()) * arb(2) ** -20
    while True:
        side = arb(3).sqrt() / 2 * end
        ln = -half * ((x * side).log() + (other * side).log()) + square * (c + c * c + end * (c + fmpq(1, 2)) - end * end / 2)
        rest = (ln - eps * (c + end / 2) - 2 * side.log() - top).exp() * end
        if rest < tiny:
            break
        end *= 4
    total, left, width = acb(0), arb(0), c.min(1 / x) / 4
    while left < end:
        right = (left + width).min(end)
        total += acb.integral(f, left, right, rel_tol=arb(2) ** -85, abs_tol=tiny)
        left, width = right, width * 8
    return top.exp() * (total.imag + arb(0, rest.upper())) / arb.pi()


def jl_replaced(rows, x, eps):
    """One row replaced: L = (x/2) (u - v/(1 + x)), u and v ~ chi2_rows."""
    return inversion(arb(rows) / 2, x, arb(0), eps)


def chi_mixture(k, scale, later, eps):
    """Given q ~ chi2_k, L ~ N(mu^2/2, mu^2), mu^2 = scale^2 q + later^2: `E e^(zL) = (1 - scale^2 z (1 + z))^(-k/2) e^(later^2 z (1 + z)/2)`."""
    square = scale * scale
    return inversion(arb(k) / 2, square * (1 + (1 + 4 / square).sqrt()) / 2, later, eps)


def wishart(dim, dof, t, eps):
    """One row added or removed. Of y ~ chi2_k the other law is that of y + t, up to what the loss does not depend on: its density is
    the same function of y - t, as k/2 - 1 is the exponent of the determinant's ratio. So delta is a difference of two tails."""
    a, k = arb(dof - dim - 1) / 2, dof - dim + 1
    first = t / -(-(eps + t / 2) / a).expm1()
    down = chi_below(k, first) - eps.exp() * chi_below(k, first - t)
    if not eps < t / 2:
        return down
    last = t / ((t / 2 - eps) / a).expm1()
    return down.max(chi_above(k, last) - eps.exp() * chi_above(k, last + t))


def wishart_orthogonal(dim, dof, t, eps):
    """A row against an orthogonal one. With w of density in proportion to w^(2a+2) K_0(w) and y/w of density in proportion to
    (1 - (y/w)^2)^a, the two laws of a pair are those of y and of y + t, so that given w delta is a difference of two tails of y (incomplete
    beta functions) from where the loss is above eps. Gauss's rule over w: no ball encloses its error, so two rules have to agree."""
    if dim == 1:
        return arb(0)
    a = arb(dof - dim - 1) / 2
    norm = -(2 * a + 1) * arb(2).log() - 2 * (a + fmpq(3, 2)).lgamma()
    c = t / 2 / (eps / a / 2).tanh() if eps > 0 else None

    def density(w):
        return ((2 * a + 2) * w.log() - w + norm).exp() * w.bessel_k(0, scaled=True)

    def given(w):
        span = w * w - t * t / 4
        if not span > 0:
            return arb(1)
        middle = span / (c + (c * c + span).sqrt()) if c else arb(0)
        tail = lambda y: ((1 - y / w) / 2).beta_lower(a + 1, a + 1, regularized=1)
        return tail(middle - t / 2) - eps.exp() * tail(middle + t / 2)

    f = lambda w: density(w) * given(w)
    half, mode, deviation = t / 2, 2 * a + 2, (2 * a + 2).sqrt()
    # Panels of a deviation over all that counts, graded to the right of t/2, from where f begins with a power above one and a half.
    graded = [half + deviation * arb(2) ** -i for i in range(1, 8 + math.ceil(64 / float(a + 2)))] + [deviation / 2**i for i in range(1, 10)]
    even = [arb(i) * deviation for i in range(1, math.ceil(float(((mode + half) / deviation).upper())) + 60)]
    ends = sorted((e.mid() for e in [NEAR_ZERO, half, *graded, *even]), key=float)
    tops = [float(f(e).abs_upper().log()) if f(e) > 0 else -math.inf for e in ends]
    most = max(tops)
    panels = [(l, r) for (l, tl), (r, tr) in zip(zip(ends, tops), zip(ends[1:], tops[1:])) if l < r and max(tl, tr) > most - 45]

    def rule(n):
        nodes = [arb.legendre_p_root(n, i, weight=True) for i in range(n)]
        return sum(((r - l) / 2 * weight * f((l + r) / 2 + x * (r - l) / 2) for l, r in panels for x, weight in nodes), arb(0))

    low, high = rule(14), rule(22)
    return high + arb(0, (high - low).abs_upper())


def pure(e, eps):
    return -(eps - e).expm1() / (1 + (-e).exp()) if eps < e else arb(0)


def staircase(p):
    """Its epsilon, and the probability that it tells which of two numbers it is: the loss is epsilon then."""
    e, m, width = exact(p["epsilon"]), p["inner"], math.floor(math.ldexp(p["sensitivity"], -p["grid"]))
    weights = 2 * m - 1 + 2 * width * (-e).exp() / -(-e).expm1()
    return e, (1 + (2 * min(m - 1, width - m) + 1) / weights) / 2


def concentrated(rho, eps):
    """The least over the orders 1 + s of e^(s ((1 + s) rho - eps)) (1 + 1/s)^(-s) / (1 + s) (Canonne, Kamath, Steinke 2020, proposition 12), at most
    one: at the root of the logarithm's slope, which rises."""
    slope = lambda s: (1 + 2 * s) * rho - eps - (1 + 1 / s).log()
    low, high = arb(2) ** -2000, arb(1)
    while not slope(high) > 0:
        high *= 2
    for _ in range(ctx.prec):
        middle = (low * high).sqrt().mid() if low * 4 < high else ((low + high) / 2).mid()
        found = slope(middle)
        if found > 0:
            high = middle
        elif found < 0:
            low = middle
        else:
            break
    # Convex: nowhere between is it below its tangent at the middle.
    m = low.union(high).mid()
    value = m * ((1 + m) * rho - eps) - m * (1 / m).log1p() - m.log1p()
    value = value - arb(0).union((slope(m).abs_upper() * (high - low)).upper())
    return value.exp() if value < 0 else arb(1)


def losses(p, eps):
    def way(w):
        masses = [exact(m) for m in w["masses"]]
        lost = exact(w["infinite"]).max(1 - sum(masses, arb(0)))
        cells = ((w["first"] + i) * exact(p["step"]) for i in range(len(masses)))
        return lost + sum((m * beyond(loss - eps) for m, loss in zip(masses, cells)), arb(0))

    first, *others = (way(w) for w in p["ways"])
    for other in others:
        first = first.max(other)
    return first


def repeated(p, times, eps):
    """Several runs on the same data, of kinds whose losses are known as a whole."""
    kind = p["kind"]
    if kind == "pure-dp":
        return bits(times, 1 / (1 + (-exact(p["epsilon"])).exp()), eps)
    if kind == "staircase":
        e, telling = staircase(p)
        return walk(times, telling, telling * (-e).exp(), eps)
    if kind == "gaussian":
        return gaussian(arb(times).sqrt() * exact(p["sensitivity"]) / exact(p["sigma"]), eps)
    counts = {"randomized-response": "bits", "kary-response": "responses", "jl-mechanism": "rows"}
    return delta({**p, counts[kind]: times * p[counts[kind]]}, eps)


def moved(p):
    return exact(p["bound"]) ** 2 * (arb(2).sqrt() if p["change"] == "replace" else 1)


def delta(p, eps):
    kind = p["kind"]
    if kind == "gaussian":
        return gaussian(exact(p["sensitivity"]) / exact(p["sigma"]), eps)
    if kind == "gaussian-composition":
        return gaussian(sum((s["times"] * (exact(s["sensitivity"]) / exact(s["sigma"])) ** 2 for s in p["steps"]), arb(0)).sqrt(), eps)
    if kind == "symmetric-gaussian":
        return gaussian(moved(p) / exact(p["sigma"]), eps)
    if kind == "laplace":
        return laplace(exact(p["sensitivity"]) / exact(p["scale"]), eps)
    if kind == "staircase":
        e, telling = staircase(p)
        return telling * -(eps - e).expm1() if eps < e else arb(0)
    if kind == "pure-dp":
        return pure(exact(p["epsilon"]), eps)
    if kind == "gaussian-and-pure":
        mu, e = exact(p["sensitivity"]) / exact(p["sigma"]), exact(p["epsilon"])
        # The textbook formula of the Gaussian holds at an epsilon of either sign.
        return (gaussian(mu, eps - e) + gaussian(mu, eps + e) * (-e).exp()) / (1 + (-e).exp())
    if kind == "randomized-response":
        return bits(p["bits"], exact(p["keep"]), eps)
    if kind == "kary-response":
        return letters(p["responses"], p["alphabet"], exact(p["keep"]), eps)
    if kind == "chi-mixture-gaussian":
        return chi_mixture(p["k"], exact(p["entry_shift"]) / exact(p["sigma"]), exact(p["later_mu"]), eps)
    if kind == "jl-mechanism":
        one = jl if p["change"] == "add-remove" else jl_replaced
        return one(p["rows"], (exact(p["bound"]) / exact(p["lift"])) ** 2, eps)
    if kind == "wishart":
        at = p["dim"], p["dof"], exact(p["bound"]) ** 2 / exact(p["scale"]), eps
        return wishart(*at) if p["change"] == "add-remove" or only_about else wishart(*at).max(wishart_orthogonal(*at))
    if kind == "binomial-mixture":
        c, n, share = p["coordinate"], p["trials"], exact(p["probability"])
        if c["kind"] == "kary-response":
            return letters(n, c["alphabet"], exact(c["keep"]), eps, share)
        if c["kind"] == "randomized-response":
            return letters(n, 2, exact(c["keep"]), eps, share)
        move = exact(c["shift"]) / exact(c.get("sigma", c.get("scale")))
        if c["kind"] == "gaussian":
            return binomial_mean(n, share, lambda m: gaussian(arb(m).sqrt() * move, eps) if m else arb(0))
        return binomial_mean(n, share, lambda m: laplace(m * move, eps))
    if kind == "group":
        size = p["size"]
        steps = eps.expm1() / (eps / size).expm1() if eps > 0 else size
        return (delta(p["profile"], eps / size) * steps).min(arb(1))
    if kind == "approximate-dp":
        d = exact(p["delta"])
        return d + (1 - d) * pure(exact(p["epsilon"]), eps)
    if kind == "zcdp":
        return concentrated(exact(p["rho"]), eps)
    if kind == "loss-distribution":
        return losses(p, eps)
    if kind == "repeated":
        return repeated(p["profile"], p["times"], eps)
    raise ValueError(f"no formula for {p}")


def narrow(p, eps, digits=50):
    """ln delta as a ball of at most 2^-digits."""
    for bits_ in (192, 512, 1536, 4096, 12288, 24576, 49152):
        ctx.prec = bits_
        value = delta(p, arb(eps))
        if value > 0:
            value = value.log()
            if value.rad() < arb(2) ** -digits * (1 + value.abs_upper()):
                return value
    raise ValueError(f"no narrow ball for {p} at {eps}: {value}")


def name(p):
    inner = p.get("coordinate", p.get("profile"))
    return f"{p['kind']} of {inner['kind']}" if inner else p["kind"]


def main():
    found = {}
    for row in json.load(sys.stdin)["answers"]:
        p, eps, said = row["profile"], fmpq(*float.fromhex(row["epsilon"]).as_integer_ratio()), float.fromhex(row["ln_delta"])
        truth = narrow(p, eps)
        below, above = arb(said) - truth.upper(), arb(said) - truth.lower()
        if above > LIMIT:
            above = arb(said) - narrow(p, eps * (1 - NEAR)).lower()
        # In units of the size of the logarithm where that is above one.
        size = max(1.0, abs(float(truth.mid())))
        count, least, most = found.get(name(p), (0, math.inf, -math.inf))
        found[name(p)] = (count + 1, min(least, float(below.lower()) / size), max(most, float(above.upper()) / size))
        if float(below.lower()) < 0:
            print(f"below the truth: {row}: {truth}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
