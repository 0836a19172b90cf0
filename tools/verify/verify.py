#!/usr/bin/env python3
"""Checks release files and certificates without the library; written from docs/FORMAT.md alone.

    python3 verify.py FILE...

Says of each file that it is accepted, with what was not rechecked, or that it is REFUSED, and why. Exit
status 1 when one is refused. Needs mpmath (requirements.txt)."""

import hashlib
import json
import math
import struct
import sys

from mpmath import binomial, exp, expm1, floor, gammainc, inf, ln, mp, mpf, ncdf, quad, sqrt

mp.dps = 60
ROOM = 1e-9


class Refused(Exception):
    """What does not hold."""


def need(holds, why):
    if not holds:
        raise Refused(why)


def sha(*parts):
    return hashlib.sha256(b"".join(parts))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parse(text, strict):
    def never(name):
        raise Refused(f"{name} is no number")

    try:
        value = json.loads(text, parse_constant=never)
        again = canonical(value)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {error}") from None
    need(not strict or again == text, "the trailer is not canonical text")
    return value


# ---- Fields. A letter a type: r real, + positive, p probability, w whole, t text, g grid, c change, . checked elsewhere.

TYPES = {
    "r": lambda v: type(v) is float,
    "+": lambda v: type(v) is float and v > 0,
    "p": lambda v: type(v) is float and 0 <= v <= 1,
    "w": lambda v: type(v) is int and 0 <= v < 1 << 64,
    "n": lambda v: type(v) is int and 1 <= v < 1 << 64,
    "t": lambda v: type(v) is str,
    "g": lambda v: type(v) is int and -960 <= v <= 960,
    "c": lambda v: v in ("add-remove", "replace"),
    ".": lambda v: True,
}


def fields(value, what, types):
    need(type(value) is dict and set(value) == set(types), f"{what}: its fields are not {sorted(types)}")
    for name, letter in types.items():
        need(TYPES[letter](value[name]), f"{what}.{name} = {value[name]!r} is out of range")


def tagged(value, what, kinds):
    kind = value.get("kind") if type(value) is dict else None
    need(type(kind) is str and kind in kinds, f"{what}: no kind {kind!r} is known")
    fields(value, what, {"kind": "t", **kinds[kind]})
    return kind


ADJACENCY = {
    "attribute": {"beta": "+"}, "row-shift": {"l2": "+"}, "add-remove-row": {"bound": "+"},
    "zero-row": {"bound": "+"}, "replace-row": {"bound": "+"},
    "set-items": {"alpha": "w", "min_size": "w"}, "any-input": {}, "user": {"rows": "n", "each": "."},
}
NOISE = {
    "none": {}, "rounded-gaussian": {"sigma": "+", "grid": "g"}, "rounded-laplace": {"scale": "+", "grid": "g"},
    "discrete-gaussian": {"sigma": "+"}, "discrete-laplace": {"scale": "+"}, "bit-flip": {"keep": "p"},
    "smooth-bit-flip": {"epsilon": "+", "rule": "t"}, "kary-response": {"alphabet": "n", "keep": "p"},
    "wishart": {"dof": "n", "scale": "+"}, "symmetric-gaussian": {"sigma": "+", "grid": "g"},
    "jl-sketch": {"rows": "n", "lift": "+"}, "data-dependent": {"rule": "t"}, "several": {"laws": "."},
}
COORDINATE = {
    "randomized-response": {"keep": "p"}, "kary-response": {"alphabet": "n", "keep": "p"},
    "gaussian": {"shift": "+", "sigma": "+"}, "laplace": {"shift": "+", "scale": "+"},
}
PROFILE = {
    "gaussian": {"sensitivity": "+", "sigma": "+"}, "gaussian-composition": {"steps": "."},
    "symmetric-gaussian": {"bound": "+", "sigma": "+", "change": "c"}, "laplace": {"sensitivity": "+", "scale": "+"},
    "pure-dp": {"epsilon": "+"}, "randomized-response": {"bits": "n", "keep": "p"},
    "kary-response": {"responses": "n", "alphabet": "n", "keep": "p"},
    "chi-mixture-gaussian": {"k": "n", "entry_shift": "+", "sigma": "+", "later_mu": "r"},
    "jl-mechanism": {"rows": "n", "bound": "+", "lift": "+", "change": "c"},
    "wishart": {"dim": "n", "dof": "n", "bound": "+", "scale": "+", "change": "c"},
    "binomial-mixture": {"trials": "n", "probability": "p", "coordinate": "."},
    "repeated": {"profile": ".", "times": "n"}, "group": {"profile": ".", "size": "n"},
}
MOST = {"bits": 2**24, "responses": 2**20, "trials": 2**20, "alphabet": 2**32, "k": 2**40, "rows": 2**40,
        "dim": 2**40, "dof": 2**40, "times": 2**10, "size": 2**20}


