"""Parameters that are what their names say; what is not is refused by that name."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .errors import ParameterError

# Words of a text that is repeated: names and choices are shorter.
_LONGEST = 60


def shown(value: Any) -> str:
    """A value that a parameter was given, for people: no data that stood in its place."""
    plain = value is None or isinstance(value, (bool, int, float, np.number, np.bool_))
    text = repr(value) if plain or isinstance(value, str) else f"a {type(value).__name__}"
    return text if plain or len(text) <= _LONGEST else f"a {type(value).__name__}"


def whole(name: str, value: Any, bits: int = 64) -> int:
    """A whole number that so many bits hold."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 2**bits:
        allowed = f"the whole numbers of [0, 2^{bits})"
        message = f"{name} = {shown(value)} is not allowed: must be in {allowed}"
        raise ParameterError(message, parameter=name, value=shown(value), allowed=allowed)
    return number


def whole_or_none(name: str, value: Any) -> int | None:
    """The same, where it may be left out."""
    return None if value is None else whole(name, value)


def real(name: str, value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not math.isfinite(number):
        message = f"{name} = {shown(value)} is not allowed: must be in (-inf, inf)"
        raise ParameterError(message, parameter=name, value=shown(value), allowed="(-inf, inf)")
    return number


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        words = ", ".join(allowed)
        message = f"{name} = {shown(value)} is not allowed: must be in {{{words}}}"
        raise ParameterError(message, parameter=name, value=shown(value), allowed=words)


def refused(name: str, value: object, why: str) -> None:
    """A parameter that has no effect is a misunderstanding."""
    if value is not None:
        message = f"{name} = {shown(value)} has no effect: {why}; leave it out"
        raise ParameterError(message, parameter=name, value=shown(value), allowed="None")
