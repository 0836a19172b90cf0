"""The same tasks in scikit-learn, diffprivlib, OpenDP and dps: lines, error, time; writes docs/guides/python-side-by-side.md.

    pip install "scikit-learn<1.5" diffprivlib opendp       # diffprivlib 0.6.6 does not run with newer ones
    python tools/python/side_by_side.py

Lines are those of the functions below, without definition and return; errors are means over seeds on one data set.
"""

import inspect
import math
import time
import warnings
from pathlib import Path

import numpy as np

import dps

warnings.simplefilter("ignore")
PAGE = Path(__file__).parents[2] / "docs/guides/python-side-by-side.md"
EPSILON, DELTA, SEEDS, SECONDS = 1.0, 1e-6, 10, 60


def data():
    """Rows of norm at most one, of falling strength, and a target."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20_000, 10)) * 0.8 ** np.arange(10) / 4
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    target = rows @ np.linspace(1, -1, 10) / 4 + generator.normal(size=20_000) * 0.02
    return rows, np.clip(target, -1, 1)


ROWS, TARGET = data()


# Projection of 10 numbers to 6; error: root mean square of 1000 estimated squared distances.
def projection_scikit_learn(seed):
    from sklearn.random_projection import GaussianRandomProjection

    released = GaussianRandomProjection(6, random_state=seed).fit_transform(ROWS)
    return lambda i, j: ((released[i] - released[j]) ** 2).sum()


def projection_opendp(seed):
    import opendp.prelude as dp
    from sklearn.random_projection import GaussianRandomProjection

    dp.enable_features("contrib")
    model = GaussianRandomProjection(6, random_state=seed).fit(ROWS)
    sensitivity = 2 * np.linalg.norm(model.components_, 2)  # a row of norm one becomes any other
    scale = sensitivity * dps.calibrate.gaussian(EPSILON, DELTA).sigma
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=scale)
    projected = model.transform(ROWS)
    released = np.reshape(noise(projected.ravel().tolist()), projected.shape)
    correction = 2 * 6 * scale**2
    return lambda i, j: ((released[i] - released[j]) ** 2).sum() - correction


def projection_dps(seed):
    person = dps.Adjacency.replace_row(bound=1)
    common = dict(d=10, k=6, adjacency=person, calibration="averaged")
    release = dps.Vectors(epsilon=EPSILON, delta=DELTA, **common).release(ROWS)
    return lambda i, j: release.distance(i, j, measure="squared distance").value


# Two principal components about zero; error: sine of the largest angle to the exact space.
def pca_scikit_learn(seed):
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(2, random_state=seed).fit(ROWS).components_


def pca_diffprivlib(seed):
    from diffprivlib.models import PCA

    bounds = (-np.ones(10), np.ones(10))
    model = PCA(2, epsilon=EPSILON, data_norm=1, centered=True, bounds=bounds, random_state=seed)
    return model.fit(ROWS).components_


def pca_dps(seed):
    person = dps.Adjacency.replace_row(bound=1)
    mechanism = dps.Covariance(d=10, adjacency=person, epsilon=EPSILON, delta=DELTA)
    return mechanism.release(ROWS).pca(2).directions


# Regression without intercept; error: l2 distance of the coefficients from the exact ones.
def regression_scikit_learn(seed):
    from sklearn.linear_model import LinearRegression

    return LinearRegression(fit_intercept=False).fit(ROWS, TARGET).coef_


def regression_diffprivlib(seed):
    from diffprivlib.models import LinearRegression

    bounds = dict(bounds_X=(-np.ones(10), np.ones(10)), bounds_y=(-1, 1))
    model = LinearRegression(epsilon=EPSILON, fit_intercept=False, random_state=seed, **bounds)
    return model.fit(ROWS, TARGET).coef_


def regression_dps(seed):
    person = dps.Adjacency.replace_row(bound=math.sqrt(2))
    mechanism = dps.Covariance(d=11, adjacency=person, epsilon=EPSILON, delta=DELTA)
    release = mechanism.release(np.column_stack([ROWS, TARGET]))
    return release.regress(features=10, ridge=1.0)


def error_projection(distance):
    pairs = [(i, i + 1) for i in range(0, 2000, 2)]
    truth = [((ROWS[i] - ROWS[j]) ** 2).sum() for i, j in pairs]
    return math.sqrt(np.mean([(distance(i, j) - t) ** 2 for (i, j), t in zip(pairs, truth)]))


def error_pca(components):
    exact = np.linalg.svd(ROWS, full_matrices=False)[2][:2]
    found = np.linalg.qr(np.asarray(components).T)[0]
    return math.sqrt(max(0.0, 1 - np.linalg.svd(exact @ found)[1].min() ** 2))


def error_regression(coefficients):
    exact = np.linalg.lstsq(ROWS, TARGET, rcond=None)[0]
    return float(np.linalg.norm(np.ravel(coefficients) - exact))


def lines(function):
    source = [line.strip() for line in inspect.getsource(function).splitlines()[1:]]
    return sum(1 for line in source if line and not line.startswith(("#", ")", "]")))


PROTECTED = {
    "scikit-learn": "nothing",
    "OpenDP": "(1, 1e-6), one row replaced",
    "diffprivlib": "epsilon 1, delta 0, one row",
    "dps": "(1, 1e-6), one row replaced",
}
TASKS = {
    "projection": (error_projection, [projection_scikit_learn, projection_opendp, projection_dps]),
    "PCA": (error_pca, [pca_scikit_learn, pca_diffprivlib, pca_dps]),
    "regression": (error_regression, [regression_scikit_learn, regression_diffprivlib, regression_dps]),
}
NAMES = {"scikit_learn": "scikit-learn", "opendp": "OpenDP", "diffprivlib": "diffprivlib", "dps": "dps"}


def main():
    out = [
        "# The same tasks elsewhere",
        "",
        "Made by `python tools/python/side_by_side.py`: 20,000 rows of 10 numbers of norm at most one, epsilon 1, delta 1e-6 where the library",
        f"has a delta, means over at most {SEEDS} seeds (as many as a minute allows). scikit-learn protects nothing: its error is that of the task. diffprivlib's mechanisms here are pure, a",
        "stronger promise of the same epsilon; its PCA and regression hold for its own neighbours, and OpenDP's projection is a plain sum of its Gaussian",
        "noise on scikit-learn's projection, whose sensitivity the caller must know. Lines are those that a user writes.",
        "",
        "| task | library | protected | lines | error | seconds | seeds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for task, (error, functions) in TASKS.items():
        for function in functions:
            name = NAMES[function.__name__.split("_", 1)[1]]
            errors, seconds = [], []
            for seed in range(SEEDS):
                start = time.perf_counter()
                result = function(seed)
                seconds.append(time.perf_counter() - start)
                errors.append(error(result))
                if sum(seconds) > SECONDS:
                    break
            row = f"{np.mean(errors):.4g} | {np.median(seconds):.3f} | {len(seconds)}"
            out.append(f"| {task} | {name} | {PROTECTED[name]} | {lines(function)} | {row} |")
            print(out[-1])
    out += [
        "",
        "Errors: projection, root mean square of 1000 squared distances; PCA, sine of the largest angle between the two leading directions and the",
        "exact ones; regression, l2 distance of the coefficients from those of least squares.",
    ]
    PAGE.write_text("\n".join(out) + "\n", "utf-8")


if __name__ == "__main__":
    main()
