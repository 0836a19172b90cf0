"""Parameters that are what their names say; what is not is refused by that name."""

from __future__ import annotations

import math
import operator
from typing import Any

from .errors import ParameterError


def whole(name: str, value: Any, bits: int = 64) -> int:
    """A whole number that so many bits hold."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 2**bits:
        allowed = f"the whole numbers of [0, 2^{bits})"
        message = f"{name} = {value!r} is not allowed: must be in {allowed}"
        raise ParameterError(message, parameter=name, value=repr(value), allowed=allowed)
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
        message = f"{name} = {value!r} is not allowed: must be in (-inf, inf)"
        raise ParameterError(message, parameter=name, value=repr(value), allowed="(-inf, inf)")
    return number


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        words = ", ".join(allowed)
        message = f"{name} = {value!r} is not allowed: must be in {{{words}}}"
        raise ParameterError(message, parameter=name, value=value, allowed=words)


def refused(name: str, value: object, why: str) -> None:
    """A parameter that has no effect is a misunderstanding."""
    if value is not None:
        message = f"{name} = {value!r} has no effect: {why}; leave it out"
        raise ParameterError(message, parameter=name, value=repr(value), allowed="None")
