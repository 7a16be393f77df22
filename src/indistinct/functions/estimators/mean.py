"""Private mean embeddings: what a whole set of records looks like, as one function."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from indistinct.adjacency import Adjacency
from indistinct.boundary import guarded
from indistinct.data import Count, FeatureSum, Norm, table
from indistinct.errors import ArgumentError
from indistinct.functions.estimators.estimator import FeatureEstimator, charged_fit, validated
from indistinct.functions.estimators.two_sample import (
    Sample,
    TwoSampleTest,
    squared_distance,
    two_sample_test,
)
from indistinct.functions.function import FiniteFunction, FunctionNoise
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms.paying import Payer
from indistinct.numerics.arrays import Array

_COUNT = 0.05
"""The share of the budget, in squared Gaussian DP, that a private number of records costs."""

_KINDS = (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE)
_MOST = 2**24
"""Records, where their number is private."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateKernelMean(FeatureEstimator):
    """The mean of k(x, ·) over records, released once: the similarity of any point to the whole set.

    `records` is the public number of records, which they must not exceed. Without it the number is released
    too for add/remove, with a twentieth of the budget, and is public for replace-one. Two such means, of two
    sets of records of different people, tell how far apart the sets are (`mmd`) and whether they may come
    from one distribution (`mmd_test`); both are post-processing. The other parameters are those of
    `PrivateKernelRidge`; give both estimators the same `box`, `kernel`, `pairs` and `random_state`.

    >>> import numpy as np
    >>> from indistinct import Budget
    >>> left, right = np.linspace(0, 0.6, 3000)[:, None], np.linspace(0.4, 1, 3000)[:, None]
    >>> model = PrivateKernelMean(Budget(epsilon=1, delta=1e-6), box=(0, 1), records=3000)
    >>> one = model.fit(left)
    >>> other = PrivateKernelMean(Budget(epsilon=1, delta=1e-6), box=(0, 1), records=3000).fit(right)
    >>> one.guarantee().epsilon(delta=1e-6), one.predict([[0.3]]) > one.predict([[0.9]])
    (1.00000, array([ True]))
    >>> one.mmd_test(other).pvalue < 1e-3
    True
    """

    function_: FiniteFunction = field(init=False)
    """The mean as a private function: evaluate it, differentiate it, keep it."""
    count_: float = field(init=False)
    """The number of records that was divided by: public, or with noise."""

    @charged_fit
    def fit(self, X: Any, y: Any = None, *, ledger: Payer | None = None) -> Self:
        return self._fit(validated(self, X))

    @guarded("X")
    def _fit(self, X: Array) -> Self:
        box, multiplier = self._box(), self._multiplier()
        space = self._space(self.kernel, box)
        data = table({name: X[:, place] for place, name in enumerate(box)})
        counted = self.records is None and self._neighbours is Adjacency.ADD_REMOVE
        share = 1 - _COUNT if counted else 1.0
        most = _MOST if counted else self._public_number(len(X))
        query, self.count_deviation_ = FeatureSum(box, space, records=most), 0.0
        added, replaced = (query.sensitivity(Norm.L2, kind) for kind in _KINDS)
        moves = added if self._neighbours is Adjacency.ADD_REMOVE else replaced
        noisy_sum = query.gaussian(multiplier * moves / math.sqrt(share) * (1 + 1e-9))
        total = noisy_sum.release(data, source=self.source)
        drawn = FunctionNoise(noisy_sum.scale, noisy_sum.unit, added, replaced)
        if counted:
            count = Count().gaussian(multiplier / math.sqrt(_COUNT) * (1 + 1e-9))
            noisy = count.release(data, source=self.source)
            self.count_, self.count_deviation_ = max(float(noisy.values), 1.0), count.scale
            # Two Gaussians hide a record as one does for which it is as far as both together.
            both = math.hypot(drawn.added, drawn.scale / count.scale) * (1 + 1e-12)
            drawn = replace(drawn, added=both)
        else:
            self.count_ = float(most)
            if self.records is None:  # public for replace-one only
                drawn = replace(drawn, added=math.inf)
        self.function_ = FiniteFunction(space, drawn, total.private, coefficients=total.values) / self.count_
        return self

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        check_is_fitted(self)
        return self.function_.guarantee(self.adjacency if adjacency is None else adjacency)

    def predict(self, X: Any) -> Array:
        """The mean similarity of each point to the records."""
        points = self._points(X)
        return self.function_(points)

    def squared_mmd(self, other: "PrivateKernelMean") -> float:
        """An estimate of the squared distance of the two distributions in the space of the kernel. The noise,
        whose variance is known, and the variance of sampling are subtracted, so it may be negative; it is
        unbiased for public numbers of records where all k(x, x) are equal."""
        return squared_distance(self._sample(), self._other(other))

    def mmd(self, other: "PrivateKernelMean") -> float:
        """The square root of `squared_mmd`, 0 where that is negative."""
        return math.sqrt(max(self.squared_mmd(other), 0.0))

    def mmd_test(self, other: "PrivateKernelMean") -> TwoSampleTest:
        """Whether both sets of records may come from one distribution: p-values that count noise and
        sampling. They hold if records are independent, and `records`, where given, is their number
        exactly."""
        return two_sample_test(self._sample(), self._other(other))

    def _sample(self) -> Sample:
        check_is_fitted(self)
        low, high = np.array([(side.low, side.high) for side in self._box().values()]).T
        return Sample(self.function_, self.count_, self.count_deviation_, low, high)

    def _other(self, other: object) -> Sample:
        if not isinstance(other, PrivateKernelMean):
            raise ArgumentError("other", other, "a PrivateKernelMean")
        sample = other._sample()
        if sample.mean.space != self.function_.space:
            allowed = "fitted in the same space: the same box, kernel, pairs and random_state"
            raise ArgumentError("other", sample.mean.space, allowed)
        return sample
