"""Three tasks with four libraries at equal budgets: ``python side_by_side.py [REPETITIONS [FILE]]``.

Prints a table of lines of code, error and time; with FILE, puts it between the marks of that page. Needs scikit-learn,
diffprivlib 0.6.6 (with scikit-learn 1.6.1) and ``opendp[scikit-learn]`` 0.16; what is not installed is left out. Lines are
those of the functions below, without their first; errors and times are medians, of fresh noise each time. What does not
end in 30 seconds is stopped, and said to be.
"""

import inspect
import re
import signal
import statistics
import sys
import time
import warnings

import numpy as np

import dps

EPSILON, DELTA = 1.0, 1e-6
LIMIT = 30
MARK = "<!-- side by side -->"


# Projection: 1,000 rows of 256 numbers in [-1, 1] to 64; one value may change by one; error of squared distances.


def projection_dps(rows):
    one_value = dps.Adjacency.attribute(beta=1)
    mechanism = dps.Vectors(
        d=256, k=64, adjacency=one_value, bound=1, epsilon=EPSILON, delta=DELTA
    )
    release = mechanism.release(rows)
    return lambda i, j: release.distance(i, j, measure="squared distance").value


def projection_sklearn(rows):
    from sklearn.random_projection import GaussianRandomProjection

    found = GaussianRandomProjection(n_components=64).fit_transform(rows)
    return lambda i, j: ((found[i] - found[j]) ** 2).sum()


def projection_diffprivlib(rows):
    from diffprivlib.mechanisms import GaussianAnalytic
    from sklearn.random_projection import GaussianRandomProjection

    projection = GaussianRandomProjection(n_components=64).fit(rows)
    sensitivity = np.linalg.norm(projection.components_, axis=0).max()
    noise = GaussianAnalytic(epsilon=EPSILON, delta=DELTA, sensitivity=sensitivity)
    found = np.vectorize(noise.randomise)(projection.transform(rows))
    more = 2 * 64 * noise._scale**2
    return lambda i, j: ((found[i] - found[j]) ** 2).sum() - more


def projection_opendp(rows):
    import opendp.prelude as dp
    from sklearn.random_projection import GaussianRandomProjection

    dp.enable_features("contrib")
    projection = GaussianRandomProjection(n_components=64).fit(rows)
    sensitivity = np.linalg.norm(projection.components_, axis=0).max()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)

    def noise(scale):
        return dp.c.make_fix_delta(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), DELTA
        )

    scale = dp.binary_search_param(noise, d_in=float(sensitivity), d_out=(EPSILON, DELTA))
    flat = projection.transform(rows).ravel().tolist()
    found = np.reshape(dp.m.make_gaussian(*space, scale=scale)(flat), (-1, 64))
    more = 2 * 64 * scale**2
    return lambda i, j: ((found[i] - found[j]) ** 2).sum() - more


# Components: 10,000 rows of 5 numbers, of norm one at most; sine of the largest angle to the exact plane.


def components_dps(rows):
    from dps.sklearn import PrivatePCA

    person = dps.Adjacency.replace_row(bound=1)
    return PrivatePCA(2, adjacency=person, epsilon=EPSILON, delta=DELTA).fit(rows).components_


def components_sklearn(rows):
    from sklearn.decomposition import PCA

    return PCA(2).fit(rows).components_


def components_diffprivlib(rows):
    from diffprivlib.models import PCA

    return PCA(2, epsilon=EPSILON, data_norm=1, bounds=(-1, 1)).fit(rows).components_


def components_opendp(rows):
    import opendp.prelude as dp
    from opendp.extras.sklearn.decomposition import PCA

    dp.enable_features("contrib", "floating-point", "honest-but-curious")
    n, d = rows.shape
    model = PCA(epsilon=EPSILON, row_norm=1.0, n_samples=n, n_features=d, n_components=2)
    return model.fit(rows).components_


# Regression: 20,000 rows of 5 features in [-0.4, 0.4] and a target in [-1, 1]; error of the coefficients.


