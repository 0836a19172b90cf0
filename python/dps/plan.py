"""Which mechanism, and which size: predicted errors, from public facts alone.

A plan reads no data and costs no privacy. Each one builds the mechanism that it speaks of:
``dps.plan.distances(...)[0].mechanism()``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _dps
from ._base import Mechanism, _plain
from ._checks import one_of, refused
from .privacy import Adjacency
from .rows import Bits, Distances, MultiScale, Vectors
from .sets import Sets

__all__ = ["DistancePlan", "SetPlan", "distances", "epsilon_for_error", "sets"]


@dataclass(frozen=True)
class DistancePlan:
    """A way of telling squared distances, and what it would achieve.

    Attributes
    ----------
    method : str
        ``projection``, ``fresh projection``, ``several scales``, ``noise on distances``, ``flipped bits`` or
        ``noise on the data``.
    sizes : tuple of int
        Numbers of a released row, one size a scale; empty where there is no projection.
    noise : str or None
        The law of the noise, where the method leaves a choice.
    standard_error : float
        Predicted, of the squared distance that was asked for.
    noise_size : float
        Standard deviation of the noise; of ``flipped bits`` the probability of a flip.
    """

    method: str
    sizes: tuple[int, ...]
    noise: str | None
    standard_error: float
    noise_size: float
    _facts: dict[str, Any] = field(repr=False, compare=False)

    def mechanism(self, *, seed: int | None = None) -> Mechanism:
        """The mechanism, calibrated; `seed` is the public seed of its projection, where it has one."""
        facts = self._facts
        common = {name: facts[name] for name in ("d", "adjacency", "epsilon", "delta")}
        if self.method in ("noise on distances", "flipped bits"):
            refused("seed", seed, "nothing is projected")
        if self.method == "noise on distances":
            return Distances(n=facts["n"], low=facts["low"], high=facts["high"], **common)
        if self.method == "flipped bits":
            return Bits(**{**common, "delta": 0})
        common["bound"] = max(abs(facts["low"]), abs(facts["high"]))
        if self.method == "several scales":
            count = len(self.sizes)
            seeds = None if seed is None else [(seed + scale) % 2**64 for scale in range(count)]
            return MultiScale(sizes=self.sizes, shares=[1.0] * count, seeds=seeds, **common)
        if self.method == "fresh projection":
            refused("seed", seed, "it is drawn at the release")
            return Vectors(k=self.sizes[0], calibration="averaged", **common)
        family, k = ("oporp", self.sizes[0]) if self.sizes else ("identity", facts["d"])
        return Vectors(k=k, family=family, noise=self.noise or "gaussian", seed=seed, **common)


def distances(
    *,
    n: int,
    d: int,
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    squared_distance: float,
    low: float = -1.0,
    high: float = 1.0,
    bits: bool = False,
) -> list[DistancePlan]:
    """Every way of telling squared distances of rows that meets the budget, best first.

    Parameters
    ----------
    n, d : int
        Rows and features.
    adjacency : Adjacency
        ``attribute``, ``row_shift`` or ``replace_row``.
    epsilon, delta : float
        Budget of the whole release; a delta of zero leaves what is pure.
    squared_distance : float
        The one whose estimate should be good.
    low, high : float
        Least and largest value of an entry.
    bits : bool
        Every entry is 0 or 1: flipped bits are considered too, and `low` and `high` are these.

    Notes
    -----
    Source: `predict` of each mechanism. Of whole rows another seed has another sensitivity, by some per cent.
    """
    facts = _rows(n, d, epsilon, delta, squared_distance, *((0.0, 1.0) if bits else (low, high)))
    found = json.loads(_dps.distance_plans(json.dumps(facts), adjacency._text))
    known = {**facts, "adjacency": adjacency}
    plans = [
        DistancePlan(**{**plan, "sizes": tuple(plan["sizes"])}, _facts=known) for plan in found
    ]
    # The planner knows bits by their range alone.
    return [plan for plan in plans if bits or plan.method != "flipped bits"]


def epsilon_for_error(
    standard_error: float,
    *,
    n: int,
    d: int,
    adjacency: Adjacency,
    delta: float,
    squared_distance: float,
    low: float = -1.0,
    high: float = 1.0,
) -> float | None:
    """The epsilon, to a per cent, at which the best way has this standard error.

    ``None`` where an epsilon of 64 is not enough; at least 1/64. The other parameters are those of `distances`.
    """
    facts = _rows(n, d, 1.0, delta, squared_distance, low, high)
    return _dps.epsilon_of_error(json.dumps(facts), adjacency._text, float(standard_error))


def _rows(
    n: int, d: int, epsilon: float, delta: float, squared_distance: float, low: float, high: float
) -> dict[str, Any]:
    return _plain(
        {
            "n": n,
            "d": d,
            "low": float(low),
            "high": float(high),
            "squared_distance": float(squared_distance),
            "epsilon": float(epsilon),
            "delta": float(delta),
        }
    )


@dataclass(frozen=True)
class SetPlan:
    """The best signature of sets, and what it would achieve.

    Attributes
    ----------
    kind : str
        ``bins`` or ``mixture``, as of `Sets`.
    k, symbols : int
        Positions of a signature, and symbols of one.
    concatenation : int or None
        Minima hashed together, of ``mixture``.
    recall : float
        Predicted share of near sets among those returned.
    standard_error : float
        Predicted, of a similarity of ``near``.
    """

    kind: str
    k: int
    symbols: int
    concatenation: int | None
    recall: float
    standard_error: float
    _facts: dict[str, Any] = field(repr=False, compare=False)

    def mechanism(self, *, seed: int | None = None) -> Sets:
        """The mechanism, calibrated; `seed` is the public seed of ``bins``."""
        return Sets(
            k=self.k,
            symbols=self.symbols,
            mechanism=self.kind,
            concatenation=self.concatenation,
            seed=seed,
            **self._facts,
        )


def sets(
    *,
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    size: float,
    near: float,
    far: float,
    returned: float = 0.01,
    positions: int = 100,
    aim: str = "recall",
) -> SetPlan:
    """The best of many signatures of sets at a budget.

    Parameters
    ----------
    adjacency : Adjacency
        ``set_items``.
    epsilon, delta : float
        Budget of the whole release.
    size : float
        Items of a typical set.
    near, far : float
        Jaccard similarity of a set worth finding, and of an arbitrary other one.
    returned : float
        Share of all sets that a search returns.
    positions : int
        Most positions of a signature.
    aim : {"recall", "error"}
        What is made best: the share of near sets found, or the standard error at `near`.

    Notes
    -----
    Source: ``docs/proofs/one-permutation.md``, ``docs/proofs/minhash-mixture.md``.
    """
    one_of("aim", aim, ("recall", "error"))
    facts = _plain(
        {
            "size": float(size),
            "near": float(near),
            "far": float(far),
            "returned": float(returned),
            "positions": positions,
            "error": aim == "error",
            "epsilon": float(epsilon),
            "delta": float(delta),
        }
    )
    found = json.loads(_dps.set_plan(json.dumps(facts), adjacency._text))
    budget = {"adjacency": adjacency, "epsilon": epsilon, "delta": delta}
    return SetPlan(**found, _facts=budget)
