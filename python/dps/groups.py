"""Chosen groups of attributes, in the place of a random projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import _dps
from ._checks import whole
from .errors import ParameterError


class Groups:
    """Which attributes are summed together, and with which sign: a projection that nobody draws.

    One value of a row moves one group's sum by as much as itself, whatever the groups are. They may follow
    from the grid of a picture or from a public sample, never from the rows that are released, and are
    published with the release.

    Parameters
    ----------
    signed : sequence of int
        The group of every attribute, counted from 1, and negative where its sign is; at most 2**16.

    Notes
    -----
    Source: ``docs/proofs/signed-groups.md``.

    Examples
    --------
    >>> import dps
    >>> groups = dps.Groups.grid(28, 28, cell=4)
    >>> groups.d, groups.k
    (784, 49)
    """

    __slots__ = ("_k", "_signed")

    def __init__(self, signed: Sequence[int]) -> None:
        array = np.asarray(signed)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ParameterError(
                f"groups of type {array.dtype} in {array.ndim} dimensions are not allowed: must be one whole "
                "number an attribute",
                parameter="groups",
                value=f"{array.dtype} in {array.ndim} dimensions",
                allowed="one whole number an attribute",
            )
        # What is beyond 32 bits is beyond every group.
        self._signed = tuple(np.clip(array, -(2**31), 2**31 - 1).tolist())
        self._k = _dps.groups_of(list(self._signed))

    @classmethod
    def grid(cls, height: int, width: int, *, cell: int) -> Groups:
        """Pictures, row after row, as the sums of squares of ``cell x cell`` pixels."""
        sizes = [whole("height", height), whole("width", width), whole("cell", cell)]
        return cls(_dps.groups_of_grid(*sizes))

    @property
    def d(self) -> int:
        """Attributes."""
        return len(self._signed)

    @property
    def k(self) -> int:
        """Groups."""
        return self._k

    @property
    def signed(self) -> tuple[int, ...]:
        """As it was given."""
        return self._signed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and self._signed == other._signed

    def __hash__(self) -> int:
        return hash(self._signed)

    def __repr__(self) -> str:
        return f"<Groups: {self.k} of {self.d} attributes>"
