"""Binomial mixtures of Gaussian coordinates with very many trials, 50 digits.

Writes large_mixtures.json (some minutes), and large_binomials.json with single probabilities, into
crates/dp-core/tests/vectors: the error of a logarithm of
a binomial probability grows with the root of the trials unless n p is kept in two floats.
"""

import json
import pathlib
import random

from mpmath import mp, mpf

mp.dps = 50
OUT = pathlib.Path(__file__).parents[2] / "crates/dp-core/tests/vectors"


def delta(mu, eps):
    """The profile of a Gaussian."""
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)


def binomials():
    """ln Pr[Bin(n, p) = j] up to 30 deviations from the mean."""
    pick, rows = random.Random(20261), []
    for n in [10**6, 10**8, 2**40] * 8:
        p = float(f"{pick.uniform(0.05, 0.95):.6g}")
        j = round(n * p + pick.uniform(-30, 30) * (n * p * (1 - p)) ** 0.5)
        p_ = mpf(p)
        value = (mp.loggamma(n + 1) - mp.loggamma(j + 1) - mp.loggamma(n - j + 1)
                 + j * mp.log(p_) + (n - j) * mp.log1p(-p_))
        rows.append({"trials": n, "p": p, "j": j, "value": mp.nstr(value, 20)})
    return rows


def write(name, rows):
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    (OUT / name).write_text('{"rows": [\n' + lines + "\n]}\n")


def mixture(n, p, mu, eps):
    """ln sum_m Pr[Bin(n, p) = m] delta(mu sqrt m), outwards from its largest term."""
    p, mu, eps = mpf(p), mpf(mu), mpf(eps)
    q = 1 - p

    def ln_pmf(m):
        return (mp.loggamma(n + 1) - mp.loggamma(m + 1) - mp.loggamma(n - m + 1)
                + m * mp.log(p) + (n - m) * mp.log(q))

    def ln_term(m):
        return ln_pmf(m) + mp.log(delta(mu * mp.sqrt(m), eps))

    low, high = 1, n
    while high - low > 2:
        third = (high - low) // 3
        if ln_term(low + third) < ln_term(high - third):
            low += third
        else:
            high -= third
    top = max(range(low, high + 1), key=ln_term)
    total = mpf(0)
    for step in (1, -1):
        mass, m = mp.exp(ln_pmf(top)), top
        while 1 <= m <= n:
            if not (step < 0 and m == top):
                term = mass * delta(mu * mp.sqrt(m), eps)
                total += term
                if term < total * mpf(10) ** -22:
                    break
            mass *= p / q * (n - m) / (m + 1) if step > 0 else q / p * m / (n - m + 1)
            m += step
    return mp.log(total)


def main():
    write("large_binomials.json", binomials())
    pick = random.Random(20260)
    rows = []
    for n in [10**6] * 8 + [10**8] * 8:
        p = float(f"{10 ** pick.uniform(-3, -0.4):.6g}") if n < 10**8 else float(f"{pick.uniform(0.001, 0.02):.6g}")
        mu = float(f"{pick.uniform(0.3, 2) / (n * p) ** 0.5:.6g}")
        eps = float(f"{pick.uniform(0.2, 12):.6g}")
        rows.append({"trials": n, "p": p, "mu": mu, "eps": eps, "ln_delta": mp.nstr(mixture(n, p, mu, eps), 20)})
        print(rows[-1], flush=True)
    write("large_mixtures.json", rows)


if __name__ == "__main__":
    main()
