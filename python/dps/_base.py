"""What all mechanisms share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dps
from ._checks import one_of, real, refused, whole, whole_or_none
from ._rows import prepared
from .errors import ParameterError
from .ledger import Ledger, payer
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
        config = json.dumps(_checked(parameters))
        #: Public parameters: what another process builds the same mechanism from.
        self._recipe = (config, adjacency._text, float(epsilon), float(delta))
        self._core = _dps.Mechanism(*self._recipe)
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
                ledger=payer(ledger),
                label=label,
                progress=progress,
                test_noise=whole_or_none("insecure_test_noise", insecure_test_noise),
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


#: Parameters that are whole numbers, and what their callers know some of them as.
WHOLE = set(
    "n d k bits repetitions categories bins symbols positions concatenation dof sketch_rows iterations rank "
    "oversampling window block length touched seed".split()
)
REAL = set(
    "bound low high lengths row_norm moments_share within least_norm lift label_bound row_bound "
    "sensitivity largest".split()
)
KNOWN_AS = {"bins": "k", "positions": "k"}


def _checked(parameters: dict[str, Any]) -> dict[str, Any]:
    """Numbers that are what their name says, by that name."""
    checked = _plain(parameters)
    for name, value in checked.items():
        if value is None:
            continue
        if name in WHOLE:
            # The place of a letter takes 32 bits.
            bits = 32 if name == "symbols" else 64
            checked[name] = whole(KNOWN_AS.get(name, name), value, bits)
        elif name in REAL:
            checked[name] = real(name, value)
    return checked


def family_of(name: str, nonzeros: int | None) -> dict[str, Any]:
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
    one_of("family", name, names)
    if name == "sparse-jl":
        return {"kind": name, "nonzeros": 4 if nonzeros is None else whole("nonzeros", nonzeros)}
    if name == "hashed-copies":
        return {"kind": name, "copies": 4 if nonzeros is None else whole("nonzeros", nonzeros)}
    refused("nonzeros", nonzeros, "only sparse-jl and hashed-copies leave a choice")
    if name == "srht":
        return {"kind": name, "sampling": "without-replacement"}
    return {"kind": name}


def bound_of(bound: float | None, adjacency: Adjacency) -> float:
    """The largest entry: declared, or what a bound on the norm implies."""
    implied = getattr(adjacency, "bound", None)
    if bound is not None:
        return real("bound", bound)
    if implied is not None:
        return float(implied)
    raise ParameterError(
        "bound is required: the largest absolute value that an entry of any possible row can have",
        parameter="bound",
        value="None",
        allowed="(0, inf)",
    )


CALIBRATIONS = ("realised", "averaged")
FRESH = "averaged calibration holds for a projection that nobody knew before"
