"""What may be spent on one release of a function."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_positive, check_probability
from indistinct.mechanisms import Gaussian, Mechanism, calibrate


@dataclass(frozen=True)
class Budget:
    """A target in epsilon and delta, or the noise itself."""

    epsilon: float | None
    delta: float | None
    mechanism: Gaussian | None
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if self.mechanism is None:
            if self.epsilon is None:
                raise ArgumentError("epsilon", None, "given with delta, or else mechanism")
            if self.delta is None:
                raise ArgumentError("delta", None, "given with epsilon, such as 1e-6: well below 1/records")
            check_positive("epsilon", self.epsilon)
            check_probability("delta", self.delta)
        elif self.epsilon is not None or self.delta is not None:
            raise ArgumentError("epsilon", self.epsilon, "absent where mechanism is given")
        elif not isinstance(self.mechanism, Gaussian) or self.mechanism.sensitivity != 1:
            allowed = "Gaussian(scale): the noise in multiples of how far one record moves the function"
            raise ArgumentError("mechanism", self.mechanism, allowed)

    def multiplier(self, before: Mechanism | None = None) -> float:
        """The deviation of Gaussian noise, in sensitivities, that meets the target after another release."""
        if self.mechanism is not None:
            return self.mechanism.scale
        if self.delta == 0:
            raise ArgumentError("delta", self.delta, "above 0, such as 1e-6: the noise is Gaussian")
        return _least_noise(self, before)


@lru_cache(maxsize=8)
def _least_noise(budget: Budget, before: Mechanism | None) -> float:
    # Kept, because it is asked once to refuse a budget before any is spent, and again for the noise.
    def family(scale: float) -> Mechanism:
        return Gaussian(scale) if before is None else before + Gaussian(scale)

    target = {"epsilon": budget.epsilon, "delta": budget.delta, "adjacency": budget.adjacency}
    run: Any = calibrate(family, **target)  # type: ignore[arg-type]
    scale: float = run.scale if before is None else run.parts[-1].scale
    return scale
