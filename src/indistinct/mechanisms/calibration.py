"""How much noise, or how many steps, a target allows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final, overload

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, TargetError
from indistinct.guarantees.guarantee import Guarantee, PairGuarantee
from indistinct.guarantees.product import Product
from indistinct.mechanisms.budget import Budget, check_budget
from indistinct.mechanisms.mechanism import Mechanism, natural_adjacency
from indistinct.numerics.arrays import TINY

if TYPE_CHECKING:
    from indistinct.adversaries import Adversary

M = TypeVar("M", bound=Mechanism)

_SMALLEST, _LARGEST = 1e-9, 1e15
_TOLERANCE = 2e-7
_MOST_GUESSES, _ROUGH, _FINE = 12, 1e-2, 1e-8
"""Steps of a search that reads nothing, and how small the last is: before anything was read, and after."""
_NEAR = 0.25
"""Two guesses of a log scale that are further apart say little of it: rare losses decide."""


@final
@dataclass(frozen=True, repr=False)
class Calibrated(Generic[M]):
    """The mechanism that meets a budget, and the number that makes it."""

    parameter: float
    """What the family was called with: the noise; of a mechanism, how many times it may be run."""
    mechanism: M
    budget: Budget
    adjacency: Adjacency

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of the mechanism, for the neighbours it was calibrated for unless others are named."""
        return self.mechanism.guarantee(self.adjacency if adjacency is None else adjacency)

    def __repr__(self) -> str:
        return f"Calibrated({self.parameter!r}: {self.mechanism}, for {self.budget}, {self.adjacency.value})"


@overload
def calibrate(
    family: Mechanism,
    budget: Budget,
    *,
    against: "Adversary | None" = None,
    adjacency: Adjacency | str | None = None,
) -> Calibrated[Mechanism]: ...
@overload
def calibrate(
    family: Callable[[float], M],
    budget: Budget,
    *,
    against: "Adversary | None" = None,
    adjacency: Adjacency | str | None = None,
) -> Calibrated[M]: ...
def calibrate(
    family: Callable[[float], Any] | Mechanism,
    budget: Budget,
    *,
    against: "Adversary | None" = None,
    adjacency: Adjacency | str | None = None,
) -> Calibrated[Any]:
    """The mechanism of a family with the least noise, or the most steps, that meets a budget.

    A *function* from a noise scale to a mechanism is calibrated to the smallest scale that meets the budget:
    the scale of one release, or what those of several phases are multiples of. A *mechanism* is repeated as
    many times as the budget allows. A Rényi divergence may be limited `against` an adversary of limited
    capacity (one release: composition could be adaptive).

    >>> from indistinct import Budget, Gaussian, Laplace
    >>> run = calibrate(lambda s: 1000 * Gaussian(scale=s).subsample(0.01), Budget(epsilon=1, delta=1e-5))
    >>> run.parameter, run.guarantee().epsilon(delta=1e-5)
    (1.4146, 1.0)
    >>> calibrate(lambda s: Laplace(s) + 10 * Laplace(5 * s), Budget(epsilon=1)).parameter
    3.0
    >>> calibrate(Gaussian(scale=20), Budget(epsilon=1, delta=1e-5)).parameter
    28
    """
    if not isinstance(family, Mechanism) and not callable(family):
        raise ArgumentError("family", family, "a function from a scale to a mechanism, or a mechanism")
    if adjacency is None:
        adjacency = natural_adjacency(family if isinstance(family, Mechanism) else _member(family, 1.0))
    goal = _Goal(check_budget(budget), check_adjacency(adjacency), against)
    if isinstance(family, Mechanism):
        steps = _most_steps(family, goal)
        return Calibrated(steps, steps * family, budget, goal.adjacency)
    scale = _least_noise(family, goal)
    return Calibrated(scale, _member(family, scale), budget, goal.adjacency)


@dataclass(frozen=True)
class _OneWay(PairGuarantee):
    """A guarantee in the direction of removal: none by itself, but half the work where that is the worse."""

    both: PairGuarantee

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        return self.both.adjacency

    @property
    def product(self) -> Product:
        return self.both.product

    @property
    def directions(self) -> tuple[Product, ...]:
        return (self.product,)


