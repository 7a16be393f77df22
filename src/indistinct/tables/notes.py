"""What no error bar shows, in words: that values were clipped, records left out, users limited."""

from collections.abc import Iterator

from indistinct.data import Bins, ByGroup, Numbers, Query, UserRecords, Within

_UNSEEN = "The interval does not show it."


def notes(query: Query) -> Iterator[str]:
    """What clipping, lists and limits can do to the answers of a query."""
    encoding = query.encoding
    groups = dict(encoding.keys.axes) if isinstance(encoding, ByGroup) else {}
    for name, domain in dict(encoding.declared).items():
        ends = (f"{domain.low:,g}", f"{domain.high:,g}") if isinstance(domain, Numbers | Bins) else None
        added = isinstance(domain, Numbers) and name not in groups
        beyond = f"with {name} outside its bounds" if ends else f"whose {name} is not listed"
        beyond += " within the column above" if isinstance(domain, Within) else ""
        outside, missing = domain.outside.value, domain.missing.value
        if told := effects(name, ends, outside, missing, added=added, beyond=beyond):
            yield f"{joined(told)}. {_UNSEEN}"
    if isinstance(unit := query.unit, UserRecords):
        where = "" if unit.groups is None else f" in each of at most {unit.groups} groups"
        yield (
            f"Of a user ({unit.column}) with more than {unit.most} records, {unit.most} take part{where}: the"
            f" rest is missing from counts and sums, and in a mean such users weigh less. {_UNSEEN}"
        )


def effects(
    name: str, ends: tuple[str, str] | None, outside: str, missing: str, *, added: bool, beyond: str
) -> list[str]:
    """What becomes of values of a column that are outside what was declared, and of missing ones. `added`
    says whether values are added up, and `beyond` which records are outside."""
    found = []
    if ends is not None and outside == "clip":
        low, high = ends
        moved = f"count as {low} and {high}" if added else "count in the first and the last cell"
        found.append(f"values of {name} below {low} or above {high} {moved}")
    elif outside in ("drop", "last"):
        found.append(f"records {beyond} {'are left out' if outside == 'drop' else 'count in the last group'}")
    if missing == "drop":
        found.append(f"records in which {name} is missing are left out")
    return found


def joined(told: list[str]) -> str:
    """As one sentence, without its end."""
    text = "; ".join(told)
    return text[:1].upper() + text[1:]
