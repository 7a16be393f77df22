"""What a paper or a model card says of differential privacy: a paragraph and a table.

The entries are those that Ponomareva et al. 2023 ask for ("How to DP-fy ML", on reporting): the unit of
privacy, the neighbours, how records take part, all that is accounted for, tuning, and the numbers. These
follow Gomez et al. 2025, "(ε, δ) considered harmful": the curve in one number, with what that leaves out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.description import nested
from indistinct.errors import ArgumentError, check_probability
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.tuning import RepeatAndSelect
from indistinct.report.compare import guarantee_of
from indistinct.report.data import value_of
from indistinct.report.paper_table import PaperTable, latex, written
from indistinct.report.subject import Subject, explain
from indistinct.report.text import rounded_down, rounded_up, short

_RATES = (0.001, 0.01)
_NOT_SAID = "not stated: whatever was chosen by looking at these data is not accounted for"
_NEIGHBOURS = {
    "add/remove": "data with and without one {unit}",
    "replace-one": "data of one size in which one {unit} is replaced",
    "zero-out": "data of one size in which one {unit} is there, or empty",
}


@dataclass(frozen=True)
class ModelCard:
    """A paragraph and a table; `str` is Markdown."""

    paragraph: str
    table: PaperTable

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Written to `path` too, if one is given."""
        return written(f"{self.paragraph}\n\n{self.table.to_markdown()}", path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """Written to `path` too, if one is given."""
        return written(f"{latex(self.paragraph)}\n\n{self.table.to_latex()}", path)


def model_card(
    run: Any,
    *,
    delta: float,
    unit: str = "record",
    tuned: str | None = None,
    assumed: Iterable[str] = (),
    adjacency: Adjacency | str | None = None,
) -> ModelCard:
    """The privacy section of a paper about one run: a mechanism, or what has one and lists its `assumptions`.

    `unit` is what neighbours differ in, in one word (record, user, patient); `tuned` says how hyperparameters
    were chosen, where that is not part of the mechanism (`repeat_and_select`); `assumed` adds assumptions.

    >>> from indistinct import Gaussian, repeat_and_select
    >>> run = repeat_and_select(1000 * Gaussian(scale=1).subsample(0.01), 5)
    >>> print(model_card(run, delta=1e-5, unit="patient").paragraph[:80])
    Training satisfies (ε, δ)-differential privacy with ε = 2.4... at δ = 1e-05 for ...
    """
    if not isinstance(unit, str) or not unit.strip():
        raise ArgumentError("unit", unit, "a word such as record or user")
    if isinstance(assumed, str):
        raise ArgumentError("assumed", assumed, "a list of sentences")
    check_probability("delta", delta)
    mechanism = getattr(run, "mechanism", run)
    guarantee = guarantee_of(run, adjacency)
    known = mechanism if isinstance(mechanism, Mechanism) else None
    about = explain(guarantee if known is None else known, delta=delta, adjacency=guarantee.adjacency)
    selected = [] if known is None else [part for part in nested(known) if isinstance(part, RepeatAndSelect)]
    assumptions = [*getattr(run, "assumptions", ()), *assumed]
    if unit.strip() != "record":
        assumptions.append(f"a record of the mechanism is one {unit.strip()}, all that belongs to it")
    told = [
        f"the best of a random number of runs, {part.mean:g} on average, is kept; all of it is part of ε"
        for part in selected
    ]
    tuning = "; ".join([*told, *([tuned] if tuned else [])]) or _NOT_SAID
    neighbours = getattr(getattr(run, "neighbours", None), "value", guarantee.adjacency.value)
    words = f"{neighbours} neighbours: {_NEIGHBOURS[neighbours].format(unit=unit.strip())}"
    taking_part = [] if hasattr(run, "assumptions") else list(about.sampling)  # a run says it itself
    rows = _rows(about, (unit.strip(), words), taking_part, tuning, assumptions)
    if getattr(run, "at_least", None) is not None:
        least = run.at_least.guarantee(guarantee.adjacency).epsilon_interval(delta).low
        rows.append(
            (f"ε at δ = {short(delta)} is at least", f"{rounded_down(least, 4)}; what is stated is a bound")
        )
    return ModelCard(_paragraph(about, words, tuning), PaperTable(("", "value"), tuple(rows)))


def _rows(
    about: Subject, whom: tuple[str, str], taking_part: list[str], tuning: str, assumptions: list[str]
) -> list[tuple[str, str]]:
    unit, neighbours = whom
    data, g = about.data(), about.guarantee
    gaussian = about.gaussian
    group = "" if about.records == (1,) else f" ({' or '.join(map(str, about.records))} records at once)"
    powers = [(rate, 1 - g.tradeoff(rate)) for rate in _RATES]
    but = f", except with probability {short(gaussian.slack)}" if gaussian.slack else ""
    return [
        ("unit of privacy", f"{unit}{group}"),
        ("neighbours", neighbours.replace(" neighbours", "", 1)),
        ("mechanism", about.expression),
        *(("how records take part", line) for line in taking_part),
        (f"ε at δ = {short(about.delta)}", _number(data["epsilon"]["epsilon"])),
        ("ε at δ = 0", _number(data["pure"])),
        (f"Gaussian DP: μ{but}", _number(gaussian.mu)),
        ("what μ leaves out (regret)", _number(gaussian.regret)),
        *(
            (f"most true positives at {100 * rate:g} % false positives", _percent(power))
            for rate, power in powers
        ),
        ("membership advantage, at most", _percent(g.advantage())),
        ("tuning", tuning),
        *(("assumed", one) for one in assumptions or ["nothing beyond what the mechanism says"]),
        ("accounting", "upper bounds by indistinct, rounded up"),
    ]


def _paragraph(about: Subject, neighbours: str, tuning: str) -> str:
    g = about.guarantee
    epsilon, delta = g.epsilon(about.delta), short(about.delta)
    return (
        f"Training satisfies (ε, δ)-differential privacy with ε = {_number(epsilon)} at δ = {delta} for"
        f" {neighbours}. Whoever sees what is released and tells the two"
        f" apart with 1 % false positives has at most {_percent(1 - g.tradeoff(0.01))} true positives."
        f" Hyperparameters: {tuning}."
    )


def _number(value: float | str) -> str:
    number = value_of(value)
    return "∞" if number == float("inf") else rounded_up(number, 4)


def _percent(share: float) -> str:
    return f"{rounded_up(100 * min(share, 1.0), 3)} %"
