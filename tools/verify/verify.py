#!/usr/bin/env python3
"""Checks release files and certificates without the library; written from docs/FORMAT.md alone.

    python3 verify.py FILE...

Says of each file that it is accepted, with what was not rechecked, or that it is REFUSED, and why. Exit
status 1 when one is refused. Needs mpmath (requirements.txt)."""

import math
import struct
import sys

from mpmath import mpf, sqrt

from certificate import check_certificate
from profiles import row_moves
from projections import check_fresh, check_projection, check_unit_rows, norm
from text import Refused, canonical, fields, is_name, need, parse, same, sha, tagged
from theorems import OF_KINDS, ROWS, at_least, common_items, minima_differ, moved_counts, parts

# Codes: name, class, bytes of a number or None.
KINDS = [("sketch", "private", 8), ("sketch, single precision", "private", 4), ("signs", "private", None),
         ("signs", "individual", None), ("signs", "none", None), ("set signatures", "private", None),
         ("noisy MinHash bits", "private", 8), ("set signatures", "none", 0), ("covariance", "private", 8),
         ("low-rank approximation", "private", 8), ("range sketch", "private", 8), ("window", "private", 8),
         ("unit vectors", "private", 4), ("regression", "private", 8), ("counts of groups", "private", 8), ("sketch, compact", "private", None),
         ("bounded values", "private", None), ("sums of private groups", "private", 8)]


def packed(payload, rows, width, bits, below):
    """Values of `bits` bits, packed into rows of whole bytes."""
    size = (width * bits + 7) // 8
    need(len(payload) == rows * size, "shape: length of the payload")
    for i in range(rows):
        row = int.from_bytes(payload[i * size : (i + 1) * size], "little")
        need(row >> (width * bits) == 0, "payload: bits beyond the last")
        need(below == 1 << bits or all(row >> (bits * j) & ((1 << bits) - 1) < below for j in range(width)), "payload: a symbol outside the alphabet")


