"""SQL that counts as the kernel does, for engines that count by themselves.

The dialects of DuckDB and Spark agree on all that is used here, except for the quotes around names.
"""

from collections.abc import Callable

from indistinct.data.domain import Bins
from indistinct.data.encoding import ABOVE, BELOW, MISSING

Quote = Callable[[str], str]


def double_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def back_quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def number(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def bin_of(column: str, bins: Bins) -> str:
    """The place of a number among the bins: guessed by a division, then corrected by the bins' own ends.

    The ends are computed by the formula of `Bins.edges`, in the same arithmetic, so the result is
    that of a search among them.
    """
    x, low, high, width = f"CAST({column} AS DOUBLE)", number(bins.low), number(bins.high), number(bins.width)
    last = bins.count - 1
    guess = f"least(CAST(floor(({x} - {low}) / {width}) AS BIGINT), {last})"
    begin = f"({low} + {guess} * {width})"
    end = f"({low} + ({guess} + 1) * {width})"
    corrected = f"{guess} - CAST({x} < {begin} AS INT) + CAST({x} >= {end} AS INT)"
    return (
        f"CASE WHEN {column} IS NULL OR isnan({x}) THEN {MISSING} WHEN {x} < {low} THEN {BELOW} "
        f"WHEN {x} > {high} THEN {ABOVE} ELSE least({corrected}, {last}) END"
    )
