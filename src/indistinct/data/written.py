"""Results in another format. What is copied here was released already."""

import os
from pathlib import Path


def parquet_from_csv(source: Path, target: Path) -> bool:
    """The same table as Parquet, there in full or not at all; False where pyarrow is not installed."""
    try:
        from pyarrow import csv, parquet
    except ImportError:
        return False
    partial = target.with_name(target.name + ".partial")
    parquet.write_table(csv.read_csv(source), partial)
    os.replace(partial, target)
    return True
