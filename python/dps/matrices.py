"""Mechanisms that release what a matrix holds as a whole."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _dps
from ._base import Mechanism
from ._checks import one_of, refused, whole_or_none
from ._rows import prepared
from .ledger import Ledger, payer
from .privacy import Adjacency
from .release import Release


class Covariance(Mechanism):
    """The second moments ``A^T A`` with noise: principal components, regression, quadratic forms.

    Rows longer than the adjacency's bound are scaled to it, and how many is not told.

    Parameters
    ----------
    d : int
        Features of a row.
    adjacency : Adjacency
        ``add_remove_row``, ``zero_row`` or ``replace_row``, with the bound on a row's norm; with ``gaussian``
        also ``user`` of one of them.
    epsilon, delta : float
        Budget of one release; delta is positive.
    noise : {"gaussian", "wishart", "jl"}
        ``gaussian`` has the least error; ``wishart`` stays positive definite; ``jl`` is a sketch of
        relative error, of `sketch_rows` rows.
    dof : int, optional
        Degrees of freedom of ``wishart``; those of least spectral norm by default.
    means : bool
        With ``gaussian``: release the sums too, at 1.19 times the noise, for `Release.moments`,
        components around the mean, and an intercept.
    within : float, optional
        With ``gaussian``: the bound becomes about the norm that this share of the rows is within (.5 to
        .999), chosen with a tenth of the budget and stated in the certificate. For rows whose length
        nobody knows: the adjacency's bound, the largest candidate, may lie far above them.

    Notes
    -----
    Source: ``docs/proofs/covariance.md``.
    """

    def __init__(
        self,
        *,
        d: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        noise: str = "gaussian",
        sketch_rows: int | None = None,
        dof: int | None = None,
        means: bool = False,
        within: float | None = None,
    ) -> None:
        one_of("noise", noise, ("gaussian", "wishart", "jl"))
        parameters: dict[str, Any] = {"mechanism": f"{noise}-covariance", "d": d}
        if noise == "gaussian":
            parameters["means"] = means
            parameters["within"] = within
        else:
            refused("within", within, "only gaussian noise chooses the bound")
            refused("means", means or None, "only gaussian noise releases sums")
        if noise == "jl":
            if sketch_rows is None:
                raise TypeError("sketch_rows is missing: the rows of a sketch, which only jl has")
            parameters["sketch_rows"] = sketch_rows
        else:
            refused("sketch_rows", sketch_rows, "only jl makes a sketch")
        if noise == "wishart":
            parameters["dof"] = dof
        else:
            refused("dof", dof, "only Wishart noise has degrees of freedom")
        super().__init__(adjacency, epsilon, delta, **parameters)

    def predict(self, trace: float) -> float:
        """Root mean square Frobenius error for rows of this total squared norm; reads no data.

        With `within` the most that it can be: where the adjacency's bound is chosen.
        """
        return self._predict(trace)[1]


class Directions(Mechanism):
    """The strongest directions of ``A^T A`` alone, by the noisy power method; no file holds such a release.

    Parameters
    ----------
    d, k, iterations : int
        Features, directions, and passes over the rows.
    adjacency, epsilon, delta
        As of `Covariance`.
    seed : int, optional
        Public seed of the start.

    Notes
    -----
    Source: ``docs/proofs/noisy-power-method.md``; Hardt and Price 2014.
    """

    def __init__(
        self,
        *,
        d: int,
        k: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        iterations: int = 4,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="directions",
            d=d,
            k=k,
            iterations=iterations,
            seed=seed,
        )


class Newton(Mechanism):
    """Coefficients of a linear regression, by four noisy Newton steps on the rows.

    The last column is predicted from the others: for one target, asked once. `Covariance` answers
    for every target. `Release.regression` gives intervals.

    Parameters
    ----------
    d : int
        Columns of a row, the target among them.
    adjacency : Adjacency
        As of `Covariance`; its bound is on the norm of a row's features. The target may be any number.
    epsilon, delta : float
        Budget of one release; delta is positive.
    label_bound : float
        About the largest size of a target: residuals of the first step are clipped to it.
    intercept : bool
        With an intercept, at a little more noise.

    Notes
    -----
    Source: ``docs/proofs/private-newton.md``.
    """

    def __init__(
        self,
        *,
        d: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        label_bound: float,
        intercept: bool = False,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="newton",
            d=d,
            label_bound=label_bound,
            intercept=intercept,
        )


class LowRank(Mechanism):
    """A low-rank approximation of the whole matrix; its shape is public.

    Parameters
    ----------
    n, d : int
        Rows and features of the matrix.
    rank : int
        Rank of the approximation.
    oversampling : int, optional
        Columns of the sketch beyond the rank. By default the sketch has a third as many columns as the matrix has
        rows, and at most 20 times the rank and `d`; 10 beyond the rank for ``published``.
    adjacency : Adjacency
        ``row_shift``.
    epsilon, delta : float
        Budget of one release.
    row_bound : float
        Longest l2 norm of a row; longer rows are scaled to it.
    method : {"find-and-project", "range-finder", "input-perturbation", "published"}
        ``range-finder`` releases the range of the first step alone; ``published`` has the constants of the
        paper, for comparison. No file holds a release of ``input-perturbation``.

    Notes
    -----
    Source: ``docs/proofs/pfp.md``, ``range-finder.md``, ``gaussian.md``; Hardt and Roth 2012.
    """

    def __init__(
        self,
        *,
        n: int,
        d: int,
        rank: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        row_bound: float,
        oversampling: int | None = None,
        method: str = "find-and-project",
    ) -> None:
        methods = ("find-and-project", "range-finder", "input-perturbation", "published")
        one_of("method", method, methods)
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="low-rank",
            n=n,
            d=d,
            rank=rank,
            oversampling=oversampling,
            row_bound=row_bound,
            method=method,
        )

    def predict(self) -> float:
        """Predicted root mean square error; reads no data."""
        return self._predict()[1]


class Basis(Mechanism):
    """The projection of a matrix on a public basis W: ``W (W^T A + noise)``.

    Parameters
    ----------
    basis : array of shape (n, k)
        Orthonormal columns, chosen without the data.
    reason : str
        Why it is public: the certificate says so.
    d : int
        Features of the matrix.
    adjacency, epsilon, delta, row_bound
        As of `LowRank`.
    spread : {"least-trace", "isotropic"}
        How the noise is spread over the directions.

    Notes
    -----
    Source: ``docs/proofs/pfp.md``.
    """

    def __init__(
        self,
        basis: Any,
        *,
        reason: str,
        d: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        row_bound: float,
        spread: str = "least-trace",
    ) -> None:
        one_of("spread", spread, ("least-trace", "isotropic"))
        matrix = np.asarray(basis, dtype=np.float64)
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise ValueError("basis must be a finite matrix, n x k")
        inner = matrix.T @ matrix - np.eye(matrix.shape[1])
        if matrix.shape[1] <= matrix.shape[0] and np.abs(inner).max(initial=0) > 1e-6:
            raise ValueError(
                "the columns of basis must be orthonormal: numpy.linalg.qr(basis)[0] are, and span the same"
            )
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="basis",
            n=matrix.shape[0],
            d=d,
            k=matrix.shape[1],
            basis=matrix.ravel().tolist(),
            reason=reason,
            row_bound=float(row_bound),
            isotropic=spread == "isotropic",
        )


class Window(Mechanism):
    """Second moments over the last rows of a stream; one budget covers all releases of a stream.

    Parameters
    ----------
    d, window : int
        Features of a row, and rows in the window.
    adjacency : Adjacency
        ``zero_row`` or ``replace_row``; ``add_remove_row`` where a clock ends blocks.
    epsilon, delta : float
        Budget of a whole stream.
    block : int, optional
        Rows in a block, a divisor of the window; a sixteenth by default.
    clock : bool
        Whether `Stream.tick` ends blocks, in place of their number of rows.
    schedule : dict, optional
        As certificates state it: ``{"kind": "tree"}`` (default), ``{"kind": "block", "noise": {"kind":
        "wishart"}, "keep": {"kind": "blocks"}}``, ``{"kind": "factorised", "horizon": 100}``, ``{"kind":
        "decayed", "decay": 0.9, "horizon": 100}``.

    Notes
    -----
    Source: ``docs/proofs/sliding-window.md``; Upadhyay and Upadhyay 2021.
    """

    def __init__(
        self,
        *,
        d: int,
        window: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        block: int | None = None,
        clock: bool = False,
        schedule: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="window",
            d=d,
            window=window,
            block=block,
            clock=clock,
            schedule=schedule,
        )

    def predict(self, trace: float) -> float:
        """Root mean square Frobenius error for a window of this total squared norm; reads no data."""
        return self._predict(trace)[1]

    def stream(
        self,
        *,
        journal: str | os.PathLike[str] | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        label: str | None = None,
        insecure_test_noise: int | None = None,
    ) -> Stream:
        """Opens a stream of rows. The ledger pays now: releases are seen as they come.

        `journal` is a file from which `Stream.resume` goes on after a crash; it may hold exact sums of
        the data, and is as secret as they are.
        """
        return Stream(
            _dps.Stream(
                self._core,
                journal=None if journal is None else os.fspath(journal),
                ledger=payer(ledger),
                label=label,
                test_noise=whole_or_none("insecure_test_noise", insecure_test_noise),
            )
        )


class Stream:
    """A stream of rows; `Window.stream` opens one."""

    def __init__(self, core: _dps.Stream) -> None:
        self._core = core

    @classmethod
    def resume(
        cls,
        journal: str | os.PathLike[str],
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
    ) -> Stream:
        """Takes a stream up where its journal ends: feed the rows from `next_row` on again.

        A ledger that pays for the stream is named again: the journal says which it is. It holds the payment; where a crash
        came before it, and no block has ended, it pays now.
        """
        return cls(_dps.Stream.resume(os.fspath(journal), ledger=payer(ledger)))

    def push(self, rows: Any) -> int:
        """Adds rows, as `Mechanism.release` reads them; how many blocks ended. Where a row is refused none is taken."""
        return self._core.push(prepared(rows))

    def tick(self) -> None:
        """Ends a block, where a clock does."""
        self._core.tick()

    def release(self) -> Release:
        """The window that ends with the last full block."""
        return Release(self._core.release())

    @property
    def next_row(self) -> int:
        """Number of the next row, from zero."""
        return self._core.next_row()