def check_adjacency(a):
    if tagged(a, "adjacency", ADJACENCY) == "user":
        need(2 <= a["rows"] <= 2**20, "adjacency.rows")
        need(tagged(a["each"], "adjacency.each", ADJACENCY) != "user", "adjacency.each")


def check_noise(n):
    if tagged(n, "noise", NOISE) == "several":
        laws = n["laws"]
        need(type(laws) is list and 1 <= len(laws) <= 4096, "noise.laws")
        for law in laws:
            check_noise(law)
            need(law["kind"] != "several", "noise.laws in noise.laws")
    if "grid" in n:
        need(2.0 ** n["grid"] <= 2.0**-9 * n.get("sigma", n.get("scale")), "noise.grid is too coarse")


def check_profile(p, outer=()):
    kind = tagged(p, "profile", PROFILE)
    for name, most in MOST.items():
        need(name not in p or p[name] <= most, f"profile.{name} is beyond its limit")
    need(p.get("alphabet", 2) >= 2 and p.get("size", 2) >= 2, "profile: alphabet or size")
    ratios = []
    if kind == "gaussian-composition":
        need(type(p["steps"]) is list and 1 <= len(p["steps"]) <= 2**12, "profile.steps")
        for step in p["steps"]:
            fields(step, "profile.steps", {"sensitivity": "+", "sigma": "+", "times": "n"})
            need(step["times"] <= 2**40, "profile.steps.times")
            ratios.append(step["sensitivity"] / step["sigma"])
    elif kind in ("gaussian", "laplace", "chi-mixture-gaussian"):
        ratios.append(p.get("sensitivity", p.get("entry_shift")) / p.get("sigma", p.get("scale")))
        need(0 <= p.get("later_mu", 0.0) <= 1e6, "profile.later_mu")
    elif kind == "pure-dp":
        ratios.append(p["epsilon"])
    elif kind == "jl-mechanism":
        ratios.append(p["bound"] / p["lift"])
    elif kind == "wishart":
        ratios.append(p["bound"] / math.sqrt(p["scale"]))
    elif kind == "symmetric-gaussian":
        ratios.append(p["bound"] * (p["bound"] / p["sigma"]))
    elif kind == "binomial-mixture":
        c = p["coordinate"]
        if tagged(c, "profile.coordinate", COORDINATE) in ("gaussian", "laplace"):
            ratios.append(c["shift"] / c.get("sigma", c.get("scale")))
        need(p["probability"] > 0 and 2 <= c.get("alphabet", 2) <= 2**32, "profile.probability or alphabet")
    elif kind in ("repeated", "group"):
        need(kind not in outer and not ("repeated" in outer and kind == "group"), f"profile: {kind} inside {outer}")
        check_profile(p["profile"], (*outer, kind))
    need(all(1e-100 <= r <= 1e6 for r in ratios), "profile: what moves over the noise scale")


# ---- Profiles: delta at epsilon, in 60 digits.


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

    norm = mpf(2) ** (mpf(r) / 2) * mp.gamma(mpf(r) / 2)
    density = lambda z: 2 * z ** (r - 1) * exp(-z * z / 2) / norm  # of the root
    top = sqrt(mpf(r)) + 40
    return quad(lambda z: density(z) * given(z * z), mp.linspace(0, top, 12))


