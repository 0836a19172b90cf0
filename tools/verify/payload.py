"""Numbers of payloads: docs/FORMAT.md, section 7."""

import math
import struct

from text import need


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


def on_grid(values, noise):
    if "grid" in noise:
        need(all(math.ldexp(v, -noise["grid"]).is_integer() for v in values), "payload: a value is not on the grid of the noise")