def unpacked(payload, rows, k, grid):
    """The numbers of blocks of packed multiples of 2^grid."""
    values, at, most = [], 0, min(max(2**16 // k, 16), 4096)
    while at < len(payload):
        need(len(payload) >= at + 12, "payload: a block is cut")
        n, width, escapes = struct.unpack_from("<III", payload, at)
        need(1 <= n <= most and 6 <= width <= 32, "payload: rows or width of a block")
        start, half = at + 12, 1 << (width - 1)
        end = start + (n * k * width + 7) // 8
        at = end + 8 * escapes
        need(at <= len(payload), "payload: a block is cut")
        groups = [int.from_bytes(payload[i : min(i + width, end)], "little") for i in range(start, end, width)]
        symbols = [group >> (width * j) & (2 * half - 1) for group in groups for j in range(8)]
        need(not any(symbols[n * k :]), "payload: bits beyond the last")
        symbols = symbols[: n * k]
        whole = struct.unpack_from(f"<{escapes}d", payload, end)
        need(symbols.count(0) == escapes, "payload: escapes of a block")
        for v in whole:
            need(math.isfinite(v) and abs(v) >= math.ldexp(half, grid), "payload: an escape that is none")
            need(abs(v) >= math.ldexp(1, grid + 52) or math.ldexp(v, -grid).is_integer(), "payload: an escape is not on the grid")
        rest = iter(whole)
        values += [math.ldexp(s - half, grid) if s else next(rest) for s in symbols]
    need(len(values) == rows * k, "shape: rows of the blocks")
    return values


def moved(beta, entry, bound, constant):
    """The most that one value moves second moments of rows scaled to a norm, by."""
    square = bound**2 + constant**2
    most = min(beta, 2 * min(entry, bound))
    a = entry if entry <= bound and most * entry <= square else bound
    steps, under = [most], 5 * a**2 - 4 * square
    steps += [min(most, sqrt(2 * square))] + ([min(most, (3 * a - sqrt(under)) / 2)] if under > 0 else [])
    return max(t * sqrt(max(2 * square - t**2 / 2, 2 * square + 2 * a**2 - 4 * a * t + t**2)) for t in steps)


def check_groups(values, f, c, rows, columns, open_ends):
    """Sums of groups, moments behind them, and what both noises pay."""
    spec, public = f["projection"], c["public"]
    d, laws = spec["d"], c["noise"]["laws"]
    need(spec["family"].get("kind") == "grouped" and columns == spec["k"] and rows > 0, "shape: not a sum for each group")
    need(len(values) == rows * columns + (d + 1) * (d + 2) // 2, "shape: length of the payload")
    need([law["kind"] for law in laws] == ["symmetric-gaussian", "staircase"], "noise of moments and sums")
    on_grid(values[: rows * columns], laws[1])
    on_grid(values[rows * columns :], laws[0])
    need(type(public.get("row_bound")) is float and type(public.get("largest entry")) is float, "bounds of rows and entries")
    facts = [mpf(public[name]) for name in ("largest entry", "row_bound", "constant")]
    need(all(x > 0 for x in facts) and public["constant"] == f["constant"], "bounds of rows and entries, or constant")
    at_least(c["guarantee"]["profile"]["sensitivity"], moved(mpf(c["guarantee"]["adjacency"]["beta"]), *facts), "sensitivity", 1e-12)
    open_ends.append("groups: they follow from the moments")


def check_items(groups):
    """The items of all groups, in each increasing."""
    need(type(groups) is list and all(type(g) is list and g for g in groups), "groups")
    need(all(type(x) is int and 0 <= x < 2**64 for g in groups for x in g), "items of a group")
    need(all(x < y for g in groups for x, y in zip(g, g[1:])), "items of a group: not increasing")
    return [x for g in groups for x in g]


def check_names(names, count):
    need(type(names) is list and all(map(is_name, names)) and len(names) == count == len(set(names)), "columns")


def check_stated(public, a, d, facts, values):
    """Rows and names of columns that a covariance states."""
    if "columns" in public:
        check_names(parse(public["columns"], strict=False), d)
    if "rows" in public:
        need("constant" in facts and a["kind"] != "add-remove-row" and type(public["rows"]) is int, "rows")
        off = abs(values[-1] - facts["constant"] ** 2 * public["rows"])
        need(off <= 12 * facts["noise"]["sigma"] + 1e-9 * facts["constant"] ** 2 * public["rows"], "rows: not those of the sums")


COVARIANCE_NOISE = {"symmetric-gaussian": {"sigma": "+"}, "jl-sketch": {"rows": "n", "lift": "+"}, "wishart": {"dof": "n", "scale": "+"}}


def check_covariance(values, facts):
    """The shape of a covariance and of what stands beside it."""
    moments = "constant" in facts
    fields(facts, "parameters", {"dim": "n", "sketch_rows": ".", "noise": "."} | ({"constant": "+"} if moments else {}))
    tagged(facts["noise"], "parameters.noise", COVARIANCE_NOISE)
    d, r = facts["dim"], facts["sketch_rows"] or 0
    need(d <= 2**20 and type(r) is int and r in (0, facts["noise"].get("rows")), "dim beyond its limit, or rows of another sketch")
    need(not moments or facts["noise"]["kind"] == "symmetric-gaussian", "sums beside another noise")
    need(len(values) == d * d + r * d + moments * (d + 1), "shape: length of the payload")
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


def check_regression(values, f, c, columns, open_ends):
    """Coefficients, steps and matrix of a regression; what the steps count."""
    fields(f, "parameters", {"features": "n", "constant": "." if f.get("constant") is None else "+"})
    d, constant, public = f["features"], f["constant"], c["public"]
    need(columns == d + (constant is not None) and len(values) == columns * (columns + 1) + 4 * (2 * columns + 1), "shape: length of the payload")
    need(same(public.get("d"), d) and same(public.get("constant"), constant), "public parameters differ from the file")
    steps = [values[columns + i * (2 * columns + 1) :][: 2 * columns + 1] for i in range(4)]
    sizes = [public["label_bound"] * 2 ** (-i / 4) for i in range(24)]
    need(all(any(abs(s[0] / y - 1) <= 1e-9 for y in (sizes if i else sizes[:1])) for i, s in enumerate(steps)), "payload: residuals clipped to no public size")
    matrix = values[-columns * columns :]
    need(all(matrix[i * columns + j] == matrix[j * columns + i] for i in range(columns) for j in range(i)), "payload: not symmetric")
    need(("columns" in public) == ("target" in public), "names of columns and target")
    if "columns" in public:
        check_names([*parse(public["columns"], strict=False), public["target"]], d + 1)
    laws = c["noise"]["laws"]
    need([law["kind"] for law in laws] == ["symmetric-gaussian", "rounded-gaussian", "rounded-gaussian"], "noise of a regression")
    on_grid(matrix, laws[0])
    for step in steps:
        on_grid(step[1 : columns + 1], laws[1])
    (a, of_user), counted = parts(c["guarantee"]["adjacency"]), c["guarantee"]["profile"]["steps"]
    square, k = mpf(a["bound"]) ** 2, mpf(constant or 0) ** 2
    gradient = {"add-remove-row": sqrt(square + k), "zero-row": sqrt(square + 4 * k), "replace-row": 2 * sqrt(square + k)}[a["kind"]]
    needed = (of_user * row_moves(sqrt(square + k), ROWS[a["kind"]]), of_user * gradient, moved_counts(c["guarantee"]["adjacency"]))
    need(len(counted) == 3, "profile: not three steps")
    for step, least, times in zip(counted, needed, (1, 4, 3)):
        need(step["times"] >= times, "times of a step")
        at_least(step["sensitivity"], least, "sensitivity", 1e-12)
    open_ends.append("coefficients: they follow from the matrix, the clips and the gradients")


def check_range(drawn, c):
    """A range sketch, and what the certificate states of it."""
    fields(drawn, "range sketch", {"m": "n", "k": "n", "sigma": "+", "seed": "s", "origin": "t"})
    public, origins = c["public"], {"operating-system": "operating system", "reproducible-not-private": "reproducible, not private"}
    need(drawn["m"] < 2**32 and drawn["k"] <= 2**24, "m or k of a range sketch beyond its limit")
    need(same(public.get("m"), drawn["m"]) and same(public.get("seed"), drawn["seed"]), "public: m or seed of the range sketch")
    need(public.get("seed origin") == origins.get(drawn["origin"], drawn), "public: origin of the seed of the range sketch")
    need(public.get("rank", 0) + public.get("oversampling", 0) == drawn["k"], "public: rank and oversampling are not k")
    first = c["noise"].get("laws", [c["noise"]])[0]
    need((first["kind"], first.get("sigma")) == ("rounded-gaussian", drawn["sigma"]), "noise of the range sketch")


CODINGS = {"hashed": {"concatenation": "n"}, "bins": {}}


def check_symbols(f, c, payload, rows, columns):
    """Symbols of sets: their coding, and how many of them a change touches."""
    fields(f, "parameters", {"scheme": ".", "coding": ".", "alphabet": "n", "keep": "p"})
    letters, coding, g = f["alphabet"], f["coding"], c["guarantee"]
    bins = tagged(coding, "coding", CODINGS) == "bins"
    named = f"one-permutation/B={letters - 1}" if bins else f"secure-minhash/K={coding['concatenation']}/B={letters}"
    need(2 <= letters <= 2**16 and f["scheme"]["sketch"] == named, "alphabet, or a sketch that is not the coding's")
    need(c["noise"] == {"kind": "kary-response", "alphabet": letters, "keep": f["keep"]}, "noise of the symbols")
    packed(payload, rows, columns, (letters - 1).bit_length(), letters)
    (a, of_user), p = parts(g["adjacency"]), g["profile"]
    few = min(a.get("alpha", columns), columns) if bins else columns
    for name, least in (("responses", few * of_user), ("bits", few * of_user), ("trials", few)):
        need(not p or p.get(name, least) >= least, f"profile.{name} is below {least}")
    if "theorem" in g["provenance"]:
        need((g["provenance"]["theorem"] == "one-permutation") == bins, "a theorem about another coding")
    if p and p["kind"] == "binomial-mixture":
        need(g["provenance"]["kind"] == "published" or "seed origin" in c["public"], "an average over hash functions of no stated origin")
        union = common_items(a) + a["alpha"]
        least = mpf(max(a["alpha"], columns)) / (union - few + 1) if bins else minima_differ(a, coding["concatenation"], letters)
        at_least(p["probability"], least, "probability")


OF_SCHEDULES = {"block": ("symmetric-gaussian", "wishart", "jl-mechanism"), "tree": ("gaussian", "repeated", "jl-mechanism"),
                "factorised": ("gaussian",), "decayed": ("gaussian",)}


def check_window(schedule, public, a, p, theorem):
    """What one row moves of all matrices that it is in."""
    kind = schedule.get("kind")
    need(kind in OF_SCHEDULES, "no such schedule")
    need(theorem is None or (theorem == "sliding-window") == (kind != "block"), "a theorem about another schedule")
    need(p is None or p["kind"] in OF_SCHEDULES[kind], "a profile of another schedule")
    if p is not None and kind == "tree":
        levels = (public["window"] // public["block"]).bit_length()
        if p["kind"] == "gaussian":
            at_least(p["sensitivity"], sqrt(mpf(levels)) * row_moves(a["bound"], ROWS[a["kind"]]), "sensitivity")
        elif p["kind"] == "jl-mechanism":
            need(p["rows"] >= levels * schedule.get("noise", {}).get("rows", math.inf), "fewer rows of sketches than those of all levels")
        else:
            need(p["times"] >= levels, "fewer matrices than levels of the tree")


def check_release(code, payload, t, open_ends):
    """Payload, parameters and certificate of a kind against each other."""
    c, f, rows, columns = t["certificate"], t["parameters"], t["rows"], t["columns"]
    public, noise, size = c["public"], c["noise"], KINDS[code][2]
    profile = c["guarantee"]["profile"] if c["class"] == "private" else None
    theorem = c["guarantee"]["provenance"].get("theorem") if c["class"] == "private" else None
    if c["class"] == "private" and c["guarantee"]["adjacency"]["kind"] == "user":
        need(c["guarantee"]["provenance"]["kind"] == "proven", "a published claim of a user with several rows")
    need(theorem is None or theorem in OF_KINDS.get(code, ()), f"{theorem} is not about {KINDS[code][0]}")
    states = lambda **expected: [need(same(public.get(n.replace("_", " ")), v), f"public.{n} differs from the file") for n, v in expected.items()]
    counts = lambda name, least: need(not profile or profile.get(name, least) >= least, f"profile.{name} is below {least}")
    values, printed = [], f
    if size:
        need(len(payload) % size == 0, "shape: length of the payload")
        values = struct.unpack(f"<{len(payload) // size}{'d' if size == 8 else 'f'}", payload)
        need(all(map(math.isfinite, values)), "payload: not finite")
    if code == 15:
        fields(f, "parameters", {"projection": ".", "grid": "g"})
        need(noise["kind"] in ("rounded-gaussian", "rounded-laplace"), "noise of a compact sketch")
        need(f["grid"] == math.frexp(noise.get("sigma", noise.get("scale")))[1] - 4, "parameters.grid does not follow from the noise")
        printed = f["projection"]
        need(type(printed) is dict and printed.get("k") == columns, "shape: columns of the projection")
        values = unpacked(payload, rows, columns, f["grid"])
    if code <= 4 or code == 15:
        specs = f if code in (2, 3, 4) else [printed]
        need(type(specs) is list and specs, "parameters")
        first = specs[0]
        for spec in specs:
            check_projection(spec, states if spec is first else lambda **_: None)
        need(sum(s["k"] for s in specs) == columns and all(s["d"] == first["d"] for s in specs), "shape: columns of the projection")
        states(n=rows)
        if profile:
            check_fresh(specs, c)
        if code in (2, 3, 4):
            states(bits=columns, repetitions=len(specs))
            packed(payload, rows, columns, 1, 2)
            counts("trials", columns)
            need(noise["kind"] in (("bit-flip", "smooth-bit-flip"), ("data-dependent",), ("none",))[code - 2], "noise of signs")
        else:
            need(len(values) == rows * columns, "shape: length of the payload")
            need(noise["kind"] in ("rounded-gaussian", "rounded-laplace", "staircase"), "noise of a sketch")
            if profile:
                check_unit_rows(first["family"], columns, c)
                counts("k", columns)
    elif code in (5, 6, 7):
        scheme = f if code == 7 else f["scheme"]
        fields(scheme, "scheme", {"hash": "t", "seed": "s", "sketch": "t", "slots": "n"})
        need(scheme["slots"] == columns and scheme["hash"] == "fold64/v2", "scheme")
        states(sets=rows, hash=scheme["hash"], seed=scheme["seed"])
        if code != 6:
            states(**{"bins-or-positions": columns, "sketch": scheme["sketch"]})
        if code == 5:
            printed = [scheme, f["coding"]]
            check_symbols(f, c, payload, rows, columns)
        elif code == 6:
            fields(f, "parameters", {"scheme": ".", "concatenation": "n", "scale": "+"})
            printed = scheme
            need(scheme["sketch"] == f"secure-minhash/K={f['concatenation']}/B=2", "a sketch that is not the concatenation's")
            need(noise["kind"] == "rounded-laplace" and noise["scale"] == f["scale"], "noise of the bits")
            counts("trials", columns)
            if profile:
                at_least(profile["probability"], minima_differ(c["guarantee"]["adjacency"], f["concatenation"], 2), "probability")
            states(positions=columns, concatenation=f["concatenation"])
            need(len(values) == rows * columns, "shape: length of the payload")
        else:
            need(len(payload) == 4 * rows * columns and noise["kind"] == "none", "shape or noise")
    elif code == 8 or code == 11:
        facts = f if code == 8 else f["covariance"]
        need((rows, columns) == (check_covariance(values, facts),) * 2, "shape: not d x d")
        states(d=columns)
        need(public.get("constant") == facts.get("constant") and (code == 8 or "constant" not in facts), "constant")
        a, of_user = parts(c["guarantee"]["adjacency"])
        need(code == 8 or of_user == 1, "a window of users with several rows")
        chosen = public.get("chosen bound") if code == 8 else None
        square = mpf(a.get("bound", 1) if chosen is None else chosen) ** 2 + mpf(facts.get("constant", 0)) ** 2
        check_stated(public, a, columns, facts, values)
        need(theorem is None or (theorem == "covariance-of-chosen-bound") == (chosen is not None), "a theorem about another choice of the bound")
        if chosen is not None:
            need(type(chosen) is float and 0 < chosen <= a["bound"], "chosen bound above that of the adjacency")
            own, counts = noise["laws"]
            need((own["kind"], counts["kind"]) == ("symmetric-gaussian", "rounded-gaussian"), "noise beside a chosen bound")
            least = of_user * row_moves(sqrt(square), ROWS[a["kind"]])
            need(profile["kind"] == "gaussian-composition" and len(profile["steps"]) == 2, "profile: not two steps")
            for step, needed in zip(profile["steps"], (least, moved_counts(c["guarantee"]["adjacency"]))):
                at_least(step["sensitivity"], needed, "sensitivity", 1e-12)
            noise = own
        elif "constant" in facts:
            at_least(profile["bound"], sqrt(of_user * square), "bound", 1e-12)
        laws = noise.get("laws", [noise])
        need(code == 11 or {k: v for k, v in noise.items() if k != "grid"} == facts["noise"], "noise of the covariance")
        need(facts["noise"]["kind"] == laws[0]["kind"] or code == 11, "noise of the window")
        need(all(law == laws[0] for law in laws), "noise of the window: its laws differ")
        wishart = (profile or {}).get("profile", profile or {})
        need(wishart.get("kind") != "wishart" or wishart["dim"] == columns, "profile.dim is not d")
        schedule = parse(public.get("schedule", "{}"), strict=True)
        if code == 11:
            check_window(schedule, public, a, profile, theorem)
        kind = laws[0]["kind"]
        if kind == "wishart" and code == 11:
            on_grid([v for e, v in enumerate(values) if e // columns != e % columns], laws[0])
        elif code == 8 or kind == "symmetric-gaussian" and schedule.get("kind") in ("block", "tree"):
            on_grid(values[columns * columns :] if kind == "jl-sketch" else values, laws[0])
    elif code == 9:
        fields(f, "parameters", {"m": "n", "n": "n", "k": "n", "range": "."})
        m, n, k, drawn = f["m"], f["n"], f["k"], f["range"]
        need((rows, columns) == (m, n) and max(m, n) < 2**32 and k <= 2**24, "shape: not m x n, or beyond its limit")
        laws = noise.get("laws", [noise])
        need(len(laws) == 1 + (drawn is not None) and {law["kind"] for law in laws} == {"rounded-gaussian"}, "noise of a low-rank approximation")
        if drawn is not None:
            check_range(drawn, c)
        states(m=m, n=n)
        sizes = [m * k, n * k, m * k, m * drawn["k"] if drawn else 0]
        need(len(values) == sum(sizes), "shape: length of the payload")
        encoder = values[(m + n) * k : (2 * m + n) * k]
        if profile:
            moved = c["guarantee"]["adjacency"]["l2"] * max(norm(encoder[i * k : (i + 1) * k]) for i in range(m))
            paid = profile["later_mu"] if drawn else profile["sensitivity"] / profile["sigma"]
            need(moved <= paid * (1 + 1e-9), "payload: the encoder moves further than the profile pays")
    elif code == 12:
        fields(f, "parameters", {"projection": ".", "lengths": "."})
        printed, bound = f["projection"], f["lengths"]
        check_projection(printed, states)
        states(n=rows)
        if bound is not None:
            fields(f, "parameters", {"projection": ".", "lengths": "+"})
            states(lengths_up_to=bound)
        need(columns == printed["k"] + (bound is not None) and len(values) == rows * columns, "shape: length of the payload")
        need(noise["kind"] == "unit-cap" and (bound is None or noise["threshold"] > 0), "noise of unit vectors")
    elif code == 14:
        fields(f, "parameters", {"groups": ".", "scale": "+"})
        printed = f["groups"]
        items = check_items(printed)
        need(columns == len(printed) and 1 <= len(items) <= 2**15 and len(items) == len(set(items)), "groups")
        need(len(values) == rows * columns and all(v.is_integer() and abs(v) <= 2**53 for v in values), "shape, or a count that is not whole")
        need(noise == {"kind": "discrete-laplace", "scale": f["scale"]}, "noise of the counts")
        states(sets=rows, k=columns, groups=sha(canonical(printed).encode()).hexdigest()[:16])
        a = c["guarantee"]["adjacency"]
        need(a["kind"] == "set-items" and profile["kind"] == "pure-dp" and c["mechanism"] == "group-counts", "guarantee of counts")
        at_least(profile["epsilon"], a["alpha"] / mpf(f["scale"]), "epsilon", 1e-12)
    elif code == 16:
        fields(f, "parameters", {"low": "r", "high": "r", "offsets": "n"})
        need(noise["kind"] == "kary-response" and c["mechanism"] == "bounded-values", "noise of bounded values")
        cells = noise["alphabet"] * f["offsets"]
        need(2 <= cells <= 256 and 1 / noise["alphabet"] < noise["keep"] < 1, "cells, or a response that tells nothing")
        need(len(payload) == rows * columns and all(cell < cells for cell in payload), "shape, or a cell that is none")
        states(n=rows, d=columns, lowest_entry=f["low"], highest_entry=f["high"], offsets=f["offsets"])
        a, _ = parts(c["guarantee"]["adjacency"])
        need(a["kind"] == "attribute" and profile["kind"] == "kary-response", "guarantee of bounded values")
        need(1e-60 <= f["high"] - f["low"] <= a["beta"], "a range wider than beta, or none")
        need(max(abs(f["low"]), abs(f["high"])) <= 1e60, "a range beyond 1e60")
    elif code == 17:
        fields(f, "parameters", {"projection": ".", "constant": "+"})
        printed = f["projection"]
        check_projection(printed, states)
        states(n=rows)
        check_groups(values, f, c, rows, columns, open_ends)
    elif code == 13:
        need(rows == 1, "shape: more than one row of coefficients")
        check_regression(values, f, c, columns, open_ends)
    else:
        check_range(f, c)
        need((rows, columns) == (f["m"], f["k"]) and len(values) == rows * columns, "shape: length of the payload")
        need(noise["kind"] == "rounded-gaussian", "noise of the range sketch")
    if code in (9, 10) and profile:
        counts("k", (f["range"] or f)["k"] if code == 9 else columns)
    if code in (0, 6, 10, 12, 15):
        on_grid(values, noise)
    need(t["fingerprint"] == sha(canonical(printed).encode()).hexdigest()[:16], "fingerprint")
    if profile:
        open_ends.append("sensitivities and counts that follow from a matrix, beyond the least that the adjacency fixes")
        open_ends.append("public parameters that nothing else fixes")


def check_ids(block, code, rows, c):
    """Names of rows, each with a line end behind it."""
    need(code in (0, 1, 2, 3, 4, 5, 6, 7, 12, 14, 15, 16, 17), "ids of a kind without rows")
    a = c.get("guarantee", c).get("adjacency", {})
    need(a.get("each", a).get("kind") != "add-remove-row", "ids of rows whose presence is protected")
    *ids, rest = block.decode().split("\n")
    need(rest == "" and len(ids) == rows == len(set(ids)), "ids: not one for each row, each once")
    need(all(map(is_name, ids)), "ids: not text of 1 to 256 bytes")


def check_file(data):
    open_ends = []
    if data[:8] != b"DPSKETCH":
        need(len(data) <= 2**20, "a certificate longer than 2^20 bytes")
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
    named = {"ids": "w"} if "ids" in t else {}
    fields(t, "trailer", {"rows": "w", "columns": "w", "fingerprint": "t", "parameters": ".", "certificate": "."} | named)
    c = t["certificate"]
    check_certificate(c, open_ends)
    name, wanted, _ = KINDS[code]
    if named:
        need(t["ids"] <= len(payload), "ids: longer than the file")
        payload, ids = payload[: len(payload) - t["ids"]], payload[len(payload) - t["ids"] :]
        check_ids(ids, code, t["rows"], c)
        open_ends.append("ids: which row is called what; they are public, and nothing protects them")
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
