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
    told = [*_users(part)]
    declared = dict(part.terms.columns)
    for name in dict.fromkeys((*part.columns, *getattr(part, "by", ()))):
        if name in declared:
            told += _column(part, name, declared[name])
    if isinstance(part, FittedPart):
        told.append(
            f"Post-processing: this is fitted to released numbers ({part.drawn}.csv) and has no interval of"
            " its own; it costs no privacy."
        )
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


def _column(part: PlannedRelease, name: str, column: DeclaredColumn) -> list[str]:
    outside, missing = _policies(part.terms, name, column)
    told = []
    if column.ends is not None:
        low, high = (readable(end) for end in column.ends)
        if outside is Outside.CLIP:
            counted = "counted there" if part.kind not in _SUMS else "used as that"
            told.append(
                f"Values of {name} below {low} or above {high} are moved to the nearer end and {counted}."
                + (" The intervals do not show how far this moves the answer." if part.kind in _SUMS else "")
            )
        elif outside is Outside.DROP:
            told.append(f"Records whose {name} is below {low} or above {high} are left out.")
    elif outside is Outside.DROP:
        told.append(f"Records whose {name} is not one of the listed categories are left out.")
    if missing is Missing.DROP:
        told.append(f"Records without {name}, or where it cannot be read, are left out.")
    return told


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
