"""The closed table of what can be reproduced, and the loop that does it.

To add a figure: one function that returns a `Figure`, and one entry here.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from indistinct.errors import ArgumentError
from indistinct.reproduce import (
    capacity,
    conversions,
    functional_renyi,
    noisy_sgd,
    private_images,
    regions,
    renyi_dp,
)
from indistinct.reproduce.draw import draw, markdown, write_data
from indistinct.reproduce.figure import Entry, Figure, FigureTable

PAPERS = {
    "000": "Chaudhuri, Imola and Machanavajjhala 2019, Capacity Bounded Differential Privacy",
    "002": "Mironov 2017, Rényi Differential Privacy",
    "003": "Jiang, Sun and Yu 2023, Functional Rényi Differential Privacy for Generative Modeling",
    "004": "Asoodeh, Liao, Calmon, Kosut and Sankar 2021, Three Variants of Differential Privacy",
}

CATALOGUE = {
    "000-fig1a": Entry("linear adversaries of Laplace noise", capacity.figure_1a),
    "000-fig1b": Entry("polynomial adversaries of Laplace noise", capacity.figure_1b),
    "000-fig2a": Entry("linear adversaries of Gaussian noise", capacity.figure_2a),
    "000-fig2b": Entry("polynomial adversaries of Gaussian noise", capacity.figure_2b),
    "000-table1": Entry("privacy parameters against linear and all functions", capacity.table_1),
    "000-text": Entry("where the printed bounds fail, and statements in the text", capacity.text),
    "002-fig1": Entry("Rényi budget curves of three mechanisms", renyi_dp.figure_1),
    "002-fig2": Entry("four bounds for composed randomized response and Laplace noise", renyi_dp.figure_2),
    "002-fig3": Entry("all orders against thirteen orders", renyi_dp.figure_3),
    "002-table1": Entry("properties shared by pure and Rényi DP, measured", renyi_dp.table_1),
    "002-table2": Entry("Rényi curves in closed form", renyi_dp.table_2),
    "002-text": Entry("numbers and statements in the text", renyi_dp.text),
    "003-fig1": Entry("images at ε = 1", private_images.figure_1),
    "003-fig2": Entry("images at ε = 0.2", private_images.figure_2),
    "003-fig3": Entry("colour images at ε = 1 and 0.2", private_images.figure_3),
    "003-fig4": Entry("images at ε = 10", private_images.figure_4),
    "003-table1": Entry("what a network learns from images at ε = 1 and 0.2", private_images.table_1),
    "003-table2": Entry("the ε of the loop's parameters", functional_renyi.table_2),
    "003-table3": Entry("what a network learns from images at ε = 10", private_images.table_3),
    "003-text": Entry("why the loop is not private", functional_renyi.text),
    "004-fig1": Entry("how the three variants follow from each other", conversions.figure_1),
    "004-fig2": Entry("the optimal conversion and its closed bounds", conversions.figure_2),
    "004-fig3": Entry("ε of composed Gaussian noise", conversions.figure_3),
    "004-fig4": Entry("ε of noisy SGD, σ = 4", noisy_sgd.figure_4),
    "004-fig5": Entry("ε and δ of noisy SGD, σ = 0.6", noisy_sgd.figure_5),
    "004-fig6": Entry("two outer bounds of one Gaussian release", regions.figure_6),
    "004-fig7": Entry("privacy regions of composed Gaussian noise", regions.figure_7),
    "004-fig8": Entry("privacy regions of noisy SGD", noisy_sgd.figure_8),
    "004-fig9": Entry("which region of noisy SGD is smaller", noisy_sgd.figure_9),
    "004-text": Entry("theorems and remarks that carry numbers", regions.text),
}


def chosen(names: Sequence[str]) -> list[str]:
    """The names asked for, in the catalogue's order; `all` stands for every one."""
    for name in names:
        if name not in CATALOGUE and name != "all":
            raise ArgumentError("name", name, f"all, list, or one of {', '.join(CATALOGUE)}")
    return [name for name in CATALOGUE if "all" in names or name in names]


def listing() -> str:
    """Every name and what it shows."""
    return "\n".join(f"{name:<11} {entry.title}" for name, entry in CATALOGUE.items())


def reproduce(names: Sequence[str], out: Path, tell: Callable[[str], None] = print) -> dict[str, Figure]:
    """Compute the named figures and write their pictures, data and claims to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    figures = {}
    for name in chosen(names):
        start = time.perf_counter()
        figure = figures[name] = CATALOGUE[name].compute()
        if figure.panels or figure.arrows:
            draw(figure, heading(name), out / f"{name}.png")
        if figure.panels or figure.table:
            write_data(figure, out / f"{name}.csv")
        if figure.table:
            below = f"\n{figure.note}\n" if figure.note and not figure.panels else ""
            text = f"# {heading(name)}\n\n{markdown(figure.table)}\n{below}"
            (out / f"{name}.md").write_text(text, encoding="utf-8")
        tell(f"{name}: {CATALOGUE[name].title} ({time.perf_counter() - start:.1f} s)")
    text = f"# What the papers say, and what comes out\n\n{claims(figures)}\n"
    (out / "claims.md").write_text(text, encoding="utf-8")
    return figures


def heading(name: str) -> str:
    """Such as "Mironov 2017, Fig. 2: ..."."""
    paper, part = name.split("-")
    words = PAPERS[paper].replace(",", "").split()
    year = next(word for word in words if word.isdigit())
    author = f"{words[0]} {year}" if words[1] == year else f"{words[0]} et al. {year}"
    place = {"f": f"Fig. {part[3:]}", "ta": f"Table {part[5:]}", "te": "text"}
    return f"{author}, {place.get(part[0]) or place[part[:2]]}: {CATALOGUE[name].title}"


def claims(figures: dict[str, Figure]) -> str:
    """The table of figure, claim, ours, agrees or not, as Markdown."""
    rows = [
        (name, claim.says, claim.ours, "yes" if claim.agrees else "**no**", claim.remark)
        for name, figure in figures.items()
        for claim in figure.claims
    ]
    return markdown(FigureTable(("figure", "the paper says", "ours", "agrees", "remark"), tuple(rows)))
