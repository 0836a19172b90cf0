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


def binomial_mean(n, p, value, first=0):
    """Sum over j >= first of Bin(n, p)(j) value(j), all terms, p a ball in (0, 1]."""
    if (1 - p).is_zero():
        return value(n)
    q, total = 1 - p, arb(0)
    weight = arb.bin_uiui(n, first) * p**first * q ** (n - first)
    for j in range(first, n + 1):
        total += weight * value(j)
        weight = weight * (n - j) / (j + 1) * p / q
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
    # From the first j whose loss may be above eps; what is not above adds nothing, or the ball of a zero.
    first = max(0, math.floor(float(((n + eps / loss) / 2).lower())) - 1)
    plus = lambda x: arb(0) if x <= 0 else -(-x).expm1() if x > 0 else arb(0).union(-(-x).expm1().upper())
    return binomial_mean(n, high, lambda j: plus((2 * j - n) * loss - eps), min(first, n))


def letters(n, alphabet, keep, eps, share=1):
    other = (1 - keep) / (alphabet - 1)
    mass = keep + other
    return binomial_mean(n, share * mass, lambda m: bits(m, keep / mass, eps))


def chi_below(k, x):
    """Pr[chi2_k < x]."""
    return (x / 2).gamma_lower(arb(k) / 2, regularized=1)


def chi_above(k, x):
    return (x / 2).gamma_upper(arb(k) / 2, regularized=1)


def jl(rows, x, eps):
    """One row added or removed, x = (bound/lift)^2."""
    shift, half = arb(rows) / 2 * x.log1p(), x / 2
    t, u = (shift - eps) * (1 + x) / half, (shift + eps) / half
    down = chi_below(rows, t) - eps.exp() * chi_below(rows, t / (1 + x)) if t > 0 else arb(0)
    up = chi_above(rows, u) - eps.exp() * chi_above(rows, u * (1 + x))
    return down.max(up)


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


def chi_mean(k, value):
    """E value(q), q ~ chi2_k, of a value in [0, 1] that grows with q and continues analytically."""
    norm = (arb(k) / 2 - 1) * arb(2).log() + (arb(k) / 2).lgamma()

    def density(z, _):
        # In z = sqrt(q).
        return (acb(z).log() * (k - 1) - z * z / 2 - norm).exp() * value(z * z)

    middle, far = math.sqrt(k), 60
    start, end = max(middle - far, 2.0**-60), middle + far
    inside = acb.integral(density, start, end, rel_tol=arb(2) ** -70, abs_tol=arb(2) ** -100000).real
    # Left of the start the value is at most that at the start; beyond the end at most one.
    left = chi_below(k, arb(start) ** 2) * value(acb(start) ** 2).real.abs_upper()
    right = chi_above(k, arb(end) ** 2)
    return inside + arb(0).union(left.upper()) + arb(0).union(right.upper())


def chi_mixture(k, scale, later, eps):
    def value(q):
        mu = (scale * scale * q + later * later).sqrt()
        high, low = mu / 2 - eps / mu, mu / 2 + eps / mu
        root = acb(2).sqrt()
        return ((-high / root).erfc() - acb(eps).exp() * (low / root).erfc()) / 2

    return chi_mean(k, value)


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
        e, m, width = exact(p["epsilon"]), p["inner"], math.floor(math.ldexp(p["sensitivity"], -p["grid"]))
        weights = 2 * m - 1 + 2 * width * (-e).exp() / -(-e).expm1()
        return (1 + (2 * min(m - 1, width - m) + 1) / weights) / 2 * -(eps - e).expm1()
    if kind == "pure-dp":
        e = exact(p["epsilon"])
        return (e.exp() - eps.exp()) / (1 + e.exp())
    if kind == "randomized-response":
        return bits(p["bits"], exact(p["keep"]), eps)
    if kind == "kary-response":
        return letters(p["responses"], p["alphabet"], exact(p["keep"]), eps)
    if kind == "chi-mixture-gaussian":
        return chi_mixture(p["k"], exact(p["entry_shift"]) / exact(p["sigma"]), exact(p["later_mu"]), eps)
    if kind == "jl-mechanism" and p["change"] == "add-remove":
        return jl(p["rows"], (exact(p["bound"]) / exact(p["lift"])) ** 2, eps)
    if kind == "wishart" and p["change"] == "add-remove":
        return wishart(p["dim"], p["dof"], exact(p["bound"]) ** 2 / exact(p["scale"]), eps)
    if kind == "binomial-mixture":
        c, n, share = p["coordinate"], p["trials"], exact(p["probability"])
        if c["kind"] == "kary-response":
            return letters(n, c["alphabet"], exact(c["keep"]), eps, share)
        if c["kind"] == "randomized-response":
            return binomial_mean(n, share, lambda m: bits(m, exact(c["keep"]), eps))
        move = exact(c["shift"]) / exact(c.get("sigma", c.get("scale")))
        if c["kind"] == "gaussian":
            return binomial_mean(n, share, lambda m: gaussian(arb(m).sqrt() * move, eps) if m else arb(0))
        return binomial_mean(n, share, lambda m: laplace(m * move, eps))
    if kind == "group":
        size = p["size"]
        return delta(p["profile"], eps / size) * eps.expm1() / (eps / size).expm1()
    raise ValueError(f"no formula for {p}")


def narrow(p, eps):
    """ln delta as a ball of at most 2^-50."""
    for bits_ in (192, 512, 1536, 4096, 12288):
        ctx.prec = bits_
        value = delta(p, arb(eps))
        if value > 0:
            value = value.log()
            if value.rad() < arb(2) ** -50 * (1 + value.abs_upper()):
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
