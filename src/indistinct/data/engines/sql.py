"""SQL that counts as the kernel does, for engines that count by themselves.

The dialects of DuckDB and Spark agree on all that is used here, except for quotes around names and
`SqlWords`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indistinct.data.engines.aggregates import Aggregate
from indistinct.data.records.domain import Bins, Domain, Missing, Numbers, Outside
from indistinct.data.records.encoding import ABOVE, BELOW, MISSING, Boxed, Integers
from indistinct.data.records.moments import COARSE, NumberMoments

_ROUNDS = 1.5 * 2.0**52
"""Added and taken away again, it rounds numbers below 2**51 to integers as `rint` does: halves to even."""
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


@dataclass(frozen=True)
class SqlWords:
    """Words that engines write differently."""

    divide: str
    """Integers, without a remainder; both are positive."""
    added: str
    """A sum of integers of 64 bits, which may be larger than these."""
    text: str


DUCKDB, SPARK = (
    SqlWords("//", "sum({})", "VARCHAR"),
    SqlWords("div", "sum(CAST({} AS DECIMAL(38, 0)))", "STRING"),
)


def grouped(
    asked: Aggregate,
    key: Callable[[str, Domain], str | None],
    held: Callable[[str], str | None],
    words: SqlWords,
) -> tuple[list[str], list[str], list[str]] | None:
    """One GROUP BY for all that is asked, if the engine has every key and number as it is declared: what is
    made of each record, the names of that which is grouped by, and what is added up. Sums are written as
    digits: they may be larger than the integers of Arrow."""
    keys = [key(name, domain) for name, domain in asked.axes.items()]
    numbers = [
        None if (column := held(name)) is None else _on_lattice(column, domain)
        for name, domain in asked.numbers
    ]
    if None in keys or None in numbers:
        return None
    inner = [f"{made} AS k{place}" for place, made in enumerate(keys)]
    inner += [f"{made} AS q{place}" for place, made in enumerate(numbers)]
    outer = ["count(*)"]
    for place, ((name, domain), squares) in enumerate(asked.numbers.items()):
        added = [
            f"q{place}",
            _squared(f"q{place}", NumberMoments(name, domain, 3), words) if squares else "0",
        ]
        sums = [f"count(q{place})", *(words.added.format(one) for one in added)]
        outer += [f"CAST({one} AS {words.text})" for one in sums]
    return inner or ["1 AS one"], [f"k{place}" for place in range(len(keys))], outer


def _on_lattice(column: str, domain: Numbers) -> str | None:
    """A number as `Boxed` rounds it, or NULL where its record is left out; None where one is to be
    refused."""
    if domain.missing is not Missing.DROP or domain.outside is Outside.ERROR or domain.of is not None:
        return None
    x, low, high = f"CAST({column} AS DOUBLE)", number(domain.low), number(domain.high)
    step = Boxed((("x", domain),)).step
    clipped = f"greatest(least({x}, {high}), {low}) / {number(step)}"
    near = f"CAST(({clipped} + {number(_ROUNDS)}) - {number(_ROUNDS)} AS BIGINT)"
    inside = f" AND {x} >= {low} AND {x} <= {high}" if domain.outside is Outside.DROP else ""
    return f"CASE WHEN {column} IS NOT NULL AND NOT isnan({x}){inside} THEN {near} END"


def _squared(q: str, moments: NumberMoments, words: SqlWords) -> str:
    """`NumberMoments.squared`, in the same integers."""
    half, near = moments.half, f"(abs({q} - {moments.middle}) {words.divide} {COARSE})"
    twice = f"(2 * {near} * {near}) {words.divide} {half // COARSE} * {COARSE} - {half}"
    # not for NULL: these functions leave it out
    return f"CASE WHEN {q} IS NOT NULL THEN greatest(least({twice}, {half}), {-half}) END"


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
