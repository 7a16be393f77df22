"""What private estimators share: a declared box, a budget, public features, and the release."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import Numbers
from indistinct.errors import ArgumentError, DataError, check_count
from indistinct.functions.function import FiniteFunction, FunctionNoise
from indistinct.functions.kernels.kernel import Kernel
from indistinct.functions.kernels.stationary import GaussianKernel
from indistinct.functions.linear import LinearSpace
from indistinct.functions.mechanism import noise_multiplier
from indistinct.functions.random_features import RandomFeatures
from indistinct.functions.space import FiniteSpace
from indistinct.guarantees.guarantee import Guarantee
from indistinct.mechanisms import Budget, Mechanism
from indistinct.mechanisms.budget import dominating_shift
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.numerics.arrays import EPS, Array

Box = Mapping[str, Numbers]
E = TypeVar("E", bound="PrivateEstimator")


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator whose `fit` is one release. `box` is the declared domain of the features, a pair
    (low, high) for all columns or one for each; what lies outside is moved to its edge. Its fields are what
    scikit-learn calls parameters."""

    budget: Budget | None = field(default=None, kw_only=False)
    box: Any = None
    records: int | None = None
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    source: Source | None = None

    @abstractmethod
    def fit(self, X: Any, y: Any = None, *, ledger: Payer | None = None) -> "PrivateEstimator":
        """Releases once; `ledger` is the account that pays for it."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise comes from the operating system, not from `random_state`
        return tags

    @property
    def _neighbours(self) -> Adjacency:
        """The adjacency, which may have been given by its name; scikit-learn keeps what it was given."""
        return check_adjacency(self.adjacency)

    @abstractmethod
    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """Of all that `fit` released, for the neighbours of this estimator unless others are named."""

    def _multiplier(self, before: Mechanism | None = None) -> float:
        """The noise that the budget allows, in sensitivities, after another release."""
        return noise_multiplier(self.budget, self._neighbours, before)

    def _box(self) -> Box:
        """The domains of the columns that `fit` was given."""
        return declared_box(self.box, self.n_features_in_)


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureEstimator(PrivateEstimator, ABC):
    """An estimator of functions in a finite space: that of random features of a kernel, unless given;
    `"linear"` is for `LinearSpace` on the box."""

    kernel: Kernel | FiniteSpace | str | None = None
    pairs: int = 200
    random_state: int = 0

    def _space(self, kernel: Any, box: Box) -> FiniteSpace:
        if isinstance(kernel, FiniteSpace):
            if kernel.dimension != len(box):
                raise ArgumentError("kernel", kernel, f"a space of points with {len(box)} coordinates")
            return kernel
        if isinstance(kernel, str):
            if kernel != "linear":
                raise ArgumentError("kernel", kernel, 'a kernel, a finite space, or "linear"')
            low, high = zip(*((side.low, side.high) for side in box.values()), strict=True)
            return LinearSpace(low, high)
        kernel = public_kernel(box) if kernel is None else kernel
        return RandomFeatures(kernel, self.pairs, len(box), check_count("random_state", self.random_state))

    def _public_number(self, rows: int) -> int:
        """n: the declared number of records, or how many there are where neighbours have as many."""
        if self.records is not None:
            return check_count("records", self.records, least=1)
        if self._neighbours is Adjacency.REPLACE_ONE:
            return rows
        allowed = "a public number that the records do not exceed: for add/remove their own is private"
        raise ArgumentError("records", self.records, allowed)

    def _points(self, X: Any) -> Array:
        """Points to evaluate at, moved into the box."""
        check_is_fitted(self)
        points: Array = validated(self, X, reset=False)
        low, high = np.array([(side.low, side.high) for side in self._box().values()]).T
        return np.clip(points, low, high)


def validated(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """What scikit-learn makes of data; what it complains about shows no record."""
    if not options.get("reset", True):  # names of columns are public, and so is that there are none
        _check_feature_names(estimator, X, reset=False)
    if getattr(y, "ndim", 1) == 2:
        warnings.warn(_COLUMN, DataConversionWarning, stacklevel=3)
    with checked_by_sklearn(estimator):
        return validate_data(estimator, X, y, dtype=np.float64, **options)


_COLUMN = "A column-vector y was passed when a 1d array was expected"
_SAID = {
    "Complex data not supported": "Complex data not supported",
    "contains NaN": "X and y must hold numbers, and one contains NaN or inf",
    "contains infinity": "X and y must hold numbers, and one contains NaN or inf",
    "0 sample(s)": "the table has no records: 0 sample(s)",
    "0 feature(s)": "X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    "Expected 2D array": "X must be a table, a row for each point. Reshape your data",
    "inconsistent numbers of samples": "X and y are of different length",
    "y should be a 1d array": "y should be a 1d array",
    "requires y to be passed": "the estimator requires y to be passed, but the target y is None",
    "Unknown label type": "Unknown label type: the target must hold classes",
    "could not convert": "X and numeric targets must hold numbers, and hold text",
    "parse": "X must be a table of numbers: a sparse matrix is not supported",
}
"""What scikit-learn may say, by words of its message, and what is said in its place: its own words, which its
tools look for, without anything that was computed from records."""


@contextmanager
def checked_by_sklearn(estimator: Any) -> Iterator[None]:
    """Around its checks of private data: the error boundary, with more sentences to choose from."""
    with guarded("X and y"):
        try:
            yield
        except (TypeError, ValueError) as error:
            said = str(error)
            if "features, but" in said:  # how many columns there are is public
                name, many = type(estimator).__name__, estimator.n_features_in_
                counted = said.split(" features, but")[0].rsplit(" ", 1)[-1]
                if counted.isdecimal():
                    words = f"X has {counted} features, but {name} is expecting {many} features as input"
                    raise DataError(words) from None
            for part, words in _SAID.items():
                if part in said:
                    raise DataError(words) from None
            raise


def declared_box(box: Any, columns: int) -> Box:
    """The domains of so many columns, from a pair (low, high) for all of them or one for each."""
    pairs = np.asarray(() if box is None else box, dtype=object)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (columns, 1))
    if pairs.shape != (columns, 2):
        allowed = f"a pair (low, high), or {columns} of them: where features are to lie"
        raise ArgumentError("box", box, allowed)
    sides = {f"x{place}": Numbers(low, high) for place, (low, high) in enumerate(pairs)}
    if any(side.low == side.high for side in sides.values()):
        raise ArgumentError("box", box, "of positive width in every column")
    return sides


def public_kernel(box: Box) -> Kernel:
    """A Gaussian kernel that is as wide, in each column, as a quarter of the box times √d: near the distance
    of typical points, and a function of the declared box alone."""
    share = math.sqrt(len(box)) / 4
    return GaussianKernel(tuple((side.high - side.low) * share for side in box.values()))


def after_choice(function: FiniteFunction, added: float, replaced: float) -> FiniteFunction:
    """The function with a guarantee that counts how its space was chosen, by a release of these pure
    epsilons, which a Gaussian dominates: who has the function knows the space."""
    drawn = function.mechanism

    def both(moved: float, epsilon: float) -> float:
        return math.hypot(moved, dominating_shift(epsilon) * drawn.scale) * (1 + 4 * EPS)

    counted = replace(drawn, added=both(drawn.added, added), replaced=both(drawn.replaced, replaced))
    return replace(function, mechanism=counted)


def charged_fit(fit: Callable[..., E]) -> Callable[..., E]:
    """`fit`, so that its argument `ledger` pays: the estimator shows what was fitted when that is final."""

    @wraps(fit)
    def paying(self: E, X: Any, y: Any = None, *, ledger: Payer | None = None) -> E:
        if ledger is None:
            return fit(self, X, y)
        fitted = charged(fit)(copy(self), X, y, ledger=ledger)
        self.__dict__.update(fitted.__dict__)
        return self

    return paying


def check_rounding(multiplier: float, size: int) -> float:
    """How much of the noise rounding so many coefficients costs, at most."""
    # Rounding to the lattice moves neighbours by √size units more, and 2**36 units are at most a scale.
    rounding = multiplier * math.sqrt(size) * 2.0**-36
    if rounding > 0.01:
        allowed = "larger: rounding would show beside so much noise"
        raise ArgumentError("budget", f"noise of {multiplier:g} sensitivities", allowed)
    return rounding


def release(
    space: FiniteSpace,
    coefficients: Array,
    multiplier: float,
    moves: Mapping[Adjacency, float],
    adjacency: Adjacency,
    source: Source | None,
) -> FiniteFunction:
    """The function plus noise of `multiplier` times how far neighbours move it. `moves` says that for both
    adjacencies; it is infinite for one that the function has no guarantee for."""
    rounding = check_rounding(multiplier, space.size)
    scale = multiplier * moves[adjacency] / (1 - rounding) * (1 + 64 * EPS)
    return FunctionNoise.rounded(scale, space.size, moves).added_to(space, coefficients, source)
