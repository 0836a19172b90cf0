"""Signatures of sets and counts of items: docs/FORMAT.md, section 7."""

from mpmath import mpf

from payload import packed
from text import fields, need, same, tagged
from theorems import at_least, common_items, minima_differ, parts


def check_items(groups):
    """The items of all groups, in each increasing."""
    need(type(groups) is list and all(type(g) is list and g for g in groups), "groups")
    need(all(type(x) is int and 0 <= x < 2**64 for g in groups for x in g), "items of a group")
    need(all(x < y for g in groups for x, y in zip(g, g[1:])), "items of a group: not increasing")
    return [x for g in groups for x in g]


def check_scheme(scheme, columns, together=1):
    fields(scheme, "scheme", {"hash": "t", "seed": "s", "sketch": "t", "slots": "n"})
    need(scheme["slots"] == columns and scheme["hash"] == "fold64/v2", "scheme")
    need(columns * together <= 2**20, "slots times concatenation beyond 2^20")


CODINGS = {"hashed": {"concatenation": "n"}, "bins": {}}
HASHES = {True: "ideal: independent uniform random functions", False: "none: the guarantee holds for every hash function"}


def check_profile(c, mechanism, expected):
    """The profile that mechanism and adjacency give, and what it assumes of the hash functions."""
    need(c["mechanism"] == mechanism, f"no {c['mechanism']!r} makes this payload under this adjacency")
    p, probability = c["guarantee"]["profile"], expected.pop("probability", None)
    mixed = probability is not None
    need(type(p) is dict and {k: v for k, v in p.items() if not mixed or k != "probability"} == expected, f"profile: not {expected}")
    need(not mixed or abs(p["probability"] / probability - 1) <= 1e-12, f"profile.probability is not {probability}")
    need(c["public"].get("hash model") == HASHES[mixed], "public: hash model")


def check_neighbours(a):
    need(a["kind"] == "set-items" and 1 <= a["alpha"] <= 2**32 and 1 <= a["min_size"] <= 2**32, "adjacency of sets")


def check_symbols(f, c, payload, rows, columns):
    """Symbols of sets: their coding, their mechanism, and how many of them a change touches."""
    fields(f, "parameters", {"scheme": ".", "coding": ".", "alphabet": "n", "keep": "p"})
    letters, coding, g = f["alphabet"], f["coding"], c["guarantee"]
    bins = tagged(coding, "coding", CODINGS) == "bins"
    check_scheme(f["scheme"], columns, coding.get("concatenation", 1))
    named = f"one-permutation/B={letters - 1}" if bins else f"secure-minhash/K={coding['concatenation']}/B={letters}"
    need(2 <= letters <= 2**16 and f["scheme"]["sketch"] == named, "alphabet, or a sketch that is not the coding's")
    need(f["keep"] * letters > 1, "a response that tells nothing")
    response = {"kind": "kary-response", "alphabet": letters, "keep": f["keep"]}
    need(c["noise"] == response, "noise of the symbols")
    packed(payload, rows, columns, (letters - 1).bit_length(), letters)
    a, of_user = parts(g["adjacency"])
    if bins or a["kind"] != "any-input":
        check_neighbours(a)
    mixture = {"kind": "binomial-mixture", "trials": columns, "coordinate": response}
    few = min(a["alpha"], columns) if bins else columns
    if bins and c["mechanism"] == "one-permutation-fresh-response":
        need(of_user == 1 and common_items(a) >= columns, "fresh bins of so few items, or of a user")
        differ = mpf(max(a["alpha"], columns)) / (common_items(a) + a["alpha"] - few + 1)
        check_profile(c, "one-permutation-fresh-response", mixture | {"trials": few, "probability": differ})
    elif bins:
        need(a["min_size"] == 1, "min_size of bins")
        check_profile(c, "one-permutation-response", response | {"responses": few * of_user})
    elif a["kind"] == "any-input":
        check_profile(c, "bucket-privmin", response | {"responses": columns * of_user})
    else:
        need(of_user == 1, "fresh hash functions of a user")
        check_profile(c, "minhash-mixture-response", mixture | {"probability": minima_differ(a, coding["concatenation"], letters)})
    if "theorem" in g["provenance"]:
        need((g["provenance"]["theorem"] == "one-permutation") == bins, "a theorem about another coding")
    if g["profile"]["kind"] == "binomial-mixture":
        need(g["provenance"]["kind"] == "published" or "seed origin" in c["public"], "an average over hash functions of no stated origin")


def check_noisy(f, c, columns):
    """Bits of minima with Laplace noise, over fresh hash functions."""
    fields(f, "parameters", {"scheme": ".", "concatenation": "n", "scale": "+"})
    a, together, noise = c["guarantee"]["adjacency"], f["concatenation"], c["noise"]
    check_scheme(f["scheme"], columns, together)
    need(f["scheme"]["sketch"] == f"secure-minhash/K={together}/B=2", "a sketch that is not the concatenation's")
    need(noise["kind"] == "rounded-laplace" and noise["scale"] == f["scale"], "noise of the bits")
    check_neighbours(a)
    bit = {"kind": "laplace", "shift": 1.0, "scale": f["scale"]}
    expected = {"kind": "binomial-mixture", "trials": columns, "coordinate": bit, "probability": minima_differ(a, together, 2)}
    check_profile(c, "noisy-secure-minhash", expected)
    need("seed origin" in c["public"], "an average over hash functions of no stated origin")


def check_counts(values, f, c, rows, columns):
    """Counts of groups of items."""
    fields(f, "parameters", {"groups": ".", "scale": "+"})
    items, a, profile = check_items(f["groups"]), c["guarantee"]["adjacency"], c["guarantee"]["profile"]
    need(columns == len(f["groups"]) and 1 <= len(items) <= 2**15 and len(items) == len(set(items)), "groups")
    need(len(values) == rows * columns and all(v.is_integer() and abs(v) <= 2**53 for v in values), "shape, or a count that is not whole")
    need(same(c["noise"], {"kind": "discrete-laplace", "scale": f["scale"]}), "noise of the counts")
    need(a["kind"] == "set-items" and profile["kind"] == "pure-dp" and c["mechanism"] == "group-counts", "guarantee of counts")
    at_least(profile["epsilon"], a["alpha"] / mpf(f["scale"]), "epsilon", 1e-12)
