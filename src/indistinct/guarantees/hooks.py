"""What a guarantee must be able to say, on plain numbers and flat arrays: all other readings follow from it.

Whoever writes a new kind of guarantee looks here. Three answers are needed, each a bound on the safe side:
Rényi divergences, delta and epsilon. The others have a default, which a kind that knows more replaces.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.guarantees.tails import Need
from indistinct.numerics.arrays import Array


class Hooks(ABC):
    """The questions that readings ask; arguments are checked already."""

    adjacency: Adjacency

    @abstractmethod
    def _renyi(self, order: float) -> float:
        """The Rényi divergence bound at one order >= 1/2, infinity included."""

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array:
        """Upper bounds on delta at epsilon >= 0 (flat array)."""

    @abstractmethod
    def _epsilon(self, delta: Array) -> Array:
        """Upper bounds on epsilon at delta in [0, 1] (flat array)."""

    @abstractmethod
    def _tradeoff(self, fpr: Array) -> Array:
        """Lower bounds on the false negative rate at each false positive rate (flat array); `Readings` has
        what follows from delta."""

    def _renyi_at(self, orders: Array) -> Array:
        """The divergences at finite orders, an array of any shape."""
        return np.array([self._renyi(order) for order in orders.ravel().tolist()]).reshape(orders.shape)

    def orders(self) -> Array:
        """Finite orders, increasing, at which the Rényi curve is worth reading: around the scale where the
        divergence is of order one."""
        scale = 1 / math.sqrt(min(max(self._renyi(2.0), 1e-24), 1e24))
        return 1 + np.geomspace(1e-4, 1e3, 24) * max(scale, 1e-6)

    def _delta_about(self, epsilon: Array, need: Need) -> Array:
        """Upper bounds on delta that are as close as is needed."""
        return self._delta(epsilon)

    def _epsilon_about(self, delta: Array, need: Need) -> Array:
        """The same of epsilon."""
        return self._epsilon(delta)

    def _delta_interval(self, epsilon: Array) -> tuple[Array, Array]:
        """Both bounds on delta."""
        return np.zeros_like(epsilon), self._delta(epsilon)

    def _epsilon_interval(self, delta: Array) -> tuple[Array, Array]:
        """Both bounds on epsilon."""
        return np.zeros_like(delta), self._epsilon(delta)
