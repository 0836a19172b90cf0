"""Projections: families, seeds, and the least that they move: docs/FORMAT.md, section 7."""

import math

from mpmath import asin, atan, mpf, pi, sqrt

from text import canonical, digits_of_hash, fields, need, sha, tagged
from theorems import PROJECTED, at_least, move, parts

FAMILIES = {
    "gaussian": {}, "rademacher": {}, "achlioptas": {}, "very-sparse": {}, "sparse-jl": {"nonzeros": "n"},
    "hashed-copies": {"copies": "n"}, "srht": {"sampling": "t"}, "oporp": {}, "count-sketch": {}, "identity": {},
    "grouped": {"groups": "."}, "given": {"matrix": "."},
}
SPARSE = ("very-sparse", "sparse-jl", "hashed-copies", "oporp", "count-sketch")
ONE_EACH = ("oporp", "count-sketch", "grouped", "identity")
UNIT_ROWS = ("rademacher", "srht", "sparse-jl", *ONE_EACH)
OF_SKETCHES = ("gaussian", "laplace", "staircase", "chi-mixture-gaussian")


def check_projection(spec, states):
    """A projection by itself, and what its certificate states of it."""
    fields(spec, "parameters", {"family": ".", "d": "n", "k": "n", "seed": "s"})
    family, d, k = spec["family"], spec["d"], spec["k"]
    kind = tagged(family, "family", FAMILIES)
    need(d < 2**32 and (d <= 2**31 or kind not in SPARSE), "d of a projection beyond its limit")
    need(k <= min(d, 2**24), "k of a projection above d or 2^24")
    need(kind != "identity" or k == d, "identity: k is not d")
    states(projection=kind, d=d, k=k, projection_seed=spec["seed"])
    if kind in ("sparse-jl", "hashed-copies"):
        nonzeros = family.get("nonzeros", family.get("copies"))
        need(nonzeros <= k, f"{kind}: more nonzeros than k")
        states(nonzeros=nonzeros)
    elif kind == "srht":
        need(family["sampling"] in ("without-replacement", "with-replacement"), "srht: no such sampling")
        states(sampling=family["sampling"])
    elif kind in ("grouped", "given"):
        need(type(spec["seed"]) is int and spec["seed"] == 0, "seed of groups or of a given matrix")
        check_chosen(spec, states)


def check_chosen(spec, states):
    """Groups and given matrices: they are in the file, and by their digest in the certificate."""
    if spec["family"]["kind"] == "grouped":
        signed = spec["family"]["groups"]
        need(type(signed) is list and 1 <= len(signed) <= 2**16 and all(type(g) is int for g in signed), "groups")
        need(len(signed) == spec["d"] and {abs(g) for g in signed} == set(range(1, spec["k"] + 1)), "groups against d and k")
        states(groups=sha(canonical(signed).encode()).hexdigest()[:16])
    else:
        matrix = spec["family"]["matrix"]
        fields(matrix, "matrix", {"k": "n", "entries": "."})
        entries = matrix["entries"]
        need(type(entries) is list and 1 <= len(entries) <= 2**17 and all(type(e) is int and abs(e) <= 2**14 for e in entries), "entries of the matrix")
        need(any(entries) and matrix["k"] == spec["k"] and len(entries) == spec["d"] * spec["k"], "matrix against d and k")
        states(matrix=sha(canonical(matrix).encode()).hexdigest()[:16])


def check_fresh(specs, c):
    """A projection that a guarantee averages over: one, Gaussian, of a seed of 256 bits whose origin is stated."""
    g = c["guarantee"]
    averaged = (g["profile"] or {}).get("kind") in ("chi-mixture-gaussian", "binomial-mixture")
    if averaged and g["provenance"]["kind"] != "published":
        need(len(specs) == 1 and specs[0]["family"]["kind"] == "gaussian", "an average over a projection that is not one Gaussian one")
        need(digits_of_hash(specs[0]["seed"]) and "seed origin" in c["public"], "an average over a projection of no seed of 256 bits with an origin")


