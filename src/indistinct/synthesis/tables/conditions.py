"""What may be asked of drawn rows: conditions on single columns, all of which hold, and rules that forbid.

A condition is one value, a range `(low, high)` of numbers with both of its ends (None: without one), a list
of such alternatives, or None for a value that is missing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from indistinct.data import Categories, Celled, OrMissing, inner
from indistinct.errors import ArgumentError, check_real
from indistinct.synthesis.tables.decode import Determined, check_plain

Wanted = dict[str, list[Any]]
"""For each column that is read: the categories, ranges or None of which one is wanted."""


@dataclass(frozen=True)
class Forbidden:
    """A combination that no row has, by a rule that everybody knows.

    >>> Forbidden({"age": (0, 15), "married": "yes"}).all_of
    (('age', ((0, 15),)), ('married', ('yes',)))
    """

    all_of: tuple[tuple[str, tuple[Any, ...]], ...]
    """Columns, and the alternatives for each."""

    def __init__(self, all_of: Mapping[str, Any]) -> None:
        if not isinstance(all_of, Mapping) or not all_of:
            raise ArgumentError("all_of", all_of, "a mapping from one or more columns to what is forbidden")
        object.__setattr__(self, "all_of", tuple((name, _listed(own)) for name, own in all_of.items()))
        for name, alternatives in self.all_of:
            for one in alternatives:
                for value in one if isinstance(one, tuple) else (one,):
                    check_plain(f"all_of {name!r}", value)

    @property
    def conditions(self) -> dict[str, list[Any]]:
        """What was forbidden, as it can be given."""
        return {name: list(alternatives) for name, alternatives in self.all_of}


def wanted(
    argument: str,
    conditions: Mapping[str, Any],
    domains: Mapping[str, Celled],
    determined: Mapping[str, Determined],
) -> Wanted:
    """Conditions as alternatives for the columns that are read."""
    if not isinstance(conditions, Mapping):
        raise ArgumentError(argument, conditions, "a mapping from names of columns to what they shall be")
    found: Wanted = {}
    for name, asked in conditions.items():
        if (rule := determined.get(name)) is not None:
            own, alternatives = rule.by, _causes(argument, name, rule, domains[rule.by], asked)
        elif name in domains:
            own, alternatives = name, _alternatives(f"{argument} {name!r}", domains[name], asked)
        else:
            raise ArgumentError(argument, name, f"one of {', '.join([*domains, *determined])}")
        if own in found:
            raise ArgumentError(argument, name, f"given once: it and {own!r} are one column")
        found[own] = alternatives
    return found


def _listed(asked: Any) -> tuple[Any, ...]:
    """The alternatives, with numbers of NumPy as Python's; a tuple is a range and so one of them."""
    several = isinstance(asked, list | set | frozenset | np.ndarray)
    return tuple(
        tuple(map(_plain, one)) if isinstance(one, tuple | list) else _plain(one)
        for one in (asked if several else [asked])
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _alternatives(argument: str, domain: Celled, asked: Any) -> list[Any]:
    own, listed = inner(domain), _listed(asked)
    if not listed:
        raise ArgumentError(argument, asked, "one value at least")
    found: list[Any] = []
    for one in listed:
        if one is None:
            if not isinstance(domain, OrMissing):
                raise ArgumentError(argument, None, "a value: nothing was declared to be missing")
            found.append(None)
        elif isinstance(own, Categories):
            known = not isinstance(one, tuple) and any(
                one == value and type(one) is type(value) for value in own.values
            )
            if not known:
                raise ArgumentError(argument, one, f"of its categories, {list(own.values)!r}")
            found.append(one)
        else:
            found.append(_range(argument, one, float(own.edges[0]), float(own.edges[-1]), own.of))
    return found


def _range(argument: str, asked: Any, least: float, most: float, times: Any) -> tuple[float, float]:
    allowed = f"a number or a range (low, high) of them between {least:g} and {most:g}"
    if isinstance(asked, tuple) and len(asked) != 2:
        raise ArgumentError(argument, asked, allowed)
    ends = asked if isinstance(asked, tuple) else (asked, asked)
    if times is not None:
        ends = tuple(end if isinstance(end, int | float | None) else times.number(end) for end in ends)
    low, high = (
        free if end is None else check_real(argument, end, allowed)
        for end, free in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if not (low <= high and low <= most and high >= least):
        raise ArgumentError(argument, asked, allowed)
    return max(low, least), min(high, most)


def _causes(argument: str, name: str, rule: Determined, domain: Celled, asked: Any) -> list[Any]:
    """The values of the column that determines another, where that one is as asked."""
    values, listed = dict(rule.values), _listed(asked)
    found = [value for value in domain.labels if any(values[value] == one for one in listed)]
    if not found:
        raise ArgumentError(f"{argument} {name!r}", asked, f"of {sorted(set(values.values()), key=str)!r}")
    return found
