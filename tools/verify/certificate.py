"""Certificates, guarantees and noise laws: docs/FORMAT.md, sections 1 and 3 to 6."""

import functools
import json
import math

from mpmath import erfc, exp, inf, ln, mp, mpf, sqrt

from profiles import delta, row_moves
from text import Refused, canonical, fields, is_name, need, parse, sha, tagged
from theorems import OF_SCALED_LAWS, ROOM, ROWS, at_least, check_change, check_theorem, parts

ADJACENCY = {
    "attribute": {"beta": "+"}, "row-shift": {"l2": "+"}, "add-remove-row": {"bound": "+"},
    "zero-row": {"bound": "+"}, "replace-row": {"bound": "+"},
    "set-items": {"alpha": "w", "min_size": "w"}, "any-input": {}, "user": {"rows": "n", "each": "."},
}
NOISE = {
    "none": {}, "rounded-gaussian": {"sigma": "+", "grid": "g"}, "rounded-laplace": {"scale": "+", "grid": "g"},
    "discrete-gaussian": {"sigma": "+"}, "discrete-laplace": {"scale": "+"}, "bit-flip": {"keep": "p"},
    "smooth-bit-flip": {"epsilon": "+", "rule": "t"}, "kary-response": {"alphabet": "n", "keep": "p"},
    "wishart": {"dof": "n", "scale": "+", "grid": "g"}, "symmetric-gaussian": {"sigma": "+", "grid": "g"},
    "staircase": {"epsilon": "+", "width": "n", "inner": "n", "grid": "g"},
    "jl-sketch": {"rows": "n", "lift": "+", "grid": "g"}, "unit-cap": {"threshold": "r", "inside": "p", "grid": "g"}, "data-dependent": {"rule": "t"}, "several": {"laws": "."},
}
COORDINATE = {
    "randomized-response": {"keep": "p"}, "kary-response": {"alphabet": "n", "keep": "p"},
    "gaussian": {"shift": "+", "sigma": "+"}, "laplace": {"shift": "+", "scale": "+"},
}
PROFILE = {
    "gaussian": {"sensitivity": "+", "sigma": "+"}, "gaussian-composition": {"steps": "."},
    "symmetric-gaussian": {"bound": "+", "sigma": "+", "change": "c"}, "laplace": {"sensitivity": "+", "scale": "+"},
    "staircase": {"sensitivity": "+", "epsilon": "+", "inner": "n", "grid": "g"},
    "discrete-laplace": {"moves": "n", "scale": "+"}, "discrete-gaussian": {"moves": "n", "sigma": "+"}, "zcdp": {"rho": "+"},
    "pure-dp": {"epsilon": "+"}, "gaussian-and-pure": {"sensitivity": "+", "sigma": "+", "epsilon": "+"}, "randomized-response": {"bits": "n", "keep": "p"},
    "kary-response": {"responses": "n", "alphabet": "n", "keep": "p"},
    "chi-mixture-gaussian": {"k": "n", "entry_shift": "+", "sigma": "+", "later_mu": "r"},
    "jl-mechanism": {"rows": "n", "bound": "+", "lift": "+", "change": "c"},
    "wishart": {"dim": "n", "dof": "n", "bound": "+", "scale": "+", "change": "c"},
    "binomial-mixture": {"trials": "n", "probability": "p", "coordinate": "."},
    "repeated": {"profile": ".", "times": "n"}, "group": {"profile": ".", "size": "n"},
}
MOST = {"bits": 2**24, "responses": 2**16, "trials": 2**16, "alphabet": 2**32, "k": 2**40, "rows": 2**40,
        "dim": 2**40, "dof": 2**40, "times": 2**10, "size": 2**20, "moves": 2**51}


def check_adjacency(a):
    if tagged(a, "adjacency", ADJACENCY) == "user":
        need(2 <= a["rows"] <= 2**20, "adjacency.rows")
        need(tagged(a["each"], "adjacency.each", ADJACENCY) != "user", "adjacency.each")


def check_stairs(epsilon, width, inner):
    need(1 / 32 <= epsilon <= 20, "epsilon of a staircase")
    need(1 <= inner <= width <= 2**45, "width or inner of a staircase")