def touched(spec, drawn):
    """How many numbers one attribute touches; of very-sparse, where that follows from the seed, `drawn`."""
    family = spec["family"]
    if family["kind"] in ONE_EACH:
        return 1
    return drawn if family["kind"] == "very-sparse" else family.get("nonzeros", family.get("copies", spec["k"]))


def norms(spec):
    """The largest l1 and l2 norm of a row and the spectral norm, from below: nothing, where they follow from a seed."""
    family, k = spec["family"], spec["k"]
    if family["kind"] == "given":
        return stretches(family["matrix"])
    if family["kind"] in UNIT_ROWS:
        return sqrt(mpf(touched(spec, 1))), 1, 1
    return 0, 0, 0


def check_moved(spec, c):
    """What a change moves a sketch by, at least, with the rounding to the grid of the noise."""
    g, k = c["guarantee"], spec["k"]
    p, (a, rows), entry = g["profile"], parts(g["adjacency"]), c["public"].get("largest entry")
    need(a["kind"] in PROJECTED and p["kind"] in OF_SKETCHES, f"{p['kind']} under {a['kind']}: not of a projection")
    need(type(entry) is float and entry > 0, "public: largest entry")
    moved, step = touched(spec, 1) if a["kind"] == "attribute" else k, mpf(2) ** c["noise"]["grid"]
    l1, l2, stretch = norms(spec)
    if p["kind"] == "chi-mixture-gaussian":
        need(rows == 1 and p["k"] == k, f"profile.k is not {k}, or a user with several rows")
        at_least(mpf(p["later_mu"]) * mpf(p["sigma"]), sqrt(k * mpf(1 + 2**20)) * step, "later_mu sigma")
    elif p["kind"] == "gaussian":
        norm = l2 if a["kind"] == "attribute" else stretch
        at_least(p["sensitivity"], sqrt(mpf(rows)) * (move(a) * norm + sqrt(mpf(moved)) * step), "sensitivity")
    else:
        stairs = p["kind"] == "staircase"
        need(not stairs or (rows, a["kind"], touched(spec, k)) == (1, "attribute", 1), "staircase noise on numbers that move together")
        at_least(p["sensitivity"], rows * (move(a) * l1 + moved * step), "sensitivity")


def check_bits(specs, c):
    """How many signs a change touches at least, or how likely it turns one of a fresh projection."""
    g, public = c["guarantee"], c["public"]
    p, (a, rows) = g["profile"], parts(g["adjacency"])
    if p["kind"] == "randomized-response":
        least = rows * sum(touched(spec, 1) for spec in specs)
        need(a["kind"] == "attribute" and p["bits"] >= least, f"profile.bits is below {least}, or another adjacency than attribute")
        return
    need(p["kind"] == "binomial-mixture" and rows == 1 and a["kind"] in PROJECTED, f"{p['kind']} under {a['kind']}: not of signs")
    norm, lifted = public.get("least norm"), public.get("lifted")
    need(type(norm) is float and norm > 0 and type(lifted) is int, "public: least norm, or whether rows are lifted")
    bits, half = sum(spec["k"] for spec in specs), move(a) / (2 * mpf(norm))
    need(p["trials"] >= bits, f"profile.trials is below {bits}")
    angle = atan(half) if lifted else asin(min(half, mpf(1)))
    at_least(p["probability"], min(2 * angle / pi + mpf(10) ** -6, 1), "probability")


def stretches(matrix):
    """The largest l1 and l2 norm of a row, and how far one row is stretched: at most the spectral norm, and soon nearly that."""
    k, entries = matrix["k"], matrix["entries"]
    rows = [[e / 2**14 for e in entries[i : i + k]] for i in range(0, len(entries), k)]
    y, stretch = max(rows, key=norm), 0
    for _ in range(30):
        x = [math.fsum(a * b for a, b in zip(row, y)) for row in rows]
        size = norm(x)
        y = [math.fsum(a * row[j] for a, row in zip(x, rows)) / size for j in range(k)]
        stretch = norm(y)
    return max(math.fsum(map(abs, row)) for row in rows), max(map(norm, rows)), stretch


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))
