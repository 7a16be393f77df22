"""What no error bar shows: that values were clipped, records left out, and users limited, said in words
beside every release that it concerns. Error bars are about noise; an answer that is far off for these reasons
has narrow ones too.
"""

from collections.abc import Iterator

from indistinct.plans.declarations import KEEP
from indistinct.plans.kinds.outside import OutsidePart, number_words
from indistinct.plans.plan import Plan
from indistinct.plans.planned_release import PlannedRelease

_ADDED_UP = {"sum", "mean", "variance", "linear", "logistic", "correlation", "covariance"}
"""Kinds whose answers move with clipped values. In others these are in the first or the last cell."""
_NO_DOMAIN = {"heavy-hitters", "bounds", "outside"}
"""Kinds that do not look at the declared domain of their column, or count what is outside."""


def bias_notes(plan: Plan) -> dict[str, list[str]]:
    """For each release, by its name: what clipping, lists and limits can do to its numbers, and which release
    of the plan says how much that is, or how to ask for one."""
    return {part.name: [*_columns(plan, part), *_users(plan, part)] for part in plan.parts}


def _columns(plan: Plan, part: PlannedRelease) -> Iterator[str]:
    declared = dict(plan.terms.columns)
    own = () if part.kind in _NO_DOMAIN else part.columns
    for name in dict.fromkeys((*own, *getattr(part, "by", ()))):
        column = declared.get(name)
        if column is None:
            continue
        effects = []
        outside = column.outside or ("drop" if column.categories is not None else "clip")
        if column.ends is not None and outside == "clip":
            low, high = (number_words(column, end) for end in column.ends)
            added = part.kind in _ADDED_UP and name in own
            moved = f"count as {low} and {high}" if added else "count in the first and the last cell"
            effects.append(f"values of {name} below {low} or above {high} {moved}")
        elif outside == "drop":
            listed = column.categories is not None
            beyond = f"whose {name} is not listed" if listed else f"with {name} outside its bounds"
            if part.kind == "hierarchy" and column.within is not None:
                beyond = f"whose {name} is not listed within their {column.within}"
            effects.append(f"records {beyond} are left out")
        if column.missing not in ("error", KEEP):
            effects.append(f"records in which {name} is missing are left out")
        if effects:
            yield f"{_joined(effects)}. {_asked(plan, name)}"


def _users(plan: Plan, part: PlannedRelease) -> Iterator[str]:
    terms = plan.terms
    if terms.user is None:
        return
    if part.clips_totals:
        yield (
            f"All records of a user ({terms.user}) take part, and where their total is more than user_total"
            " it is scaled down: numbers are too small where that happens. The error does not show it."
        )
    elif terms.most is not None and not (isinstance(part, OutsidePart) and part.column is None):
        yield (
            f"Of a user ({terms.user}) with more than {terms.most} records, {terms.most} take part, chosen at"
            " random: the rest is missing from counts and sums, and in a mean such users weigh less."
            f" {_asked(plan, None)}"
        )


def _asked(plan: Plan, column: str | None) -> str:
    """Which release says how many are concerned; else, how to ask."""
    for part in plan.parts:
        if isinstance(part, OutsidePart) and part.column == column:
            return f"The error does not show it; the release {part.name} says how many that concerns."
    key = "users = true" if column is None else f'column = "{column}"'
    return f'The error does not show it; a release with kind = "outside" and {key} would.'


def _joined(effects: list[str]) -> str:
    text = "; ".join(effects)
    return text[0].upper() + text[1:]
