"""The results of a run as part of a page: pictures where numbers lie on a line, and plain words."""

from html import escape

from indistinct.data import Bins
from indistinct.plans.check import Checked, accuracy, unit_words
from indistinct.plans.folder import Folder
from indistinct.plans.parts import Part, QueryPart, WorkloadPart
from indistinct.plans.plan import Kind
from indistinct.report.results import counts_chart

_SHOWN = 24
"""Rows of a table on the page; all of them are in the file."""


def results_html(checked: Checked, folder: Folder) -> str:
    """One section for each release, from the files that were written."""
    head = (
        f"<h2>What was released</h2>\n<p>Protected: {escape(unit_words(checked.plan))}. Each number has"
        " noise in it; the standard error says how much. About one number in twenty is further from the"
        " truth than two standard errors.</p>\n"
    )
    return head + "".join(
        _section(part, scale, folder) for part, scale in zip(checked.parts, checked.scales, strict=True)
    )


def _section(part: Part, scale: float, folder: Folder) -> str:
    name = part.asked.name
    header, *rows = folder.read_rows(name)
    told = accuracy(part, scale).removeprefix(f"{name}: ")
    words = f"<p>{escape(told[0].upper() + told[1:])}. All numbers: <code>{escape(name)}.csv</code></p>"
    chart = _chart(part, rows)
    body = f'<div class="one">{chart}</div>' if chart else _table(header, rows)
    return f"<h3>{escape(name)}</h3>\n{words}\n{body}\n"


def _chart(part: Part, rows: list[list[str]]) -> str | None:
    """A picture of counts along one column."""
    if not isinstance(part, QueryPart | WorkloadPart) or part.asked.kind not in (Kind.HISTOGRAM, Kind.PREFIX):
        return None
    if len(part.asked.columns) != 1 or not 2 <= len(rows) <= 2000:
        return None
    (column,) = part.asked.columns
    domain = part.plan.axis(column)
    values, errors = ([float(row[-k]) for row in rows] for k in (2, 1))
    if isinstance(domain, Bins):
        return counts_chart(part.asked.name, column, values, errors, ends=(domain.low, domain.high))
    return counts_chart(part.asked.name, column, values, errors, labels=[row[0] for row in rows])


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<td>{escape(name.replace('_', ' '))}</td>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN]
    )
    more = f"<caption>The first {_SHOWN} of {len(rows)} rows.</caption>" if len(rows) > _SHOWN else ""
    return f"<table>{more}<tbody><tr>{head}</tr>{body}</tbody></table>"
