"""Readings: the languages in which every guarantee can be told.

A subclass supplies hooks on plain numbers and flat arrays; this class checks arguments, keeps shapes, and
derives the trade-off curve and what follows from it from the profile alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_array, check_probability
from indistinct.guarantees.gaussian_report import GaussianReport, fit_gaussian
from indistinct.numerics.arrays import TINY, Array

_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_EPSILON = 700.0

ArrayLike = npt.ArrayLike


@dataclass(frozen=True)
class Interval:
    """Where a probability must lie."""

    low: float | Array
    high: float | Array


class Readings(ABC):
    """What is known about telling neighbouring data sets apart, in any of its languages."""

    adjacency: Adjacency

    # -- hooks ---------------------------------------------------------------------------------

    @abstractmethod
    def _renyi(self, order: float) -> float:
        """The Rényi divergence bound at one order >= 1/2, infinity included."""

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array:
        """Upper bounds on delta at epsilon >= 0 (flat array)."""

    @abstractmethod
    def _epsilon(self, delta: Array) -> Array:
        """Upper bounds on epsilon at delta in [0, 1] (flat array)."""

    # -- readings ------------------------------------------------------------------------------

    @overload
    def renyi(self, order: float) -> float: ...
    @overload
    def renyi(self, order: ArrayLike) -> Any: ...
    def renyi(self, order: Any) -> Any:
        """The Rényi divergence of an order, at most (Mironov 2017, Definition 4).

        Orders from 1/2; 1 is the Kullback-Leibler divergence, infinity the largest loss.
        """
        orders = check_array("order", order, 0.5, math.inf, "at least 1/2")
        return _shaped(np.array([self._renyi(float(a)) for a in orders.ravel()]), orders)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> Any: ...
    def delta(self, epsilon: Any) -> Any:
        """The delta that goes with epsilon, at most: the guarantee is (epsilon, delta)-DP."""
        values = check_array("epsilon", epsilon, 0.0, math.inf, "a non-negative number")
        return _shaped(self._delta(values.ravel()), values)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> Any: ...
    def epsilon(self, delta: Any) -> Any:
        """The epsilon that goes with delta, at most: the guarantee is (epsilon, delta)-DP."""
        values = check_array("delta", delta, 0.0, 1.0, "a number in [0, 1]")
        return _shaped(self._epsilon(values.ravel()), values)

    def epsilon_interval(self, delta: float) -> Interval:
        """Where the smallest true epsilon lies: at most `epsilon(delta)`, and how much less it may be by
        the stated error of the engine that computed it (zero where only a bound is known)."""
        high = self.epsilon(check_probability("delta", delta))
        return Interval(max(high - self._epsilon_error(float(delta)), 0.0) if high < math.inf else high, high)

    def _epsilon_error(self, delta: float) -> float:
        return math.inf

    @overload
    def tradeoff(self, fpr: float) -> float: ...
    @overload
    def tradeoff(self, fpr: ArrayLike) -> Any: ...
    def tradeoff(self, fpr: Any) -> Any:
        """The false negative rate of any test with this false positive rate, at least.

        The test decides, from the output, whether a record was there (Wasserman and Zhou 2010; Dong,
        Roth and Su 2022). 1 - fpr means that nothing can be told.
        """
        values = check_array("fpr", fpr, 0.0, 1.0, "a number in [0, 1]")
        return _shaped(self._tradeoff(values.ravel()), values)

    def event(self, probability: Any) -> Interval:
        """If an outcome has this probability on one data set, where it lies on a neighbour.

        [f(1-p), 1-f(p)] with f the trade-off function; tighter than Mironov 2017, Proposition 10.
        """
        p = check_array("probability", probability, 0.0, 1.0, "a number in [0, 1]")
        flat = p.ravel()
        low = np.minimum(self._tradeoff(1 - flat), flat)
        high = np.maximum(1 - self._tradeoff(flat), flat)
        return Interval(_shaped(low, p), _shaped(high, p))

    def advantage(self) -> float:
        """The most by which a membership test's true positive rate exceeds its false positive rate."""
        return float(self._delta(np.zeros(1))[0])

    def pure(self) -> float:
        """The epsilon of pure DP (delta = 0); infinity where there is none."""
        return self._renyi(math.inf)

    def to_gaussian(self, slack: float = 1e-10) -> GaussianReport:
        """The tightest mu-Gaussian DP statement, its regret, and the probability it leaves out."""
        return fit_gaussian(self._delta, self._epsilon, self._tradeoff, check_probability("slack", slack))

    def summary(self, delta: float = 1e-5, fpr: float = 0.05) -> dict[str, float]:
        """A few readings by name, for tables and reports."""
        return {
            f"epsilon at delta={delta:g}": self.epsilon(delta),
            "Rényi divergence of order 2": self.renyi(2.0),
            f"false negative rate at false positive rate {fpr:g}": self.tradeoff(fpr),
            "membership advantage": self.advantage(),
        }

    def to_html(self, title: str = "") -> str:
        """The summary as a small HTML table, as notebooks show it."""
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{value:.6g}</td></tr>"
            for name, value in self.summary().items()
        )
        head = f"{escape(title or type(self).__name__)} ({self.adjacency.value})"
        return f"<table><thead><tr><th colspan=2>{head}</th></tr></thead><tbody>{rows}</tbody></table>"

    def _repr_html_(self) -> str:
        return self.to_html()

    # -- the trade-off curve from the profile ---------------------------------------------------

    def _tradeoff(self, fpr: Array) -> Array:
        """f(x) = sup over epsilon >= 0 of max{0, 1-δ(ε)-e^ε x, e^-ε (1-δ(ε)-x)}.

        Dong, Roth and Su 2022, Proposition 2.12. Every epsilon gives a valid bound, so a search that stops
        early only loses sharpness: a table finds the place, parabolas through exact values refine it.
        """
        grid = self._useful_epsilon(fpr) * np.linspace(0.0, 1.0, 65) ** 2
        delta = self._delta(grid)
        best = np.zeros_like(fpr)
        for line in (_steep, _flat):
            on_grid = line(grid, delta, fpr[:, None])
            peak = np.clip(on_grid.argmax(axis=1), 1, grid.size - 2)
            best = np.maximum(best, on_grid.max(axis=1))
            points = np.stack([grid[peak - 1], grid[peak], grid[peak + 1]])
            values = np.stack([on_grid[np.arange(fpr.size), peak + k] for k in (-1, 0, 1)])
            found = values.max(axis=0)
            for _ in range(4):
                before, (probe, foretold) = found, _parabola_top(points, values)
                at_probe = line(probe, self._delta(probe), fpr)
                found = np.maximum(found, at_probe)
                points, values = _closest_three(points, values, probe, at_probe)
            # at a kink (losses with atoms) parabolas do not settle, halving does
            open_ = np.flatnonzero((found - before > 1e-11) | (np.abs(foretold - at_probe) > 1e-9))
            if open_.size:
                found[open_] = self._halve(line, fpr[open_], points[0, open_], points[2, open_])
            best = np.maximum(best, found)
        return np.clip(best, 0.0, 1 - fpr)

    def _useful_epsilon(self, fpr: Array) -> float:
        """An epsilon beyond which neither line rises above what epsilon = 0 already gives."""
        advantage = self.advantage()
        start = 1 - advantage - fpr
        useful = math.inf
        if (start > 0).all() and (fpr > 0).all():
            useful = max(float(np.log1p(advantage / fpr).max()), float(-np.log(start).min()))
        if useful > 8.0:
            small = max(float(fpr[fpr > 0].min(initial=1.0)), 1e-300)
            useful = min(useful, float(self._epsilon(np.array([min(1e-15, small * 1e-6)]))[0]))
        return min(useful, _LARGEST_EPSILON)

    def _halve(
        self, line: Callable[[Array, Array, Array], Array], fpr: Array, low: Array, high: Array
    ) -> Array:
        """Golden section for the largest value of a unimodal bound, all points at once."""
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = (line(e, self._delta(e), fpr) for e in (left, right))
        best = np.maximum(at_left, at_right)
        for _ in range(50):
            up = at_left < at_right
            low, high = np.where(up, left, low), np.where(up, high, right)
            probe = np.where(up, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
            at_probe = line(probe, self._delta(probe), fpr)
            left, right = np.where(up, right, probe), np.where(up, probe, left)
            at_left, at_right = np.where(up, at_right, at_probe), np.where(up, at_probe, at_left)
            best = np.maximum(best, at_probe)
        return best


def _steep(epsilon: Array, delta: Array, fpr: Array) -> Array:
    bound: Array = 1 - delta - np.exp(epsilon) * fpr
    return bound


def _flat(epsilon: Array, delta: Array, fpr: Array) -> Array:
    bound: Array = np.exp(-epsilon) * (1 - delta - fpr)
    return bound


def _parabola_top(x: Array, y: Array) -> tuple[Array, Array]:
    """Where the parabola through three points is highest, kept between them, and its height there."""
    left, right = (y[1] - y[0]) / (x[1] - x[0] + TINY), (y[2] - y[1]) / (x[2] - x[1] + TINY)
    bend = (right - left) / (x[2] - x[0] + TINY)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = (x[0] + x[1]) / 2 - left / (2 * bend)
    top = np.clip(np.where(np.isfinite(top) & (bend < 0), top, x[1]), x[0], x[2])
    # too close to a known point teaches nothing: step to the middle of the wider side instead
    wider = np.where(x[2] - x[1] > x[1] - x[0], (x[1] + x[2]) / 2, (x[0] + x[1]) / 2)
    top = np.where(np.abs(top - x[1]) <= 1e-9 * (x[2] - x[0]), wider, top)
    return top, y[0] + (top - x[0]) * (left + bend * (top - x[1]))


def _closest_three(x: Array, y: Array, probe: Array, at_probe: Array) -> tuple[Array, Array]:
    """Of four points, the highest and its two neighbours."""
    x, y = np.concatenate((x, probe[None])), np.concatenate((y, at_probe[None]))
    order = np.argsort(x, axis=0, kind="stable")
    x, y = np.take_along_axis(x, order, 0), np.take_along_axis(y, order, 0)
    first = np.clip(y.argmax(axis=0) - 1, 0, 1)
    rows = first + np.arange(3)[:, None]
    return np.take_along_axis(x, rows, 0), np.take_along_axis(y, rows, 0)


def _shaped(flat: Array, like: Array) -> Any:
    """A float for a scalar argument, else an array of its shape. NaN never leaves."""
    if np.isnan(flat).any():
        raise ArithmeticError("a reading could not be computed; please report this as a bug")
    return float(flat[0]) if like.ndim == 0 else flat.reshape(like.shape)


def check_same_adjacency(first: Readings, second: Readings) -> Adjacency:
    """Guarantees about different neighbours do not compose."""
    if first.adjacency is not second.adjacency:
        raise ArgumentError(
            "adjacency", second.adjacency.value, f"that of the other guarantee ({first.adjacency.value})"
        )
    return first.adjacency
