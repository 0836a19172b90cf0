"""scikit-learn estimators on top of the mechanisms (``pip install scikit-learn``).

`random_state` governs public randomness only: whoever sets it may have known it before the rows, so that calibration is
realised (for the very projection that it gives); it never touches the noise. The same batch, given again to the same
object, gets the same release, remembered in memory under a secret key and not paid again, until it is fitted again without a
`random_state`; another batch is another release, which a ledger pays. Pickles and clones drop keys and what was remembered. Transformers refuse to release when a parameter
was changed after `fit`; `ledger` alone may change at any time.
"""

from __future__ import annotations

import datetime
import hashlib
import numbers
import os
import secrets
import threading
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import Mechanism
from ._checks import shown
from ._rows import exact
from .errors import DataError, ParameterError
from .ledger import pays
from .matrices import Covariance
from .privacy import Adjacency
from .release import Release
from .rows import Signs, Vectors

__all__ = [
    "PrivateCovariance",
    "PrivatePCA",
    "PrivateProjection",
    "PrivateRegression",
    "PrivateSigns",
]

#: Of scikit-learn's refusals those that show shapes and names of columns at most.
_TELLABLE = (
    "Input X contains ",
    "Input y contains ",
    "Input contains ",
    "Found array with ",
    "Found input variables with inconsistent numbers of samples",
    "X has ",
    "The feature names should match those that were passed during fit.",
    "y should be a 1d array, got an array of shape ",
)
#: What NumPy or `float` would make numbers of.
_NO_NUMBERS = (
    str,
    bytes,
    bytearray,
    memoryview,
    np.datetime64,
    np.timedelta64,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)


def _columns(frame: Any) -> Any:
    """Columns of polars, pyarrow and pandas."""
    for name in ("iter_columns", "itercolumns"):
        if hasattr(frame, name):
            return getattr(frame, name)()
    return [column for _, column in frame.items()] if hasattr(frame, "items") else [frame]


def _plain(values: Any) -> int:
    """Refuses what becomes numbers only by hiding something: masks, dates, texts, whole numbers that would be rounded.

    How many dimensions there are.
    """
    parts: Any
    listed = isinstance(values, (list, tuple))
    if any(map(np.ma.is_masked, values if listed else [values])):
        raise DataError("rows have masked values: fill them before the release")
    if hasattr(values, "tocsr"):
        parts, found = [values.tocsr().data], len(values.shape)
    elif hasattr(values, "columns"):
        parts, found = map(np.asarray, _columns(values)), 2
    else:
        # A list is not made an array of one type: its whole numbers would be rounded unseen.
        array = np.asarray(values, dtype=object if listed else None)
        parts, found = [array], array.ndim
    for part in parts:
        kind = part.dtype.kind
        if kind == "c":
            raise DataError("Complex data not supported: make real numbers of them")
        if kind == "O":
            _plain_objects(part)
        elif kind not in "fiub":
            raise DataError("a column holds dates or texts: make numbers of them")
        elif kind == "f" and part.dtype.itemsize > 8:
            raise DataError(f"numbers of type {part.dtype} would be rounded: make float64 of them")
        elif kind in "iu" and part.size:
            exact(part)
    return found


def _plain_objects(values: np.ndarray) -> None:
    """The same of numbers of Python one by one."""
    kinds = set(map(type, values.flat))
    if any(issubclass(kind, _NO_NUMBERS) for kind in kinds):
        raise DataError("a value is a date or a text: make numbers of them")
    whole = tuple(kind for kind in kinds if issubclass(kind, numbers.Integral))
    if whole:
        exact(np.array([value for value in values.flat if isinstance(value, whole)], dtype=object))


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """As `validate_data`, of plain numbers; no refusal shows a value."""
    try:
        for targets in y:
            if targets is not None:
                _plain(targets)
        found = _plain(X)
        if found != 2:
            raise DataError(
                f"rows have {found} dimensions: an array of two is needed, one row a person or item. Reshape your data"
            )
        return validate_data(estimator, X, *y, **options)
    except DataError:
        raise
    except ValueError as error:
        said = str(error)
        if said.startswith(_TELLABLE) or "requires y to be passed" in said:
            raise
    raise DataError("rows are no array of numbers, one row a person or item, all of one length")


