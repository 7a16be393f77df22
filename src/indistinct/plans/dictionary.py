"""`release.json`: what every file and every column of a run means, for programs.

`format` is 1. It changes when a field that is there changes its meaning or goes; new fields may come.
"""

from collections.abc import Sequence
from typing import Any

from indistinct.data import Table
from indistinct.plans.check import unit_words
from indistinct.plans.folder import CHARGE, Folder
from indistinct.plans.told import ToldRelease, ToldRun
from indistinct.report.tables import ERROR, HIGH, LEVEL, LOW, RANK_ERROR, Measured

FORMAT = 1
_UNITS = {
    "count": "records",
    RANK_ERROR: "records",
    "rank": "share of the records",
    "density": "share of the records per unit",
}
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


def dictionary(account: ToldRun, folder: Folder) -> dict[str, Any]:
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
        "files": [file for one in account.releases for file in _files(one, account.checked.table, folder)],
    }


def _files(one: ToldRelease, table: Table, folder: Folder) -> list[dict[str, Any]]:
    """What was drawn, and what was made from it, if anything was."""
    part = one.part
    drawn = {
        "release": part.name,
        "kind": part.kind,
        "of": list(part.columns),
        "by": [name for name, _ in part.groups],
        "mechanism": str(part.at(one.scale)),
        "noise": {"law": part.noise_name, "scale": one.scale},
        "expected_error": {"value": part.error(one.scale), "of": part.error_words},
        "post_processing": part.processed or None,
        "notes": one.notes,
    }
    types = [kind.value for kind in part.types(table)]
    if not one.fitted:
        return [{**_content(part.name, folder), **drawn, "columns": _columns(one, one.header, types)}]
    header = folder.read_rows(part.drawn)[0]
    made = drawn | {"mechanism": None, "noise": None, "post_processing": f"fitted to {part.drawn}.csv"}
    return [
        {**_content(part.drawn, folder), **drawn, "columns": _columns(one, header, [None] * len(header))},
        {**_content(part.name, folder), **made, "columns": _columns(one, one.header, types, fitted=True)},
    ]


def _content(name: str, folder: Folder) -> dict[str, Any]:
    return {
        "file": f"{name}.csv",
        "sha256": folder.digest(name),
        "rows": len(folder.read_rows(name)) - 1,
    }


def _columns(
    one: ToldRelease, header: Sequence[str], types: Sequence[str | None], *, fitted: bool = False
) -> list[dict[str, Any]]:
    where = Measured.of(header)
    found = []
    for place, (name, kind) in enumerate(zip(header, types, strict=True)):
        role, meaning = "label", _label(one, name)
        if place == where.number:
            role = "fitted" if fitted else "estimate"
            meaning = _MEANINGS.get(name, one.what + ("" if fitted else ", with noise"))
        elif place > where.number:
            role = {LOW: "interval_low", HIGH: "interval_high"}.get(name, name)
            meaning = {
                ERROR: "standard deviation of the noise in the estimate",
                RANK_ERROR: "expected error, in records too many or too few below the estimate",
                LOW: f"lower end of the interval of the estimate, about {one.part.uncertainty}",
                HIGH: f"upper end of the interval of the estimate, about {one.part.uncertainty}",
            }[name]
        unit = _unit(one, name if name == RANK_ERROR else header[min(place, where.number)])
        entry = {"name": name, "type": kind, "role": role, "meaning": meaning, "unit": unit}
        found.append(entry | ({"level": LEVEL} if role.startswith("interval") else {}))
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


def _unit(one: ToldRelease, name: str) -> str | None:
    """Of a number; those of an error and of the ends of an interval are their estimate's."""
    if name in _UNITS:
        return _UNITS[name]
    declared = dict(one.part.terms.columns)
    own = next((stem for end in _ENDINGS if (stem := name.removesuffix(end)) in declared), None)
    if own is None and name in ("sum", "mean"):
        own = getattr(one.part, "column", None)
    if own not in declared or declared[own].categories is not None:
        return None
    return declared[own].unit or f"as in the column {own}"
