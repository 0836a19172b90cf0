#!/usr/bin/env python3
"""Reference values for dp-core, by mpmath at 60 digits or more.

    python tools/reference/profiles.py crates/dp-core/tests/vectors

writes special.json and profiles.json (a minute or two). Every number is printed with 20 digits. The
formulas are the textbook ones (differences of distribution functions, integrals by
adaptive quadrature), not the rearranged ones of the library.
"""
import json
import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
# Deltas lie above 1e-310: the differences below need as many digits again.
DEEP = 420


def digits(x):
    return mp.nstr(x, 20, min_fixed=0, max_fixed=0)


def phi_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def chi2_cdf(k, x):
    """Series, all terms positive: accurate to the working precision at any k."""
    a, y = mp.mpf(k) / 2, mp.mpf(x) / 2
    if y <= 0:
        return mp.mpf(0)
    term = total = mp.mpf(1)
    j = 0
    while term > total * mp.eps:
        j += 1
        term *= y / (a + j)
        total += term
    return mp.exp(a * mp.log(y) - y - mp.loggamma(a + 1)) * total


def chi2_sf(k, x):
    """Upper tail: one minus the series, with the digits the difference eats."""
    return 1 - chi2_cdf(k, x)


def gaussian(mu, eps):
    with mp.workdps(80):
        mu, eps = mp.mpf(mu), mp.mpf(eps)
        return phi_cdf(mu / 2 - eps / mu) - mp.exp(eps) * phi_cdf(-mu / 2 - eps / mu)


def chi_mixture(k, scale, later, eps):
    k, scale, later, eps = mp.mpf(k), mp.mpf(scale), mp.mpf(later), mp.mpf(eps)

    def f(u):
        q = mp.exp(u)
        mu = mp.sqrt(scale**2 * q + later**2)
        a = eps / mu - mu / 2
        if a > 60:
            return mp.mpf(0)
        delta = phi_cdf(-a) - mp.exp(eps) * phi_cdf(-a - mu)
        return mp.exp(k / 2 * mp.log(q / 2) - q / 2 - mp.loggamma(k / 2)) * delta

    with mp.workdps(50):
        # Trapezoidal rule on u = ln q: geometric convergence; halved until 30 digits agree.
        low, high = mp.mpf(-160 / min(k, 8)) - 1, mp.log(k + 3000)
        h, last = mp.mpf(1) / 4, None
        while True:
            n = int((high - low) / h)
            value = h * mp.fsum(f(low + h * j) for j in range(n + 1))
            if last is not None and abs(value - last) < value * mp.mpf(10) ** -18:
                return value
            last, h = value, h / 2


def jl_add_remove(r, lam, eps):
    with mp.workdps(DEEP):
        r, lam, eps = mp.mpf(r), mp.mpf(lam), mp.mpf(eps)
        half = r / 2 * mp.log(1 + lam)
        t1 = (half - eps) * 2 * (1 + lam) / lam
        t2 = (half + eps) * 2 * (1 + lam) / lam
        d1 = chi2_cdf(r, t1) - mp.exp(eps) * chi2_cdf(r, t1 / (1 + lam)) if t1 > 0 else mp.mpf(0)
        d2 = chi2_sf(r, t2 / (1 + lam)) - mp.exp(eps) * chi2_sf(r, t2)
        return max(d1, d2)


def jl_replace(r, lam, eps):
    """Inverse Laplace transform 1/(2 pi i) int M(z) e^(-z eps) / (z (z + 1)) dz, on a line or
    parabola through the saddle between 0 and 1/lam, opening to the right, where e^(-z eps) decays."""
    r, lam, eps = mp.mpf(r), mp.mpf(lam), mp.mpf(eps)

    def log_f(z):
        return (
            -r / 2 * (mp.log(1 - lam * z) + mp.log(1 + lam * z / (1 + lam)))
            - z * eps - mp.log(z) - mp.log(1 + z)
        )

    low, high = mp.mpf(0), 1 / lam
    for _ in range(100):
        m1, m2 = low + (high - low) / 3, high - (high - low) / 3
        if mp.re(log_f(m1)) > mp.re(log_f(m2)):
            low = m1
        else:
            high = m2
    c = (low + high) / 2
    top = mp.re(log_f(c))
    width = 1 / mp.sqrt(abs(mp.diff(lambda x: mp.re(log_f(x)), c, 2)))
    # Needed only where |M| falls slowly; a Gaussian core wants a vertical line.
    bend = 1 / (64 * width) if r < 50 else mp.mpf(0)

    def f(y):
        return mp.im(mp.exp(log_f(c + bend * y * y + 1j * y) - top) * mp.mpc(2 * bend * y, 1))

    return mp.exp(top) * mp.quad(f, [0] + [width * 2**j for j in range(-1, 24)]) / mp.pi