def chi_mixture(p, eps):
    k, scale, later = p["k"], mpf(p["entry_shift"]) / mpf(p["sigma"]), mpf(p["later_mu"])
    norm = (mpf(k) / 2 - 1) * ln(mpf(2)) + mp.loggamma(mpf(k) / 2)
    density = lambda z: exp((k - 1) * ln(z) - z * z / 2 - norm) if z > 0 else mpf(k == 1)
    value = lambda z: density(z) * ndelta(sqrt((scale * z) ** 2 + later**2), eps)
    middle, width = sqrt(mpf(k)), 60
    return quad(value, mp.linspace(max(mpf(0), middle - width), middle + width, 24))


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
    if kind == "pure-dp":
        e = mpf(p["epsilon"])
        return plus((exp(e) - exp(eps)) / (1 + exp(e)))
    if kind == "randomized-response":
        return bit(p["bits"], p["keep"], eps)
    if kind == "kary-response":
        return letter(p["responses"], p["alphabet"], p["keep"], eps)
    if kind == "chi-mixture-gaussian":
        return chi_mixture(p, eps)
    if kind == "jl-mechanism":
        return jl(p, eps)
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


# ---- Guarantee: budget, theorem, noise.


def at_least(stated, least, what, room=ROOM):
    need(stated >= least * (1 - room), f"{what} = {stated} is below {float(least)}, the least under this adjacency")


def equal(a, b, what, room=1e-12):
    need(abs(mpf(a) - mpf(b)) <= room * abs(mpf(b)), f"{what}: the noise law states {a}, the profile {b}")


def move(a):
    return 2 * mpf(a["bound"]) if a["kind"] == "replace-row" else mpf(a.get("beta", a.get("l2", 0)))


ROWS = {"add-remove-row": "add-remove", "zero-row": "add-remove", "replace-row": "replace"}
PROJECTED = ("attribute", "row-shift", "replace-row")
THEOREMS = {  # adjacencies, profiles
    "gaussian-on-rows": (("row-shift",), ("gaussian",)), "projection-gaussian": (PROJECTED, ("gaussian",)),
    "projection-laplace": (PROJECTED, ("laplace",)), "projection-fresh": (PROJECTED, ("chi-mixture-gaussian",)),
    "projection-multi-scale": (PROJECTED, ("gaussian",)), "signs-touched": (("attribute",), ("randomized-response",)),
    "signs-fresh": (("attribute",), ("binomial-mixture",)),
    "noisy-distances": (("attribute", "replace-row"), ("gaussian",)),
    "bit-response": (("attribute",), ("randomized-response",)),
    "min-hash-mixture": (("set-items",), ("binomial-mixture", "kary-response")),
    "one-permutation": (("set-items",), ("kary-response",)), "bucket-response": (("any-input",), ("kary-response",)),
    "range-finder": (("row-shift",), ("chi-mixture-gaussian",)),
    "find-and-project": (("row-shift",), ("chi-mixture-gaussian",)), "public-basis": (("row-shift",), ("gaussian",)),
    "noisy-power-method": (tuple(ROWS), ("gaussian-composition",)),
    "covariance-gaussian": (tuple(ROWS), ("symmetric-gaussian",)), "covariance-wishart": (tuple(ROWS), ("wishart",)),
    "covariance-jl": (tuple(ROWS), ("jl-mechanism",)),
    "sliding-window": (tuple(ROWS), ("gaussian", "jl-mechanism", "repeated")),
}


