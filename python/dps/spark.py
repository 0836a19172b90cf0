"""Releases of rows that lie in many files, on Spark.

Spark retries tasks, runs them twice, and cuts data anew; noise that is drawn in a task breaks under that. Here the noise
of a block of rows is a function of the release key, the manifest, the block and its rows, so a task that is done again
leaves the same bits (``docs/proofs/parts.md``, ``docs/guides/spark.md``). Rows are read from Parquet files by name, file after
file and row group after row group, of which a worker holds one: not from a DataFrame, whose rows have no name.

Nothing leaves the workers through Spark but the numbers of parts. Parts are files in a staging folder that only its owner
reads; the release appears when all are there, at once. Files, staging folder and key must be on file systems that the driver
and all workers mount under the same names.
"""

from __future__ import annotations

import functools
import glob
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import _dps
from ._base import Mechanism
from ._checks import shown, whole
from .errors import DataError, ParameterError
from .ledger import Ledger, payer
from .matrices import Covariance
from .rows import Signs, Units, Vectors
from .sets import Sets

__all__ = ["Job", "covariance", "sets", "signs", "sketch"]

_MANIFEST, _JOB = "manifest.json", "job.json"
#: Numbers of a block, and most rows of it.
_NUMBERS, _ROWS = 1 << 22, 1 << 16
#: What lies in a folder whose log says which of its files count: Delta Lake, streams of Spark, Hudi, Iceberg.
_LOGS = ("_delta_log", "_spark_metadata", ".hoodie", "metadata/*.metadata.json*")


def _refused(name: str, value: object, allowed: str) -> ParameterError:
    message = f"{name} = {shown(value)} is not allowed: must be {allowed}"
    return ParameterError(message, parameter=name, value=shown(value), allowed=allowed)


