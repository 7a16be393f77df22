"""Running a plan: check, ask the ledger, read, charge, draw, write; in that order, and each release once.

The charge is final before any noise is drawn, and the noise follows from a key that the ledger keeps with it:
a run that was interrupted, wherever it is run again, ends with the same numbers. When all is written the key
is destroyed, and the ledger keeps the results: to lose a folder costs nothing. `guarantee.json` says what was
done; nothing is decided by it.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from indistinct.boundary import guarded
from indistinct.errors import ArgumentError, FileError, Refused
from indistinct.files import read_bytes, shown_json, whole
from indistinct.ledger import Account, Ledger, Spend
from indistinct.ledger.kept import keep, kept
from indistinct.ledger.known import own_version
from indistinct.plans.batches import ReleaseBatch, Standing, check_unit, reserve, source_files, unit_of
from indistinct.plans.check import Checked, budget_lines, check_plan, unit_words
from indistinct.plans.dictionary import dictionary
from indistinct.plans.folder import Folder
from indistinct.plans.page import to_markdown, to_page
from indistinct.plans.plan import Plan
from indistinct.plans.planned_release import FittedPart, PlannedRelease, Say
from indistinct.plans.spending import ledger_there
from indistinct.plans.told import DICTIONARY, ToldRun
from indistinct.report import Subject, User, explain
from indistinct.report.pdf import print_page, print_without_browser
from indistinct.report.text import short

REPORT, TEXT, PRINTED = "report.html", "report.md", "report.pdf"
Work = list[tuple[ReleaseBatch, Spend]]


def run_plan(
    plan: Plan, out: str | Path, say: Say = lambda line: None, *, pdf: bool = False, who: str | None = None
) -> Path:
    """Everything that the plan asks, written to a folder; the path of its report. With `pdf` it is also
    printed, by a browser that is there, else by matplotlib.

    What was released before, of the same data, is not drawn again, and costs nothing; what a run that was
    interrupted has left is finished. Releases that are new are charged to the account of the data. `who` asks
    is written down: whoever runs the process, unless told.
    """
    folder, files = Folder(Path(out)), source_files(plan.terms.data)
    if not files:
        check_plan(plan)  # says which one is missing
    place = plan.spending.place(files, folder.path)
    if not ledger_there(place):  # nothing was ever charged: a mistake leaves no trace
        check_plan(plan)
    with folder.alone(), Ledger.open(place, who=who) as ledger:
        standing = Standing.of(plan, ledger, files)
        checked = standing.checked()
        if standing.account is not None and plan.spending.cap not in (None, standing.account.terms.budget):
            say(f"Warning: the account has another cap than [ledger] states: {standing.account}")
        for line in str(checked).splitlines():
            say(line)
        return _run(checked, standing, ledger, files, folder, say, pdf)


def _run(
    checked: Checked,
    standing: Standing,
    ledger: Ledger,
    files: list[str],
    folder: Folder,
    say: Say,
    pdf: bool,
) -> Path:
    asked = standing.new(checked.parts, checked.scales)
    fresh = [batch for batch, spend in standing.before if spend.state == "reserved"] + [asked]
    _check_free(folder, [part for batch in fresh for part in batch.parts])
    account = standing.account or _opened(checked, ledger, files)
    check_unit(account, standing)
    account.add_files(files)
    done = list(standing.before)
    for _, before in done:
        _restore(account, before, folder)  # new releases may need groups that earlier ones have found
    if asked.parts:
        done.append((asked, reserve(account, asked, standing)))
    if standing.account is None and (cap := account.cap) is not None:
        kept = f"{cap.notion.value} ({cap.words})"
        other = f"indistinct ledger open {ledger.book.store.where} NAME --notion ... --data {files[0]}"
        say(
            f"opened: the account {account.name!r}, with the budget of this plan, kept in {kept}. That stays,"
            f" for all plans to come; to choose another notion or budget, before the first run: {other}"
        )
    work = [(batch, spend) for batch, spend in done if spend.state != "complete"]
    _draw(checked, account, work, standing, folder, say)
    spends = [spend for batch, _ in done if (spend := account.find(batch.key)) is not None]
    for spend in spends:
        _restore(account, spend, folder)
    return _tell(checked, standing.digest, account, spends, folder, say, pdf, anything=bool(work))


def _opened(checked: Checked, ledger: Ledger, files: list[str]) -> Account:
    """A new account for data that the ledger has not seen."""
    plan, terms = checked.plan, checked.plan.terms
    spending = plan.spending
    name = spending.account or _unused(ledger, os.path.basename(files[0]).strip()[:100])
    notion = spending.notion if checked.cap is None else checked.cap.notion.value
    how: dict[str, Any] = {"adjacency": terms.adjacency, "unit": unit_of(plan), "confirm": spending.confirm}
    budget = spending.cap or terms.budget
    try:
        return ledger.open_account(name, budget, notion=notion, **how)
    except ArgumentError as error:
        if error.argument != "budget":
            raise
        allowed = error.allowed.replace("confirm=True", "confirm = true in [budget]")
        raise ArgumentError("budget", budget, allowed) from None


def _unused(ledger: Ledger, name: str) -> str:
    """The name, or with a number where other data have it; not where a run was interrupted before it said
    which data they are."""
    taken = {state.name for state in ledger.states() if state.number > 1}
    return next(one for n in count(1) if (one := name if n == 1 else f"{name} ({n})") not in taken)


def _draw(
    checked: Checked, account: Account, work: Work, standing: Standing, folder: Folder, say: Say
) -> None:
    """Reads the records, makes the charge final, draws, writes."""
    for batch, _ in work:
        if batch.version != own_version():
            reason = f"indistinct {batch.version} has begun this run, and only that can finish it as it was"
            raise Refused(account.name, reason)
    missing = [part for batch, _ in work for part in batch.parts]
    if any(spend.state == "reserved" for _, spend in work):
        account.check_open()  # before the records are read, which may tell something
    looked, passed = {}, False
    try:
        if missing:
            say(f"reading 0/{len(missing)}: the table")
        with guarded("the table"):
            checked.table.totals([bounded for part in missing for bounded in part.sums])
        passed = True
        for place, part in enumerate(missing, start=1):
            say(f"reading {place}/{len(missing)}: {part.name}")
            with guarded("the table"):
                looked[part.name] = part.look(checked.table)
        with checked.table.unchanged():
            standing.check_data(account)  # what was read, and its digest, belong to one version of the files
    except BaseException as error:
        for batch, spend in work:
            if spend.state == "reserved":  # nothing was drawn; but that it failed may tell something
                # who stops a run when the records have passed has learnt that they do
                may = isinstance(error, Exception) and not isinstance(error, OSError | MemoryError)
                tells = passed or may
                account.cancel(batch.key, f"not read: {type(error).__name__}", told=tells)
        raise
    for batch, spend in work:
        secret = account.charge(batch.key, tells=batch.tells)
        now = account.find(batch.key)
        if now is None or now.digest != spend.digest:
            raise Refused(account.name, "another run has asked for something else in the meantime")
        batch.check_read(account, secret, looked)
        if spend.state == "reserved":
            say(f"charged: {_price(checked, batch, account)}")
        for place, (part, rows) in enumerate(_drawn(checked, batch, secret, looked, folder), start=1):
            path = folder.write_rows(part.drawn, _headed(part, rows))
            say(f"released {place}/{len(batch.parts)}: {path}")
        files = {f"{part.drawn}.csv": folder.result(part.drawn) for part in batch.parts}
        results = {name: read_bytes(path, links=False) for name, path in files.items()}
        keep(account, batch.key, results)
        account.complete(batch.key, {name: _sha256(content) for name, content in results.items()})


def _drawn(
    checked: Checked, batch: ReleaseBatch, secret: bytes, looked: dict[str, Any], folder: Folder
) -> Iterator[tuple[PlannedRelease, Iterator[list[Any]]]]:
    """Each release with its rows. Those whose groups others find come last, when these are written; the
    records are read once more for them. What they cost does not depend on what was found: adaptive
    composition."""
    later = []
    for part, scale in zip(batch.parts, batch.scales, strict=True):
        if part.found:
            later.append((part, scale))
        else:
            yield part, part.draw(scale, looked[part.name], batch.source(secret, part))
    asked = [part.among(checked.plan.groups_found(part, folder.read_rows)) for part, _ in later]
    with guarded("the table"):
        totals = checked.table.totals([bounded for part in asked for bounded in part.sums])
    for (part, scale), own in zip(later, asked, strict=True):
        # what is read now was not noted before: other groups, or other records, get other noise
        read = repr((own.groups, [totals[bounded].units.tolist() for bounded in own.sums]))
        source = batch.source(secret, part).about(read.encode("utf-8", "backslashreplace"))
        yield part, own.draw(scale, looked[part.name], source)


def _headed(part: PlannedRelease, rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    yield part.header
    yield from rows


def _price(checked: Checked, batch: ReleaseBatch, account: Account) -> str:
    """What a batch costs by itself, and what is left."""
    state, terms = account.state(), checked.plan.terms
    epsilon = batch.mechanism.guarantee(terms.adjacency).epsilon(terms.delta)
    assert state.cap is not None
    left = state.cap.told(state.left, account.terms.budget, down=True)
    return f"epsilon {epsilon:.6g} at delta {short(terms.delta) if terms.delta else '0'}; {left} left"


def _check_free(folder: Folder, parts: list[PlannedRelease]) -> None:
    """Refuses to write over what the ledger does not know."""
    for name in dict.fromkeys(file for part in parts for file in (part.drawn, part.name)):
        if os.path.lexists(folder.result(name)):
            allowed = (
                f"a folder without {name}.csv: the ledger knows of no such release of these data. If the plan"
                " or the data have changed, it is a new one, and charged: give it a folder of its own (--out)"
            )
            raise ArgumentError("out", str(folder.path), allowed)


def _restore(account: Account, spend: Spend, folder: Folder) -> None:
    """What was released is there, and as it was; what is missing is written again from the ledger."""
    results: dict[str, bytes] | None = None
    for name, digest in spend.digests.items():
        path = folder.path / name
        if os.path.lexists(path):
            if _sha256(read_bytes(path, links=False)) != digest:
                raise FileError(path, "it is not as it was released; remove it, and it will be written again")
            continue
        results = kept(account, spend.key) if results is None else results
        if _sha256(results.get(name, b"")) != digest:
            when = f"released on {spend.time[:10]} by {spend.who}, and too large for the ledger to keep"
            raise ArgumentError("out", str(folder.path), f"a folder with {name}: it was {when}")
        folder.write_bytes(name, results[name])


def _tell(
    checked: Checked,
    plan: str,
    account: Account,
    spends: list[Spend],
    folder: Folder,
    say: Say,
    pdf: bool,
    *,
    anything: bool,
) -> Path:
    """All that is made from the results."""
    for part, scale in zip(checked.parts, checked.scales, strict=True):
        if isinstance(part, FittedPart) and not os.path.lexists(folder.result(part.name)):
            _, *drawn = folder.read_rows(part.drawn)
            say(f"made from {part.drawn}.csv: {folder.write_rows(part.name, part.result(scale, drawn, say))}")
        if not os.path.lexists(folder.path / f"{part.name}.parquet"):
            folder.write_parquet(part.name, part.types(checked.table), blanks=part.blanks)
    subject = _subject(checked)
    charge = {**_charge(checked, subject, account, spends), "plan": plan}
    told = ToldRun.of(checked, subject, charge, folder)
    for release in told.releases:
        for words in release.warnings:
            say(f"Warning: {release.part.name}: {words}")
    report = _report(told, folder, pdf)
    folder.write_charge(charge)
    if not anything:
        say(f"complete, nothing new was charged: {folder.path}")
    return report


def _report(account: ToldRun, folder: Folder, pdf: bool) -> Path:
    """For people, for other texts, for programs and for print; all from what was released."""
    text = to_markdown(account)
    folder.write_text(TEXT, text)
    folder.write_text(DICTIONARY, shown_json(dictionary(account, folder)) + "\n")
    html, page = to_page(account), folder.path / REPORT
    as_it_was = os.path.lexists(page) and read_bytes(page, links=False) == html.encode()
    folder.write_text(REPORT, html)
    if pdf and not (as_it_was and os.path.lexists(folder.path / PRINTED)):
        with TemporaryDirectory() as place:
            made = Path(place, PRINTED)
            if print_page(page, made) or print_without_browser(html, made):
                with whole(folder.path / PRINTED) as file:
                    file.write(made.read_bytes())
    return page


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


def _charge(checked: Checked, subject: Subject, account: Account, spends: list[Spend]) -> dict[str, Any]:
    """What was done, for whoever reads the results: what `guarantee.json` says."""
    plan, terms, readings = checked.plan, checked.plan.terms, subject.data()
    digests = {name: digest for spend in spends for name, digest in spend.digests.items()}
    releases = [
        {
            "name": part.name,
            "kind": part.kind,
            "columns": list(part.columns),
            "noise": part.noise_name,
            "scale": scale,
            "expected_error": part.error(scale),
            "sha256": digests[f"{part.drawn}.csv"],
        }
        for part, scale in zip(checked.parts, checked.scales, strict=True)
    ]
    state = account.state()
    assert state.cap is not None
    receipts = [{"key": one.key, "entry": one.number, "hash": one.hash} for one in spends]
    return {
        "date": spends[0].time[:10],
        "words": budget_lines(plan),
        "unit": unit_words(plan),
        "adjacency": terms.adjacency.value,
        "budget": {"epsilon": terms.budget.epsilon, "delta": terms.delta, "split": terms.split.value},
        "epsilon": readings["epsilon"]["epsilon"],
        "delta": terms.delta,
        "releases": releases,
        "readings": readings,
        "ledger": {"account": account.name, "cap": state.cap.words, "receipts": receipts},
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
