"""Mechanisms: calibrated once from public parameters, then released as often as a budget pays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _dps
from ._rows import prepared
from .ledger import Ledger
from .privacy import Adjacency, Guarantee
from .release import Release

Progress = Callable[[int, int], object]


class Mechanism:
    """What every mechanism can do. Build one of its subclasses.

    No privacy parameter has a default: `adjacency` says what is protected, `epsilon` (nats) and `delta`
    how well. A mechanism holds public parameters only; every release draws fresh noise from the
    operating system, and spends the whole budget again.
    """

    _reads = "rows"

    def __init__(
        self, adjacency: Adjacency, epsilon: float, delta: float, **parameters: Any
    ) -> None:
        if not isinstance(adjacency, Adjacency):
            raise TypeError(
                "adjacency must be an Adjacency, as Adjacency.attribute(beta=1): it says what is protected"
            )
        config = json.dumps(_plain(parameters))
        self._core = _dps.Mechanism(config, adjacency._text, float(epsilon), float(delta))
        self._adjacency = adjacency

    @property
    def guarantee(self) -> Guarantee | None:
        """What one release promises; ``None`` where it is no differential privacy."""
        text = self._core.guarantee()
        return None if text is None else Guarantee(text)

    def _predict(self, *facts: float) -> tuple[str, float]:
        return self._core.predict([float(fact) for fact in facts])

    def release(
        self,
        data: Any,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        label: str | None = None,
        progress: Progress | None = None,
        insecure_test_noise: int | None = None,
    ) -> Release:
        """Releases once.

        Parameters
        ----------
        data : array, sparse matrix or Arrow producer
            Rows: NumPy (C-ordered float64 and float32 are not copied), SciPy sparse, or anything with
            ``__arrow_c_stream__`` (pyarrow, polars, pandas, DuckDB). Do not write to an array while
            it is released.
        ledger : Ledger or path, optional
            Pays when the release is complete, before anybody sees it.
        label : str, optional
            What the ledger calls it.
        progress : callable, optional
            Called with parts done and all parts (0 where that is not known); what it raises stops the work.
        insecure_test_noise : int, optional
            Noise that anyone can subtract, for tests: the certificate says so.

        Returns
        -------
        Release

        Raises
        ------
        DataError
            Data outside the declared bounds. That it was refused is not private.
        BudgetExceededError
            The ledger does not pay. Nothing was released or spent.
        KeyboardInterrupt
            Ctrl-C stops the work; nothing is released or spent.
        """
        return Release(
            self._core.release(
                self._reads,
                self._prepared(data),
                ledger=None if ledger is None else os.fspath(ledger),
                label=label,
                progress=progress,
                test_noise=insecure_test_noise,
            )
        )

    def _prepared(self, data: Any) -> Any:
        return prepared(data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.guarantee!r}>"


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Numbers of NumPy as those of Python."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        from .errors import ParameterError

        words = ", ".join(allowed)
        message = f"{name} = {value!r} is not allowed: must be in {{{words}}}"
        raise ParameterError(message, parameter=name, value=value, allowed=words)


def _refused(name: str, value: object, why: str) -> None:
    """A parameter that has no effect is a misunderstanding."""
    if value is not None:
        from .errors import ParameterError

        message = f"{name} = {value!r} has no effect: {why}; leave it out"
        raise ParameterError(message, parameter=name, value=repr(value), allowed="None")


def _family(name: str, nonzeros: int | None) -> dict[str, Any]:
    names = (
        "gaussian",
        "rademacher",
        "achlioptas",
        "very-sparse",
        "sparse-jl",
        "hashed-copies",
        "srht",
        "oporp",
        "count-sketch",
        "identity",
    )
    _one_of("family", name, names)
    if name == "sparse-jl":
        return {"kind": name, "nonzeros": 4 if nonzeros is None else nonzeros}
    if name == "hashed-copies":
        return {"kind": name, "copies": 4 if nonzeros is None else nonzeros}
    _refused("nonzeros", nonzeros, "only sparse-jl and hashed-copies leave a choice")
    if name == "srht":
        return {"kind": name, "sampling": "without-replacement"}
    return {"kind": name}


def _bound(bound: float | None, adjacency: Adjacency) -> float:
    """The largest entry: declared, or what a bound on the norm implies."""
    implied = getattr(adjacency, "bound", None)
    if bound is not None:
        return float(bound)
    if implied is not None:
        return float(implied)
    from .errors import ParameterError

    raise ParameterError(
        "bound is required: the largest absolute value that an entry of any possible row can have",
        parameter="bound",
        value="None",
        allowed="(0, inf)",
    )


_CALIBRATIONS = ("realised", "averaged")
_FRESH = "averaged calibration holds for a projection that nobody knew before"


class Vectors(Mechanism):
    """Private projections of rows: ``Y = X P + noise``, n x k from n x d.

    Distances, inner products, cosines and search are estimated from the release, unbiased.

    Parameters
    ----------
    d, k : int
        Features of a row, and numbers of a released row.
    adjacency : Adjacency
        ``attribute``, ``row_shift`` or ``replace_row``.
    epsilon, delta : float
        Budget of one release; ``delta=0`` needs Laplace noise.
    bound : float, optional
        Largest absolute value of an entry of any possible row; rows outside are refused. May be
        left out where the adjacency bounds norms.
    family : str
        Law of P: ``oporp`` (fast, least noise for single values), ``gaussian``, ``rademacher``,
        ``achlioptas``, ``very-sparse``, ``sparse-jl``, ``hashed-copies``, ``srht``, ``count-sketch``,
        ``identity``.
    nonzeros : int, optional
        Of ``sparse-jl`` and ``hashed-copies``; 4 by default.
    noise : {"gaussian", "laplace"}
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
    >>> one = dps.Adjacency.attribute(beta=1)
    >>> mechanism = dps.Vectors(d=32, k=8, adjacency=one, bound=1, epsilon=4, delta=1e-6)
    >>> mechanism.release(rows).to_numpy().shape
    (100, 8)
    """

    def __init__(
        self,
        *,
        d: int,
        k: int,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        bound: float | None = None,
        family: str | None = None,
        nonzeros: int | None = None,
        noise: str = "gaussian",
        calibration: str = "realised",
        seed: int | None = None,
    ) -> None:
        _one_of("noise", noise, ("gaussian", "laplace"))
        _one_of("calibration", calibration, _CALIBRATIONS)
        largest = _bound(bound, adjacency)
        if calibration == "averaged":
            _refused("seed", seed, _FRESH)
            _refused("nonzeros", nonzeros, "a Gaussian projection has no zeros")
            _one_of("family", family or "gaussian", ("gaussian",))
            _one_of("noise", noise, ("gaussian",))
            parameters: dict[str, Any] = {"mechanism": "averaged-projection"}
        else:
            parameters = {
                "mechanism": "projection",
                "family": _family(family or "oporp", nonzeros),
                "laplace": noise == "laplace",
                "seed": seed,
            }
        super().__init__(adjacency, epsilon, delta, d=d, k=k, bound=largest, **parameters)

    def predict(self, squared_distance: float) -> float:
        """Root mean square error of an estimated squared distance of this size; reads no data."""
        return self._predict(squared_distance)[1]

    def write(
        self,
        path: str | os.PathLike[str],
        data: Any,
        *,
        single: bool = False,
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
        single : bool
            Stores 32 bits a number: half the size, the same privacy.
        replace : bool
            Whether a file that is there may be replaced.
        ledger, label, progress, insecure_test_noise
            As of `release`.
        """
        self._core.write(
            prepared(data),
            os.fspath(path),
            single=single,
            replace=replace,
            ledger=None if ledger is None else os.fspath(ledger),
            label=label,
            progress=progress,
            test_noise=insecure_test_noise,
        )


