"""The matrix mechanism: measure a strategy with noise once, answer the workload by least squares.

The measurements A x are released with independent noise; a record moves them by a column of A, so the
guarantee is that of noise with that sensitivity, whatever the workload (Li et al. 2010, Proposition 3).
Everything after that is post-processing: answers are consistent, their errors are known beforehand and do
not depend on the data.

Laplace noise. A neighbour moves the measurements by a vector of L1 norm at most Δ. Two coordinates that move
by a and b are told apart less well than one that moves by a + b. In both cases the loss is a + b - 2 T, with
T the clamped position, or the sum of both; from one to the other mass moves from the ends T = 0 and T = a + b
inwards, and the mean of the likelihood ratio stays 1, so the ratio becomes smaller in convex order. Hence one
coordinate that moves by Δ dominates; where all columns have the same entries, their own product is exact and
is used.

Limited adversaries. Measurements are all chosen before the first is seen, so no question of adaptivity
arises. Against linear functions, with y the noise and v the shift, e^{(order-1) D(v)} is the supremum over c
and w of |c + w·v|^order / (E|c + w·y|^A)^{order-1}: convex in v, as a supremum of convex functions, and
likewise for the divergence of Kullback and Leibler. So it is largest, over all v of L1 norm Δ, where one
coordinate moves by Δ.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.adversaries import Linear
from indistinct.description import Positive, PositiveCount, describable, given
from indistinct.guarantees.guarantee import (
    ExactGuarantee,
    Guarantee,
    GuaranteeReader,
    Outputs,
    PairsGuarantee,
)
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.mechanisms.additive import NO_NOISE, Noise
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import no_guarantee
from indistinct.noise import Source
from indistinct.numerics.arrays import Array
from indistinct.numerics.rounding import quotient_up
from indistinct.workloads.nonnegative import nearest_nonnegative
from indistinct.workloads.release import MatrixRelease, draw
from indistinct.workloads.strategy import Strategy
from indistinct.workloads.workload import Workload

_MOST_VALUES = 32
"""Different entries of a column up to which its coordinates are composed one by one."""


@dataclass(frozen=True)
class MeasuredAtOnce(PairsGuarantee):
    """The guarantee of one vector of measurements; composed, it is that of its parts like any other."""

    worst: ExactGuarantee | None = None
    """One number that moves by the whole L1 sensitivity, where columns differ."""

    def against(self, adversary: GuaranteeReader[Any], *, adaptive: bool = True) -> Any:
        if self.worst is not None and isinstance(adversary, Linear):
            return self.worst.against(adversary)
        if self.worst is not None and not getattr(adversary, "every_neighbour", True):
            # measurements that move further than any neighbour's bound only classes that see more of those
            return self.postprocessed().against(adversary)
        return super().against(adversary, adaptive=False)


@describable("matrix")
class MatrixMechanism(Mechanism):
    """A workload's answers by way of a strategy's measurements, with noise of this scale on each.

    A record is one count in one cell. `records` is a public bound on how many there are: it limits rounding,
    and a larger histogram is refused.

    >>> from indistinct import Budget, calibrate
    >>> from indistinct.workloads import Prefix, optimise
    >>> ages = Prefix(100)
    >>> best = optimise(ages).strategy
    >>> plan = calibrate(lambda s: MatrixMechanism(ages, best, s), Budget(epsilon=1, delta=1e-6))
    >>> plan.guarantee().epsilon(delta=1e-6)
    1.0
    >>> plan.mechanism.root_mean_square_error()  # people, for each of the 100 answers
    9.4
    """

    workload: Workload
    strategy: Annotated[Strategy, given(Strategy, "a strategy such as optimise(workload).strategy")]
    scale: Positive
    noise: Noise = Noise.GAUSSIAN
    records: PositiveCount = 10_000_000

    def __post_init__(self) -> None:
        self.strategy.check(self.workload)

    def __str__(self) -> str:
        return f"matrix({self.workload}, {self.strategy}, {self.noise.value}({self.scale!r}))"

    def sensitivity(self, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> float:
        """How far a neighbour moves the measurements, in the norm of the noise."""
        return self.strategy.sensitivity(self.noise, adjacency)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        shift = quotient_up(self.sensitivity(adjacency), self.scale)
        if shift > NO_NOISE:
            return no_guarantee(adjacency)
        if self.noise is Noise.GAUSSIAN or not shift:
            one = Product.of([(GaussianPair(shift, dominates=shift > 0), 1)])  # it is a bound
            return ExactGuarantee(one, adjacency, ((GaussianPair(shift), 1),))
        profile = self.strategy.column_profile() if adjacency is Adjacency.ADD_REMOVE else None
        if profile is not None and len(profile) <= _MOST_VALUES:
            parts: list[tuple[Pair, int]] = [
                (LaplacePair(quotient_up(value, self.scale)), count) for value, count in profile
            ]
            return MeasuredAtOnce(Product.of(parts), adjacency, tuple(parts))
        one = Product.of([(LaplacePair(shift, dominates=True), 1)])
        worst = ExactGuarantee(one, adjacency, ((LaplacePair(shift), 1),))
        return MeasuredAtOnce(one, adjacency, self._outputs(adjacency), worst)

    def _outputs(self, adjacency: Adjacency) -> Outputs | None:
        """Measurements that each move at least as far as those of any neighbour, for limited adversaries:
        their programmes grow with every shift."""
        envelope = self.strategy.column_envelope() if adjacency is Adjacency.ADD_REMOVE else None
        if envelope is None:
            return None
        return tuple((LaplacePair(quotient_up(value, self.scale)), count) for value, count in envelope)

    @property
    def variance(self) -> float:
        """Of the noise on one measurement."""
        return self.noise.variance * self.scale**2

    def expected_error(self) -> float:
        """The expected total squared error of all answers (queries count with their weights), before anything
        is spent."""
        return self.variance * self.strategy.error(self.workload)

    def root_mean_square_error(self) -> float:
        """The root of the expected squared error of an answer, averaged over the answers."""
        return math.sqrt(self.expected_error() / self.workload.queries)

    def standard_errors(self) -> Array:
        """The standard deviation of each answer."""
        return np.sqrt(self.variance * self.strategy.variances(self.workload))

    def answers(self, measured: Any, *, nonnegative: bool = False) -> Array:
        """The workload's answers from noisy measurements: those of the counts that fit best.

        With `nonnegative` the counts that fit best among those without negative ones: closer to the truth for
        sparse histograms, but biased, so that `standard_errors` no longer apply.
        """
        if nonnegative:
            return self.workload.answers(nearest_nonnegative(self.strategy, measured))
        return self.strategy.answers(self.workload, measured)

    @charged
    def release(
        self, histogram: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> MatrixRelease:
        """The measurements of a histogram with exact discrete noise, and the answers that follow.

        >>> from indistinct.workloads import Identity, IdentityStrategy
        >>> counts = MatrixMechanism(Identity(3), IdentityStrategy(3), scale=5).release([10, 20, 30])
        >>> counts.guarantee().epsilon(delta=1e-6)
        0.834118
        >>> len(counts.answers())
        3
        """
        return draw(self, histogram, source)
