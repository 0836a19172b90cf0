"""Private signatures of item sets."""

from __future__ import annotations

import json
from typing import Any

from . import _dps
from ._base import Mechanism
from ._checks import one_of, refused
from ._rows import listed
from .privacy import Adjacency


class Sets(Mechanism):
    """Private signatures of item sets: Jaccard similarity and search.

    Sets are an iterable of iterables of words (``str``) or of whole numbers in ``[0, 2^64)``, or a sparse
    matrix whose stored columns are the items; words and numbers are never mixed. In files that the command line reads a number
    is a word: beside a release that it made, give ``str(i)`` for the item i.

    Parameters
    ----------
    adjacency : Adjacency
        ``set_items`` (for ``bins`` and ``mixture``) or ``any_input`` (for ``buckets``); for ``bins`` that are not `fresh`, and for
        ``buckets``, also ``user`` of it.
    epsilon, delta : float
        Budget of one release.
    k : int
        Positions (or bins) of a signature.
    symbols : int, optional
        Symbols that a position can show; one for occupancy bits (``bins`` only): best for search below epsilon 6 or so.
    mechanism : {"bins", "mixture", "buckets", "noisy-minhash"}
        ``bins``: one permutation, best for few changed items. ``mixture``: hashed minima under fresh hash
        functions. ``buckets``: pure, any set becomes any other. ``noisy-minhash``: a published claim,
        for comparison (two symbols).
    concatenation : int, optional
        Minima hashed together; not of ``bins``.
    accept_true_delta : bool
        Of ``noisy-minhash``: use the rule although the delta it truly gives is above the claimed one.
    seed : int, optional
        Public seed of the hash functions; ``mixture``, ``noisy-minhash`` and `fresh` bins draw theirs at release.
    fresh : bool
        Of ``bins``: hash functions drawn at release, and noise for the bins that changed items are then seen in. Less of it
        where several items may change in sets of many more items (``min_size``) than bins; it spends delta.

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
        fresh: bool = False,
    ) -> None:
        one_of("mechanism", mechanism, ("bins", "mixture", "buckets", "noisy-minhash"))
        parameters: dict[str, Any] = {"mechanism": mechanism.replace("minhash", "min-hash")}
        if mechanism == "bins":
            refused("concatenation", concatenation, "bins keep one minimum each")
            parameters["bins"] = k
            parameters["fresh"] = fresh
        else:
            refused("fresh", fresh or None, "bins alone may keep their hash functions")
            parameters["positions"] = k
            parameters["concatenation"] = 1 if concatenation is None else concatenation
        if mechanism == "noisy-minhash":
            refused("symbols", symbols, "its positions are bits")
            parameters["accept_true_delta"] = accept_true_delta
        else:
            refused("accept_true_delta", accept_true_delta or None, "this mechanism is proven")
            parameters["symbols"] = 4 if symbols is None else symbols
        if mechanism == "buckets" or (mechanism == "bins" and not fresh):
            parameters["seed"] = seed
        else:
            refused("seed", seed, "the guarantee averages over hash functions that nobody knew")
        super().__init__(adjacency, epsilon, delta, **parameters)

    def _prepared(self, data: Any) -> Any:
        return listed(data)

    def predict(self, *, size: float, similarity: float) -> float:
        """Root mean square error of the similarity of two sets of this size; reads no data."""
        return self._predict(size, similarity)[1]


class Counts(Mechanism):
    """Counts of public groups of items with integer Laplace noise: search among sets at small epsilon.

    An item is in one group, so the noise does not grow with the number of groups. Sets are given as to `Sets`.

    Parameters
    ----------
    adjacency : Adjacency
        ``set_items``; the guarantee holds for sets of any size.
    epsilon, delta : float
        Budget of one release; delta is not spent.
    groups : iterable of sets, optional
        The items of each group, each item in one; a public hash puts all others into one of these too.
    public : iterable of sets, optional
        Sets that are public, in the place of `groups`: items that are often in one set become a group, and as many
        groups are made as find most among these sets at this epsilon. Never sets that are released.

    Notes
    -----
    Groups are published with the release: they must not follow from the sets. `Release.to_numpy` holds the counts, and
    `Release.search` ranks by the best linear guess of rows, from the release alone. Source: ``docs/proofs/group-counts.md``.
    """

    _reads = "sets"

    def __init__(
        self,
        *,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        groups: Any = None,
        public: Any = None,
    ) -> None:
        if (groups is None) == (public is None):
            raise TypeError("one of groups and public says which items are counted together")
        if groups is not None:
            lists = _dps.groups_of_items(listed(groups), None)
        else:
            alpha = int(json.loads(adjacency._text).get("alpha", 1))
            lists = _dps.groups_of_items(listed(public), (alpha, float(epsilon)))
        super().__init__(adjacency, epsilon, delta, mechanism="counts", groups=lists)

    def _prepared(self, data: Any) -> Any:
        return listed(data)

    def predict(self) -> float:
        """Root mean square error of a count; reads no data."""
        return self._predict()[1]