class MultiScale(Mechanism):
    """Private projections of several sizes that share one budget.

    Small distances are best told by few numbers, large ones by many: `Release.distance` weights the scales
    for the squared distance that is `expected`.

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
        chosen: list[int | None] = [None] * len(sizes) if seeds is None else [int(x) for x in seeds]
        if not len(sizes) == len(shares) == len(chosen):
            raise ValueError("sizes, shares and seeds must have one entry a scale")
        law = _family(family, nonzeros)
        scales = [
            {"k": int(k), "family": law, "share": float(share), "seed": seed}
            for k, share, seed in zip(sizes, shares, chosen)
        ]
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="multi-scale",
            d=d,
            scales=scales,
            bound=_bound(bound, adjacency),
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
        ``attribute``.
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
        is appended to every row).

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
        _one_of("calibration", calibration, _CALIBRATIONS)
        common: dict[str, Any] = {"d": d, "bits": bits, "bound": float(bound)}
        if calibration == "averaged":
            _refused("seed", seed, _FRESH)
            _refused("nonzeros", nonzeros, "a Gaussian projection has no zeros")
            _refused("repetitions", repetitions, "averaged calibration draws one projection")
            _one_of("family", family or "gaussian", ("gaussian",))
            _one_of("flips", flips or "response", ("response",))
            common.update(mechanism="fresh-signs", least_norm=least_norm, lift=lift)
        else:
            why = "only averaged calibration counts on the norms of rows"
            _refused("least_norm", least_norm, why)
            _refused("lift", lift, why)
            _one_of("flips", flips or "optimal", ("optimal", "smooth", "response"))
            common.update(
                mechanism="signs",
                family=_family(family or "oporp", nonzeros),
                repetitions=1 if repetitions is None else repetitions,
                flips=flips or "optimal",
                seed=seed,
            )
        super().__init__(adjacency, epsilon, delta, **common)

    def predict(self) -> tuple[str, float]:
        """What the error is of, and its root mean square; reads no data."""
        return self._predict()


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
        _one_of("noise", noise, ("gaussian", "response"))
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="individual-signs",
            d=d,
            bits=bits,
            bound=float(bound),
            family=_family(family, nonzeros),
            repetitions=repetitions,
            gaussian=noise == "gaussian",
            seed=seed,
        )


class Sets(Mechanism):
    """Private signatures of item sets: Jaccard similarity and search.

    Sets are an iterable of iterables of words (``str``) or of whole numbers in ``[0, 2^64)``, or a sparse
    matrix whose stored columns are the items; words and numbers are never mixed.

    Parameters
    ----------
    adjacency : Adjacency
        ``set_items`` (for ``bins`` and ``mixture``) or ``any_input`` (for ``buckets``).
    epsilon, delta : float
        Budget of one release.
    k : int
        Positions (or bins) of a signature.
    symbols : int
        Symbols that a position can show.
    mechanism : {"bins", "mixture", "buckets", "noisy-minhash"}
        ``bins``: one permutation, best for few changed items. ``mixture``: hashed minima under fresh hash
        functions. ``buckets``: pure, any set becomes any other. ``noisy-minhash``: a published claim,
        for comparison (two symbols).
    concatenation : int, optional
        Minima hashed together; not of ``bins``.
    accept_true_delta : bool
        Of ``noisy-minhash``: use the rule although the delta it truly gives is above the claimed one.
    seed : int, optional
        Public seed of the hash functions; ``mixture`` and ``noisy-minhash`` draw theirs at release.

    Notes
    -----
    Source: ``docs/proofs/one-permutation.md``, ``minhash-mixture.md``, ``bucket-response.md``,
    ``noisy-secure-minhash.md``; Bourgeat and Schmurr 2019.
    """

    _reads = "sets"

    def __init__(
        self,
        *,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        k: int = 100,
        symbols: int | None = None,
        mechanism: str = "bins",
        concatenation: int | None = None,
        accept_true_delta: bool = False,
        seed: int | None = None,
    ) -> None:
        _one_of("mechanism", mechanism, ("bins", "mixture", "buckets", "noisy-minhash"))
        parameters: dict[str, Any] = {"mechanism": mechanism.replace("minhash", "min-hash")}
        if mechanism == "bins":
            _refused("concatenation", concatenation, "bins keep one minimum each")
            parameters["bins"] = k
        else:
            parameters["positions"] = k
            parameters["concatenation"] = 1 if concatenation is None else concatenation
        if mechanism == "noisy-minhash":
            _refused("symbols", symbols, "its positions are bits")
            parameters["accept_true_delta"] = accept_true_delta
        else:
            _refused("accept_true_delta", accept_true_delta or None, "this mechanism is proven")
            parameters["symbols"] = 4 if symbols is None else symbols
        if mechanism in ("bins", "buckets"):
            parameters["seed"] = seed
        else:
            _refused("seed", seed, "the guarantee averages over hash functions that nobody knew")
        super().__init__(adjacency, epsilon, delta, **parameters)

    def _prepared(self, data: Any) -> Any:
        if hasattr(data, "tocsr"):
            csr = data.tocsr()
            return [
                csr.indices[start:stop].tolist()
                for start, stop in zip(csr.indptr[:-1], csr.indptr[1:])
            ]
        if hasattr(data, "to_pylist"):
            return data.to_pylist()
        return data

    def predict(self, *, size: float, similarity: float) -> float:
        """Root mean square error of the similarity of two sets of this size; reads no data."""
        return self._predict(size, similarity)[1]


class Covariance(Mechanism):
    """The second moments ``A^T A`` with noise: principal components, regression, quadratic forms.

    Rows longer than the adjacency's bound are scaled to it, and how many is not told.

    Parameters
    ----------
    d : int
        Features of a row.
    adjacency : Adjacency
        ``add_remove_row``, ``zero_row`` or ``replace_row``, with the bound on a row's norm.
    epsilon, delta : float
        Budget of one release; delta is positive.
    noise : {"gaussian", "wishart", "jl"}
        ``gaussian`` has the least error; ``wishart`` stays positive definite; ``jl`` is a sketch of
        relative error, of `sketch_rows` rows.
    dof : int, optional
        Degrees of freedom of ``wishart``; those of least spectral norm by default.

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
    ) -> None:
        _one_of("noise", noise, ("gaussian", "wishart", "jl"))
        parameters: dict[str, Any] = {"mechanism": f"{noise}-covariance", "d": d}
        if noise == "jl":
            parameters["sketch_rows"] = sketch_rows
        else:
            _refused("sketch_rows", sketch_rows, "only jl makes a sketch")
        if noise == "wishart":
            parameters["dof"] = dof
        else:
            _refused("dof", dof, "only Wishart noise has degrees of freedom")
        super().__init__(adjacency, epsilon, delta, **parameters)

    def predict(self, trace: float) -> float:
        """Root mean square Frobenius error for rows of this total squared norm; reads no data."""
        return self._predict(trace)[1]


