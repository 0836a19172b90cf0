"""
The compiled part: JSON texts, arrays and exceptions cross here. Use `dps` itself.
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "Mechanism", "Parts", "Payer", "Release", "Stream", "at_home", "compose", "counted", "declare", "describe_adjacency", "distance_plans", "epsilon_of_error", "explain", "from_exchange", "groups_of", "groups_of_grid", "groups_of_items", "least_noise", "ledger_add", "ledger_check", "ledger_create", "ledger_declare", "ledger_export", "ledger_record", "ledger_show", "parts_fit", "parts_merge", "parts_plan", "parts_published", "preprocessing", "profile_delta", "profile_epsilon", "rate_limits", "set_plan", "to_exchange"]

__version__: Final[str]

@final
class Mechanism:
    """
    A calibrated mechanism.
    """
    def __new__(cls, /, config: str, adjacency: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex) -> Mechanism:
        """
        Builds and calibrates; parameters and adjacency are JSON.
        """
    def guarantee(self, /) -> str | None:
        """
        The guarantee, as JSON; `None` where there is no differential privacy.
        """
    def predict(self, /, facts: SupportsGetItem[int, SupportsFloat | SupportsIndex] = ...) -> tuple[str, float]:
        """
        The expected error from public facts: what it is of, and its root mean square.
        """
    def release(self, /, kind: str, data: Any, *, ledger: Payer | None = None, label: str | None = None, progress: Any | None = None, test_noise: SupportsIndex | None = None) -> Release:
        """
        Releases in memory; `kind` says what `data` is: rows, sets or numbers.
        """
    def write(self, /, data: Any, path: str | PathLike[str], *, store: str = "f64", replace: bool = False, ledger: Payer | None = None, label: str | None = None, progress: Any | None = None, test_noise: SupportsIndex | None = None) -> None:
        """
        Releases projected rows to a file in bounded memory; the ledger pays when the file is complete.
        """

@final
class Parts:
    """
    A manifest with its key, in a worker.
    """
    def __new__(cls, /, manifest: str | PathLike[str], key: str | PathLike[str] | None = None, variable: str | None = None) -> Parts:
        """
        Reads a manifest; the key from its file, or from an environment variable of this process.
        """
    def id(self, /) -> str:
        """
        The public number of the release.
        """
    def make(self, /, mechanism: Mechanism, columns: SupportsIndex | None, blocks: tuple[SupportsIndex, SupportsIndex], out: str | PathLike[str], read: Any) -> None:
        """
        Makes a part: `read(file, group, first, rows)` gives the rows or sets of a block, of `columns` features.
        """
    def part(self, /, i: SupportsIndex, of: SupportsIndex) -> tuple[int, int]:
        """
        First block of part i of `of`, and the one behind its last.
        """
    def rows(self, /) -> int:
        """
        All rows.
        """

@final
class Payer:
    """
    A ledger, and the part of the rows that a release is of, where one is declared.
    """
    def __new__(cls, /, ledger: str | PathLike[str], part: tuple[str, str, str] | None = None) -> Payer:
        """
        `part` is the name of the partition, that of the part, and what decides: `unit`, `row` or `content`.
        """

@final
class Release:
    """
    A release with its certificate.
    """
    @property
    def __array_interface__(self, /) -> dict:
        """
        How NumPy reads the numbers where they are, for as long as it holds this object; of projected rows alone.
        """
    def certificate(self, /) -> str:
        """
        The certificate as JSON.
        """
    @staticmethod
    def decode(bytes: bytes, accept: SupportsGetItem[int, str], long: bool) -> Release:
        """
        As `open` from the bytes of a file.
        """
    def distance(self, /, i: SupportsIndex, j: SupportsIndex, other: Release | None = None, measure: str | None = None, confidence: SupportsFloat | SupportsIndex = 0.95) -> list[tuple[str, float, float, float, float]]:
        """
        Estimates of what two rows have in common: measure, value, standard error, low, high.
        """
    def encode(self, /) -> bytes:
        """
        The bytes of a file.
        """
    def factors(self, /, shrunk: bool) -> tuple[Any, Any]:
        """
        Factors L (n x k) and C (k x d) of a low-rank release, singular values shrunk or not.
        """
    def ids(self, /) -> list[str] | None:
        """
        What its rows are called, where that was published with it.
        """
    def kind(self, /) -> str:
        """
        What it holds.
        """
    def moments(self, /, failure: SupportsFloat | SupportsIndex) -> tuple[tuple[float, tuple[float, float]], tuple[list[float], list[tuple[float, float]]], tuple[list[float], list[tuple[float, float]]], Any]:
        """
        Rows, means and deviations, each with its interval, and the correlations.
        """
    def noise(self, /) -> tuple[int, float]:
        """
        Numbers of a row, and the variance of the noise in each of them.
        """
    @staticmethod
    def open(path: str | PathLike[str], accept: SupportsGetItem[int, str], long: bool) -> Release:
        """
        Reads a file; every part is checked, and what the guarantee rests on is computed again.
        """
    def packed(self, /) -> Any:
        """
        Signs as packed bytes, eight a byte, the first in the lowest bit.
        """
    def pca(self, /, k: SupportsIndex, center: bool, failure: SupportsFloat | SupportsIndex) -> tuple[Any, list[float], float, float, float]:
        """
        Directions (d x k), explained values, their total, and, of a covariance, two bounds of error.
        """
    def positive(self, /) -> Any:
        """
        A covariance with its negative eigenvalues set to zero.
        """
    def regression(self, /, target: SupportsIndex | None, failure: SupportsFloat | SupportsIndex) -> tuple[list[float], list[tuple[float, float]], tuple[float, tuple[float, float]] | None]:
        """
        Coefficients of one column on all others with their intervals, and the intercept with its own where sums were
        released; of a released regression its own.
        """
    def save(self, /, path: str | PathLike[str], replace: bool) -> None:
        """
        Writes a file, all or nothing.
        """
    def scales_distance(self, /, i: SupportsIndex, j: SupportsIndex, expected: SupportsFloat | SupportsIndex, confidence: SupportsFloat | SupportsIndex) -> tuple[str, float, float, float, float]:
        """
        A squared distance from all scales, weighted for the distance that is expected.
        """
    def search(self, /, top: SupportsIndex, queries: Release | None = None, rows: Incomplete | None = None, score: str = "cosine") -> tuple[Any, Any]:
        """
        The best rows for each query: their numbers and their scores.
        """
    def search_exact(self, /, top: SupportsIndex, asked: Any, score: str) -> tuple[Any, Any]:
        """
        The same for rows (as `dps._rows.prepared` returns them) or sets that were never released.
        """
    def shares(self, /, column: SupportsIndex, failure: SupportsFloat | SupportsIndex) -> list[tuple[float, float, tuple[float, float]]]:
        """
        Of every category of a column: its share, the standard error and an interval.
        """
    def span(self, /) -> tuple[int, int]:
        """
        First row and end of a window.
        """
    def spectral_error(self, /, failure: SupportsFloat | SupportsIndex) -> float:
        """
        z such that a covariance is within z of the exact one in spectral norm, except with probability `failure`.
        """
    def to_numpy(self, /) -> Any:
        """
        The published numbers.
        """
    def verify(self, /, accept: SupportsGetItem[int, str], long: bool) -> tuple[str, str]:
        """
        Computes again what the certificate states; what is taken at the writer's word is named.
        """

@final
class Stream:
    """
    A stream of rows.
    """
    def __new__(cls, /, mechanism: Mechanism, *, journal: str | PathLike[str] | None = None, ledger: Payer | None = None, label: str | None = None, test_noise: SupportsIndex | None = None) -> Stream:
        """
        Opens a stream; the ledger pays now, since releases are seen as they come.
        """
    def next_row(self, /) -> int:
        """
        Number of the next row, from zero.
        """
    def push(self, /, data: Any) -> int:
        """
        Adds rows; how many blocks ended.
        """
    def release(self, /) -> Release:
        """
        The window that ends with the last full block.
        """
    @staticmethod
    def resume(journal: str | PathLike[str], *, ledger: Payer | None = None) -> Stream:
        """
        Takes a stream up where its journal ends. The ledger that pays for it is named again: it holds the payment, or pays
        now where no block has ended.
        """
    def tick(self, /) -> None:
        """
        Ends a block, where a clock does.
        """

def at_home() -> None:
    """
    Notes the process that loaded the library.
    """

def compose(runs: SupportsGetItem[int, tuple[str, SupportsIndex]], delta: SupportsFloat | SupportsIndex, by_method: str) -> tuple[float | None, float]:
    """
    Least and most of the epsilon of all runs together at a delta, by a method.
    """

def counted(certificate: str) -> str:
    """
    The guarantee of a release, as JSON, for what counts guarantees and knows no release: refused of what other programs know not.
    """

def declare(by_adjacency: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, of_profile: str, by: str, reason: str) -> str:
    """
    A guarantee at somebody's word, as JSON.
    """

def describe_adjacency(text: str) -> str:
    """
    How an adjacency reads, for people; refuses one that is not allowed.
    """

def distance_plans(facts: str, adjacency: str) -> str:
    """
    Every way of telling squared distances at a budget, best first.
    """

def epsilon_of_error(facts: str, adjacency: str, standard_error: SupportsFloat | SupportsIndex) -> float | None:
    """
    The epsilon at which the best way has a standard error; nothing where 64 is not enough.
    """

def explain(certificate: str, priors: SupportsGetItem[int, SupportsFloat | SupportsIndex], failing: SupportsFloat | SupportsIndex, ledger: str | PathLike[str] | None = None) -> str:
    """
    What a certificate alone says of an attacker, and with a ledger all that it holds, as JSON.
    """

def from_exchange(text: str, delta: SupportsFloat | SupportsIndex | None = None) -> str:
    """
    A guarantee, as JSON, from the form of other accountants.
    """

def groups_of(signed: SupportsGetItem[int, SupportsIndex]) -> int:
    """
    How many groups a list has: the group of every attribute, from one, negative for a minus sign.
    """

def groups_of_grid(height: SupportsIndex, width: SupportsIndex, cell: SupportsIndex) -> list[int]:
    """
    The list of squares of pixels.
    """

def groups_of_items(given: Any, sample: tuple[SupportsIndex, SupportsFloat | SupportsIndex] | None) -> list[list[int]]:
    """
    Groups of items: sets as they are, or those of a public sample for this many items and epsilon.
    """

def least_noise(family: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, *, size: SupportsFloat | SupportsIndex = 1.0, count: SupportsIndex = 1, other: SupportsIndex = 0, replace: bool = False) -> str:
    """
    The least noise of a family: its profile as JSON, calibrated to the budget.
    """

def ledger_add(payer: Payer, certificate: str, label: str) -> None:
    """
    Pays for a release that was made without a ledger and that nobody has seen yet, by its certificate.
    """

def ledger_check(payer: Payer, guarantee: str) -> None:
    """
    Whether the ledger would pay for a guarantee now.
    """

def ledger_create(path: str | PathLike[str], data: str, adjacency: str, epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, rule: str) -> None:
    """
    Starts the ledger of a data set; rule is `basic`, `zcdp`, `gdp` or `renyi`.
    """

def ledger_declare(payer: Payer, guarantee: str, runs: SupportsIndex, label: str) -> None:
    """
    Enters runs of a mechanism at somebody's word.
    """

def ledger_export(path: str | PathLike[str]) -> str:
    """
    The composition of all entries, in the form that other accountants read.
    """

def ledger_record(payer: Payer, certificate: str, label: str) -> str | None:
    """
    Enters a release that has happened, even past the limit: what was passed, where it was.
    """

def ledger_show(path: str | PathLike[str], delta: SupportsFloat | SupportsIndex | None = None) -> str:
    """
    What a ledger holds, as JSON; what was found interrupted in it is finished or taken back first.
    """

def parts_fit(data: Any, columns: SupportsIndex | None = None) -> None:
    """
    Refuses rows of another number of features than `columns`; without it, what are no sets.
    """

def parts_merge(manifest: str | PathLike[str], key: str | PathLike[str], parts: SupportsGetItem[int, str | PathLike[str]], out: str | PathLike[str]) -> None:
    """
    Puts parts together into a new file, publishes it, destroys the key.
    """

def parts_plan(mechanism: Mechanism, columns: SupportsIndex | None, files: SupportsGetItem[int, str | PathLike[str]], blocks: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex]], key: str | PathLike[str], manifest: str | PathLike[str], ledger: Payer | None = None, label: str | None = None) -> str:
    """
    Fixes a release in parts: a new key, a new manifest, and the payment. Blocks are file, row group, first row and rows; `columns` is
    the number of features, none for sets. The number of the release.
    """

def parts_published(key: str | PathLike[str], out: str | PathLike[str]) -> bool:
    """
    Whether the key's one output is at `out`, and the key destroyed.
    """

def preprocessing(certificate: str) -> tuple[list[str], str]:
    """
    What became of values before anything else, column by column, and what numbers are about: as the command line says it.
    """

def profile_delta(text: str, epsilon: SupportsFloat | SupportsIndex) -> tuple[float, float]:
    """
    `(delta, ln delta)` of a profile at an epsilon.
    """

def profile_epsilon(text: str, delta: SupportsFloat | SupportsIndex) -> float:
    """
    The least epsilon of a profile at a delta.
    """

def rate_limits(hits: SupportsIndex, runs: SupportsIndex, alarm: SupportsFloat | SupportsIndex) -> tuple[float, float]:
    """
    Limits of a rate, each wrong with probability at most `alarm` (Clopper and Pearson).
    """

def set_plan(facts: str, adjacency: str) -> str:
    """
    The best signature of sets at a budget.
    """

def to_exchange(text: str, certificate: str | None = None) -> str:
    """
    A guarantee in the form that other accountants read; of a release where its certificate is given.
    """
