"""Private kernel classification."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from indistinct.adjacency import Adjacency
from indistinct.boundary import guarded
from indistinct.data import Categories, FeatureSum, Norm, table
from indistinct.errors import ArgumentError, DataError
from indistinct.functions.estimators.estimator import (
    charged_fit,
    check_rounding,
    checked_by_sklearn,
    validated,
)
from indistinct.functions.estimators.losses import HuberisedHingeLoss, Loss
from indistinct.functions.estimators.risk import Against
from indistinct.functions.estimators.supervised import PrivateRiskMinimiser
from indistinct.functions.function import FiniteFunction, FunctionNoise
from indistinct.mechanisms.paying import Payer
from indistinct.numerics.arrays import Array

_KINDS = (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE)
_FEW = 20
"""Records of each class, for one sensitivity of noise and one column, below which class sums are released. In
few columns classes wind around each other, which a machine finds early; in many, means do better."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateKernelClassifier(ClassifierMixin, PrivateRiskMinimiser):  # type: ignore[misc]
    """A kernel classifier, released once as functions that anyone may evaluate anywhere.

    What is released follows from a public rule: a loss, a regularization or candidates that are given ask for
    a kernel machine, and so do many records for the budget, the classes and the columns (20 for each column
    and class and for one sensitivity of noise); else it is the class sums.

    **Class sums**, Σ k(x, ·) over the records of each class, in one release: a record is in one class, so all
    sums together move by |k(x, ·)| ≤ κ if it comes or goes, as one sum does, however many classes there are.
    A record that is replaced leaves one sum and enters another, or moves within one: by at most √2 κ in two,
    since the sums are orthogonal blocks, and 2κ in one. The score of a class is <m, k(x, ·)> - |m|²/2 with m
    its mean: the nearest mean in the space of the kernel wins. |m|² is taken less the noise in it.

    **A kernel machine**: for two classes the minimiser of (1/records) Σ loss(y, f(x)) + (regularization/2)
    |f|² with y = ±1; for more, one for each class against the rest, and the budget pays for all of them.
    `losses.py` proves how far one record moves a minimiser.

    `classes` are declared like every domain: which ones occur is private. The other parameters are those of
    `PrivateKernelRidge`.

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
    offsets_: Array = field(init=False)
    class_sums_: bool = field(init=False)
    """What is subtracted from each function for its score: half the square of a mean, or 0."""
    sharpness_: float = field(init=False)
    """What scores are multiplied by for `predict_proba`."""
    functions_: tuple[FiniteFunction, ...] = field(init=False)
    """The means of the classes; or minimisers, one for each class against the rest, of two the second's."""

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
        if self._sums(len(X), count):
            return self._fit_sums(X, places, count)
        targets = [Against(1)] if count == 2 else [Against(place) for place in range(count)]
        self.functions_ = self._fit(X, places, Categories(range(count)), loss, targets)
        self.offsets_, self.sharpness_, self.class_sums_ = np.zeros(len(targets)), 1.0, False
        return self

    def _sums(self, rows: int, count: int) -> bool:
        """The public rule: whether class sums are released."""
        if any(given is not None for given in (self.loss, self.regularization, self.candidates)):
            return False
        enough: float = _FEW * self.n_features_in_ * self._multiplier() * count
        return self._public_number(rows) < enough

    @guarded("X and y")
    def _fit_sums(self, X: Array, places: Any, count: int) -> Self:
        box, multiplier, records = self._box(), self._multiplier(), self._public_number(len(X))
        space = self._space(self.kernel, box)
        check_rounding(multiplier, space.size * count)
        data = table({**{name: X[:, place] for place, name in enumerate(box)}, "target": places})
        query = FeatureSum(box, space, block=("target", Categories(range(count))), records=records)
        added, replaced = (query.sensitivity(Norm.L2, kind) for kind in _KINDS)
        moves = added if self._neighbours is Adjacency.ADD_REMOVE else replaced
        noisy = query.gaussian(multiplier * moves * (1 + 1e-9))
        total = noisy.release(data, source=self.source)
        if self.records is None:  # their number was used, which is public for replace-one only
            added = math.inf
        drawn = FunctionNoise(noisy.scale, noisy.unit, added, replaced)
        sums = query.read(np.asarray(total.values, dtype=np.float64))
        # All of them together are one release: who has one function has no less than its guarantee, and who
        # has all has no more.
        self._exactly = FiniteFunction(space, drawn, total.private, coefficients=sums[0]).guarantee(
            self._neighbours
        )
        counts = _class_counts(sums, records)
        functions = [FiniteFunction(space, drawn, total.private, coefficients=own) for own in sums]
        self.functions_ = tuple(own / many for own, many in zip(functions, counts.tolist(), strict=True))
        self.space_, self._functions = space, self.functions_[:1]
        means = np.clip(_squares(sums / counts[:, None], noisy.scale / counts), 0.0, space.bound**2)
        self.offsets_, self.class_sums_ = means / 2, True
        # within a class features have the variance κ² - |m|² in all, here taken to be even over the columns
        self.sharpness_ = len(box) / max(space.bound**2 - float(means.mean()), 1e-3 * space.bound**2)
        return self

    def decision_function(self, X: Any) -> Array:
        """The released scores: one column for each class, or for two classes one, positive for the second."""
        points = self._points(X)
        scores: Array = np.stack([function(points) for function in self.functions_], axis=1) - self.offsets_
        if len(self.classes_) == 2:
            return scores[:, -1] - (scores[:, 0] if len(self.functions_) == 2 else 0.0)
        return scores

    @property
    def coef_(self) -> Array:
        """With kernel="linear": how much each score of `decision_function` rises with each column, [1 or
        classes, columns]."""
        return self._scores()[0]

    @property
    def intercept_(self) -> Array:
        """With kernel="linear": the scores at 0, as if they were linear to there."""
        return self._scores()[1]

    def _scores(self) -> tuple[Array, Array]:
        slopes, values = self._lines(self.functions_)
        values = values - self.offsets_
        if len(self.classes_) == 2 and len(self.functions_) == 2:
            return slopes[1:] - slopes[:1], values[1:] - values[:1]
        return slopes, values

    def predict(self, X: Any) -> Any:
        """The class with the highest score."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of the scores; post-processing. Of class sums, those of
        Gaussians around the means with the variance that the means leave; of a kernel machine, the logistic
        function of each score (for the logistic loss, what was fitted), divided by their sum. Neither is
        measured on records, so read them as a scale, not as frequencies."""
        scores = self.decision_function(X)
        scores = self.sharpness_ * scores
        if scores.ndim == 1:
            second = expit(scores)
            return np.stack([1 - second, second], axis=1)
        chances: Array = softmax(scores, axis=1) if self.class_sums_ else expit(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances


def _squares(means: Array, deviations: Array) -> Array:
    """The squared length of each mean, less the noise in it. What noise leaves there moves all scores of a
    class alike, so lengths are drawn towards each other as far as they differ by no more than noise lets them
    (James and Stein 1961): a squared length of k numbers varies by 2 k σ⁴ + 4 σ² times itself."""
    each, variances = means.shape[1], deviations**2
    found: Array = (means**2).sum(axis=1) - each * variances
    noise = 2 * each * variances**2 + 4 * variances * np.maximum(found, 0.0)
    kept = max(0.0, 1 - float(noise.mean() / max(found.var(ddof=1), 1e-300)))
    shrunk: Array = kept * found + (1 - kept) * found.mean()
    return shrunk


def _class_counts(sums: Array, records: int) -> Array:
    """How many records each class has, about, from the noisy sums: their lengths along the sum of all. No
    class is taken to be smaller than a fifth of an even share, so that noise is not blown up."""
    total = sums.sum(axis=0)
    along = np.maximum(sums @ total, 0.0)
    even = records / len(sums)
    counts: Array = np.maximum(along / max(float(along.sum()), 1e-300) * records, even / 5)
    return counts
