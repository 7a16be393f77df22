"""Laws with features on them, and rules to integrate over these: noise on the line, finitely many outcomes.

Expectations of |h|^A and |h|^(A-1) sign h, with A as near to 1 as one likes, have branch points at the zeros
of h. The line is cut at the zeros, at the kinks of the density and of the features, and into panels; panels
near a zero get the double exponential rule (Takahasi and Mori 1974), to which an algebraic end point is no
obstacle, the others Gauss and Legendre's. Every integral is done twice, with more nodes the second time, and
the difference is charged to the answer.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indistinct.adversaries.solvers.laws import Law
from indistinct.adversaries.solvers.signed import Coefficients
from indistinct.adversaries.solvers.spans import Span
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, Array

ROUNDING = 64 * EPS
"""Relative rounding of an integral, on top of what refining its rule shows."""
_LOG_NEGLIGIBLE = 46.0
"""What is this far below the largest value, in logarithms, is not integrated."""
_OUTWARD = np.concatenate((np.arange(0.0, 8.0, 0.5), 8.0 * 1.2 ** np.arange(0, 66)))
_FINE_OUTWARD = np.concatenate((np.arange(0.0, 8.0, 0.5), 8.0 * 1.02 ** np.arange(0, 608)))
"""Where, from a centre, to look how far a function reaches; finer for exponentials."""
_EDGES = np.concatenate(([0.0, 0.75, 1.5, 2.5, 4.0, 6.0, 8.0], 10.0 * 1.25 ** np.arange(0, 64)))
"""Ends of panels, from a centre."""
_PIECES = 5
"""Panels in one for exponentials, which are less smooth than powers."""
_NARROW = 0.05
"""Widths of peaks, as a share of how far out they are, that panels do not resolve by themselves."""
_AROUND = np.array([0.0, 2.0, 5.0, 10.0, 20.0, 50.0])
"""Where the line is cut around a peak, in units of its width."""


class Rule(NamedTuple):
    """Nodes, and the logarithms of their weights under a law."""

    x: Array
    log_weight: Array


NOWHERE: Array = np.zeros(0)


class Reach(NamedTuple):
    """From where to where to integrate, and where to cut: at the zeros of h, or so that no peak is missed."""

    low: float
    high: float
    cuts: Array = NOWHERE

    def and_to(self, other: "Reach", cuts: Array = NOWHERE) -> "Reach":
        """As far as either reaches."""
        return Reach(min(self.low, other.low), max(self.high, other.high), cuts)


class QuadraturePanel(NamedTuple):
    """Nodes on [0, 1] and their weights."""

    nodes: Array
    weights: Array


def _legendre(count: int) -> QuadraturePanel:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return QuadraturePanel(0.5 + 0.5 * nodes, 0.5 * weights)


def _double_exponential(count: int) -> QuadraturePanel:
    """x = 1/(1 + e^{-pi sinh t}), trapezoid in t: as near to the ends as 1e-15."""
    t = np.linspace(-3.15, 3.15, count)
    share = 1 / (1 + np.exp(-math.pi * np.sinh(t)))
    other = 1 / (1 + np.exp(math.pi * np.sinh(t)))
    return QuadraturePanel(share, share * other * math.pi * np.cosh(t) * (t[1] - t[0]))


_PLAIN = _legendre(16), _legendre(24)
_GRADED = _double_exponential(60), _double_exponential(90)
GRADED = _GRADED[0]
"""Graded towards both ends; node k from the left is as far from 0 as node k from the right is from 1."""
NEAREST = float(GRADED.nodes[0])
"""How near to its ends a graded panel comes, as a share of its length."""


class Measure(ABC):
    """A law, features, and rules for the expectations of functions that these span."""

    named: Any
    """The features, as an error message names them."""
    all_moments: bool = True
    local: bool = False

    @abstractmethod
    def features(self, x: Array) -> Array:
        """One a row."""

    @abstractmethod
    def log_density(self, x: Array) -> Array: ...

    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        """Where a function changes sign, as far as its rule has to know."""
        return NOWHERE

    def peaks(self, coefficients: Array) -> Array:
        """Where to cut for e^h with these coefficients, so that no peak is missed."""
        return NOWHERE

    @abstractmethod
    def extent(
        self, log_size: Callable[[Array], Array], cuts: Array = NOWHERE, ceiling: float = math.inf
    ) -> Reach | None:
        """Where e^{log_size(features)} times the density is not negligible against its largest value, or
        against a ceiling in logarithms; none if that never ends."""

    @abstractmethod
    def square_extent(self) -> Reach:
        """Where the square of any feature matters; refused where a second moment is infinite."""

    @abstractmethod
    def rule(self, reach: Reach, *, dense: bool = False, exponential: bool = False) -> Rule:
        """A rule for functions with these zeros, or for exponentials of functions."""


class Outcomes(Measure):
    """Finitely many outcomes: their probabilities, and their features, one a row. A table that stands for a
    law, or a sample that was drawn from one."""

    def __init__(self, probability: Array, features: Array) -> None:
        seen = probability > 0
        self._features = features[:, seen]
        self._log = np.log(probability[seen])
        self.named = self._features.shape

    @classmethod
    def drawn(cls, features: Array) -> "Outcomes":
        """A sample, all of whose members weigh the same."""
        return cls(np.full(features.shape[1], 1 / features.shape[1]), features)

    def features(self, x: Array) -> Array:
        chosen: Array = self._features[:, x.astype(np.intp)]
        return chosen

    def log_density(self, x: Array) -> Array:
        chosen: Array = self._log[x.astype(np.intp)]
        return chosen

    def extent(self, *_: Any, **__: Any) -> Reach:
        return self.square_extent()

    def square_extent(self) -> Reach:
        return Reach(0.0, float(self._log.size))

    def rule(self, *_: Any, **__: Any) -> Rule:
        return Rule(np.arange(self._log.size, dtype=np.float64), self._log)


class NoiseLine(Measure):
    """The real line under noise, cut for one law and one span of features."""

    def __init__(self, law: Law, span: Span, *, exponential: bool = False) -> None:
        self.law = law
        self.span = self.named = span
        self.all_moments, self.local = span.all_moments, span.local
        places = [place for _, place in law.centres]
        outward = _FINE_OUTWARD if exponential else _OUTWARD
        outward = outward[outward <= span.furthest]
        ends = [place + side * _EDGES for place in places for side in (-1.0, 1.0)]
        self._ends = np.unique(np.concatenate([*ends, law.kinks, span.breaks]))
        grid = [place + side * outward for place in places for side in (-1.0, 1.0)]
        self._grid = np.unique(np.concatenate([*grid, span.breaks]))
        with np.errstate(over="ignore", invalid="ignore"):
            self._features = span(self._grid)
        # as far out as they can be computed
        bad = np.flatnonzero(~np.isfinite(self._features).all(axis=0))
        centre = int(np.searchsorted(self._grid, places[0]))
        first = int(bad[bad < centre].max(initial=-1)) + 1
        last = int(bad[bad >= centre].min(initial=self._grid.size))
        if last <= first:
            raise ArgumentError("features", span, "finite where the noise is")
        self._grid, self._features = self._grid[first:last], self._features[:, first:last]
        self._log_density = law.log_density(self._grid)
        self._last_cut: tuple[Array, tuple[Array, Array, Array]] | None = None

    def features(self, x: Array) -> Array:
        return self.span(x)

    def log_density(self, x: Array) -> Array:
        return self.law.log_density(x)

    def zeros(self, coefficients: Coefficients, low: float, high: float) -> Array:
        return self.span.zeros(coefficients, low, high)

    def peaks(self, coefficients: Array) -> Array:
        """Cuts around each peak of e^h times the density that is narrow against the panels there."""
        slopes = {slope for centre in self.law.centres for slope in self.law.noise.slopes(centre[1])}
        found = [
            place + side * width * _AROUND
            for slope in sorted(slopes)
            for place, width in self.span.peaks(coefficients, *slope)
            if width < _NARROW * (1 + abs(place))
            for side in (-1.0, 1.0)
        ]
        if not found:
            return NOWHERE
        cuts = np.unique(found)
        inside: Array = cuts[(cuts > self._grid[0]) & (cuts < self._grid[-1])]
        return inside

    def extent(
        self, log_size: Callable[[Array], Array], cuts: Array = NOWHERE, ceiling: float = math.inf
    ) -> Reach | None:
        grid, features, log_density = self._cut_grid(cuts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            size = log_size(features) + log_density
        top = min(size.max(), ceiling)
        if not -math.inf < top < math.inf:  # NaN too
            return None
        return _around(grid, size >= top - _LOG_NEGLIGIBLE)

    def _cut_grid(self, cuts: Array) -> tuple[Array, Array, Array]:
        """The grid that looks for extents, with features and density, and with places more; the last such
        grid is kept, because every function is looked at twice."""
        if not cuts.size:
            return self._grid, self._features, self._log_density
        if self._last_cut is None or self._last_cut[0] is not cuts:
            place = np.searchsorted(self._grid, cuts)
            grid = np.insert(self._grid, place, cuts)
            features = np.insert(self._features, place, self.span(cuts), axis=1)
            log_density = np.insert(self._log_density, place, self.law.log_density(cuts))
            self._last_cut = cuts, (grid, features, log_density)
        return self._last_cut[1]

    def square_extent(self) -> Reach:
        # each by itself: far out P may live where Q hardly does, and a feature that is small there counts
        with np.errstate(divide="ignore"):
            size = 2 * np.log(np.abs(self._features)) + self._log_density
        size = size[size.max(axis=1) > -math.inf]  # a feature that is 0 is refused elsewhere
        if not size.size:
            return Reach(float(self._grid[0]), float(self._grid[-1]))
        seen = size >= size.max(axis=1, keepdims=True) - _LOG_NEGLIGIBLE
        reach = _around(self._grid, seen.any(axis=0))
        if reach is None:
            raise ArgumentError("features", self.span, "of finite second moment under the noise")
        return reach

    def ends(self, reach: Reach) -> Array:
        """Where the line is cut."""
        places = np.concatenate((self._ends, reach.cuts))
        inside = places[(places > reach.low) & (places < reach.high)]
        ends: Array = np.unique(np.concatenate(((reach.low,), inside, (reach.high,))))
        return ends

    def rule(self, reach: Reach, *, dense: bool = False, exponential: bool = False) -> Rule:
        """Cut at the zeros and graded towards them; for exponentials only cut."""
        ends, zeros = self.ends(reach), reach.cuts
        if exponential:
            zeros = NOWHERE
            places = np.arange(_PIECES * (ends.size - 1) + 1) / _PIECES
            ends = np.interp(places, np.arange(ends.size), ends)
        left, length = ends[:-1, None], np.diff(ends)[:, None]
        # a panel is plain that is far enough from every zero
        nearest = np.maximum(ends[:-1] - zeros[:, None], zeros[:, None] - ends[1:])
        plain = (nearest >= 0.7 * length[:, 0]).all(axis=0)
        panels = ((plain, _PLAIN[dense]), (~plain, _GRADED[dense]))
        x = np.concatenate([(left[kind] + length[kind] * panel.nodes).ravel() for kind, panel in panels])
        weight = np.concatenate([(length[kind] * panel.weights).ravel() for kind, panel in panels])
        with np.errstate(divide="ignore"):  # two zeros in one place
            return Rule(x, np.log(weight) + self.law.log_density(x))


def _around(grid: Array, seen: npt.NDArray[np.bool_]) -> Reach | None:
    """A place more on either side than is seen; none where the grid ends first."""
    places = np.flatnonzero(seen)
    first, last = int(places[0]) - 1, int(places[-1]) + 1
    return None if first < 0 or last >= grid.size else Reach(float(grid[first]), float(grid[last]))
