"""The budget of a data set, in a file that survives crashes and races."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

from . import _dps
from ._checks import one_of, whole
from .privacy import Adjacency, Guarantee


class Ledger:
    """The budget of one data set, as ``dps ledger`` keeps it.

    A mechanism that is given a ledger asks it first whether it would agree, and charges it
    when the release is complete, before anybody sees it: what fails or is interrupted costs nothing
    (``docs/LEDGER.md``).

    Parameters
    ----------
    path : path-like
        An existing ledger; `Ledger.create` starts one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # The same file wherever the process goes.
        self._path = os.path.abspath(os.fspath(path))
        self._part: tuple[str, str, str] | None = None
        _dps.ledger_show(self._path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        data: str,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        rule: str = "basic",
    ) -> Ledger:
        """Starts a ledger; it is never started again over an old one.

        Parameters
        ----------
        path : path-like
            The file to make.
        data : str
            Public name of the data set.
        adjacency : Adjacency
            What every release protects.
        epsilon, delta : float
            The most that may be spent.
        rule : {"basic", "zcdp", "gdp", "renyi"}
            How expenses are added up.
        """
        one_of("rule", rule, ("basic", "zcdp", "gdp", "renyi"))
        _dps.ledger_create(os.fspath(path), data, adjacency._text, epsilon, delta, rule)
        return cls(path)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def part(self, partition: str, name: str, *, by: str) -> Ledger:
        """The same ledger, where what it pays for is of one part of the rows alone.

        Of a partition the worst parts count that one unit can touch, and not the sum over all; releases of one part
        add up. That the parts are disjoint, and the same ones in every release, is your word: `show` says so.

        Parameters
        ----------
        partition, name : str
            Public names of the partition and of this part, as in ``part("regions", "north", by="row")``.
        by : {"unit", "row", "content"}
            What decides which part a row goes to: the unit, where all its rows are in one part; a key of the
            row that no change alters; what the row says, in a ledger whose unit is rows that are added or removed.
            A release whose unit is a user with several rows is refused but by ``unit``: the user may have as many in every part.
        """
        part = Ledger(self._path)
        part._part = (partition, name, by)
        part._payer()
        return part

    def _payer(self) -> _dps.Payer:
        return _dps.Payer(self._path, self._part)

    def show(self, *, delta: float | None = None) -> dict[str, Any]:
        """Limit and whether it was passed, entries, and what was spent by every method, at `delta` or the limit's.

        ``answers_hold`` says what these epsilons rest on, ``declared`` which entries were taken at somebody's word.
        """
        return json.loads(_dps.ledger_show(self._path, delta))

    def check(self, guarantee: Guarantee) -> None:
        """Raises `BudgetExceededError` where it would not pay for one more release."""
        _dps.ledger_check(self._payer(), guarantee._as_counted())

    def declare(self, guarantee: Guarantee, *, label: str, runs: int = 1) -> None:
        """Enters runs of another program's mechanism, at the word of whoever declared it.

        A release of this library goes in by `add` or `record`, which know how its rows were mapped.
        """
        _dps.ledger_declare(self._payer(), guarantee._as_counted(), whole("runs", runs), label)

    def add(self, release: Any, *, label: str) -> None:
        """Pays for a release that was made without a ledger and that nobody has seen yet."""
        _dps.ledger_add(self._payer(), release._core.certificate(), label)

    def record(self, release: Any, *, label: str) -> None:
        """Enters a release that has happened, even past the limit: a ledger that forgot it would allow more.

        Warns where the limit is passed.
        """
        passed = _dps.ledger_record(self._payer(), release._core.certificate(), label)
        if passed is not None:
            warnings.warn(f"the limit is PASSED: {passed}", stacklevel=2)

    def to_exchange(self) -> str:
        """The composition of all entries, in the JSON that other accountants read."""
        return _dps.ledger_export(self._path)

    def __fspath__(self) -> str:
        return self._path

    def __bool__(self) -> bool:
        # A ledger without entries pays as well.
        return True

    def __len__(self) -> int:
        return len(self.show()["entries"])

    def __repr__(self) -> str:
        shown = self.show()
        limit = shown["limit"]
        words = "" if limit is None else f", limit ({limit['epsilon']}, {limit['delta']})"
        return f"<Ledger of {shown['data']!r}: {len(shown['entries'])} entries{words}>"


def pays(
    ledger: Ledger | str | os.PathLike[str] | None,
) -> tuple[str, tuple[str, str, str] | None] | None:
    """What can be compared: the file, and the part of the rows."""
    if ledger is None:
        return None
    return os.fspath(ledger), ledger._part if isinstance(ledger, Ledger) else None


def payer(ledger: Ledger | str | os.PathLike[str] | None) -> _dps.Payer | None:
    """The same for the compiled part."""
    told = pays(ledger)
    return None if told is None else _dps.Payer(*told)
