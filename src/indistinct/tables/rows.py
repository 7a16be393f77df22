"""Results as rows: which cell they are about, an estimate, its error and its interval."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from indistinct.data import Categories, Celled, Hierarchy, Intervals, Kind, OrMissing, flat, inner, kind_of

Row = list[Any]
ERRORS = ("standard_error", "low", "high")
"""What stands after an estimate: the deviation of its noise, and a 95 % interval."""


def estimated(value: float, error: float, low: float, high: float, grain: float | None = None) -> Row:
    """The last columns of a row, without digits that mean nothing; `grain` tells them where the error has
    other units than the value."""
    own = error if grain is None else grain
    return [rounded(value, own), rounded(error, error), rounded(low, own), rounded(high, own)]


def counted(value: float, error: float, low: float, high: float) -> Row:
    """The same of whole numbers that add up, with every digit: rounded once more, they might not."""
    return [int(value), rounded(error, error), int(low), int(high)]


def axes_header(axes: Sequence[tuple[str, Celled]]) -> Row:
    """Names of the columns that say which cell: two for an interval."""
    return [
        title
        for name, domain in axes
        for title in ([f"{name}_low", f"{name}_high"] if len(blank(domain)) == 2 else [name])
    ]


def axes_types(axes: Sequence[tuple[str, Celled]]) -> list[Kind]:
    """What these columns hold."""
    return [
        kind_of(domain) if len(blank(domain)) == 1 else Kind.NUMBER
        for _, domain in axes
        for _ in blank(domain)
    ]


def cells(axes: Sequence[tuple[str, Celled]], by: Sequence[str] | None = None) -> Iterator[Row]:
    """Every cell of the table by these columns, or by all of them; the last column runs fastest."""
    sizes = {name: range(domain.size) for name, domain in axes if by is None or name in by}
    chosen = tuple(sizes) if by is None else by
    for places in product(*(sizes[name] for name in chosen)):
        at = dict(zip(chosen, places, strict=True))
        yield [
            text
            for name, domain in axes
            for text in (label(domain, at[name]) if name in at else blank(domain))
        ]


def label(domain: Celled, place: int) -> Row:
    """What a cell is called in a row of the result; two entries for an interval."""
    if isinstance(domain, OrMissing):
        absent = ["missing" for _ in blank(domain)]
        return absent if place == domain.size - 1 else label(domain.domain, place)
    if isinstance(domain, Categories):
        return [domain.values[place]]
    if isinstance(domain, Intervals):
        return [domain.edges[place], domain.edges[place + 1]]
    low = domain.low + place * domain.width
    return [low, domain.high if place + 1 == domain.count else domain.low + (place + 1) * domain.width]


def blank(domain: Celled) -> Row:
    """In place of a column that a marginal sums over."""
    return [""] if isinstance(inner(domain), Categories) else ["", ""]


def nodes(query: Hierarchy) -> tuple[Row, list[Row]]:
    """What each number of a hierarchy is called, with a header: the cells of its ancestors and its own,
    nothing below."""
    axes = [(name, flat(domain)) for name, domain in query.levels]
    empty = [blank(domain) for _, domain in axes]
    level: list[list[Row]] = [[]]
    found = [level]
    encoding = query.encoding
    for (_, domain), parents, places in zip(axes, encoding.tree.parents, encoding.places, strict=True):
        pairs = zip(parents.tolist(), places.tolist(), strict=True)
        level = [[*level[parent], label(domain, place)] for parent, place in pairs]
        found.append(level)
    rows = [
        [text for texts in (*node, *empty[len(node) :]) for text in texts]
        for level in found
        for node in level
    ]
    return axes_header(axes), rows


def rounded(value: float, error: float | None) -> float:
    """Without digits that mean nothing: a thousandth of the error is kept."""
    if not error or not math.isfinite(error):
        return value
    return round(value, 3 - math.floor(math.log10(error)))
