"""What no error bar shows: that values were clipped, records left out, users limited, and answers fitted.
Said beside every release that it concerns: an answer that is far off for these reasons has a narrow interval
too.
"""

import math
from collections.abc import Iterator

from indistinct.plans.declarations import KEEP
from indistinct.plans.plan import Plan
from indistinct.plans.planned_release import FittedPart, PlannedRelease
from indistinct.report.tables import readable
from indistinct.tables.notes import effects, joined

_ADDED_UP = {"sum", "mean", "variance", "linear", "logistic", "correlation", "covariance"}
"""Kinds whose answers move with clipped values. In others these are in the first or the last cell."""
_COUNTS = {"count", "histogram"}
"""Kinds whose numbers add up to all records that take part."""
_NO_DOMAIN = {"heavy-hitters", "bounds", "outside"}
"""Kinds that do not look at the declared domain of their column, or count what is outside."""


def notes(plan: Plan, part: PlannedRelease) -> list[str]:
    """What clipping, lists and limits can do to the numbers of a release, and which release of the plan says
    how
    much that is, or how to ask for one; and what was done to the numbers after the noise."""
    told = [*_columns(plan, part), *_users(plan, part)]
    if isinstance(part, FittedPart):
        told.append(
            f"Post-processing: this is fitted to released numbers ({part.drawn}.csv) and has no interval of"
            " its own; it costs no privacy."
        )
    if part.uncertainty != PlannedRelease.uncertainty:
        told.append(f"These intervals are about {part.uncertainty}.")
    if part.processed:
        told.append(f"Post-processing: {part.processed}.")
    return told


def implausible(part: PlannedRelease, header: list[str], rows: list[list[str]]) -> list[str]:
    """Counts that do not add up to about as many records as the plan says, by what was released alone."""
    records = part.terms.data.records
    if records is None or part.kind not in _COUNTS or not rows:
        return []
    place = header.index("count")
    total = sum(float(row[place]) for row in rows)
    unsure = 4 * math.sqrt(sum(float(row[place + 1]) ** 2 for row in rows))
    if records / 2 - unsure <= total <= 2 * records + unsure:
        return []
    return [
        f"Look again: these counts add up to about {readable(round(total))}, and the plan says that there are"
        f" about {readable(records)} records. Perhaps a column is not what it was declared to be, its"
        " categories are written otherwise, or most records are left out."
    ]


def _columns(plan: Plan, part: PlannedRelease) -> Iterator[str]:
    declared = dict(plan.terms.columns)
    own = () if part.kind in _NO_DOMAIN else part.columns
    for name in dict.fromkeys((*own, *dict(part.groups))):
        column = declared.get(name)
        if column is None:
            continue
        if column.found is not None:
            finder = plan.finders(part)[name].name
            yield (
                f"Groups are the frequent values of {name} that the release {finder} has found, up to"
                f" {column.found} of them, and the last one is for all other values; records in which {name}"
                " is missing are left out. The interval does not show it."
            )
            continue
        listed = column.categories is not None
        outside = column.outside or ("drop" if listed else "clip")
        low, high = ("", "") if column.ends is None else map(column.words, column.ends)
        beyond = f"whose {name} is not listed" if listed else f"with {name} outside its bounds"
        if part.kind == "hierarchy" and column.within is not None:
            beyond = f"whose {name} is not listed within their {column.within}"
        told = effects(
            name,
            None if column.ends is None else (low, high),
            outside,
            "keep" if column.missing in ("error", KEEP) else "drop",
            added=part.kind in _ADDED_UP and name in own,
            beyond=beyond,
        )
        if told:
            yield f"{joined(told)}. {_asked(plan, name)}"


def _users(plan: Plan, part: PlannedRelease) -> Iterator[str]:
    terms = plan.terms
    if terms.user is None:
        return
    total = getattr(part, "user_total", None)
    if total is not None:
        yield (
            f"All records of a user ({terms.user}) take part, and where their total is more than"
            f" {readable(total)} it is scaled down: numbers are too small where that happens. The interval"
            " does not show it."
        )
    elif terms.most is not None and part.kind != "outside":
        yield (
            f"Of a user ({terms.user}) with more than {terms.most} records, {terms.most} take part, chosen at"
            " random: the rest is missing from counts and sums, and in a mean such users weigh less."
            f" {_asked(plan, None)}"
        )


def _asked(plan: Plan, column: str | None) -> str:
    """Which release says how many are concerned; else, how to ask."""
    for part in plan.parts:
        if part.kind == "outside" and getattr(part, "column", None) == column:
            return f"The interval does not show it; the release {part.name} says how many that concerns."
    key = "users = true" if column is None else f'column = "{column}"'
    return f'The interval does not show it; a release with kind = "outside" and {key} would.'
