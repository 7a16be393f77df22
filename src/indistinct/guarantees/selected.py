"""The best of a random number of tries: what tuning costs.

Its profile is bounded by layers (`layers.py`). Its Rényi divergences are those of that table, or those of
Papernot and Steinke 2022 ("Hyperparameter tuning with Rényi differential privacy"), Theorem 2, and Theorem 6
for a Poisson K, which need no table.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.dominating_pairs import NEAREST, finite_pair, tabulated_pair
from indistinct.guarantees.guarantee import ExactGuarantee, Guarantee, PairGuarantee
from indistinct.guarantees.layers import LARGEST, ROUNDING, Layers
from indistinct.guarantees.product import Product
from indistinct.guarantees.profiled_pairs import TabledPair
from indistinct.guarantees.tabled_moments import log_chernoff, tabled_mean, tabled_moment
from indistinct.guarantees.tries import Tries
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.worst import worst_of

_READ = 256
_ORDERS = 64
_NEAR_ONE = 1e-6
"""Orders closer to 1 are read at the upper end of that interval."""


@dataclass(frozen=True, repr=False)
class Selected(PairGuarantee):
    """The best of a random number of tries of a run: a table of bound (*) of `layers`, both directions."""

    run: Guarantee
    tries: Tries

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        return self.run.adjacency

    def __repr__(self) -> str:
        return f"<the best of {self.tries} of {self.run!r}>"

    @cached_property
    def _both(self) -> tuple[Layers, Layers]:
        run = _finite(self.run)
        forward = Layers.of(run, self.tries)
        return forward, forward if run.symmetric else Layers.of(run.reverse(), self.tries)

    @cached_property
    def _reach(self) -> float:
        return min(max(one.reach() for one in self._both), LARGEST)

    @cached_property
    def product(self) -> Product:
        forward, backward = self._both
        table = tabulated_pair(forward.delta, backward.delta, self._reach)
        return Product.of([(TabledPair(table, self), 1)])

    def _renyi(self, order: float) -> float:
        """By the table, as far as it goes, and by what is known of all runs."""
        known = self._of_all_runs(order)
        if any(layers.log_least < -LARGEST for layers in self._both):  # which is beyond the table
            return known
        return min(known, worst_of(map(partial(self._by_table, order), self.directions, self._both)))

    def _of_all_runs(self, order: float) -> float:
        """Papernot and Steinke 2022, Theorems 2 and 6, of this order or a higher one, which is no smaller."""
        best, least = self._best
        return least if order <= best else max(least, self._at(order, self.run._renyi(order)))

    def _at(self, order: float, value: float) -> float:
        """The same of one order above 1, of which the run has this divergence. That nothing is tried adds its
        chance to the moment: for means below 1 Theorem 6 alone would be negative next to order 1."""
        log_nothing = -math.inf
        if self.tries.shape < math.inf:
            more = self._whatever_the_order
        else:
            near = math.log1p(1 / (order - 1)) * (1 - 4 * EPS)
            more = self.tries.top * float(self.run._delta(np.array([near]))[0])
            log_nothing = -self.tries.top
        total = (value + more) * (1 + ROUNDING)
        if order == math.inf:
            return total
        log_moment = (order - 1) * total + math.log(self.tries.top)
        return float(np.logaddexp(log_moment, log_nothing)) / (order - 1) * (1 + ROUNDING)

    @cached_property
    def _best(self) -> tuple[float, float]:
        """About the order at which that is least: times order - 1 it is convex."""
        found = [self._at(*one) for one in zip(*(side.tolist() for side in self._curve), strict=True)]
        k = int(np.argmin(found))
        return float(self._curve[0][k]), found[k]

    @cached_property
    def _curve(self) -> tuple[Array, Array]:
        """Divergences of the run, of orders above 1."""
        orders = self.run.orders()
        orders = orders[orders > 1]
        if orders.size > 1 and self.run.product is not None:  # known at all orders
            orders = 1 + np.geomspace(orders[0] - 1, orders[-1] - 1, _ORDERS)
        return np.append(orders, math.inf), np.append(self.run._renyi_at(orders), self.run._renyi(math.inf))

    @cached_property
    def _whatever_the_order(self) -> float:
        """(1 + shape) times the least (1 - 1/a) D_a(run) + log(1/stop)/a of any order a."""
        (orders, values), log_stop = self._curve, math.log(self.tries.stop)
        known = np.append((1 - 1 / orders) * values - log_stop / orders, -log_stop)  # at order 1
        return (1 + self.tries.shape) * float(known.min())

    def _by_table(self, order: float, direction: Product, layers: Layers) -> float:
        """What is beyond the table's end, by (*) with the one slope u(0): E[K] delta(epsilon + log u(0))."""

        def log_far(power: float) -> float:
            one = log_chernoff(power, power * self.run._renyi(1 + power))
            return math.log(layers.top) + one - power * layers.log_least

        table = direction.terms[0][0].stand_in
        assert isinstance(table, DiscretePair)
        if not table.infinite_mass or order == math.inf:
            return Product.of([(table, 1)]).renyi(order)
        if 0 <= 1 - order < _NEAR_ONE:
            return tabled_mean(table, log_far) * (1 + ROUNDING)
        order = max(order, 1 + _NEAR_ONE) if order > 1 else order
        return max(tabled_moment(table, order, log_far) / (order - 1), 0.0) * (1 + ROUNDING)

    def group(self, size: int) -> Guarantee:
        return selected(self.run.group(size), self.tries)


def selected(run: Guarantee, tries: Tries) -> Guarantee:
    """The guarantee of the best of a random number of tries of a run."""
    nothing = run.product is not None and run.product == Product.of([])
    return run if nothing or (tries.mean == 1 and tries.shape < math.inf) else Selected(run, tries)


def _finite(guarantee: Guarantee) -> DiscretePair:
    """A finite pair that dominates a guarantee of any kind."""
    if guarantee.product is not None:
        return finite_pair(ExactGuarantee(guarantee.product, guarantee.adjacency).pair())
    reach = min(max(float(guarantee._epsilon(np.array([1e-30]))[0]), NEAREST), LARGEST)
    # known by its Renyi divergences: each reading takes long, and chords are above a convex profile
    few = np.append(0.0, np.geomspace(1e-3 * reach, reach, _READ))
    delta = guarantee._delta(few)

    def profile(epsilon: Array) -> Array:
        return np.interp(np.exp(epsilon), np.exp(few), delta)

    return tabulated_pair(profile, profile, reach)
