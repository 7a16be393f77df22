"""What all releases of a plan have in common: the table, whose privacy, the budget, what columns may hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import (
    Bins,
    Categories,
    Celled,
    Dialect,
    Intervals,
    Missing,
    Norm,
    Numbers,
    OrMissing,
    Outside,
    Records,
    Times,
    UserRecords,
    UserTotals,
    Within,
    found_categories,
)
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Budget
from indistinct.mechanisms.additive import Noise
from indistinct.plans.section import Section, meant, named, table, text, word

KEEP = "keep"
"""What a column may say of missing values besides the words of `Missing`, for synthetic tables."""
Unit = Records | UserRecords | UserTotals


class Split(Enum):
    """How the budget is divided among releases."""

    WEIGHTS = "weights"
    WORST_RELATIVE_ERROR = "worst-relative-error"


@dataclass(frozen=True)
class DataSource:
    """Where records come from: files, or a SELECT on a DuckDB database."""

    csv: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    dialect: tuple[tuple[str, Any], ...] = ()
    """How CSV files are to be read, where that is not as usual: what `read_csv` takes."""
    sql: str | None = None
    database: str | None = None
    multiplies: bool = False
    """Whether the SELECT may show a record several times, or several as one: rows are protected then."""
    records: int | None = None
    """About how many there are, as everybody knows: errors are compared with it."""


@dataclass(frozen=True)
class DeclaredColumn:
    """The declared domain of a column."""

    low: float | None = None
    high: float | None = None
    bins: int | None = None
    edges: tuple[float, ...] | None = None
    whole: bool = False
    """Whether all values are whole numbers; only synthetic ones are told."""
    unit: str | None = None
    """Of dates and times: what they are counted in, since 1970."""
    zone: str | None = None
    categories: tuple[Any, ...] | None = None
    within: str | None = None
    """The column above, where categories are listed by the category there, as `inside` has them."""
    inside: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    found: int | None = None
    """Where nobody has listed categories: how many of them are to be found, at most."""
    outside: str | None = None
    missing: str | None = None

    @property
    def times(self) -> Times | None:
        return None if self.unit is None else Times(self.unit, self.zone or "UTC")

    def words(self, value: float) -> str:
        """A number of the column, as one would write it: a date where it is one."""
        return f"{value:.15g}" if self.times is None else self.times.words(value)

    @property
    def ends(self) -> tuple[float, float] | None:
        if self.edges:
            return self.edges[0], self.edges[-1]
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Terms:
    """The plan without its releases."""

    data: DataSource
    user: str | None
    most: int | None
    """Records of a user that take part in a release that does not clip totals."""
    most_groups: int | None
    """Groups of a release by group in each of which so many take part, if it is not so many in all."""
    adjacency: Adjacency
    budget: Budget
    noise: Noise
    """Of most releases: Laplace's for a pure budget; else as told, or what leaves the smaller errors."""
    split: Split
    columns: tuple[tuple[str, DeclaredColumn], ...]

    @property
    def delta(self) -> float:
        """Of the budget."""
        return self.budget.delta or 0.0

    @property
    def norm(self) -> Norm:
        """The one that the noise protects."""
        return Norm.L2 if self.noise is Noise.GAUSSIAN else Norm.L1

    def unit(self, where: str, *, grouped: bool = False) -> Records | UserRecords:
        """Of a release that stands at `where`."""
        if self.user is None:
            return Records()
        if self.most is None:
            raise ArgumentError(
                "privacy.most", None, f"given for {where}, which does not clip a user's total"
            )
        return UserRecords(self.user, self.most, groups=self.most_groups if grouped else None)

    def totals(self, where: str, norm: Norm, bound: float) -> UserTotals:
        """The unit of a release that clips the total of each user."""
        if self.user is None:
            raise ArgumentError(f"{where}.user_total", bound, "absent: there is no privacy.user")
        return UserTotals(self.user, norm, bound)

    def numbers(self, name: str) -> Numbers:
        """The interval of a column."""
        ends = self.column(name).ends
        if ends is None:
            raise ArgumentError(f"columns.{name}", "categories", "declared with low and high to be added up")
        return named(f"columns.{name}", Numbers, *ends, **self._policies(name))

    def axis(self, name: str, bins: int | None = None) -> Bins | Categories:
        """The cells of a column."""
        column, where = self.column(name), f"columns.{name}"
        if column.found is not None:
            allowed = "categories, or low and high: groups are found only for `by`, and not of all kinds"
            raise ArgumentError(f"{where}.found", column.found, allowed)
        policies = self._policies(name)
        if column.categories is not None:
            return named(where, Categories, column.categories, **policies)
        bins = column.bins if bins is None else bins
        if bins is None or column.ends is None:
            raise ArgumentError(f"{where}.bins", None, "given, for counts by this column")
        return named(where, Bins, *column.ends, bins, **policies)

    def group(self, name: str) -> Bins | Categories:
        """The same where groups need not be listed: as many cells as may be found."""
        found = self.column(name).found
        return self.axis(name) if found is None else found_categories(found)

    def among(self, found: Mapping[str, Sequence[str]]) -> "Terms":
        """With the categories that were found, by column."""
        columns = dict(self.columns)
        for name, values in found.items():
            most = columns[name].found
            assert most is not None
            listed = found_categories(most, values)
            columns[name] = DeclaredColumn(categories=tuple(listed.values), outside=listed.outside.value)
        return replace(self, columns=tuple(columns.items()))

    def level(self, name: str) -> Bins | Categories | Within:
        """A column of a hierarchy: the cells, by those of the column above where it is within one."""
        column, where = self.column(name), f"columns.{name}"
        if column.within is None:
            return self.axis(name)
        # keys of TOML are texts, also where categories are whole numbers or truth values
        above = {_key(value): value for value in self.column(column.within).categories or ()}
        for key, _ in column.inside:
            if key not in above:
                listed = f"categories of {column.within} ({', '.join(above) or 'it has none'})"
                raise ArgumentError(f"{where}.categories", key, f"listed by {listed}")
        inside = {above[key]: values for key, values in column.inside}
        return named(where, Within, inside, **self._policies(name))

    def cells(self, name: str) -> Celled:
        """The cells of a column of a synthetic table: intervals may differ in width, and that a value is
        missing may be a cell too."""
        column, where = self.column(name), f"columns.{name}"
        if column.missing == KEEP:
            present = {other: given for other, given in self.columns if other != name}
            present[name] = replace(column, missing=None)
            domain = replace(self, columns=tuple(present.items())).cells(name)
            assert not isinstance(domain, OrMissing)
            return OrMissing(domain)
        if column.categories is not None:
            return self.axis(name)
        if column.edges is None and column.bins is None:
            raise ArgumentError(f"{where}.bins", None, "given, or edges instead, for a synthetic table")
        if column.edges is None and not column.whole:
            return self.axis(name)
        edges = column.edges or named(where, Bins, column.low, column.high, column.bins).edges.tolist()
        return named(where, Intervals, edges, whole=column.whole, **self._policies(name))

    def column(self, name: str) -> DeclaredColumn:
        declared = dict(self.columns)
        if name not in declared:
            listed = ", ".join(map(repr, declared)) or "none"
            allowed = f"declared in a section [columns.{name}] (there: {listed}){meant(name, declared)}"
            raise ArgumentError("column", name, allowed)
        return declared[name]

    def named_in(self, content: Any) -> Iterator[tuple[str, DeclaredColumn]]:
        """The columns that stand anywhere in a release, and those that they are within."""
        texts, names, declared = [content], set[str](), dict(self.columns)
        while texts:
            one = texts.pop()
            if isinstance(one, str) and one in declared and one not in names:
                names.add(one)
                texts.append(declared[one].within)
            elif isinstance(one, Mapping):
                texts += [*one.keys(), *one.values()]
            elif isinstance(one, list | tuple):
                texts += one
        return ((name, column) for name, column in self.columns if name in names)

    def _policies(self, name: str) -> dict[str, Any]:
        column, where = self.column(name), f"columns.{name}"
        given: dict[str, Any] = {}
        if column.outside is not None:
            given["outside"] = word(f"{where}.outside", column.outside, Outside)
        if column.unit is not None:
            given["of"] = column.times
        if column.missing == KEEP:
            raise ArgumentError(f"{where}.missing", KEEP, "error or drop: only synthetic tables keep them")
        if column.missing is not None:
            given["missing"] = word(f"{where}.missing", column.missing, Missing)
        return given


