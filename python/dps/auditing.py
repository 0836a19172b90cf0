"""A lower bound on the epsilon of somebody's mechanism, by attacking it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _dps


@dataclass(frozen=True)
class Audit:
    """What an attack proves.

    Attributes
    ----------
    epsilon : float
        The mechanism has no smaller epsilon at `delta`, except with probability ``1 - confidence``.
    delta, confidence : float
        As they were given.
    often, seldom : float
        Limits of the event's rates under the two inputs.
    runs : int
        Runs that were counted, of each input.
    """

    epsilon: float
    delta: float
    confidence: float
    often: float
    seldom: float
    runs: int

    def refutes(self, epsilon: float) -> bool:
        """Whether a claim of `epsilon` at this delta is false, with the stated confidence."""
        return self.epsilon > epsilon


def _scores(run: Callable[[Any], Any], data: Any, score: Any, runs: int) -> np.ndarray:
    scores = np.array([float(score(run(data))) for _ in range(runs)])
    # No number is an answer too: as an event below all others it may tell the inputs apart.
    return np.where(np.isnan(scores), -np.inf, scores)


def _number(answer: Any) -> float:
    return float(np.asarray(answer).sum())


def audit(
    mechanism: Callable[[Any], Any],
    left: Any,
    right: Any,
    *,
    delta: float = 0.0,
    runs: int = 2000,
    confidence: float = 0.999,
    score: Callable[[Any], float] | None = None,
) -> Audit:
    """Bounds the epsilon of a mechanism from below, on two neighbouring inputs.

    Half of the runs choose an event ``score >= t`` or ``score <= t`` and which input makes it frequent; the
    other half count it. For the rates' Clopper-Pearson limits, ``epsilon >= ln((often - delta) /
    seldom)``. It can refute a claim; it can never prove one.

    Parameters
    ----------
    mechanism : callable
        Draws its own fresh noise each time it is called with an input.
    left, right : object
        Two neighbouring inputs: the worst pair you know.
    delta : float
        In ``[0, 1)``.
    runs : int
        Of each input, at least 20; a bound of epsilon e needs some ``10 e^e`` of them.
    confidence : float
        In (0, 1): the bound is wrong with probability ``1 - confidence`` at most.
    score : callable, optional
        A number from an answer, large under one input and small under the other; the sum by default.
        NaN counts as less than every number.

    Returns
    -------
    Audit

    References
    ----------
    Gilbert and McMillan 2018; Jagielski, Ullman, Oprea 2020.
    """
    from .errors import ParameterError

    if not 0 <= delta < 1:
        raise ParameterError(
            f"delta = {delta} is not allowed: must be in [0, 1)",
            parameter="delta",
            value=str(delta),
            allowed="[0, 1)",
        )
    if runs < 20:
        raise ParameterError(
            f"runs = {runs} is not allowed: must be in [20, inf)",
            parameter="runs",
            value=str(runs),
            allowed="[20, inf)",
        )
    if not 0 < confidence < 1:
        raise ParameterError(
            f"confidence = {confidence} is not allowed: must be in (0, 1)",
            parameter="confidence",
            value=str(confidence),
            allowed="(0, 1)",
        )
    score = _number if score is None else score
    half = runs // 2
    training = [_scores(mechanism, data, score, half) for data in (left, right)]
    alarm = (1 - confidence) / 2
    frequent, above, threshold = _choose(training, delta, alarm)
    counted = [_scores(mechanism, data, score, runs - half) for data in (left, right)]
    hits = [int(np.sum(s >= threshold if above else s <= threshold)) for s in counted]
    n = runs - half
    often = _dps.rate_limits(hits[frequent], n, alarm)[0]
    seldom = _dps.rate_limits(hits[1 - frequent], n, alarm)[1]
    excess = often - delta
    epsilon = math.log(excess / seldom) if excess > seldom else 0.0
    return Audit(epsilon, delta, confidence, often, seldom, n)


def _choose(training: list[np.ndarray], delta: float, alarm: float) -> tuple[int, bool, float]:
    """The event that would prove most on the training runs."""
    best = (-math.inf, 0, True, 0.0)
    shares = np.linspace(0.005, 0.995, 100)
    # Of the scores themselves: between two of which one is infinite there is no number.
    thresholds = np.quantile(np.concatenate(training), shares, method="nearest")
    n = len(training[0])
    for above in (True, False):
        for threshold in np.unique(thresholds):
            hits = [int(np.sum(s >= threshold if above else s <= threshold)) for s in training]
            for frequent in (0, 1):
                often = _dps.rate_limits(hits[frequent], n, alarm)[0] - delta
                seldom = _dps.rate_limits(hits[1 - frequent], n, alarm)[1]
                found = math.log(often / seldom) if often > 0 else -math.inf
                if found > best[0]:
                    best = (found, frequent, above, float(threshold))
    return best[1:]
