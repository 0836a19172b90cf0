"""delta(epsilon) of every kind of profile, in 40 digits: docs/FORMAT.md, section 6."""

from mpmath import binomial, ceil, exp, expm1, floor, gamma, gammainc, inf, linspace, ln, loggamma, mp, mpf, ncdf, pi, quad, sqrt

mp.dps = 40


def plus(x):
    return x if x > 0 else mpf(0)


def ndelta(mu, eps):
    return ncdf(mu / 2 - eps / mu) - exp(eps) * ncdf(-mu / 2 - eps / mu) if mu > 0 else mpf(0)


def binomial_mean(n, p, value, first=0):
    """Sum of Bin(n, p)(m) value(m) from `first` on; terms that cannot matter are left out."""
    if p >= 1:
        return value(n)
    mode = min(n, max(first, int((n + 1) * p)))
    at_mode = binomial(n, mode) * p**mode * (1 - p) ** (n - mode)
    total = mpf(0)
    for step in (1, -1):
        weight, m = at_mode, mode
        while first <= m <= n and (weight > at_mode * mpf(10) ** -400):
            if step > 0 or m < mode:
                part = weight * value(m)
                total += part
                if step > 0 and m > mode + 50 and weight < total * mpf(10) ** -40:
                    break
                if step < 0 and part * (m + 1) < total * mpf(10) ** -40:
                    break
            if step > 0:
                weight *= mpf(n - m) / (m + 1) * p / (1 - p)
            elif m > 0:
                weight *= mpf(m) / (n - m + 1) * (1 - p) / p
            m += step
    return total


def bit(n, p, eps):
    high = max(mpf(p), 1 - mpf(p))
    if n == 0 or high == mpf(1) / 2:
        return mpf(0)
    if high == 1:
        return mpf(1)
    loss = ln(high / (1 - high))
    first = max(0, int(floor((n + eps / loss) / 2)))
    return binomial_mean(n, high, lambda j: plus(-expm1(eps - (2 * j - n) * loss)), min(first, n))


def letter(n, letters, p, eps, share=1):
    other = (1 - mpf(p)) / (letters - 1)
    mass = mpf(p) + other
    return binomial_mean(n, share * mass, lambda m: bit(m, mpf(p) / mass, eps))


def row_moves(bound, change):
    return mpf(bound) ** 2 * (sqrt(mpf(2)) if change == "replace" else 1)


def chi_square(r, low, high):
    """Probability of (low, high) under chi-square of r degrees."""
    return gammainc(mpf(r) / 2, low / 2, high / 2 if high != inf else inf, regularized=True)


def jl(p, eps):
    r, x = p["rows"], (mpf(p["bound"]) / mpf(p["lift"])) ** 2
    shift, half = mpf(r) / 2 * ln(1 + x), x / 2
    if p["change"] == "add-remove":
        a = half / (1 + x)
        t, u = (shift - eps) / a, (shift + eps) / half
        down = chi_square(r, 0, t) - exp(eps) * chi_square(r, 0, t / (1 + x)) if t > 0 else mpf(0)
        up = chi_square(r, u, inf) - exp(eps) * chi_square(r, u * (1 + x), inf)
        return max(down, up)

    def given(y):
        u = (eps + half * y / (1 + x)) / half
        lost = exp(eps + half * y / (1 + x) - shift)
        return chi_square(r, u, inf) - lost * chi_square(r, u * (1 + x), inf)

    return chi_mean(r, given)


def chi_mean(k, value, low=0, high=inf):
    """Mean of value(y) over y ~ chi-square of k degrees in (low, high); of smooth values. In the root of y."""
    norm = (mpf(k) / 2 - 1) * ln(mpf(2)) + loggamma(mpf(k) / 2)
    density = lambda z: exp((k - 1) * ln(z) - z * z / 2 - norm) if z > 0 else mpf(k == 1) * exp(-norm)
    middle, width = sqrt(mpf(k)), 60
    start, end = max(sqrt(mpf(low)), middle - width), min(sqrt(mpf(high)), middle + width)
    if start >= end:
        return mpf(0)
    part = lambda z: density(z) * value(z * z)
    nodes = linspace(start, end, 129)
    sizes = [abs(part(z)) for z in nodes]
    seen = [i for i, size in enumerate(sizes) if size > max(sizes) * mpf(10) ** -30]
    if not seen:
        return quad(part, linspace(start, end, 24))
    return quad(part, linspace(nodes[max(seen[0] - 1, 0)], nodes[min(seen[-1] + 1, 128)], 12))


def chi_mixture(p, eps):
    scale, later = mpf(p["entry_shift"]) / mpf(p["sigma"]), mpf(p["later_mu"])
    return chi_mean(p["k"], lambda y: ndelta(sqrt(scale**2 * y + later**2), eps))


def wishart(p, eps):
    """One row added or removed."""
    d, v = p["dim"], p["dof"]
    if v <= d + 1:
        return mpf(1)
    t, a, k = mpf(p["bound"]) ** 2 / mpf(p["scale"]), mpf(v - d - 1) / 2, v - d + 1
    removed = lambda y: -a * ln(1 - t / y) - t / 2 if y > t else inf
    added = lambda y: t / 2 - a * ln(1 + t / y)
    # Where the losses pass eps.
    first = t / -expm1(-(eps + t / 2) / a)
    down = chi_square(k, 0, t) + chi_mean(k, lambda y: -expm1(eps - removed(y)) if y > t else mpf(1), t, first)
    up = chi_mean(k, lambda y: -expm1(eps - added(y)), t / expm1((t / 2 - eps) / a)) if eps < t / 2 else mpf(0)
    return max(down, up)


