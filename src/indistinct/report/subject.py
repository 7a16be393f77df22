"""What a report is about: a guarantee, the expression it belongs to, and what it assumes."""

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.description import arguments, nested, parts_of
from indistinct.errors import ArgumentError, check_nonnegative, check_probability
from indistinct.guarantees import GaussianReport, Guarantee
from indistinct.mechanisms.mechanism import Grouped, Mechanism, Stated
from indistinct.report.data import to_data
from indistinct.report.page import to_html
from indistinct.report.paper_table import written
from indistinct.report.plot import draw
from indistinct.report.text import table, to_text

if TYPE_CHECKING:
    from indistinct.adversaries import Adversary, Reading

_FURTHEST = 700.0
"""An epsilon beyond which only what may give everything away is left in delta."""
_UNSAMPLED = "none: every record takes part in every run"
_UNKNOWN = "unknown: a guarantee does not say how it was reached"


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
    """What was run, if that is known: of a claim it is not."""
    reading: "Reading | None" = None
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

    @property
    def drawable(self) -> "Subject":
        """The same, where there is something to draw if there is nothing at its own delta: at twice the
        smallest that fits, because at that one itself beliefs are not bounded yet."""
        return self if self.fits is None else replace(self, delta=min(2 * self.fits, (1 + self.fits) / 2))

    @cached_property
    def fits(self) -> float | None:
        """The smallest delta at which there is an epsilon, if there is none at the one that was asked for: a
        claim at one delta says nothing of smaller ones. None too where no delta below 1 does."""
        if not self.delta or math.isfinite(self.guarantee.epsilon(self.delta)):
            return None
        least = self.guarantee.delta(_FURTHEST)
        for found in (float(f"{least:.9g}"), least * (1 + 1e-9)):  # as people write it; else rounded up
            if self.delta < found < 1 and math.isfinite(self.guarantee.epsilon(found)):
                return found
        return None

    def plot(self, path: str | Path | None = None) -> Any:
        """The picture, as a matplotlib figure; written to `path` if one is given."""
        return draw(self.drawable, path)

    def html(self, path: str | Path | None = None) -> str:
        """The report as one HTML page that needs nothing else; written to `path` if one is given."""
        return written(to_html(self), path)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{escape(value)}</td></tr>"
            for name, value in table(self.data())
        )
        title = escape(f"{self.expression} ({self.guarantee.adjacency.value})")
        head = f"<thead><tr><th colspan=2>{title}</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"


def explain(
    what: Mechanism | Guarantee,
    *,
    delta: float = 1e-5,
    epsilon: float | None = None,
    adjacency: Adjacency | str | None = None,
    against: "Adversary | None" = None,
    adaptive: bool = True,
) -> Subject:
    """A report on a mechanism, or on any guarantee: print it, draw it, write its page, or take its data.

    Without an adjacency, a mechanism is read for the one that its sampling is analysed for. With an
    adversary of limited capacity (`against=Linear()`) its divergences are reported too; several releases then
    need `adaptive=False`, the statement that all were chosen beforehand.

    >>> from indistinct import Gaussian
    >>> report = explain(100 * Gaussian(scale=20))
    >>> report.data()["epsilon"]
    {'delta': 1e-05, 'epsilon': 1.9931}
    """
    subject = _subject(what, delta, epsilon, adjacency)
    if against is None:
        return subject
    if not hasattr(against, "every_neighbour"):  # its package is imported by whoever has one
        raise ArgumentError("against", against, "an adversary such as Linear()")
    return replace(subject, reading=subject.guarantee.against(against, adaptive=adaptive))


def _subject(
    what: Mechanism | Guarantee, delta: float, epsilon: float | None, adjacency: Adjacency | str | None
) -> Subject:
    delta = check_probability("delta", delta)
    epsilon = None if epsilon is None else check_nonnegative("epsilon", epsilon)
    if isinstance(what, Mechanism):
        guarantee = what.guarantee(adjacency)
        inside = [part for part in nested(what) if isinstance(part, Mechanism)]
        lines = [part.words.format(**arguments(part)) for part in inside if part.words]
        known = not any(isinstance(part, Stated) for part in inside)
        sampling = tuple(dict.fromkeys(lines)) or (_UNSAMPLED,)
        records = tuple(sorted(_records(what)))
        return Subject(str(what), guarantee, delta, epsilon, sampling, records, what if known else None)
    if not isinstance(what, Guarantee):
        raise ArgumentError("what", what, "a mechanism or a guarantee")
    if adjacency is not None and check_adjacency(adjacency) is not what.adjacency:
        raise ArgumentError("adjacency", adjacency, f"that of the guarantee ({what.adjacency.value})")
    return Subject(repr(what), what, delta, epsilon, (_UNKNOWN,), (1,), None)


def _records(mechanism: Mechanism) -> set[int]:
    """Group sizes that occur; more than one if the parts of a composition disagree."""
    parts = [part for part in parts_of(mechanism) if isinstance(part, Mechanism)]
    inner = set().union(*map(_records, parts)) or {1}
    return {mechanism.size * n for n in inner} if isinstance(mechanism, Grouped) else inner
