"""Whose privacy is protected, and how much one of them can contribute.

`Records`: each record is someone else's. `UserRecords`: at most so many records of each user take part.
`UserTotals`: all records of a user take part and their sum is clipped. What is done with a user depends on
that user's own records only, so that adding or removing a user changes nobody else's contribution.
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.data.records.domain import GivenMissing, Missing
from indistinct.data.records.encoding import Integers, text_hashes
from indistinct.data.records.reach import GivenNorm
from indistinct.description import Described, Positive, PositiveCount, describable, given
from indistinct.errors import ArgumentError, check_count

Hashes = npt.NDArray[np.uint64]
_Owner = Annotated[str, given(str, "the name of the column that says whose a record is")]
"""Without a name nobody's records would be found, and all of them would take part."""


def _count_or_none(argument: str, value: Any) -> int | None:
    return None if value is None else check_count(argument, value, least=1)


@describable()
class Records(Described):
    """The unit is a record."""

    column: None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            raise ArgumentError("column", self.column, "absent: for users say UserRecords or UserTotals")


@describable()
class UserRecords(Described):
    """The unit is a user, named in `column`, of whom at most `most` records take part; or, with `groups`, at
    most `most` in each of at most so many groups of a query by group, which moves the sum less than as many
    in one.

    Which ones is decided by a hash of `key`, the user and the record's own (encoded) content: the choice is
    the same on every engine and in any order of records, and does not depend on other users. Equal records
    of a user are numbered, so each record has the same chance.
    """

    column: _Owner
    most: PositiveCount
    key: int = 0
    missing: GivenMissing = Missing.DROP
    """What becomes of records that belong to nobody."""
    groups: Annotated[int | None, _count_or_none] = None

    def __post_init__(self) -> None:
        key = check_count("key", self.key)
        if key >= 2**64:
            raise ArgumentError("key", key, "below 2**64")
        object.__setattr__(self, "key", key)


@describable()
class UserTotals(Described):
    """The unit is a user, named in `column`, whose records are added up and then clipped to `bound`."""

    column: _Owner
    norm: GivenNorm
    bound: Positive
    missing: GivenMissing = Missing.DROP
    """What becomes of records that belong to nobody."""

    def __post_init__(self) -> None:
        if not 1e-100 <= self.bound <= 1e100:
            raise ArgumentError("bound", self.bound, "between 1e-100 and 1e100")


Unit = Records | UserRecords | UserTotals

RECORDS = Records()


def records_of(unit: Unit) -> int:
    """How many records of one unit take part by themselves, at most."""
    return unit.most if isinstance(unit, UserRecords) else 1


def run_starts(users: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Where each user's records begin, when those of one user lie together."""
    if not len(users):
        return np.zeros(0, dtype=np.intp)
    changes = np.asarray(users[1:] != users[:-1], dtype=bool)
    return np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.intp)


def owners_of(starts: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.intp]:
    """Whose each row is, by number."""
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))


def chosen(
    unit: UserRecords, users: npt.NDArray[np.generic], rows: Integers, content: Integers, groups: Integers
) -> Integers:
    """At most `unit.most` rows of each user, or of each user in each of the groups that are chosen; by what
    is in
    them, which is the same whoever else has records."""
    starts = run_starts(users)
    owner, whose = owners_of(starts, len(users)), _user_hashes(unit.key, users[starts])
    hashed = np.zeros(len(rows), dtype=np.uint64)
    for column in content.T:
        hashed = _mix(hashed, column.astype(np.uint64))
    if unit.groups is not None:
        several = int(groups.max(initial=0)) + 1
        visits, visit = np.unique(owner * several + groups, return_inverse=True)
        visitor, group = visits // several, (visits % several).astype(np.uint64)
        order = np.lexsort((_mix(whose[visitor], group), visitor))
        place = np.empty(len(visits), dtype=np.intp)
        place[order] = np.arange(len(visits)) - run_starts(visitor)[visitor]
        keep = (place < unit.groups)[visit]
        # From here on a visit is what a user is elsewhere.
        rows, hashed, owner, whose = rows[keep], hashed[keep], visit[keep], _mix(whose[visitor], group)
    order = np.lexsort((hashed, owner))
    owner, hashed, rows = owner[order], hashed[order], rows[order]
    same = (owner[1:] == owner[:-1]) & (hashed[1:] == hashed[:-1])
    rank = _mix(_mix(whose[owner], hashed), _count_runs(same))
    order = np.lexsort((rank, owner))
    first = np.repeat(begins := run_starts(owner), np.diff(begins, append=len(owner)))
    return rows[order][np.arange(len(rows)) - first < unit.most]


def _count_runs(same: npt.NDArray[np.bool_]) -> Hashes:
    """0, 1, 2, … within each run of equal neighbours."""
    places = np.arange(len(same) + 1)
    begins = np.concatenate([[True], ~same])
    return (places - np.maximum.accumulate(np.where(begins, places, 0))).astype(np.uint64)


def _user_hashes(key: int, users: npt.NDArray[np.generic]) -> Hashes:
    """The digits of an integer are the same user as the integer, which other engines may hold."""
    if users.dtype == object:
        numbers = np.array([_is_integer(user) for user in users], dtype=bool)
        hashes = np.zeros(len(users), dtype=np.uint64)
        hashes[numbers] = _user_hashes(key, np.array([int(user) for user in users[numbers]], dtype=np.int64))
        hashes[~numbers] = text_hashes(users[~numbers], key)
        return hashes
    # The key is mixed by itself first: else it would only exchange users with each other.
    state = _mix(np.zeros(len(users), np.uint64), np.full(len(users), key, np.uint64))
    return _mix(state, users.astype(np.uint64))


def _is_integer(user: str) -> bool:
    """Whether it is how an integer of 64 bits is written."""
    if len(user) > 20 or not user.isascii() or not user.removeprefix("-").isdigit():
        return False
    return str(number := int(user)) == user and -(2**63) <= number < 2**63


def _mix(state: Hashes, value: Hashes) -> Hashes:
    """One round of SplitMix64; arithmetic wraps around."""
    mixed = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Hashes = mixed ^ (mixed >> np.uint64(31))
    return result
