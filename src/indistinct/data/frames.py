"""Columns as a pandas frame, with declared types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.types import Kind
from indistinct.errors import DataError, needs

ORDERED_CATEGORY = "ordered category"
"""The name of the type of categories that have an order: that in which they are declared."""


def pandas_frame(
    columns: Mapping[str, npt.NDArray[Any]],
    types: Mapping[str, str],
    categories: Mapping[str, list[Any]],
) -> Any:
    """Columns as a pandas frame; categorical ones list the declared categories."""
    with needs("synthesis"):
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]

    frame = pd.DataFrame(dict(columns))
    for name, listed in categories.items():  # where there are no texts, pandas cannot see that they would be
        if name in columns and name not in types and all(isinstance(value, str) for value in listed):
            frame[name] = frame[name].astype(pd.Series(listed).dtype)
    for name, kind in types.items():
        if name not in columns or str(frame[name].dtype) == kind:
            continue
        known = kind in ("category", ORDERED_CATEGORY) and name in categories
        own = pd.CategoricalDtype(categories[name], ordered=kind == ORDERED_CATEGORY) if known else kind
        frame[name] = frame[name].astype(own)
    return frame


def pandas_holds(
    values: npt.NDArray[Any],
    name: str,
    kind: str,
    categories: Mapping[str, list[Any]],
    *,
    rounding: float = 0.01,
) -> bool:
    """Whether a pandas type of this name can hold the values of a column as they are, up to rounding."""
    with needs("synthesis"):
        import pandas as pd

    try:
        with np.errstate(over="ignore"):
            made = pandas_frame({name: values}, {name: kind}, categories)[name]
        if not pd.api.types.is_numeric_dtype(made.dtype):
            return True
        numbers = made.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.allclose(
            numbers, np.asarray(values, dtype=np.float64), rtol=rounding, atol=0, equal_nan=True
        )
    except (TypeError, ValueError, OverflowError):
        return False


def frame_from_file(path: str | Path, kinds: Mapping[str, Kind]) -> Any:
    """The columns of a CSV or Parquet file that are named; empty is missing, and no word is.

    Their values are there as they are: this is for those who may look at records, and no part of a release.
    """
    with needs("synthesis"):
        import pandas as pd

    texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
    try:
        if Path(path).suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, dtype=dict.fromkeys(texts, str), keep_default_na=False, na_values=[""])
    except ValueError:  # of pandas and of Arrow, that it cannot be parsed
        raise DataError(f"{path} cannot be read as CSV or, if it is so named, as Parquet") from None
    if unknown := [name for name in kinds if name not in frame]:
        raise DataError(f"{path} has no column {unknown[0]!r}; it has {', '.join(map(repr, frame))}")
    frame = frame[list(kinds)]
    for name, kind in kinds.items():
        try:
            if kind in (Kind.INTEGER, Kind.NUMBER):
                frame = frame.astype({name: "Int64" if kind is Kind.INTEGER else "float64"})
        except (ValueError, TypeError):  # whose message shows a value
            raise DataError(f"column {name!r} of {path} does not hold {kind.value}") from None
    return frame
