"""What may be spent, in the language of your choice."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, final

from scipy.special import erfinv, expit, ndtri

from indistinct.description import Described, arguments, describable
from indistinct.errors import ArgumentError, check_nonnegative, check_probability, check_real
from indistinct.guarantees.discrete_noise_pairs import DiscreteGaussianPair
from indistinct.guarantees.guarantee import Guarantee, RenyiSum
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.stated import ZeroConcentratedDP
from indistinct.numerics.arrays import EPS
from indistinct.numerics.normal import gaussian_shift
from indistinct.numerics.rounding import quotient_up, root_up, rounded_up, weighted_sum_up

_GOES_WITH = {"epsilon": "delta", "rho": None, "mu": None, "renyi": "order", "advantage": None, "fnr": "fpr"}
"""The kinds of budget, and the number that each needs besides its own."""
_PROBABILITIES = {"delta", "advantage", "fnr", "fpr"}


@final
@describable()
class Budget(Described):
    """What a release may cost, taken by everything that releases or calibrates.

    It is one of these: `epsilon` at `delta` (0, pure DP, unless told); `rho` of zero-concentrated DP; `mu` of
    Gaussian DP; a Rényi divergence `renyi` at an `order`; the `advantage` of an attacker; a share `fnr` that
    every test of false positive rate `fpr` misses at least.

    >>> from indistinct import Gaussian
    >>> budget = Budget(epsilon=1, delta=1e-6)
    >>> budget
    Budget(epsilon=1.0, delta=1e-06)
    >>> budget.met_by(Gaussian(scale=5).guarantee()), budget.met_by(Gaussian(scale=4).guarantee())
    (True, False)
    """

    _: KW_ONLY
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    renyi: float | None = None
    order: float | None = None
    advantage: float | None = None
    fnr: float | None = None
    fpr: float | None = None

    def __post_init__(self) -> None:
        kinds = [name for name in _GOES_WITH if getattr(self, name) is not None]
        if len(kinds) != 1:
            allowed = "one of epsilon (with delta), rho, mu, renyi (with order), advantage, fnr (with fpr)"
            raise ArgumentError("budget", ", ".join(kinds) or None, allowed)
        if self.epsilon is not None and self.delta is None:
            object.__setattr__(self, "delta", 0.0)
        for name, other in _GOES_WITH.items():
            if other is not None and (name in kinds) != (getattr(self, other) is not None):
                with_it = f"given with {name}" if name in kinds else f"absent: it goes with {name}"
                raise ArgumentError(other, getattr(self, other), with_it)
        for name, value in self._given().items():
            check = check_probability if name in _PROBABILITIES else check_nonnegative
            value = check_real(name, value) if name == "order" else check(name, value)
            object.__setattr__(self, name, value)
            if value == 1 and name in ("delta", "advantage"):
                raise ArgumentError(name, value, "below 1, which anything meets")
        if self.order is not None and self.order < 0.5:
            raise ArgumentError("order", self.order, "at least 1/2")
        if self.fnr is not None and not 0 < self.limit < 1 - (self.fpr or 0):
            allowed = "above 0, which anything meets, and below 1 - fpr, which no test can exceed"
            raise ArgumentError("fnr", self.fnr, allowed)

    def _given(self) -> dict[str, float]:
        return {name: value for name, value in arguments(self).items() if value is not None}

    @property
    def limit(self) -> float:
        """What the reading must not exceed."""
        if self.fnr is not None and self.fpr is not None:  # how far below the diagonal a test may get
            return 1 - self.fpr - self.fnr
        given = self._given()
        return next(given[name] for name in _GOES_WITH if name in given)

    def reading(self, guarantee: Guarantee) -> float:
        """What a guarantee costs in the language of this budget, at most."""
        _check_guarantee(guarantee)
        if self.delta is not None:
            return guarantee.epsilon(self.delta)
        if self.order is not None:
            return guarantee.renyi(self.order)
        if self.fpr is not None:
            return 1 - self.fpr - guarantee.tradeoff(self.fpr)
        if self.advantage is not None:
            return guarantee.advantage()
        return known_rho(guarantee) if self.rho is not None else known_mu(guarantee)

    def gaussian(self, value: float, near: float | None = None) -> float:
        """About the mu of Gaussian DP whose reading has this value, or the value: for comparing readings.
        It is found sooner from one that is near."""
        if self.delta:
            return gaussian_shift(value, math.log(self.delta), near)
        if self.order is not None or self.rho is not None:
            return math.sqrt(2 * value / (self.order or 1.0))
        return math.sqrt(8) * float(erfinv(min(value, 1 - EPS))) if self.advantage is not None else value

    def met_by(self, guarantee: Guarantee) -> bool:
        """Whether the guarantee is known to cost no more than this."""
        _check_guarantee(guarantee)
        if self.fnr is not None and self.fpr is not None:  # as it was asked: differences are rounded
            return guarantee.tradeoff(self.fpr) >= self.fnr
        return self.reading(guarantee) <= self.limit


def _check_guarantee(guarantee: Any) -> None:
    if not isinstance(guarantee, Guarantee):
        raise ArgumentError("guarantee", guarantee, "a guarantee, such as mechanism.guarantee()")


def check_budget(budget: Any) -> Budget:
    """The budget; refuses anything else."""
    if not isinstance(budget, Budget):
        raise ArgumentError("budget", budget, "a budget such as Budget(epsilon=1, delta=1e-6)")
    return budget


def known_rho(guarantee: Guarantee) -> float:
    """A rho of zero-concentrated DP: exact for Gaussian noise, on the integers too (Bun and Steinke 2016,
    Proposition 1.6; Canonne, Kamath and Steinke 2020, Theorem 4), epsilon^2/2 for losses of at most epsilon
    (Bun and Steinke, Proposition 1.4). Infinite where neither is known, as for sampled Gaussian noise."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.rho
    if isinstance(guarantee, RenyiSum):
        return weighted_sum_up((known_rho(part), count) for part, count in guarantee.parts)
    square = _squares(guarantee, _concentration)
    return rounded_up(square / 2) if isinstance(square, Fraction) else square


