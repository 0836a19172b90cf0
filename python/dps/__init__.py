"""Differentially private sketches and private matrix analysis, with certificates.

Publish a small noisy sketch of your data once; let anyone search it, estimate distances and angles in it, or analyse it
as a matrix. Every release carries a certificate: which inputs cannot be told apart, and the exact delta for its
epsilon, recomputed by anyone who holds it.

===============  ==============================================================
rows             `Vectors`, `MultiScale`, `Signs`, `IndividualSigns`, `Units`, `Bounded`,
                 `PrivateGroups`, `Bits`, `Distances`; `Groups` of attributes
sets             `Sets`, `Counts`
matrices         `Covariance`, `Newton`, `Directions`, `LowRank`, `Basis`, `Window`
your own sums    `Numbers`
which of them    `plan`
budgets          `Adjacency`, `Profile`, `Guarantee`, `calibrate`, `compose`, `Ledger`
your own code    `audit`
scikit-learn     `dps.sklearn`
many files       `dps.spark`
===============  ==============================================================
"""

from __future__ import annotations

from . import errors, plan
from ._dps import __version__, at_home
from ._base import Mechanism
from .auditing import Audit, audit
from .groups import Groups
from .ledger import Ledger
from .matrices import Basis, Covariance, Directions, LowRank, Newton, Stream, Window
from .privacy import Adjacency, Guarantee, Profile, calibrate, compose
from .release import Components, Estimate, Line, Moments, Release, Share
from .rows import (
    Bits,
    Bounded,
    Distances,
    IndividualSigns,
    MultiScale,
    Numbers,
    PrivateGroups,
    Signs,
    Units,
    Vectors,
)
from .sets import Counts, Sets

at_home()

__all__ = [
    "Adjacency",
    "Audit",
    "Basis",
    "Bits",
    "Bounded",
    "Components",
    "Counts",
    "Covariance",
    "Directions",
    "Distances",
    "Estimate",
    "Groups",
    "Guarantee",
    "IndividualSigns",
    "Ledger",
    "Line",
    "LowRank",
    "Mechanism",
    "Moments",
    "MultiScale",
    "Newton",
    "Numbers",
    "PrivateGroups",
    "Profile",
    "Release",
    "Sets",
    "Share",
    "Signs",
    "Stream",
    "Units",
    "Vectors",
    "Window",
    "__version__",
    "audit",
    "calibrate",
    "compose",
    "errors",
    "plan",
]
