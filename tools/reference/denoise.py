"""Values of the rotation-invariant estimator and of its risk estimates, for crates/linalg-dp/src/analysis/denoise.rs.

Divergences are not the library's formula: the estimator is applied to matrices, and differentiated by central
differences in every coordinate of the symmetric matrices (orthonormal in Frobenius norm). Noise scale 1.
"""
from mpmath import mp, mpf, matrix, eigsy, sqrt, diag, fsum

mp.dps = 40
W = [mpf(x) for x in ("9", "4.5", "1.2", "0.7", "-0.3", "-1.1", "-2.6")]
D = len(W)
STEP = mpf(10) ** -12


def isotonic(x):
    "Falling least squares by the min-max formula."
    n = len(x)
    mean = lambda a, b: fsum(x[a:b + 1]) / (b - a + 1)
    return [min(max(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def estimator(w):
    x = [a - fsum((a - b) / ((a - b) ** 2 + mpf(1) / 2) for b in w) for a in w]
    return [max(v, mpf(0)) for v in isotonic(x)]


def clip(w):
    return [max(v, mpf(0)) for v in w]


def apply(f, m):
    e, q = eigsy(m)
    order = sorted(range(D), key=lambda i: -e[i])
    values = f([e[i] for i in order])
    out = matrix(D, D)
    for v, i in zip(values, order):
        out += v * q[:, i] * q[:, i].T
    return out


def derivative(f):
    "The matrix of the derivative of f in the coordinates E_ii, (E_ij + E_ji) / sqrt 2."
    pairs = [(i, j) for i in range(D) for j in range(i, D)]
    coordinates = lambda m: [m[i, j] * (1 if i == j else sqrt(2)) for i, j in pairs]
    columns = []
    for i, j in pairs:
        moved = []
        for sign in (1, -1):
            m = diag(W)
            h = sign * STEP * (1 if i == j else 1 / sqrt(mpf(2)))
            m[i, j] += h
            if i != j:
                m[j, i] += h
            moved.append(coordinates(apply(f, m)))
        columns.append([(a - b) / (2 * STEP) for a, b in zip(*moved)])
    return columns


values, clipped = estimator(W), clip(W)
print("values", [mp.nstr(v, 17) for v in values])
own, other = derivative(clip), derivative(estimator)
n = len(own)
clip_risk = fsum((p - w) ** 2 for p, w in zip(clipped, W)) + 2 * fsum(own[i][i] for i in range(n)) - n
risk = fsum((f - w) ** 2 for f, w in zip(values, W)) + 2 * fsum(other[i][i] for i in range(n)) - n
change = [[a - b for a, b in zip(x, y)] for x, y in zip(other, own)]
square = fsum((f - p) ** 2 for f, p in zip(values, clipped))
trace = fsum(change[i][j] * change[j][i] for i in range(n) for j in range(n))
print("risks", [mp.nstr(v, 15) for v in (clip_risk, risk - clip_risk, square + trace)])
