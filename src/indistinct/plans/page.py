"""The results of a run as part of a page: pictures where there is something to see, tables elsewhere."""

from html import escape

from indistinct.files import meaning
from indistinct.plans.check import Checked, accuracy, unit_words
from indistinct.plans.folder import Folder
from indistinct.plans.planned_release import FittedPart, PlannedRelease

_SHOWN = 24
"""Rows of a table on the page; all of them are in the file."""


def results_html(checked: Checked, folder: Folder) -> str:
    """One section for each release, from the files that were written."""
    made = " and ".join(dict.fromkeys(part.kind for part in checked.parts if isinstance(part, FittedPart)))
    fitted = f" What is called {made} is fitted to such numbers, and has no standard error." if made else ""
    terms = checked.plan.terms
    part = (
        "all records" if terms.user is None else "the records that take part, with totals as they are clipped"
    )
    head = (
        f"<h2>What was released</h2>\n<p>Protected: {escape(unit_words(checked.plan))}. Each number has"
        " noise in it; the standard error says how much. About one number in twenty is further than two"
        f" standard errors from what it is without noise, for {part}.{fitted}</p>\n"
    )
    return head + "".join(
        _section(part, scale, folder) for part, scale in zip(checked.parts, checked.scales, strict=True)
    )


def _section(part: PlannedRelease, scale: float, folder: Folder) -> str:
    with meaning(folder.result(part.name), "as it was released"):
        return _told(part, scale, folder)


def _told(part: PlannedRelease, scale: float, folder: Folder) -> str:
    header, *rows = folder.read_rows(part.name)
    told = accuracy(part, scale).removeprefix(f"{part.name}: ")
    files = f"<code>{escape(part.name)}.csv</code>"
    if not isinstance(part, FittedPart):
        files = f"All numbers: {files}"
    else:  # what was drawn, and what follows from it
        files = f"Released: <code>{escape(part.drawn)}.csv</code>; made from that: {files}"
    words = f"<p>{escape(told[0].upper() + told[1:])}. {files}</p>"
    charts = part.charts(folder.read_rows)
    several = "one" if len(charts) == 1 else "charts"
    body = f'<div class="{several}">{"".join(charts)}</div>' if charts else _table(header, rows)
    return f"<h3>{escape(part.name)}</h3>\n{words}\n{body}\n"


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<td>{escape(name.replace('_', ' '))}</td>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN]
    )
    more = f"<caption>The first {_SHOWN} of {len(rows)} rows.</caption>" if len(rows) > _SHOWN else ""
    return f"<table>{more}<tbody><tr>{head}</tr>{body}</tbody></table>"
