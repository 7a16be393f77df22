"""What all additive noise has: a scale, and how far a neighbour moves the statistic."""

from dataclasses import dataclass

from indistinct.errors import check_nonnegative, check_positive
from indistinct.mechanisms.mechanism import Mechanism

NO_NOISE = 1e100
"""Beyond this ratio of sensitivity to scale the outputs are as good as disjoint."""


@dataclass(frozen=True, repr=False)
class AdditiveNoise(Mechanism):
    """Noise of a scale, on a statistic that neighbours move by at most the sensitivity."""

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_positive("scale", self.scale))
        object.__setattr__(self, "sensitivity", check_nonnegative("sensitivity", self.sensitivity))
