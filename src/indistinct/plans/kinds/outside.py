"""What clipping, lists and limits hide: how many records, or users, they concern."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from indistinct.data import BoundedSum, Kind, OutsideDomain, Parts, UsersOver
from indistinct.errors import ArgumentError
from indistinct.plans.declarations import Terms
from indistinct.plans.planned_release import Asked, QueryPart
from indistinct.plans.section import Section
from indistinct.tables.rows import Row

_SHARE = "share"


@dataclass(frozen=True)
class OutsidePart(QueryPart):
    """How many records lie outside the domain of a column; or, with `users`, how many users have more records
    than take part."""

    units_differ = True
    kind = "outside"
    value_name = "estimate"
    keys = frozenset({"column", "users", "by"})
    column: str | None

    @classmethod
    def read(cls, terms: Terms, asked: Asked, section: Section) -> Self:
        users = section.truth("users")
        if users == ("column" in section):
            allowed = "a declared column, or users = true for users with more records than take part"
            raise ArgumentError(section.at("column"), section.get("column"), allowed)
        if users and terms.most is None:
            raise ArgumentError("privacy.most", None, f"given with privacy.user, for {section.where}")
        column, by = section.maybe("column", section.text), section.maybe("by", section.texts) or ()
        if users and by:
            raise ArgumentError(section.at("by"), list(by), "absent: a user may be in several groups")
        if column is not None:
            terms.column(column)
        return cls(terms, asked, None, by, column)

    @property
    def asks(self) -> Parts:
        terms = self.terms
        if self.column is None:
            assert terms.user is not None and terms.most is not None
            return UsersOver(terms.user, terms.most)
        listed = terms.column(self.column).categories is not None
        domain = terms.axis(self.column) if listed else terms.numbers(self.column)
        return OutsideDomain(self.column, domain, self.unit)

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def sums(self) -> tuple[BoundedSum, ...]:
        asks = self.asks
        return asks.sums if isinstance(asks, UsersOver) else super().sums

    @property
    def counted(self) -> str:
        """Whom or what the numbers count."""
        return "users" if self.column is None else "records"

    @property
    def error_words(self) -> str:
        return self.counted

    @property
    def labels_header(self) -> Row:
        return ["counted", "which", "measure"]

    @property
    def labels_types(self) -> list[Kind]:
        return [Kind.TEXT] * 3

    def labels(self) -> Iterable[Row]:
        names = map(self.which, self.asks.names)
        return [[self.counted, name, measure] for name in names for measure in ("number", _SHARE)]

    def which(self, name: str) -> str:
        """The words for a part: `above` becomes `above 20000`."""
        if self.column is None:
            return f"{'more than' if name == 'over' else 'at most'} {self.terms.most} records"
        declared = self.terms.column(self.column)
        end = {"below": declared.ends and declared.ends[0], "above": declared.ends and declared.ends[1]}.get(
            name
        )
        return f"{self.column} {name}" + ("" if end is None else f" {declared.words(end)}")

    def sentences(self, rows: list[list[str]]) -> list[str]:
        """What the rows of the result say to a reader of other numbers: a sentence for each part that is
        hidden."""
        wanted = {self.which(name): self._becomes(name) for name in self.asks.names[1:]}
        return [
            f"{_where(groups)}about {share_words(value, error, low, high)} of {who} {words}"
            for *groups, who, which, measure, value, error, low, high in rows
            if measure == _SHARE and (words := wanted.get(which))
        ]

    def _becomes(self, name: str) -> str:
        if self.column is None:
            most = self.terms.most
            return (
                f"have more than {most} records; of each of them {most} take part, and the rest is left out"
            )
        declared = self.terms.column(self.column)
        if name == "missing":
            return f"have no {self.column}, and are left out"
        default = "drop" if declared.categories is not None else "clip"
        if name == "not listed":
            rest = "count as the last that is" if declared.outside == "last" else "are left out"
            return f"have a {self.column} that is not listed, and {rest}"
        assert declared.ends is not None
        end = declared.words(declared.ends[0] if name == "below" else declared.ends[1])
        rest = f"count as {end}" if (declared.outside or default) == "clip" else "are left out"
        return f"have {self.column} {name} {end}, and {rest}"


def _where(groups: list[str]) -> str:
    return f"{', '.join(groups)}: " if groups else ""


def share_words(value: str, error: str, low: str, high: str) -> str:
    """A share and its interval, as a result has them."""
    return f"{_percent(value)} ({_percent(low)} to {_percent(high)})"


def _percent(share: str) -> str:
    number = 100 * float(share)
    return f"{number:.2g} %" if number < 9.95 else f"{number:.0f} %"
