"""Running a plan: check, read, charge, draw, write; in that order, and each release once."""

import glob
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.errors import ArgumentError
from indistinct.plans.check import Checked, budget_lines, check_plan, unit_words
from indistinct.plans.folder import Folder, identity_of
from indistinct.plans.page import results_html
from indistinct.plans.parts import Part
from indistinct.plans.plan import DataSource, Plan
from indistinct.report import Subject, explain
from indistinct.report.page import to_html

Say = Callable[[str], None]
REPORT = "report.html"


def run_plan(plan: Plan, out: str | Path, say: Say = lambda line: None) -> Path:
    """Everything that the plan asks, written to a folder; the path of its report.

    A run that was interrupted is finished by running it again. Another plan, or data that have changed since,
    are refused.
    """
    folder = Folder(Path(out))
    before = folder.charge()
    if before is not None and before["plan"] != plan.digest:
        raise ArgumentError(
            "out", str(out), "a folder of its own for each plan: another one was charged there"
        )
    checked = check_plan(plan, None if before is None else [one["scale"] for one in before["releases"]])
    for line in str(checked).splitlines():
        say(line)
    with folder.alone():
        return _run(checked, folder, say)


def _run(checked: Checked, folder: Folder, say: Say) -> Path:
    data = identity_of(_files(checked.plan.data))
    charge = _charged(folder, checked.plan)  # once more: now nobody else writes it
    if charge is not None and charge["data"] != data:
        raise ArgumentError(
            "data", "files that changed since the budget was charged", "as they were, to finish this run"
        )
    missing = _missing(checked, folder, charge)
    for place, (part, _) in enumerate(missing, start=1):
        say(f"reading {place}/{len(missing)}: {part.asked.name}")
        part.look(checked.table)
    with checked.table.unchanged():  # what was read belongs to one version of the files
        pass
    subject = _subject(checked)
    if charge is None:
        charge = _charge(checked, subject, data, folder)
        folder.write_charge(charge)
        say(f"charged: epsilon {charge['epsilon']:.6g} at delta {checked.plan.delta:g}")
    for part, scale in missing:
        path = folder.write_rows(part.asked.name, _rows(part, scale, checked))
        _entry(charge, part.asked.name)["released"] = True
        folder.write_charge(charge)
        done = sum(one["released"] for one in charge["releases"])
        say(f"released {done}/{len(charge['releases'])}: {path}")
    for part in checked.parts:
        if not (folder.path / f"{part.asked.name}.parquet").exists():
            folder.write_parquet(part.asked.name)
    results = results_html(checked, folder)
    title = "Private results, and what they can tell about one person"
    report = folder.write_text(REPORT, to_html(subject, title=title, results=results))
    charge["status"] = "complete"
    folder.write_charge(charge)
    return report


def _charged(folder: Folder, plan: Plan) -> dict[str, Any] | None:
    """What this plan was charged here before, if it was."""
    charge = folder.charge()
    if charge is not None and charge["plan"] != plan.digest:
        allowed = "a folder of its own for each plan: another one was charged there"
        raise ArgumentError("out", str(folder.path), allowed)
    return charge


def _missing(checked: Checked, folder: Folder, charge: dict[str, Any] | None) -> list[tuple[Part, float]]:
    """What is still to be drawn."""
    missing = []
    for part, scale in zip(checked.parts, checked.scales, strict=True):
        name = part.asked.name
        there = folder.result(name).exists()
        if charge is None and there:
            raise ArgumentError("out", str(folder.path), f"a folder without {folder.result(name).name}")
        if charge is not None and _entry(charge, name)["released"] and not there:
            raise ArgumentError(
                "out",
                str(folder.path),
                f"a folder with {name}.csv: it was released, and to draw it again would cost again",
            )
        if not there:
            missing.append((part, scale))
        elif charge is not None:  # interrupted between the file and its note
            _entry(charge, name)["released"] = True
    return missing


def _rows(part: Part, scale: float, checked: Checked) -> Iterator[list[Any]]:
    yield part.header
    yield from part.draw(scale, checked.table)


def _entry(charge: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in charge["releases"] if one["name"] == name)
    return found


def _subject(checked: Checked) -> Subject:
    """The guarantee of all releases together."""
    plan = checked.plan
    subject = explain(checked.mechanism, delta=plan.delta, adjacency=plan.adjacency)
    named = ", ".join(f"{part.asked.name} ({part.asked.kind.value})" for part in checked.parts)
    if plan.user is None:
        return replace(subject, expression=named)
    sampling = f"at most {plan.most} records of each {plan.user} take part in a release; all are protected"
    return replace(subject, expression=named, sampling=(sampling,))


def _charge(checked: Checked, subject: Subject, data: str, folder: Folder) -> dict[str, Any]:
    plan, readings = checked.plan, subject.data()
    releases = [
        {
            "name": part.asked.name,
            "kind": part.asked.kind.value,
            "columns": list(part.asked.columns),
            "noise": part.noise.value,
            "scale": scale,
            "expected_error": part.error(scale),
            "released": False,
        }
        for part, scale in zip(checked.parts, checked.scales, strict=True)
    ]
    return {
        "status": "charged",
        "words": budget_lines(plan),
        "unit": unit_words(plan),
        "adjacency": plan.adjacency.value,
        "budget": {"epsilon": plan.epsilon, "delta": plan.delta, "split": plan.split.value},
        "epsilon": readings["epsilon"]["epsilon"],
        "delta": plan.delta,
        "releases": releases,
        "readings": readings,
        "plan": plan.digest,
        "data": data,
    }


def _files(data: DataSource) -> list[str]:
    if data.database is not None:
        return [data.database]
    files: list[str] = []
    for path in (*data.csv, *data.parquet):
        files += [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    return files
