"""Functions that minimise a regularised risk, released: what regression and classification share."""

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import Categories, Numbers, table
from indistinct.errors import ArgumentError, check_positive, check_probability
from indistinct.functions.estimators.estimator import FeatureEstimator, after_choice, check_rounding, release
from indistinct.functions.estimators.losses import Loss
from indistinct.functions.estimators.risk import Against, Between, CachedPasses, Risk, with_target
from indistinct.functions.function import FiniteFunction
from indistinct.functions.kernels.kernel import Kernel
from indistinct.functions.linear import LinearSpace
from indistinct.functions.space import FiniteSpace
from indistinct.guarantees.guarantee import Guarantee, compose
from indistinct.mechanisms import Exponential, Release
from indistinct.mechanisms.budget import check_budget
from indistinct.numerics.arrays import Array


def public_regularization(loss: Loss, height: float, multiplier: float, records: int, noise: float) -> float:
    """The regularization at which the noise of a score has deviation `noise`, a public number: less of it
    fits better and needs more noise."""
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        deviation = multiplier * height * loss.moved(height, middle) / records
        low, high = (middle, high) if deviation > noise else (low, middle)
    return high


def _composed(released: Sequence[FiniteFunction | Release[Any]], adjacency: Adjacency) -> Guarantee:
    return compose((one.guarantee(adjacency), 1) for one in released)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRiskMinimiser(FeatureEstimator, ABC):
    """Minimises (1/records) Σ loss(y, f(x)) + (regularization/2) |f|² for each of several targets, and
    releases the minimisers."""

    candidates: Sequence[Kernel | FiniteSpace | str] | None = None
    choice: float = 0.1
    noise: ClassVar[float]
    """How large the noise of a score is by the public rule for the regularization."""
    loss: Loss | None = None
    regularization: float | None = None
    regularization_: float = field(init=False)
    space_: FiniteSpace = field(init=False)
    """The space of the functions, with the kernel that was chosen."""

    @guarded("X and y")
    def _fit(
        self,
        X: Array,
        column: Array,
        domain: Numbers | Categories,
        loss: Loss,
        targets: Sequence[Between | Against],
    ) -> tuple[FiniteFunction, ...]:
        box = self._box()
        kernels = [self.kernel] if self.candidates is None else list(self.candidates)
        if not kernels or (self.candidates is not None and self.kernel is not None):
            raise ArgumentError("candidates", self.candidates, "one or more kernels, and kernel left out")
        spaces = [self._space(kernel, box) for kernel in kernels]
        records = self._public_number(len(X))
        spent = self._choice_epsilon() if len(spaces) > 1 else 0.0
        before = Exponential(1 / spent, monotonic=True) if spent else None
        multiplier = self._multiplier(before) * len(targets) ** 0.5
        if self.regularization is None:
            height = max(space.bound for space in spaces)
            self.regularization_ = public_regularization(loss, height, multiplier, records, self.noise)
        else:
            self.regularization_ = check_positive("regularization", self.regularization)
        check_rounding(multiplier, max(space.size for space in spaces))  # before anything is drawn
        data = table({**{name: X[:, place] for place, name in enumerate(box)}, "target": column})
        axes = with_target(box, domain)
        risks = [
            [Risk(features, loss, target, self.regularization_, records, axes) for target in targets]
            for features in map(CachedPasses, spaces)
        ]
        found = [[risk.minimiser(data) for risk in several] for several in risks]
        chosen, place = None, 0
        if spent:
            chosen = self._chosen(data, risks, found, spent)
            place = int(chosen.values)
        self.space_ = spaces[place]
        functions = tuple(
            release(
                risk.space,
                coefficients,
                multiplier,
                {kind: self._moves(risk, kind) for kind in Adjacency},
                self._neighbours,
                self.source,
            )
            for risk, coefficients in zip(risks[place], found[place], strict=True)
        )
        self._exactly = _composed(functions if chosen is None else (*functions, chosen), self._neighbours)
        if chosen is not None:
            assert isinstance(chosen.mechanism, Exponential)
            most = chosen.mechanism.most  # a record that is replaced may also lower scores
            replaced = 2 * most if self._neighbours is Adjacency.ADD_REMOVE else most
            functions = tuple(after_choice(function, most, replaced) for function in functions)
        self._functions = functions
        return functions

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        check_is_fitted(self)
        wanted = self._neighbours if adjacency is None else check_adjacency(adjacency)
        return self._exactly if wanted is self._neighbours else _composed(self._functions, wanted)

    def _lines(self, functions: Sequence[FiniteFunction]) -> tuple[Array, Array]:
        """The slopes [functions, columns] of linear functions, per unit of a column, and their values at 0.
        Like others that scikit-learn has sometimes, these attributes are absent where they mean nothing."""
        check_is_fitted(self)
        if not isinstance(self.space_, LinearSpace):
            raise AttributeError('only functions of kernel="linear" have coefficients')
        middle = self.space_.middle[None]
        slopes = np.concatenate([function.gradient(middle) for function in functions])
        values = np.concatenate([function(middle) for function in functions])
        return slopes, values - slopes @ middle[0]

    def _moves(self, risk: Risk, adjacency: Adjacency) -> float:
        """Infinite where the number of records, by which the risk was divided, is private."""
        private = self.records is None and adjacency is Adjacency.ADD_REMOVE
        return float("inf") if private else risk.sensitivity(adjacency)

    def _choice_epsilon(self) -> float:
        epsilon = check_budget(self.budget).epsilon
        if epsilon is None:
            raise ArgumentError("candidates", self.candidates, "absent, or else Budget(epsilon=…, delta=…)")
        share = check_probability("choice", self.choice)
        if not 0 < share < 1:
            raise ArgumentError("choice", self.choice, "between 0 and 1: a share of epsilon")
        return share * epsilon

    def _chosen(
        self, data: Any, risks: list[list[Risk]], found: list[list[Array]], spent: float
    ) -> Release[Any]:
        """By the exponential mechanism, the lower the least objective the likelier.

        The least objective is a score on the data that were fitted, but no worse for that: with as much
        regularization as privacy asks for, a held-out record's loss differs on average by at most
        L²κ²/(λn) (Bousquet and Elisseeff 2002), less than the noise of the release.
        """
        totals = [
            sum(risk.total(data, place) for risk, place in zip(*pair, strict=True))
            for pair in zip(risks, found, strict=True)
        ]
        moves = max(sum(risk.highest for risk in several) for several in risks)
        monotonic = self._neighbours is Adjacency.ADD_REMOVE  # losses are not negative: a record raises all
        scale = (1 if monotonic else 2) * moves / spent
        mechanism = Exponential(scale, moves, monotonic)
        return mechanism.release([-total for total in totals], source=self.source)
