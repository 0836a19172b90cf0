#!/usr/bin/env python3
"""Makes crates/eval/data/photographs-idx3-ubyte.gz: eight photographs, 256 x 256, grey.

    pip download --no-deps scikit-image==0.26.0
    python3 tools/reference/photographs.py scikit_image-0.26.0-*.whl crates/eval/data/photographs-idx3-ubyte.gz

Only photographs that scikit-image documents as CC0 or public domain are taken (crates/eval/data/SOURCES.md).
Each becomes grey by (299 R + 587 G + 114 B) / 1000, is averaged over the largest squares of whole pixels that
leave 256 of them, and cut about its middle. Standard library only; the same wheel gives the same bytes.
"""

import gzip
import struct
import sys
import zipfile
import zlib

NAMES = ["astronaut", "brick", "camera", "chelsea", "clock_motion", "coffee", "grass", "gravel"]
SIDE = 256


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def png(data):
    """Rows of grey values 0 to 255 of a PNG of 8 bits, grey or colour, not interlaced."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and not interlaced, "unexpected PNG"
            channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
    raw, stride = zlib.decompress(packed), width * channels
    rows, last = [], bytes(stride)
    for y in range(height):
        rule, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left = line[x - channels] if x >= channels else 0
            corner = last[x - channels] if x >= channels else 0
            line[x] = (line[x] + [0, left, last[x], (left + last[x]) // 2, paeth(left, last[x], corner)][rule]) & 255
        rows.append([grey(line[x : x + channels]) for x in range(0, stride, channels)])
        last = bytes(line)
    return rows


def grey(pixel):
    return pixel[0] if len(pixel) < 3 else (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) // 1000


def square(rows):
    """256 x 256 about the middle, each pixel the mean of scale x scale."""
    height, width = len(rows), len(rows[0])
    scale = min(height, width) // SIDE
    top, left = (height - SIDE * scale) // 2, (width - SIDE * scale) // 2
    mean = lambda y, x: sum(
        rows[top + y * scale + i][left + x * scale + j] for i in range(scale) for j in range(scale)
    )
    half = scale * scale // 2
    return bytes((mean(y, x) + half) // (scale * scale) for y in range(SIDE) for x in range(SIDE))


def main(wheel, out):
    with zipfile.ZipFile(wheel) as files:
        images = [square(png(files.read(f"skimage/data/{name}.png"))) for name in NAMES]
    idx = struct.pack(">BBBBIII", 0, 0, 8, 3, len(images), SIDE, SIDE) + b"".join(images)
    with open(out, "wb") as file:
        file.write(gzip.compress(idx, 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