class _Remembered:
    """Releases by a keyed hash of their batch and of what paid: the key is drawn here, and never leaves."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._releases: dict[bytes, Release] = {}
        # A batch that several threads give at the same time is one release.
        self._one = threading.Lock()

    def of(self, mechanism: Mechanism, rows: Any, ledger: Any, label: str) -> Release:
        # A path may be relative to a folder that is no longer the current one.
        paid = pays(ledger)
        name = self._name(rows, paid and (os.path.abspath(paid[0]), paid[1]))
        with self._one:
            if name not in self._releases:
                self._releases[name] = mechanism.release(rows, ledger=ledger, label=label)
            return self._releases[name]

    def _name(self, rows: Any, paid: Any) -> bytes:
        digest = hashlib.blake2b(repr(paid).encode(), key=self._key, digest_size=32)
        parts = [rows] if isinstance(rows, np.ndarray) else [rows.indptr, rows.indices, rows.data]
        for part in parts:
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()


class _Private(BaseEstimator):
    """What all of them share: the budget, the ledger, and what was released."""

    def _adjacency(self) -> Adjacency:
        if self.adjacency is None:
            raise ParameterError(
                "adjacency is required, as Adjacency.replace_row(bound=1): it says what is protected",
                parameter="adjacency",
                value="None",
                allowed="an Adjacency",
            )
        return self.adjacency

    def _budget(self) -> tuple[float, float]:
        if self.epsilon is None or self.delta is None:
            raise ParameterError(
                "epsilon and delta are required: they say how well it is protected",
                parameter="epsilon, delta",
                value="None",
                allowed="(0, inf), [0, 1)",
            )
        return float(self.epsilon), float(self.delta)

    def _public_seed(self) -> int | None:
        if self.random_state is None:
            return None
        state = check_random_state(self.random_state)
        return int(state.randint(0, 2**32, dtype=np.uint64)) << 32 | int(
            state.randint(0, 2**32, dtype=np.uint64)
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # A key that is known tells which batches were released, and a mechanism is built again.
        for name in ("_remembered", "_mechanism"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Here, so that several threads remember in one place.
        self._remembered = _Remembered()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class _Rows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Private):
    """Transformers that release the rows themselves."""

    def _build(self) -> Mechanism:
        raise NotImplementedError

    _settings: dict[str, Any]

    def _settings_now(self) -> dict[str, Any]:
        """What a release follows from, all of it public: the parameters but the ledger, and what `fit` found."""
        found = self.get_params(deep=False)
        found.pop("ledger", None)
        found.update(seed_=self.seed_, n_features_in_=self.n_features_in_)
        # A number is the same whatever version of NumPy writes it.
        def plain(value: Any) -> Any:
            return value.item() if isinstance(value, np.generic) else value

        # A generator is known as the object that it is: its text names its place in memory, which a pickle does not keep.
        return {
            name: value if isinstance(value, np.random.RandomState) else repr(plain(value))
            for name, value in found.items()
        }

    def _begin(self) -> None:
        self._mechanism = self._build()
        self.guarantee_ = self._mechanism.guarantee
        settings = self._settings_now()
        # With another seed, budget or family the same batch is another release.
        if not hasattr(self, "_remembered") or getattr(self, "_settings", settings) != settings:
            self._remembered = _Remembered()
        self._settings = settings

    def _check_unchanged(self) -> None:
        """Refuses parameters that `fit` has not seen."""
        seen = getattr(self, "_settings", None)
        if seen is None:
            # Pickles of earlier versions do not say what they were fitted with.
            return
        settings = self._settings_now()
        changed = ", ".join(name for name in settings if settings[name] != seen.get(name))
        if changed:
            raise ParameterError(
                f"parameters were changed after fit: fit again ({changed})",
                parameter=changed,
                value="changed after fit",
                allowed="what fit was called with",
            )

    def fit(self, X: Any, y: Any = None) -> _Rows:
        """Notes the number of features and draws the public seed; of values it asks only whether one is NaN; spends nothing."""
        _validated(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self._adjacency()
        seed = self._public_seed()
        self.seed_ = secrets.randbits(64) if seed is None else seed
        self._begin()
        self._n_features_out = self._width()
        return self

    def _width(self) -> int:
        raise NotImplementedError

    def release(self, X: Any) -> Release:
        """The release of a batch, with its certificate; remembered, so that it is paid once."""
        check_is_fitted(self)
        self._check_unchanged()
        X = _validated(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
        if not hasattr(self, "_mechanism"):
            self._begin()
        return self._remembered.of(self._mechanism, X, self.ledger, type(self).__name__)

    def transform(self, X: Any) -> np.ndarray:
        """Releases a batch and returns its numbers; the same batch again returns the same, unpaid."""
        return self.release(X).to_numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class PrivateProjection(_Rows):
    """Private random projection of rows: `dps.Vectors` as a transformer.

    Parameters
    ----------
    n_components : int
        Numbers k of a released row.
    adjacency : Adjacency
        ``attribute``, ``row_shift`` or ``replace_row``.
    epsilon, delta : float
        Budget of each batch that is transformed.
    bound : float, optional
        Largest absolute value of an entry of any possible row.
    family : str
        As of `dps.Vectors`, but ``gaussian`` by default: a dense P, whose errors of distances and cosines depend on lengths and
        angles of rows alone. ``oporp``, the default there, has less noise where one value is protected.
    noise : {"gaussian", "laplace", "staircase"}
    ledger : Ledger or path, optional
        Pays for each new batch.
    random_state : int, RandomState or None
        Public randomness only.

    Attributes
    ----------
    seed_ : int
        The public seed.
    guarantee_ : Guarantee
        What one batch promises.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        bound: float | None = None,
        family: str = "gaussian",
        noise: str = "gaussian",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self.bound = bound
        self.family = family
        self.noise = noise
        self.ledger = ledger
        self.random_state = random_state

    def _build(self) -> Mechanism:
        epsilon, delta = self._budget()
        return Vectors(
            d=self.n_features_in_,
            k=self.n_components,
            adjacency=self._adjacency(),
            bound=self.bound,
            epsilon=epsilon,
            delta=delta,
            family=self.family,
            noise=self.noise,
            seed=self.seed_,
        )

    def _width(self) -> int:
        return self.n_components


