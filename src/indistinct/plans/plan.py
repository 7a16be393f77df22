"""A plan as plain data: what is asked of which table, for which budget. Read from TOML, word by word.

Every key is known: one that is not is refused by name, so that a misspelt policy is never silently the
default.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from indistinct.adjacency import Adjacency
from indistinct.data import Bins, Categories, Missing, Numbers, Outside, Records, UserRecords
from indistinct.errors import ArgumentError, check_count, check_positive, check_probability

ADJACENCIES = {"add-remove": Adjacency.ADD_REMOVE, "replace-one": Adjacency.REPLACE_ONE}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = {"guarantee", "report", "plan"}
_T = TypeVar("_T")


class Split(Enum):
    """How the budget is divided among releases."""

    WEIGHTS = "weights"
    WORST_RELATIVE_ERROR = "worst-relative-error"


class Kind(Enum):
    """What a release asks."""

    HISTOGRAM = "histogram"
    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    QUANTILES = "quantiles"
    PREFIX = "prefix"
    RANGES = "ranges"
    MARGINALS = "marginals"


_KEYS = {
    Kind.HISTOGRAM: {"columns"},
    Kind.COUNT: set[str](),
    Kind.SUM: {"column"},
    Kind.MEAN: {"column"},
    Kind.QUANTILES: {"column", "ranks", "bins"},
    Kind.PREFIX: {"column"},
    Kind.RANGES: {"column"},
    Kind.MARGINALS: {"columns", "ways"},
}


@dataclass(frozen=True)
class DataSource:
    """Where records come from: files, or a SELECT on a DuckDB database."""

    csv: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    sql: str | None = None
    database: str | None = None
    records: int | None = None
    """About how many there are, as everybody knows: errors are compared with it."""


@dataclass(frozen=True)
class Column:
    """The declared domain of a column."""

    low: float | None = None
    high: float | None = None
    bins: int | None = None
    categories: tuple[Any, ...] | None = None
    outside: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Asked:
    """One release of a plan."""

    name: str
    kind: Kind
    columns: tuple[str, ...] = ()
    weight: float = 1.0
    ranks: tuple[float, ...] = ()
    bins: int | None = None
    ways: int | None = None
    size: float | None = None
    """What its errors are compared with, if not with the number of records."""


@dataclass(frozen=True)
class Plan:
    """Everything that a run does, known before a record is read."""

    data: DataSource
    user: str | None
    most: int | None
    adjacency: Adjacency
    epsilon: float
    delta: float
    split: Split
    columns: tuple[tuple[str, Column], ...]
    releases: tuple[Asked, ...]

    @property
    def unit(self) -> Records | UserRecords:
        return Records() if self.user is None or self.most is None else UserRecords(self.user, self.most)

    @property
    def digest(self) -> str:
        """Tells this plan from others; comments and order of keys in its file do not count."""
        text = json.dumps(asdict(self), sort_keys=True, default=lambda word: word.value)
        return hashlib.sha256(text.encode()).hexdigest()

    def numbers(self, name: str) -> Numbers:
        """The interval of a column."""
        column = self._column(name)
        if column.low is None or column.high is None:
            raise ArgumentError(f"columns.{name}", "categories", "declared with low and high to be added up")
        return _named(f"columns.{name}", Numbers, column.low, column.high, **_policies(name, column))

    def axis(self, name: str, bins: int | None = None) -> Bins | Categories:
        """The cells of a column."""
        column, where = self._column(name), f"columns.{name}"
        policies = _policies(name, column)
        if column.categories is not None:
            return _named(where, Categories, column.categories, **policies)
        bins = column.bins if bins is None else bins
        if bins is None:
            raise ArgumentError(f"{where}.bins", None, "given, for counts by this column")
        return _named(where, Bins, column.low, column.high, bins, **policies)

    def _column(self, name: str) -> Column:
        declared = dict(self.columns)
        if name not in declared:
            listed = ", ".join(map(repr, declared)) or "none"
            raise ArgumentError("column", name, f"declared under [columns] (there: {listed})")
        return declared[name]


def _policies(name: str, column: Column) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if column.outside is not None:
        given["outside"] = _word(f"columns.{name}.outside", column.outside, Outside)
    if column.missing is not None:
        given["missing"] = _word(f"columns.{name}.missing", column.missing, Missing)
    return given


def _named(where: str, make: Callable[..., _T], *values: Any, **more: Any) -> _T:
    """What is made, or an error that says where in the plan its argument stands."""
    try:
        return make(*values, **more)
    except ArgumentError as error:
        raise ArgumentError(f"{where}.{error.argument}", error.value, error.allowed) from None


def read_plan(path: str | Path) -> Plan:
    """The plan of a TOML file; paths of data are relative to it."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError("plan", str(path), f"a TOML file ({error})") from None
    # resolved, so that a run can be finished from another working directory
    return parse_plan(content, path.parent.resolve())