def known_mu(guarantee: Guarantee) -> float:
    """A mu of Gaussian DP, of the Gaussian pairs that dominate the pairs of a composition: so does their
    product (Zhu, Dong and Wang 2022, Theorem 10). Exact for Gaussian noise; infinite where none is known."""
    square = _squares(guarantee, _dominating_shift)
    return root_up(square) if isinstance(square, Fraction) else square


def dominating_shift(epsilon: float) -> float:
    """Of the Gaussian pair that dominates any of pure epsilon, 2 Φ⁻¹(e^ε/(1 + e^ε)): its trade-off curve goes
    through the corner of theirs (Dong, Roth and Su 2022, Proposition 3), and is convex: below both chords."""
    # of the small one of both probabilities, which keeps its digits
    return -2 * float(ndtri(expit(-epsilon))) * (1 + 1e-9) + 1e-15 if epsilon else 0.0


def _squares(guarantee: Guarantee, length: Callable[[Pair], float]) -> Fraction | float:
    """The sum of squared lengths of all pairs of a composition."""
    if guarantee.product is None:
        return math.inf
    lengths = [(length(pair), count) for pair, count in guarantee.product.terms]
    if any(math.isinf(each) for each, _ in lengths):
        return math.inf
    return sum((count * Fraction(each) ** 2 for each, count in lengths), Fraction(0))


def _concentration(pair: Pair) -> float:
    if isinstance(pair, DiscreteGaussianPair):
        return quotient_up(pair.shift, pair.scale)
    return pair.shift if isinstance(pair, GaussianPair) else _largest_loss(pair)


def _dominating_shift(pair: Pair) -> float:
    return pair.shift if isinstance(pair, GaussianPair) else dominating_shift(_largest_loss(pair))


def _largest_loss(pair: Pair) -> float:
    return max(pair.loss_range[1], pair.reverse().loss_range[1], 0.0)
