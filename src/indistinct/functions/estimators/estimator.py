"""What private estimators share: a declared box, a budget, public features, and the release."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.data import Numbers
from indistinct.errors import ArgumentError, check_count
from indistinct.functions.function import FiniteFunction
from indistinct.functions.kernels import GaussianKernel, Kernel
from indistinct.functions.mechanism import GaussianProcess
from indistinct.functions.random_features import RandomFeatures
from indistinct.functions.space import FiniteSpace
from indistinct.mechanisms import Gaussian, Mechanism, calibrate
from indistinct.mechanisms.release import Lattice
from indistinct.noise import Source
from indistinct.numerics.arrays import EPS, Array

Box = Mapping[str, Numbers]


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` is one release. `box` is the declared domain of the features, a pair
    (low, high) for all columns or one for each; what lies outside is moved to its edge."""

    epsilon: float | None
    delta: float | None
    mechanism: Gaussian | None
    box: Any
    kernel: Kernel | FiniteSpace | None
    pairs: int
    records: int | None
    adjacency: Adjacency
    random_state: int
    source: Source | None

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> "PrivateEstimator":
        """Releases once."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise comes from the operating system, not from `random_state`
        return tags

    def _budget(self) -> "Budget":
        return Budget(self.epsilon, self.delta, self.mechanism, check_adjacency(self.adjacency))

    def _box(self) -> Box:
        """The domains of the columns that `fit` was given."""
        pairs = np.asarray(() if self.box is None else self.box, dtype=object)
        if pairs.shape == (2,):
            pairs = np.tile(pairs, (self.n_features_in_, 1))
        if pairs.shape != (self.n_features_in_, 2):
            allowed = f"a pair (low, high), or {self.n_features_in_} of them: where features are to lie"
            raise ArgumentError("box", self.box, allowed)
        box = {f"x{place}": Numbers(low, high) for place, (low, high) in enumerate(pairs)}
        if any(side.low == side.high for side in box.values()):
            raise ArgumentError("box", self.box, "of positive width in every column")
        return box

    def _space(self, kernel: Any, box: Box) -> FiniteSpace:
        if isinstance(kernel, FiniteSpace):
            if kernel.dimension != len(box):
                raise ArgumentError("kernel", kernel, f"a space of points with {len(box)} coordinates")
            return kernel
        kernel = public_kernel(box) if kernel is None else kernel
        return RandomFeatures(kernel, self.pairs, len(box), check_count("random_state", self.random_state))

    def _public_number(self, rows: int) -> int:
        """n: the declared number of records, or how many there are where neighbours have as many."""
        if self.records is not None:
            return check_count("records", self.records, least=1)
        if self.adjacency is Adjacency.REPLACE_ONE:
            return rows
        allowed = "a public number that the records do not exceed: for add/remove their own is private"
        raise ArgumentError("records", self.records, allowed)

    def _points(self, X: Any) -> Array:
        """Points to evaluate at, moved into the box."""
        check_is_fitted(self)
        points: Array = validate_data(self, X, dtype=np.float64, reset=False)
        low, high = np.array([(side.low, side.high) for side in self._box().values()]).T
        return np.clip(points, low, high)


@dataclass(frozen=True)
class Budget:
    """A target in epsilon and delta, or the noise itself."""

    epsilon: float | None
    delta: float | None
    mechanism: Gaussian | None
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if self.mechanism is None:
            if self.epsilon is None or self.delta is None:
                raise ArgumentError("epsilon", self.epsilon, "given with delta, or else mechanism")
        elif self.epsilon is not None or self.delta is not None:
            raise ArgumentError("epsilon", self.epsilon, "absent where mechanism is given")
        elif not isinstance(self.mechanism, Gaussian) or self.mechanism.sensitivity != 1:
            allowed = "Gaussian(scale): the noise in multiples of how far one record moves the function"
            raise ArgumentError("mechanism", self.mechanism, allowed)

    def multiplier(self, before: Mechanism | None = None) -> float:
        """The deviation of Gaussian noise, in sensitivities, that meets the target after another release."""
        if self.mechanism is not None:
            return self.mechanism.scale

        def family(scale: float) -> Mechanism:
            return Gaussian(scale) if before is None else before + Gaussian(scale)

        target = {"epsilon": self.epsilon, "delta": self.delta, "adjacency": self.adjacency}
        run: Any = calibrate(family, **target)  # type: ignore[arg-type]
        scale: float = run.scale if before is None else run.parts[-1].scale
        return scale


def public_kernel(box: Box) -> Kernel:
    """A Gaussian kernel that is as wide, in each column, as a quarter of the box times √d: near the distance
    of typical points, and a function of the declared box alone."""
    share = math.sqrt(len(box)) / 4
    return GaussianKernel(tuple((side.high - side.low) * share for side in box.values()))


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
    # Rounding to the lattice moves neighbours by √size units more, and 2**36 units are at most a scale.
    rounding = multiplier * math.sqrt(space.size) * 2.0**-36
    if rounding > 0.01:
        allowed = "larger: rounding would show beside so much noise"
        raise ArgumentError("epsilon", f"noise of {multiplier:g} sensitivities", allowed)
    scale = multiplier * moves[adjacency] / (1 - rounding) * (1 + 64 * EPS)
    function = GaussianProcess(space, scale, moves[adjacency]).release(coefficients, source=source)
    lattice = Lattice.of(scale)
    added, replaced = (
        lattice.moved(moves[kind], math.sqrt(space.size)) * lattice.unit
        for kind in (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE)
    )
    return replace(function, drawn=replace(function.drawn, added=added, replaced=replaced))
