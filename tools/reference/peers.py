"""Other libraries on the tasks of own/covariance and own/regression: components and linear regression.

python peers.py OUT.csv
python peers.py --audit AUDIT.csv

Needs numpy, opendp 0.16.0, diffprivlib 0.6.6 and scikit-learn 1.6.1 (a later one keeps diffprivlib from being
imported); for the audits the project's own Python package too. One line a task, method and epsilon: the median over
data sets drawn anew, and how many did not finish in a minute. Seed 1.
"""

import csv
import multiprocessing as mp
import sys
import warnings
from importlib.metadata import version

import numpy as np

warnings.filterwarnings("ignore")
EPSILONS = (0.3, 1.0, 3.0)
LIMIT = 60.0


def spectrum(generator, n, d, power):
    """Gaussian rows, eigenvalues i^-power in a random basis, over the 90 % quantile of the norms, clipped to norm 1."""
    basis, _ = np.linalg.qr(generator.normal(size=(d, d)))
    scale = np.arange(1, d + 1) ** (-power / 2)
    rows = generator.normal(size=(n, d)) * scale @ basis.T
    norms = np.linalg.norm(rows, axis=1)
    rows /= np.quantile(norms, 0.9)
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]


def with_target(generator, n, d, power):
    """Rows of mean square norm one, clipped to norm 1; signal of variance .06, noise of deviation .2, |y| <= 1."""
    law = np.arange(1, d + 1) ** -power
    law /= law.sum()
    theta = generator.normal(size=d)
    theta *= np.sqrt(0.06 / (law @ theta**2))
    x = generator.normal(size=(n, d)) * np.sqrt(law)
    x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
    return x, np.clip(x @ theta + 0.2 * generator.normal(size=n), -1, 1)


def captured(rows, directions):
    """Share of the energy of the best directions."""
    moments = rows.T @ rows
    best = np.sort(np.linalg.eigvalsh(moments))[::-1][: len(directions)].sum()
    basis, _ = np.linalg.qr(directions.T)
    return np.trace(basis.T @ moments @ basis) / best


def diffprivlib_pca(rows, k, epsilon):
    from diffprivlib.models import PCA

    return PCA(k, epsilon=epsilon, data_norm=1.0, centered=True).fit(rows).components_


def opendp_pca(rows, k, epsilon):
    import opendp.prelude as dp
    from opendp.extras.sklearn.decomposition import PCA

    dp.enable_features("contrib", "floating-point", "honest-but-curious")
    n, d = rows.shape
    model = PCA(epsilon=epsilon, row_norm=1.0, n_samples=n, n_features=d, n_components=k)
    return model.fit(rows).components_


def diffprivlib_line(x, y, epsilon):
    from diffprivlib.models import LinearRegression

    d = x.shape[1]
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(-np.ones(d), np.ones(d)),
        bounds_y=(-1.0, 1.0),
        fit_intercept=False,
    )
    return model.fit(x, y).coef_


def excess(x, y, theta):
    """Excess risk over that of predicting zero."""
    gram = x.T @ x
    best = np.linalg.solve(gram, x.T @ y)
    off = np.ravel(theta) - best
    return (off @ gram @ off) / (best @ gram @ best)


def one(task, method, seed, n, d, setting, epsilon, answer):
    generator = np.random.default_rng([1, seed])
    if task == "pca":
        rows = spectrum(generator, n, d, 1.0)
        answer.send(captured(rows, METHODS[method](rows, setting, epsilon)))
    else:
        x, y = with_target(generator, n, d, setting)
        answer.send(excess(x, y, METHODS[method](x, y, epsilon)))


METHODS = {
    "diffprivlib PCA": diffprivlib_pca,
    "opendp PCA": opendp_pca,
    "diffprivlib LinearRegression": diffprivlib_line,
}


def measured(*work):
    """The answer of another process, or nothing after a minute or where it fails."""
    answer, ours = mp.Pipe(duplex=False)
    process = mp.Process(target=one, args=(*work, ours))
    process.start()
    ours.close()
    try:
        return float(answer.recv()) if answer.poll(LIMIT) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def main(out):
    tasks = [("pca", m, 10_000, d, k) for d, k in ((5, 2), (20, 5), (100, 10)) for m in list(METHODS)[:2]]
    tasks += [("regression", "diffprivlib LinearRegression", 20_000, 50, p) for p in (0.0, 1.0)]
    with open(out, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["task", "method", "version", "n", "d", "setting", "epsilon", "median", "sets", "unfinished"])
        for task, method, n, d, setting in tasks:
            release = version(method.split()[0])
            for epsilon in EPSILONS:
                found, lost = [], 0
                for seed in range(16):
                    value = measured(task, method, seed, n, d, setting, epsilon)
                    if value is None:
                        lost += 1
                        if lost == 2 and not found:
                            break
                    else:
                        found.append(value)
                middle = f"{np.median(found):.4g}" if found else ""
                table.writerow(
                    [task, method, release, n, d, setting, epsilon, middle, len(found) + lost, lost]
                )
                file.flush()


def audits(out):
    """Lower bounds of epsilon, 99.9 %, at a claim of epsilon 1, delta 0: one row replaced by another within the bounds."""
    import dps

    near = np.zeros((20, 3))
    # Ten rows along either axis, five each way; one of them moves from the second axis to the first.
    near[:10, 0], near[10:, 1] = np.repeat([1, -1], 5), np.repeat([1, -1], 5)
    moved = near.copy()
    moved[10] = [1, 0, 0]

    def along(components):
        return float(components[0, 0] ** 2 - components[0, 1] ** 2)

    x = np.ones((20, 1))
    y = np.linspace(-1, 1, 20)
    other = y.copy()
    other[0] = 1.0
    cases = [
        ("diffprivlib PCA", lambda rows: along(diffprivlib_pca(rows, 1, 1.0)), near, moved, 20_000),
        ("opendp PCA", lambda rows: along(opendp_pca(rows, 1, 1.0)), near, moved, 600),
        (
            "diffprivlib LinearRegression",
            lambda target: float(np.ravel(diffprivlib_line(x, target, 1.0))[0]),
            y,
            other,
            20_000,
        ),
    ]
    with open(out, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["method", "version", "claim", "at least", "often", "seldom", "runs"])
        for method, mechanism, left, right, runs in cases:
            found = dps.audit(mechanism, left, right, runs=runs, score=float)
            version_of = version(method.split()[0])
            table.writerow(
                [method, version_of, 1.0, f"{found.epsilon:.3f}", f"{found.often:.4f}", f"{found.seldom:.4f}", runs]
            )
            file.flush()


if __name__ == "__main__":
    if sys.argv[1] == "--audit":
        audits(sys.argv[2])
    else:
        main(sys.argv[1])
