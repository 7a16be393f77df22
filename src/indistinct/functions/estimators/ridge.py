"""Private kernel regression."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from indistinct.data import Numbers
from indistinct.errors import ArgumentError
from indistinct.functions.estimators.estimator import charged_fit, checked_by_sklearn, validated
from indistinct.functions.estimators.losses import HuberLoss, Loss
from indistinct.functions.estimators.risk import Between
from indistinct.functions.estimators.supervised import PrivateRiskMinimiser
from indistinct.functions.function import FiniteFunction
from indistinct.mechanisms.paying import Payer
from indistinct.numerics.arrays import Array


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateKernelRidge(RegressorMixin, PrivateRiskMinimiser):  # type: ignore[misc]
    """Kernel regression, released once as a function that anyone may evaluate anywhere.

    With targets moved from `targets` = (low, high) to [-1, 1], `fit` minimises
    (1/records) Σ loss(y, f(x)) + (regularization/2) |f|² and releases the minimiser plus a path of a Gaussian
    process of the same kernel. `losses.py` proves how far one record moves the minimiser. `SquaredLoss()` is
    ridge regression to the letter; `HuberLoss()`, the default, pulls no harder at errors above a threshold,
    so that one record moves the minimiser less and the same budget gives a better fit. Without
    `regularization` a public rule chooses it: the noise of a value is 7 % of half the range of targets.

    `box`: the declared domain of the features. `records`: a public number that the records do not exceed,
    which the risk is divided by; it may be left out for replace-one, where neighbours are as many. `kernel`:
    a kernel carried by `pairs` random features, or a finite space; without it a public rule from the box.
    `candidates`: kernels of which one is chosen privately, for a share `choice` of epsilon. `random_state`
    draws the public features; noise has no seed, but for a `source` that is not private, and then there is no
    guarantee.

    >>> import numpy as np
    >>> from indistinct import Budget
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = PrivateKernelRidge(Budget(epsilon=1, delta=1e-6), box=(0, 1), targets=(-1, 1), records=2000)
    >>> model.fit(X, y).guarantee().epsilon(delta=1e-6)
    1.00000
    >>> model.predict([[0.25], [0.75]]).round(), model.function_.gradient([0.25]).shape
    (array([ 1., -1.]), (1, 1))
    """

    noise = 0.07
    targets: tuple[float, float] | None = None
    function_: FiniteFunction = field(init=False)
    """The regression with targets moved to [-1, 1]; `predict` moves them back."""

    @charged_fit
    def fit(self, X: Any, y: Any = None, *, ledger: Payer | None = None) -> Self:
        X, y = validated(self, X, y, y_numeric=True)
        between, loss = self._between(), HuberLoss() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or loss.signs:
            raise ArgumentError("loss", self.loss, "a loss of numbers: HuberLoss() or SquaredLoss()")
        domain = Numbers(between.low, between.high)
        with checked_by_sklearn(self):  # which takes texts for targets, where they are not objects
            column = np.asarray(y, dtype=np.float64)
        (self.function_,) = self._fit(X, column, domain, loss, [between])
        return self

    def predict(self, X: Any) -> Array:
        """The regression at points; inside the declared range of targets."""
        points, between = self._points(X), self._between()
        scores = np.clip(self.function_(points), -1.0, 1.0)
        predicted: Array = between.middle + between.half * scores
        return predicted

    @property
    def coef_(self) -> Array:
        """With kernel="linear": how much a prediction rises with each column, inside the box and the range
        of targets."""
        slopes: Array = self._between().half * self._lines([self.function_])[0][0]
        return slopes

    @property
    def intercept_(self) -> float:
        """With kernel="linear": the prediction at 0, as if the line went on to there."""
        between = self._between()
        return float(between.middle + between.half * self._lines([self.function_])[1][0])

    def _between(self) -> Between:
        ends = self.targets if isinstance(self.targets, Sequence | np.ndarray) else ()
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise ArgumentError("targets", self.targets, "a pair (low, high): where targets are to lie")
        numbers = Numbers(*ends)
        return Between(numbers.low, numbers.high)
