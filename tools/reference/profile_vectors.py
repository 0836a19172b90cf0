#!/usr/bin/env python3
"""Profiles at random parameters and at the edges, by ball arithmetic, for `tests/second_opinion.rs`.

    python3 tools/reference/profile_vectors.py crates/dp-core/tests/vectors/second_opinion [KIND ...]

writes a file a kind. Its first line says what the columns are, a profile as certificates write it in which "$i" is the column i of a
row, and the seed. Each other line is a row: parameters, epsilon, ln delta in two floats whose sum is above it by less
than 2^-59 of the larger of itself and one (null where delta is zero), and where losses are rounded how much larger it is at an epsilon smaller by 2^-47 of itself, if
that is something. Formulas: profile_bounds.py. Seconds to a few minutes a kind. Needs python-flint.
"""

import json
import math
import random
import sys
import time
from pathlib import Path

from flint import arb, ctx, fmpq

import profile_bounds as bounds

SEED, ROWS = 31, 1000
# ln delta of the rows: nearly one to 1e-300.
DEEP = 690


class Pick(random.Random):
    def between(self, low, high, digits=4):
        """Uniform in the logarithm."""
        return float(f"%.{digits}g" % math.exp(self.uniform(math.log(low), math.log(high))))

    def count(self, high, low=1):
        return min(high, max(low, int(self.between(low, high + 1, 12))))

    def keep(self, letters=2):
        """Of keeping one of so many letters: a little above chance to nearly certain."""
        return float("%.6g" % (1 / (1 + (letters - 1) * math.exp(-self.between(1e-4, 20)))))


def steps(pick):
    return [x for _ in range(3) for x in (pick.between(0.1, 1), pick.between(0.1, 1e4), pick.count(1 << 20))]


def letters_row(pick, most, alphabets):
    alphabet = pick.count(alphabets, 2)
    return [pick.count(most), alphabet, pick.keep(alphabet)]


def wishart_row(pick, dim, dof):
    d = pick.count(dim)
    return [d, d + 1 + pick.count(dof), pick.between(0.03, 1e4)]


def staircase_row(pick):
    # Steps of a grid of 2^-30; a twentieth has a single one.
    width = pick.count(1 << 40) if pick.random() < 0.95 else 1
    return [width * 2.0**-30, pick.between(1 / 32, 20), pick.count(width)]


def losses_row(pick):
    first, second = ([pick.randrange(200) for _ in range(n)] for n in (4, 3))
    lost = [pick.choice([0, pick.randrange(1, 40)]) for _ in range(2)]
    # Multiples of 1/1024, the last so that nothing is missing.
    ways = [cells + [1024 - sum(cells) - gone] for cells, gone in zip((first, second), lost)]
    both = [[*(m / 1024 for m in way), gone / 1024] for way, gone in zip(ways, lost)]
    return [pick.between(1e-3, 2), pick.randrange(-3, 2), *both[0], pick.randrange(-3, 2), *both[1]]


ADD, REPLACE = "add-remove", "replace"
ONE_SHIFT = 1.0
# Ratios at both ends of what is accepted, as a shift and a scale.
ENDS = [(1e-100, 1.0), (1e-30, 1.0), (1e6, 1.0), (1.0, 1e-6), (3.0, 3.0)]


def jl(change):
    return {"kind": "jl-mechanism", "rows": "$0", "bound": 1.0, "lift": "$1", "change": change}


def wishart(change):
    return {"kind": "wishart", "dim": "$0", "dof": "$1", "bound": 1.0, "scale": "$2", "change": change}


def mixture(coordinate):
    return {"kind": "binomial-mixture", "trials": "$0", "probability": "$1", "coordinate": coordinate}


def many(pick, most):
    return [pick.count(most), pick.between(1e-6, 1)]


def run(profile, times):
    return {"kind": "repeated", "profile": profile, "times": times}


