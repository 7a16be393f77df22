"""What all additive noise has: a scale, and how far a neighbour moves the statistic."""

from dataclasses import dataclass

from indistinct.description import Nonnegative, Positive
from indistinct.mechanisms.mechanism import Mechanism

NO_NOISE = 1e100
"""Beyond this ratio of sensitivity to scale the outputs are as good as disjoint."""


@dataclass(frozen=True, repr=False)
class AdditiveNoise(Mechanism):
    """Noise of a scale, on a statistic that neighbours move by at most the sensitivity."""

    scale: Positive
    sensitivity: Nonnegative = 1.0
