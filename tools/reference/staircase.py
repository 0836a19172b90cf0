"""delta(epsilon) of the discrete staircase law by summation at 40 digits: crates/dp-core/src/profile/staircase.rs.

The law is written out integer by integer and every shift up to the width is tried, both ways; no formula of
docs/proofs/staircase.md is used. Needs mpmath.
"""

from mpmath import exp, mp, mpf, nstr

mp.dps = 40


def law(epsilon, width, inner):
    """Weights up to e^-110."""
    reach = inner + width * int(110 / epsilon)
    level = lambda x: 0 if abs(x) < inner else (abs(x) - inner) // width + 1
    weights = {x: exp(-epsilon * level(x)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def delta(epsilon, width, inner, at):
    p = law(mpf(epsilon), width, inner)
    reach, factor = max(p), exp(mpf(at))
    far = range(-reach + width, reach - width + 1)
    shifts = [s for k in range(1, width + 1) for s in (k, -k)]
    return max(sum(max(p[x] - factor * p[x - s], 0) for x in far) for s in shifts)


if __name__ == "__main__":
    for epsilon, width, inner in [
        (0.5, 6, 3), (1.0, 10, 4), (1.0, 10, 9), (1.0, 1, 1), (2.5, 7, 2), (8.0, 9, 1), (0.25, 5, 2),
    ]:
        for share in (0.0625, 0.5, 0.9375):
            at = epsilon * share
            print(f"({epsilon}, {width}, {inner}, {at}, {nstr(delta(epsilon, width, inner, at), 17)}),")
