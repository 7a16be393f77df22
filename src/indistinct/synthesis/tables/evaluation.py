"""How good synthetic rows are, against real ones that the generator was not fitted to.

Nothing here is private: it looks at real records and its numbers are about them. Give it records that were
set aside for that, and choose nothing by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import Categories, Celled, Kind, OrMissing, Tables
from indistinct.errors import ArgumentError, DataError, needs
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.decode import inner, kind_of
from indistinct.synthesis.tables.synthesizer import TableSynthesizer

_ROWS_COMPARED = 1000


@dataclass(frozen=True)
class Learned:
    """How well models predict the label of real records that have seen other rows only."""

    boosting: float
    """Area under the ROC curve of gradient boosting. With more than two labels, the mean over each label
    against the rest."""
    logistic: float
    """The same of logistic regression."""
    accuracy: float
    """The share of the real records whose label boosting finds."""
    by_label: tuple[tuple[Any, float | None], ...]
    """The same for the records of each label; None for a label that no real record has."""


@dataclass(frozen=True)
class RowNearness:
    """How near synthetic rows come to some records."""

    copies: float
    """The share of synthetic rows that equal a record in every column."""
    distance: float
    """The mean distance to the nearest record, out of 1 for each column."""


@dataclass(frozen=True)
class Closeness:
    """How near synthetic rows come to the records that were used, and to others that were not. A generator
    that remembers records is nearer to the first; one that does not treats both the same, up to the
    difference in their numbers (give as many of both)."""

    copies_of_used: float
    copies_of_others: float
    to_used: float
    to_others: float


def table_errors(design: TableSynthesizer, synthetic: Any, real: Any, ways: int = 2) -> float:
    """Total variation between real and synthetic tables, the mean over all sets of `ways` columns."""
    query = Tables(dict(design.columns), list(combinations([name for name, _ in design.columns], ways)))
    one, other = (query.read(query.statistic(_with_gaps(design, data)).values) for data in (synthetic, real))
    apart = [np.abs(one[key] / one[key].sum() - other[key] / other[key].sum()).sum() / 2 for key in one]
    return float(np.mean(apart))


def _with_gaps(design: TableSynthesizer, data: Any) -> Any:
    """Integers among which some are missing, as such: arrays and frames hold them as numbers and NaN."""
    for name, domain in design.columns:
        values = np.asarray(data[name])
        gaps = isinstance(domain, OrMissing) and kind_of(domain) is Kind.INTEGER
        if not gaps or values.dtype.kind != "f" or (np.floor(values) != values)[~np.isnan(values)].any():
            continue
        if isinstance(data, dict):
            absent = np.isnan(values)
            data = data | {name: np.ma.array(np.where(absent, 0, values).astype(np.int64), mask=absent)}
        else:
            data = data.astype({name: "Int64"})
    return data


def learned(design: TableSynthesizer, synthetic: Any, real: Any) -> Learned:
    """Trains on synthetic rows and tests on real ones: gradient boosting, and logistic regression. Those
    whose label is missing, where that is declared, take no part."""
    with needs("synthesis"):
        from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped,unused-ignore]
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped,unused-ignore]

    if design.label is None:
        raise ArgumentError("label", None, "declared, to be predicted")
    domain = inner(dict(design.columns)[design.label])
    if not isinstance(domain, Categories):
        raise ArgumentError("label", domain, "a column with Categories(...)")
    places = [_places(data[design.label], domain) for data in (synthetic, real)]
    known, present = (~np.isnan(own) for own in places)
    seen, wanted = places[0][known].astype(np.int64), places[1][present].astype(np.int64)
    if not len(seen):
        raise DataError("no synthetic row has a label")
    if len(np.unique(wanted)) < 2:
        raise DataError("the real records have one label only")
    names = design.features
    listed = [isinstance(inner(dict(design.columns)[name]), Categories) for name in names]

    def chances(model: Any, made: Array, true: Array) -> Array:
        found, labels = np.zeros((len(wanted), domain.size)), np.unique(seen)
        # one label only teaches nothing: it is always found
        found[:, labels] = 1.0
        if len(labels) > 1:
            found[:, labels] = model.fit(made[known], seen).predict_proba(true[present])
        return found

    trees = HistGradientBoostingClassifier(categorical_features=listed, random_state=0)
    lines = LogisticRegression(max_iter=500)
    boosting = chances(trees, *(_matrix(data, design, names) for data in (synthetic, real)))
    logistic = chances(lines, *(_widened(data, design, names) for data in (synthetic, real)))
    right = boosting.argmax(axis=1) == wanted
    owns = [wanted == at for at in range(domain.size)]
    by_label = [float(right[own].mean()) if own.any() else None for own in owns]
    return Learned(
        _area(boosting, wanted),
        _area(logistic, wanted),
        float(right.mean()),
        tuple(zip(domain.values, by_label, strict=True)),
    )


def _area(chances: Array, wanted: npt.NDArray[np.int64]) -> float:
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped,unused-ignore]

    present = np.unique(wanted).tolist()
    chosen = present[-1:] if chances.shape[1] == 2 else present
    return float(np.mean([roc_auc_score(wanted == place, chances[:, place]) for place in chosen]))


def nearness(design: TableSynthesizer, synthetic: Any, records: Any, most: int | None = None) -> RowNearness:
    """How near synthetic rows come to records. Distances are to `most` of them, if so many are too many to be
    compared with others: the more there are, the nearer is the nearest."""
    from scipy.spatial.distance import cdist

    names = tuple(name for name, _ in design.columns)
    known = {row.tobytes() for row in _matrix(records, design, names)}
    copies = np.mean([row.tobytes() in known for row in _matrix(synthetic, design, names)])
    wide, near = _widened(records, design, names), _widened(synthetic, design, names)[:_ROWS_COMPARED]
    if most is not None and most < len(wide):
        wide = wide[np.linspace(0, len(wide) - 1, most).astype(np.int64)]
    nearest = [cdist(near[at : at + 50], wide, "cityblock").min(axis=1) for at in range(0, len(near), 50)]
    return RowNearness(float(copies), float(np.concatenate(nearest).mean()))


def closeness(design: TableSynthesizer, synthetic: Any, used: Any, others: Any) -> Closeness:
    """Compares synthetic rows with the records that were used and with others; see `Closeness`."""
    one, other = (nearness(design, synthetic, records) for records in (used, others))
    return Closeness(one.copies, other.copies, one.distance, other.distance)


def repeated(design: TableSynthesizer, synthetic: Any) -> float:
    """The share of rows that equal an earlier one in every column."""
    rows = _matrix(synthetic, design, tuple(name for name, _ in design.columns))
    return 1 - len({row.tobytes() for row in rows}) / len(rows)


def _matrix(data: Mapping[str, Any], design: TableSynthesizer, names: tuple[str, ...]) -> Array:
    """Numbers as they are, categories as places in their list, NaN for what is missing."""
    domains = dict(design.columns)
    return np.stack([_places(data[name], domains[name]) for name in names], axis=1)


def _widened(data: Mapping[str, Any], design: TableSynthesizer, names: tuple[str, ...]) -> Array:
    """Numbers from 0 to 1, the cells equally wide; one column of 0 or 1/2 for each category, and for what is
    missing: two categories are at distance 1."""
    parts: list[npt.NDArray[np.float64]] = []
    for name in names:
        whole = dict(design.columns)[name]
        domain, values = inner(whole), _places(data[name], whole)
        absent = np.isnan(values)
        if isinstance(domain, Categories):
            parts.append(0.5 * (values[:, None] == np.arange(domain.size)))
        else:
            scaled = np.interp(values, domain.edges, np.linspace(0, 1, domain.size + 1))
            parts.append(np.where(absent, 0.0, scaled)[:, None])
        if isinstance(whole, OrMissing):
            parts.append(0.5 * absent[:, None])
    return np.concatenate(parts, axis=1)


def _places(values: Any, domain: Celled) -> Array:
    kind = inner(domain)
    if not isinstance(kind, Categories):
        return np.asarray(values, dtype=np.float64)
    return np.array([kind.places.get(value, np.nan) for value in np.asarray(values, dtype=object)])