RESPONSE = {"kind": "randomized-response", "bits": "$0", "keep": "$1"}
LETTERS = {"kind": "kary-response", "responses": "$0", "alphabet": "$1", "keep": "$2"}
GAUSSIAN = {"kind": "gaussian", "sensitivity": "$0", "sigma": "$1"}
PURE = {"kind": "pure-dp", "epsilon": "$0"}
STAIRCASE = {"kind": "staircase", "sensitivity": "$0", "epsilon": "$1", "inner": "$2", "grid": -30}

# Name: profile, random parameters, parameters of the edges.
KINDS = {
    "gaussian": (GAUSSIAN, lambda p: [p.between(1e-3, 1e3), p.between(1e-3, 1e9)], [list(e) for e in ENDS]),
    "gaussian-composition": (
        {"kind": "gaussian-composition", "steps": [{"sensitivity": f"${i}", "sigma": f"${i + 1}", "times": f"${i + 2}"} for i in (0, 3, 6)]},
        steps,
        [[1.0, 1.0, 1] * 3, [1e-100, 1.0, 1 << 40] * 3, [1.0, 1e3, 1 << 40] * 3],
    ),
    "symmetric-gaussian": (
        {"kind": "symmetric-gaussian", "bound": "$0", "sigma": "$1", "change": ADD},
        lambda p: [p.between(0.1, 10), p.between(1e-2, 1e6)],
        [[1.0, 1e100], [1e3, 1.0], [1e-50, 1.0]],
    ),
    "symmetric-gaussian-replaced": (
        {"kind": "symmetric-gaussian", "bound": "$0", "sigma": "$1", "change": REPLACE},
        lambda p: [p.between(0.1, 10), p.between(1e-2, 1e6)],
        [[1.0, 1e100], [1e3, 1.0], [1e-50, 1.0]],
    ),
    "laplace": ({"kind": "laplace", "sensitivity": "$0", "scale": "$1"}, lambda p: [p.between(1e-2, 1e2), p.between(1e-2, 1e6)], [list(e) for e in ENDS]),
    "staircase": (STAIRCASE, staircase_row, [[2.0**-30, 1 / 32, 1], [2.0**15, 20.0, 1], [2.0**15, 1 / 32, 1 << 45], [1.0, 1.0, 1 << 29]]),
    "pure": (PURE, lambda p: [p.between(1e-9, 100)], [[1e-100], [1e-30], [1e6], [700.0], [1.0]]),
    "response": (RESPONSE, lambda p: [p.count(1 << 20) if p.random() < 0.03 else p.count(1 << 10), p.keep()], [[1, 0.75], [1, 0.5000000000000001], [1, 0.9999999999999999], [1 << 24, 0.5001], [3, 0.25], [64, 1e-300]]),
    "letters": (LETTERS, lambda p: letters_row(p, 1 << 14 if p.random() < 0.03 else 1 << 9, 1 << 32), [[1, 2, 0.75], [1, 1 << 32, 0.5], [1 << 16, 3, 0.34], [5, 4, 0.2], [7, 1 << 32, 1e-9]]),
    "mixture-response": (
        mixture({"kind": "randomized-response", "keep": "$2"}),
        lambda p: [*many(p, 1 << 14 if p.random() < 0.03 else 1 << 9), p.keep()],
        [[1, 1e-300, 0.75], [1, 1.0, 0.75], [1 << 16, 1e-6, 0.9], [10, 0.5, 0.5000000000000001], [9, 0.9999999999999999, 0.7]],
    ),
    "mixture-letters": (
        mixture({"kind": "kary-response", "alphabet": "$2", "keep": "$3"}),
        lambda p: [*many(p, 1 << 14 if p.random() < 0.03 else 1 << 9), *letters_row(p, 1, 1 << 20)[1:]],
        [[1, 1e-300, 2, 0.75], [1, 1.0, 1 << 32, 0.75], [1 << 16, 1e-6, 3, 0.9], [9, 0.9999999999999999, 5, 0.7]],
    ),
    "mixture-gaussian": (
        mixture({"kind": "gaussian", "shift": ONE_SHIFT, "sigma": "$2"}),
        lambda p: [*many(p, 1 << 13 if p.random() < 0.02 else 1 << 8), p.between(0.1, 1e3)],
        [[1, 1e-300, 1.0], [1, 1.0, 2.0], [1 << 16, 1e-3, 50.0], [9, 0.9999999999999999, 3.0], [5, 0.3, 1e100], [5, 0.3, 1e-6]],
    ),
    "mixture-laplace": (
        mixture({"kind": "laplace", "shift": ONE_SHIFT, "scale": "$2"}),
        lambda p: [*many(p, 1 << 13 if p.random() < 0.02 else 1 << 8), p.between(0.1, 1e3)],
        [[1, 1e-300, 1.0], [1, 1.0, 2.0], [1 << 16, 1e-3, 50.0], [9, 0.9999999999999999, 3.0], [5, 0.3, 1e100], [5, 0.3, 1e-6]],
    ),
    "chi-mixture": (
        {"kind": "chi-mixture-gaussian", "k": "$0", "entry_shift": ONE_SHIFT, "sigma": "$1", "later_mu": "$2"},
        lambda p: [p.count(1 << 14), p.between(0.3, 1e4), 0.0 if p.random() < 0.5 else p.between(1e-3, 3)],
        [[1, 1.0, 0.0], [1, 1e3, 1.0], [1, 0.01, 0.0], [1 << 20, 1e4, 0.0], [1 << 30, 1e6, 0.3], [2, 1e30, 0.0], [2, 1e30, 0.5]],
    ),
    "jl": (jl(ADD), lambda p: [p.count(1 << 9), p.between(0.3, 1e3)], [[1, 1.0], [1, 1e3]]),
    "jl-replaced": (jl(REPLACE), lambda p: [p.count(1 << 13), p.between(0.3, 1e3)], [[1, 1.0], [1, 1e3], [1, 0.01], [1 << 20, 1e4], [1 << 30, 1e5], [2, 1e30]]),
    "wishart": (wishart(ADD), lambda p: wishart_row(p, 1000, 5000), [[1, 3, 1.0], [1, 3, 1e6], [1, 3, 1e-2], [1000, 1002, 1.0], [2, 9000, 1.0]]),
    "wishart-replaced": (wishart(REPLACE), lambda p: wishart_row(p, 1000, 200), [[1, 3, 1.0], [2, 400, 1.0]]),
    "group-gaussian": (
        {"kind": "group", "profile": {"kind": "gaussian", "sensitivity": ONE_SHIFT, "sigma": "$0"}, "size": "$1"},
        lambda p: [p.between(1, 1e4), p.count(100, 2)],
        [[1.0, 2], [100.0, 1 << 20], [1e30, 7]],
    ),
    "group-response": (
        {"kind": "group", "profile": {"kind": "randomized-response", "bits": "$0", "keep": "$1"}, "size": "$2"},
        lambda p: [p.count(500), p.keep(), p.count(100, 2)],
        [[1, 0.75, 2], [1, 0.5000000000000001, 2], [10, 0.6, 1 << 20]],
    ),
    "approximate": ({"kind": "approximate-dp", "epsilon": "$0", "delta": "$1"}, lambda p: [p.between(1e-6, 100), p.between(1e-300, 1)], [[1e-100, 1e-300], [1e6, 0.9], [1.0, 0.0]]),
    "zcdp": ({"kind": "zcdp", "rho": "$0"}, lambda p: [p.between(1e-9, 100)], [[1e-100], [1e-30], [1e3], [1.0]]),
    "losses": (
        {
            "kind": "loss-distribution",
            "step": "$0",
            "ways": [{"first": "$1", "masses": [f"${i}" for i in range(2, 7)], "infinite": "$7"}, {"first": "$8", "masses": [f"${i}" for i in range(9, 13)], "infinite": "$13"}],
        },
        losses_row,
        [],
    ),
    "repeated-gaussian": (run(GAUSSIAN, "$2"), lambda p: [1.0, p.between(0.1, 1e6), p.count(1 << 10)], [[1.0, 1.0, 1], [1.0, 1e50, 1 << 10]]),
    "repeated-jl": (run(jl(ADD), "$2"), lambda p: [p.count(20), p.between(1, 1e3), p.count(20)], [[1, 1.0, 1], [1, 3.0, 40]]),
    "repeated-response": (run(RESPONSE, "$2"), lambda p: [p.count(20), p.keep(), p.count(200)], [[1, 0.75, 1], [1, 0.51, 1 << 10]]),
    "repeated-letters": (run(LETTERS, "$3"), lambda p: [*letters_row(p, 20, 1 << 20), p.count(100)], [[1, 2, 0.75, 1], [1, 5, 0.21, 1 << 10]]),
    "repeated-pure": (run(PURE, "$1"), lambda p: [p.between(1e-3, 3), p.count(1 << 10)], [[1.0, 1], [1e-3, 1 << 10], [30.0, 2]]),
    "repeated-staircase": (run(STAIRCASE, "$3"), lambda p: [*staircase_row(p), p.count(1 << 8)], [[1.0, 1.0, 1 << 29, 1], [1.0, 20.0, 1 << 29, 3]]),
}
# Losses are not rounded in these, so that an epsilon a little smaller is no matter.
SMOOTH = {"gaussian", "gaussian-composition", "symmetric-gaussian", "chi-mixture-gaussian", "jl-mechanism", "wishart", "zcdp"}
# One evaluation takes a second: fewer rows.
FEWER = {"wishart-replaced": 30}