def wishart(d, nu, t, eps):
    with mp.workdps(DEEP):
        t, eps = mp.mpf(t), mp.mpf(eps)
        a, k = mp.mpf(nu - d - 1) / 2, nu - d + 1
        q = 1 - mp.exp(-(eps + t / 2) / a)
        d1 = chi2_cdf(k, t / q) - mp.exp(eps) * chi2_cdf(k, t * (1 - q) / q)
        q = 1 - mp.exp((eps - t / 2) / a)
        d2 = mp.mpf(0)
        if q > 0:
            d2 = chi2_sf(k, t * (1 - q) / q) - mp.exp(eps) * chi2_sf(k, t / q)
        return max(d1, d2)


def response(n, keep, eps):
    """keep is the binary number itself."""
    p, eps = mp.mpf(keep), mp.mpf(eps)
    loss = mp.log(p / (1 - p))
    total = mp.mpf(0)
    for j in range(n + 1):
        x = (2 * j - n) * loss
        if x > eps:
            total += mp.binomial(n, j) * p**j * (1 - p) ** (n - j) * (1 - mp.exp(eps - x))
    return total


def letters(n, alphabet, keep, eps):
    """n letters that all differ: j kept, i at the other input's value, the rest without loss."""
    p, eps = mp.mpf(keep), mp.mpf(eps)
    o = (1 - p) / (alphabet - 1)
    rest = 1 - p - o
    loss = mp.log(p / o)
    total = mp.mpf(0)
    for j in range(n + 1):
        for i in range(n + 1 - j):
            if (j - i) * loss > eps:
                ways = mp.binomial(n, j) * mp.binomial(n - j, i)
                mass = ways * p**j * o**i * (rest ** (n - i - j) if n > i + j else 1)
                total += mass * (1 - mp.exp(eps - (j - i) * loss))
    return total


def mixture(n, p, delta):
    p = mp.mpf(p)
    return mp.fsum(mp.binomial(n, m) * p**m * (1 - p) ** (n - m) * delta(m) for m in range(1, n + 1))


def special():
    rows = []

    def add(name, args, value):
        rows.append({"f": name, "args": args, "value": digits(value)})
        print(rows[-1], flush=True)

    for x in [-20.0, -5.0, -1.5, -0.1, 0.0, 1e-9, 0.3, 1.0, 2.0, 3.7, 5.0, 8.5, 12.0, 19.9, 24.99, 25.01, 40.0, 1e3, 1e8]:
        with mp.workdps(DEEP + 500):
            add("erfcx", [x], mp.exp(mp.mpf(x) ** 2) * mp.erfc(mp.mpf(x)))
    for t in [-5.0, -1.0, -0.01, 0.0, 0.2, 1.0, 2.5, 3.99, 4.99, 5.01, 7.5, 12.0, 20.0, 37.5, 100.0, 1e4, 1e8]:
        with mp.workdps(80):
            t_ = mp.mpf(t)
            # M(t) = sqrt(pi/2) erfcx(t/sqrt 2), by the integral of e^(-tx - x^2/2).
            s = 1 / (1 + abs(t_))
            m = mp.quad(lambda x: mp.exp(-t_ * x - x * x / 2), [0] + [s * 2**j for j in range(-3, 12)] + [mp.inf]) if t > 30 else mp.sqrt(mp.pi / 2) * mp.exp(t_**2 / 2) * mp.erfc(t_ / mp.sqrt(2))
            add("mills_ratio", [t], m)
            add("mills_slope", [t], 1 - t_ * m)
    for x in [-100.0, -40.0, -37.6, -20.0, -8.0, -2.01, -1.99, -1.0, -1e-8, 0.0, 0.5, 1.0, 3.0, 8.0, 20.0, 37.0]:
        with mp.workdps(5000 if x < -30 else 800):
            add("ln_normal_cdf", [x], mp.log(phi_cdf(mp.mpf(x))))
    for k in [1, 2, 3, 5, 20, 101, 1000, 30001, 1000000]:
        deviations = [-30, -12, -5, -2, -0.3, 0, 0.7, 2, 5, 12, 30] if k > 20 else []
        deviations = [-12, -2, 0, 2, 10] if k == 1000000 else deviations
        xs = [k + s * (2 * k) ** 0.5 for s in deviations] if deviations else [1e-8, 1e-2, 0.3, 1.0, 2.5, 7.0, 20.0, 60.0, 200.0, 1400.0]
        for x in xs:
            if x <= 0:
                continue
            with mp.workdps(40 if x < k else 80 if k == 1000000 else DEEP):
                cdf = chi2_cdf(k, x)
                add("ln_chi_square_cdf", [k, x], mp.log(cdf))
                add("ln_chi_square_sf", [k, x], mp.log1p(-cdf))
    for n, p, j in [(10, 0.3, 0), (10, 0.3, 3), (10, 0.3, 9), (100, 0.005, 7), (100, 0.005, 40), (1000, 0.5, 500), (1000, 0.5, 700), (1000, 0.9, 700), (4096, 0.01, 41), (4096, 0.01, 200), (4096, 1e-7, 3), (20000, 0.25, 5400)]:
        with mp.workdps(DEEP):
            p_ = mp.mpf(p)
            pmf = lambda i: mp.binomial(n, i) * p_**i * (1 - p_) ** (n - i)
            term, lower = (1 - p_) ** n, mp.mpf(0)
            for i in range(j + 1):
                lower += term
                term *= mp.mpf(n - i) / (i + 1) * p_ / (1 - p_)
            add("ln_binomial_pmf", [n, p, j], mp.log(pmf(j)))
            add("ln_binomial_cdf", [n, p, j], mp.log(lower))
            add("ln_binomial_sf", [n, p, j], mp.log(1 - lower))
    return rows


