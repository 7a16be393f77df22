"""Notions of privacy in which a budget can be kept by an adaptive filter, and caps stated in them.

A filter lets the next mechanism run if the sum of costs stays within a cap. The analyst may choose each
mechanism, and its cost, from all answers so far; that the whole then meets the cap is a theorem for sums in
these notions:

- pure: the sum of epsilon (Rogers, Roth, Ullman and Vadhan 2016, basic composition);
- zcdp: the sum of rho (Feldman and Zrnic 2021 at every order at once; Whitehouse, Ramdas, Rogers and Wu
  2023);
- renyi: the sum of Rényi divergences of one order, fixed beforehand (Feldman and Zrnic 2021);
- gdp: the sum of mu^2 (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022).

For composed (epsilon, delta), profiles or trade-off curves no such theorem can hold: an analyst who may
choose between mechanisms whose profiles cross gets more than was promised (tests/ledger/test_filters.py
computes one). Gaussian noise alone is totally ordered; its composed profile is a filter, and is the gdp one.
"""

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from indistinct.errors import ArgumentError, check_real
from indistinct.guarantees import GaussianDP, Guarantee, PureDP, RenyiCurve, ZeroConcentratedDP
from indistinct.ledger.amounts import Amount, read, short, stated, written
from indistinct.mechanisms import Budget
from indistinct.mechanisms.budget import check_budget
from indistinct.numerics.rounding import root_up, rounded_up


class Notion(Enum):
    """What is added up."""

    GDP = "gdp"
    RENYI = "renyi"
    ZCDP = "zcdp"
    PURE = "pure"


THEOREMS = {
    Notion.PURE: "Rogers, Roth, Ullman and Vadhan 2016: epsilons chosen adaptively add up",
    Notion.ZCDP: "Feldman and Zrnic 2021; Whitehouse et al. 2023: rho chosen adaptively add up",
    Notion.RENYI: "Feldman and Zrnic 2021: Rényi divergences of one fixed order, chosen adaptively, add up",
    Notion.GDP: "Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022: mu^2 chosen adaptively add up",
}
_SMALLEST, _LARGEST = 1e-100, 10**100
"""Beyond the largest a number promises nothing, as `NO_NOISE` says of noise; below the smallest none is
sought."""
_SYMBOL = {Notion.PURE: "epsilon", Notion.ZCDP: "rho", Notion.RENYI: "Rényi divergence", Notion.GDP: "mu^2"}