def filled(template, row):
    if isinstance(template, dict):
        return {k: filled(v, row) for k, v in template.items()}
    if isinstance(template, list):
        return [filled(v, row) for v in template]
    return row[int(template[1:])] if isinstance(template, str) and template.startswith("$") else template


def rough(profile, eps):
    """About ln delta, -inf where it is zero or far below DEEP."""
    ctx.prec, bounds.only_about = 128, True
    try:
        value = bounds.delta(profile, arb(eps))
        if not value > 0:
            ctx.prec = 640
            value = bounds.delta(profile, arb(eps))
    finally:
        bounds.only_about = False
    return float(value.log().mid()) if value > 0 else -math.inf


def at(profile, target, most):
    """An epsilon at which ln delta is about `target`; none where it is less at all of them."""
    if not rough(profile, 1e-120) > target:
        return None
    low, high = (1e-12 if rough(profile, 1e-12) > target else 1e-120), 1.0
    while high < most and rough(profile, high) > target:
        low, high = high, high * 8
    for _ in range(11):
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (middle, high) if rough(profile, middle) > target else (low, middle)
    return float("%.6g" % low)


def moments(p):
    """About the mean and the deviation of the loss, and the largest loss, of kinds whose values take long."""
    kind, plain = p["kind"], math.inf
    if kind in ("randomized-response", "kary-response", "binomial-mixture"):
        c = p.get("coordinate", p)
        n, share = p.get("bits") or p.get("responses") or p["trials"], p.get("probability", 1)
        if c["kind"] in ("gaussian", "laplace"):
            mu = c["shift"] / c.get("sigma", c.get("scale"))
            most = n * mu if c["kind"] == "laplace" else plain
            return n * share * mu * mu / 2, mu * math.sqrt(n * share * (1 + mu * mu / 4)), most
        other = (1 - c["keep"]) / (c.get("alphabet", 2) - 1)
        if other == 0:
            return None
        loss, up, down = abs(math.log(c["keep"] / other)), share * max(c["keep"], other), share * min(c["keep"], other)
        return n * (up - down) * loss, loss * math.sqrt(n * (up + down - (up - down) ** 2)), n * loss
    if kind == "chi-mixture-gaussian":
        square = p["k"] / p["sigma"] ** 2 + p["later_mu"] ** 2
        return square / 2, math.sqrt(square), plain
    if kind == "jl-mechanism":
        x, ways = (p["bound"] / p["lift"]) ** 2, 2 if p["change"] == REPLACE else 1
        return ways * p["rows"] * x * x / 4, x * math.sqrt(ways * p["rows"] / 2), plain
    if kind == "wishart":
        t, k = p["bound"] ** 2 / p["scale"], p["dof"] - p["dim"] + 1
        return t * t / (4 * k), t / math.sqrt(2 * k), plain
    once = moments(p["profile"]) if kind == "repeated" and p["profile"]["kind"] in COUNTS else None
    if once:
        mean, deviation, most = once
        return p["times"] * mean, math.sqrt(p["times"]) * deviation, p["times"] * most
    return None