class PrivateSigns(_Rows):
    """Private signs of a random projection: `dps.Signs` as a transformer to -1 and 1.

    Parameters
    ----------
    n_components : int
        Signs of a released row.
    adjacency : Adjacency
        ``attribute``.
    epsilon, delta : float
        Budget of each batch that is transformed.
    bound : float
        Largest absolute value of an entry of any possible row.
    family, flips : str
        As of `dps.Signs`, but the family is ``gaussian`` by default, as of `PrivateProjection`.
    ledger, random_state
        As of `PrivateProjection`.
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        bound: float | None = None,
        family: str = "gaussian",
        flips: str = "optimal",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self.bound = bound
        self.family = family
        self.flips = flips
        self.ledger = ledger
        self.random_state = random_state

    def _build(self) -> Mechanism:
        epsilon, delta = self._budget()
        if self.bound is None:
            raise ParameterError(
                "bound is required: the largest absolute value that an entry can have",
                parameter="bound",
                value="None",
                allowed="(0, inf)",
            )
        return Signs(
            d=self.n_features_in_,
            bits=self.n_components,
            adjacency=self._adjacency(),
            bound=self.bound,
            epsilon=epsilon,
            delta=delta,
            family=self.family,
            flips=self.flips,
            seed=self.seed_,
        )

    def _width(self) -> int:
        return self.n_components


class _Moments(_Private):
    """Estimators that release second moments once, in `fit`."""

    _read: tuple[str, ...]

    def _released(self, rows: np.ndarray, *, means: bool = False) -> Release:
        if not hasattr(self, "_remembered"):
            self._remembered = _Remembered()
        epsilon, delta = self._budget()
        mechanism = Covariance(
            d=rows.shape[1],
            adjacency=self._adjacency(),
            epsilon=epsilon,
            delta=delta,
            means=means,
        )
        # Another budget or adjacency is another release.
        settings = (repr(mechanism.guarantee), rows.shape[1], means)
        if getattr(self, "_settings", settings) != settings:
            self._remembered = _Remembered()
        self._settings = settings
        release = self._remembered.of(mechanism, rows, self.ledger, type(self).__name__)
        # It is paid for: kept whatever can be read from it, and nothing stays that was read from another.
        for name in self._read:
            self.__dict__.pop(name, None)
        self.release_, self.guarantee_ = release, release.guarantee
        return release

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        release = state.get("release_")
        if release is not None:
            state["release_"] = release.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("release_"), bytes):
            state = {**state, "release_": Release.from_bytes(state["release_"])}
        super().__setstate__(state)


class PrivateCovariance(_Moments):
    """Private second moments about zero, ``A^T A``: `dps.Covariance` as an estimator.

    Rows longer than the adjacency's bound are scaled to it.

    Parameters
    ----------
    adjacency : Adjacency
        ``add_remove_row``, ``zero_row`` or ``replace_row``.
    epsilon, delta : float
        Budget of one fit.
    ledger : Ledger or path, optional
        Pays for each new batch.

    Attributes
    ----------
    moments_ : ndarray of shape (d, d)
        The unbiased estimate of ``A^T A``.
    positive_ : ndarray of shape (d, d)
        The same with negative eigenvalues set to zero.
    release_ : Release
        What was paid for; kept where `fit` fails behind the payment, as nothing can be read from it.
    guarantee_ : Guarantee
    """

    _read = ("moments_", "positive_")

    def __init__(
        self,
        *,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        ledger: Any = None,
    ) -> None:
        self.adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None) -> PrivateCovariance:
        """Releases the second moments of the rows."""
        X = _validated(self, X, dtype=np.float64)
        release = self._released(X)
        self.moments_ = release.to_numpy()
        self.positive_ = release.positive()
        return self


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Moments):
    """Principal components around the mean, from private moments.

    `transform` projects rows on the released components: it is not private by itself, and its result is as
    secret as the rows. Parameters and attributes are those of `PrivateCovariance`, and:

    Parameters
    ----------
    n_components : int
        Components.
    center : bool
        Around the mean, which is released too, at 1.19 times the noise; without, around zero.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
    mean_ : ndarray of shape (d,)
        The released mean; zeros without `center`.
    explained_ : ndarray of shape (n_components,)
        Estimated eigenvalues of ``A^T A``, A the rows less `mean_`.
    subspace_error_ : float
        Bound on the sine of the largest angle to the true space, at failure 0.05.
    """

    _read = ("components_", "explained_", "mean_", "subspace_error_")

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: bool = True,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        ledger: Any = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None) -> PrivatePCA:
        """Releases the moments of the rows, and reads the components from them."""
        X = _validated(self, X, dtype=np.float64)
        most = X.shape[1]
        whole = isinstance(self.n_components, numbers.Integral) and self.n_components is not True
        if not whole or not 1 <= self.n_components <= most:
            # Before anything is paid.
            allowed = f"a whole number in [1, {most}], the features"
            raise ParameterError(
                f"n_components = {shown(self.n_components)} is not allowed: must be {allowed}",
                parameter="n_components",
                value=shown(self.n_components),
                allowed=allowed,
            )
        release = self._released(X, means=self.center)
        found = release.pca(self.n_components, center=self.center)
        means = release.moments().means if self.center else np.zeros(X.shape[1])
        self.mean_ = means
        self.components_ = found.directions
        self.explained_ = found.explained
        self.subspace_error_ = found.subspace_error
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows less their mean, times components: as secret as the rows."""
        check_is_fitted(self, "components_")
        X = _validated(self, X, dtype=[np.float64, np.float32], reset=False)
        return (X - self.mean_.astype(X.dtype)) @ self.components_.T.astype(X.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PrivateRegression(RegressorMixin, _Moments):
    """Least squares from private moments of the rows ``[x, y]``: `Release.regression` as an estimator.

    A row with its target is bounded together: the adjacency's bound is on the norm of ``[x, y]``, and longer
    ones are scaled to it. Parameters and attributes are those of `PrivateCovariance`, and:

    Parameters
    ----------
    fit_intercept : bool
        Around the mean, which is released too, at 1.19 times the noise; without, around zero.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    coef_ranges_ : ndarray of shape (d, 2)
        95 % intervals, for the ridge solution on the rows that entered.
    intercept_ : float
    """

    _read = ("coef_", "coef_ranges_", "intercept_")

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        adjacency: Adjacency | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        ledger: Any = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> PrivateRegression:
        """Releases the moments of ``[X | y]``, and solves them."""
        X, y = _validated(self, X, y, dtype=np.float64, y_numeric=True)
        release = self._released(np.column_stack([X, y]), means=self.fit_intercept)
        found = release.regression(X.shape[1])
        self.coef_, self.coef_ranges_ = found.coefficients, found.ranges
        self.intercept_ = found.intercept or 0.0
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Rows times coefficients, and the intercept."""
        check_is_fitted(self, "coef_")
        X = _validated(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