def stairs_deviation(epsilon, width, inner):
    """In steps of the grid."""
    b, d, m = exp(-mpf(epsilon)), mpf(width), mpf(inner)
    t = b / (1 - b)
    first, second = t * b / (1 - b), t * b * (1 + b) / (1 - b) ** 2
    lengths = d * (m * m * t + 2 * m * d * first + d * d * second) + d * (d - 1) * (m * t + d * first)
    squares = (m - 1) * m * (2 * m - 1) / 3 + 2 * (lengths + d * (d - 1) * (2 * d - 1) / 6 * t)
    return sqrt(squares / (2 * m - 1 + 2 * d * t))


def stairs_width(p):
    return int(mpf(p["sensitivity"]) / mpf(2) ** p["grid"])


def check_noise(n):
    if tagged(n, "noise", NOISE) == "several":
        laws = n["laws"]
        need(type(laws) is list and 1 <= len(laws) <= 4096, "noise.laws")
        for law in laws:
            check_noise(law)
            need(law["kind"] != "several", "noise.laws in noise.laws")
    if n["kind"] == "staircase":
        check_stairs(n["epsilon"], n["width"], n["inner"])
        need(2.0**-9 * stairs_deviation(n["epsilon"], n["width"], n["inner"]) >= 1 - 1e-9, "noise.grid is too coarse")
    elif "grid" in n and n["kind"] not in ("wishart", "jl-sketch"):
        need(2.0 ** n["grid"] <= 2.0**-9 * n.get("sigma", n.get("scale", 1.0)), "noise.grid is too coarse")
    if n["kind"] == "unit-cap":
        need(0 <= n["threshold"] <= 12 and normal_tail(n) <= n["inside"] < 1, "a cap outside of its range")


def normal_tail(cap):
    return erfc(mpf(cap["threshold"]) / sqrt(mpf(2))) / 2


def check_width(a, laws):
    """Sums of groups move by the whole steps of beta, at least."""
    stairs = laws[-1]
    need(stairs["kind"] == "staircase", "private-groups: the noise of the sums is not staircase")
    need(stairs["width"] >= int(mpf(a["beta"]) * (1 - mpf(10) ** -12) / mpf(2) ** stairs["grid"]), "width of the staircase below beta")


def check_profile(p, outer=()):
    kind = tagged(p, "profile", PROFILE)
    for name, most in MOST.items():
        need(name not in p or p[name] <= most, f"profile.{name} is beyond its limit")
    need(kind != "wishart" or p["dof"] > p["dim"] + 1, "profile.dof is not above dim + 1")
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
    elif kind == "staircase":
        check_stairs(p["epsilon"], stairs_width(p), p["inner"])
    elif kind in ("discrete-laplace", "discrete-gaussian"):
        ratios.append(p["moves"] / p.get("scale", p.get("sigma")))
        need(2**-10 <= p.get("sigma", 1.0) <= 2**14, "profile.sigma of integer noise")
    elif kind == "zcdp":
        ratios.append(p["rho"])
    elif kind == "pure-dp":
        ratios.append(p["epsilon"])
    elif kind == "gaussian-and-pure":
        ratios += [p["sensitivity"] / p["sigma"], p["epsilon"]]
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


def equal(a, b, what, room=1e-12):
    need(abs(mpf(a) - mpf(b)) <= room * abs(mpf(b)), f"{what}: the noise law states {a}, the profile {b}")