COUNTS = ("randomized-response", "kary-response", "jl-mechanism")


def guess(pick, profile, target):
    """An epsilon at which delta may be about that: as of a normal loss."""
    known = moments(profile)
    if not known:
        return at(profile, target, 1e7)
    mean, deviation, most = known
    by = pick.uniform(-3, 0) if target > -1 else math.sqrt(-2 * target)
    eps = mean + by * deviation
    if not 0 < eps < 0.9999 * most:
        eps = pick.random() * min(most, mean + deviation)
    return float("%.6g" % eps)


def zero_from(profile):
    """The least epsilon at which delta is zero, where that is a number a formula names."""
    kind = profile["kind"]
    if kind in ("pure-dp", "staircase"):
        return profile["epsilon"]
    return profile["sensitivity"] / profile["scale"] if kind == "laplace" else None


def row(profile, parameters, eps):
    """A line, or none where delta is below what is asked for."""
    exact = lambda e: fmpq(*float(e).as_integer_ratio())
    try:
        truth = bounds.narrow(profile, exact(eps), 60)
    except ValueError:
        if bounds.delta(profile, arb(eps)).is_zero():
            return [*parameters, eps, None]
        return None
    if not -DEEP < truth or truth > -1e-300 and not truth.contains(0):
        return None
    high = float(truth.mid())
    ctx.prec = 256
    low = (truth.upper() - arb(high)).upper()
    # Up, but not above zero.
    low = min(float("%.5g" % (float(low) + abs(float(low)) * 1e-4)), -high)
    line = [*parameters, eps, high, low]
    inner = profile["profile"] if profile["kind"] == "repeated" else profile
    if inner["kind"] in SMOOTH or eps == 0:
        return line
    near = bounds.narrow(profile, exact(eps) * (1 - bounds.NEAR), 50) - truth
    if near > arb(5e-12):
        line.append(float("%.4g" % (float(near.upper()) * 1.0001)))
    return line