class Directions(Mechanism):
    """The strongest directions of ``A^T A`` alone, by the noisy power method.

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


class LowRank(Mechanism):
    """A low-rank approximation of the whole matrix; its shape is public.

    Parameters
    ----------
    n, d : int
        Rows and features of the matrix.
    rank, oversampling : int
        Rank of the approximation, and columns of the sketch beyond it.
    adjacency : Adjacency
        ``row_shift``.
    epsilon, delta : float
        Budget of one release.
    row_bound : float
        Longest l2 norm of a row; longer rows are scaled to it.
    method : {"find-and-project", "range-finder", "input-perturbation", "published"}
        ``range-finder`` releases the range of the first step alone; ``published`` has the constants of the
        paper, for comparison.

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
        oversampling: int = 10,
        method: str = "find-and-project",
    ) -> None:
        methods = ("find-and-project", "range-finder", "input-perturbation", "published")
        _one_of("method", method, methods)
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="low-rank",
            n=n,
            d=d,
            rank=rank,
            oversampling=oversampling,
            row_bound=float(row_bound),
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
        _one_of("spread", spread, ("least-trace", "isotropic"))
        matrix = np.asarray(basis, dtype=np.float64)
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise ValueError("basis must be a finite matrix, n x k")
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
                ledger=None if ledger is None else os.fspath(ledger),
                label=label,
                test_noise=insecure_test_noise,
            )
        )