def read_terms(content: Mapping[str, Any], folder: Path) -> Terms:
    """From the sections of a plan; paths of data are relative to the folder."""
    privacy = Section("privacy", content.get("privacy", {}), {"user", "most", "most_groups", "adjacency"})
    budget = Section(
        "budget", content.get("budget"), {"epsilon", "delta", "noise", "split", "reserve", "confirm"}
    )
    user, most = privacy.maybe("user", privacy.text), privacy.maybe("most", privacy.count)
    if user is None and most is not None:
        raise ArgumentError("privacy.most", most, "given together with privacy.user")
    groups = privacy.maybe("most_groups", privacy.count)
    if most is None and groups is not None:
        raise ArgumentError("privacy.most_groups", groups, "given together with privacy.most")
    adjacency = check_adjacency(privacy.get("adjacency", "add-remove"), "privacy.adjacency")
    delta = budget.probability("delta", 0.0)
    if delta >= 0.1:
        raise ArgumentError("budget.delta", delta, "far below 1 divided by the number of people, or 0")
    noise = budget.word("noise", Noise, (Noise.GAUSSIAN if delta else Noise.LAPLACE).value)
    if noise is Noise.GAUSSIAN and not delta:
        raise ArgumentError("budget.noise", noise.value, "laplace, where budget.delta is 0")
    columns = table("columns", content.get("columns", {}))
    terms = Terms(
        _source(content.get("data"), folder),
        user,
        most,
        groups,
        adjacency,
        Budget(epsilon=budget.positive("epsilon"), delta=delta),
        noise,
        budget.word("split", Split, "weights"),
        tuple((name, _domain(name, declared)) for name, declared in columns.items()),
    )
    for name, column in terms.columns:  # a domain that is wrong is wrong even where nothing uses it
        if column.categories or column.edges or column.bins is not None:
            terms.cells(name)
        if column.ends is not None and column.missing != KEEP:
            terms.numbers(name)
        if column.within is not None:
            terms.level(name)
    if terms.split is Split.WORST_RELATIVE_ERROR and terms.data.records is None:
        raise ArgumentError("data.records", None, "given where the split is by relative error")
    return terms


