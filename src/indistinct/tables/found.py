"""Groups that nobody has listed: found first, from a part of the budget, then asked about."""

from dataclasses import dataclass

from indistinct.data import HeavyHitters, Unit
from indistinct.description import Positive, PositiveCount, checked_fields
from indistinct.errors import ArgumentError, check_probability
from indistinct.mechanisms import Budget

SHARE = 0.1
"""Of the budget's delta, for values that only one user has, unless told."""


@dataclass(frozen=True)
@checked_fields
class Found:
    """A column whose groups are not declared: up to `most` frequent values, and one group for all others.

    Which ones is found by a release of `HeavyHitters`, at a share of the budget: `weight`, where a question
    has 1 unless told. With probability `delta` at most a value comes to light that only one user has.
    """

    most: PositiveCount
    weight: Positive = 1.0
    delta: float | None = None


@dataclass(frozen=True)
class Finder:
    """What finds the groups of one column."""

    column: str
    found: Found
    unit: Unit

    def at(self, scale: float, budget: Budget) -> HeavyHitters:
        """With this noise."""
        return HeavyHitters.for_delta(self.column, scale, found_delta(self.found.delta, budget), self.unit)


def found_delta(given: float | None, budget: Budget) -> float:
    """The part of a budget's delta for values that only one user has."""
    if not budget.delta:
        allowed = "one with a positive delta: the chance that a value of one user alone is shown"
        raise ArgumentError("budget", budget, allowed)
    delta = SHARE * budget.delta if given is None else check_probability("delta", given)
    if not 0 < delta < budget.delta:
        raise ArgumentError("delta", delta, f"positive, and below {budget.delta:g}, that of the budget")
    return delta