def regression_dps(rows, target):
    from dps.sklearn import PrivateRegression

    person = dps.Adjacency.replace_row(bound=np.sqrt(5 * 0.4**2 + 1))
    model = PrivateRegression(adjacency=person, epsilon=EPSILON, delta=DELTA)
    return model.fit(rows, target).coef_


def regression_sklearn(rows, target):
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(rows, target).coef_


def regression_diffprivlib(rows, target):
    from diffprivlib.models import LinearRegression

    model = LinearRegression(epsilon=EPSILON, bounds_X=(-0.4, 0.4), bounds_y=(-1, 1))
    return model.fit(rows, target).coef_


def inputs(small):
    """Inputs of the tasks, and errors of their answers."""
    generator = np.random.default_rng(1)
    many = 1_000 if small else 20_000
    vectors = generator.uniform(-1, 1, (100 if small else 1_000, 256))
    pairs = [(i, i + 1) for i in range(0, len(vectors) - 1, 2)]
    exact = [((vectors[i] - vectors[j]) ** 2).sum() for i, j in pairs]

    def of_distances(answer):
        found = [answer(i, j) for i, j in pairs]
        return float(np.sqrt(np.mean(np.subtract(found, exact) ** 2)))

    rows = generator.normal(size=(many // 2, 5)) * [0.3, 0.2, 0.05, 0.05, 0.05]
    rows += [0.1, 0, 0, 0, 0]
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    true = np.linalg.eigh(np.cov(rows.T))[1][:, -2:]

    def of_components(found):
        cosines = np.linalg.svd(np.asarray(found) @ true)[1]
        return float(np.sqrt(max(0.0, 1 - cosines.min() ** 2)))

    features = generator.uniform(-0.4, 0.4, (many, 5))
    line = np.array([0.5, -0.5, 0.4, 0.2, 0.0])
    target = np.clip(features @ line + 0.1 + 0.05 * generator.normal(size=many), -1, 1)
    return {
        "projection": ((vectors,), of_distances),
        "components": ((rows,), of_components),
        "regression": ((features, target), lambda found: float(np.linalg.norm(found - line))),
    }


NAMES = {
    "dps": "dps",
    "sklearn": "scikit-learn, **no privacy**",
    "diffprivlib": "diffprivlib",
    "opendp": "OpenDP",
}


def lines_of(way):
    """Lines of a function, but for its first and empty ones."""
    return sum(1 for line in inspect.getsource(way).splitlines()[1:] if line.strip())


def limited(way, given):
    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    try:
        return way(*given)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def table(repetitions, small=False):
    lines = [
        "| task | with | lines | error | time, ms |",
        "| --- | --- | --- | --- | --- |",
    ]
    for task, (given, error_of) in inputs(small).items():
        for library, name in NAMES.items():
            way = globals().get(f"{task}_{library}")
            if way is None:
                lines.append(f"| {task} | {name} | - | not offered | - |")
                continue
            errors, times = [], []
            try:
                for _ in range(repetitions):
                    begin = time.perf_counter()
                    answer = limited(way, given)
                    times.append(time.perf_counter() - begin)
                    errors.append(error_of(answer))
            except ImportError as missing:
                print(f"left out: {task} with {library}: {missing}", file=sys.stderr)
                continue
            except TimeoutError:
                lines.append(f"| {task} | {name} | {lines_of(way)} | - | not done in {LIMIT} s |")
                continue
            error, spent = statistics.median(errors), 1e3 * statistics.median(times)
            lines.append(f"| {task} | {name} | {lines_of(way)} | {error:.3g} | {spent:.0f} |")
    return lines


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    warnings.simplefilter("ignore")
    lines = table(repetitions)
    print("\n".join(lines))
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            text = file.read()
        between = re.compile(f"{MARK}\n.*?{MARK}\n", re.S)
        put = "\n".join([MARK, *lines, MARK, ""])
        assert len(between.findall(text)) == 1, "the page has not two marks"
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(between.sub(lambda _: put, text))


if __name__ == "__main__":
    main()
