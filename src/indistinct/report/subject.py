"""What a report is about: a guarantee, the expression it belongs to, and what it assumes."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.adversaries import Adversary, Reading
from indistinct.errors import ArgumentError, check_nonnegative, check_probability
from indistinct.guarantees import GaussianReport, Guarantee
from indistinct.mechanisms import Mechanism, Statement, natural_adjacency
from indistinct.mechanisms.mechanism import FixedSizeSampled, Grouped, PoissonSampled
from indistinct.report.data import to_data
from indistinct.report.page import to_html
from indistinct.report.plot import draw
from indistinct.report.text import table, to_text

_UNSAMPLED = "none: every record takes part in every run"
_UNKNOWN_CLAIM = "of what is only claimed: not known"
_UNKNOWN = "not known: a guarantee does not say how it was reached"


@dataclass(frozen=True)
class User:
    """Whose privacy a guarantee is about, where it is not a record's: all records with one value of a
    column."""

    column: str
    most: int | None = None
    """How many of them take part in a release, if that is what bounds them."""


@dataclass(frozen=True)
class Subject:
    """One guarantee to report on: `str` gives the report in words, a notebook shows its table."""

    expression: str
    guarantee: Guarantee
    delta: float
    epsilon: float | None
    """If given, delta is read there too."""
    sampling: tuple[str, ...]
    """How records are chosen for each run, one sentence for each way that occurs."""
    records: tuple[int, ...]
    """How many records change together: (1,) unless the mechanism says `group`."""
    mechanism: Mechanism | None
    reading: Reading | None = None
    """What an adversary of limited capacity can learn, if one was named."""
    user: User | None = None
    """Whom the neighbours differ in, if not in records."""

    def __str__(self) -> str:
        return to_text(self.data())

    def data(self) -> dict[str, Any]:
        """All readings as JSON-able data."""
        return deepcopy(self._data)

    @cached_property
    def _data(self) -> dict[str, Any]:
        # words and page both ask for it, and some readings take seconds
        return to_data(self)

    @cached_property
    def gaussian(self) -> GaussianReport:
        """The guarantee in one number."""
        return self.guarantee.to_gaussian()

    def plot(self, path: str | Path | None = None) -> Any:
        """The picture, as a matplotlib figure; written to `path` if one is given."""
        return draw(self, path)

    def html(self, path: str | Path | None = None) -> str:
        """The report as one HTML page that needs nothing else; written to `path` if one is given."""
        page = to_html(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{escape(value)}</td></tr>"
            for name, value in table(self.data())
        )
        title = escape(f"{self.expression} ({self.guarantee.adjacency.value})")
        head = f"<thead><tr><th colspan=2>{title}</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"


def explain(
    what: Mechanism | Guarantee | Statement,
    *,
    delta: float = 1e-5,
    epsilon: float | None = None,
    adjacency: Adjacency | None = None,
    against: Adversary | None = None,
    adaptive: bool = True,
) -> Subject:
    """A report on a mechanism, or on any guarantee: print it, draw it, write its page, or take its data.

    Without an adjacency, a mechanism is read for the one that its sampling is analysed for; so is a statement
    (an expression with claims among its parts, see `parse_statement`). With an adversary of limited capacity
    (`against=Linear()`) its divergences are reported too; several releases then need `adaptive=False`, the
    statement that all were chosen beforehand.

    >>> from indistinct import Gaussian
    >>> report = explain(100 * Gaussian(scale=20))
    >>> report.data()["epsilon"]
    {'delta': 1e-05, 'epsilon': 1.9931}
    """
    subject = _subject(what, delta, epsilon, adjacency)
    if against is None:
        return subject
    if not isinstance(against, Adversary):
        raise ArgumentError("against", against, "an adversary such as Linear()")
    return replace(subject, reading=subject.guarantee.against(against, adaptive=adaptive))


def _subject(
    what: Mechanism | Guarantee | Statement, delta: float, epsilon: float | None, adjacency: Adjacency | None
) -> Subject:
    delta = check_probability("delta", delta)
    epsilon = None if epsilon is None else check_nonnegative("epsilon", epsilon)
    if isinstance(what, Mechanism):
        chosen = natural_adjacency(what) if adjacency is None else adjacency
        sampling = tuple(dict.fromkeys(_sampling(what))) or (_UNSAMPLED,)
        records = tuple(sorted(_records(what)))
        return Subject(str(what), what.guarantee(chosen), delta, epsilon, sampling, records, what)
    if isinstance(what, Statement):
        sampling = tuple(dict.fromkeys(line for part in what.mechanisms for line in _sampling(part)))
        records = tuple(sorted(set(what.records).union(*map(_records, what.mechanisms))))
        guarantee = what.guarantee(adjacency)
        return Subject(str(what), guarantee, delta, epsilon, (*sampling, _UNKNOWN_CLAIM), records, None)
    if not isinstance(what, Guarantee):
        raise ArgumentError("what", what, "a mechanism, a guarantee or a statement")
    if adjacency not in (None, what.adjacency):
        raise ArgumentError("adjacency", adjacency, f"that of the guarantee ({what.adjacency.value})")
    return Subject(repr(what), what, delta, epsilon, (_UNKNOWN,), (1,), None)


def _parts(mechanism: Mechanism) -> Iterator[Mechanism]:
    for value in vars(mechanism).values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Mechanism):
                yield item


def _sampling(mechanism: Mechanism) -> Iterator[str]:
    if isinstance(mechanism, PoissonSampled):
        yield (
            f"Poisson: each record takes part in a run with probability {mechanism.rate!r},"
            " independently of all others"
        )
    if isinstance(mechanism, FixedSizeSampled):
        yield (
            f"fixed size: exactly {mechanism.size} of the {mechanism.of} records take part in a run,"
            " drawn without replacement"
        )
    for part in _parts(mechanism):
        yield from _sampling(part)


def _records(mechanism: Mechanism) -> set[int]:
    """Group sizes that occur; more than one if the parts of a composition disagree."""
    inner = set().union(*(_records(part) for part in _parts(mechanism))) or {1}
    size = mechanism.size if isinstance(mechanism, Grouped) else 1
    return {size * n for n in inner}