def check_pair(theorem, a, p, n, open_ends):
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
        need(theorem in (None, *OF_SCALED_LAWS), f"{theorem} speaks of one law where its profile is one Gaussian")
        open_ends.append("scales of the steps: they follow from public matrices")
    elif kind == "gaussian-and-pure" and [x["kind"] for x in laws] == ["symmetric-gaussian", "staircase"]:
        equal(laws[0]["sigma"], p["sigma"], "sigma")
        step(p["sensitivity"], laws[0])
        at_least(p["epsilon"], laws[1]["epsilon"], "epsilon", 1e-12)
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
            need(theorem in (None, "find-and-project"), f"{theorem} speaks of one law")
            open_ends.append("scales of the later steps: they follow from public matrices")
        else:
            step(mpf(p["entry_shift"]) + mpf(p["later_mu"]) * mpf(p["sigma"]), n)
    elif law == "rounded-laplace" and (kind == "laplace" or p.get("coordinate", {}).get("kind") == "laplace"):
        inner = p.get("coordinate", p)
        equal(n["scale"], inner["scale"], "scale")
        step(inner.get("shift", inner.get("sensitivity")), n)
    elif kind == law == "discrete-laplace":
        equal(n["scale"], p["scale"], "scale")
    elif kind == law == "discrete-gaussian":
        equal(n["sigma"], p["sigma"], "sigma")
    elif kind == "zcdp" and law == "discrete-gaussian":
        at_least(p["rho"], 1 / (2 * mpf(n["sigma"]) ** 2), "rho", 1e-12)
    elif kind == law == "staircase":
        for name in ("epsilon", "inner", "grid"):
            equal(n[name], p[name], name, 0)
        equal(n["width"], stairs_width(p), "width", 0)
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
    elif kind == "pure-dp" and law == "unit-cap":
        inside, tail = mpf(n["inside"]), normal_tail(n)
        one = ln(inside / (1 - inside)) + ln((1 - tail) / tail)
        at_least(p["epsilon"], parts(a)[1] * one, "epsilon", 1e-12)
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
            check_pair(theorem, a, p["profile"], x, open_ends)
    else:
        raise Refused(f"{law} noise is not known to give a {kind} profile")


def averages(p):
    """Whether a profile is an average over public randomness."""
    return p["kind"] in ("chi-mixture-gaussian", "binomial-mixture") or "profile" in p and averages(p["profile"])


@functools.lru_cache(maxsize=None)
def delta_of(text, epsilon):
    return delta(json.loads(text), mpf(epsilon))


MODEL = "what is drawn from the seed is an ideal random function of 256 bits"
DRAWN = "operating system"
PROVENANCE = {"proven": {"theorem": "t"},
              "published": {"source": "t", "caveat": "t"}, "declared": {"by": "t", "reason": "t"}}


def seed_is_known(g, public):
    """Whether somebody may know a seed that must be fresh: an average needs 256 bits that the operating system drew."""
    average = g["profile"] is not None and averages(g["profile"])
    short = any(name.endswith("seed") and type(value) is int for name, value in public.items())
    return average and short or public.get("seed origin", None if average else DRAWN) != DRAWN


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
    need(not (public.get("pace") == "rows" and parts(a)[0]["kind"] == "add-remove-row"), "pace: rows that come are not hidden")
    stated = c["ln_true_delta"]
    if p is None:
        need(provenance == "published" and g["claim"] == "unchecked" and stated is None, "claim without a profile")
        open_ends.append("budget: a published claim without a profile")
        return
    check_profile(p)
    check_change(a, p)
    if "theorem" in g["provenance"]:
        check_theorem(g["provenance"]["theorem"], a, p)
        need(g["provenance"]["theorem"] != "unit-vectors" or c["noise"]["kind"] == "unit-cap", "unit-vectors: the noise is not unit-cap")
        if g["provenance"]["theorem"] == "private-groups":
            check_width(a, c["noise"]["laws"])
        if g["provenance"]["theorem"] == "group-counts":
            need(c["noise"]["kind"] == "discrete-laplace", "group-counts: the noise is not discrete-laplace")
            at_least(p["epsilon"], a["alpha"] / mpf(c["noise"]["scale"]), "epsilon", 1e-12)
    check_pair(g["provenance"].get("theorem"), a, p, c["noise"], open_ends)
    need(stated == "-inf" or type(stated) is float and stated <= 0, "ln_true_delta")
    value = -inf if stated == "-inf" else mpf(stated)
    found = delta_of(canonical(p), budget["epsilon"])
    if found is None:
        open_ends.append(f"ln_true_delta: no formula here for a {p['kind']} profile")
    else:
        exact = ln(found) if found > 0 else -inf
        # What is stated may be that of an epsilon a rounding below: near the largest loss delta is the difference of both.
        lower = max(delta_of(canonical(p), mpf(budget["epsilon"]) * (1 - mpf(1e-14))), found)
        most = ln(lower) if lower > 0 else exact
        close = value == exact or exact - ROOM * max(1, abs(exact)) <= value <= most + ROOM * max(1, abs(most))
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


