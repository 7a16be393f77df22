"""A private density in scikit-learn's conventions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from indistinct.adjacency import Adjacency
from indistinct.boundary import guarded
from indistinct.data import Numbers
from indistinct.errors import ArgumentError
from indistinct.functions.density import PrivateDensity, release_density
from indistinct.functions.estimators.estimator import PrivateEstimator, charged_fit, declared_box, validated
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms.paying import Payer
from indistinct.numerics.arrays import Array


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateKernelDensity(DensityMixin, PrivateEstimator):  # type: ignore[misc]
    """The density of one to three columns, released once by `fit`; what follows is post-processing.

    `box` is the declared domain, a pair (low, high) for all columns or one for each; what lies outside is
    moved to its edge. `bandwidth` is the kernel's length in sides of the box, by a public rule without it;
    `records` a public number near that of the records and not below it; without it a little of the budget
    counts them.

    After `fit`, `density_` is the density (positive, of mass one), `density_.released` what was released
    before that was fitted to it, and `guarantee()` that of all of it.

    >>> from indistinct import Budget
    >>> waiting = np.random.default_rng(0).normal(70, 8, size=(2000, 1))
    >>> model = PrivateKernelDensity(Budget(epsilon=1, delta=1e-5), box=(40, 100)).fit(waiting)
    >>> model.guarantee().epsilon(delta=1e-5)
    1.0
    >>> model.score_samples([[70.0], [120.0]]).round(0)
    array([ -3., -inf])
    """

    bandwidth: float | None = None

    @charged_fit
    def fit(self, X: Any, y: Any = None, *, ledger: Payer | None = None) -> Self:
        """Releases once; another `fit` is another release, and both count."""
        points = validated(self, X)
        columns = {f"x{place}": column for place, column in enumerate(points.T)}
        return self._release(columns, dict(zip(columns, self._sides(len(columns)), strict=True)))

    def fit_table(self, data: Any, columns: tuple[str, ...]) -> Self:
        """From columns of any table: arrays by name, a data frame, DuckDB, Spark. One pass where it lies."""
        self.n_features_in_ = len(columns)
        return self._release(data, dict(zip(columns, self._sides(len(columns)), strict=True)))

    @guarded("the table")
    def _release(self, data: Any, axes: dict[str, Numbers]) -> Self:
        self.density_: PrivateDensity = release_density(
            data,
            axes,
            self.budget,
            adjacency=self.adjacency,
            bandwidth=self.bandwidth,
            records=self.records,
            source=self.source,
        )
        return self

    def _sides(self, columns: int) -> list[Numbers]:
        if not 1 <= columns <= 3:
            raise ArgumentError("X", f"{columns} columns", "one to three columns")
        return list(declared_box(self.box, columns).values())

    def score_samples(self, X: Any) -> Array:
        """The logarithm of the density at each point; -inf outside the box."""
        check_is_fitted(self)
        points: Array = validated(self, X, reset=False)
        return self.density_.log(points)

    def score(self, X: Any, y: Any = None) -> float:
        """The total log-likelihood of points."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: int = 0) -> Array:
        """Synthetic points, drawn from the released density."""
        check_is_fitted(self)
        return self.density_.sample(n_samples, seed=random_state)

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        check_is_fitted(self)
        return self.density_.guarantee(self.adjacency if adjacency is None else adjacency)
