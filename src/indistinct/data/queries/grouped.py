"""A query asked of every group of records at once."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from indistinct.data.queries.intervals import Estimates, Values
from indistinct.data.queries.query import NoisyQuery, Query, noise_of
from indistinct.data.queries.regression import CrossProductQuery
from indistinct.data.records.domain import Domain
from indistinct.data.records.encoding import Cells
from indistinct.data.records.grouped import ByGroup
from indistinct.data.records.reach import Norm
from indistinct.data.records.unit import Unit
from indistinct.description import describable
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Release


def _of_groups(argument: str, query: Any) -> Query:
    if not isinstance(query, Query) or not query.by_group:
        raise ArgumentError(argument, query, "a query that is answered by group, for instance Mean(...)")
    return query


@describable("group_by")
class GroupBy(Query):
    """A query for each cell of declared columns; the answer has one axis for each of them before its own.

    A record is in one group. So adding or removing one moves the numbers of one group, and the noise that a
    query needs for all records is enough for every group (parallel composition). With replace-one a record
    may move from one group to another, and both count. Of users who are in several groups `UserTotals` bounds
    the contributions to all groups together, and `UserRecords(..., groups=)` those to each.

    >>> from indistinct.data import Categories, Mean, Numbers
    >>> incomes = Mean("income", Numbers(0, 200_000))
    >>> query = GroupBy({"sex": Categories(["f", "m"])}, incomes)
    >>> query.size, query.sensitivity("L2") == incomes.sensitivity("L2")
    (4, True)
    """

    by_group = False
    by: tuple[tuple[str, Domain], ...]
    query: Annotated[Query, _of_groups]

    def __init__(self, by: Mapping[str, Domain], query: Query) -> None:
        self._declare(by=tuple(dict(by).items()), query=_of_groups("query", query))

    @property
    def unit(self) -> Unit:  # type: ignore[override]
        return self.query.unit

    @property
    def encoding(self) -> ByGroup:
        return ByGroup(Cells(self.by), self.query.encoding)

    @property
    def size(self) -> int:
        return self.encoding.group_count * self.query.size

    def moved(self, norm: Norm, distance: float) -> float:
        return self.query.moved(norm, distance)

    def measured(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.query.measured(sums.reshape(self.encoding.group_count, -1)).ravel()

    def read(self, values: Values) -> Any:
        return np.asarray(self.query.read(self._apart(values)))

    def estimate(self, values: Values, noisy: NoisyQuery) -> Estimates:
        return self.query.estimate(self._apart(values), noisy)

    def fit(self, release: Release[Any]) -> list[Any]:
        """What a release of a regression by group says: the rows of each group, in their order."""
        return fits_by_group(noise_of(self, release), np.asarray(release.values))

    def _apart(self, values: Values) -> Values:
        return values.reshape(*self.encoding.keys.shape, self.query.size)


def fits_by_group(noise: NoisyQuery, values: Values) -> list[Any]:
    """The rows of a regression for each group, from the numbers with this noise; of all records together,
    where it is not by group."""
    query = noise.query.query if isinstance(noise.query, GroupBy) else noise.query
    if not isinstance(query, CrossProductQuery):
        raise ArgumentError("query", query, "a regression or a table of covariances, to be fitted")
    groups = values.reshape(-1, query.size) if query.by_group else [values]
    return [query.fitted(noise, own) for own in groups]
