"""How much noise, or how many steps, a target allows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.errors import (
    ArgumentError,
    TargetError,
    check_nonnegative,
    check_probability,
    check_real,
)
from indistinct.guarantees.guarantee import Guarantee, OneWay, PairGuarantee
from indistinct.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from indistinct.adversaries import Adversary

_SMALLEST, _LARGEST = 1e-9, 1e15
_TOLERANCE = 2e-7


@dataclass(frozen=True)
class Target:
    """A reading that must not exceed a limit."""

    words: str
    read: Callable[[Guarantee], float]
    limit: float
    by_direction: bool = False
    """Whether the reading is the larger of those of the two directions."""
    quantile: float = math.inf
    """That of the normal law at 1 - delta, for an epsilon."""

    def gap(self, guarantee: Guarantee) -> float:
        """log(size of the reading / that of the limit): at most zero where the target holds, and nearly
        linear in log noise."""
        value = self.read(guarantee)
        if value <= 0 or self.limit <= 0:
            return -math.inf if value <= self.limit else math.inf
        return math.log(self._size(value) / self._size(self.limit)) if value < math.inf else math.inf

    def _size(self, value: float) -> float:
        """The reading; of an epsilon about the mu of Gaussian DP that has it, epsilon = mu^2/2 + mu z."""
        return (
            value
            if math.isinf(self.quantile)
            else value / (self.quantile + math.sqrt(self.quantile**2 + 2 * value))
        )


def calibrate(
    family: Callable[[float], Mechanism] | Mechanism,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    fnr: float | None = None,
    fpr: float | None = None,
    renyi: float | None = None,
    order: float | None = None,
    against: "Adversary | None" = None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> Mechanism:
    """The mechanism of a family with the least noise, or the most steps, that meets a target.

    A *function* from a noise scale to a mechanism is calibrated to the smallest scale that meets the
    target. A *mechanism* is repeated as many times as the target allows. The target is one of `epsilon`
    (with `delta`, or 0 without it), `advantage`, `fnr` at `fpr`, or `renyi` at an `order`; the last
    also `against` an adversary of limited capacity (one release: composition could be adaptive).

    >>> from indistinct import Gaussian
    >>> run = calibrate(lambda s: 1000 * Gaussian(scale=s).subsample(0.01), epsilon=1, delta=1e-5)
    >>> run.guarantee().epsilon(delta=1e-5)
    1.0
    >>> calibrate(Gaussian(scale=20), epsilon=1, delta=1e-5).steps
    28
    """
    target = _target(epsilon, delta, advantage, fnr, fpr, renyi, order)
    if against is not None:
        target = _limited(target, against, renyi, order)
    if isinstance(family, Mechanism):
        return _most_steps(family, target, adjacency)
    if not callable(family):
        raise ArgumentError("family", family, "a function from a scale to a mechanism, or a mechanism")
    return _least_noise(family, target, adjacency)


def _target(epsilon: Any, delta: Any, advantage: Any, fnr: Any, fpr: Any, renyi: Any, order: Any) -> Target:
    given = {"epsilon": epsilon, "advantage": advantage, "fnr": fnr, "renyi": renyi}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ArgumentError("target", ", ".join(named) or None, "one of epsilon, advantage, fnr, renyi")
    for name, value, goes_with in (
        ("delta", delta, "epsilon"),
        ("fpr", fpr, "fnr"),
        ("order", order, "renyi"),
    ):
        if value is not None and goes_with != named[0]:
            raise ArgumentError(name, value, f"absent: it goes with {goes_with}")
    if epsilon is not None:
        limit = check_nonnegative("epsilon", epsilon)
        slack = check_probability("delta", 0.0 if delta is None else delta)
        if slack == 1:
            raise TargetError("delta", slack, "below 1, which anything meets")
        quantile = math.sqrt(-2 * math.log(slack)) if slack else math.inf
        return Target(
            f"epsilon={limit:g} at delta={slack:g}", lambda g: g.epsilon(slack), limit, True, quantile
        )
    if advantage is not None:
        limit = check_probability("advantage", advantage)
        if limit == 1:
            raise TargetError("advantage", limit, "below 1, which anything meets")
        return Target(f"advantage={limit:g}", lambda g: g.advantage(), limit, True)
    if fnr is not None:
        if fpr is None:
            raise ArgumentError("fpr", None, "given with fnr")
        rate, floor = check_probability("fpr", fpr), check_probability("fnr", fnr)
        if floor == 0:
            raise TargetError("fnr", floor, "above 0, which anything meets")
        if floor >= 1 - rate:
            raise TargetError("fnr", floor, f"below 1 - fpr = {1 - rate:g}, which no test can exceed")
        # how far below the diagonal a test may get
        return Target(
            f"fnr={floor:g} at fpr={rate:g}", lambda g: 1 - rate - g.tradeoff(rate), 1 - rate - floor
        )
    if order is None:
        raise ArgumentError("order", None, "given with renyi")
    at = check_real("order", order)
    limit = check_nonnegative("renyi", renyi)
    return Target(f"Rényi divergence {limit:g} at order {at:g}", lambda g: g.renyi(at), limit)


def _limited(target: Target, against: "Adversary", renyi: Any, order: Any) -> Target:
    """The same target for an adversary of limited capacity."""
    if not hasattr(against, "every_neighbour"):  # an adversary: its package is imported by whoever has one
        raise ArgumentError("against", against, "an adversary such as Linear()")
    if renyi is None:
        raise ArgumentError(
            "against", str(against), "given with renyi and order: a class has its divergences only"
        )
    if not against.every_neighbour:
        allowed = "a class whose reading holds for every neighbour, such as Linear() or Polynomial(2)"
        raise ArgumentError("against", str(against), allowed)
    return Target(
        f"{target.words} against {against}",
        lambda g: float(g.against(against).renyi(order)),
        target.limit,
    )


def _least_noise(family: Callable[[float], Mechanism], target: Target, adjacency: Adjacency) -> Mechanism:
    def guarantee(log_scale: float) -> Guarantee:
        mechanism = family(math.exp(log_scale))
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError("family", mechanism, "a function that returns a mechanism")
        return mechanism.guarantee(adjacency)

    # interpolation of the log of the reading against the log of the scale, kept inside a bracket: `high`
    # meets the target, `low` does not
    low, high = -math.inf, math.inf
    x, seen = 0.0, list[tuple[float, float]]()
    worse: int | None = 0  # the direction that decides: removal, until the other is found to be worse
    for _ in range(200):
        ways = _ways(guarantee(x), target)
        value = max(target.gap(ways[way]) for way in ([worse] if worse is not None else ways))
        if worse is not None and -_TOLERANCE <= value <= 0:  # as it seems: ask the other direction too
            others = [target.gap(one) for way, one in ways.items() if way != worse]
            value, worse, high = max(value, *others, -math.inf), None, math.inf
        low, high = (low, x) if value <= 0 else (x, high)
        if -_TOLERANCE <= value <= 0 or (worse is None and high - low <= _TOLERANCE):
            break
        if high - low <= _TOLERANCE:  # found by one direction: go on with both
            worse, low, high = None, -math.inf, math.inf
        if high <= math.log(_SMALLEST):
            raise TargetError("target", target.words, "one that needs noise: any scale meets it")
        if low >= math.log(_LARGEST):
            hint = "; Gaussian noise needs a delta above 0" if target.words.endswith("delta=0") else ""
            allowed = f"within reach; a scale of {_LARGEST:g} misses it{hint}"
            raise TargetError("target", target.words, allowed)
        seen.append((x, value))
        x = _next(seen, low, high)
    else:
        raise ArithmeticError("the calibration did not settle; please report this as a bug")
    return family(math.exp(high))


def _ways(known: Guarantee, target: Target) -> dict[int, Guarantee]:
    """The directions to read, each by itself where the target allows."""
    if target.by_direction and isinstance(known, PairGuarantee) and len(known.directions) == 2:
        return {0: OneWay(known, 0), 1: OneWay(known, 1)}
    return {0: known}


def _next(seen: list[tuple[float, float]], low: float, high: float) -> float:
    """The next log scale to try, aiming a little inside the target."""
    x, value = seen[-1]
    finite = [point for point in seen[-3:] if math.isfinite(point[1])]
    distinct = len({gap for _, gap in finite}) == len(finite)
    if not math.isfinite(value):
        guess = x + math.copysign(3.0, value)
    elif len(finite) == 1 or not distinct:
        guess = x + value / 1.2  # a reading falls a little faster than the scale grows
    else:
        guess = _inverse(finite, -_TOLERANCE / 2)
    if math.isinf(high) or math.isinf(low):
        guess = min(max(guess, x - 6.0), x + 6.0)
        return min(max(guess, math.log(_SMALLEST)), math.log(_LARGEST))
    return guess if low < guess < high else (low + high) / 2


def _inverse(points: list[tuple[float, float]], gap: float) -> float:
    """Where the inverse function through two or three points takes a gap (Lagrange's formula)."""
    total = 0.0
    for i, (x, value) in enumerate(points):
        others = [other for j, (_, other) in enumerate(points) if j != i]
        total += x * math.prod((gap - other) / (value - other) for other in others)
    return total


def _most_steps(mechanism: Mechanism, target: Target, adjacency: Adjacency) -> Mechanism:
    def gap(steps: int) -> float:
        return target.gap((steps * mechanism).guarantee(adjacency))

    # `low` steps meet the target, `high` do not; readings grow like a power of the steps
    low, high, most = 1, math.inf, 1 << 62
    at_low, at_high = gap(1), math.inf
    if at_low > 0:
        raise TargetError("target", target.words, "met by one step of the mechanism")
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
            raise TargetError("target", target.words, "exceeded at some number of steps")
    return low * mechanism
