"""Private kernel classification."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from indistinct.boundary import guarded
from indistinct.data import Categories
from indistinct.errors import ArgumentError, DataError
from indistinct.functions.estimators.estimator import charged_fit, checked_by_sklearn, validated
from indistinct.functions.estimators.losses import HuberisedHingeLoss, Loss
from indistinct.functions.estimators.risk import Against
from indistinct.functions.estimators.supervised import PrivateRiskMinimiser
from indistinct.functions.function import FiniteFunction
from indistinct.mechanisms.paying import Payer
from indistinct.numerics.arrays import Array


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateKernelClassifier(ClassifierMixin, PrivateRiskMinimiser):  # type: ignore[misc]
    """A kernel machine, released once as functions that anyone may evaluate anywhere.

    For two classes `fit` minimises (1/records) Σ loss(y, f(x)) + (regularization/2) |f|² with y = ±1 and
    releases the minimiser plus a path of a Gaussian process of the same kernel; for more classes it does so
    for each against the rest, and the budget pays for all of them. `losses.py` proves how far one record
    moves a minimiser. `classes` are declared like every domain: which ones occur is private. The other
    parameters are those of `PrivateKernelRidge`.

    >>> import numpy as np
    >>> from indistinct import Budget
    >>> X = np.linspace(0, 1, 4000)[:, None]
    >>> y = np.where(np.abs(X[:, 0] - 0.5) < 0.25, "in", "out")
    >>> declared = {"box": (0, 1), "classes": ["in", "out"], "records": 4000}
    >>> model = PrivateKernelClassifier(Budget(epsilon=1, delta=1e-6), **declared).fit(X, y)
    >>> model.guarantee().epsilon(delta=1e-6)
    1.00000
    >>> model.predict([[0.5], [1.0]])
    array(['in', 'out'], dtype='<U3')
    """

    noise = 0.2
    classes: Sequence[Any] | None = None
    functions_: tuple[FiniteFunction, ...] = field(init=False)
    """One for each class against the rest; of two classes, one for the second."""

    @charged_fit
    def fit(self, X: Any, y: Any = None, *, ledger: Payer | None = None) -> Self:
        X, y = validated(self, X, y)
        with checked_by_sklearn(self):
            check_classification_targets(y)
        loss = HuberisedHingeLoss() if self.loss is None else self.loss
        if not isinstance(loss, Loss) or not loss.signs:
            raise ArgumentError("loss", self.loss, "a loss of signs: HuberisedHingeLoss() or LogisticLoss()")
        self.classes_ = np.unique(np.asarray(() if self.classes is None else self.classes))
        count = len(self.classes_)
        if count < 2:
            raise ArgumentError("classes", self.classes, "more than one class, declared")
        with guarded("y"):  # classes of another type cannot be compared
            places = np.minimum(np.searchsorted(self.classes_, y), count - 1)
            if (self.classes_[places] != y).any():
                raise DataError("the target has values that are not among the declared classes")
        targets = [Against(1)] if count == 2 else [Against(place) for place in range(count)]
        self.functions_ = self._fit(X, places, Categories(range(count)), loss, targets)
        return self

    def decision_function(self, X: Any) -> Array:
        """The released scores: one column for each class, or for two classes that of the second alone."""
        points = self._points(X)
        scores = np.stack([function(points) for function in self.functions_], axis=1)
        return scores[:, 0] if len(self.functions_) == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class with the highest score."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]
