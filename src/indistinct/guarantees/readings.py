"""Readings: the languages in which every guarantee can be told.

A subclass supplies `hooks` on plain numbers and flat arrays; this class checks arguments, keeps shapes, and
derives the trade-off curve from the profile alone. What follows for people is in `meaning`.
"""

import math
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_array, check_probability
from indistinct.guarantees.gaussian_report import GaussianReport, fit_gaussian
from indistinct.guarantees.meaning import Interval, Meaning, likely_peak
from indistinct.guarantees.tails import ROUGH, Need
from indistinct.numerics.arrays import EPS, TINY, Array, shaped
from indistinct.numerics.search import Objective, climbed

__all__ = ["Interval", "Readings", "check_same_adjacency"]

_LARGEST_EPSILON = 700.0
_LEAST_FELT = 1e-8
"""A rate's last digits are felt beside so little of it."""

ArrayLike = npt.ArrayLike


class Readings(Meaning):
    """What is known about telling neighbouring data sets apart, in any of its languages."""

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
        return shaped(np.array([self._renyi(float(a)) for a in orders.ravel()]), orders)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> Any: ...
    def delta(self, epsilon: Any) -> Any:
        """The delta that goes with epsilon, at most: the guarantee is (epsilon, delta)-DP."""
        values = check_array("epsilon", epsilon, 0.0, math.inf, "a non-negative number")
        return shaped(self._delta(values.ravel()), values)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> Any: ...
    def epsilon(self, delta: Any) -> Any:
        """The epsilon that goes with delta, at most: the guarantee is (epsilon, delta)-DP."""
        values = check_array("delta", delta, 0.0, 1.0, "a number in [0, 1]")
        return shaped(self._epsilon(values.ravel()), values)

    def epsilon_interval(self, delta: Any) -> Interval:
        """Where the smallest true epsilon lies; its upper end is `epsilon(delta)`. Both ends are bounds: on
        what is known, the mechanism, or on the best that follows from what is stated."""
        values = check_array("delta", delta, 0.0, 1.0, "a number in [0, 1]")
        low, high = self._epsilon_interval(values.ravel())
        return Interval(shaped(low, values), shaped(high, values))

    def delta_interval(self, epsilon: Any) -> Interval:
        """Where the smallest true delta lies; its upper end is `delta(epsilon)`."""
        values = check_array("epsilon", epsilon, 0.0, math.inf, "a non-negative number")
        low, high = self._delta_interval(values.ravel())
        return Interval(shaped(low, values), shaped(high, values))

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
        return shaped(self._tradeoff(values.ravel()), values)

    def pure(self) -> float:
        """The epsilon of pure DP (delta = 0); infinity where there is none."""
        return self._renyi(math.inf)

    def to_gaussian(self, slack: float = 1e-10) -> GaussianReport:
        """The tightest mu-Gaussian DP statement, its regret, and the probability it leaves out."""
        return fit_gaussian(self._delta, self._epsilon, self._tradeoff, check_probability("slack", slack))

    def summary(self, delta: float = 1e-5, fpr: float = 0.05) -> dict[str, float]:
        """A few readings by name, for tables and reports."""
        delta, fpr = check_probability("delta", delta), check_probability("fpr", fpr)
        return {
            f"epsilon at delta={delta:g}": self.epsilon(delta),
            "Rényi divergence of order 2": self.renyi(2.0),
            f"false negative rate at false positive rate {fpr:g}": self.tradeoff(fpr),
            "membership advantage": self.advantage(),
        }

    def to_html(self, title: str = "") -> str:
        """The summary as a small HTML table, as notebooks show it."""
        if not isinstance(title, str):
            raise ArgumentError("title", title, "text")
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
        early only loses sharpness. Both lines have one peak, as δ is convex in e^ε.
        """
        never, advantage = self._delta_about(np.array([math.inf, 0.0]), Need(accuracy=ROUGH)).tolist()
        fnr = 1 - fpr - np.where(fpr > 0, advantage, never)
        inside = np.flatnonzero((fpr > 0) & (fpr < 1) & (advantage > 0))
        x = fpr[inside]
        known = self._known(x, fnr[inside])
        start = _log_odds(known, 1 - x - known)
        # further out a line is below that, whatever delta is there
        steep = np.log(np.minimum(x + advantage, 1.0)) - np.log(x)
        far = np.log1p(-x) - np.log(np.maximum(known, TINY))
        lines = (
            (_steep, steep, likely_peak(x, advantage)),
            (_flat, far, likely_peak(1 - x, advantage, -1.0)),
        )
        best = start
        for line, high, guess in lines:
            high = np.minimum(high, min(self._renyi(math.inf), _LARGEST_EPSILON))
            best = climbed(partial(self._on_line, line, x, known), best, guess, high)
        if (flat := best < start + 2 * ROUGH).any():  # the best is next to 0
            told = self._delta_about(np.zeros(1), Need(near=np.array([advantage])))
            best = np.where(flat, np.maximum(best, _log_odds(1 - x - told, told + 0 * x)), best)
        rate = np.nextafter((1 - x) * expit(best - 8 * EPS * (1 + np.abs(best))), 0.0)  # rounded down
        fnr[inside] = np.maximum(known, rate)
        bounded: Array = np.clip(fnr, 0.0, 1 - fpr)
        return bounded

    def _known(self, fpr: Array, start: Array) -> Array:
        """What is missed, at least: at the start, or on the flat line where half of it is left."""
        known = np.maximum(start, 0.0)
        if (lost := np.flatnonzero(start < 0.01 * (1 - fpr))).size:
            half = (1 - fpr[lost]) / 2
            there = half * np.exp(-self._epsilon_about(half, Need(accuracy=ROUGH)))
            known[lost] = np.maximum(known[lost], there * (1 - 8 * EPS))
        return known

    def _on_line(
        self,
        line: Callable[[Array, Array, Array], tuple[Array, Array]],
        fpr: Array,
        known: Array,
        near: Array | None,
    ) -> Objective:
        # all of it counts where hardly anything is missed, and of what is told
        told = np.minimum(known, 1 - fpr - known)
        felt = np.minimum(fpr, told) if near is None else np.maximum(np.minimum(fpr, 1 - fpr), _LEAST_FELT)
        read = self._deltas(felt, near)
        return lambda epsilon, rows: _log_odds(*line(epsilon, read(epsilon, felt[rows], rows), fpr[rows]))


def _steep(epsilon: Array, delta: Array, fpr: Array) -> tuple[Array, Array]:
    """How much is missed, and by how much less than by who looks at nothing."""
    told: Array = delta + np.expm1(epsilon) * fpr
    return (1 - fpr) - told * (1 + 4 * EPS), told


def _flat(epsilon: Array, delta: Array, fpr: Array) -> tuple[Array, Array]:
    told: Array = np.exp(-epsilon) * delta - np.expm1(-epsilon) * (1 - fpr)
    least = (1 - fpr) - delta * (1 + 4 * EPS)  # in this order: next to 1 the first is exact
    missed: Array = np.exp(-epsilon) * least
    return missed, told


def _log_odds(missed: Array, told: Array) -> Array:
    """As large as what is missed, and as closely known next to nothing as next to all of it; negative rates
    come last."""
    odds = np.log(np.maximum(missed, TINY)) - np.log(np.maximum(told, TINY))
    return np.where(missed > 0, odds, 2 * math.log(TINY) + missed)


def check_same_adjacency(first: Readings, second: Readings) -> Adjacency:
    """Guarantees about different neighbours do not compose."""
    if first.adjacency is not second.adjacency:
        raise ArgumentError(
            "adjacency", second.adjacency.value, f"that of the other guarantee ({first.adjacency.value})"
        )
    return first.adjacency