class Job:
    """A release that is fixed and paid for, and not published yet: what is left in a staging folder.

    `Job.plan` begins one. A driver that was killed goes on with ``Job(staging, key=key)``: the ledger is not charged again.

    Parameters
    ----------
    staging : path-like
        The folder of the parts.
    key : path-like
        The file of the release key, which workers read too. It is a secret: only its path travels through Spark.
    variable : str, optional
        The environment variable in which workers find the key's digits in the place of the file. Set it where workers are
        started, never by ``spark.executorEnv``, which is logged.
    """

    def __init__(
        self, staging: str | os.PathLike[str], *, key: str | os.PathLike[str], variable: str | None = None
    ) -> None:
        self._staging, self._key, self._variable = Path(staging).resolve(), Path(key).resolve(), variable
        try:
            told = json.loads((self._staging / _JOB).read_text())
        except FileNotFoundError:
            # Cleaning up had begun: nothing can be made here, and `commit` knows whether the release is out.
            told = {"mechanism": (), "columns": [], "d": None, "parts": 0}
        self._recipe, self._columns, self._d, self._of = (
            tuple(told["mechanism"]),
            told["columns"],
            told["d"],
            told["parts"],
        )

    @functools.cached_property
    def _parts(self) -> Any:
        return _dps.Parts(self._staging / _MANIFEST, self._key)

    @classmethod
    def plan(
        cls,
        paths: Any,
        mechanism: Mechanism,
        *,
        columns: Sequence[str],
        staging: str | os.PathLike[str],
        key: str | os.PathLike[str],
        parts: int,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        label: str | None = None,
        block_rows: int | None = None,
        variable: str | None = None,
    ) -> Job:
        """Fixes files, blocks and mechanism; draws the key; charges the ledger.

        Parameters
        ----------
        paths : path-like or sequence of path-like
            Parquet files, or folders of them and of partitions (``NAME=VALUE``); what begins with ``.``, or with ``_`` and has no
            ``=``, is passed over, as by Spark. Other folders and files in them are refused, and so are tables whose log says which
            files count (Delta Lake, Iceberg, Hudi, streams of Spark): name their files.
        mechanism : Vectors, Units, Signs, Sets or Covariance
            With a public `seed`, where it takes one: every worker draws the same projection from it.
        columns : sequence of str
            The columns that enter: one a feature, or one of lists. Name them: identifiers never enter by themselves.
        staging, key : path-like
            A folder and a file that do not exist yet.
        parts : int
            Tasks. Their number changes nothing in the release.
        ledger, label
            As of `Mechanism.release`; paid now, whatever becomes of the release.
        block_rows : int, optional
            Rows of a block. A worker holds the row group that the block lies in: write Parquet in row groups that fit.
        variable : str, optional
            As of `Job`.
        """
        import pyarrow.parquet as parquet

        config = json.loads(mechanism._recipe[0])
        if config.get("seed", 0) is None:
            raise _refused("seed", None, "a public number: every worker draws the same projection from it")
        if not columns or len(set(columns)) != len(columns):
            raise _refused("columns", columns, "different names of the columns that enter")
        d = config.get("d") if mechanism._reads == "rows" else None
        if d is None and len(columns) != 1:
            raise _refused("columns", columns, "one column of lists, for sets")
        if block_rows is None:
            block_rows = max(1, min(_ROWS, _NUMBERS // (d or 1 << 6)))
        parts, block_rows = whole("parts", parts), whole("block_rows", block_rows)
        if block_rows < 1:
            raise _refused("block_rows", block_rows, "[1, inf)")
        if parts < 1:
            raise _refused("parts", parts, "[1, inf)")
        files = _files(paths)
        blocks = []
        for number, file in enumerate(files):
            footer = parquet.read_metadata(file)
            missing = [name for name in columns if name not in parquet.read_schema(file).names]
            if missing:
                raise DataError(f"{file} has no column {missing[0]!r}")
            _fits(file, list(columns), d)
            for group in range(footer.num_row_groups):
                rows = footer.row_group(group).num_rows
                blocks += [
                    (number, group, first, min(block_rows, rows - first))
                    for first in range(0, rows, block_rows)
                ]
        if not blocks:
            raise DataError("the files hold no row: nothing is planned, and nothing is paid")
        staging, key = Path(staging).resolve(), Path(key).resolve()
        staging.mkdir(mode=0o700)
        told = {
            "mechanism": mechanism._recipe,
            "columns": list(columns),
            "d": d,
            "parts": min(parts, max(1, len(blocks))),
        }
        try:
            (staging / _JOB).write_text(json.dumps(told))
            _dps.parts_plan(
                mechanism._core,
                d,
                files,
                blocks,
                key,
                staging / _MANIFEST,
                ledger=payer(ledger),
                label=label,
            )
        except BaseException:
            if not (staging / _MANIFEST).exists():
                shutil.rmtree(staging)
            raise
        return cls(staging, key=key, variable=variable)

    @property
    def id(self) -> str:
        """The public number of the release, in the ledger's label."""
        return self._parts.id()

    @property
    def rows(self) -> int:
        """How many rows there are. Where their number is protected, so is this."""
        return self._parts.rows()

    def frame(self, session: Any) -> Any:
        """A DataFrame of the numbers of parts: an action on it makes them. A second action makes the same bits again."""
        _check(session, self._variable)
        _ = self._parts  # a key that does not fit is refused here, not by every worker
        key = None if self._variable else str(self._key)
        make = _task(
            str(self._staging), key, self._variable, self._recipe, self._columns, self._d, self._of
        )
        numbers = session.range(1, self._of + 1, 1, self._of)
        return numbers.mapInArrow(make, "part long")

    def commit(self, out: str | os.PathLike[str]) -> Path:
        """Puts the parts together, publishes the release at `out`, destroys the key and removes the staging folder.

        A driver that was killed meanwhile calls it again, even where the folder is gone. Once the release is out, a folder that
        cannot be removed is a warning.
        """
        _outside(out, self._staging)
        if not _dps.parts_published(self._key, out):
            names = [str(_part(self._staging, i, self._of)) for i in range(1, self._of + 1)]
            missing = [i for i, name in enumerate(names, 1) if not os.path.exists(name)]
            if missing:
                raise DataError(f"part {missing[0]} of {self._of} is missing: nothing was published")
            _dps.parts_merge(self._staging / _MANIFEST, self._key, names, out)
        # A task that was given up may still write: it finds no folder any more.
        place, name = self._staging.parent, self._staging.name
        try:
            if self._staging.exists():
                self._staging.rename(place / f".{name}.{secrets.token_hex(4)}")
            for left in place.glob(f".{glob.escape(name)}." + "[0-9a-f]" * 8):
                shutil.rmtree(left)
        except OSError as error:
            words = f"the release is out, but its staging folder is not removed ({error.strerror}): commit again"
            warnings.warn(words, stacklevel=2)
        return Path(out)

    def run(self, session: Any, out: str | os.PathLike[str]) -> Path:
        """Makes all parts, unless the release is out, then commits."""
        if not _dps.parts_published(self._key, out):
            self.frame(session).collect()
        return self.commit(out)


def _no_table(folder: Path) -> None:
    """Refuses a folder that holds rows which were taken out of the table again, or written anew."""
    for log in _LOGS:
        if any(folder.glob(log)):
            raise DataError(
                f"{folder} is a table whose log ({log}) says which of its files count: name the files to read"
            )


def _inside(folder: Path) -> Iterator[Path]:
    """Parquet files of a folder and of its partitions; another folder may hold the same rows again."""
    _no_table(folder)
    for path in folder.iterdir():
        if path.name[0] == "." or (path.name[0] == "_" and "=" not in path.name):
            continue
        if path.is_dir():
            if "=" not in path.name or path.is_symlink():
                raise DataError(f"{path} is no folder of a partition (NAME=VALUE): name the files to read")
            yield from _inside(path)
        elif path.suffix == ".parquet":
            yield path
        else:
            raise DataError(f"{path} is no file of Parquet by its name: name the files to read")


def _files(paths: Any) -> list[str]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in map(Path, given):
        if path.is_dir():
            for above in path.resolve().parents:
                _no_table(above)
            found += sorted(str(p.resolve()) for p in _inside(path))
        else:
            found.append(str(path.resolve(strict=True)))
    # Two names of one file are one file, too.
    if not found or len({(s.st_dev, s.st_ino) for s in map(os.stat, found)}) != len(found):
        raise DataError("paths name no Parquet file, or one twice")
    return found


def _fits(file: str, columns: list[str], d: int | None) -> None:
    """Refuses, before anything is paid, columns that no worker could read; of the rows one is looked at."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(file) as held:
        for batch in held.iter_batches(1, columns=columns):
            row = batch.select(columns)
            _dps.parts_fit(row.column(0).to_pylist() if d is None else row, d)
            return


def _part(staging: Path, i: int, of: int) -> Path:
    return staging / f"{i}-{of}.part"


def _check(session: Any, variable: str | None) -> None:
    """Refuses a session that would write or send what it holds in clear."""
    context = session.sparkContext
    conf = context.getConf()

    def on(name: str) -> bool:
        return conf.get(name, "false").lower() == "true"

    if not on("spark.io.encryption.enabled"):
        raise _refused("spark.io.encryption.enabled", "false", "true: shuffle and spill are written in clear")
    if not context.master.startswith("local") and not on("spark.network.crypto.enabled"):
        raise _refused(
            "spark.network.crypto.enabled", "false", "true: what workers exchange is sent in clear"
        )
    if variable and conf.get(f"spark.executorEnv.{variable}") is not None:
        raise _refused(
            f"spark.executorEnv.{variable}", "(set)", "unset: the event log shows it; set it where workers start"
        )


@functools.lru_cache(maxsize=4)
def _mechanism(recipe: tuple[Any, ...]) -> Any:
    return _dps.Mechanism(*recipe)


def _reader(columns: list[str], lists: bool) -> Callable[[str, int, int, int], Any]:
    """Blocks of row groups; the group that was read last is kept."""
    import pyarrow.parquet as parquet

    held: dict[tuple[str, int], Any] = {}

    def read(name: str, group: int, first: int, rows: int) -> Any:
        if (name, group) not in held:
            held.clear()
            with parquet.ParquetFile(name) as file:
                held[name, group] = file.read_row_group(group, columns=columns).select(columns)
        table = held[name, group].slice(first, rows)
        return table.column(0).to_pylist() if lists else table

    return read


def _task(
    staging: str,
    key: str | None,
    variable: str | None,
    recipe: tuple[Any, ...],
    columns: list[str],
    d: int | None,
    of: int,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with the numbers of parts. It carries the path of the key, never the key."""

    def make(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for i in batch.column(0).to_pylist():
                make_part(staging, key, variable, recipe, columns, d, of, i)
            yield pyarrow.RecordBatch.from_arrays([batch.column(0)], names=["part"])

    return make


def make_part(
    staging: str,
    key: str | None,
    variable: str | None,
    recipe: tuple[Any, ...],
    columns: list[str],
    d: int | None,
    of: int,
    i: int,
) -> None:
    """Part `i` of `of`; what workers run."""
    folder = Path(staging)
    parts = _dps.Parts(folder / _MANIFEST, key, variable)
    out, read = _part(folder, i, of), _reader(columns, d is None)
    parts.make(_mechanism(tuple(recipe)), d, parts.part(i, of), out, read)


def _outside(out: str | os.PathLike[str], staging: Path) -> None:
    """Refuses a release in the folder that is removed when it is complete."""
    if Path(out).resolve().is_relative_to(staging):
        raise _refused("out", os.fspath(out), "a place outside of the staging folder, which is removed when all is done")


def _release(kinds: tuple[type, ...], what: str) -> Callable[..., Path]:
    def release(
        session: Any,
        paths: Any,
        mechanism: Mechanism,
        out: str | os.PathLike[str],
        *,
        columns: Sequence[str],
        staging: str | os.PathLike[str],
        key: str | os.PathLike[str],
        parts: int | None = None,
        **plan: Any,
    ) -> Path:
        if not isinstance(mechanism, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{what} takes a mechanism {names}, not {type(mechanism).__name__}")
        _check(session, plan.get("variable"))
        if os.path.exists(out):
            raise DataError(f"{os.fspath(out)} exists: nothing was spent")
        _outside(out, Path(staging).resolve())
        tasks = 4 * session.sparkContext.defaultParallelism if parts is None else parts
        job = Job.plan(
            paths, mechanism, columns=columns, staging=staging, key=key, parts=tasks, **plan
        )
        return job.run(session, out)

    release.__name__ = release.__qualname__ = what
    release.__doc__ = f"""Releases Parquet files as one file at `out`, which appears when it is complete and paid.

    The mechanism is {" or ".join(kind.__name__ for kind in kinds)}; all else is as of `Job.plan`, whose parts are four a core by default. The
    session must encrypt what it spills (``spark.io.encryption.enabled``), and what it sends where it has a network
    (``spark.network.crypto.enabled``).
    """
    return release


sketch = _release((Vectors, Units), "sketch")
signs = _release((Signs,), "signs")
sets = _release((Sets,), "sets")
covariance = _release((Covariance,), "covariance")
