"""Choosing the best of several candidates by their qualities, a number for each."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.description import Flag, Nonnegative, Positive, describable
from indistinct.errors import ArgumentError
from indistinct.guarantees.bounded_range_pair import BoundedRangePair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.product import Product
from indistinct.guarantees.stated import KnownByClaim, PureDP
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Lattice, Release, no_guarantee, real_values, sort_of
from indistinct.noise import Source, SystemSource, discrete_laplace, flip, random_order, uniform_below
from indistinct.numerics.arrays import EPS

Qualities = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Selection(Mechanism):
    """Releases the index of a candidate. Every quality moves by at most `sensitivity` between neighbours of
    the adjacency that the guarantee is asked for; `monotonic` says that they then all move the same way,
    worth half of epsilon. Counts do when a record is added or removed, and do not when one is replaced."""

    scale: Positive
    sensitivity: Nonnegative = 1.0
    monotonic: Flag = False

    @property
    def most(self) -> float:
        """The largest loss there is."""
        return (1 if self.monotonic else 2) * self.sensitivity / self.scale * (1 + 4 * EPS)

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if self.most > NO_NOISE:
            return no_guarantee(adjacency)
        return self._known(adjacency)

    def _known(self, adjacency: Adjacency) -> Guarantee:
        return KnownByClaim(PureDP(self.most, adjacency=adjacency))

    @charged
    def release(
        self, qualities: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The index of the candidate chosen."""
        source = SystemSource() if source is None else source
        exact = real_values("qualities", qualities)
        if exact.ndim != 1 or not exact.size:
            raise ArgumentError("qualities", sort_of(exact), "a list of numbers, at least one")
        index, run = self._choose(exact, source)
        return Release.of(index, run, source)

    @abstractmethod
    def _choose(self, qualities: Qualities, source: Source) -> tuple[int, Mechanism]: ...

    def _flip(self, qualities: Qualities, chosen: npt.NDArray[Any], source: Source) -> npt.NDArray[np.bool_]:
        """Coins of probability e^{(quality - best)/scale}."""
        best, scale = float(qualities.max()), Fraction(self.scale)
        with np.errstate(over="ignore"):
            exponents = np.minimum((best - qualities[chosen]) / self.scale, 1e300)
        exact = Fraction(best)
        return flip(exponents, lambda i: (exact - Fraction(float(qualities[chosen[i]]))) / scale, source)


@describable("exponential")
class Exponential(Selection):
    """The exponential mechanism: candidate i with probability proportional to e^{quality_i/scale}
    (McSherry and Talwar 2007), with its exact profile and not only its epsilon.

    >>> choice = Exponential(scale=2)
    >>> choice.guarantee().pure()
    1.0
    >>> (100 * Exponential(scale=20)).guarantee().epsilon(delta=1e-6)  # from epsilon 0.1 alone: 4.77
    2.6118
    """

    def _known(self, adjacency: Adjacency) -> Guarantee:
        pair = BoundedRangePair(self.most) if self.most else GaussianPair(0.0)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)

    def _choose(self, qualities: Qualities, source: Source) -> tuple[int, Mechanism]:
        # a candidate uniform among all, accepted by its own coin: the best one always is
        while True:
            tries = uniform_below(qualities.size, min(2 * qualities.size, 1 << 16), source)
            hits = np.flatnonzero(self._flip(qualities, tries, source))
            if hits.size:
                return int(tries[hits[0]]), self


@describable("permute_and_flip")
class PermuteAndFlip(Selection):
    """Candidates in random order, the first whose coin of probability e^{(quality - best)/scale} shows heads.
    Never worse than the exponential mechanism at the same epsilon (McKenna and Sheldon 2020, Theorems 1 and
    2), and the same as the largest of the qualities plus exponential noise (Ding et al. 2021).

    >>> PermuteAndFlip(scale=2).guarantee().pure()
    1.0
    """

    def _choose(self, qualities: Qualities, source: Source) -> tuple[int, Mechanism]:
        order = random_order(qualities.size, source)
        return int(order[np.argmax(self._flip(qualities, order, source))]), self


@describable("report_noisy_max")
class ReportNoisyMax(Selection):
    """The candidate whose quality is largest once Laplace noise was added to each (Dwork and Roth 2014,
    Claim 3.9). The noise is drawn on a lattice, and rounding the qualities to it counts as sensitivity.

    >>> ReportNoisyMax(scale=2, monotonic=True).guarantee().pure()
    0.5
    """

    def _choose(self, qualities: Qualities, source: Source) -> tuple[int, Mechanism]:
        lattice = Lattice.of(self.scale)
        noise = discrete_laplace(self.scale / lattice.unit, qualities.size, source)
        moved = lattice.unit * lattice.moved(self.sensitivity, 1.0)
        # the first of equals: whoever wins, wins for all noise of its own above a bound that neighbours move
        # by no more than the largest loss, and discrete Laplace tails fall no faster than e^{-1/scale} a unit
        index = int(np.argmax(lattice.nearest(qualities) + noise))
        return index, ReportNoisyMax(self.scale, moved, self.monotonic)