_DIALECT = {"delimiter", "quote", "encoding", "names", "newlines"}


def _source(given: Any, folder: Path) -> DataSource:
    data = Section("data", given, {"csv", "parquet", "sql", "database", "multiplies", "records"} | _DIALECT)
    kinds = [kind for kind in ("csv", "parquet", "sql") if kind in data]
    if len(kinds) != 1:
        raise ArgumentError("data", ", ".join(kinds) or None, "one of csv, parquet or sql")
    if ("sql" in data) != ("database" in data):
        raise ArgumentError("data.database", data.get("database"), "given with data.sql, and only with it")
    if "multiplies" in data and "sql" not in data:
        raise ArgumentError(
            "data.multiplies", data.get("multiplies"), "given with data.sql, and only with it"
        )
    records = data.maybe("records", data.count)
    dialect = {key: data.get(key) for key in sorted(_DIALECT) if key in data}
    if dialect and kinds != ["csv"]:
        raise ArgumentError("data", sorted(dialect), "given with data.csv, and only with it")
    if not isinstance(dialect.get("newlines", False), bool):
        raise ArgumentError("data.newlines", dialect["newlines"], "true or false")
    if "names" in dialect:
        dialect["names"] = data.texts("names")
    named("data", Dialect, **dialect)
    if "sql" in data:
        database, multiplies = str(folder / data.text("database")), data.truth("multiplies")
        return DataSource(sql=data.text("sql"), database=database, multiplies=multiplies, records=records)
    paths = data.get(kinds[0])
    listed = paths if isinstance(paths, list) and paths else [paths]
    files = tuple(str(folder / text(f"data.{kinds[0]}", path)) for path in listed)
    csv, parquet = (files, ()) if kinds[0] == "csv" else ((), files)
    return DataSource(csv, parquet, tuple(dialect.items()), records=records)