COMMON = {"class": "t", "format": "w", "mechanism": "t", "noise": ".", "generator": "t", "public": ".", "payload": "h", "digest": "t"}
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


def check_map(m):
    keys = ("high", "low", "missing", "scale", "shift")
    need(type(m) is dict and all(k in keys and type(v) is float and math.isfinite(v) for k, v in m.items()), "preprocessing: constants")
    low, high = m.get("low", -math.inf), m.get("high", math.inf)
    scale, shift = m.get("scale", 1.0), m.get("shift", 0.0)
    need(abs(scale) >= 2.0**-1022 and low < high and low <= m.get("missing", max(low, min(high, 0.0))) <= high, "preprocessing: constants")
    need(all(math.isfinite((m[k] - shift) * scale) for k in ("low", "high", "missing") if k in m), "preprocessing: overflow")


def check_preprocessing(public, open_ends):
    if "preprocessing" not in public:
        return
    text = public["preprocessing"]
    need(type(text) is str, "preprocessing")
    p = parse(text, strict=True)
    need(type(p) is dict and len(text.encode()) <= 2**19 and sorted(p) == ["columns", "d", "default"] and type(p["d"]) is int and type(p["columns"]) is list, "preprocessing")
    check_map(p["default"])
    last = 0
    for column in p["columns"]:
        need(type(column) is dict and sorted(column) == ["at", "map", "name"] and type(column["at"]) is int, "preprocessing: column")
        need(last < column["at"] <= p["d"], "preprocessing: places")
        need(is_name(column["name"]), "preprocessing: name")
        check_map(column["map"])
        last = column["at"]
    d = public.get("n" if "m" in public else "d")
    need(d is None or type(d) is int and d + ("label_bound" in public) == p["d"], "preprocessing: other columns than the release")
    open_ends.append("public.preprocessing: that the rows were mapped so, by constants that do not follow from them")


def check_certificate(c, open_ends):
    need(type(c) is dict and c.get("format") == 4, "format: only certificates of version 4 are read; release again")
    need(c.get("class") in CLASSES, "class")
    fields(c, "certificate", {**COMMON, **CLASSES[c["class"]]})
    bare = {name: value for name, value in c.items() if name != "digest"}
    need(c["digest"] == sha(canonical(bare).encode()).hexdigest(), "digest: a field was altered")
    need(c["generator"] in ("os-chacha12", "release-key-chacha12", "deterministic-not-private"), "generator")
    need(type(c["public"]) is dict and all(type(v) in (int, float, str) for v in c["public"].values()), "public")
    need(all(v >= 0 for v in c["public"].values() if type(v) is int), "public: a whole number below zero")
    need(c["class"] == "private" or "preprocessing" not in c["public"], "preprocessing: of no private certificate")
    check_preprocessing(c["public"], open_ends)
    check_noise(c["noise"])
    laws = {law["kind"] for law in c["noise"].get("laws", [c["noise"]])}
    need(c["class"] == "individual" or "data-dependent" not in laws, "noise: it depends on the data, and the guarantee is not individual")
    need(c.get("reason", "x").strip(), "reason is blank")
    need(c.get("warning") == WARNINGS.get(c["class"]), "warning")
    if c["class"] == "private":
        check_guarantee(c, open_ends)
    elif c["class"] == "individual":
        check_adjacency(c["adjacency"])
        check_budget(c["budget"])
    if c["generator"] == "deterministic-not-private":
        open_ends.append("NOT PRIVATE: the noise came from a number that somebody knows")
    elif c["class"] == "private" and seed_is_known(c["guarantee"], c["public"]):
        open_ends.append("NOT PRIVATE: the guarantee needs a fresh seed, and somebody may know this one")
    elif c["class"] == "private":
        open_ends.append("generator, mechanism, data within their bounds: at the writer's word")
