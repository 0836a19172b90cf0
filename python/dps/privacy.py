"""Adjacencies, privacy profiles, guarantees, least noise and composition."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _dps
from ._checks import whole

Run = Union["Guarantee", "tuple[Guarantee, int]"]


class Adjacency:
    """Which two inputs must be hard to tell apart: what one unit is, and how it may change.

    A guarantee speaks of its adjacency and of nothing else. Use the class methods.

    Source: ``docs/proofs/adjacency.md``.
    """

    __slots__ = ("_text", "_words")

    def __init__(self, kind: str, **sizes: object) -> None:
        self._text = json.dumps({"kind": kind, **sizes}, sort_keys=True)
        self._words = _dps.describe_adjacency(self._text)

    @classmethod
    def attribute(cls, beta: float) -> Adjacency:
        """One value of one row changes by at most `beta`: hides an attribute, not a person."""
        return cls("attribute", beta=float(beta))

    @classmethod
    def row_shift(cls, l2: float) -> Adjacency:
        """One whole row moves by at most `l2` in l2 norm."""
        return cls("row-shift", l2=float(l2))

    @classmethod
    def add_remove_row(cls, bound: float) -> Adjacency:
        """One row of l2 norm at most `bound` is added or removed."""
        return cls("add-remove-row", bound=float(bound))

    @classmethod
    def zero_row(cls, bound: float) -> Adjacency:
        """One row of l2 norm at most `bound` becomes zero; how many rows there are is public."""
        return cls("zero-row", bound=float(bound))

    @classmethod
    def replace_row(cls, bound: float) -> Adjacency:
        """One row of l2 norm at most `bound` becomes any other: hides a person of one row."""
        return cls("replace-row", bound=float(bound))

    @classmethod
    def set_items(cls, alpha: int, min_size: int) -> Adjacency:
        """One set of at least `min_size` items becomes another that differs in at most `alpha`."""
        return cls("set-items", alpha=whole("alpha", alpha), min_size=whole("min_size", min_size))

    @classmethod
    def any_input(cls) -> Adjacency:
        """One set or row becomes any other: local differential privacy of each."""
        return cls("any-input")

    @classmethod
    def user(cls, rows: int, each: Adjacency) -> Adjacency:
        """Up to `rows` rows of one user change, each as `each` says."""
        return cls("user", rows=whole("rows", rows), each=json.loads(each._text))

    @classmethod
    def _of(cls, value: Mapping[str, Any]) -> Adjacency:
        return cls(**dict(value))

    @property
    def bound(self) -> float | None:
        """The bound on a row's norm, where there is one."""
        stated = json.loads(self._text)
        return stated.get("each", stated).get("bound")

    def to_dict(self) -> dict[str, Any]:
        """As certificates state it."""
        return json.loads(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Adjacency) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return f"<Adjacency: {self._words}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_adjacency, (self._text,))


def _adjacency(text: str) -> Adjacency:
    return Adjacency._of(json.loads(text))


def _sorted(value: Any) -> Any:
    """What can be hashed, and is equal where the parsed values are: 1 and 1.0 too."""
    if isinstance(value, dict):
        return tuple((name, _sorted(value[name])) for name in sorted(value))
    return tuple(map(_sorted, value)) if isinstance(value, list) else value


