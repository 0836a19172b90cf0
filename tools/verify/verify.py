#!/usr/bin/env python3
"""Checks release files and certificates without the library; written from docs/FORMAT.md alone.

    python3 verify.py FILE...

Says of each file that it is accepted, with what was not rechecked, or that it is REFUSED, and why. Exit
status 1 when one is refused. Needs mpmath (requirements.txt)."""

import math
import struct
import sys

from certificate import check_certificate
from matrices import check_drawn, check_groups, check_low_rank, check_matrix, check_range, check_regression, check_setting
from payload import on_grid, packed, unpacked
from projections import check_bits, check_fresh, check_moved, check_projection
from sets import check_counts, check_noisy, check_scheme, check_symbols
from text import Refused, canonical, fields, is_name, need, parse, same, sha
from theorems import OF_KINDS, parts

# Codes: name, class, bytes of a number or None.
KINDS = [("sketch", "private", 8), ("sketch, single precision", "private", 4), ("signs", "private", None),
         ("signs", "individual", None), ("signs", "none", None), ("set signatures", "private", None),
         ("noisy MinHash bits", "private", 8), ("set signatures", "none", 0), ("covariance", "private", 8),
         ("low-rank approximation", "private", 8), ("range sketch", "private", 8), ("window", "private", 8),
         ("unit vectors", "private", 4), ("regression", "private", 8), ("counts of groups", "private", 8), ("sketch, compact", "private", None),
         ("bounded values", "private", None), ("sums of private groups", "private", 8)]


def check_release(code, payload, t, open_ends):
    """Payload, parameters and certificate of a kind against each other."""
    c, f, rows, columns = t["certificate"], t["parameters"], t["rows"], t["columns"]
    public, noise, size = c["public"], c["noise"], KINDS[code][2]
    g = c["guarantee"] if c["class"] == "private" else {"provenance": {"kind": c["class"]}}
    profile, theorem, a = g.get("profile"), g["provenance"].get("theorem"), g.get("adjacency", c.get("adjacency", {}))
    need(a.get("kind") != "user" or g["provenance"]["kind"] == "proven", "a user with several rows, and a guarantee that is not proven")
    need(theorem is None or theorem in OF_KINDS.get(code, ()), f"{theorem} is not about {KINDS[code][0]}")
    states = lambda **expected: [need(same(public.get(n.replace("_", " ")), v), f"public.{n} differs from the file") for n, v in expected.items()]
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
        for i, spec in enumerate(specs):
            check_projection(spec, states if i == 0 else lambda **_: None)
            if i > 0:
                states(**{f"projection_seed_{i + 1}": spec["seed"]})
        need(sum(s["k"] for s in specs) == columns and all(s["d"] == first["d"] for s in specs), "shape: columns of the projection")
        states(n=rows)
        if profile:
            check_fresh(specs, c)
        if code in (2, 3, 4):
            states(bits=columns, repetitions=len(specs))
            packed(payload, rows, columns, 1, 2)
            need(noise["kind"] in (("bit-flip", "smooth-bit-flip"), ("data-dependent",), ("none",))[code - 2], "noise of signs")
            if profile:
                check_bits(specs, c)
        else:
            need(len(values) == rows * columns, "shape: length of the payload")
            need(noise["kind"] in ("rounded-gaussian", "rounded-laplace", "staircase"), "noise of a sketch")
            if profile:
                check_moved(first, c)
    elif code in (5, 6, 7):
        scheme = f if code == 7 else f["scheme"]
        check_scheme(scheme, columns)
        states(sets=rows, hash=scheme["hash"], seed=scheme["seed"])
        if code != 6:
            states(**{"bins-or-positions": columns, "sketch": scheme["sketch"]})
        if code == 5:
            printed = [scheme, f["coding"]]
            check_symbols(f, c, payload, rows, columns)
        elif code == 6:
            printed = scheme
            check_noisy(f, c, columns)
            states(positions=columns, concatenation=f["concatenation"])
            need(len(values) == rows * columns, "shape: length of the payload")
        else:
            need(len(payload) == 4 * rows * columns and noise["kind"] == "none", "shape or noise")
    elif code == 8 or code == 11:
        need(rows == columns, "shape: not d x d")
        check_matrix(code, values, f, c, columns, theorem)
    elif code == 9:
        need((rows, columns) == (f["m"], f["n"]), "shape: not m x n")
        check_low_rank(values, f, c)
    elif code == 10:
        check_range(f, c)
        need((rows, columns) == (f["m"], f["k"]) and len(values) == rows * columns, "shape: length of the payload")
        need(noise["kind"] == "rounded-gaussian", "noise of the range sketch")
        if profile:
            check_drawn(profile, columns, noise, check_setting(public, a), 0)
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
    elif code == 13:
        need(rows == 1, "shape: more than one row of coefficients")
        check_regression(values, f, c, columns, open_ends)
    elif code == 14:
        printed = f["groups"]
        check_counts(values, f, c, rows, columns)
        states(sets=rows, k=columns, groups=sha(canonical(printed).encode()).hexdigest()[:16])
    elif code == 16:
        fields(f, "parameters", {"low": "r", "high": "r", "offsets": "n"})
        need(noise["kind"] == "kary-response" and c["mechanism"] == "bounded-values", "noise of bounded values")
        cells = noise["alphabet"] * f["offsets"]
        need(2 <= cells <= 256 and 1 / noise["alphabet"] < noise["keep"] < 1, "cells, or a response that tells nothing")
        need(len(payload) == rows * columns and all(cell < cells for cell in payload), "shape, or a cell that is none")
        states(n=rows, d=columns, lowest_entry=f["low"], highest_entry=f["high"], offsets=f["offsets"])
        if "categories" in c["public"]:
            states(categories=noise["alphabet"])
            need((f["low"], f["high"], f["offsets"]) == (0, noise["alphabet"] - 1, 1), "categories of another range")
        each, _ = parts(a)
        need(each["kind"] == "attribute" and profile["kind"] == "kary-response", "guarantee of bounded values")
        need(1e-60 <= f["high"] - f["low"] <= each["beta"], "a range wider than beta, or none")
        need(max(abs(f["low"]), abs(f["high"])) <= 1e60, "a range beyond 1e60")
    else:
        fields(f, "parameters", {"projection": ".", "constant": "+"})
        printed = f["projection"]
        check_projection(printed, states)
        states(n=rows)
        check_groups(values, f, c, rows, columns, open_ends)
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