class Stream:
    """A stream of rows; `Window.stream` opens one."""

    def __init__(self, core: _dps.Stream) -> None:
        self._core = core

    @classmethod
    def resume(cls, journal: str | os.PathLike[str]) -> Stream:
        """Takes a stream up where its journal ends: feed the rows from `next_row` on again."""
        return cls(_dps.Stream.resume(os.fspath(journal)))

    def push(self, rows: Any) -> int:
        """Adds rows, as `Mechanism.release` reads them; how many blocks ended."""
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


class Numbers(Mechanism):
    """Noise on numbers that you computed: counts, sums, means.

    The sensitivity is at your word, so that the guarantee is declared, never proven: readers accept it by
    name, and `Ledger.declare` enters it.

    Parameters
    ----------
    length : int
        How many numbers.
    sensitivity : float
        Most by which a neighbour moves them all: in l2 norm for Gaussian noise, l1 for Laplace.
    largest : float
        Largest absolute value of a number; others are refused.
    adjacency, epsilon, delta
        What is protected, and how well.
    touched : int, optional
        How many of the numbers a neighbour moves at most; all by default.
    noise : {"gaussian", "laplace"}
    by, reason : str
        Who declares the sensitivity, and why it holds.

    Notes
    -----
    Source: ``docs/proofs/mechanism.md``.
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
        _one_of("noise", noise, ("gaussian", "laplace"))
        super().__init__(
            adjacency,
            epsilon,
            delta,
            mechanism="numbers",
            length=length,
            sensitivity=float(sensitivity),
            largest=float(largest),
            touched=length if touched is None else touched,
            laplace=noise == "laplace",
            by=by,
            reason=reason,
        )

    def _prepared(self, data: Any) -> Any:
        return np.asarray(data, dtype=np.float64).ravel().tolist()

    def predict(self) -> float:
        """Standard deviation of one number's noise; reads no data."""
        return self._predict()[1]


class Distances(Mechanism):
    """Squared distances of all pairs of rows at once.

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
            low=float(low),
            high=float(high),
        )


class Bits(Mechanism):
    """Randomised response on rows of bits: each value of each row is 0 or 1.

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
        super().__init__(adjacency, epsilon, delta, mechanism="bits", d=d)


def batches(rows: Any, size: int) -> Iterable[Any]:
    """Rows cut into parts of `size`, for `Stream.push`."""
    if size < 1:
        raise ValueError(f"size = {size} is not allowed: must be in [1, inf)")
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
