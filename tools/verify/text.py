"""Canonical text, digests, and fields of objects: docs/FORMAT.md, sections 1 and 3."""

import hashlib
import json
import re
import unicodedata


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
    """The value of a JSON text; a strict one is canonical."""

    def never(name):
        raise Refused(f"{name} is no number")

    def whole(digits):
        value = int(digits)
        need(-(2**63) <= value < 2**64, f"{digits} is no whole number from -2^63 to 2^64 - 1")
        return value

    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "an object has a key twice")
        return dict(pairs)

    try:
        value = json.loads(text, parse_constant=never, parse_int=whole, object_pairs_hook=once)
        again = canonical(value)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {error}") from None
    need(not strict or again == text, "not canonical text")
    return value


def digits_of_hash(value):
    return type(value) is str and re.fullmatch("[0-9a-f]{64}", value) is not None


# Fields. A letter a type: r real, + positive, p probability, w whole, n whole and not zero, t text, g grid, c change, s seed,
# h hash or nothing, . checked elsewhere.

TYPES = {
    "r": lambda v: type(v) is float,
    "+": lambda v: type(v) is float and v > 0,
    "p": lambda v: type(v) is float and 0 <= v <= 1,
    "w": lambda v: type(v) is int and 0 <= v < 1 << 64,
    "n": lambda v: type(v) is int and 1 <= v < 1 << 64,
    "t": lambda v: type(v) is str,
    "g": lambda v: type(v) is int and -960 <= v <= 960,
    "c": lambda v: v in ("add-remove", "replace"),
    "s": lambda v: type(v) is int and 0 <= v < 1 << 64 or digits_of_hash(v),
    "h": lambda v: v is None or digits_of_hash(v),
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


def same(a, b):
    """Whether two values are one: a whole number is no real."""
    return type(a) is type(b) and a == b


def is_name(value):
    """A name of a row or a column."""
    return type(value) is str and 1 <= len(value.encode()) <= 256 and not any(unicodedata.category(x) == "Cc" for x in value)
