"""How pages look: on a wide screen, on a phone, in the dark, and printed."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6573; --line: #dfe3e8; --paper: #ffffff;
  --card: #f6f7f9; --main: #1f5fa8; --band: #1f5fa826; --bar: #1f5fa84d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a3acb9; --line: #333b47;
  --paper: #14181e; --card: #1c222b; --main: #7fb2ec; --band: #7fb2ec2e; --bar: #7fb2ec59; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 2.5rem 1.5rem 3rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 0.8rem; } h3 { font-size: 1.05rem; margin: 2rem 0 0.3rem; }
h4 { font-size: 0.93rem; margin: 0.6rem 0 0.2rem; } a { color: var(--main); text-decoration: none; }
p { max-width: 46rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.2rem; margin: 0;
  padding: 1rem 1.2rem; background: var(--card); border-radius: 0.6rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.95em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
ul { margin: 0; padding-left: 1.2rem; max-width: 46rem; } li { margin: 0.55rem 0; }
.notes { color: var(--soft); font-size: 0.9rem; margin-top: 0.8rem; } .notes li { margin: 0.2rem 0; }
.charts, .panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr));
  gap: 1.4rem; }
.charts svg { width: 100%; } .panels .pair { display: block; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0.8rem 2.2rem;
  align-items: start; margin: 0.6rem 0 1.4rem; }
figure { margin: 0; } svg { display: block; max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: 0.88rem; margin-top: 0.3rem; }
figcaption strong { color: var(--ink); }
svg text { fill: var(--soft); font-size: 11px; font-family: inherit; }
svg text.name, svg text.mark { fill: var(--ink); font-size: 12px; }
svg text.mark { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--line); stroke-width: 1; } .empty { fill: none; }
.plain { fill: none; stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
.main { fill: none; stroke: var(--main); stroke-width: 2.2; stroke-linejoin: round; }
.whisker { fill: none; stroke: var(--ink); stroke-width: 1.1; } .bar { fill: var(--bar); }
.band { fill: var(--band); stroke: none; } .heat { fill: var(--main); } .dot { fill: var(--ink); }
.point { fill: var(--main); }
.rows { overflow: auto; max-height: 34rem; } .summary .rows { max-height: none; margin: 1.2rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.93rem; }
.alone table { width: auto; min-width: 18rem; }
caption { text-align: left; color: var(--soft); font-size: 0.88rem; padding-bottom: 0.4rem; }
th, td { text-align: left; padding: 0.3rem 0.2rem; border-bottom: 1px solid var(--line);
  font-weight: normal; vertical-align: top; }
td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: 1.2rem; }
thead th, thead td { color: var(--soft); position: sticky; top: 0; background: var(--paper);
  white-space: normal; vertical-align: bottom; }
.panels table { font-size: 0.8rem; } .panels td { padding-left: 0.6rem; } .panels .rows { max-height: 20rem; }
.glance th + th { padding-left: 1.2rem; } th.part { padding-left: 1.4rem; color: var(--soft); }
footer { color: var(--soft); font-size: 0.88rem; margin-top: 1.6rem; max-width: 46rem; }
@media (max-width: 46rem) { body { padding: 1.4rem 1rem 2rem; } h1 { font-size: 1.4rem; }
  dl, .pair { grid-template-columns: minmax(0, 1fr); } dt { margin-top: 0.3rem; } dl { gap: 0; }
  td { padding-left: 0.7rem; } .glance th + th { display: none; } }
@media print { :root { --ink: #000000; --soft: #444444; --line: #cccccc; --paper: #ffffff; --card: #ffffff;
  --main: #1f5fa8; --band: #1f5fa826; --bar: #1f5fa84d; }
  body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.4; print-color-adjust: exact; }
  h1 { font-size: 17pt; } dl { border: 1px solid var(--line); } a { color: inherit; }
  .charts { grid-template-columns: repeat(3, 1fr); gap: 0.8rem; } .panels { grid-template-columns: 1fr 1fr; }
  .rows { overflow: visible; max-height: none; } thead th, thead td { position: static; }
  table, .notes, figcaption, footer, caption { font-size: 8.5pt; }
  h2 { font-size: 13pt; } h3 { font-size: 11pt; }
  th, td { padding-top: 0.12rem; padding-bottom: 0.12rem; } .summary { break-after: page; }
  .pair { grid-template-columns: 1fr 1fr; gap: 1rem; } .pair svg { width: 100%; max-height: 110mm; }
  .pair.long { display: block; } .pair.long figure { width: 60%; }
  .pair.long .rows { columns: 2; column-gap: 8mm; margin-top: 2mm; }
  figure, li, tr, dl, .notes { break-inside: avoid; }
  h2, h3, h4, h3 + p { break-after: avoid; break-inside: avoid; }
  p { orphans: 3; widows: 3; } li { margin: 0.3rem 0; }
  @page { size: A4; margin: 15mm 14mm 16mm; @bottom-right { content: counter(page); font-size: 8pt; } } }
"""
