"""Two tables of the same users, one with a row for each and one with any number, joined by a key.

The unit of privacy is a user, with the row in one table and all rows in the other. What becomes of a user
depends on its own rows alone: removing them all changes nobody else's, and nothing is refused.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from indistinct.boundary import guarded
from indistinct.data.engines.memory import MemoryTable
from indistinct.data.engines.source import table
from indistinct.errors import ArgumentError


def linked(
    users: Any,
    visits: Any,
    *,
    key: str,
    of_users: Sequence[str],
    of_visits: Sequence[str],
    count: str,
    most: int,
) -> tuple[MemoryTable, MemoryTable]:
    """The columns of users, with one more for how many visits each has, at most `most`; and the columns of
    visits, with those of their users.

    Of several users with one key the first counts. Visits of nobody among the users, and what has no key, are
    left out.

    >>> people = {"name": np.array(["a", "b"]), "age": np.array([30, 40])}
    >>> days = {"name": np.array(["b", "b", "c"]), "day": np.array([1, 2, 3])}
    >>> for made in linked(people, days, key="name", of_users=["age"], of_visits=["day"], count="n", most=9):
    ...     print(sorted(made.kinds()))
    ['age', 'n', 'name']
    ['age', 'day', 'name']
    """
    owners, owned = in_memory("users", users), in_memory("visits", visits)
    with guarded("the tables"):
        first: dict[str, int] = {}
        for place, owner in enumerate(owners.owners(key)):
            if owner is not None:
                first.setdefault(owner, place)
        places = [-1 if owner is None else first.get(owner, -1) for owner in owned.owners(key)]
        whose = np.array(places, dtype=np.int64)
        kept, belong = np.array(list(first.values()), dtype=np.int64), np.flatnonzero(whose >= 0)
        counts = np.bincount(whose[belong], minlength=1 + int(kept.max(initial=-1)))
        people = owners.at([key, *of_users], kept) | {count: np.minimum(counts[kept], most)}
        events = owned.at([key, *of_visits], belong) | owners.at(of_users, whose[belong])
    return MemoryTable(people), MemoryTable(events)


def in_memory(argument: str, data: Any) -> MemoryTable:
    """Data as a table in memory; others would have to be joined where they are."""
    if not isinstance(found := table(data), MemoryTable):
        raise ArgumentError(
            argument, type(data).__name__, "in memory: arrays, or a pandas, Polars or Arrow table"
        )
    return found
