"""How much Gaussian noise a budget asks of a function."""

from functools import lru_cache

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError
from indistinct.mechanisms import Budget, Gaussian, Mechanism, calibrate, check_budget


def noise_multiplier(budget: Budget | None, adjacency: Adjacency, before: Mechanism | None = None) -> float:
    """The deviation of Gaussian noise, in sensitivities, that meets the budget after another release."""
    if check_budget(budget).delta == 0:
        raise ArgumentError("delta", 0.0, "above 0, such as 1e-6: the noise is Gaussian")
    return _least_noise(check_budget(budget), check_adjacency(adjacency), before)


@lru_cache(maxsize=8)
def _least_noise(budget: Budget, adjacency: Adjacency, before: Mechanism | None) -> float:
    # Kept, because it is asked once to refuse a budget before any is spent, and again for the noise.
    def family(scale: float) -> Mechanism:
        return Gaussian(scale) if before is None else before + Gaussian(scale)

    return calibrate(family, budget, adjacency=adjacency).parameter
