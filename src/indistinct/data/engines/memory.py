"""Records in memory: NumPy arrays, and whatever speaks the Arrow C interface (pandas, Polars, Arrow)."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from indistinct.data.engines.table import BatchedTable
from indistinct.data.records.types import Batch, Column, Kind, from_arrow, from_numpy, slices
from indistinct.errors import ArgumentError, DataError, needs


class MemoryTable(BatchedTable):
    """Columns in memory, of equal length."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise DataError("columns must be of equal length")
        self._columns = dict(columns)
        self._rows = lengths.pop() if lengths else 0

    def kept(self) -> "MemoryTable":
        return deepcopy(self)

    def kinds(self) -> Mapping[str, Kind]:
        return {name: column.kind for name, column in self._columns.items()}

    def batches(self, columns: tuple[str, ...], cluster: str | None) -> Iterator[Batch]:
        # A count of all records reads no column; any one says how many there are.
        names = columns or tuple(self._columns)[:1]
        order = None if cluster is None else np.argsort(self._columns[cluster].values, kind="stable")
        for part in slices(self._rows):
            rows = part if order is None else order[part]
            yield {name: self._columns[name].take(rows) for name in names}


def in_memory(data: Any) -> MemoryTable:
    """A table of a mapping from names to arrays, a structured array, or an Arrow-like object."""
    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if isinstance(data, Mapping):
        return MemoryTable(
            {str(name): from_numpy(str(name), _array(values)) for name, values in data.items()}
        )
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        allowed = "a mapping of names to arrays, or a pandas, Polars, Arrow or Spark table"
        raise ArgumentError("data", type(data), allowed)
    with needs("arrow"):
        import pyarrow as pa

    # An index is not a column: what is not named as one is not data.
    try:
        table = pa.table(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # whose first words show a value
        raise DataError(
            f"values of several types in one column. {' '.join(map(str, error.args[1:]))}"
        ) from None
    columns = {}
    for place, name in enumerate(table.column_names):
        if not name.startswith("__index_level_"):
            columns[name] = from_arrow(_one_chunk(table.column(place)))
    return MemoryTable(columns)


def _array(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) else np.asarray(values)


def _one_chunk(column: Any) -> Any:
    import pyarrow as pa

    column = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
