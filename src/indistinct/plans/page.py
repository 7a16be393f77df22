"""The report of a run as a page, and as Markdown: a summary first, then every release with its numbers, then
what all of it can tell about one of those it is about."""

from html import escape

from indistinct.plans.told import ToldRelease, ToldRun
from indistinct.report.page import document, guarantee_html
from indistinct.report.phrases import whom
from indistinct.report.tables import beside, unmarked
from indistinct.report.text import LEAD, foot, sentences, subject_lines

_SAMPLE = 12
"""Rows of a table that stands below several pictures."""


def to_page(account: ToldRun) -> str:
    """One HTML page that needs nothing else. Printed, the summary is its first page."""
    facts = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in account.facts)
    glance = "".join(
        f'<tr><th scope="row"><a href="#{escape(one.part.name)}">{escape(one.title)}</a></th>'
        f"<th>{escape(one.what)}</th><td>{escape(result)}</td><td>{escape(error)}</td></tr>"
        for one in account.releases
        for result, error in [one.summary]
    )
    names = "<th>release</th><th>what it is</th><td>result</td><td>95 % interval</td>"
    data = account.subject.data()
    protected = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in subject_lines(data)[1:])
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences(data)[:2])
    body = (
        f'<header class="summary">\n<h1>{escape(account.title)}</h1>\n<dl>{facts}</dl>\n'
        f'<div class="rows glance"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{glance}</tbody></table></div>\n"
        f"<p>{escape(account.how_to_read)}</p>\n<ul>{told}</ul>\n</header>\n"
        f"<h2>What was released</h2>\n{''.join(map(_section, account.releases))}"
        f"<h2>What this can tell about {whom(data).title}</h2>\n<dl>{protected}</dl>\n"
        f"{guarantee_html(account.subject, 'h3')}"
    )
    return document(account.title, body, foot(data))


def _section(one: ToldRelease) -> str:
    files = " and ".join(f"<code>{escape(file)}</code>" for file in one.files)
    notes = "".join(f"<li>{escape(note)}</li>" for note in one.notes)
    notes = f'<ul class="notes">{notes}</ul>' if notes else ""
    charts, told = "".join(one.charts), any("<table" in chart for chart in one.charts)  # with their numbers
    if not charts:
        body = one.table.to_html(alone=True)
    elif one.part.kind == "density":  # which a picture tells, and thousands of rows do not
        body = charts
    elif len(one.charts) == 1 and not told:
        body = beside(charts, one.table)
    else:
        side_by_side = "panels" if charts.startswith('<section class="panel"') else "" if told else "charts"
        body = f'<div class="{side_by_side}">{charts}</div>' if side_by_side else charts
        body += "" if told else one.table.to_html(_SAMPLE)
    return (
        f'<section id="{escape(one.part.name)}"><h3>{escape(one.title)}</h3>\n<p>{escape(one.words)}'
        f" All numbers: {files}</p>\n{body}\n{notes}</section>\n"
    )


def to_markdown(account: ToldRun) -> str:
    """The same without pictures, for a repository or a mail."""
    lines = [f"# {account.title}", ""]
    lines += [f"- **{name}:** {text}" for name, text in account.facts]
    lines += ["", account.how_to_read, "", "## What was released"]
    for one in account.releases:
        words = f"{one.words} All numbers: {', '.join(one.files)}"
        lines += ["", f"### {unmarked(one.title)}", "", unmarked(words), ""]
        lines += [one.table.to_markdown(), ""]
        lines += [f"- {unmarked(note)}" for note in one.notes]
    data = account.subject.data()
    lines += ["", f"## What this can tell about {whom(data).title}", ""]
    lines += [f"- **{name}:** {text}" for name, text in subject_lines(data)[1:]]
    lines += ["", f"{LEAD}:", ""]
    lines += [f"- {sentence}" for sentence in sentences(data)]
    return "\n".join([*lines, "", foot(data), ""])
