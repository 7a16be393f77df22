"""Additive noise: Gaussian and Laplace."""

from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.mechanisms.additive import NO_NOISE, AdditiveNoise
from indistinct.mechanisms.discrete_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Lattice, Release, no_guarantee, real_values
from indistinct.noise import Source
from indistinct.numerics.rounding import quotient_up


@describable("gaussian")
class Gaussian(AdditiveNoise):
    """Gaussian noise of standard deviation `scale` on a statistic of L2 sensitivity `sensitivity`.

    The sensitivity is the furthest the statistic moves between neighbours *of the adjacency that the
    guarantee is asked for*. A sum of vectors clipped to norm C moves by C when a record is added or
    removed, but by up to 2 C when one is replaced.

    >>> Gaussian(scale=20).guarantee().epsilon(delta=1e-5)
    0.16004
    """

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return _known(GaussianPair(self.sensitivity / self.scale), self, adjacency)

    @charged
    def release(
        self, values: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The values with noise: rounded to a lattice far finer than the noise, which counts as sensitivity,
        and shifted by discrete Gaussians on that lattice. The result's guarantee is that of what was drawn.

        >>> count = Gaussian(scale=20).release(1234)
        >>> count.guarantee().epsilon(delta=1e-5)
        0.16004
        """
        exact, lattice = real_values("values", values), Lattice.of(self.scale)
        moved = lattice.moved(self.sensitivity, exact.size**0.5)
        fine = DiscreteGaussian(scale=self.scale / lattice.unit, sensitivity=moved)
        return lattice.measured(fine.release(lattice.nearest(exact), source=source))


@describable("laplace")
class Laplace(AdditiveNoise):
    """Laplace noise of scale `scale` on a statistic of L1 sensitivity `sensitivity`; the sensitivity is
    that of the adjacency the guarantee is asked for.

    >>> Laplace(scale=2).guarantee().pure()
    0.5
    """

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        shift = quotient_up(self.sensitivity, self.scale)
        return _known(LaplacePair(shift) if shift else GaussianPair(0.0), self, adjacency)

    @charged
    def release(
        self, values: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The values with noise: rounded to a lattice far finer than the noise, which counts as sensitivity,
        and shifted by discrete Laplace noise on that lattice.

        >>> Laplace(scale=2).release([10.0, 20.5]).guarantee().pure()
        0.5000000
        """
        exact, lattice = real_values("values", values), Lattice.of(self.scale)
        moved = lattice.moved(self.sensitivity, exact.size)
        fine = DiscreteLaplace(scale=self.scale / lattice.unit, sensitivity=moved)
        return lattice.measured(fine.release(lattice.nearest(exact), source=source))


def _known(pair: Pair, mechanism: AdditiveNoise, adjacency: Adjacency) -> Guarantee:
    """The guarantee of a pair; of none at all where the noise is too small to be told from nothing."""
    if mechanism.sensitivity / mechanism.scale > NO_NOISE:
        return no_guarantee(adjacency)
    return ExactGuarantee(Product.of([(pair, 1)]), adjacency, ((pair, 1),))