class Profile:
    """delta as a function of epsilon: exact, for every epsilon at once.

    ``delta(eps) = sup over adjacent x, x' and events S of P[M(x) in S] - e^eps P[M(x') in S]``,
    in both directions.

    Parameters
    ----------
    kind : str
        A kind of profile, as certificates name it: ``"gaussian"``, ``"laplace"``, ...
    **parameters
        Its parameters, as certificates name them: ``sensitivity``, ``sigma``, ...

    Examples
    --------
    >>> import dps
    >>> round(dps.Profile("gaussian", sensitivity=1.0, sigma=4.2247).delta(1.0) * 1e6, 2)
    1.0
    """

    __slots__ = ("_text",)

    def __init__(self, kind: str, **parameters: Any) -> None:
        self._text = json.dumps({"kind": kind, **parameters}, sort_keys=True)
        _dps.profile_delta(self._text, 1.0)

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`, in ``[0, inf)`` nats."""
        return _dps.profile_delta(self._text, epsilon)[0]

    def ln_delta(self, epsilon: float) -> float:
        """Its natural logarithm, where delta itself is too small for a float."""
        return _dps.profile_delta(self._text, epsilon)[1]

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, in ``[0, 1)``."""
        return _dps.profile_epsilon(self._text, delta)

    def to_dict(self) -> dict[str, Any]:
        """Kind and parameters."""
        return json.loads(self._text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return json.loads(self._text)[name]
        except KeyError:
            raise AttributeError(f"this profile has no {name!r}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(_sorted(self.to_dict()))

    def __repr__(self) -> str:
        parameters = self.to_dict()
        kind = parameters.pop("kind")
        words = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        return f"Profile({kind!r}, {words})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_profile, (self._text,))


def _profile(text: str) -> Profile:
    return Profile(**json.loads(text))


class Guarantee:
    """What a release promises: adjacency, budget, exact profile, and where it comes from."""

    __slots__ = ("_certificate", "_text", "_value")

    def __init__(self, text: str, certificate: str | None = None) -> None:
        self._text = text
        self._certificate = certificate
        self._value: dict[str, Any] = json.loads(text)

    @classmethod
    def declared(
        cls,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        profile: Profile,
        *,
        by: str,
        reason: str,
    ) -> Guarantee:
        """Of a mechanism that is not this library's, at the word of `by`; never counted as proven."""
        text = _dps.declare(adjacency._text, epsilon, delta, profile._text, by, reason)
        return cls(text)

    @classmethod
    def from_exchange(cls, text: str, *, delta: float | None = None) -> Guarantee:
        """Reads what another accountant wrote (``docs/FORMAT.md``): declared, never proven."""
        return cls(_dps.from_exchange(text, delta))

    def to_exchange(self) -> str:
        """The JSON that other accountants read; `to_dp_accounting` makes an object of it.

        Refused for that of a release whose randomness somebody could know, or whose rows were mapped so that the
        change it is about was a smaller one before the map: other accountants know neither.
        """
        return _dps.to_exchange(self._text, self._certificate)

    def _as_counted(self) -> str:
        """Its text, for what counts guarantees and knows no release: refused of the releases that `to_exchange` names."""
        return self._text if self._certificate is None else _dps.counted(self._certificate)

    @classmethod
    def from_opendp(
        cls,
        measurement: Any,
        d_in: Any,
        adjacency: Adjacency,
        *,
        by: str,
        reason: str,
        delta: float | None = None,
    ) -> Guarantee:
        """Of a measurement of OpenDP for inputs `d_in` apart, declared to be what `adjacency` says.

        Pure, approximate and zero-concentrated measures; the last needs the `delta` at which its epsilon
        is stated.
        """
        measure, loss = str(measurement.output_measure), measurement.map(d_in)
        stated: dict[str, Any]
        if measure.startswith("Approximate") and "ZeroConcentrated" in measure:
            raise ValueError(f"no guarantee is made of the measure {measure}: fix a delta first")
        if "ZeroConcentrated" in measure:
            stated = {"kind": "zcdp", "rho": float(loss)}
        elif measure.startswith("Approximate") and isinstance(loss, tuple):
            stated = {"kind": "approximate-dp", "epsilon": float(loss[0]), "delta": float(loss[1])}
        elif measure.startswith("MaxDivergence"):
            stated = {"kind": "approximate-dp", "epsilon": float(loss), "delta": 0.0}
        else:
            raise ValueError(f"no guarantee is made of the measure {measure}")
        given = {
            "form": "dp-guarantee/1",
            "adjacency": adjacency.to_dict(),
            "declared by": by,
            "reason": reason,
            "guarantee": stated,
        }
        return cls.from_exchange(json.dumps(given), delta=delta)

    def to_dp_accounting(self) -> Any:
        """A ``PrivacyLossDistribution`` of Google's dp_accounting, which must be installed; from above."""
        from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution

        stated = json.loads(self.to_exchange())["guarantee"]
        kind = stated["kind"]
        if kind == "gaussian-dp":
            return privacy_loss_distribution.from_gaussian_mechanism(1 / stated["mu"])
        if kind == "approximate-dp":
            parameters = common.DifferentialPrivacyParameters(stated["epsilon"], stated["delta"])
            return privacy_loss_distribution.from_privacy_parameters(parameters)
        if kind == "zcdp":
            raise ValueError(
                "dp_accounting has no loss distribution of zero-concentrated privacy: "
                "convert it at a delta (`epsilon`), or hand on `to_exchange`"
            )
        ways = [
            pld_pmf.create_pmf(
                {way["first"] + i: mass for i, mass in enumerate(way["masses"]) if mass > 0},
                stated["step"],
                max(way["infinite"], 1 - math.fsum(way["masses"])),
                True,
            )
            for way in stated["ways"]
        ]
        return privacy_loss_distribution.PrivacyLossDistribution(*ways)

    @property
    def epsilon(self) -> float:
        """Epsilon of the budget, in nats."""
        return self._value["budget"]["epsilon"]

    @property
    def delta(self) -> float:
        """Delta of the budget."""
        return self._value["budget"]["delta"]

    @property
    def adjacency(self) -> Adjacency:
        """What is protected."""
        return Adjacency._of(self._value["adjacency"])

    @property
    def profile(self) -> Profile | None:
        """The exact profile, where it is known."""
        profile = self._value["profile"]
        return None if profile is None else Profile(**profile)

    @property
    def provenance(self) -> dict[str, Any]:
        """``proven`` by which theorem, ``published`` where, or ``declared`` by whom."""
        return self._value["provenance"]

    def to_dict(self) -> dict[str, Any]:
        """As certificates state it."""
        return json.loads(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guarantee) and self._value == other._value

    def __hash__(self) -> int:
        return hash(_sorted(self._value))

    def __repr__(self) -> str:
        kind = self.provenance["kind"]
        return (
            f"<Guarantee: epsilon={self.epsilon!r}, delta={self.delta!r}, {self.adjacency}, {kind}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (Guarantee, (self._text, self._certificate))


def _least(family: str, epsilon: float, delta: float, **sizes: Any) -> Profile:
    return _profile(_dps.least_noise(family, epsilon, delta, **sizes))


class calibrate:
    """The least noise for a budget: each function returns the calibrated `Profile`.

    Its attributes are the noise: ``calibrate.gaussian(1, 1e-6).sigma``. All are exact, rounded to
    the safe side; `epsilon` is in nats, `delta` in ``[0, 1)``.
    """

    @staticmethod
    def gaussian(epsilon: float, delta: float, *, sensitivity: float = 1.0) -> Profile:
        """Gaussian noise for an l2 sensitivity; ``.sigma``."""
        return _least("gaussian", epsilon, delta, size=sensitivity)

    @staticmethod
    def laplace(epsilon: float, delta: float, *, sensitivity: float = 1.0) -> Profile:
        """Laplace noise for an l1 sensitivity; ``.scale``."""
        return _least("laplace", epsilon, delta, size=sensitivity)

    @staticmethod
    def discrete_gaussian(epsilon: float, delta: float, *, moves: int = 1) -> Profile:
        """Integer Gaussian noise on one whole number that moves by ``moves``; ``.sigma``."""
        return _least("discrete-gaussian", epsilon, delta, count=moves)

    @staticmethod
    def discrete_laplace(epsilon: float, delta: float, *, moves: int = 1) -> Profile:
        """Integer Laplace noise on whole numbers that move by ``moves`` in l1 norm; ``.scale``."""
        return _least("discrete-laplace", epsilon, delta, count=moves)

    @staticmethod
    def randomized_response(epsilon: float, delta: float, *, bits: int = 1) -> Profile:
        """Bits that may all differ, each kept with probability ``.keep``."""
        return _least("randomized-response", epsilon, delta, count=bits)

    @staticmethod
    def kary_response(
        epsilon: float, delta: float, *, alphabet: int, responses: int = 1
    ) -> Profile:
        """Letters that may all differ, each kept with probability ``.keep``."""
        return _least("kary-response", epsilon, delta, count=responses, other=alphabet)

    @staticmethod
    def gaussian_projection(
        epsilon: float, delta: float, *, k: int, sensitivity: float = 1.0
    ) -> Profile:
        """A fresh Gaussian projection with entries N(0, 1/k), then noise ``.sigma``."""
        return _least("gaussian-projection", epsilon, delta, count=k, size=sensitivity)

    @staticmethod
    def range_finder(
        epsilon: float, delta: float, *, k: int, sensitivity: float = 1.0
    ) -> Profile:
        """``A Omega + N(0, sigma^2)`` with a fresh standard normal Omega of k columns."""
        return _least("range-finder", epsilon, delta, count=k, size=sensitivity)

    @staticmethod
    def jl(
        epsilon: float, delta: float, *, rows: int, bound: float = 1.0, replace: bool = False
    ) -> Profile:
        """The Johnson-Lindenstrauss mechanism; ``.lift`` is w."""
        return _least("jl-mechanism", epsilon, delta, count=rows, size=bound, replace=replace)

    @staticmethod
    def wishart(
        epsilon: float,
        delta: float,
        *,
        dim: int,
        dof: int,
        bound: float = 1.0,
        replace: bool = False,
    ) -> Profile:
        """Wishart noise on second moments; ``.scale``."""
        return _least(
            "wishart", epsilon, delta, count=dim, other=dof, size=bound, replace=replace
        )

    @staticmethod
    def symmetric_gaussian(
        epsilon: float, delta: float, *, bound: float = 1.0, replace: bool = False
    ) -> Profile:
        """Symmetric Gaussian noise on second moments; ``.sigma`` of a diagonal entry."""
        return _least("symmetric-gaussian", epsilon, delta, size=bound, replace=replace)


def compose(
    runs: Iterable[Run], *, delta: float, method: str = "pld"
) -> tuple[float | None, float]:
    """Epsilon of all runs together at `delta`: no less than the first number, no more than the second.

    Holds where every run's parameters were fixed before any answer was seen; a `Ledger` keeps a
    limit otherwise.

    Parameters
    ----------
    runs : iterable of Guarantee or (Guarantee, int)
        What ran on the same data, under one adjacency, and how often. Those of releases are refused as `to_exchange` says.
    delta : float
        In ``(0, 1)``, or 0 where all runs are pure.
    method : {"pld", "rdp", "zcdp", "gdp", "basic", "advanced", "optimal-pure"}
        ``pld`` is tight; the others are bounds by less knowledge.

    Returns
    -------
    (float or None, float)
        The sound end is the second.
    """
    pairs = [run if isinstance(run, tuple) else (run, 1) for run in runs]
    counted = [(one._as_counted(), whole("runs", count)) for one, count in pairs]
    return _dps.compose(counted, delta, method)