def check_theorem(name, a, p):
    need(name in THEOREMS, f"no theorem {name!r}")
    adjacencies, profiles = THEOREMS[name]
    kind = p["kind"]
    need(a["kind"] in adjacencies and kind in profiles, f"{name} does not speak of {kind} under {a['kind']}")
    if name in ("projection-multi-scale", "public-basis"):
        need(p["sensitivity"] == 1.0, f"{name}: the sensitivity is not one")
    elif name == "gaussian-on-rows":
        at_least(p["sensitivity"], move(a), "sensitivity")
    elif kind == "chi-mixture-gaussian":
        at_least(p["entry_shift"], move(a) / sqrt(mpf(p["k"])), "entry_shift")
    elif name in ("noisy-power-method", "sliding-window") and kind.startswith("gaussian"):
        for step in p.get("steps", [p]):
            at_least(step["sensitivity"], row_moves(a["bound"], ROWS[a["kind"]]), "sensitivity")
    elif kind == "binomial-mixture":
        c = p["coordinate"]
        known = ("randomized-response",) if name == "signs-fresh" else ("randomized-response", "kary-response")
        need(c["kind"] in known, f"{name} does not speak of coordinates {c['kind']}")
        if name == "min-hash-mixture":
            common = max(a["min_size"] - a["alpha"] // 2, 0) + a["alpha"]
            least = (1 - mpf(1) / c.get("alphabet", 2)) * a["alpha"] / max(common, 1)
            at_least(p["probability"], least, "probability")
    elif kind == "repeated":
        need(p["profile"]["kind"] == "wishart", "sliding-window: repeated, but not a Wishart profile")


def check_change(a, p):
    if p["kind"] in ("repeated", "group"):
        check_change(a["each"] if p["kind"] == "group" and a["kind"] == "user" else a, p["profile"])
    elif "change" in p:
        need(ROWS.get(a["kind"]) == p["change"], f"a profile of {p['change']} under {a['kind']}")
        at_least(p["bound"], mpf(a["bound"]), "bound", 1e-12)


def check_pair(a, p, n, open_ends):
    """The noise law against the profile."""
    kind, law = p["kind"], n["kind"]
    laws = n.get("laws", [n])
    kinds = {x["kind"] for x in laws}
    step = lambda s, x: at_least(s, mpf(2) ** x["grid"], "a sensitivity below a step of the grid; it", 1e-12)
    if kind == "gaussian" and law in ("rounded-gaussian", "symmetric-gaussian"):
        equal(n["sigma"], p["sigma"], "sigma")
        step(p["sensitivity"], n)
        if law == "symmetric-gaussian":
            need(a["kind"] in ROWS, f"symmetric noise under {a['kind']}")
            at_least(p["sensitivity"], row_moves(a["bound"], ROWS[a["kind"]]), "sensitivity", 1e-12)
    elif kind == "gaussian" and law == "several" and p["sensitivity"] == 1.0 and kinds == {"rounded-gaussian"}:
        open_ends.append("scales of the steps: they follow from public matrices")
    elif kind == "gaussian-composition" and kinds <= {"rounded-gaussian", "symmetric-gaussian"}:
        need(law == "rounded-gaussian" or law == "several" and len(laws) == len(p["steps"]), "a law for each step")
        for s, x in zip(p["steps"], laws if law == "several" else laws * len(p["steps"])):
            equal(x["sigma"], s["sigma"], "sigma")
            step(s["sensitivity"], x)
    elif kind == law == "symmetric-gaussian":
        equal(n["sigma"], p["sigma"], "sigma")
        step(row_moves(p["bound"], p["change"]), n)
    elif kind == "chi-mixture-gaussian" and kinds == {"rounded-gaussian"}:
        equal(laws[0]["sigma"], p["sigma"], "sigma")
        if law == "several":
            open_ends.append("scales of the later steps: they follow from public matrices")
        else:
            step(mpf(p["entry_shift"]) + mpf(p["later_mu"]) * mpf(p["sigma"]), n)
    elif law == "rounded-laplace" and (kind == "laplace" or p.get("coordinate", {}).get("kind") == "laplace"):
        inner = p.get("coordinate", p)
        equal(n["scale"], inner["scale"], "scale")
        step(inner.get("shift", inner.get("sensitivity")), n)
    elif law == "rounded-gaussian" and p.get("coordinate", {}).get("kind") == "gaussian":
        equal(n["sigma"], p["coordinate"]["sigma"], "sigma")
        step(p["coordinate"]["shift"], n)
    elif kind == "pure-dp" and law in ("bit-flip", "kary-response", "smooth-bit-flip", "discrete-laplace"):
        if "keep" in n:
            keep, others = mpf(n["keep"]), n.get("alphabet", 2) - 1
            need(0 < keep < 1 and others > 0, "a response that tells all")
            least = abs(ln(keep * others / (1 - keep)))
        else:
            least = mpf(n["epsilon"]) if law == "smooth-bit-flip" else 1 / mpf(n["scale"])
        at_least(p["epsilon"], least, "epsilon", 1e-12)
    elif p.get("coordinate", p)["kind"] in ("randomized-response", "kary-response"):
        inner = p.get("coordinate", p)
        if law == "smooth-bit-flip" and "alphabet" not in inner:
            equal(n["epsilon"], ln(mpf(inner["keep"]) / (1 - mpf(inner["keep"]))), "epsilon", 1e-6)
        else:
            need(law in ("bit-flip", "kary-response"), f"{law} for a response")
            equal(n.get("alphabet", 2), inner.get("alphabet", 2), "alphabet", 0)
            equal(n["keep"], inner["keep"], "keep", 0)
    elif kind == "jl-mechanism" and kinds == {"jl-sketch"}:
        equal(sum(x["rows"] for x in laws), p["rows"], "rows", 0)
        for x in laws:
            equal(x["lift"], p["lift"], "lift")
    elif kind == law == "wishart":
        equal(n["dof"], p["dof"], "dof", 0)
        equal(n["scale"], p["scale"], "scale")
    elif kind == "repeated" and law == "several":
        need(len(laws) == p["times"], "as many laws as times")
        for x in laws:
            check_pair(a, p["profile"], x, open_ends)
    else:
        raise Refused(f"{law} noise is not known to give a {kind} profile")


def averages(p):
    return p["kind"] in ("chi-mixture-gaussian", "binomial-mixture") or "profile" in p and averages(p["profile"])


MODEL = "what is drawn from the seed is an ideal random function of 256 bits"
PROVENANCE = {"proven": {"theorem": "t"}, "published": {"source": "t", "caveat": "t"}, "declared": {"by": "t", "reason": "t"}}


def check_budget(budget):
    fields(budget, "budget", {"epsilon": "+", "delta": "p"})
    need(budget["delta"] < 1, "budget.delta")


def check_guarantee(c, open_ends):
    g, public = c["guarantee"], c["public"]
    fields(g, "guarantee", dict.fromkeys(("adjacency", "budget", "profile", "claim", "provenance"), "."))
    a, p, budget = g["adjacency"], g["profile"], g["budget"]
    check_adjacency(a)
    check_budget(budget)
    provenance = tagged(g["provenance"], "provenance", PROVENANCE)
    for word in ("source", "by", "reason"):
        need(g["provenance"].get(word, "x").strip(), f"provenance.{word} is blank")
    need(not (public.get("pace") == "rows" and a["kind"] == "add-remove-row"), "pace: rows that come are not hidden")
    stated = c["ln_true_delta"]
    if p is None:
        need(provenance == "published" and g["claim"] == "unchecked" and stated is None, "claim without a profile")
        open_ends.append("budget: a published claim without a profile")
        return
    check_profile(p)
    check_change(a, p)
    if "theorem" in g["provenance"]:
        check_theorem(g["provenance"]["theorem"], a, p)
    check_pair(a, p, c["noise"], open_ends)
    need(stated == "-inf" or type(stated) is float and stated <= 0, "ln_true_delta")
    value = -inf if stated == "-inf" else mpf(stated)
    found = delta(p, mpf(budget["epsilon"]))
    if found is None:
        open_ends.append(f"ln_true_delta: no formula here for a {p['kind']} profile")
    else:
        exact = ln(found) if found > 0 else -inf
        close = value == exact or abs(value - exact) <= ROOM * max(1, abs(exact))
        need(close, f"ln_true_delta = {stated}, the profile gives {mp.nstr(exact, 17)}")
    target = ln(mpf(budget["delta"])) if budget["delta"] > 0 else -inf
    met = value <= target or target > -inf and value <= target + mpf(1e-11) * max(1, abs(target))
    need(g["claim"] == ("met" if met else "missed-accepted-by-name"), f"claim {g['claim']!r}, but the profile says otherwise")
    need(met or provenance == "published", "the profile misses the budget")
    if averages(p):
        need(public.get("seed model") == MODEL, "public: the seed model of an average")
        need(not met or value == -inf or budget["delta"] >= 2.0**-64, "delta of an average below 2^-64")
        open_ends.append("public.seed origin: that the seed was drawn when the data were fixed")
    if provenance in ("published", "declared"):
        open_ends.append(f"provenance: {provenance}, not proven")


# ---- Certificates and files.

COMMON = {"class": "t", "format": "w", "mechanism": "t", "noise": ".", "generator": "t", "public": ".", "payload": ".", "digest": "t"}
CLASSES = {
    "private": {"library": "t", "guarantee": ".", "ln_true_delta": "."},
    "individual": {"adjacency": ".", "budget": ".", "source": "t", "warning": "t"},
    "none": {"reason": "t", "warning": "t"},
}
WARNINGS = {
    "individual": "individual differential privacy: compares this one data set with its neighbours as if what depends on the "
    "data (which values are randomised, and how much) were the same for both; is not differential privacy, and does not compose with it",
    "none": "no privacy guarantee of any kind: for comparison only",
}


def check_certificate(c, open_ends):
    need(type(c) is dict and c.get("format") == 3, "format: only certificates of version 3 are read; release again")
    need(c.get("class") in CLASSES, "class")
    fields(c, "certificate", {**COMMON, **CLASSES[c["class"]]})
    bare = {name: value for name, value in c.items() if name != "digest"}
    need(c["digest"] == sha(canonical(bare).encode()).hexdigest(), "digest: a field was altered")
    need(c["generator"] in ("os-chacha12", "deterministic-not-private"), "generator")
    need(type(c["public"]) is dict and all(type(v) in (int, float, str) for v in c["public"].values()), "public")
    check_noise(c["noise"])
    need(c.get("warning") == WARNINGS.get(c["class"]), "warning")
    if c["class"] == "private":
        check_guarantee(c, open_ends)
    elif c["class"] == "individual":
        check_adjacency(c["adjacency"])
        check_budget(c["budget"])
    if c["generator"] != "os-chacha12":
        open_ends.append("NOT PRIVATE: the noise came from a number that somebody knows")
    elif c["class"] == "private":
        open_ends.append("generator, mechanism, data within their bounds: at the writer's word")


# Codes: name, class, bytes of a number or None.
KINDS = [("sketch", "private", 8), ("sketch, single precision", "private", 4), ("signs", "private", None),
         ("signs", "individual", None), ("signs", "none", None), ("set signatures", "private", None),
         ("noisy MinHash bits", "private", 8), ("set signatures", "none", 0), ("covariance", "private", 8),
         ("low-rank approximation", "private", 8), ("range sketch", "private", 8), ("window", "private", 8)]
UNIT_ROWS = ("rademacher", "srht", "sparse-jl", "oporp", "count-sketch", "identity")


def check_unit_rows(family, k, c):
    """The least sensitivity of projections whose rows all have norm one."""
    g = c["guarantee"]
    p, a = g["profile"], g["adjacency"]
    if family["kind"] in UNIT_ROWS and p and a["kind"] in PROJECTED:
        if p["kind"] == "gaussian":
            at_least(p["sensitivity"], move(a), "sensitivity")
        elif p["kind"] == "laplace" and a["kind"] == "attribute":
            width = {"rademacher": k, "srht": k, "sparse-jl": family.get("nonzeros")}.get(family["kind"], 1)
            at_least(p["sensitivity"], move(a) * sqrt(mpf(width)), "sensitivity")


def packed(payload, rows, width, bits, below):
    """Values of `bits` bits, packed into rows of whole bytes."""
    size = (width * bits + 7) // 8
    need(len(payload) == rows * size, "shape: length of the payload")
    for i in range(rows):
        row = int.from_bytes(payload[i * size : (i + 1) * size], "little")
        need(row >> (width * bits) == 0, "payload: bits beyond the last")
        need(below == 1 << bits or all(row >> (bits * j) & ((1 << bits) - 1) < below for j in range(width)), "payload: a symbol outside the alphabet")


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def check_covariance(values, facts):
    fields(facts, "parameters", {"dim": "n", "sketch_rows": ".", "noise": "."})
    d, r = facts["dim"], facts["sketch_rows"] or 0
    need(len(values) == d * d + r * d, "shape: length of the payload")
    largest = max(map(abs, values[: d * d]))
    need(all(abs(values[i * d + j] - values[j * d + i]) <= 1e-9 * largest for i in range(d) for j in range(i)), "payload: not symmetric")
    y = values[d * d :]
    if r:
        gram = [math.fsum(y[x * d + i] * y[x * d + j] for x in range(r)) for i in range(d) for j in range(d)]
        trace = math.fsum(gram[i * d + i] for i in range(d))
        need(all(abs(g - r * v) <= 1e-9 * trace for g, v in zip(gram, values)), "payload: not the covariance of its sketch")
    return d


def on_grid(values, noise):
    if "grid" in noise:
        need(all(math.ldexp(v, -noise["grid"]).is_integer() for v in values), "payload: a value is not on the grid of the noise")


def check_release(code, payload, t, open_ends):
    """Payload, parameters and certificate of a kind against each other."""
    c, f, rows, columns = t["certificate"], t["parameters"], t["rows"], t["columns"]
    public, noise, size = c["public"], c["noise"], KINDS[code][2]
    profile = c["guarantee"]["profile"] if c["class"] == "private" else None
    states = lambda **expected: [need(public.get(n.replace("_", " ")) == v, f"public.{n} differs from the file") for n, v in expected.items()]
    counts = lambda name, least: need(not profile or profile.get(name, least) >= least, f"profile.{name} is below {least}")
    values, printed = [], f
    if size:
        need(len(payload) % size == 0, "shape: length of the payload")
        values = struct.unpack(f"<{len(payload) // size}{'d' if size == 8 else 'f'}", payload)
        need(all(map(math.isfinite, values)), "payload: not finite")
    if code <= 4:
        specs = [f] if code < 2 else f
        need(type(specs) is list and specs, "parameters")
        for spec in specs:
            fields(spec, "parameters", {"family": ".", "d": "n", "k": "n", "seed": "."})
        first = specs[0]
        need(sum(s["k"] for s in specs) == columns and all(s["d"] == first["d"] for s in specs), "shape: columns of the projection")
        states(projection=first["family"].get("kind"), d=first["d"], k=first["k"], projection_seed=first["seed"], n=rows)
        if code >= 2:
            states(bits=columns, repetitions=len(specs))
            packed(payload, rows, columns, 1, 2)
            counts("trials", columns)
            need(noise["kind"] in (("bit-flip", "smooth-bit-flip"), ("data-dependent",), ("none",))[code - 2], "noise of signs")
        else:
            need(len(values) == rows * columns, "shape: length of the payload")
            if profile:
                check_unit_rows(first["family"], columns, c)
                counts("k", columns)
    elif code in (5, 6, 7):
        scheme = f if code == 7 else f["scheme"]
        fields(scheme, "scheme", {"hash": "t", "seed": ".", "sketch": "t", "slots": "n"})
        need(scheme["slots"] == columns and scheme["hash"] == "fold64/v2", "scheme")
        states(sets=rows, hash=scheme["hash"], seed=scheme["seed"])
        if code == 5:
            fields(f, "parameters", {"scheme": ".", "coding": ".", "alphabet": "n", "keep": "p"})
            printed = [scheme, f["coding"]]
            need(noise == {"kind": "kary-response", "alphabet": f["alphabet"], "keep": f["keep"]}, "noise of the symbols")
            packed(payload, rows, columns, (f["alphabet"] - 1).bit_length(), f["alphabet"])
            bins = f["coding"]["kind"] == "bins"
            adjacency = c["guarantee"]["adjacency"]
            counts("responses", min(adjacency.get("alpha", columns), columns) if bins else columns)
            counts("trials", columns)
        elif code == 6:
            fields(f, "parameters", {"scheme": ".", "concatenation": "n", "scale": "+"})
            printed = scheme
            need(noise["kind"] == "rounded-laplace" and noise["scale"] == f["scale"], "noise of the bits")
            states(positions=columns, concatenation=f["concatenation"])
            need(len(values) == rows * columns, "shape: length of the payload")
        else:
            need(len(payload) == 4 * rows * columns and noise["kind"] == "none", "shape or noise")
    elif code == 8 or code == 11:
        facts = f if code == 8 else f["covariance"]
        need((rows, columns) == (check_covariance(values, facts),) * 2, "shape: not d x d")
        states(d=columns)
        laws = noise.get("laws", [noise])
        need(code == 11 or {k: v for k, v in noise.items() if k != "grid"} == facts["noise"], "noise of the covariance")
        need(facts["noise"]["kind"] == laws[0]["kind"] or code == 11, "noise of the window")
    elif code == 9:
        fields(f, "parameters", {"m": "n", "n": "n", "k": "n", "range": "."})
        m, n, k, drawn = f["m"], f["n"], f["k"], f["range"]
        need((rows, columns) == (m, n), "shape: not m x n")
        states(m=m, n=n)
        sizes = [m * k, n * k, m * k, k * k, m * drawn["k"] if drawn else 0]
        need(len(values) == sum(sizes), "shape: length of the payload")
        left, basis, root = values[: m * k], values[(m + n) * k : (2 * m + n) * k], values[(2 * m + n) * k :][: k * k]
        product = (math.fsum(basis[i * k + x] * root[x * k + j] for x in range(k)) for i in range(m) for j in range(k))
        need(norm([a - b for a, b in zip(left, product)]) <= 1e-9 * norm(basis) * norm(root), "payload: the left factor is not the basis times the root")
        if drawn:
            need(noise["laws"][0].get("sigma") == drawn["sigma"] and public.get("seed") == drawn["seed"], "noise or seed of the range sketch")
    else:
        fields(f, "parameters", {"m": "n", "k": "n", "sigma": "+", "seed": ".", "origin": "t"})
        need((rows, columns) == (f["m"], f["k"]) and len(values) == rows * columns, "shape: length of the payload")
        need(noise["kind"] == "rounded-gaussian" and noise["sigma"] == f["sigma"], "noise of the range sketch")
        states(m=rows, seed=f["seed"])
    if code in (9, 10) and profile:
        counts("k", (f["range"] or f)["k"] if code == 9 else columns)
    if code in (0, 6, 8, 10):
        on_grid(values, noise)
    need(t["fingerprint"] == sha(canonical(printed).encode()).hexdigest()[:16], "fingerprint")
    if profile:
        open_ends.append("sensitivities and counts that follow from a matrix, beyond the least that the adjacency fixes")
        open_ends.append("public parameters that nothing else fixes")


def check_file(data):
    open_ends = []
    if data[:8] != b"DPSKETCH":
        c = parse(data.decode(), strict=False)
        check_certificate(c, open_ends)
        return f"certificate ({c['class']})", [*open_ends, "payload: there is none beside a certificate"]
    need(len(data) >= 56, "shorter than any release file")
    version, code = struct.unpack("<II", data[8:16])
    need(version == 2, f"version {version} is not 2: release again")
    need(code < len(KINDS), f"no kind {code}")
    (length,) = struct.unpack("<Q", data[-40:-32])
    need(length <= min(len(data) - 56, 2**20), "length of the trailer")
    payload, trailer = data[16 : -40 - length], data[-40 - length : -40]
    hashed = sha(payload)
    need(data[-32:] == sha(data[:16], hashed.digest(), trailer, data[-40:-32]).digest(), "checksum: damaged or altered")
    t = parse(trailer.decode(), strict=True)
    fields(t, "trailer", {"rows": "w", "columns": "w", "fingerprint": "t", "parameters": ".", "certificate": "."})
    c = t["certificate"]
    check_certificate(c, open_ends)
    name, wanted, _ = KINDS[code]
    need(c["class"] == wanted, f"class {c['class']} for {name}")
    need(c["payload"] == hashed.hexdigest(), "payload: not the one that the certificate was written for")
    check_release(code, payload, t, open_ends)
    return f"{name} ({wanted})", open_ends


def main(paths):
    refused = False
    for path in paths:
        try:
            with open(path, "rb") as file:
                what, open_ends = check_file(file.read())
            print(f"{path}: accepted: {what}")
            for end in open_ends:
                print(f"    not rechecked: {end}")
        except (Refused, KeyError, TypeError, AttributeError, ValueError, OverflowError, ZeroDivisionError, RecursionError) as error:
            refused = True
            why = error if isinstance(error, Refused) else f"malformed: {error!r}"
            print(f"{path}: REFUSED: {why}")
    return int(refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
