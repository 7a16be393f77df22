"""Records in the order of users, where there may be more of them than memory holds: DuckDB's sort."""

from collections.abc import Iterator, Mapping
from typing import Any

from indistinct.boundary import guarded, guarded_each
from indistinct.data.engines.sandbox import Sandbox
from indistinct.data.records.arrow import arrow_batch
from indistinct.data.records.types import ROWS, Batch, Column, Kind, Times, Type


def by_user(
    parts: Iterator[list[Any]], types: Mapping[str, Type], memory: str, threads: int | None
) -> Iterator[Batch]:
    """Parts are columns as declared, and users as an Arrow array of texts, which are compared as bytes."""
    import pyarrow as pa

    kinds = {name: Kind.NUMBER if isinstance(kind, Times) else kind for name, kind in types.items()}
    own = {Kind.TEXT: pa.large_string(), Kind.NUMBER: pa.float64()}
    held = [own.get(kind, pa.int64()) for kind in kinds.values()]
    names = [f"c{place}" for place in range(len(types))]
    schema = pa.schema([*zip(names, held, strict=True), ("users", pa.large_string())])

    def batches() -> Iterator[Any]:
        for *columns, users in parts:
            arrays = [_array(column, kind) for column, kind in zip(columns, held, strict=True)]
            yield pa.record_batch([*arrays, users], schema)

    with guarded("the table"):
        sandbox = Sandbox(memory, threads)
        sandbox.connection.register("records", pa.RecordBatchReader.from_batches(schema, batches()))
        reader = sandbox.connection.sql("SELECT * FROM records ORDER BY encode(users)").to_arrow_reader(ROWS)
    for batch in guarded_each("the table", reader):
        with guarded("the table"):
            read = arrow_batch(batch, kinds, users=True)
        yield read


def _array(column: Column, kind: Any) -> Any:
    """As Arrow holds it; what is missing is null."""
    import pyarrow as pa

    values = pa.array(column.values, mask=column.missing)
    if column.words is None:
        return values.cast(kind)
    return pa.DictionaryArray.from_arrays(values, pa.array(column.words, pa.large_string())).cast(kind)
