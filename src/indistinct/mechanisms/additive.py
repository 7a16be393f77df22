"""What all additive noise has: a law, a scale, and how far a neighbour moves the statistic."""

from dataclasses import dataclass
from enum import Enum

from indistinct.description import Nonnegative, Positive, describable
from indistinct.mechanisms.mechanism import Mechanism

NO_NOISE = 1e100
"""Beyond this ratio of sensitivity to scale the outputs are as good as disjoint."""


@describable()
class Noise(Enum):
    """The noise on measurements: its law decides in which norm sensitivity counts."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"

    @property
    def variance(self) -> float:
        """Of noise of scale 1."""
        return 1.0 if self is Noise.GAUSSIAN else 2.0


@dataclass(frozen=True, repr=False)
class AdditiveNoise(Mechanism):
    """Noise of a scale, on a statistic that neighbours move by at most the sensitivity."""

    scale: Positive
    sensitivity: Nonnegative = 1.0