def parse_plan(content: Mapping[str, Any], folder: str | Path = ".") -> Plan:
    """A plan from what TOML holds.

    >>> parse_plan({"data": {"csv": "a.csv", "recrods": 9}, "budget": {"epsilon": 1}})
    Traceback (most recent call last):
    indistinct.errors.ArgumentError: data must be made of csv, database, parquet, records, sql, got 'recrods'
    """
    _only("plan", content, {"data", "privacy", "budget", "columns", "releases"})
    data = _section(content, "data", {"csv", "parquet", "sql", "database", "records"})
    privacy = _section(content, "privacy", {"user", "most", "adjacency"}, {})
    budget = _section(content, "budget", {"epsilon", "delta", "split"})
    user, most = privacy.get("user"), privacy.get("most")
    if (user is None) != (most is None):
        raise ArgumentError("privacy.most", most, "given together with privacy.user")
    if user is not None:
        _text("privacy.user", user)
        check_count("privacy.most", most, least=1)
    adjacency = privacy.get("adjacency", "add-remove")
    if adjacency not in ADJACENCIES:
        raise ArgumentError("privacy.adjacency", adjacency, " or ".join(map(repr, ADJACENCIES)))
    delta = check_probability("budget.delta", budget.get("delta", 0.0))
    if delta >= 0.1:
        raise ArgumentError("budget.delta", delta, "far below one in the number of people, or 0")
    columns = _table("columns", content.get("columns", {}))
    plan = Plan(
        _source(data, Path(folder)),
        user,
        most,
        ADJACENCIES[adjacency],
        check_positive("budget.epsilon", budget.get("epsilon")),
        delta,
        _word("budget.split", budget.get("split", "weights"), Split),
        tuple((name, _domain(name, declared)) for name, declared in columns.items()),
        _releases(content.get("releases")),
    )
    for name, column in plan.columns:  # a domain that is wrong is wrong even where nothing uses it
        if column.categories is not None or column.bins is not None:
            plan.axis(name)
        if column.low is not None:
            plan.numbers(name)
    if plan.split is Split.WORST_RELATIVE_ERROR and plan.data.records is None:
        raise ArgumentError("data.records", None, "given where the split is by relative error")
    return plan


def _source(given: Mapping[str, Any], folder: Path) -> DataSource:
    kinds = [kind for kind in ("csv", "parquet", "sql") if kind in given]
    if len(kinds) != 1:
        raise ArgumentError("data", ", ".join(kinds) or None, "one of csv, parquet or sql")
    if ("sql" in given) != ("database" in given):
        raise ArgumentError("data.database", given.get("database"), "given with data.sql, and only with it")
    records = given.get("records")
    if records is not None:
        check_count("data.records", records, least=1)
    if "sql" in given:
        database = str(folder / _text("data.database", given["database"]))
        return DataSource(sql=_text("data.sql", given["sql"]), database=database, records=records)
    paths = given[kinds[0]]
    listed = paths if isinstance(paths, list) and paths else [paths]
    files = tuple(str(folder / _text(f"data.{kinds[0]}", path)) for path in listed)
    csv, parquet = (files, ()) if kinds[0] == "csv" else ((), files)
    return DataSource(csv, parquet, records=records)


