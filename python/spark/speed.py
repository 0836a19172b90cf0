"""Rows a second of releases on Spark: beside one process, beside an identity `mapInArrow`, and as rows grow.

Run by ``cargo xtask spark --speed -- ROWS``. The session is ``local[2]``; every number is the best of three.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import SparkSession

import dps
import dps.spark

D, K = 64, 16
COLUMNS = [f"x{j}" for j in range(D)]
ONE = dps.Adjacency.attribute(beta=1)
SKETCH = dps.Vectors(d=D, k=K, adjacency=ONE, bound=1, epsilon=2, delta=1e-6, seed=1)
SUMS = dps.Covariance(d=D, adjacency=dps.Adjacency.replace_row(bound=8), epsilon=1, delta=1e-6)


def written(folder, rows):
    folder.mkdir()
    values = np.random.default_rng(1).uniform(-1, 1, (125_000, D)).astype(np.float32)
    table = pa.table({name: values[:, j] for j, name in enumerate(COLUMNS)})
    for number in range(rows // 125_000):
        parquet.write_table(table, folder / f"{number:04}.parquet", compression="none", use_dictionary=False)
    return folder


def best(run, times=3):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def main(most):
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.io.encryption.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.executorEnv.RAYON_NUM_THREADS", "1")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        count = iter(range(10**9))

        def spark(mechanism, release, folder):
            i = next(count)
            out = release(
                session, folder, mechanism, place / f"{i}.dps", columns=COLUMNS, staging=place / f"s{i}", key=place / f"k{i}"
            )
            out.unlink()

        def single(mechanism, folder):
            table = parquet.read_table(folder, columns=COLUMNS)
            if mechanism is SKETCH:
                mechanism.write(place / "single.dps", table, replace=True)
            else:
                mechanism.release(table).save(place / "single.dps", replace=True)

        def identity(folder):
            frame = session.read.parquet(str(folder)).select(COLUMNS)
            frame.mapInArrow(lambda batches: batches, frame.schema).write.format("noop").mode("overwrite").save()

        rows = 1_000_000
        while rows <= most:
            folder = written(place / f"data{rows}", rows)
            times = {
                "sketch on Spark": best(lambda: spark(SKETCH, dps.spark.sketch, folder)),
                "covariance on Spark": best(lambda: spark(SUMS, dps.spark.covariance, folder)),
                "sketch, one process": best(lambda: single(SKETCH, folder)),
                "covariance, one process": best(lambda: single(SUMS, folder)),
                "identity mapInArrow": best(lambda: identity(folder)),
            }
            told = {name: {"seconds": round(s, 3), "rows a second": round(rows / s)} for name, s in times.items()}
            print(json.dumps({"rows": rows, "d": D, "k": K, **told}), flush=True)
            rows *= 2
    session.stop()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 8_000_000)
