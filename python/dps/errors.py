"""Exceptions by kind. None of them states a private value; a message may name the row that was refused."""

from __future__ import annotations


class Error(Exception):
    """Whatever this package raises.

    Attributes are those of the kind; they are public parameters, never data.
    """

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        for name, value in fields.items():
            setattr(self, name, value)


class ParameterError(Error, ValueError):
    """A parameter outside its range: `parameter`, `value` and `allowed` say which."""

    parameter: str
    value: str
    allowed: str


class DataError(Error, ValueError):
    """Data that is not what was declared; nothing was released. The refusal itself is not private."""


class CalibrationError(Error):
    """No noise of this family meets the budget, or a published rule misses it (`true_delta`)."""


class BudgetExceededError(Error):
    """A ledger's limit would be passed; nothing was released or spent."""


class LedgerError(Error):
    """A ledger's file does not hold together, or is not what was asked for."""


class CertificateError(Error):
    """A certificate does not hold together."""


class NotAcceptedError(Error):
    """Something must be taken by name: `verify(accept=[error.exception])` takes it."""

    exception: str


class MismatchError(Error):
    """Two things that must agree (adjacency, projection, demand and promise) do not."""


class FileError(Error):
    """A release file does not hold together."""


class FileAccessError(Error, OSError):
    """A file could not be read or written."""


class EstimateError(Error):
    """The release cannot tell what was asked."""


class RowIndexError(Error, IndexError):
    """A row that does not exist."""


class StoppedError(Error):
    """The caller stopped the work; nothing is published."""