def _domain(name: str, given: Any) -> DeclaredColumn:
    numeric = {"low", "high", "bins", "edges", "whole", "unit", "zone"}
    listed = {"categories", "within", "outside", "missing", "found"}
    declared = Section(f"columns.{name}", given, numeric | listed)
    if "found" in declared:
        if others := sorted(declared.given.keys() - {"found"}):
            raise ArgumentError(declared.where, others, "found alone: nothing else is known of such a column")
        return DeclaredColumn(found=declared.count("found"))
    if "within" in declared:
        return _within(declared)
    if "categories" in declared:
        if interval := numeric & declared.given.keys():
            raise ArgumentError(declared.where, sorted(interval), "categories, or low and high, but not both")
        values = declared.get("categories")
        if not isinstance(values, list) or not values:
            allowed = "a list of texts, integers or truth values (a table of lists goes with `within`)"
            raise ArgumentError(declared.at("categories"), values, allowed)
        return DeclaredColumn(**{**declared.given, "categories": tuple(values)})
    given = {**declared.given, **_timed(declared)}
    if not isinstance(declared.get("whole", False), bool):
        raise ArgumentError(declared.at("whole"), declared.get("whole"), "true or false")
    if "edges" in declared:
        if equal := {"low", "high", "bins"} & declared.given.keys():
            raise ArgumentError(declared.where, sorted(equal), "edges, or low, high and bins, but not both")
        edges = given["edges"]
        if not isinstance(edges, list) or len(edges) < 2:
            raise ArgumentError(declared.at("edges"), edges, "a list of two numbers or more")
        return DeclaredColumn(**{**given, "edges": tuple(edges)})
    for end in ("low", "high"):
        if end not in declared:
            raise ArgumentError(declared.at(end), None, "given, or categories instead")
    return DeclaredColumn(**given)


def _within(declared: Section) -> DeclaredColumn:
    """Categories by those of another column."""
    values, above = declared.get("categories"), declared.text("within")
    listed = values if isinstance(values, Mapping) else {}
    if not listed or not all(isinstance(inner, list) and inner for inner in listed.values()):
        allowed = f'lists by the categories of {above}, such as {{ "one of {above}" = ["here", "there"] }}'
        raise ArgumentError(declared.at("categories"), values, allowed)
    inside = tuple((str(key), tuple(inner)) for key, inner in listed.items())
    every = tuple(dict.fromkeys(value for _, inner in inside for value in inner))
    policies = {key: declared.get(key) for key in ("outside", "missing") if key in declared}
    return DeclaredColumn(categories=every, within=above, inside=inside, **policies)


def _key(value: Any) -> str:
    """A category as a key of TOML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _timed(declared: Section) -> dict[str, Any]:
    """Ends that are dates or times, as numbers."""
    if "unit" not in declared:
        if "zone" in declared:
            raise ArgumentError(
                declared.at("zone"), declared.get("zone"), "given with unit, and only with it"
            )
        return {}
    times = named(declared.where, Times, declared.text("unit"), declared.get("zone", "UTC"))
    read: dict[str, Any] = {}
    for key in {"low", "high", "edges"} & declared.given.keys():
        value = declared.get(key)
        read[key] = (
            [read_end(times, end) for end in value] if isinstance(value, list) else read_end(times, value)
        )
    return read


def read_end(times: Times | None, value: Any) -> Any:
    """An end of an interval, which may be a date or a time where values are."""
    return times.number(value) if times is not None and isinstance(value, date | str) else value
