"""Writes the small samples of the command line's guides from the data embedded in the `eval` crate.

Run from the root of the repository: python3 tools/reference/cli_samples.py
"""

import gzip

PIXELS, BLOCK, ROWS = 28, 4, 200


def digits():
    with gzip.open("crates/eval/data/mnist5k-images-idx3-ubyte.gz") as f:
        images = f.read()[16:]
    with gzip.open("crates/eval/data/mnist5k-labels-idx1-ubyte.gz") as f:
        labels = f.read()[8:]
    side = PIXELS // BLOCK
    with open("crates/cli/data/digits.csv", "w") as out:
        names = [f"p{r}{c}" for r in range(side) for c in range(side)]
        out.write(",".join(["id", "label"] + names) + "\n")
        step = len(labels) // ROWS
        for row in range(ROWS):
            at = row * step
            image = images[at * PIXELS**2 : (at + 1) * PIXELS**2]
            means = []
            for r in range(side):
                for c in range(side):
                    block = [
                        image[(r * BLOCK + i) * PIXELS + c * BLOCK + j]
                        for i in range(BLOCK)
                        for j in range(BLOCK)
                    ]
                    means.append(sum(block) / len(block) / 255)
            cells = [f"u{row:03}", str(labels[at])] + [f"{m:.2f}" for m in means]
            out.write(",".join(cells) + "\n")


def packages():
    with gzip.open("crates/eval/data/debian-packages.tsv.gz", "rt") as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]
    chosen = [r for r in rows if len(r[3].split(",")) >= 8][::25][:300]
    with open("crates/cli/data/packages.tsv", "w") as out:
        for row in chosen:
            out.write(row[0] + "\t" + "\t".join(row[3].split(",")) + "\n")


digits()
packages()