def _domain(name: str, given: Any) -> Column:
    where = f"columns.{name}"
    declared = _table(where, given)
    _only(where, declared, {"low", "high", "bins", "categories", "outside", "missing"})
    interval = {"low", "high", "bins"} & declared.keys()
    if "categories" in declared:
        if interval:
            raise ArgumentError(where, sorted(interval), "categories, or low and high, but not both")
        values = declared["categories"]
        if not isinstance(values, list) or not values:
            raise ArgumentError(f"{where}.categories", values, "a list of texts, integers or truth values")
        return Column(**{**declared, "categories": tuple(values)})
    for end in ("low", "high"):
        if end not in declared:
            raise ArgumentError(f"{where}.{end}", None, "given, or categories instead")
    return Column(**declared)


def _releases(given: Any) -> tuple[Asked, ...]:
    if not isinstance(given, list) or not given:
        raise ArgumentError("releases", given, "a list of [[releases]], one or more")
    asked = tuple(_release(place, item) for place, item in enumerate(given, start=1))
    names = [one.name.lower() for one in asked]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("releases.name", name, "a different one for each release")
    return asked


def _release(place: int, given: Any) -> Asked:
    item = _table(f"releases[{place}]", given)
    name = item.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _TAKEN:
        allowed = f"letters, digits, - and _ (it names a file), and not {', '.join(sorted(_TAKEN))}"
        raise ArgumentError(f"releases[{place}].name", name, allowed)
    where = f"releases.{name}"
    kind = _word(f"{where}.kind", item.get("kind"), Kind)
    _only(where, item, {"name", "kind", "weight", "size"} | _KEYS[kind])
    columns: tuple[str, ...] = ()
    if "column" in _KEYS[kind]:
        columns = (_text(f"{where}.column", item.get("column")),)
    elif "columns" in _KEYS[kind]:
        listed = item.get("columns")
        if not isinstance(listed, list) or not listed or len(set(map(str, listed))) < len(listed):
            raise ArgumentError(f"{where}.columns", listed, "a list of different columns, one or more")
        columns = tuple(_text(f"{where}.columns", column) for column in listed)
    ranks = item.get("ranks", [])
    if kind is Kind.QUANTILES:
        if not isinstance(ranks, list) or not ranks:
            raise ArgumentError(f"{where}.ranks", item.get("ranks"), "a list such as [0.25, 0.5, 0.75]")
        ranks = [check_probability(f"{where}.ranks", rank) for rank in ranks]
    ways, bins, size = item.get("ways"), item.get("bins"), item.get("size")
    if kind is Kind.MARGINALS and check_count(f"{where}.ways", ways, least=1) > len(columns):
        raise ArgumentError(f"{where}.ways", ways, f"at most {len(columns)}, the number of columns")
    if size is not None:
        check_positive(f"{where}.size", size)
    weight = check_positive(f"{where}.weight", item.get("weight", 1.0))
    if not 1e-6 <= weight <= 1e6:
        raise ArgumentError(f"{where}.weight", weight, "between 1e-6 and 1e6")
    return Asked(name, kind, columns, weight, tuple(ranks), bins, ways, size)


def _section(content: Mapping[str, Any], name: str, keys: set[str], default: Any = None) -> Mapping[str, Any]:
    section = _table(name, content.get(name, default))
    _only(name, section, keys)
    return section


def _table(where: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ArgumentError(where, given, "a section with keys")
    return given


def _only(where: str, given: Mapping[str, Any], keys: set[str]) -> None:
    for key in given:
        if key not in keys:
            raise ArgumentError(where, key, f"made of {', '.join(sorted(keys))}")


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ArgumentError(where, value, "a text")
    return value


_E = TypeVar("_E", bound=Enum)


def _word(where: str, value: Any, words: type[_E]) -> _E:
    allowed = {word.value: word for word in words}
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(where, value, f"one of {', '.join(allowed)}")
    return allowed[value]
