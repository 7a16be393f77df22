"""SQL that counts as the kernel does, for engines that count by themselves.

The dialects of DuckDB and Spark agree on all that is used here, except for the quotes around names.
"""

import numpy as np

from indistinct.data.records.domain import Bins
from indistinct.data.records.encoding import ABOVE, BELOW, MISSING, Integers

_FAR = -(2**40)
"""Below every place, also those of values far outside."""


def double_quoted(name: str) -> str:
    """A name of a column or a table, as DuckDB quotes it."""
    return '"' + name.replace('"', '""') + '"'


def back_quoted(name: str) -> str:
    """A name of a column, as Spark quotes it."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text as a literal."""
    return "'" + value.replace("'", "''") + "'"


def number(value: float) -> str:
    """A number as a literal that is read back to the last bit."""
    return f"CAST('{value!r}' AS DOUBLE)"


def whole_or_null(column: str) -> str:
    """A number as an integer of 64 bits, if it is one. Not by floor, which overflows in Spark."""
    return f"CASE WHEN {column} % 1 = 0 THEN try_cast({column} AS BIGINT) END"


def bin_of(column: str, bins: Bins) -> str:
    """The bin of a number by the formula of `Bins`, in the same arithmetic; `bin_places` reads it."""
    x, low, high = f"CAST({column} AS DOUBLE)", number(bins.low), number(bins.high)
    inside = f"{x} >= {low} AND {x} <= {high} AND NOT isnan({x})"
    return f"CASE WHEN {inside} THEN CAST({_place(column, bins)} AS BIGINT) ELSE {_rest(column, bins)} END"


def clipped_bin_of(column: str, bins: Bins) -> str:
    """The same where values outside are clipped, as fast as a plain histogram (DuckDB: floor keeps NaN).

    Grouping is by the formula as it is. A small integer type keeps far-off values from becoming groups of
    their own, and only they are looked at again.
    """
    kind = "SMALLINT" if bins.count < 2**14 else "INTEGER"
    near = f"CAST(try_cast({_place(column, bins)} AS {kind}) AS BIGINT)"
    return f"coalesce({near}, {_rest(column, bins)})"


def _place(column: str, bins: Bins) -> str:
    return f"floor((CAST({column} AS DOUBLE) - {number(bins.low)}) / {number(bins.width)})"


def _rest(column: str, bins: Bins) -> str:
    x = f"CAST({column} AS DOUBLE)"
    return (
        f"CASE WHEN {column} IS NULL OR isnan({x}) THEN {_FAR + MISSING} "
        f"WHEN {x} < {number(bins.low)} THEN {_FAR + BELOW} ELSE {_FAR + ABOVE} END"
    )


def bin_places(keys: Integers, bins: Bins) -> Integers:
    """Places in the domain from the values of `bin_of`."""
    far = keys <= _FAR
    places = np.minimum(np.maximum(keys, BELOW), bins.count - 1)
    return np.where(far, keys - _FAR, places)
