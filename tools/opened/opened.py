"""Rules for one protected value and one protected item, on data that were opened after the code was fixed.

    opened.py DPS digits digits.csv.gz     rows of numbers from 0 to 16, eight times eight pixels, the label last
    opened.py DPS sets sets.txt            a set a line, its items between commas, the name of the set first

DPS is the program. Splits follow from the numbers 0 to 9; releases draw their own noise, and random bins their own seed. Needs numpy. Sizes, ways
and epsilons were written down before the data were opened.
"""

import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

NAMES = ",".join(f"p{i}" for i in range(64))
EPSILONS, DRAWS = (0.5, 1, 2), 10
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())


def dps(line, room):
    run = subprocess.run([PROGRAM, *line.split(), "--json"], cwd=room, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{line}\n{run.stdout}{run.stderr}")
    return json.loads(run.stdout)


def found(line, room, top):
    """Rows found, best first, by query; rows before `top[1]` are no part of the database."""
    count, skip = top
    hits = {}
    for hit in dps(f"{line} --top {count + skip + 1}", room)["hits"]:
        hits.setdefault(hit["query"], []).append(hit["row"] - skip)
    return [[row for row in hits[q] if row >= 0][:count] for q in sorted(hits)]


def nearest(queries, rows, count):
    unit = lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    return np.argsort(-unit(queries) @ unit(rows).T, axis=1, kind="stable")[:, :count]


def precision(answers, truth):
    return np.mean([len(set(a[:10]) & set(t)) / 10 for a, t in zip(answers, truth)])


def digits(path):
    """397 public rows, 300 queries, 1100 rows; precision at 10 among the 50 nearest by cosine; one pixel protected."""
    pixels = np.loadtxt(gzip.open(path), delimiter=",")[:, :64] / 16
    one = "--adjacency attribute --beta 1"
    found_by = {}
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(pixels))
        public, queries, items = np.split(pixels[order[:1797]], [397, 697])
        truth = nearest(queries, items, 50)
        with tempfile.TemporaryDirectory() as room:
            save = lambda name, x: np.savetxt(pathlib.Path(room, name), x, "%.4f", ",", header=NAMES, comments="")
            save("public.csv", public), save("queries.csv", queries), save("items.csv", items)
            save("all.csv", np.vstack([queries, items]))
            for epsilon in EPSILONS:
                budget = f"{one} --epsilon {epsilon} --delta 0 --force"
                add = lambda way, answers: found_by.setdefault((way, epsilon), []).append(precision(answers, truth))

                def both(way, options, *searches):
                    for name in ("queries", "items"):
                        dps(f"release {options} {name}.csv --out {name}.dps {budget}", room)
                    for search in searches:
                        answers = found(f"search items.dps --queries queries.dps {search}", room, (10, 0))
                        add(f"{way} {search}".strip().replace("--public public.csv", "posterior"), answers)

                for k in (8, 16, 32, 64):
                    both(f"staircase, {k} bins", f"sketch --noise staircase -k {k} --bound 1 --seed {draw}", "", "--denoise")
                both("bounded", "bounded --low 0 --high 1", "--denoise")
                both("squares of 2 x 2", "sketch --noise staircase --grid 8x8/2 --bound 1", "")
                plan = dps(f"plan groups public.csv --out groups.txt {budget.replace('--force', '')}", room)
                if pathlib.Path(room, "groups.txt").exists():
                    both("public groups", "sketch --noise staircase --groups-from groups.txt --bound 1", "--public public.csv")
                    pathlib.Path(room, "groups.txt").unlink()
                else:
                    print("draw", draw, "epsilon", epsilon, "plan takes random bins:", plan)
                # Half of the longest that a row of 64 numbers up to one may be.
                private = f"release sketch all.csv --groups private --row-norm 4 --bound 1 --out all.dps {one} --force"
                dps(f"{private} --epsilon {epsilon} --delta 1e-6", room)
                rows = ",".join(map(str, range(len(queries))))
                add("private groups, delta 1e-6", found(f"search all.dps --row {rows}", room, (10, len(queries))))
    return found_by


def sets(path):
    """700 public sets, 300 queries among 2,000 others of at least 20 items; recall of the 20 most similar in 100; one item protected."""
    lines = [line.strip().split(",")[1:] for line in open(path, encoding="utf-8", errors="replace")]
    clean = lambda word: "".join(c if c.isalnum() else "_" for c in word)
    all_sets = [sorted({clean(word) for word in line}) for line in lines]
    all_sets = [s for s in all_sets if len(s) >= 20]
    found_by = {}
    for draw in range(DRAWS):
        chosen = random.Random(draw).sample(all_sets, 2700)
        public, items = chosen[:700], chosen[700:]
        names = {word: i for i, word in enumerate(sorted({w for s in items for w in s}))}
        matrix = np.zeros((len(items), len(names)), np.float32)
        for i, s in enumerate(items):
            matrix[i, [names[w] for w in s]] = 1
        common, sizes = matrix[:300] @ matrix.T, matrix.sum(1)
        likeness = common / (sizes[:300, None] + sizes[None] - common)
        likeness[np.arange(300), np.arange(300)] = -1
        truth = np.argsort(-likeness, axis=1, kind="stable")[:, :20]
        recall = lambda answers: np.mean(
            [len(set([r for r in a if r != q][:100]) & set(t)) / 20 for q, (a, t) in enumerate(zip(answers, truth))]
        )
        with tempfile.TemporaryDirectory() as room:
            save = lambda name, x: pathlib.Path(room, name).write_text("".join(" ".join(s) + "\n" for s in x))
            save("public.txt", public), save("items.txt", items)
            rows = ",".join(map(str, range(300)))
            for epsilon in EPSILONS:
                budget = f"--adjacency set-items --alpha 1 --min-size 1 --epsilon {epsilon} --delta 0 --force --out items.dps"
                for way, options, search in (
                    ("bins of 2 values", "minhash --mechanism bins --symbols 2 -k 256", ""),
                    ("occupancy bits", "minhash --mechanism occupancy -k 256", ""),
                    ("occupancy bits", "minhash --mechanism occupancy -k 256", "--denoise"),
                    ("counts of public groups", "counts --public public.txt", "--public public.txt"),
                ):
                    dps(f"release {options} items.txt {budget}", room)
                    answers = found(f"search items.dps --row {rows} {search}", room, (101, 0))
                    label = f"{way} {search}".strip().replace("--public public.txt", "posterior")
                    found_by.setdefault((label, epsilon), []).append(recall(answers))
    return found_by



def show(found_by):
    for way in dict.fromkeys(way for way, _ in found_by):
        numbers = [found_by[way, e] for e in EPSILONS if (way, e) in found_by]
        shown = [f"{np.mean(x):.3f} +- {np.std(x, ddof=1) / len(x) ** 0.5:.3f}" if len(x) > 1 else f"{np.mean(x):.3f}" for x in numbers]
        print(f"{way:40}", *shown, flush=True)


if __name__ == "__main__":
    found_by = {"digits": digits, "sets": sets}[sys.argv[2]](sys.argv[3])
    show(found_by)
