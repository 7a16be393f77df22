"""`release.json`: what every file and every column of a run means, for programs.

`format` is 1. It changes when a field that is there changes its meaning or goes; new fields may come.
"""

from typing import Any

from indistinct.data import Table
from indistinct.plans.account import Account, ToldRelease
from indistinct.plans.check import unit_words
from indistinct.plans.folder import CHARGE, Folder
from indistinct.report.tables import ERROR, HIGH, LEVEL, LOW, Measured

FORMAT = 1
_UNITS = {"count": "records", "rank": "share of the records", "density": "share of the records per unit"}
_ENDINGS = {
    "_low": "lower end of an interval of",
    "_high": "upper end of an interval of",
    "_below": "counted are records below this value of",
}
_MEANINGS = {
    "count": "number of records, with noise",
    "sum": "sum of the values, with noise",
    "mean": "mean of the values, from a noisy sum and a noisy number of records",
    "rank": "the share of records that lie below the answer",
}


def dictionary(account: Account, folder: Folder) -> dict[str, Any]:
    """All of it, as JSON."""
    plan, epsilon = account.checked.plan, account.subject.data()["epsilon"]
    return {
        "format": FORMAT,
        "title": account.title,
        "source": plan.about.source,
        "contact": plan.about.contact,
        "date": account.date,
        "guarantee": {
            "epsilon": epsilon["epsilon"],
            "delta": epsilon["delta"],
            "adjacency": plan.terms.adjacency.value,
            "protected": unit_words(plan),
            "for": "all files together",
            "file": CHARGE,
        },
        "interval_level": LEVEL,
        "files": [_file(one, account.checked.table, folder) for one in account.releases],
    }


def _file(one: ToldRelease, table: Table, folder: Folder) -> dict[str, Any]:
    part = one.part
    return {
        "file": f"{part.name}.csv",
        "sha256": folder.digest(part.name),
        "rows": len(one.rows),
        "release": part.name,
        "kind": part.kind,
        "of": list(part.columns),
        "by": list(getattr(part, "by", ())),
        "post_processing": f"fitted to {part.drawn}.csv" if one.fitted else part.processed or None,
        "mechanism": str(part.at(one.scale)),
        "noise": {"law": part.noise.value, "scale": one.scale},
        "expected_error": {"value": part.error(one.scale), "of": part.error_words},
        "notes": one.notes,
        "columns": _columns(one, table),
    }


def _columns(one: ToldRelease, table: Table) -> list[dict[str, Any]]:
    where = Measured.of(one.header)
    types = [kind.value for kind in one.part.types(table)]
    found = []
    for place, name in enumerate(one.header):
        if place < where.number:
            role, meaning = "label", _label(one, name)
        elif place == where.number:
            role = "fitted" if one.fitted else "estimate"
            meaning = _MEANINGS.get(name, f"{one.what}" + ("" if one.fitted else ", with noise"))
        else:
            role = {ERROR: "standard_error", LOW: "interval_low", HIGH: "interval_high"}[name]
            meaning = {
                ERROR: "standard deviation of the noise in the estimate",
                LOW: f"lower end of the interval of the estimate, about {one.part.uncertainty}",
                HIGH: f"upper end of the interval of the estimate, about {one.part.uncertainty}",
            }[name]
        entry = {"name": name, "type": types[place] if place < len(types) else None, "role": role}
        entry |= {"meaning": meaning, "unit": _unit(one, name, where, place)}
        if role.startswith("interval"):
            entry["level"] = LEVEL
        found.append(entry)
    return found


def _label(one: ToldRelease, name: str) -> str:
    declared = dict(one.part.terms.columns)
    if name in _MEANINGS:
        return _MEANINGS[name]
    for ending, words in _ENDINGS.items():
        stem = name.removesuffix(ending)
        if stem != name and stem in declared and name not in declared:
            return f"{words} {stem}"
    return f"value of {name}" if name in declared or name in one.part.columns else f"{name} of the row"


def _unit(one: ToldRelease, name: str, where: Measured, place: int) -> str | None:
    """Of a number; those of an error and of the ends of an interval are their estimate's."""
    name = one.header[where.number] if place > where.number else name
    if name in _UNITS:
        return _UNITS[name]
    declared = dict(one.part.terms.columns)
    own = next((s for e in _ENDINGS if (s := name.removesuffix(e)) in declared), None)
    if own is None and name in ("sum", "mean"):
        own = getattr(one.part, "column", None)
    if own not in declared or declared[own].categories is not None:
        return None
    return declared[own].unit or f"as in the column {own}"