@dataclass(frozen=True)
class _Goal:
    """A budget for neighbours of one kind, and who reads."""

    budget: Budget
    adjacency: Adjacency
    against: "Adversary | None"

    def __post_init__(self) -> None:
        if self.against is None:
            return
        if not hasattr(self.against, "every_neighbour"):  # its package is imported by whoever has one
            raise ArgumentError("against", self.against, "an adversary such as Linear()")
        if self.budget.order is None:
            allowed = "given with Budget(renyi=…, order=…): a class has its divergences only"
            raise ArgumentError("against", str(self.against), allowed)
        if not self.against.every_neighbour:
            allowed = "a class whose reading holds for every neighbour, such as Linear() or Polynomial(2)"
            raise ArgumentError("against", str(self.against), allowed)

    def gap(self, guarantee: Guarantee) -> float:
        """log of the mu of Gaussian DP that has such a reading, over that of the limit: at most zero where
        the budget is met, and nearly linear in log noise."""
        limit = self.budget.limit
        if self.against is None:
            value = self.budget.reading(guarantee)
        else:
            value = float(guarantee.against(self.against).renyi(self.budget.order))
        if value <= 0 or limit <= 0:
            return -math.inf if value <= limit else math.inf
        near = self._wanted if abs(value - limit) < _ROUGH * limit else None
        gap = math.log(self.budget.gaussian(value, near) / self._wanted) if value < math.inf else math.inf
        return min(gap, 0.0) if value <= limit else max(gap, TINY)

    @cached_property
    def _wanted(self) -> float:
        return self.budget.gaussian(self.budget.limit)

    def likely_gap(self, guarantee: Guarantee) -> float | None:
        """About the same, by divergences of order 2, which cost next to nothing; where they are known."""
        terms = guarantee.product.terms if guarantee.product is not None else ()
        square = sum(count * pair.size for pair, count in terms)
        known = 0 < square < math.inf and self.budget.limit > 0
        return math.log(square) / 2 - math.log(self._wanted) if known else None

    def about(self, guarantee: Guarantee) -> float:
        """About the same, by Laplace's method, which costs a fifth of a reading; not a number, where that is
        not known either."""
        product, delta = guarantee.product, self.budget.delta
        if product is None or self.budget.epsilon is None or not delta or product.reader.listed is not None:
            return math.nan
        epsilon = product.loss.likely_epsilon(math.log(delta))
        return math.log(self.budget.gaussian(epsilon) / self._wanted) if epsilon > 0 else math.nan

    def one_way(self, known: Guarantee) -> Guarantee:
        """The direction of removal, where the reading is the larger of both: mostly that one."""
        apart = self.budget.epsilon is not None or self.budget.advantage is not None
        return _OneWay(known) if apart and isinstance(known, PairGuarantee) else known

    def missed(self, allowed: str) -> TargetError:
        whom = "" if self.against is None else f" (against {self.against})"
        return TargetError("budget", self.budget, allowed + whom)


def _member(family: Callable[[float], Any], scale: float) -> Mechanism:
    made = family(scale)
    mechanism = made if isinstance(made, Mechanism) else getattr(made, "mechanism", made)  # a training run
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError("family", mechanism, "a function that returns a mechanism")
    return mechanism


def _least_noise(family: Callable[[float], Any], goal: _Goal) -> float:
    @cache
    def guarantee(log_scale: float) -> Guarantee:
        return _member(family, math.exp(log_scale)).guarantee(goal.adjacency)

    def likely(log_scale: float) -> float:
        gap = goal.likely_gap(guarantee(log_scale))
        return -log_scale if gap is None else gap

    # the gap less what it is likely to be is a smooth function of the log of the scale: it is interpolated,
    # inside a bracket: `high` meets the target, `low` does not
    low, high = -math.inf, math.inf
    x, seen = _root(likely, 0.0, _ROUGH), list[tuple[float, float]]()
    about = goal.about(guarantee(x)) - likely(x)
    if abs(about) < _NEAR:
        x = _next([(x, about)], likely, low, high, _ROUGH)
    whole = False  # one direction decides, until the other is found to be worse
    for _ in range(200):
        known = guarantee(x)
        value = goal.gap(known if whole else goal.one_way(known))
        if not whole and (-_TOLERANCE <= value <= 0 or high - low <= _TOLERANCE):  # as it seems: read both
            value, whole, high = goal.gap(known), True, math.inf  # what one direction misses both do
        low, high = (low, x) if value <= 0 else (x, high)
        if -_TOLERANCE <= value <= 0 or high - low <= _TOLERANCE:
            break
        if high <= math.log(_SMALLEST):
            raise goal.missed("one that needs noise: any scale meets it")
        if low >= math.log(_LARGEST):
            raise goal.missed(f"within reach; a scale of {_LARGEST:g} misses it{_hint(goal.budget)}")
        seen.append((x, value - likely(x)))
        x = _next(seen, likely, low, high, min(max(abs(value) * _FINE**0.5, _FINE), _ROUGH))
    else:
        raise ArithmeticError("the calibration did not settle; please report this as a bug")
    return math.exp(high)


