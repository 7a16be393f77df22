"""Divergences of one release from a class, and how those of several combine: hooks on plain numbers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from indistinct.adversaries.solvers.bracket import INFINITE, Bracket
from indistinct.adversaries.solvers.independent import IndependentProgramme
from indistinct.adversaries.solvers.kullback import KullbackProgramme, linear_kl
from indistinct.adversaries.solvers.laws import GaussianShape, ReleasedNumber
from indistinct.adversaries.solvers.moments import feature_means
from indistinct.adversaries.solvers.quadrature import ROUNDING, NoiseLine, Outcomes
from indistinct.adversaries.solvers.renyi import RenyiProgramme
from indistinct.adversaries.solvers.spans import FunctionSpan, PiecewiseLinearSpan, PolynomialSpan, Span
from indistinct.adversaries.solvers.tables import TableProgramme
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


class OfEverything(Divergences):
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


class OfOneNumber(Divergences):
    """One released number against a span of features."""

    def __init__(self, number: ReleasedNumber, span: Span) -> None:
        self._number, self._span = number, span

    @cached_property
    def _lines(self) -> tuple[NoiseLine, NoiseLine]:
        return NoiseLine(self._number.p, self._span), NoiseLine(self._number.q, self._span)

    @cached_property
    def _programme(self) -> RenyiProgramme:
        return RenyiProgramme(*self._lines)

    def renyi(self, order: float) -> Bracket:
        return self._programme.renyi(order)

    def kl(self) -> Bracket:
        if not isinstance(self._span, PolynomialSpan):
            return self.kullback(self._span).divergence()
        # E_Q[e^h] is infinite for h of odd degree above 1, so the degree below is all that counts; what a
        # lower degree reaches is reached in any case
        found = linear_kl(self._number)
        if self._span.degree > 1:
            programme, low = self.kullback(PolynomialSpan(1)), found.low
            programme.divergence()
            for degree in range(2, self._span.degree + 1, 2):
                smaller, programme = programme.best, self.kullback(PolynomialSpan(degree))
                found = programme.divergence(smaller)
                low = max(low, found.low)
            found = Bracket(min(low, found.high), found.high)
        return found

    def kullback(self, span: Span) -> KullbackProgramme:
        """The programme of the same number for a span of its own."""
        # a square may grow a little against Gaussian tails; anything else must fall
        growing = 2 if isinstance(self._number.q.noise, GaussianShape) else 1
        steep = isinstance(span, PolynomialSpan) and span.degree > growing
        lines = (NoiseLine(law, span, exponential=True) for law in (self._number.p, self._number.q))
        return KullbackProgramme(*lines, steep=steep)

    def _difference(self) -> tuple[Array, Array]:
        (p, p_error), (q, q_error) = map(feature_means, self._lines)
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
            return abs(self._number.shift) * (1 + ROUNDING)
        if not isinstance(self._span, FunctionSpan):
            allowed = "Linear or Features: others have no norm of their own"
            raise ArgumentError("adversary", self._span, allowed)
        difference, error = self._difference()
        return float(np.linalg.norm(np.abs(difference) + error)) * (1 + ROUNDING)


class OfSeveralNumbers(Divergences):
    """Several independent numbers against their linear functions."""

    def __init__(self, numbers: Sequence[tuple[ReleasedNumber, int]]) -> None:
        self._numbers = numbers

    @cached_property
    def _programme(self) -> IndependentProgramme:
        return IndependentProgramme(self._numbers)

    def renyi(self, order: float) -> Bracket:
        return self._programme.renyi(order)

    def kl(self) -> Bracket:
        # log E_Q e^{a.x} is a sum over numbers, so each is maximised by itself
        parts = [(linear_kl(number), count) for number, count in self._numbers]
        low, high = (sum(count * part[side] for part, count in parts) for side in (0, 1))
        return Bracket(low, high * (1 + ROUNDING))

    def total_variation(self) -> Bracket:
        return Bracket(0.0, 0.0)

    def mean_distance(self) -> float:
        squares = math.fsum(count * number.shift**2 for number, count in self._numbers)
        return math.sqrt(squares) * (1 + ROUNDING)


class OfOutcomes(Divergences):
    """Finitely many outcomes with a matrix of features, one a row."""

    def __init__(self, p: Array, q: Array, features: Array) -> None:
        self._p, self._q, self._features = p, q, features
        seen = features[:, q > 0]
        rank = int(np.linalg.matrix_rank(seen))
        self._kept, self._open = features, False
        if np.linalg.matrix_rank(features) > rank:
            hidden = p[q == 0]
            mean = features[:, q == 0] @ (hidden / hidden.max(initial=TINY))
            self._open = _sees_where_q_is_not(seen, mean)
            self._kept = features[np.sort(qr(seen.T, mode="r", pivoting=True)[1][:rank])]

    @cached_property
    def _tables(self) -> tuple[Outcomes, Outcomes]:
        return Outcomes(self._p, self._kept), Outcomes(self._q, self._kept)

    @cached_property
    def _programme(self) -> TableProgramme:
        return TableProgramme(*self._tables)

    def renyi(self, order: float) -> Bracket:
        return INFINITE if self._open else self._programme.renyi(order)

    def kl(self) -> Bracket:
        return INFINITE if self._open else KullbackProgramme(*self._tables).divergence()

    def total_variation(self) -> Bracket:
        return Bracket(0.0, float(np.abs(self._p - self._q).sum()) / 2 * (1 + ROUNDING))

    def mean_distance(self) -> float:
        return float(np.linalg.norm(self._features @ (self._p - self._q))) * (1 + ROUNDING)


def _sees_where_q_is_not(seen: Array, mean: Array) -> bool:
    """Whether some function that vanishes wherever Q is has another mean than 0: Lemma 2's point masses. The
    mean is taken where Q is not, in units of P's largest probability there, so that none is too small."""
    left, sizes, _ = np.linalg.svd(seen)
    rank = int((sizes > max(seen.shape) * EPS * sizes.max(initial=0.0)).sum())
    return bool(np.linalg.norm(left[:, rank:].T @ mean) > _SEEN * np.linalg.norm(mean))


