"""Mechanisms that release rows, and numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._base import CALIBRATIONS, FRESH, Mechanism, Progress, bound_of, family_of
from ._checks import one_of, real, refused, shown, whole, whole_or_none
from ._rows import exact, prepared
from .errors import DataError, ParameterError
from .groups import Groups
from .ledger import Ledger, payer
from .privacy import Adjacency


class Vectors(Mechanism):
    """Private projections of rows: ``Y = X P + noise``, n x k from n x d.

    Squared distances, squared norms and inner products are estimated from the release, unbiased. Cosines are ratios of
    estimates, cut to [-1, 1], and biased where the noise is large.

    Parameters
    ----------
    d, k : int
        Features of a row, and numbers of a released row (of `Groups`, as many as there are).
    adjacency : Adjacency
        ``attribute``, ``row_shift`` or ``replace_row``.
    epsilon, delta : float
        Budget of one release; ``delta=0`` needs Laplace or staircase noise.
    bound : float, optional
        Largest absolute value of an entry of any possible row; rows outside are refused. May be
        left out where the adjacency bounds norms.
    family : str or Groups
        Law of P: ``oporp`` (fast, least noise for single values), ``gaussian``, ``rademacher``,
        ``achlioptas``, ``very-sparse``, ``sparse-jl``, ``hashed-copies``, ``srht``, ``count-sketch``,
        ``identity``; or sums of chosen `Groups`, which have no seed.
    nonzeros : int, optional
        Of ``sparse-jl`` and ``hashed-copies``; 4 by default.
    noise : {"gaussian", "laplace", "staircase"}
        ``staircase``, under ``attribute`` where one value moves one number, is as pure as Laplace noise and
        smaller.
    calibration : {"realised", "averaged"}
        ``realised`` holds for the very P of a public seed. ``averaged`` (a Gaussian P that is drawn at
        release and used once) needs less noise for whole rows, and takes no seed.
    seed : int, optional
        Public seed of P, in ``[0, 2^64)``; releases to be compared need the same one. Drawn by default.

    Notes
    -----
    Source: ``docs/proofs/private-projection.md``, ``docs/proofs/averaged-calibration.md``; Kenthapadi et al.
    2013, Li and Li 2023, with exact calibration.

    Examples
    --------
    >>> import numpy as np, dps
    >>> rows = np.random.default_rng(0).uniform(-1, 1, (100, 32))
    >>> one = dps.Adjacency.attribute(beta=2)  # from -1 to 1
    >>> mechanism = dps.Vectors(d=32, k=8, adjacency=one, bound=1, epsilon=4, delta=1e-6)
    >>> mechanism.release(rows).to_numpy().shape
    (100, 8)
    """

    def __init__(
        self,
        *,
        d: int,
        k: int | None = None,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        bound: float | None = None,
        family: str | Groups | None = None,
        nonzeros: int | None = None,
        noise: str = "gaussian",
        calibration: str = "realised",
        seed: int | None = None,
    ) -> None:
        one_of("noise", noise, ("gaussian", "laplace", "staircase"))
        one_of("calibration", calibration, CALIBRATIONS)
        largest = bound_of(bound, adjacency)
        if isinstance(family, Groups):
            k = family.k if k is None else k
        if k is None:
            raise TypeError("k is missing: the numbers of a released row; only Groups say it themselves")
        if calibration == "averaged":
            refused("seed", seed, FRESH)
            refused("nonzeros", nonzeros, "a Gaussian projection has no zeros")
            one_of("family", family or "gaussian", ("gaussian",))
            one_of("noise", noise, ("gaussian",))
            parameters: dict[str, Any] = {"mechanism": "averaged-projection"}
        elif isinstance(family, Groups):
            refused("seed", seed, "groups are not drawn")
            refused("nonzeros", nonzeros, "groups have one a column")
            law = {"kind": "grouped", "groups": list(family.signed)}
            parameters = {"mechanism": "projection", "family": law, "noise": noise, "seed": 0}
        else:
            law = family_of(family or "oporp", nonzeros)
            parameters = {"mechanism": "projection", "family": law, "noise": noise, "seed": seed}
        super().__init__(adjacency, epsilon, delta, d=d, k=k, bound=largest, **parameters)

    def predict(self, squared_distance: float) -> float:
        """Root mean square error of an estimated squared distance of this size; reads no data."""
        return self._predict(squared_distance)[1]

    def write(
        self,
        path: str | os.PathLike[str],
        data: Any,
        *,
        store: str = "f64",
        replace: bool = False,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        label: str | None = None,
        progress: Progress | None = None,
        insecure_test_noise: int | None = None,
    ) -> None:
        """Releases to a file as rows come, in bounded memory: what ``dps release sketch`` does.

        Parameters
        ----------
        path : path-like
            The release file; it appears when it is complete and paid.
        data : array, sparse matrix or Arrow producer
            As of `release`; batches of Arrow are read one at a time.
        store : str
            ``f64``; ``f32``, half the size; or ``compact``, 6 to 8 bits a number: rounded to at most an eighth of the noise's
            scale, which estimates count. The privacy is the same.
        replace : bool
            Whether a file that is there may be replaced.
        ledger, label, progress, insecure_test_noise
            As of `release`.
        """
        self._core.write(
            prepared(data),
            os.fspath(path),
            store=store,
            replace=replace,
            ledger=payer(ledger),
            label=label,
            progress=progress,
            test_noise=whole_or_none("insecure_test_noise", insecure_test_noise),
        )


class MultiScale(Mechanism):
    """Private projections of several sizes that share one budget.

    Small distances are best told by few numbers, large ones by many: `Release.distance` weights the scales
    for the squared distance that is `expected`. No file holds such a release: it lives in memory alone.

    Parameters
    ----------
    d : int
        Features of a row.
    sizes, shares : sequence of int, sequence of float
        Numbers of each scale, and its positive share of the budget.
    adjacency, epsilon, delta, bound
        As of `Vectors`.
    family : str
        As of `Vectors`.
    seeds : sequence of int, optional
        One public seed a scale, all different.

    Notes
    -----
    Source: ``docs/proofs/private-projection.md``; Kenthapadi et al. 2013, section 3.2.2.
    """

    def __init__(
        self,
        *,
        d: int,
        sizes: Sequence[int],
        shares: Sequence[float],
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        bound: float | None = None,
        family: str = "oporp",
        nonzeros: int | None = None,
        seeds: Sequence[int] | None = None,
    ) -> None:
        chosen: list[int | None] = [None] * len(sizes)
        if seeds is not None:
            chosen = [whole("seeds", seed) for seed in seeds]
        if not len(sizes) == len(shares) == len(chosen):
            raise ValueError("sizes, shares and seeds must have one entry a scale")
        law = family_of(family, nonzeros)
        scales = [
            {"k": whole("sizes", k), "family": law, "share": real("shares", share), "seed": seed}
            for k, share, seed in zip(sizes, shares, chosen)
        ]
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="multi-scale",
            d=d,
            scales=scales,
            bound=bound_of(bound, adjacency),
        )

    def predict(self, squared_distance: float) -> float:
        """Root mean square error of an estimated squared distance of this size; reads no data."""
        return self._predict(squared_distance)[1]


class Signs(Mechanism):
    """Signs of a projection, some of them flipped: one bit a coordinate, searched by Hamming distance.

    Parameters
    ----------
    d, bits : int
        Features of a row, and signs of a released row.
    adjacency : Adjacency
        ``attribute``, or ``user`` of it; with averaged calibration ``attribute``, ``row_shift`` or ``replace_row``.
    epsilon, delta : float
        Budget of one release.
    bound : float
        Largest absolute value of an entry of any possible row.
    family, nonzeros, seed
        As of `Vectors`.
    repetitions : int
        Independent projections side by side.
    flips : {"optimal", "smooth", "response"}
        ``optimal`` seldom flips signs of large values: best for search. ``response`` flips all alike, so
        that cosines can be estimated. ``smooth`` is the published rule.
    calibration : {"realised", "averaged"}
        As of `Vectors`; averaged needs `least_norm` (no possible row is shorter) or `lift` (a constant that
        is appended to every row: cosines are then those of the rows with it).

    Notes
    -----
    Source: ``docs/proofs/sign-flips.md``; Li and Li 2023.
    """

    def __init__(
        self,
        *,
        d: int,
        bits: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        bound: float,
        family: str | None = None,
        nonzeros: int | None = None,
        repetitions: int | None = None,
        flips: str | None = None,
        calibration: str = "realised",
        least_norm: float | None = None,
        lift: float | None = None,
        seed: int | None = None,
    ) -> None:
        one_of("calibration", calibration, CALIBRATIONS)
        common: dict[str, Any] = {"d": d, "bits": bits, "bound": bound}
        if calibration == "averaged":
            refused("seed", seed, FRESH)
            refused("nonzeros", nonzeros, "a Gaussian projection has no zeros")
            refused("repetitions", repetitions, "averaged calibration draws one projection")
            one_of("family", family or "gaussian", ("gaussian",))
            one_of("flips", flips or "response", ("response",))
            common.update(mechanism="fresh-signs", least_norm=least_norm, lift=lift)
        else:
            why = "only averaged calibration counts on the norms of rows"
            refused("least_norm", least_norm, why)
            refused("lift", lift, why)
            one_of("flips", flips or "optimal", ("optimal", "smooth", "response"))
            common.update(
                mechanism="signs",
                family=family_of(family or "oporp", nonzeros),
                repetitions=1 if repetitions is None else repetitions,
                flips=flips or "optimal",
                seed=seed,
            )
        super().__init__(adjacency, epsilon, delta, **common)

    def predict(self) -> tuple[str, float]:
        """What the error is of, and its root mean square; reads no data."""
        return self._predict()


class Units(Mechanism):
    """Whole rows by their directions, under pure differential privacy for any two rows (PrivUnitG, ProjUnit).

    Parameters
    ----------
    d, k : int
        Features of a row, and numbers of a released row (`d` for the identity).
    adjacency : Adjacency
        ``replace_row``, ``any_input``, ``row_shift`` or ``attribute``: all cost the same.
    epsilon : float
        In [2**-20, 64]. Below 4 nothing can be found by such a release.
    family, nonzeros, seed
        As of `Vectors`; the public projection before the direction is taken.
    lengths : float, optional
        Keeps lengths of rows of at most this norm, in one more number; with the identity only.

    Notes
    -----
    Source: ``docs/proofs/unit-vectors.md``; Asi, Feldman and Talwar 2022; Asi et al. 2023.
    """

    def __init__(
        self,
        *,
        d: int,
        k: int | None = None,
        adjacency: Adjacency,
        epsilon: float,
        family: str = "identity",
        nonzeros: int | None = None,
        lengths: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            0.0,
            mechanism="units",
            d=d,
            k=d if k is None else k,
            family=family_of(family, nonzeros),
            lengths=lengths,
            seed=seed,
        )

    def predict(self, cosine: float = 0.0) -> float:
        """Root mean square error of an estimated cosine of this size; reads no data."""
        return self._predict(cosine)[1]


class Bounded(Mechanism):
    """Values of a declared range, one by one: piecewise and one-bit laws, under pure differential privacy for one attribute.

    Parameters
    ----------
    d : int
        Values of a row.
    low, high : float
        The range of every value, whatever the data; values outside are refused.
    adjacency : Adjacency
        ``attribute``, of a change of at least ``high - low`` (``categories - 1``), or ``user`` of it.
    epsilon : float
        In [2**-10, 32].
    one_bit : bool
        One bit a value: less error where values are mostly at an end of the range.
    categories : int, optional
        Values are so many categories (2 to 256; 2 for bits), whole numbers from 0 below it, each answered by a
        randomised response: `Release.shares`. In place of ``low`` and ``high``.

    Notes
    -----
    Inner products are unbiased. Squared distances of two released rows are too large on average where values lie between the
    steps of the law: by up to half of ``(high - low)**2`` a value at epsilon 1 and below, an eighth at 2, and half with one bit
    at every epsilon. Standard errors and intervals count that.
    `Release.search` ranks by rows denoised from the release alone. Source: ``docs/proofs/bounded-values.md``; Duchi, Jordan and
    Wainwright 2018; Wang et al. 2019.
    """

    def __init__(
        self,
        *,
        d: int,
        low: float | None = None,
        high: float | None = None,
        adjacency: Adjacency,
        epsilon: float,
        one_bit: bool = False,
        categories: int | None = None,
    ) -> None:
        if categories is not None:
            if (low, high, one_bit) != (None, None, False):
                raise TypeError("categories take the place of low, high and one_bit")
            low, high = 0.0, float(max(whole("categories", categories) - 1, 1))
        elif low is None or high is None:
            raise TypeError("low and high are missing, or categories in their place")
        super().__init__(
            adjacency,
            epsilon,
            0.0,
            mechanism="bounded",
            d=d,
            low=low,
            high=high,
            one_bit=one_bit,
            categories=categories,
        )

    def predict(self, norm: float) -> float:
        """Root mean square error, at most, of the inner product with a query of this norm that is not released."""
        return self._predict(norm)[1]


class PrivateGroups(Mechanism):
    """Sums of groups of columns that noisy second moments of the very rows make, paid from the same budget.

    For a search among rows of which one value is protected, where nobody has public rows: `Release.search` ranks by the
    best guess of rows. Distances cannot be told from sums of groups.

    Parameters
    ----------
    d : int
        Columns, at most 8192.
    bound : float
        Largest absolute value of an entry.
    adjacency : Adjacency
        ``attribute``.
    epsilon, delta : float
        The moments spend all of delta, which must be positive: the release is not pure.
    row_norm : float, optional
        A guess of the norm of most rows that does not come from them. Longer ones are scaled to it in the moments, whose noise
        grows with it; by default the largest that `bound` allows.
    moments_share : float
        The share of epsilon that the moments have.

    Notes
    -----
    Source: ``docs/proofs/signed-groups.md``, theorems 2 and 3.
    """

    def __init__(
        self,
        *,
        d: int,
        bound: float,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        row_norm: float | None = None,
        moments_share: float = 0.25,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="private-groups",
            d=d,
            bound=bound,
            row_norm=row_norm,
            moments_share=moments_share,
        )

    def predict(self) -> float:
        """Standard deviation of the noise of a sum; what groups find follows from no public fact."""
        return self._predict()[1]


class IndividualSigns(Mechanism):
    """Signs under **individual** differential privacy, which is not differential privacy.

    Only signs that one attribute of these very rows could turn are randomised. It hides the neighbours of
    this one data set and nothing else; no ledger counts it, and readers must accept it by name.
    Parameters are those of `Signs`; `noise` is ``gaussian`` or ``response``.

    Notes
    -----
    Source: ``docs/proofs/sign-flips.md``; Li and Li 2023, algorithms 9 and 11.
    """

    def __init__(
        self,
        *,
        d: int,
        bits: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        bound: float,
        noise: str,
        family: str = "oporp",
        nonzeros: int | None = None,
        repetitions: int = 1,
        seed: int | None = None,
    ) -> None:
        one_of("noise", noise, ("gaussian", "response"))
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="individual-signs",
            d=d,
            bits=bits,
            bound=bound,
            family=family_of(family, nonzeros),
            repetitions=repetitions,
            gaussian=noise == "gaussian",
            seed=seed,
        )


class Distances(Mechanism):
    """Squared distances of all pairs of rows at once; no file holds such a release.

    Parameters
    ----------
    n, d : int
        Rows and features.
    low, high : float
        Least and largest value of an entry.
    adjacency : Adjacency
        ``attribute`` or ``replace_row``.
    epsilon, delta : float
        Budget of one release.

    Notes
    -----
    Source: ``docs/proofs/noise-addition.md``.
    """

    def __init__(
        self,
        *,
        n: int,
        d: int,
        low: float,
        high: float,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="distances",
            n=n,
            d=d,
            low=low,
            high=high,
        )


class Bits(Mechanism):
    """Randomised response on rows of bits: each value of each row is 0 or 1; no file holds such a release.

    Parameters
    ----------
    d : int
        Bits of a row.
    adjacency : Adjacency
        ``attribute(beta=1)``: one bit of one row turns over.
    epsilon, delta : float
        Budget of one release; delta is zero.

    Notes
    -----
    Source: ``docs/proofs/noise-addition.md``; Warner 1965.
    """

    def __init__(self, *, d: int, adjacency: Adjacency, epsilon: float, delta: float) -> None:
        if delta != 0:
            message = f"delta = {shown(delta)} is not allowed: must be in {{0}}, as this response is pure"
            raise ParameterError(message, parameter="delta", value=shown(delta), allowed="{0}")
        super().__init__(adjacency, epsilon, delta, mechanism="bits", d=d)


class Numbers(Mechanism):
    """Noise on numbers that you computed: counts, sums, means; no file holds such a release.

    The sensitivity is at your word, so that the guarantee is declared, never proven: readers accept it by
    name, and `Ledger.declare` enters it.

    Parameters
    ----------
    length : int
        How many numbers.
    sensitivity : float
        Most by which a neighbour moves them all: in l2 norm for Gaussian noise, l1 for Laplace, discrete or not.
    largest : float
        Largest absolute value of a number; others are refused.
    adjacency, epsilon, delta
        What is protected, and how well.
    touched : int, optional
        How many of the numbers a neighbour moves at most; all by default.
    noise : {"gaussian", "laplace", "discrete-gaussian", "discrete-laplace"}
        The discrete ones are whole numbers, for whole numbers (counts, sums of whole numbers): nothing is rounded,
        and others are refused. ``discrete-gaussian`` is exact where a neighbour moves one number (``touched=1``).
    by, reason : str
        Who declares the sensitivity, and why it holds.

    Notes
    -----
    Source: ``docs/proofs/mechanism.md``, ``docs/proofs/integer-noise.md``.
    """

    _reads = "numbers"

    def __init__(
        self,
        *,
        length: int,
        sensitivity: float,
        largest: float,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        by: str,
        reason: str,
        touched: int | None = None,
        noise: str = "gaussian",
    ) -> None:
        one_of("noise", noise, ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace"))
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="numbers",
            length=length,
            sensitivity=float(sensitivity),
            largest=float(largest),
            touched=length if touched is None else touched,
            noise=noise,
            by=by,
            reason=reason,
        )

    def _prepared(self, data: Any) -> Any:
        numbers = np.ma.asanyarray(data)
        kind, size = numbers.dtype.kind, numbers.dtype.itemsize
        if np.ma.is_masked(numbers) or kind not in "fiub" or size > 8:
            raise DataError(
                "the statistic must be numbers: float64, float32 or whole numbers, none of them masked"
            )
        if kind in "iu" and numbers.size:
            exact(numbers.data)
        return np.asarray(numbers.data, dtype=np.float64).ravel().tolist()

    def predict(self) -> float:
        """Standard deviation of one number's noise; reads no data."""
        return self._predict()[1]
