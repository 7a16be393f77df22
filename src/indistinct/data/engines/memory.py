"""Records in memory: NumPy arrays, pandas, Polars, and whatever speaks the Arrow C interface."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.boundary import guarded
from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.arrow import from_arrow, kind_of_arrow
from indistinct.data.records.reading import Raw, from_numpy, kind_of_numpy
from indistinct.data.records.types import Batch, Column, Kind, Type, slices
from indistinct.errors import ArgumentError, DataError, needs


class MemoryTable(BatchedTable):
    """Columns in memory, of equal length: NumPy arrays, pandas series or Arrow arrays by name."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise DataError("columns must be of equal length")
        self._columns = dict(columns)
        self._rows = lengths.pop() if lengths else 0
        self._read: dict[tuple[str, Type], Column] = {}

    def kept(self) -> "MemoryTable":
        return MemoryTable(deepcopy(self._columns))

    def kinds(self) -> Mapping[str, Kind]:
        return {name: _kind(column) for name, column in self._columns.items()}

    def batches(self, types: Mapping[str, Type], user: str | None) -> Iterator[Batch]:
        columns = {name: self._column(name, wanted) for name, wanted in types.items()}
        users = None if user is None else self._column(user, Kind.USER)
        whole = Batch(self._rows, columns, users)
        order = None if users is None else np.argsort(_ranks(users), kind="stable")
        for part in slices(self._rows):
            yield whole.take(part if order is None else order[part])

    def owners(self, key: str) -> list[str | None]:
        """Whose each record is, as text; None if it is nobody's. They are private."""
        self.check_column(key, Kind.USER)
        column = self._column(key, Kind.USER)
        found = zip(column.plain().tolist(), column.missing.tolist(), strict=True)
        return [None if nobody else str(owner) for owner, nobody in found]

    def at(self, names: Iterable[str], places: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Some columns at some records, in the order of these."""
        with guarded("the table"):
            return {name: _at(self._columns[name], places) for name in names}

    def _column(self, name: str, wanted: Type) -> Column:
        key = (name, wanted)
        if key not in self._read:
            with guarded(f"column {name!r}"):
                self._read[key] = _column(name, self._columns[name], wanted)
        return self._read[key]


def _ranks(users: Column) -> Any:
    """Numbers in the order of users."""
    if users.words is None:
        return users.values
    ranks = np.empty(len(users.words), dtype=np.int64)
    ranks[np.argsort(users.words)] = np.arange(len(users.words))
    return ranks[users.values]


def _kind(column: Any) -> Kind:
    if isinstance(column, np.ndarray):
        return kind_of_numpy(column.dtype)
    # The type of a pandas column depends on its values: one record more, and integers are floats or objects.
    return Kind.ANY if _of(column, "pandas") else kind_of_arrow(column.type)


def _column(name: str, column: Any, wanted: Type) -> Column:
    if isinstance(column, np.ndarray):
        return from_numpy(name, column).read(wanted)
    if _of(column, "pandas"):
        return _from_pandas(name, column, wanted)
    chunks = [column] if not hasattr(column, "chunks") else column.chunks
    # Each by itself: Arrow cannot join all dictionaries.
    return Column.join([from_arrow(chunk, wanted) for chunk in chunks or [column.combine_chunks()]])


def _from_pandas(name: str, series: Any, wanted: Type) -> Column:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]

    kind = series.dtype
    if isinstance(kind, np.dtype):
        return from_numpy(name, series.to_numpy()).read(wanted)
    missing = np.asarray(series.isna(), dtype=bool)
    if isinstance(kind, pd.CategoricalDtype):
        words = series.cat.categories.astype(object).tolist()
        return Raw(series.cat.codes.to_numpy(), missing, words).read(wanted)
    if isinstance(kind, pd.DatetimeTZDtype):
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return Raw(moments, missing, moments=True).read(wanted)
    if isinstance(kind, pd.SparseDtype):
        return from_numpy(name, np.asarray(series.array.to_dense())).read(wanted)
    if pd.api.types.is_numeric_dtype(kind) and hasattr(kind, "numpy_dtype") and not _of(kind, "pyarrow"):
        own = kind.numpy_dtype
        if isinstance(own, np.dtype) and own.kind in "iufb":
            return Raw(series.to_numpy(dtype=own, na_value=own.type(0)), missing).read(wanted)
    return Raw(series.to_numpy(dtype=object, na_value=None), missing).read(wanted)


def _at(column: Any, places: npt.NDArray[np.int64]) -> Any:
    if isinstance(column, np.ndarray):
        return column[places]
    return column.iloc[places] if _of(column, "pandas") else column.take(places)


def _of(value: Any, package: str) -> bool:
    """Known by where it was defined, so that nothing is imported for other data."""
    return type(value).__module__.split(".")[0] == package


def in_memory(data: Any) -> MemoryTable:
    """A table of a mapping from names to arrays, a structured array, a frame or an Arrow-like object."""
    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if isinstance(data, Mapping):
        return MemoryTable({str(name): _array(str(name), values) for name, values in data.items()})
    if _of(data, "pandas") and hasattr(data, "columns"):
        names = [str(name) for name in data.columns]
        return MemoryTable({n: data.iloc[:, place] for place, n in enumerate(names) if names.count(n) == 1})
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        allowed = "a mapping of names to arrays, or a pandas, Polars, Arrow or Spark table"
        raise ArgumentError("data", type(data), allowed)
    with needs("arrow"):
        import pyarrow as pa

    with guarded("the table"):
        if _of(data, "polars"):  # column by column: one that Arrow cannot hold does not matter to the others
            return MemoryTable({name: _polars_column(data[name]) for name in data.columns})
        table = data if isinstance(data, pa.Table) else pa.table(data)
    names = table.column_names
    return MemoryTable({n: table.column(place) for place, n in enumerate(names) if names.count(n) == 1})


def _polars_column(series: Any) -> Any:
    with needs("arrow"):
        import pyarrow as pa

    try:
        return pa.chunked_array(series)
    except Exception:  # by its type alone: objects of Python
        return pa.chunked_array([pa.array([b""] * len(series), pa.binary())])


def _array(name: str, values: Any) -> Any:
    if _of(values, "pyarrow"):
        return values
    with guarded(f"column {name!r}"):
        if _of(values, "pandas"):
            import pandas as pd

            return values if isinstance(values, pd.Series) else pd.Series(values)
        if _of(values, "polars"):
            return _polars_column(values)
        if isinstance(values, np.ndarray):
            held = values
        elif hasattr(values, "__array__") or isinstance(values, memoryview | array):
            held = np.asarray(values)  # which has a type of its own
        else:  # NumPy would make one type of all values
            listed = list(values)
            held = np.empty(len(listed), dtype=object)
            for place, value in enumerate(listed):
                held[place] = value
    if held.ndim != 1:
        raise DataError(f"column {name!r} must have one dimension, it has {held.ndim}")
    return held
