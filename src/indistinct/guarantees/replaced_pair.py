"""A record replaced by another, where only adding and removing one is known: in two hops."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit

from indistinct.guarantees.composed_loss import Term
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.dominating_pairs import one_after_another
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.pair_kinds import SymmetricPair, of_both_signs
from indistinct.guarantees.product import Product
from indistinct.guarantees.profiled_pairs import CompositionPair, ProfiledPair
from indistinct.numerics.arrays import EPS, Array

_SHARES = [np.linspace(-0.4, 0.4, 5), *(np.array([-1, 1]) / n for n in (10, 20, 40, 80, 160, 320, 640, 1280))]
"""Of epsilon, and some room on both sides, for the first hop: around a half, and around the best so far."""
_LOGITS = [
    np.linspace(-4.0, 4.0, 9),
    *(np.linspace(-size, size, 7) for size in (0.75, 0.2, 0.05, 0.012, 0.003)),
]
"""Of the share of delta for the first hop: around nothing, and around the best so far."""
_TYPICAL = 1e-6
"""A delta at which tables of hops are compared."""
_LEAST_ORDER = 1.5
"""Of a divergence in two hops; lower ones are no larger."""


def _times(terms: Sequence[Term], count: int) -> list[Term]:
    return [(pair, n * count) for pair, n in terms]


def replaced(product: Product) -> Product:
    """The pairs of replacing a record, from those of removing one (and, turned round, of adding one)."""
    if isinstance(gaussian := product.single, GaussianPair):  # it may be moved the other way
        moved = GaussianPair(2 * gaussian.shift, gaussian.dominates, 2 * gaussian.least)
        return Product.of([(moved, 1)])
    return Product.of([(ReplacedPair(product), 1)])


@dataclass(frozen=True)
class ReplacedPair(ProfiledPair, SymmetricPair):
    """With a record, against with another in its place: the first is removed and the second added, or the
    second added and the first removed. For P against M and M against Q, and every s,

        delta(epsilon) <= delta_PM(s) + e^s delta_MQ(epsilon - s)

    (a test of power x under Q has at most delta_MQ(r) + e^r x under M; Dong, Roth and Su 2022, Lemma A.5), in
    either order of the hops; in e^s it is convex. A record may be replaced by one that adds nothing: then one
    hop is all there is, and delta is no less than that of either.

    Compositions hop as a whole: the first hop of all steps, then the second of all.
    """

    product: Product
    """Of removing a record."""
    upper: bool = True

    gathers = True

    def gathered(self, terms: Sequence[tuple[Pair, int]]) -> Pair:
        inner: list[Term] = []
        for pair, count in terms:
            if isinstance(pair, ReplacedPair):
                inner += _times(pair.product.terms, count)
            elif isinstance(pair, GaussianPair):  # half the way in each hop
                inner.append((GaussianPair(pair.shift / 2, pair.dominates, pair.least / 2), count))
        return ReplacedPair(Product.of(inner))

    @cached_property
    def _hops(self) -> tuple[CompositionPair, CompositionPair]:
        """Removing a record, and adding one."""
        return CompositionPair(self.product), CompositionPair(self.product.reverse())

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.product.exact

    def as_bound(self) -> Pair:
        return ReplacedPair(self.product.as_bound())

    @property
    def from_below(self) -> Pair:
        return replace(self, upper=False)

    @property
    def below(self) -> tuple[tuple[Term, ...], ...]:
        one_hop = [term for pair, n in self.product.terms for term in _times(pair.below[0], n)]
        # all that a record adds may be turned round: where it is Gaussian noise it is moved by twice as much
        turned = [(GaussianPair(2 * one.shift), n) for one, n in one_hop if isinstance(one, GaussianPair)]
        return (self.product.terms if self.product.exact else tuple(one_hop)), tuple(turned)

    @property
    def size(self) -> float:  # type: ignore[override]
        # that of twice the distance
        return 4 * sum(count * pair.size for pair, count in self.product.terms)

    @property
    def above(self) -> tuple[Pair, ...]:
        plain = Product.of([(pair.above[0], count) for pair, count in self.product.terms]).single
        return (GaussianPair(2 * plain.shift, dominates=True) if isinstance(plain, GaussianPair) else self,)

    @cached_property
    def stand_in(self) -> DiscretePair:
        # a test of the first hop is one of what the second leaves
        there, back = (hop.stand_in for hop in self._hops)
        both = one_after_another(back, there), one_after_another(there, back)
        middle = self.found_epsilon(np.array([_TYPICAL]))
        return min(both, key=lambda pair: float(pair.profile(middle)[0]))

    @property
    def loss_range(self) -> tuple[float, float]:
        top = sum(hop.product.finite_top for hop in self._hops)
        return -top, top

    def likely_epsilon(self, log_delta: float) -> float:
        """Half of delta for each hop is about best."""
        found = []
        for first, second in (self._hops, self._hops[::-1]):
            s = first.likely_epsilon(log_delta - math.log(2))
            found.append(s + second.likely_epsilon(log_delta - math.log(2) - s))
        return min(found)

    def found_epsilon(self, delta: Array) -> Array:
        """Both orders of the hops, at the best of a few shares of delta for the first hop."""
        found = []
        for hops in (self._hops, self._hops[::-1]):
            logit, best = np.zeros(delta.shape), np.full(delta.shape, math.inf)
            for around in _LOGITS:
                places = logit + around[:, None]
                values = _in_hops(*hops, expit(places), delta)
                pick = values.argmin(axis=0)[None]
                logit = np.take_along_axis(places, pick, 0)[0]
                best = np.minimum(best, values.min(axis=0))
            found.append(best)
        least: Array = np.minimum(*found) * (1 + 16 * EPS)
        return least

    def profile(self, epsilon: Array) -> Array:
        read = self._most if self.upper else self._least
        return of_both_signs(epsilon, read(np.abs(epsilon).ravel()).reshape(epsilon.shape))

    def _least(self, epsilon: Array) -> Array:
        removed, added = (hop.from_below.profile(epsilon) for hop in self._hops)
        return np.maximum(removed, added)

    def _most(self, epsilon: Array) -> Array:
        """Both orders of the hops, at the best of a few s, closer and closer to the best of those before."""
        both = np.concatenate((epsilon, epsilon))
        swapped = np.arange(both.size) >= epsilon.size
        # next to 0 it is best to go a little too far, and back
        spare = float(self.product.epsilon(self.product.delta(np.zeros(1)) / 4)[0])

        def log_value(share: Array) -> Array:
            s = share * (both + 2 * spare) - spare
            removed = self._hops[0].profile(np.where(swapped, both - s, s))
            added = self._hops[1].profile(np.where(swapped, s, both - s))
            first, last = np.where(swapped, added, removed), np.where(swapped, removed, added)
            with np.errstate(over="ignore", divide="ignore"):
                result: Array = np.logaddexp(np.log(first), s + np.log(last))
            return result

        best, value = np.full(both.shape, 0.5), np.full(both.shape, math.inf)
        for around in _SHARES:
            shares = best + around[:, None]
            values = log_value(shares)
            pick = values.argmin(axis=0)[None]
            found = np.take_along_axis(values, pick, 0)[0]
            best = np.where(found < value, np.take_along_axis(shares, pick, 0)[0], best)
            value = np.minimum(found, value)
        least: Array = np.exp(np.minimum(value, 0.0)).reshape(2, -1).min(axis=0) * (1 + 16 * EPS)
        return np.minimum(least, 1.0)

    def log_moment(self, order: float) -> float:
        order = order if order >= 0.5 else 1 - order  # it is symmetric
        return (order - 1) * self._divergence(order)

    @property
    def finite_mean(self) -> float:
        return self._divergence(1.0)

    def _divergence(self, order: float) -> float:
        """The Rényi divergence, at most: by Hölder's inequality (Mironov 2017, Proposition 11)."""
        a = max(order, _LEAST_ORDER)
        removed, added = (hop.product for hop in self._hops)
        found = min(
            (a - 0.5) / (a - 1) * first.renyi(2 * a) + second.renyi(2 * a - 1)
            for first, second in ((removed, added), (added, removed))
        )
        (plain,) = self.above
        return min(found, order * plain.shift**2 / 2) if isinstance(plain, GaussianPair) else found


def _in_hops(first: CompositionPair, second: CompositionPair, share: Array, delta: Array) -> Array:
    """Epsilon where a share of delta is that of the first hop, to s, and the rest, times e^-s, that of the
    second."""
    s = first.product.epsilon((share * delta).ravel())
    rest = ((1 - share) * delta).ravel() * np.exp(-s) * (1 - 16 * EPS * (1 + s))
    return (s + second.product.epsilon(np.maximum(rest, 0.0))).reshape(share.shape)