def _hint(budget: Budget) -> str:
    if budget.delta == 0:
        return "; Gaussian noise needs a delta above 0"
    concentrated = budget.rho is not None or budget.mu is not None
    return "; rho and mu are known of Gaussian noise and bounded losses" if concentrated else ""


def _next(
    seen: list[tuple[float, float]], likely: Callable[[float], float], low: float, high: float, enough: float
) -> float:
    """The next log scale to try, about."""
    x, more = seen[-1]
    finite = [point for point in seen[-3:] if math.isfinite(point[1])]
    if math.isfinite(more):
        guess = _root(lambda place: likely(place) + _through(finite, place), x, enough)
    else:
        guess = x + math.copysign(3.0, more)
    if math.isinf(high) or math.isinf(low):
        guess = min(max(guess, x - 6.0), x + 6.0)
        return min(max(guess, math.log(_SMALLEST)), math.log(_LARGEST))
    return guess if low < guess < high and len(seen) % 8 else (low + high) / 2


def _through(points: list[tuple[float, float]], place: float) -> float:
    """By how much a gap is larger than is likely, at a place: through those seen (Lagrange's formula). Where
    rare losses make it larger, they do so less with more noise: like its inverse, if only one was seen."""
    if len(points) == 1 and points[0][1] > 0:
        return points[0][1] * math.exp(min(points[0][0] - place, 1.0))
    total = 0.0
    for i, (x, value) in enumerate(points):
        others = [other for j, (other, _) in enumerate(points) if j != i]
        total += value * math.prod((place - other) / (x - other) for other in others)
    return total


def _root(function: Callable[[float], float], x: float, enough: float) -> float:
    """About where a function that falls is zero, and a little less: by secants, from a slope of -1 on."""
    value, slope = function(x) + _TOLERANCE / 2, -1.0
    for _ in range(_MOST_GUESSES):
        step = min(max(-value / slope, -3.0), 3.0)
        if not math.isfinite(step):
            break
        x += step
        if abs(step) < enough:
            break
        before, value = value, function(x) + _TOLERANCE / 2
        slope = min((value - before) / step, -0.1)
    return x


def _most_steps(mechanism: Mechanism, goal: _Goal) -> int:
    def gap(steps: int) -> float:
        return goal.gap((steps * mechanism).guarantee(goal.adjacency))

    # `low` steps meet the target, `high` do not; readings grow like a power of the steps
    low, high, most = 1, math.inf, 1 << 62
    at_low, at_high = gap(1), math.inf
    if at_low > 0:
        raise goal.missed("met by one step of the mechanism")
    while high - low > 1:
        if math.isinf(high):
            growth = math.exp(min(max(-2 * at_low, 0.7), 14.0)) if math.isfinite(at_low) else 1e6
            steps = min(max(2 * low, int(low * growth)), most)
        else:
            share = at_low / (at_low - at_high) if math.isfinite(at_low) and math.isfinite(at_high) else 0.5
            steps = round(low * (high / low) ** min(max(share, 0.02), 0.98))
        steps = int(min(max(steps, low + 1), high - 1))
        value = gap(steps)
        if value <= 0:
            low, at_low = steps, value
        else:
            high, at_high = steps, value
        if low >= most:
            raise goal.missed("exceeded at some number of steps")
    return low
