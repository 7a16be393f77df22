"""Results in another format. What is copied here was released already."""

import os
from collections.abc import Mapping
from pathlib import Path

from indistinct.data.records.types import Kind


def parquet_from_csv(source: Path, target: Path, types: Mapping[str, Kind] | None = None) -> bool:
    """The same table as Parquet, there in full or not at all; False where pyarrow is not installed.

    With `types` nothing is guessed from the values, and what is empty is missing.
    """
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        return False
    options = None
    if types is not None:
        own = {
            Kind.INTEGER: pyarrow.int64(),
            Kind.NUMBER: pyarrow.float64(),
            Kind.TEXT: pyarrow.string(),
            Kind.TRUTH: pyarrow.bool_(),
        }
        options = csv.ConvertOptions(
            column_types={name: own[kind] for name, kind in types.items()},
            null_values=[""],
            strings_can_be_null=True,
        )
    partial = target.with_name(target.name + ".partial")
    parquet.write_table(csv.read_csv(source, convert_options=options), partial)
    os.replace(partial, target)
    return True