@dataclass(frozen=True)
class Cap:
    """The most that costs may add up to, in a notion; without a limit, what an odometer adds up."""

    notion: Notion
    limit: Amount
    order: float | None = None

    @property
    def theorem(self) -> str:
        """Why the sum may be chosen adaptively."""
        return THEOREMS[self.notion]

    @property
    def words(self) -> str:
        """The cap for people."""
        return (
            f"{self.unit} at most {short(self.limit)}"
            if isinstance(self.limit, Fraction)
            else f"{self.unit}, no cap"
        )

    @property
    def kind(self) -> tuple[Notion, float | None]:
        """What amounts are of: those of one kind add up."""
        return self.notion, self.order

    @property
    def unit(self) -> str:
        """What is added up."""
        at = "" if self.order is None else f" of order {self.order:g}"
        return f"{_SYMBOL[self.notion]}{at}"

    def to_json(self) -> dict[str, Any]:
        """As it is journalled."""
        return {"notion": self.notion.value, "limit": written(self.limit), "order": self.order}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `to_json` wrote."""
        if not isinstance(data, dict) or data.keys() != {"notion", "limit", "order"}:
            raise ArgumentError("cap", data, "a notion, a limit and an order")
        order = data["order"]
        return cls(check_notion(data["notion"]), read(data["limit"]), order and check_real("order", order))

    def guarantee(self, amount: Amount) -> Guarantee | None:
        """What an amount of this notion promises; None if nothing."""
        if not isinstance(amount, Fraction) or amount > _LARGEST:
            return None
        match self.notion:
            case Notion.PURE:
                return PureDP(rounded_up(amount))
            case Notion.ZCDP:
                return ZeroConcentratedDP(rounded_up(amount))
            case Notion.RENYI:
                return RenyiCurve([self.order], [rounded_up(amount)])
            case Notion.GDP:
                return GaussianDP(root_up(amount))

    def budget(self, amount: Fraction) -> Budget:
        """An amount of this notion as something to calibrate to; rounded down."""
        number = -rounded_up(-amount)
        match self.notion:
            case Notion.PURE:
                return Budget(epsilon=number)
            case Notion.ZCDP:
                return Budget(rho=number)
            case Notion.RENYI:
                return Budget(renyi=number, order=self.order)
            case Notion.GDP:
                return Budget(mu=math.sqrt(number) * (1 - 2**-50))

    def told(self, amount: Amount, budget: Budget | None = None, *, down: bool = False) -> str:
        """An amount in the terms of whoever stated the budget: an epsilon at their delta, or the notion's own
        number; rounded up, or `down`, as what is left is."""
        if not isinstance(amount, Fraction) or amount > _LARGEST:
            return f"an unbounded {self.unit}"
        if budget is not None and budget.delta:
            epsilon = stated(_epsilon(self, amount, budget.delta))
            return f"epsilon {short(epsilon, down=down)} at delta {budget.delta:g}"
        if budget is not None and budget.mu is not None:
            return f"mu {short(stated(root_up(Fraction(amount))), down=down)}"
        return f"{self.unit} {short(amount, down=down)}"


@lru_cache(maxsize=4096)
def _epsilon(cap: Cap, amount: Fraction, delta: float) -> float:
    """Of an amount; what is told of a refusal was read before anybody waited for it."""
    known = cap.guarantee(amount)
    return math.inf if known is None else known.epsilon(delta)


def promise(budget: Budget | None) -> str:
    """What an account keeps, for people."""
    if budget is None:
        return "none: what is spent is only added up"
    if budget.epsilon is not None:
        return f"epsilon {_plain(budget.epsilon)}" + (
            f" at delta {_plain(budget.delta)}" if budget.delta else ""
        )
    if budget.renyi is not None and budget.order is not None:
        return f"a Rényi divergence of {_plain(budget.renyi)} at order {_plain(budget.order)}"
    return f"rho {_plain(budget.rho)}" if budget.rho is not None else f"mu {_plain(budget.mu or 0.0)}"


def _plain(number: float) -> str:
    """As people write it: 1e-5, not 1e-05."""
    return f"{number:g}".replace("e-0", "e-")


def check_notion(notion: Any, argument: str = "notion") -> Notion:
    """The notion of this name."""
    try:
        return Notion(notion)
    except ValueError:
        allowed = f"one of {', '.join(repr(one.value) for one in Notion)}, which have an adaptive filter"
        raise ArgumentError(argument, notion, allowed) from None


def notions_for(budget: Budget) -> list[Notion]:
    """In which a budget can be kept, best first; refuses those of which no filter is known."""
    if budget.epsilon is not None:
        return list(Notion) if budget.delta else [Notion.PURE]
    if budget.rho is not None:
        return [Notion.ZCDP]
    if budget.mu is not None:
        return [Notion.GDP]
    if budget.order is not None and budget.order > 1:
        return [Notion.PURE if math.isinf(budget.order) else Notion.RENYI]
    raise ArgumentError(
        "budget",
        budget,
        "epsilon with delta, rho, mu, or renyi at an order above 1: no adaptive filter is known for others",
    )


@lru_cache(maxsize=256)
def cap_of(budget: Budget, notion: Notion, order: float | None = None) -> Cap:
    """The cap of a notion that keeps a budget, the largest there is; a Rényi order unless one is given is
    the one that admits most Gaussian noise.

    >>> cap_of(Budget(epsilon=1), Notion.PURE).limit
    Fraction(1, 1)
    >>> cap_of(Budget(epsilon=1, delta=1e-6), Notion.RENYI).order > 20
    True
    """
    if notion not in notions_for(budget) and not (notion is Notion.PURE and budget.epsilon is not None):
        allowed = f"one of {', '.join(one.value for one in notions_for(budget))} for {budget}"
        raise ArgumentError("notion", notion.value, allowed)
    if notion is Notion.PURE or not budget.delta:
        number = stated(budget.limit)
        return Cap(
            notion,
            number**2 if notion is Notion.GDP else number,
            budget.order if notion is Notion.RENYI else None,
        )
    epsilon, delta = budget.limit, budget.delta
    if notion is Notion.GDP:
        return Cap(notion, Fraction(_largest(lambda x: GaussianDP(x), epsilon, delta)) ** 2)
    if notion is Notion.ZCDP:
        return Cap(notion, Fraction(_largest(lambda x: ZeroConcentratedDP(x), epsilon, delta)))
    chosen = _best_order(epsilon, delta) if order is None else order
    return Cap(notion, Fraction(_largest(lambda x: RenyiCurve([chosen], [x]), epsilon, delta)), chosen)


_LARGE_EPSILON, _LARGE_DELTA = 20.0, 0.01
"""Above these a budget promises next to nothing, and has to be confirmed."""


def check_sensible(budget: Budget, confirm: bool) -> Budget:
    """The budget; refuses one that no filter keeps, and one that promises next to nothing unless
    confirmed."""
    cap = cap_of(check_budget(budget), notions_for(budget)[0])
    known = cap.guarantee(cap.limit)
    large = known is None or known.epsilon(budget.delta or 1e-6) > _LARGE_EPSILON
    if (large or (budget.delta or 0) >= _LARGE_DELTA) and not confirm:
        most = f"epsilon up to {_LARGE_EPSILON:g} and delta below {_LARGE_DELTA:g}"
        raise ArgumentError("budget", budget, f"one with {most}, or confirmed (confirm=True)")
    return budget


def _largest(claim: Any, epsilon: float, delta: float) -> float:
    """The largest number of a claim whose epsilon at delta is at most this: by bisection, the lower end of
    which was always seen to meet it."""
    low, high = 0.0, 1.0
    while claim(high).epsilon(delta) <= epsilon:
        low, high = high, 2 * high
    while not low and high > _SMALLEST:
        smaller = high / 1024
        low, high = (smaller, high) if claim(smaller).epsilon(delta) <= epsilon else (0.0, smaller)
    while (middle := (low + high) / 2) not in (low, high) and high - low > 2**-48 * high:
        low, high = (middle, high) if claim(middle).epsilon(delta) <= epsilon else (low, middle)
    return low


def _best_order(epsilon: float, delta: float) -> float:
    """Where gamma(order)/order is largest, with the conversion of Canonne, Kamath and Steinke 2020,
    Proposition 12; on a grid, and only to choose: what the order is worth is found by the exact
    conversion."""
    orders = [1 + 10 ** (k / 40) for k in range(-80, 241)]

    def share(order: float) -> float:
        worth = epsilon - math.log((order - 1) / order) + math.log(delta * order) / (order - 1)
        return worth / order

    return float(f"{max(orders, key=share):.4g}")
