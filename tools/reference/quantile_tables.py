#!/usr/bin/env python3
"""Tables of the tail quantiles behind rounded Gaussian and Laplace noise.

    python3 tools/reference/quantile_tables.py crates/dp-core/src/noise/kernel

Writes gaussian.bin and laplace.bin (1024 rows of eight little-endian doubles)
and certifies the error constants of `rounded/table.rs`. Needs mpmath.

Row 32 (e + 32) + j covers V = 2^e m, m in [1 + j/32, 1 + (j+1)/32), e = -32..-1, by a
polynomial of degree 7 in t = m - (1 + (2j+1)/64), |t| <= 1/64, which interpolates
F(V) = |Z| with Pr[|N(0,1)| > F(V)] = V, or F(V) = -ln V, at the Chebyshev nodes.

Why the bound below is rigorous: the derivatives of F alternate in sign and shrink
with V (docs/proofs/rounded-noise.md), so the largest eighth derivative of a row is
the one at its left end, and the interpolation error is at most
max|F^(8)| / 8! * 2 (h/2)^8.
"""

import struct
import sys
from statistics import NormalDist

from mpmath import erfc, exp, factorial, lu_solve, matrix, mp, mpf, pi, sqrt, cos, log

mp.dps = 60
DEGREE, PER_OCTAVE, OCTAVES = 7, 32, 32
H = mpf(1) / (2 * PER_OCTAVE)
U = mpf(2) ** -53
NODES = [H * cos(pi * (2 * i + 1) / (2 * DEGREE + 2)) for i in range(DEGREE + 1)]


def gaussian(v):
    z = mpf(-NormalDist().inv_cdf(float(v) / 2)) if v < mpf("0.9999") else (1 - v) * sqrt(pi / 2)
    for _ in range(4):
        z += (erfc(z / sqrt(2)) - v) / (2 * exp(-z * z / 2) / sqrt(2 * pi))
    assert abs(erfc(z / sqrt(2)) / v - 1) < mpf(10) ** -50
    return z


def gaussian_derivative(v, n):
    """|F^(n)(V)| = P_n(z) / (2 phi(z))^n, P_1 = 1, P_(k+1) = P_k' + k z P_k."""
    p = [mpf(1)]
    for k in range(1, n):
        derivative = [i * c for i, c in enumerate(p)][1:]
        p = [mpf(0)] + [k * c for c in p]
        for i, c in enumerate(derivative):
            p[i] += c
    z = gaussian(v) if v < 1 else mpf(0)
    return sum(c * z**i for i, c in enumerate(p)) * (sqrt(2 * pi) * exp(z * z / 2) / 2) ** n


def laplace(v):
    return -log(v)


def laplace_derivative(v, n):
    return factorial(n - 1) / v**n


def rows(f, derivative):
    powers = matrix([[x**k for k in range(DEGREE + 1)] for x in NODES])
    for e in range(-OCTAVES, 0):
        for j in range(PER_OCTAVE):
            scale = mpf(2) ** e
            left = 1 + mpf(j) / PER_OCTAVE
            exact = lu_solve(powers, matrix([f(scale * (left + H + x)) for x in NODES]))
            c = [float(x) for x in exact]
            n = DEGREE + 1
            gap = derivative(scale * left, n) * scale**n / factorial(n) * 2 * (H / 2) ** n
            rounding = sum(abs(mpf(a) - b) * H**k for k, (a, b) in enumerate(zip(c, exact)))
            # Horner without fused operations: value bound and error bound.
            bound, error = abs(mpf(c[-1])), mpf(0)
            for a in reversed(c[:-1]):
                product = H * (bound + error)
                error = H * error + U * product
                bound = abs(mpf(a)) + H * bound
                error += U * (bound + error)
            # V itself: rounded to 53 bits, and the bits not drawn yet. First tier: 63 bits
            # drawn, V >= 2^-9; second tier: 127 bits drawn.
            slope = derivative(scale * left, 1)
            v = scale * (left + 2 * H)
            first = slope * (U * v + mpf(2) ** -63)
            second = slope * (U * v + mpf(2) ** -127)
            top = bound + error
            yield e, c, gap, gap + rounding + error + first + U * top, gap + rounding + error + second + U * top


def main(folder):
    for name, f, derivative, tiers in [
        ("gaussian", gaussian, gaussian_derivative, (-49, -48)),
        ("laplace", laplace, laplace_derivative, (-48, log(3, 2) - 48)),
    ]:
        data, gaps, firsts, seconds = b"", [], [], []
        for e, c, gap, first, second in rows(f, derivative):
            data += struct.pack("<8d", *c)
            gaps.append(gap)
            seconds.append(second)
            if e >= -9:
                firsts.append(first)
        assert len(data) == 1024 * 64
        assert max(firsts) < mpf(2) ** tiers[0] and max(seconds) < mpf(2) ** tiers[1]
        with open(f"{folder}/{name}.bin", "wb") as out:
            out.write(data)
        log2 = lambda x: float(log(x, 2))
        print(f"{name}: interpolation 2^{log2(max(gaps)):.2f}, first tier 2^{log2(max(firsts)):.2f}"
              f" (declared 2^{tiers[0]}), second tier 2^{log2(max(seconds)):.2f} (declared 2^{tiers[1]})")


if __name__ == "__main__":
    main(sys.argv[1])
