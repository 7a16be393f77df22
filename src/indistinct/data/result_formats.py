"""Results in another format. What is copied here was released already."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from indistinct.data.records.types import Kind
from indistinct.files import meaning, whole


def write_parquet(
    path: str | os.PathLike[str], rows: Sequence[Sequence[str]], types: Sequence[Kind], *, blanks: bool
) -> bool:
    """Rows of texts, the header first, as Parquet; False where pyarrow is not installed. Nothing is guessed
    from the values: the types are declared. What is empty is missing; a text only where `blanks` says so."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return False
    own: dict[Kind, tuple[Any, Callable[[str], Any]]] = {
        Kind.INTEGER: (pyarrow.int64(), int),
        Kind.NUMBER: (pyarrow.float64(), float),
        Kind.TEXT: (pyarrow.string(), str),
        Kind.TRUTH: (pyarrow.bool_(), {"True": True, "False": False}.__getitem__),
    }
    names, *cells = rows
    with meaning(path, "made of a result as it was written"):
        columns = zip(*cells, strict=True) if cells else [()] * len(names)
        arrays = []
        for declared, column in zip(types, columns, strict=True):
            kind, made = own[declared]
            present = declared is Kind.TEXT and not blanks
            arrays.append(pyarrow.array([made(cell) if cell or present else None for cell in column], kind))
        made_table = pyarrow.table(arrays, names=names)
    with whole(path) as file:
        parquet.write_table(made_table, file)
    return True
