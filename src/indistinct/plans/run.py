"""Running a plan: check, read, charge, draw, write; in that order, and each release once."""

import glob
import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from indistinct.boundary import guarded
from indistinct.errors import ArgumentError, FileError, check_positive
from indistinct.files import meaning, read_bytes, whole
from indistinct.noise import SystemSource
from indistinct.plans.account import DICTIONARY, Account
from indistinct.plans.check import Checked, budget_lines, check_plan, unit_words
from indistinct.plans.declarations import DataSource
from indistinct.plans.dictionary import dictionary
from indistinct.plans.folder import CHARGE, Folder
from indistinct.plans.page import to_markdown, to_page
from indistinct.plans.plan import Plan
from indistinct.plans.planned_release import FittedPart, PlannedRelease, Say
from indistinct.plans.same_data import DataKey
from indistinct.report import Subject, User, explain
from indistinct.report.pdf import print_page, print_text
from indistinct.report.text import short

REPORT, TEXT, PRINTED = "report.html", "report.md", "report.pdf"


def run_plan(plan: Plan, out: str | Path, say: Say = lambda line: None, *, pdf: bool = False) -> Path:
    """Everything that the plan asks, written to a folder; the path of its report. With `pdf` it is also
    printed, by a browser that is there, else as text by matplotlib.

    A run that was interrupted is finished by running it again; one that is complete costs nothing. Another
    plan, or data that have changed since, are refused.
    """
    folder = Folder(Path(out))
    before = _charged(folder, plan)
    checked = check_plan(plan, None if before is None else _scales(before))
    for line in str(checked).splitlines():
        say(line)
    with folder.alone():
        return _run(checked, folder, say, pdf)


def _run(checked: Checked, folder: Folder, say: Say, pdf: bool) -> Path:
    terms = checked.plan.terms
    files = _files(terms.data)
    charge = _charged(folder, checked.plan)  # once more: now nobody else writes it
    if charge is not None and not folder.data_key().same(files, charge["data"]):
        allowed = "as they were, or in a new folder (--out), where the plan is charged once more"
        raise ArgumentError("data", "files that changed since the budget was charged", allowed)
    missing = _missing(checked, folder, charge)
    if missing:
        say(f"reading 0/{len(missing)}: the table")
    with guarded("the table"):
        checked.table.totals([bounded for part, _ in missing for bounded in part.sums])
    looked = {}
    for place, (part, _) in enumerate(missing, start=1):
        say(f"reading {place}/{len(missing)}: {part.name}")
        with guarded("the table"):
            looked[part.name] = part.look(checked.table)
    key = DataKey.of(files)
    data = key.digest(files) if charge is None else ""
    with checked.table.unchanged():  # what was read, and its digest, belong to one version of the files
        pass
    subject = _subject(checked)
    if charge is not None:
        _check_charge(charge, checked, subject, folder)
    else:
        charge = _charge(checked, subject, data)
        folder.write_data_key(key)
        folder.write_charge(charge)
        say(f"charged: epsilon {charge['epsilon']:.6g} at delta {short(terms.delta) if terms.delta else '0'}")
    for part, scale in missing:
        path = folder.write_rows(part.drawn, _rows(part, scale, looked[part.name]))
        _note(charge, part, folder)
        folder.write_charge(charge)
        done = sum(one["released"] for one in charge["releases"])
        say(f"released {done}/{len(charge['releases'])}: {path}")
    for part, scale in zip(checked.parts, checked.scales, strict=True):
        if isinstance(part, FittedPart) and not os.path.lexists(folder.result(part.name)):
            _, *drawn = folder.read_rows(part.drawn)
            say(f"made from {part.drawn}.csv: {folder.write_rows(part.name, part.result(scale, drawn, say))}")
        if not os.path.lexists(folder.path / f"{part.name}.parquet"):
            folder.write_parquet(part.name, part.types(checked.table), blanks=part.blanks)
    account = Account.of(checked, subject, charge, folder)
    for told in account.releases:
        for words in told.warnings:
            say(f"Warning: {told.part.name}: {words}")
    report = _report(account, folder, pdf)
    if charge["status"] == "complete" and not missing:
        say(f"complete, nothing new was charged: {folder.path}")
    charge["status"] = "complete"
    folder.write_charge(charge)
    return report


def _report(account: Account, folder: Folder, pdf: bool) -> Path:
    """For people, for other texts, for programs and for print; all from what was released."""
    text = to_markdown(account)
    folder.write_text(TEXT, text)
    told = json.dumps(dictionary(account, folder), indent=2, allow_nan=False, ensure_ascii=False)
    folder.write_text(DICTIONARY, told + "\n")
    html, page = to_page(account), folder.path / REPORT
    as_it_was = os.path.lexists(page) and read_bytes(page, links=False) == html.encode()
    folder.write_text(REPORT, html)
    if pdf and not (as_it_was and os.path.lexists(folder.path / PRINTED)):
        with TemporaryDirectory() as place:
            made = Path(place, PRINTED)
            if print_page(page, made) or print_text(text, made):
                with whole(folder.path / PRINTED) as file:
                    file.write(made.read_bytes())
    return page