class CombinedDivergences(Divergences):
    """Divergences made of those of parts, each in the same way."""

    @abstractmethod
    def _combine(self, read: Callable[[Divergences], Bracket]) -> Bracket: ...

    def renyi(self, order: float) -> Bracket:
        return self._combine(lambda part: part.renyi(order))

    def kl(self) -> Bracket:
        return self._combine(lambda part: part.kl())

    def total_variation(self) -> Bracket:
        return self._combine(lambda part: part.total_variation()).at_most(1.0)


class Worst(CombinedDivergences):
    """The worst of several: directions, parts of the data, a coin between mechanisms."""

    def __init__(self, parts: Sequence[Divergences]) -> None:
        self._parts = parts

    @classmethod
    def of(cls, parts: Sequence[Divergences]) -> Divergences:
        """One part is its own worst."""
        return parts[0] if len(parts) == 1 else cls(parts)

    def _combine(self, read: Callable[[Divergences], Bracket]) -> Bracket:
        found = [read(part) for part in self._parts]
        return Bracket(max(b.low for b in found), max(b.high for b in found))

    def mean_distance(self) -> float:
        return max(part.mean_distance() for part in self._parts)


class Added(CombinedDivergences):
    """Independent releases: divergences add up, at most.

    Chaudhuri, Imola and Machanavajjhala 2019, Theorem 4, for sums of the classes. The product of the parts'
    certificates g also meets the means of all products of features, so the bound holds for the classes'
    tensor product too: polynomials of all numbers together.
    """

    def __init__(self, parts: Sequence[tuple[Divergences, int]]) -> None:
        self._parts = parts

    def _combine(self, read: Callable[[Divergences], Bracket]) -> Bracket:
        found = [(read(part), count) for part, count in self._parts]
        high = math.fsum(count * b.high for b, count in found)
        # one part alone can be told apart this well
        return Bracket(max(b.low for b, _ in found), high * (1 + ROUNDING))

    def mean_distance(self) -> float:
        return math.sqrt(math.fsum(count * part.mean_distance() ** 2 for part, count in self._parts))


class Capped(CombinedDivergences):
    """No class learns more than all functions do."""

    def __init__(self, inner: Divergences, ceiling: Divergences) -> None:
        self._inner, self._ceiling = inner, ceiling

    def _combine(self, read: Callable[[Divergences], Bracket]) -> Bracket:
        return read(self._inner).at_most(read(self._ceiling).high)

    def mean_distance(self) -> float:
        return self._inner.mean_distance()
