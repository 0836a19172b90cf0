"""Theorems, what they speak of, and what moves under an adjacency: docs/FORMAT.md, sections 4 and 7."""

from mpmath import mpf, sqrt

from profiles import row_moves
from text import need

ROOM = 1e-9


def at_least(stated, least, what, room=ROOM):
    need(stated >= least * (1 - room), f"{what} = {stated} is below {float(least)}, the least under this adjacency")


def move(a):
    return 2 * mpf(a["bound"]) if a["kind"] == "replace-row" else mpf(a.get("beta", a.get("l2", 0)))


def parts(a):
    """The change of each row, and how many rows of one user change."""
    return (a["each"], a["rows"]) if a["kind"] == "user" else (a, 1)


def moved_counts(adjacency):
    """What the rows of a unit move counts of rows by: a row that stays is counted at two places."""
    a, rows = parts(adjacency)
    return rows * (mpf(1) if a["kind"] == "add-remove-row" else sqrt(mpf(2)))


def common_items(a):
    """The least number of items that two such sets have in common."""
    return max(a["min_size"] - a["alpha"] // 2, 0)


OF_USERS = (
    "projection-gaussian", "projection-laplace", "unit-vectors", "signs-touched", "bounded-values", "one-permutation",
    "bucket-response", "covariance-gaussian", "covariance-of-chosen-bound", "private-newton",
)
ROWS = {"add-remove-row": "add-remove", "zero-row": "add-remove", "replace-row": "replace"}
PROJECTED = ("attribute", "row-shift", "replace-row")
THEOREMS = {  # adjacencies, profiles
    "gaussian-on-rows": (("row-shift",), ("gaussian",)), "projection-gaussian": (PROJECTED, ("gaussian",)),
    "projection-staircase": (("attribute",), ("staircase",)),
    "projection-laplace": (PROJECTED, ("laplace",)), "projection-fresh": (PROJECTED, ("chi-mixture-gaussian",)),
    "projection-multi-scale": (PROJECTED, ("gaussian",)), "signs-touched": (("attribute",), ("randomized-response",)),
    "signs-fresh": (PROJECTED, ("binomial-mixture",)),
    "noisy-distances": (("attribute", "replace-row"), ("gaussian",)),
    "bit-response": (("attribute",), ("randomized-response",)),
    "min-hash-mixture": (("set-items",), ("binomial-mixture", "kary-response")),
    "one-permutation": (("set-items",), ("kary-response", "binomial-mixture")),
    "bucket-response": (("any-input",), ("kary-response",)),
    "range-finder": (("row-shift",), ("chi-mixture-gaussian",)),
    "find-and-project": (("row-shift",), ("chi-mixture-gaussian",)), "public-basis": (("row-shift",), ("gaussian",)),
    "noisy-power-method": (tuple(ROWS), ("gaussian-composition",)),
    "private-newton": (tuple(ROWS), ("gaussian-composition",)),
    "covariance-gaussian": (tuple(ROWS), ("symmetric-gaussian",)), "covariance-wishart": (tuple(ROWS), ("wishart",)),
    "covariance-jl": (tuple(ROWS), ("jl-mechanism",)),
    "covariance-of-chosen-bound": (tuple(ROWS), ("gaussian-composition",)),
    "sliding-window": (tuple(ROWS), ("gaussian", "jl-mechanism", "repeated")),
    "group-counts": (("set-items",), ("pure-dp",)), "private-groups": (("attribute",), ("gaussian-and-pure",)),
    "bounded-values": (("attribute",), ("kary-response",)),
    "unit-vectors": ((*PROJECTED, "any-input"), ("pure-dp",)),
}
# Profiles of sensitivity one, whose laws are scaled by public matrices.
OF_SCALED_LAWS = ("projection-multi-scale", "public-basis")
SKETCHES = ("projection-gaussian", "projection-laplace", "projection-staircase", "projection-fresh")
COVARIANCES = ("covariance-gaussian", "covariance-wishart", "covariance-jl")
OF_KINDS = {  # a kind of release, and the theorems that are about it
    0: SKETCHES, 1: SKETCHES, 15: SKETCHES, 2: ("signs-touched", "signs-fresh"),
    5: ("min-hash-mixture", "one-permutation", "bucket-response"),
    8: (*COVARIANCES, "covariance-of-chosen-bound"), 11: (*COVARIANCES, "sliding-window"),
    9: ("find-and-project", "public-basis"), 10: ("range-finder",), 12: ("unit-vectors",), 13: ("private-newton",),
    14: ("group-counts",), 16: ("bounded-values",), 17: ("private-groups",),
}


def check_theorem(name, adjacency, p):
    """What a theorem speaks of, and the least that it asks for."""
    need(name in THEOREMS, f"no theorem {name!r}")
    adjacencies, profiles = THEOREMS[name]
    kind = p["kind"]
    a, m = parts(adjacency) if name in OF_USERS else (adjacency, 1)
    need(a["kind"] in adjacencies and kind in profiles, f"{name} does not speak of {kind} under {a['kind']}")
    if name in OF_SCALED_LAWS:
        need(p["sensitivity"] == 1.0, f"{name}: the sensitivity is not one")
    elif name == "gaussian-on-rows":
        at_least(p["sensitivity"], move(a), "sensitivity")
    elif kind == "chi-mixture-gaussian":
        at_least(p["entry_shift"], move(a) / sqrt(mpf(p["k"])), "entry_shift")
    elif name in ("noisy-power-method", "sliding-window") and kind.startswith("gaussian"):
        for step in p.get("steps", [p]):
            at_least(step["sensitivity"], row_moves(a["bound"], ROWS[a["kind"]]), "sensitivity")
    elif name == "private-newton":
        need(len(p["steps"]) == 3, "private-newton: not three steps")
        b, replaced = mpf(a["bound"]), a["kind"] == "replace-row"
        needed = (m * row_moves(b, ROWS[a["kind"]]), m * (1 + replaced) * b, moved_counts(adjacency))
        for step, least in zip(p["steps"], needed):
            at_least(step["sensitivity"], least, "sensitivity")
    elif name == "covariance-of-chosen-bound":
        need(len(p["steps"]) == 2, "covariance-of-chosen-bound: not two steps")
        at_least(p["steps"][1]["sensitivity"], moved_counts(adjacency), "sensitivity")
    elif kind in ("randomized-response", "kary-response"):
        need(p.get("bits", p.get("responses")) >= m, f"{name}: fewer responses than rows of a user")
    elif kind == "binomial-mixture":
        need(m == 1, f"{name}: a mixture, and a user with several rows")
        c = p["coordinate"]
        known = {"signs-fresh": ("randomized-response",), "one-permutation": ("kary-response",)}
        known = known.get(name, ("randomized-response", "kary-response"))
        need(c["kind"] in known, f"{name} does not speak of coordinates {c['kind']}")
        if name == "one-permutation":
            others = common_items(a) + max(a["alpha"] - p["trials"], 0)
            at_least(p["probability"], mpf(a["alpha"]) / (others + 1), "probability")
        if name == "min-hash-mixture":
            at_least(p["probability"], minima_differ(a, 1, c.get("alphabet", 2)), "probability")
    elif kind == "repeated":
        need(p["profile"]["kind"] == "wishart", "sliding-window: repeated, but not a Wishart profile")


def minima_differ(a, together, letters):
    """How likely letters of so many minima differ, of the two such sets that have least in common."""
    same = 1 - mpf(a["alpha"]) / max(common_items(a) + a["alpha"], 1)
    return (1 - mpf(1) / letters) * (1 - same**together)


def check_change(a, p):
    """The bound and the change of a profile against those of the adjacency."""
    if p["kind"] in ("repeated", "group"):
        check_change(a["each"] if p["kind"] == "group" and a["kind"] == "user" else a, p["profile"])
    elif "change" in p:
        a, m = parts(a) if p["kind"] == "symmetric-gaussian" else (a, 1)
        need(ROWS.get(a["kind"]) == p["change"], f"a profile of {p['change']} under {a['kind']}")
        at_least(p["bound"], sqrt(mpf(m)) * a["bound"], "bound", 1e-12)
