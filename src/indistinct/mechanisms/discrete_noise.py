"""Noise on the integers: exactly what is drawn, and exactly what is accounted."""

import math
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.description import describable
from indistinct.guarantees.discrete_noise_pairs import FINE, discrete_gaussian_pair, discrete_laplace_pair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee
from indistinct.guarantees.product import Product
from indistinct.mechanisms.additive import NO_NOISE, AdditiveNoise
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Release, integer_values, no_guarantee
from indistinct.noise import Source, SystemSource, discrete_gaussian, discrete_laplace


@describable("discrete_laplace")
class DiscreteLaplace(AdditiveNoise):
    """Integers k with probability proportional to e^{-|k|/scale}, added to integers of L1 sensitivity
    `sensitivity` (Ghosh, Roughgarden and Sundararajan 2009).

    >>> DiscreteLaplace(scale=2).guarantee().pure()
    0.5
    """

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if self.sensitivity / self.scale > NO_NOISE:
            return no_guarantee(adjacency)
        pair = discrete_laplace_pair(whole_steps(self.sensitivity), self.scale)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)

    @charged
    def release(
        self, values: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The integers with noise."""
        source = SystemSource() if source is None else source
        exact = integer_values("values", values)
        return Release.of(exact + discrete_laplace(self.scale, exact.shape, source), self, source)


@describable("discrete_gaussian")
class DiscreteGaussian(AdditiveNoise):
    """Integers k with probability proportional to e^{-k^2/(2 scale^2)}, added to integers of which a
    neighbour changes one, by at most `sensitivity` (Canonne, Kamath and Steinke 2020).

    From scale 1024 on several may change, and `sensitivity` is their L2 sensitivity: then the shape of the
    lattice does not matter any more. For vectors and a smaller scale use `Gaussian(...).release`.

    >>> DiscreteGaussian(scale=20).guarantee().epsilon(delta=1e-5)  # continuous noise: 0.16004
    0.16006
    """

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        if self.sensitivity / self.scale > NO_NOISE:
            return no_guarantee(adjacency)
        fine = self.scale >= FINE  # then vectors too, whose distance need not be an integer
        shift = self.sensitivity if fine else whole_steps(self.sensitivity)
        pair = discrete_gaussian_pair(shift, self.scale)
        return ExactGuarantee(Product.of([(pair, 1)]), adjacency)

    @charged
    def release(
        self, values: Any, *, source: Source | None = None, ledger: Payer | None = None
    ) -> Release[Any]:
        """The integers with noise."""
        source = SystemSource() if source is None else source
        exact = integer_values("values", values)
        return Release.of(exact + discrete_gaussian(self.scale, exact.shape, source), self, source)


def whole_steps(sensitivity: float) -> int:
    """How far integers move that move by at most this; what is an integer but for rounding counts as one."""
    up = math.ceil(sensitivity)
    return up if up - sensitivity <= 1e-6 else up - 1
