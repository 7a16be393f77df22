"""A report as one HTML page: the sentences, the charts and the table, with nothing to fetch.

No script, no font, no picture from elsewhere: the file can be mailed, archived and printed.
"""

from html import escape
from typing import TYPE_CHECKING

from indistinct.report.phrases import whom
from indistinct.report.svg import belief_chart, profile_chart, tradeoff_chart
from indistinct.report.text import LEAD, foot, sentences, subject_lines, table

if TYPE_CHECKING:
    from indistinct.report.subject import Subject

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6573; --line: #dfe3e8; --paper: #ffffff;
  --card: #f6f7f9; --main: #1f5fa8; --band: #1f5fa826; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a3acb9; --line: #333b47;
  --paper: #14181e; --card: #1c222b; --main: #7fb2ec; --band: #7fb2ec2e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 2.5rem 1.5rem 3rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.8rem; } h3 { font-size: 1rem; margin: 1.6rem 0 0.4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.2rem; margin: 0;
  padding: 1rem 1.2rem; background: var(--card); border-radius: 0.6rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.95em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
ul { margin: 0; padding-left: 1.2rem; max-width: 46rem; } li { margin: 0.55rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1.4rem; }
.one { max-width: 30rem; } figure { margin: 0; } svg { display: block; width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: 0.88rem; margin-top: 0.3rem; }
figcaption strong { color: var(--ink); }
svg text { fill: var(--soft); font-size: 11px; font-family: inherit; }
svg text.name, svg text.mark { fill: var(--ink); font-size: 12px; }
svg text.mark { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--line); stroke-width: 1; }
.plain { fill: none; stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
.main { fill: none; stroke: var(--main); stroke-width: 2.2; stroke-linejoin: round; }
.band { fill: var(--band); stroke: none; } .heat { fill: var(--main); } .dot { fill: var(--ink); }
table { border-collapse: collapse; width: 100%; font-size: 0.93rem; }
caption { text-align: left; color: var(--soft); font-size: 0.88rem; padding-bottom: 0.4rem; }
th, td { text-align: left; padding: 0.35rem 0.2rem; border-bottom: 1px solid var(--line);
  font-weight: normal; }
td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: 1.5rem; }
th.part { padding-left: 1.4rem; color: var(--soft); }
footer { color: var(--soft); font-size: 0.88rem; margin-top: 1.6rem; max-width: 46rem; }
@media print { :root { --ink: #000000; --soft: #444444; --line: #cccccc; --paper: #ffffff; --card: #ffffff;
  --main: #1f5fa8; --band: #1f5fa826; } body { max-width: none; padding: 0; font-size: 10pt; }
  dl { border: 1px solid var(--line); } .charts { grid-template-columns: repeat(3, 1fr); gap: 0.8rem; }
  figure, li, tr, dl { break-inside: avoid; } h2 { break-after: avoid; } @page { margin: 16mm; } }
"""


def to_html(subject: "Subject", *, title: str | None = None, results: str = "") -> str:
    """The page; the same account as the text, so that nothing can differ. `results` are HTML that comes
    before it: what was released, where that is known."""
    data = subject.data()
    (what, expression), *more = subject_lines(data)
    lines = f"<dt>{what}</dt><dd><code>{escape(expression)}</code></dd>"
    lines += "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in more)
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences(data))
    rows = "".join(
        f'<tr><th scope="row"{" class=part" if name.startswith(" ") else ""}>{escape(name.strip())}</th>'
        f"<td>{escape(value)}</td></tr>"
        for name, value in table(data)
    )
    charts = belief_chart(subject) + tradeoff_chart(subject) + profile_chart(subject)
    if title is None:
        title = f"What this release can tell about {whom(data).title}"
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}: {escape(data['expression'])}</title>"
        f'<meta name="description" content="A differential privacy report made by indistinct.">'
        f"<style>{_STYLE}</style></head>\n<body><main>\n<h1>{title}</h1>\n<dl>{lines}</dl>\n{results}"
        f"<h2>In words</h2>\n<p>{LEAD}:</p>\n<ul>{told}</ul>\n"
        f'<h2>In pictures</h2>\n<div class="charts">{charts}</div>\n'
        f"<h2>In numbers</h2>\n<table><caption>Rounded towards caution.</caption>"
        f"<tbody>{rows}</tbody></table>\n"
        f"</main><footer><p>{escape(foot(data))}</p></footer></body></html>\n"
    )
    return page.replace(" %", "\N{NO-BREAK SPACE}%")  # no line begins with a percent sign