def wishart_orthogonal(d, nu, t, eps, nodes=24):
    """A row against an orthogonal one: Pr[L > eps] - e^eps Pr[L < -eps], L = -a ln(1 - t (x - y + t)/(x y tau)), x and y
    independent chi-squares of m degrees, tau (a square of a cosine) beta: given x and tau, L falls with y. By Gauss's
    rule in the root of x and the angle."""
    if d == 1:
        return mp.mpf(0)
    with mp.workdps(25):
        a, m, t, eps = mp.mpf(nu - d - 1) / 2, nu - d + 2, mp.mpf(t), mp.mpf(eps)
        low, high = 1 - mp.exp(-eps / a), mp.exp(eps / a) - 1

        def given(x, tau):
            lost = chi2_cdf(m, t * (x + t) / (t + low * x * tau))
            rest = t - high * x * tau
            # Beyond 40 m + 400 the tail is below 1e-80.
            gained = rest > 0 and t * (x + t) < rest * (40 * m + 400)
            return lost - (mp.exp(eps) * chi2_sf(m, t * (x + t) / rest) if gained else 0)

        rule = [(x, w) for x, w in gauss_legendre(nodes)]

        def integral(ends, pieces, f):
            width = (ends[1] - ends[0]) / pieces
            return sum(w * width / 2 * f(ends[0] + width * (i + (x + 1) / 2)) for i in range(pieces) for x, w in rule)

        n, norm = 2 * a + 1, (mp.mpf(m) / 2 - 1) * mp.log(2) + mp.loggamma(mp.mpf(m) / 2)
        angle = min(mp.pi / 2, mp.acos(mp.mpf(10) ** (-30 / n)))
        beta = mp.sqrt(mp.pi) * mp.gamma(a + 1) / mp.gamma(a + mp.mpf(3) / 2)
        ends = max(mp.mpf(0), mp.sqrt(m) - 11), mp.sqrt(m) + 11
        over = lambda z: integral((mp.mpf(0), angle), 6, lambda p: 2 * mp.cos(p) ** n / beta * given(z * z, mp.cos(p) ** 2))
        return integral(ends, 16, lambda z: mp.exp((m - 1) * mp.log(z) - z * z / 2 - norm) * over(z))


def gauss_legendre(n):
    """Nodes and weights on [-1, 1]."""
    for i in range(1, n + 1):
        x = mp.cos(mp.pi * (i - mp.mpf(1) / 4) / (n + mp.mpf(1) / 2))
        for _ in range(8):
            below, p = mp.mpf(1), x
            for k in range(2, n + 1):
                below, p = p, ((2 * k - 1) * x * p - (k - 1) * below) / k
            slope = n * (x * p - below) / (x * x - 1)
            x -= p / slope
        yield x, 2 / ((1 - x * x) * slope**2)


REPLACED = [(2, 9, 1 / 0.6, 0.5), (1, 9, 1.25, 0.5), (3, 9, 1.5, 0.0), (10, 40, 0.5, 1.0), (10, 41, 0.9, 0.5), (20, 60, 0.2, 0.1)]


