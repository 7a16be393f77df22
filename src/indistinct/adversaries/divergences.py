"""Divergences of one release from a class, and how they combine: hooks on plain numbers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.coordinate import Coordinate
from indistinct.adversaries.kullback import KullbackProgramme, linear_kl
from indistinct.adversaries.moments import ROUNDING, feature_means
from indistinct.adversaries.noise import GaussianNoise
from indistinct.adversaries.programme import Programme
from indistinct.adversaries.quadrature import Line
from indistinct.adversaries.span import FunctionSpan, PiecewiseLinearSpan, PolynomialSpan, Span
from indistinct.adversaries.sums import SumProgramme
from indistinct.adversaries.table import Table, TableProgramme
from indistinct.errors import ArgumentError
from indistinct.guarantees.guarantee import Guarantee
from indistinct.numerics.arrays import EPS, TINY, Array

_SEEN = 1e-10
"""Means below this share of their terms are rounding."""


class Divergences(ABC):
    """Each between a lower bound and the upper bound that is reported."""

    @abstractmethod
    def renyi(self, order: float) -> Bracket: ...

    @abstractmethod
    def kl(self) -> Bracket: ...

    @abstractmethod
    def total_variation(self) -> Bracket: ...

    @abstractmethod
    def mean_distance(self) -> float:
        """|E_P φ - E_Q φ|, the features other than the constant: an IPM for coefficients of norm 1."""

    def chi_squared(self) -> Bracket:
        """exp of the Rényi divergence of order 2, less 1: the same variational problem."""
        low, high = self.renyi(2.0)
        return Bracket(math.expm1(min(low, 700.0)), math.expm1(high) if high < 700 else math.inf)


class Everything(Divergences):
    """All functions, or all that is known when only the loss is."""

    def __init__(self, guarantee: Guarantee, *, attained: bool) -> None:
        self._guarantee, self._attained = guarantee, attained

    def _bracket(self, high: float) -> Bracket:
        return Bracket(high if self._attained else 0.0, high)

    def renyi(self, order: float) -> Bracket:
        return self._bracket(self._guarantee.renyi(order))

    def kl(self) -> Bracket:
        return self._bracket(self._guarantee.renyi(1.0))

    def total_variation(self) -> Bracket:
        return self._bracket(self._guarantee.advantage())

    def mean_distance(self) -> float:
        raise ArgumentError("adversary", "all functions", "a class with features of its own")


class OneNumber(Divergences):
    """One released number against a span of features."""

    def __init__(self, place: Coordinate, span: Span, *, constant: bool = True) -> None:
        self._place, self._span, self._constant = place, span, constant

    @cached_property
    def _programme(self) -> Programme:
        return Programme(Line(self._place.p, self._span), Line(self._place.q, self._span))

    def renyi(self, order: float) -> Bracket:
        return self._programme.renyi(order)

    def kl(self) -> Bracket:
        if not self._constant:
            raise ArgumentError("constant", False, "in the class, for the Kullback-Leibler divergence")
        span = self._span
        if not isinstance(span, PolynomialSpan):
            return self._kullback(span).divergence()
        # E_Q[e^h] is infinite for h of odd degree above 1, so the degree below is all that counts; what a
        # lower degree reaches is reached in any case
        found = linear_kl(self._place)
        if span.degree > 1:
            line = self._kullback(PolynomialSpan(1))
            line.divergence()
            smaller, low = line.best, found.low
            for degree in range(2, span.degree + 1, 2):
                programme = self._kullback(PolynomialSpan(degree))
                found = programme.divergence(smaller)
                smaller, low = programme.best, max(low, found.low)
            found = Bracket(min(low, found.high), found.high)
        return found

    def _kullback(self, span: Span) -> KullbackProgramme:
        p, q = self._place.p, self._place.q
        # a square may grow a little against Gaussian tails; anything else must fall
        growing = 2 if isinstance(q.noise, GaussianNoise) else 1
        steep = isinstance(span, PolynomialSpan) and span.degree > growing
        lines = (Line(law, span, exponential=True) for law in (p, q))
        return KullbackProgramme(*lines, steep=steep)

    def _difference(self) -> tuple[Array, Array]:
        (p, p_error), (q, q_error) = (
            feature_means(Line(law, self._span)) for law in (self._place.p, self._place.q)
        )
        return p - q, p_error + q_error

    def total_variation(self) -> Bracket:
        if isinstance(self._span, PolynomialSpan):
            return Bracket(0.0, 0.0)  # no polynomial is bounded on the line but the constants
        if isinstance(self._span, PiecewiseLinearSpan):
            # bounded means no ramps; between knots |h| <= 1/2 says |h(knot)| <= 1/2, each free
            difference, error = self._difference()
            value, slack = float(np.abs(difference[:-2]).sum()) / 2, float(error[:-2].sum()) / 2
            return Bracket(max(value - slack, 0.0), (value + slack) * (1 + ROUNDING))
        return Bracket(0.0, 1.0)

    def mean_distance(self) -> float:
        if isinstance(self._span, PolynomialSpan) and self._span.degree == 1:
            return abs(self._place.shift) * (1 + ROUNDING)
        if not isinstance(self._span, FunctionSpan):
            raise ArgumentError(
                "adversary", self._span, "Linear or Features: others have no norm of their own"
            )
        difference, error = self._difference()
        return float(np.linalg.norm(np.abs(difference) + error)) * (1 + ROUNDING)


class LinearInSeveral(Divergences):
    """Several independent numbers against their linear functions."""

    def __init__(self, places: Sequence[tuple[Coordinate, int]]) -> None:
        self._places = places

    @cached_property
    def _programme(self) -> SumProgramme:
        return SumProgramme(self._places)

    def renyi(self, order: float) -> Bracket:
        return self._programme.renyi(order)

    def kl(self) -> Bracket:
        # log E_Q e^{a.x} is a sum over coordinates, so each is maximised by itself
        parts = [(linear_kl(place), count) for place, count in self._places]
        low, high = (sum(count * part[side] for part, count in parts) for side in (0, 1))
        return Bracket(low, high * (1 + ROUNDING))

    def total_variation(self) -> Bracket:
        return Bracket(0.0, 0.0)

    def mean_distance(self) -> float:
        return math.sqrt(math.fsum(count * place.shift**2 for place, count in self._places)) * (1 + ROUNDING)


class OnTable(Divergences):
    """Finitely many outcomes with a matrix of features."""

    def __init__(self, p: Array, q: Array, features: Array) -> None:
        self._p, self._q, self._features = p, q, features
        seen = features[:, q > 0]
        rank = np.linalg.matrix_rank(seen)
        if np.linalg.matrix_rank(features) > rank:
            self._open = _vanishing_sees(
                seen, features[:, q == 0] @ (p[q == 0] / p[q == 0].max(initial=TINY))
            )
            kept = _independent_rows(seen)
            self._features = features[kept]
        else:
            self._open = False

    @cached_property
    def _tables(self) -> tuple[Table, Table]:
        return Table(self._p, self._features), Table(self._q, self._features)

    @cached_property
    def _programme(self) -> TableProgramme:
        return TableProgramme(*self._tables)

    def renyi(self, order: float) -> Bracket:
        return Bracket(math.inf, math.inf) if self._open else self._programme.renyi(order)

    def kl(self) -> Bracket:
        if self._open:
            return Bracket(math.inf, math.inf)
        return KullbackProgramme(*self._tables).divergence()

    def total_variation(self) -> Bracket:
        return Bracket(0.0, float(np.abs(self._p - self._q).sum()) / 2 * (1 + ROUNDING))

    def mean_distance(self) -> float:
        return float(np.linalg.norm(self._features @ (self._p - self._q))) * (1 + ROUNDING)


class Worst(Divergences):
    """The worst of several: directions, parts of the data, a coin between mechanisms."""

    def __init__(self, parts: Sequence[Divergences]) -> None:
        self._parts = parts

    def _worst(self, read: Callable[[Divergences], Bracket]) -> Bracket:
        found = [read(part) for part in self._parts]
        return Bracket(max(b.low for b in found), max(b.high for b in found))

    def renyi(self, order: float) -> Bracket:
        return self._worst(lambda part: part.renyi(order))

    def kl(self) -> Bracket:
        return self._worst(lambda part: part.kl())

    def total_variation(self) -> Bracket:
        return self._worst(lambda part: part.total_variation())

    def mean_distance(self) -> float:
        return max(part.mean_distance() for part in self._parts)


class Added(Divergences):
    """Independent releases: divergences add up, at most.

    Chaudhuri, Imola and Machanavajjhala 2019, Theorem 4, for sums of the classes. The product of the parts'
    certificates g also meets the means of all products of features, so the bound holds for the classes'
    tensor product too: polynomials of all numbers together.
    """

    def __init__(self, parts: Sequence[tuple[Divergences, int]]) -> None:
        self._parts = parts

    def _sum(self, read: Callable[[Divergences], Bracket]) -> Bracket:
        found = [(read(part), count) for part, count in self._parts]
        high = math.fsum(count * b.high for b, count in found)
        # one part alone can be told apart this well
        return Bracket(max(b.low for b, _ in found), high * (1 + ROUNDING))

    def renyi(self, order: float) -> Bracket:
        return self._sum(lambda part: part.renyi(order))

    def kl(self) -> Bracket:
        return self._sum(lambda part: part.kl())

    def total_variation(self) -> Bracket:
        high = self._sum(lambda part: part.total_variation())
        return Bracket(high.low, min(high.high, 1.0))

    def mean_distance(self) -> float:
        return math.sqrt(math.fsum(count * part.mean_distance() ** 2 for part, count in self._parts))


class Capped(Divergences):
    """No class learns more than all functions do."""

    def __init__(self, inner: Divergences, ceiling: Divergences) -> None:
        self._inner, self._ceiling = inner, ceiling

    def renyi(self, order: float) -> Bracket:
        return self._inner.renyi(order).at_most(self._ceiling.renyi(order).high)

    def kl(self) -> Bracket:
        return self._inner.kl().at_most(self._ceiling.kl().high)

    def total_variation(self) -> Bracket:
        return self._inner.total_variation().at_most(self._ceiling.total_variation().high)

    def mean_distance(self) -> float:
        return self._inner.mean_distance()


def _vanishing_sees(seen: Array, mean: Array) -> bool:
    """Whether some function that vanishes wherever Q is has another mean than 0: Lemma 2's point masses. The
    mean is taken where Q is not, in units of P's largest probability there, so that none is too small."""
    left, sizes, _ = np.linalg.svd(seen)
    rank = int((sizes > max(seen.shape) * EPS * sizes.max(initial=0.0)).sum())
    return bool(np.linalg.norm(left[:, rank:].T @ mean) > _SEEN * np.linalg.norm(mean))


def _independent_rows(matrix: Array) -> list[int]:
    """Indices of rows that span all of them."""
    kept: list[int] = []
    for k in range(matrix.shape[0]):
        if np.linalg.matrix_rank(matrix[[*kept, k]]) > len(kept):
            kept.append(k)
    return kept