def integer_laplace(moves, b, eps):
    """F(t) - e^eps F(t - D) at the last t whose loss is above eps."""
    if eps >= moves / b:
        return mpf(0)
    a, t = exp(-1 / b), max(int(ceil((moves - eps * b) / 2)) - 1, 0)
    return 1 - (a ** (t + 1) + exp(eps) * a ** (moves - t)) / (1 + a)


def integer_gaussian(moves, sigma, eps):
    """Sum over the integers whose loss is above eps."""
    x = int(floor(eps * sigma**2 / moves - mpf(moves) / 2)) + 1
    x = max(x, -int(20 * sigma) - 20)
    weight = lambda y: exp(-mpf(y) ** 2 / (2 * sigma**2))
    reach = int(20 * sigma) + 20
    if sigma >= 2:
        every = sigma * sqrt(2 * pi) * (1 + 2 * exp(-2 * (pi * sigma) ** 2) + 2 * exp(-8 * (pi * sigma) ** 2))
    else:
        every = 1 + 2 * sum(weight(y) for y in range(1, reach))
    # Each weight from the one before: two products a term.
    share, ratio, step = weight(x), exp(-(2 * mpf(x) + 1) / (2 * sigma**2)), exp(-1 / sigma**2)
    gap, less = exp(eps - moves * (2 * mpf(x) + moves) / (2 * sigma**2)), exp(-moves / sigma**2)
    total = mpf(0)
    while True:
        part = share * (1 - gap)
        total += part
        if x > 0 and share < total * mpf(10) ** -30:
            return total / every
        share, gap, ratio, x = share * ratio, gap * less, ratio * step, x + 1


def concentrated(rho, eps):
    """The least over the orders 1 + s; the slope in s rises."""
    value = lambda s: s * ((1 + s) * rho - eps) + s * ln(s) - (1 + s) * ln(1 + s)
    slope = lambda s: (1 + 2 * s) * rho - eps + ln(s / (1 + s))
    low, high = mpf(10) ** -60, mpf(10) ** 120
    for _ in range(400):
        middle = sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return min(exp(value(sqrt(low * high))), mpf(1))


def delta(p, eps):
    """delta, or None where this program has no formula."""
    kind = p["kind"]
    if kind == "gaussian":
        return ndelta(mpf(p["sensitivity"]) / mpf(p["sigma"]), eps)
    if kind == "gaussian-composition":
        square = sum(s["times"] * (mpf(s["sensitivity"]) / mpf(s["sigma"])) ** 2 for s in p["steps"])
        return ndelta(sqrt(square), eps)
    if kind == "symmetric-gaussian":
        return ndelta(row_moves(p["bound"], p["change"]) / mpf(p["sigma"]), eps)
    if kind == "laplace":
        return plus(-expm1((eps - mpf(p["sensitivity"]) / mpf(p["scale"])) / 2))
    if kind == "staircase":
        e, m, width = mpf(p["epsilon"]), p["inner"], int(floor(mpf(p["sensitivity"]) / mpf(2) ** p["grid"]))
        weights = 2 * m - 1 + 2 * width * exp(-e) / -expm1(-e)
        return (1 + (2 * min(m - 1, width - m) + 1) / weights) / 2 * plus(-expm1(eps - e))
    if kind == "discrete-laplace":
        return integer_laplace(p["moves"], mpf(p["scale"]), eps)
    if kind == "discrete-gaussian":
        return integer_gaussian(p["moves"], mpf(p["sigma"]), eps)
    if kind == "zcdp":
        return concentrated(mpf(p["rho"]), eps)
    if kind == "pure-dp":
        e = mpf(p["epsilon"])
        return plus((exp(e) - exp(eps)) / (1 + exp(e)))
    if kind == "gaussian-and-pure":
        # A response tells with probability 1/(1 + e^-e): then its loss is e, else -e. `ndelta` holds at either sign.
        mu, e = mpf(p["sensitivity"]) / mpf(p["sigma"]), mpf(p["epsilon"])
        return (ndelta(mu, eps - e) + exp(-e) * ndelta(mu, eps + e)) / (1 + exp(-e))
    if kind == "randomized-response":
        return bit(p["bits"], p["keep"], eps)
    if kind == "kary-response":
        return letter(p["responses"], p["alphabet"], p["keep"], eps)
    if kind == "chi-mixture-gaussian":
        return chi_mixture(p, eps)
    if kind == "jl-mechanism":
        return jl(p, eps)
    if kind == "wishart" and p["change"] == "add-remove":
        return wishart(p, eps)
    if kind == "binomial-mixture":
        c, n, share = p["coordinate"], p["trials"], mpf(p["probability"])
        if c["kind"] == "kary-response":
            return letter(n, c["alphabet"], c["keep"], eps, share)
        if c["kind"] == "randomized-response":
            return binomial_mean(n, share, lambda m: bit(m, c["keep"], eps))
        move = mpf(c["shift"]) / mpf(c.get("sigma", c.get("scale")))
        if c["kind"] == "gaussian":
            return binomial_mean(n, share, lambda m: ndelta(sqrt(mpf(m)) * move, eps))
        return binomial_mean(n, share, lambda m: plus(-expm1((eps - m * move) / 2)))
    if kind == "group":
        inner = delta(p["profile"], eps / p["size"])
        return None if inner is None else inner * expm1(eps) / expm1(eps / p["size"])
    if kind == "repeated" and p["times"] == 1:
        return delta(p["profile"], eps)
    return None
