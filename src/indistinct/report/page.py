"""A report as one HTML page: the sentences, the charts and the table, with nothing to fetch.

No script, no font, no picture from elsewhere: the file can be mailed, archived and printed.
"""

from html import escape
from typing import TYPE_CHECKING

from indistinct.report.phrases import whom
from indistinct.report.style import STYLE
from indistinct.report.svg import belief_chart, profile_chart, tradeoff_chart
from indistinct.report.text import LEAD, foot, sentences, subject_lines, table

if TYPE_CHECKING:
    from indistinct.report.subject import Subject


def to_html(subject: "Subject") -> str:
    """The page; the same account as the text, so that nothing can differ."""
    data = subject.data()
    (what, expression), *more = subject_lines(data)
    lines = f"<dt>{what}</dt><dd><code>{escape(expression)}</code></dd>"
    lines += "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in more)
    title = f"What this release can tell about {whom(data).title}"
    body = f"<h1>{title}</h1>\n<dl>{lines}</dl>\n{guarantee_html(subject)}"
    return document(f"{title}: {data['expression']}", body, foot(data))


def guarantee_html(subject: "Subject", heading: str = "h2") -> str:
    """What someone can learn: sentences, charts and a table."""
    data = subject.data()
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences(data))
    rows = "".join(
        f'<tr><th scope="row"{" class=part" if name.startswith(" ") else ""}>{escape(name.strip())}</th>'
        f"<td>{escape(value)}</td></tr>"
        for name, value in table(data)
    )
    drawn = subject.drawable
    charts = belief_chart(drawn) + tradeoff_chart(drawn) + profile_chart(drawn)
    return (
        f"<{heading}>In words</{heading}>\n<p>{LEAD}:</p>\n<ul>{told}</ul>\n"
        f'<{heading}>In pictures</{heading}>\n<div class="charts">{charts}</div>\n'
        f"<{heading}>In numbers</{heading}>\n<table><caption>Rounded towards caution.</caption>"
        f"<tbody>{rows}</tbody></table>\n"
    )


def document(title: str, body: str, closing: str) -> str:
    """A whole page."""
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f'<meta name="description" content="A differential privacy report made by indistinct.">'
        f"<style>{STYLE}</style></head>\n<body><main>\n{body}"
        f"</main><footer><p>{escape(closing)}</p></footer></body></html>\n"
    )
    return page.replace(" %", "\N{NO-BREAK SPACE}%")  # no line begins with a percent sign