def made(name):
    template, parameters, edges = KINDS[name]
    pick, rows = Pick(f"{SEED} {name}"), []

    def ask(given, eps):
        line = row(filled(template, given), given, eps)
        if line:
            rows.append(line)
        return line is not None

    for given in edges:
        profile = filled(template, given)
        ask(given, 0.0)
        costly = any(isinstance(x, int) and x >= 1 << 16 for x in given)
        for target in (-1e-3, -30, -680) if costly else (-1e-9, -1e-3, -1, -30, -300, -680):
            eps = at(profile, target, 1e7)
            if eps is not None:
                ask(given, eps)
        last = zero_from(profile)
        for eps in [math.nextafter(last, 0), last, math.nextafter(last, math.inf), last / 2] if last else []:
            ask(given, eps)
    count = FEWER.get(name, ROWS)
    while count:
        given = parameters(pick)
        profile = filled(template, given)
        # Nearly one in a fifth of them.
        target = -pick.between(1e-9, 1) if pick.random() < 0.2 else -pick.between(1e-1, DEEP)
        eps = guess(pick, profile, target)
        if eps is not None and ask(given, eps):
            count -= 1
    return {"columns": template, "seed": f"{SEED} {name}"}, rows


def main():
    out, *names = sys.argv[1:]
    for name in names or KINDS:
        start = time.time()
        head, rows = made(name)
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in [head, *rows])
        (Path(out) / f"{name}.jsonl").write_text(text + "\n")
        print(f"{name}: {len(rows)} rows, {len(text)} bytes, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
