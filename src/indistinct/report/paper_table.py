"""A small table as papers and spreadsheets take it: LaTeX, CSV, Markdown."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "μ": r"$\mu$",
    "∞": r"$\infty$",
    "≤": r"$\leq$",
    "<": r"$<$",
    ">": r"$>$",
}

_WRAPPED = 40
"""Longer texts than this are sentences."""


@dataclass(frozen=True)
class PaperTable:
    """Texts in rows below the names of their columns; `str` is Markdown."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Written to `path` too, if one is given."""
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        shown = ["| " + " | ".join(one.replace("|", "\\|") for one in line) + " |" for line in lines]
        return written("\n".join(shown) + "\n", path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Comma-separated, with a header; written to `path` too, if one is given."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return written(text.getvalue(), path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """A `table` of the package booktabs; written to `path` too, if one is given."""
        first, *others = (" & ".join(map(latex, line)) + r" \\" for line in (self.header, *self.rows))
        lines = [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{latex(self.caption)}}}"] if self.caption else []),
            rf"\begin{{tabular}}{{{self._columns()}}}",
            *(r"\toprule", first, r"\midrule", *others, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
        return written("\n".join(lines) + "\n", path)

    def _columns(self) -> str:
        """Names to the left, numbers to the right; sentences wrap, in a share of the line."""
        longest = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        wide = [length > _WRAPPED for length in longest]
        share = round(0.65 / max(sum(wide), 1), 2)
        plain = ["l", *"r" * (len(wide) - 1)]
        return "".join(rf"p{{{share}\linewidth}}" if w else p for w, p in zip(wide, plain, strict=True))


def latex(text: str) -> str:
    r"""Plain text as LaTeX shows it, letter by letter.

    >>> print(latex("100 % of gaussian(2) at δ = 1e-5"))
    100 \% of gaussian(2) at $\delta$ = 1e-5
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def written(text: str, path: str | Path | None) -> str:
    """The text, which is in the file too, if one is named."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
