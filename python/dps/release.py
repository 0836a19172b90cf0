"""Releases: what a mechanism published, and all that can be asked of it. None of it reads data."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _dps
from ._checks import one_of, shown, whole, whole_or_none
from ._rows import listed, prepared
from .errors import CertificateError, DataError, ParameterError
from .privacy import Guarantee, Profile


def _failure(value: float) -> float:
    """How often an interval or a bound may fail."""
    if not 0 < value < 1:
        message = f"failure = {shown(value)} is not allowed: must be in (0, 1), as 0.05"
        raise ParameterError(message, parameter="failure", value=shown(value), allowed="(0, 1)")
    return value


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and an interval that covers it with the stated confidence.

    `standard_error` counts the noise and the projection; ``low`` and ``high`` hold for that pair.
    """

    measure: str
    value: float
    standard_error: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Components:
    """Principal components of a released covariance.

    Attributes
    ----------
    directions : ndarray of shape (k, d)
        One component a row, of norm one.
    explained : ndarray of shape (k,)
        Denoised eigenvalues of ``A^T A``, falling and at least zero, of the rows after scaling: as those above the bound
        were scaled to it.
    total : float
        Estimated trace.
    explained_error : float
        Every explained value is this near its eigenvalue, of the rows after scaling, except with probability `failure`.
    subspace_error : float
        Bound on the sine of the largest angle to the true space; 1 where the release shows no gap.
    """

    directions: np.ndarray
    explained: np.ndarray
    total: float
    explained_error: float
    subspace_error: float
    failure: float