def _charged(folder: Folder, plan: Plan) -> dict[str, Any] | None:
    """What this plan was charged here before, if it was."""
    charge = folder.charge()
    if charge is not None and charge["plan"] != plan.digest:
        allowed = (
            "a folder of its own for each plan (--out): another one was charged there, and what this one"
            " costs would be added to that"
        )
        raise ArgumentError("out", str(folder.path), allowed)
    if charge is not None:
        with meaning(folder.path / CHARGE, "as this plan has written it"):
            releases = charge["releases"]
            if [one["name"] for one in releases] != [part.name for part in plan.parts]:
                raise ValueError
            for number in (charge["epsilon"], *_scales(charge)):
                check_positive("scale", number)
            if not all(isinstance(one["released"], bool) for one in releases):
                raise ValueError
    return charge


def _scales(charge: dict[str, Any]) -> list[float]:
    return [one["scale"] for one in charge["releases"]]


def _check_charge(charge: dict[str, Any], checked: Checked, subject: Subject, folder: Folder) -> None:
    """Refuses to finish a run with noise that costs other than what was charged: it would be less, or the
    report would say so. Digits of another version of the package do not count."""
    costs = subject.data()["epsilon"]["epsilon"]
    if costs > checked.plan.terms.budget.limit * (1 + 1e-6):  # whatever a file says, the budget is the plan's
        allowed = (
            f"a folder whose {CHARGE} has scales within the plan's budget; they cost epsilon {costs:.6g}"
        )
        raise ArgumentError("out", str(folder.path), allowed)
    if _scales(charge) != list(checked.scales) or not math.isclose(costs, charge["epsilon"], rel_tol=1e-6):
        allowed = f"a folder whose {CHARGE} states what its scales cost, epsilon {costs:.6g}"
        raise ArgumentError("out", str(folder.path), allowed)


def _missing(
    checked: Checked, folder: Folder, charge: dict[str, Any] | None
) -> list[tuple[PlannedRelease, float]]:
    """What is still to be drawn."""
    missing = []
    for part, scale in zip(checked.parts, checked.scales, strict=True):
        name = part.name
        there = os.path.lexists(folder.result(part.drawn))
        if charge is not None and _entry(charge, name)["released"] and not there:
            raise ArgumentError(
                "out",
                str(folder.path),
                f"a folder with {part.drawn}.csv: it was released, and to draw it again would cost again",
            )
        for file in (part.drawn, name):
            if (charge is None or not there) and os.path.lexists(folder.result(file)):
                raise ArgumentError("out", str(folder.path), f"a folder without {file}.csv")
        if not there:
            missing.append((part, scale))
        elif charge is not None:
            seen = _entry(charge, name).get("sha256")
            if seen is not None and seen != folder.digest(part.drawn):
                raise FileError(folder.result(part.drawn), "it is not as it was released")
            _note(charge, part, folder)  # also where a run was interrupted between the file and its note
    return missing


def _note(charge: dict[str, Any], part: PlannedRelease, folder: Folder) -> None:
    _entry(charge, part.name).update(released=True, sha256=folder.digest(part.drawn))


def _rows(part: PlannedRelease, scale: float, looked: Any) -> Iterator[list[Any]]:
    yield part.header
    yield from part.draw(scale, looked, SystemSource())


def _entry(charge: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in charge["releases"] if one["name"] == name)
    return found


def _subject(checked: Checked) -> Subject:
    """The guarantee of all releases together."""
    terms = checked.plan.terms
    subject = explain(checked.mechanism, delta=terms.delta, adjacency=terms.adjacency)
    named = ", ".join(f"{part.name} ({part.kind})" for part in checked.parts)
    if terms.user is None:
        return replace(subject, expression=named)
    told, user = [], User(terms.user, terms.most)
    if terms.most is not None:
        told.append(f"up to {terms.most} records of each user take part in a release; all are protected")
    if clipped := [part.name for part in checked.parts if part.clips_totals]:
        told.append(f"all records take part in {', '.join(clipped)}, where the total of each user is clipped")
        user = User(terms.user)
    return replace(subject, expression=named, sampling=tuple(told), user=user)


def _charge(checked: Checked, subject: Subject, data: str) -> dict[str, Any]:
    plan, terms, readings = checked.plan, checked.plan.terms, subject.data()
    releases = [
        {
            "name": part.name,
            "kind": part.kind,
            "columns": list(part.columns),
            "noise": part.noise_name,
            "scale": scale,
            "expected_error": part.error(scale),
            "released": False,
        }
        for part, scale in zip(checked.parts, checked.scales, strict=True)
    ]
    return {
        "status": "charged",
        "date": datetime.now(UTC).date().isoformat(),
        "words": budget_lines(plan),
        "unit": unit_words(plan),
        "adjacency": terms.adjacency.value,
        "budget": {"epsilon": terms.budget.epsilon, "delta": terms.delta, "split": terms.split.value},
        "epsilon": readings["epsilon"]["epsilon"],
        "delta": terms.delta,
        "releases": releases,
        "readings": readings,
        "plan": plan.digest,
        "data": data,
    }


def _files(data: DataSource) -> list[str]:
    if data.database is not None:
        log = f"{data.database}.wal"  # what was committed last may be there alone
        return [data.database, *([log] if os.path.exists(log) else [])]
    files: list[str] = []
    for path in (*data.csv, *data.parquet):
        files += [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    return files
