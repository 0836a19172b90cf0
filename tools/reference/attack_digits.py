"""How often an attacker names the digit behind a private sketch: the figures quoted by `own/attacks`.

Independent of the library: NumPy alone, noise of floating point. Usage: python attack_digits.py FOLDER, the
folder of `mnist5k-*-ubyte.gz`. Prints the share of right guesses for clean images, and for Laplace noise and Gaussian
noise of delta 1e-6 at epsilon 1 and 3, one pixel protected.
"""

import gzip
import math
import sys
from pathlib import Path

import numpy as np

WIDTH, PUBLIC, DIRECTIONS, VOTERS, DELTA = 256, 1000, 40, 5, 1e-6


def digits(folder):
    images = gzip.open(folder / "mnist5k-images-idx3-ubyte.gz").read()
    labels = gzip.open(folder / "mnist5k-labels-idx1-ubyte.gz").read()
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784) / 255
    return pixels, np.frombuffer(labels, np.uint8, offset=8).astype(int)


def gaussian_sigma(epsilon):
    """The least sigma whose exact delta for a shift of one is at most DELTA, by halving."""

    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    low, high = 1e-3, 1e3
    while high / low > 1 + 1e-12:
        sigma = math.sqrt(low * high)
        half, far = 0.5 / sigma, epsilon * sigma
        delta = phi(half - far) - math.exp(epsilon) * phi(-half - far)
        low, high = (sigma, high) if delta > DELTA else (low, sigma)
    return high


def main():
    pixels, labels = digits(Path(sys.argv[1]))
    rng = np.random.default_rng(28)
    order = rng.permutation(len(pixels))
    known, truth = order[:PUBLIC], order[PUBLIC:]
    public, rows = pixels[known], pixels[truth]
    mean = public.mean(axis=0)
    covariance = np.cov(public, rowvar=False) + 1e-3 * np.eye(784)
    _, _, axes = np.linalg.svd(public - mean, full_matrices=False)
    axes = axes[:DIRECTIONS].T
    places = (public - mean) @ axes

    def right(guess):
        found = (guess - mean) @ axes
        distance = (places**2).sum(axis=1) - 2 * found @ places.T
        nearest = np.argsort(distance, axis=1)[:, :VOTERS]
        votes = [np.bincount(labels[known][near], minlength=10).argmax() for near in nearest]
        return np.mean(votes == labels[truth])

    print(f"clean {right(rows):.3f}")
    for law in ("laplace", "gaussian"):
        for epsilon in (1, 3):
            # Every pixel goes to one bin with a sign; bins are of equal size.
            bins = rng.permutation(784) * WIDTH // 784
            projection = np.zeros((784, WIDTH))
            projection[np.arange(784), bins] = rng.choice([-1.0, 1.0], 784)
            if law == "laplace":
                noise, variance = rng.laplace(0, 1 / epsilon, (len(rows), WIDTH)), 2 / epsilon**2
            else:
                sigma = gaussian_sigma(epsilon)
                noise, variance = rng.normal(0, sigma, (len(rows), WIDTH)), sigma**2
            sketches = rows @ projection + noise
            cross = covariance @ projection
            within = projection.T @ cross + variance * np.eye(WIDTH)
            guess = mean + (sketches - mean @ projection) @ np.linalg.solve(within, cross.T)
            print(f"{law} epsilon {epsilon}: {right(guess):.3f}")


if __name__ == "__main__":
    main()
