"""Readings: the languages in which every guarantee can be told.

A subclass supplies `hooks` on plain numbers and flat arrays; this class checks arguments, keeps shapes, and
derives the trade-off curve from the profile alone. What follows for people is in `meaning`.
"""

import math
from html import escape
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, check_array, check_probability
from indistinct.guarantees.gaussian_report import GaussianReport, fit_gaussian
from indistinct.guarantees.meaning import Interval, Meaning
from indistinct.numerics.arrays import Array, shaped

__all__ = ["Interval", "Readings", "check_same_adjacency"]

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
        """f(x): of what a test misses the least that the profile allows."""
        told = self._delta(np.array([math.inf]))
        fnr = np.where(fpr > 0, 1 - fpr, np.where(told > 0, np.nextafter(1 - told, 0.0), 1.0))
        inside = np.flatnonzero((fpr > 0) & (fpr < 1))
        x = fpr[inside]
        fnr[inside] = np.nextafter(self._best_test(x, 1 - x)[1], 0.0)
        bounded: Array = np.clip(fnr, 0.0, 1 - fpr)
        return bounded


def check_same_adjacency(first: Readings, second: Readings) -> Adjacency:
    """Guarantees about different neighbours do not compose."""
    if first.adjacency is not second.adjacency:
        raise ArgumentError(
            "adjacency", second.adjacency.value, f"that of the other guarantee ({first.adjacency.value})"
        )
    return first.adjacency
