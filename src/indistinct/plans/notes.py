"""What no error bar shows: values that were moved, records that were left out, answers that were fitted. Said
beside every result that it concerns, from the plan alone."""

from indistinct.data import Missing, Outside
from indistinct.errors import ArgumentError
from indistinct.plans.declarations import KEEP, DeclaredColumn, Terms
from indistinct.plans.planned_release import FittedPart, PlannedRelease
from indistinct.report.tables import readable

_SUMS = {"sum", "mean", "variance", "linear", "logistic", "covariance", "correlation"}
"""Kinds whose answers are made of values, and not of counts of them."""


def notes(part: PlannedRelease) -> list[str]:
    """One sentence or two for each thing to be known."""
    told = [*_users(part), *_columns(part)]
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


def _users(part: PlannedRelease) -> list[str]:
    terms = part.terms
    if terms.user is None:
        return []
    if part.clips_totals:
        total = getattr(part, "user_total", None)
        size = "" if total is None else f" to {readable(total)}"
        return [
            f"The total of each {terms.user} is scaled down{size} where it is larger: answers are of totals"
            " as they are clipped. The intervals do not show how far that is from the answer without it."
        ]
    if terms.most is None:
        return []
    records = "1 record" if terms.most == 1 else f"{terms.most} records"
    return [
        f"At most {records} of each {terms.user} take part; of those who have more, the others are left out."
        " Answers are about the records that take part, and the intervals do not show what was left out."
    ]


def _columns(part: PlannedRelease) -> list[str]:
    """What becomes of values outside and of missing ones."""
    declared = dict(part.terms.columns)
    names = [name for name in dict.fromkeys((*part.columns, *getattr(part, "by", ()))) if name in declared]
    told, unlisted, missing = [], [], []
    for name in names:
        column = declared[name]
        outside, absent = _policies(part.terms, name, column)
        missing += [name] if absent is Missing.DROP else []
        if column.ends is None:
            unlisted += [name] if outside is Outside.DROP else []
        elif outside is not Outside.ERROR:
            low, high = (readable(end) for end in column.ends)
            told.append(_outside(part, name, f"below {low} or above {high}", outside))
    if unlisted:
        told.append(f"Records whose {_any(unlisted)} is not one of the listed categories are left out.")
    if missing:
        told.append(f"Records without {_any(missing)}, or where it cannot be read, are left out.")
    return told


def _outside(part: PlannedRelease, name: str, where: str, outside: Outside | None) -> str:
    if outside is Outside.DROP:
        return f"Records whose {name} is {where} are left out."
    if part.kind not in _SUMS or name not in part.columns:
        return f"Values of {name} {where} are moved to the nearer end and counted there."
    return (
        f"Values of {name} {where} are moved to the nearer end and used as that. The intervals do not show"
        " how far this moves the answer."
    )


def _any(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _policies(terms: Terms, name: str, column: DeclaredColumn) -> tuple[Outside | None, Missing | None]:
    """What becomes of values outside and of missing ones, as declared or by default."""
    if column.missing == KEEP:
        return (Outside.DROP if column.categories else Outside.CLIP), None
    try:
        domain = terms.axis(name) if column.categories is not None else terms.numbers(name)
    except ArgumentError:  # a column that only a synthetic table takes
        return None, None
    assert isinstance(domain.outside, Outside) and isinstance(domain.missing, Missing | None)
    return domain.outside, domain.missing
