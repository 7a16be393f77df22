"""Additive noise: Gaussian and Laplace."""

from dataclasses import dataclass

from indistinct.adjacency import Adjacency
from indistinct.errors import check_nonnegative, check_positive
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.guarantee import Guarantee, Known
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.product import Product
from indistinct.mechanisms.mechanism import Mechanism

NO_NOISE = 1e100
"""Beyond this ratio of sensitivity to scale the outputs are as good as disjoint."""


@dataclass(frozen=True)
class AdditiveNoise(Mechanism):
    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_positive("scale", self.scale))
        object.__setattr__(self, "sensitivity", check_nonnegative("sensitivity", self.sensitivity))

    def __str__(self) -> str:
        sensitivity = "" if self.sensitivity == 1 else f", sensitivity={self.sensitivity!r}"
        return f"{self.kind}({self.scale!r}{sensitivity})"


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """Gaussian noise of standard deviation `scale` on a statistic of L2 sensitivity `sensitivity`.

    The sensitivity is the furthest the statistic moves between neighbours *of the adjacency that the
    guarantee is asked for*. A sum of vectors clipped to norm C moves by C when a record is added or
    removed, but by up to 2 C when one is replaced.

    >>> Gaussian(scale=20).guarantee().epsilon(delta=1e-5)
    0.16004
    """

    kind = "gaussian"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        return _known(GaussianPair(self.sensitivity / self.scale), self, adjacency)


@dataclass(frozen=True)
class Laplace(AdditiveNoise):
    """Laplace noise of scale `scale` on a statistic of L1 sensitivity `sensitivity`; the sensitivity is
    that of the adjacency the guarantee is asked for.

    >>> Laplace(scale=2).guarantee().pure()
    0.5
    """

    kind = "laplace"

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        pair = LaplacePair(self.sensitivity / self.scale) if self.sensitivity else GaussianPair(0.0)
        return _known(pair, self, adjacency)


def _known(pair: Pair, mechanism: AdditiveNoise, adjacency: Adjacency) -> Guarantee:
    """The guarantee of a pair; of none at all where the noise is too small to be told from nothing."""
    if mechanism.sensitivity / mechanism.scale > NO_NOISE:
        return Known(Product.of([(DiscretePair((0.0, 1.0), (1.0, 0.0)), 1)]), adjacency)
    return Known(Product.of([(pair, 1)]), adjacency, ((pair, 1),))