def profiles():
    rows = []

    def add(kind, args, eps, value):
        if value > mp.mpf(10) ** -305:
            rows.append({"kind": kind, "args": args, "eps": eps, "ln_delta": digits(mp.log(value))})
            print(rows[-1], flush=True)

    # mu chosen so that a = eps/mu - mu/2 covers both signs and delta down to 1e-300.
    for eps in [0.0, 1e-6, 1e-3, 0.1, 1.0, 7.0, 50.0, 1000.0]:
        for a in [-3.0, -0.5, 0.0, 0.5, 2.0, 4.6, 5.4, 9.0, 20.0, 36.5]:
            root = (a * a + 2 * eps) ** 0.5
            mu = float("%.6g" % (2 * eps / (a + root) if a > 0 else root - a))
            if mu > 0:
                add("gaussian", [mu], eps, gaussian(mu, eps))
    for mu, eps in [(1e-8, 1e-6), (1e-6, 1e-6), (1e-4, 1e-6), (1e-3, 1e-3), (0.499, 1.0), (0.501, 1.0), (0.05, 1.5)]:
        add("gaussian", [mu], eps, gaussian(mu, eps))
    for k, scale, later, eps in [(1, 0.24, 0.0, 1.0), (1, 0.05, 0.2, 1.0), (2, 0.001, 0.0, 0.001), (3, 0.02, 0.0, 1.0), (20, 0.045, 0.0, 1.0), (20, 0.001, 0.24, 1.0), (64, 1.0, 0.5, 30.0), (256, 0.0017, 0.0, 0.1), (256, 0.004, 0.0, 1.0), (1000, 1.4e-6, 0.0, 1e-6), (10000, 0.4, 0.0, 1000.0)]:
        add("chi-mixture", [k, scale, later], eps, chi_mixture(k, scale, later, eps))
    for r, lam, eps in [(1, 1.0, 0.5), (1, 0.01, 1.0), (2, 0.1, 1e-6), (20, 0.052, 1.0), (20, 0.03, 1.0), (100, 0.0033, 0.1), (100, 0.076, 4.0), (100, 1.0, 4.0), (500, 0.0138, 1.0), (500, 0.0025, 1.0), (5000, 1e-7, 1e-6), (5000, 2e-4, 1e-3), (100, 200.0, 300.0), (10, 3.0, 200.0)]:
        add("jl-add-remove", [r, lam], eps, jl_add_remove(r, lam, eps))
        add("jl-replace", [r, lam], eps, jl_replace(r, lam, eps))
    for d, nu, t, eps in [(10, 12, 0.01, 1.0), (10, 13, 0.05, 0.5), (3, 6, 1.0, 1.0), (10, 52, 1.0036, 1.0), (10, 52, 0.3, 1.0), (100, 421, 4.717, 1.0), (10, 331, 1.0, 1.0), (500, 1141, 7.2, 1.0), (100, 1381, 1.263, 0.1), (5, 200, 60.0, 10.0), (5, 200, 1e-6, 1e-6), (5, 5000, 1e-3, 1e-4), (2, 60, 3000.0, 1000.0)]:
        add("wishart", [d, nu, t], eps, wishart(d, nu, t, eps))
    for d, nu, t, eps in REPLACED:
        add("wishart-replace", [d, nu, t], eps, max(wishart(d, nu, t, eps), wishart_orthogonal(d, nu, t, eps)))
    for n, keep, eps in [(1, 0.75, 0.5), (2, 0.75, 1.0986), (10, 0.5249791874789399, 0.5), (256, 0.52, 3.0), (256, 0.505, 2.0), (64, 0.6224593312018546, 8.0), (1000, 0.5001, 1e-3), (40, 0.99, 150.0), (128, 1.0 - 2.0**-20, 1000.0), (7, 0.25, 2.0)]:
        add("response", [n, keep], eps, response(n, keep, eps))
    for n, b, keep, eps in [(1, 2, 0.75, 0.5), (1, 64, 0.1, 1.0), (10, 16, 0.2, 3.0), (20, 4, 0.4, 2.0), (5, 1000, 0.9, 30.0)]:
        add("letters", [n, b, keep], eps, letters(n, b, keep, eps))
    for n, p, keep, eps in [(100, 0.005, 0.6224593312018546, 1.0), (100, 0.005, 0.9, 6.0), (256, 0.02, 0.57, 2.0), (256, 0.001, 0.7, 20.0), (64, 0.5, 0.55, 5.0)]:
        with mp.workdps(100):
            add("response-mixture", [n, p, keep], eps, mixture(n, p, lambda m: response(m, keep, eps)))
    for n, p, mu, eps in [(100, 0.01, 0.3, 1.0), (100, 0.2, 0.05, 1.0)]:
        add("gaussian-mixture", [n, p, mu], eps, mixture(n, p, lambda m: gaussian(mu * mp.sqrt(m), eps)))
    for n, p, b, keep, eps in [(50, 0.02, 16, 0.3, 2.0)]:
        add("letters-mixture", [n, p, b, keep], eps, mixture(n, p, lambda m: letters(m, b, keep, eps)))
    return rows


def main():
    out = Path(sys.argv[1])
    for name, make in [("special", special), ("profiles", profiles)]:
        rows = make()
        head = f'{{\n "what": "tools/reference/profiles.py, mpmath {mp.__version__}",\n "rows": [\n  '
        text = head + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]\n}\n"
        (out / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main()