@dataclass(frozen=True)
class Share:
    """How large a part of the rows has a category.

    Attributes
    ----------
    value, standard_error : float
        An unbiased estimate, which may lie outside of [0, 1], and its error.
    interval : tuple of float
        Covers at least as often as asked, whatever the column.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Moments:
    """What a release says of the columns, each with an interval that holds except with probability `failure`.

    Attributes
    ----------
    rows : float
        The number of rows: exact where it is public, else an estimate.
    means, deviations : ndarray of shape (d,)
        Standard deviations have the number of rows in the denominator.
    correlations : ndarray of shape (d, d)
    """

    rows: float
    rows_range: tuple[float, float]
    means: np.ndarray
    mean_ranges: np.ndarray
    deviations: np.ndarray
    deviation_ranges: np.ndarray
    correlations: np.ndarray
    failure: float


@dataclass(frozen=True)
class Line:
    """One column from all others.

    Attributes
    ----------
    coefficients : ndarray of shape (d - 1,)
        Of the other columns, in their order.
    ranges : ndarray of shape (d - 1, 2)
    intercept : float or None
    intercept_range : (float, float) or None
    """

    coefficients: np.ndarray
    ranges: np.ndarray
    intercept: float | None
    intercept_range: tuple[float, float] | None
    failure: float


class Release:
    """A release with its certificate: publish it, save it (but for the kinds that `save` names), search it.

    Everything here is post-processing: it costs no privacy, and it never sees the data.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _dps.Release) -> None:
        self._core = core

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, accept: Iterable[str] = (), long: bool = False
    ) -> Release:
        """Reads a release file; all of it is checked, and what the guarantee rests on computed again.

        Parameters
        ----------
        path : path-like
            A file of `save`, of ``dps release`` or of the Rust library.
        accept : iterable of str
            What is taken at the writer's word: ``test-noise``, ``individual``, ``published``,
            ``declared``, ``no-guarantee``, ``sensitivity``.
        long : bool
            Whether checks that take long are made all the same.

        Raises
        ------
        FileError, CertificateError, NotAcceptedError, FileAccessError
        """
        return cls(_dps.Release.open(os.fspath(path), list(accept), long))

    @classmethod
    def from_bytes(
        cls, data: bytes, *, accept: Iterable[str] = (), long: bool = False
    ) -> Release:
        """As `open` from the bytes of a file."""
        return cls(_dps.Release.decode(data, list(accept), long))

    def to_bytes(self) -> bytes:
        """The bytes of a release file."""
        return self._core.encode()

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Writes a release file, all or nothing; a file that is there stays unless `replace`.

        No file holds releases of `MultiScale`, `Directions`, `Numbers`, `Distances`, `Bits` and
        ``LowRank(method="input-perturbation")``: publish their `to_numpy` and `certificate`.
        """
        self._core.save(os.fspath(path), replace)

    @property
    def kind(self) -> str:
        """What it holds: ``vectors``, ``signs``, ``set signatures``, ``covariance``, ..."""
        return self._core.kind()

    def ids(self) -> list[str] | None:
        """What the rows are called, in their order, where that was published with them (``dps release ... --keep-id``).

        Public, and not protected; the certificate's hash covers them. None where the release keeps no ids.
        """
        return self._core.ids()

    @property
    def certificate(self) -> dict[str, Any]:
        """Which inputs cannot be told apart, the exact delta, the noise: all of it public."""
        return json.loads(self._core.certificate())

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee of the certificate, where it is differential privacy."""
        certificate = self._core.certificate()
        guarantee = json.loads(certificate).get("guarantee")
        return None if guarantee is None else Guarantee(json.dumps(guarantee), certificate)

    def explain(
        self,
        *,
        prior: Sequence[float] = (0.01, 0.1, 0.5),
        failing: float = 0.001,
        ledger: str | os.PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """What an attacker learns at most, from the certificate alone, as ``dps explain`` says it.

        Bounds on every attack there is, whatever the attacker knows besides; they hold for what the
        adjacency sets against each other and for nothing else (``not_protected``).

        Parameters
        ----------
        prior : sequence of float
            How probable a guess is before the release is seen.
        failing : float
            With what probability what is said of a guess afterwards may fail.
        ledger : path-like, optional
            A ledger: what is learnt from all that it holds. This release is counted besides, unless the ledger
            names it (``in_ledger``): it names releases that were written to files, by `write` or ``dps release``, not
            those that were paid for in memory.

        Returns
        -------
        dict
            ``protected``, ``not_protected``, ``basis``, ``several`` (changes at once, advantage), ``alone`` and
            ``with_ledger``: each with ``advantage``, ``alarms``, ``guesses`` and ``words``. Where values were mapped first,
            ``preprocessing`` says how, and ``units`` what is about mapped ones.

        Raises
        ------
        CertificateError
            Where there is no differential privacy to explain.
        """
        if self.guarantee is None:
            raise CertificateError("no differential privacy: nothing bounds what an attacker learns")
        path = None if ledger is None else os.fspath(ledger)
        return json.loads(_dps.explain(self._core.certificate(), list(prior), failing, path))

    def verify(self, *, accept: Iterable[str] = (), long: bool = False) -> dict[str, str]:
        """Computes again what the certificate states.

        Returns
        -------
        dict
            What came of ``sensitivity`` and ``payload``: ``agrees``, or why it was not checked.

        Raises
        ------
        CertificateError
            Where it does not hold together.
        NotAcceptedError
            Where something must be taken by name, as a declared guarantee.
        """
        sensitivity, payload = self._core.verify(list(accept), long)
        return {"sensitivity": sensitivity, "payload": payload}

    def to_numpy(self) -> np.ndarray:
        """The published numbers, unbiased where the noise has a known mean; a copy of them.

        ``np.asarray(release)`` copies no vectors: it is read only.

        Vectors n x k (float64), signs n x bits (-1, 1), set signatures n x k (uint16), covariances
        d x d, low rank n x d (the factors multiplied out), directions d x k, pair distances flat.
        """
        return self._core.to_numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """What ``np.asarray`` reads: of vectors the numbers where they are, read only, without a copy."""
        lies_here = copy is not True and hasattr(self._core, "__array_interface__")
        array = np.asarray(self._core) if lies_here else self.to_numpy()
        if copy is False and not (lies_here and (dtype is None or array.dtype == dtype)):
            raise ValueError("these numbers are computed from the release: they cannot be had without a copy")
        return array if dtype is None else array.astype(dtype, copy=False)

    def packed(self) -> np.ndarray:
        """Signs as bytes (uint8), eight a byte, the first in the lowest bit: what faiss reads."""
        return self._core.packed()

    def factors(self, *, shrunk: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Left factor n x k and coefficients k x d of a low-rank release, singular values shrunk."""
        return self._core.factors(shrunk)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`: one column of lists of fixed length; the certificate is in the schema."""
        import pyarrow as pa

        values = np.ascontiguousarray(np.atleast_2d(np.asarray(self)))
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        field = pa.field("release", lists.type)
        metadata = {"certificate": self._core.certificate()}
        return pa.Table.from_arrays([lists], schema=pa.schema([field], metadata=metadata))

    def distance(
        self,
        i: int,
        j: int,
        *,
        other: Release | None = None,
        measure: str | None = None,
        expected: float | None = None,
        confidence: float = 0.95,
    ) -> list[Estimate] | Estimate:
        """What row `i` has in common with row `j`, of the same release or of `other`.

        Of signs with `lift` the cosine is that of the rows with the constant appended.

        Parameters
        ----------
        i, j : int
            Rows, from zero.
        other : Release, optional
            Holds row `j`; made with the same seed.
        measure : str, optional
            ``squared distance``, ``inner product``, ``cosine``, ``hamming distance`` or ``jaccard
            similarity``; by default all that the release can tell.
        expected : float, optional
            Of several scales, which need it: the squared distance for which they are weighted.
        confidence : float
            Of the interval, in (0, 1).

        Returns
        -------
        Estimate or list of Estimate
            One where `measure` is given.
        """
        i, j = whole("i", i), whole("j", j)
        if expected is not None:
            if other is not None or measure not in (None, "squared distance"):
                raise TypeError(
                    "expected is of several scales, which tell squared distances of their own rows: leave other and measure out"
                )
            row = self._core.scales_distance(i, j, expected, confidence)
            return Estimate(*row, confidence=confidence)
        core = None if other is None else other._core
        rows = self._core.distance(i, j, core, measure, confidence)
        found = [Estimate(*row, confidence=confidence) for row in rows]
        return found if measure is None else found[0]

    def search(
        self,
        queries: Release | Any = None,
        *,
        rows: Sequence[int] | None = None,
        top: int = 10,
        score: str = "cosine",
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best rows for each query, by exhaustive search.

        Parameters
        ----------
        queries : Release, or rows or sets, optional
            By default this release itself; a vector or sign row is then its own best hit. Anything but a release is
            rows as `release` takes them (for counts and occupancy bits sets) that were never released: they carry no noise,
            find more, and nothing of them is published.
        rows : sequence of int, optional
            Only these rows of a release of queries.
        top : int
            Hits a query.
        score : {"cosine", "inner", "squared-distance"}
            For vectors; squared distances are unbiased, as those of `distance`, the least first. Signs count differing bits, or, by rows
            that were never released, sum the projected query with the signs of the row; set signatures estimate similarity.

        Returns
        -------
        (ndarray, ndarray)
            Rows (int64) and scores (float64), queries x top, best first. Scores are those of
            the noisy rows, but for squared distances: `distance` takes the noise out.
        """
        one_of("score", score, ("cosine", "inner", "squared-distance"))
        top = whole("top", top)
        if queries is None or isinstance(queries, Release):
            core = None if queries is None else queries._core
            chosen = None if rows is None else _places(rows)
            return self._core.search(top, core, chosen, score)
        if rows is not None:
            raise TypeError("rows picks among those of a release: pass the queries alone")
        sets = self.kind in ("counts of groups", "set signatures")
        asked = listed(queries) if sets else prepared(queries)
        return self._core.search_exact(top, asked, score)

    def pca(self, k: int, *, center: bool = False, failure: float = 0.05) -> Components:
        """The `k` strongest directions of a released covariance, with bounds of their errors.

        Around zero, or with `center` around the mean: then the sums must have been released
        (``Covariance(means=True)``), and ``A`` below is the rows less their mean.
        """
        directions, explained, total, values, space = self._core.pca(whole("k", k), center, _failure(failure))
        return Components(
            np.ascontiguousarray(directions.T), np.array(explained), total, values, space, failure
        )

    def shares(self, column: int = 0, *, failure: float = 0.05) -> list[Share]:
        """The share of every category of a column of `Bounded` with ``categories`` or one bit, each with an interval that covers
        with probability at least ``1 - failure``: of values between two steps (one bit), after they were rounded at random."""
        return [Share(*told) for told in self._core.shares(whole("column", column), _failure(failure))]

    def moments(self, *, failure: float = 0.05) -> Moments:
        """Means, deviations and correlations of a covariance that was released with its sums."""
        (rows, around), (means, mean_ranges), (deviations, deviation_ranges), correlations = (
            self._core.moments(_failure(failure))
        )
        return Moments(
            rows,
            around,
            np.array(means),
            np.array(mean_ranges),
            np.array(deviations),
            np.array(deviation_ranges),
            correlations,
            failure,
        )

    def regression(self, target: int | None = None, *, failure: float = 0.05) -> Line:
        """Column `target` from all others, with a ridge that adapts to the noise, and intervals.

        With an intercept where the sums were released. Intervals are for the ridge solution on the
        rows that entered: a ridge is biased towards zero. A release of `Newton` has its target;
        its intervals are for what its steps would have found without noise in their gradients.
        """
        if target is not None and self.kind == "regression":
            raise DataError(
                f"target = {shown(target)} has no effect: a release of Newton has its target; leave it out"
            )
        target = whole_or_none("target", target)
        coefficients, ranges, intercept = self._core.regression(target, _failure(failure))
        value, around = intercept or (None, None)
        return Line(np.array(coefficients), np.array(ranges), value, around, failure)

    def spectral_error(self, *, failure: float = 0.05) -> float:
        """The released covariance is this near the exact one, of the rows after scaling, in spectral norm, but for `failure`."""
        return self._core.spectral_error(_failure(failure))

    def positive(self) -> np.ndarray:
        """The covariance with its negative eigenvalues set to zero."""
        return self._core.positive()

    @property
    def span(self) -> tuple[int, int]:
        """First row and end of a window."""
        return self._core.span()

    def to_faiss(self) -> Any:
        """An exhaustive faiss index of the released rows (``faiss`` must be installed).

        Vectors give an ``IndexFlatL2`` of float32, signs an ``IndexBinaryFlat``. Distances in it are
        those of noisy rows: ``correction()`` says what to subtract.
        """
        import faiss

        if self.kind == "vectors":
            values = np.ascontiguousarray(self, dtype=np.float32)
            flat = faiss.IndexFlatL2(values.shape[1])
            flat.add(values)
            return flat
        packed = self.packed()
        index = faiss.IndexBinaryFlat(packed.shape[1] * 8)
        index.add(packed)
        return index

    def correction(self) -> dict[str, float]:
        """What noisy distances of vectors need, for engines that know no noise.

        For two different rows of the release, each with noise of variance ``v`` a number:
        ``E |y_i - y_j|^2 = |P x_i - P x_j|^2 + 2 k v`` and ``E |y_i|^2 = |P x_i|^2 + k v``; inner
        products of different rows need nothing.

        Returns
        -------
        dict
            ``noise_variance`` v, ``squared_distance`` 2 k v, ``squared_norm`` k v: subtract them.
        """
        k, variance = self._core.noise()
        return {
            "noise_variance": variance,
            "squared_distance": 2 * k * variance,
            "squared_norm": k * variance,
        }

    def __repr__(self) -> str:
        guarantee = self.guarantee
        words = "no differential privacy" if guarantee is None else repr(guarantee)
        if "preprocessing" in self.certificate.get("public", {}):
            words += ", of values after the preprocessing"
        return f"<Release of {self.kind}: {words}>"

    def _repr_html_(self) -> str:
        return _html(self)


def _places(rows: Iterable[Any]) -> np.ndarray:
    """Numbers of rows: a mask, or a fraction, is none."""
    places: list[Any]
    if isinstance(rows, range) and len(rows) > 1 and all(0 <= rows[i] < 2**63 for i in (0, -1)):
        return (rows[0] + rows.step * np.arange(len(rows))).astype(np.uint64)
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "biu":
        places = rows.tolist()
    else:  # Spans of time and dates would come out of `tolist` as whole numbers.
        places = list(rows)
    kinds = set(map(type, places))
    if kinds & {bool, np.bool_}:
        raise TypeError("rows are numbers of rows and no mask: numpy.flatnonzero(mask) are")
    if not (kinds == {int} and 0 <= min(places) and max(places) < 2**64):
        # One by one, where one is to be refused or made a number.
        places = [whole("rows", place) for place in places]
    return np.array(places, dtype=np.uint64)


def _html(release: Release) -> str:
    """The certificate as a table, and delta against epsilon as a picture; never rows."""
    certificate = release.certificate
    guarantee = release.guarantee
    facts: list[tuple[str, object]] = [("release", release.kind)]
    statement = certificate
    facts += [("mechanism", statement.get("mechanism", ""))]
    if guarantee is not None:
        facts += [
            ("protected", str(guarantee.adjacency)),
            ("epsilon", guarantee.epsilon),
            ("delta", guarantee.delta),
            ("guarantee", guarantee.provenance["kind"]),
        ]
    else:
        facts += [("guarantee", "no differential privacy")]
    public = statement.get("public", {})
    if "preprocessing" in public:
        said = _dps.preprocessing(release._core.certificate())
        facts += [("preprocessing", "; ".join(said[0])), ("units", said[1])]
    facts += [("noise generator", json.dumps(statement.get("generator")))]
    facts += sorted((name, value) for name, value in public.items() if name != "preprocessing")
    cell = "<tr><th style='text-align:left'>{}</th><td>{}</td></tr>"
    rows = "".join(cell.format(html.escape(str(a)), html.escape(str(b))) for a, b in facts)
    picture = ""
    if guarantee is not None and guarantee.profile is not None:
        picture = _curve(guarantee.profile, guarantee)
    return f"<div><table>{rows}</table>{picture}</div>"


def _curve(profile: Profile, guarantee: Guarantee) -> str:
    """log10 of delta against epsilon, as SVG."""
    most = max(2 * guarantee.epsilon, 1e-3)
    points = [(most * i / 40, profile.ln_delta(most * i / 40) / math.log(10)) for i in range(1, 41)]
    points = [(e, max(d, -20.0)) for e, d in points if not math.isnan(d)]
    low = min(d for _, d in points)
    span = max(max(d for _, d in points) - low, 1e-9)
    place = " ".join(f"{10 + 220 * e / most:.1f},{110 - 100 * (d - low) / span:.1f}" for e, d in points)
    return (
        "<svg width='240' height='135' role='img' aria-label='delta against epsilon'>"
        f"<polyline points='{place}' fill='none' stroke='currentColor'/>"
        f"<text x='10' y='130' font-size='10'>epsilon {most / 40:.2g} to {most:.3g}; log10 delta "
        f"{low:.1f} to {low + span:.1f}</text></svg>"
    )
