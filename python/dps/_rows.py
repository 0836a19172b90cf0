"""Rows as the compiled part reads them: C order, aligned, native; nothing is copied that already is so."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DataError

#: From here on not every whole number is a float.
_EXACT = 2**53


def _dense(array: np.ndarray) -> np.ndarray:
    if array.ndim != 2:
        raise DataError(
            f"rows have {array.ndim} dimensions: an array of two is needed, one row a person or item"
        )
    if array.shape[1] == 0:
        raise DataError("rows have no column: there is nothing to release")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size == 4:
        wanted: Any = np.float32
    elif kind == "f" and size == 2:
        wanted = np.float32
    elif (kind == "f" and size == 8) or kind in "iub":
        wanted = np.float64
    else:
        raise DataError(
            f"an array of type {array.dtype} holds no rows: make float64, float32 or whole numbers of it"
        )
    if kind == "b" or (kind == "u" and size == 1):
        wanted = np.uint8
    if kind in "iu" and size == 8 and array.size:
        exact(array)
    return np.require(array, dtype=wanted, requirements=["C", "A"])


def exact(array: np.ndarray) -> None:
    """Refuses whole numbers that float64 rounds."""
    if int(array.max()) > _EXACT or int(array.min()) < -_EXACT:
        raise DataError("whole numbers beyond 2^53 are not exact as float64: scale them first")


def _sparse(matrix: Any) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray]:
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.dtype.kind not in "fiub" or csr.dtype.itemsize > 8:
        raise DataError(f"a sparse matrix of type {csr.dtype} holds no rows")
    if csr.dtype.kind in "iu" and csr.nnz:
        exact(csr.data)
    n, d = csr.shape
    # Before they become 32 bits: one beyond would be read as another column.
    if csr.nnz and not (0 <= int(csr.indices.min()) and int(csr.indices.max()) < d):
        raise DataError(f"a sparse matrix has an entry in no column of its {d}")
    return (
        int(n),
        int(d),
        np.require(csr.indptr, dtype=np.uintp, requirements=["C", "A"]),
        np.require(csr.indices, dtype=np.uint32, requirements=["C", "A"]),
        np.require(csr.data, dtype=np.float64, requirements=["C", "A"]),
    )


def prepared(rows: Any) -> Any:
    """What the compiled part takes, without a copy where that can be."""
    if isinstance(rows, np.ma.MaskedArray):
        if np.ma.is_masked(rows):
            raise DataError("rows have masked values: fill them before the release")
        rows = rows.data
    if isinstance(rows, np.ndarray):
        return _dense(np.asarray(rows))
    if hasattr(rows, "tocsr"):
        return _sparse(rows)
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return rows
    if isinstance(rows, (str, bytes)):
        raise DataError("rows are text: read the file first")
    if isinstance(rows, (list, tuple)):
        if any(np.ma.is_masked(row) for row in rows):
            raise DataError("rows have masked values: fill them before the release")
    return _dense(np.asarray(rows))


def listed(data: Any) -> Any:
    """Sets as iterables: rows of a sparse matrix, or of a column of lists."""
    numbers = isinstance(data, np.ndarray) and data.dtype.kind in "biuf"
    if numbers and data.ndim == 2 and data.size and data.max() <= 1:
        raise DataError(
            "a dense matrix of zeros and ones holds the items 0 and 1 alone: make it sparse, as scipy.sparse.csr_array(matrix), "
            "where it says which items a set has"
        )
    if hasattr(data, "to_pylist") and hasattr(data, "num_columns"):
        # A table of Arrow or a batch of one.
        if data.num_columns != 1:
            raise DataError(
                f"a table of {data.num_columns} columns holds no sets: give the column of lists, as table['items']"
            )
        data = data.column(0)
    elif hasattr(data, "columns"):
        # Its columns, or their names, are what it is a sequence of.
        raise DataError("a data frame holds no sets: give its column of lists, as frame['items']")
    if hasattr(data, "tocsr"):
        csr = data.tocsr()
        return [
            csr.indices[start:stop].tolist()
            for start, stop in zip(csr.indptr[:-1], csr.indptr[1:])
        ]
    if hasattr(data, "to_pylist"):
        return data.to_pylist()
    return data
