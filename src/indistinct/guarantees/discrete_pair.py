"""Pairs with finitely many losses: randomized response, (epsilon, delta) claims, anything tabulated."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from indistinct.guarantees.pair import Pair, Tails, Wave
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.atoms import Atoms, FiniteLosses
from indistinct.numerics.rule import LossRule

_SHOWN = 4
"""Outcomes that are printed; of more, only how many there are."""
_LEAST = 5e-324
"""No number above 0 is smaller."""
_NEAR = 0.5
"""Below this a loss is read off the difference of two probabilities."""
_MOST_OUTCOMES = 4096
"""Of compositions that are multiplied out."""
_MANY = 64
"""With more atoms than this none is asked to fall on the lattice."""


@dataclass(frozen=True, repr=False)
class DiscretePair(Pair):
    """P and Q on finitely many outcomes; outcomes of probability zero on one side are allowed."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    exact: bool = True
    beside: Pair | None = None
    """Another pair that dominates what this one only dominates, and is read in closed form."""
    alone: bool = False
    """Whether it is `tight`, though not `exact`."""
    losses: tuple[float, ...] | None = None
    """Of each outcome, where they are known better than two rounded probabilities tell them..."""
    off: float = 0.0
    """... and by how much these may be off, beside their rounding."""

    def as_bound(self) -> "DiscretePair":
        return replace(self, exact=False, alone=False)

    @property
    def tight(self) -> bool:
        return self.exact or self.alone

    @property
    def above(self) -> tuple[Pair, ...]:
        return (self if self.beside is None else self.beside,)

    def __repr__(self) -> str:
        if len(self.p) > _SHOWN:
            return f"<pair of {len(self.p)} outcomes>"
        return f"DiscretePair({self.p!r}, {self.q!r})"

    @classmethod
    def of(
        cls, p: Array, q: Array, losses: Array | None = None, *, off: float = 0.0, exact: bool = True
    ) -> "DiscretePair":
        """Sorted by loss, equal losses merged, impossible outcomes dropped: one form for one law."""
        keep = (p > 0) | (q > 0)
        p, q = p[keep], q[keep]
        loss = _losses(p, q) if losses is None else losses[keep]
        order = np.argsort(loss, kind="stable")
        p, q, loss = p[order], q[order], loss[order]
        # equal up to rounding is equal; an infinite loss equals only an infinite loss
        with np.errstate(invalid="ignore"):
            same = (
                (np.diff(loss) <= 4e-16 * np.abs(loss[1:])) & np.isfinite(loss[1:]) & np.isfinite(loss[:-1])
            )
        same |= loss[1:] == loss[:-1]
        starts = np.flatnonzero(np.concatenate(([True], ~same)))
        p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
        known = None if losses is None else tuple(loss[np.append(starts[1:], loss.size) - 1].tolist())
        return cls(tuple(p.tolist()), tuple(q.tolist()), exact, losses=known, off=off)

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """P, Q and the losses."""
        p, q = np.array(self.p), np.array(self.q)
        return p, q, _losses(p, q) if self.losses is None else np.array(self.losses)

    @cached_property
    def _finite(self) -> tuple[Array, Array, Array]:
        p, q, loss = self.arrays
        finite = np.isfinite(loss)
        return p[finite], q[finite], loss[finite]

    @cached_property
    def moved(self) -> float:
        """By how much a loss may be off: by its rounding, or that of logarithms whose difference it is."""
        p, _, loss = self._finite
        apart = np.abs(loss) > _NEAR if self.losses is None else np.zeros(loss.shape, dtype=bool)
        size = np.abs(loss) + np.where(apart, np.abs(np.log(np.maximum(p, TINY))), 0.0)
        return self.off + 8 * EPS * float(size.max(initial=0.0))

    def listed(self, log_cut: float | None) -> FiniteLosses | None:
        return FiniteLosses(*self._finite, self.moved) if self._finite[2].size else None

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        losses = self._finite[2]
        return tuple(losses.tolist()) if losses.size <= _MANY else ()

    @property
    def tells_nothing(self) -> bool:  # type: ignore[override]
        return not self.arrays[2].any()

    @cached_property
    def unit(self) -> float:  # type: ignore[override]
        """The lattice on which all losses lie, or 0 if there is none."""
        losses = self._finite[2]
        gaps = np.append(np.diff(losses), np.abs(losses))
        unit = float(gaps[gaps > 1e-12 * np.abs(losses).max(initial=0.0)].min(initial=math.inf))
        places = losses / unit
        return unit if np.abs(places - np.rint(places)).max(initial=0.0) < 1e-7 else 0.0

    @cached_property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        p, q, loss = self.arrays
        of_p, of_q = math.fsum(p[loss == math.inf]), math.fsum(q[loss == -math.inf])
        return min(of_p, 1.0), min(of_q, 1.0)  # which were rounded up

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        p, q, loss = self._finite
        inside = (low < loss) & (loss <= high)
        p, q, loss = p[inside], q[inside], loss[inside]
        # from the larger of both, which is a number wherever one is
        positive = loss > 0
        return LossRule(loss, np.log(np.where(positive, p, q)) - np.where(positive, loss, 0.0))

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        _, _, loss = self._finite
        low, high = float(loss.min(initial=0.0)), float(loss.max(initial=0.0))
        return math.nextafter(low, -math.inf), high + 2 * EPS * abs(high) + self.moved

    def span(self, log_cut: float) -> tuple[float, float]:
        p, _, loss = self._finite
        low, high = self.outer_losses(1.0, log_cut)
        seen = loss[np.minimum(np.cumsum(p), np.cumsum(p[::-1])[::-1]) > math.exp(log_cut)]
        return (max(low, float(seen[0])), min(high, float(seen[-1]))) if seen.size else (low, high)

    def tails(self, loss: Array) -> Tails:
        index = np.searchsorted(self.arrays[2], loss, side="right")
        return Tails(*(tail[index] for tail in self._tails))

    @cached_property
    def _tails(self) -> Tails:
        """Above and below each gap between losses."""
        p, q, _ = self.arrays
        with np.errstate(divide="ignore"):
            above = [np.log(np.append(np.cumsum(mass[::-1])[::-1], 0.0)) for mass in (p, q)]
            below = [np.log(np.append(0.0, np.cumsum(mass))) for mass in (p, q)]
        return Tails(*above, *below)

    def reversed_profile(self, epsilon: Array) -> Array:
        return self.reverse().profile(epsilon)  # from its own small numbers

    def profile(self, epsilon: Array) -> Array:
        flat = np.minimum(np.ravel(epsilon), 700.0)
        finite = self._told.told_at_most(flat) if self._finite[2].size else np.zeros(flat.shape)
        return np.minimum(finite + self.infinite_mass, 1.0).reshape(np.shape(epsilon))

    @cached_property
    def _told(self) -> Atoms:
        p, _, loss = self._finite
        return Atoms(loss, p)

    @property
    def loss_range(self) -> tuple[float, float]:
        p, _, loss = self.arrays
        seen = loss[p > 0]
        return float(seen[0]), float(seen[-1] + 2 * EPS * abs(seen[-1])) + self.moved  # rounded up

    def reverse(self) -> "DiscretePair":
        beside = None if self.beside is None else self.beside.reverse()
        losses = None if self.losses is None else tuple(-loss for loss in self.losses[::-1])
        return DiscretePair(self.q[::-1], self.p[::-1], self.exact, beside, self.alone, losses, self.off)

    def log_moment(self, order: float) -> float:
        if not self._finite[2].size:
            return -math.inf
        return float(self._no_more_than_all(np.array([order]), np.array([super().log_moment(order)]))[0])

    def log_moments(self, orders: Array) -> Array:
        return self._no_more_than_all(orders, super().log_moments(orders))

    def _no_more_than_all(self, orders: Array, moments: Array) -> Array:
        """Between orders 0 and 1 a moment is bounded from below: what it lacks of 1 is an integral of deltas,
        so that masses which were rounded up, to more than 1, do not count. Next to 1 it is read so."""
        rows = (orders > 0) & (orders < 1) & (moments < -_NEAR)
        if not rows.any():
            return moments
        p, q = self._totals
        over = np.maximum(orders * p + (1 - orders) * q - 1, 0.0)
        # where little is left, divergences of order 1 are larger
        mean = -math.inf if self.infinite_mass else -self.finite_mean
        with np.errstate(divide="ignore", invalid="ignore"):
            less = np.log(np.maximum(np.exp(np.minimum(moments, 0.0)) - over, 0.0))
            less = np.maximum(less, (1 - orders) * mean)
        return np.where(rows, np.minimum(less, moments), moments)

    @cached_property
    def _totals(self) -> tuple[float, float]:
        return math.fsum(self.p), math.fsum(self.q)


def at_least(mass: Array, possible: npt.NDArray[np.bool_]) -> Array:
    """Masses, above 0 where they are possible, whatever rounding has made of them."""
    return np.where(possible, np.maximum(mass, _LEAST), mass)


def _losses(p: Array, q: Array) -> Array:
    """log p - log q: of numbers that are close to each other by their difference, which keeps its digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(np.abs(p - q) < _NEAR * q, np.log1p((p - q) / q), np.log(p) - np.log(q))


def _both(one: Sequence[float], other: Sequence[float]) -> Array:
    """Masses of pairs of outcomes: what is possible stays so, however little it is."""
    mass, other_mass = np.array(one), np.array(other)
    return at_least(np.multiply.outer(mass, other_mass), np.logical_and.outer(mass > 0, other_mass > 0))


def finite_part(pair: Pair) -> Pair:
    """The pair given that the outcome has a finite loss both ways."""
    if not isinstance(pair, DiscretePair):
        return pair  # no other pair has infinite losses
    p, q, loss = pair.arrays
    both = np.isfinite(loss)
    if both.all():
        return pair
    total_p, total_q = math.fsum(p[both]), math.fsum(q[both])
    return DiscretePair.of(
        p[both] / total_p,
        q[both] / total_q,
        loss[both] + math.log(total_q / total_p),
        off=pair.moved + (4 * EPS if total_p != total_q else 0.0),
        exact=pair.exact,
    )


def one_pair(terms: Sequence[tuple[Pair, int]]) -> Pair | None:
    """The composition as one finite pair, if it has few outcomes: then it is no less exact than its parts."""
    outcomes = 1
    for pair, count in terms:
        if not isinstance(pair, DiscretePair) or pair.beside is not None or count > _MOST_OUTCOMES:
            return None
        outcomes *= len(pair.p) ** count
        if outcomes > _MOST_OUTCOMES:
            return None
    [(pair, _)] = merged((pair, 1) for pair, count in terms for _ in range(count))
    return pair


def merged(terms: Iterable[tuple[Pair, int]], most: int = _MOST_OUTCOMES) -> list[tuple[Pair, int]]:
    """The same composition with fewer terms: finite pairs that occur once are multiplied out, exactly, while
    they have few outcomes. A lattice then rounds a product once and not each of its factors."""
    result: list[tuple[Pair, int]] = []
    held: DiscretePair | None = None
    for pair, count in terms:
        if count > 1 or not isinstance(pair, DiscretePair):
            result.append((pair, count))
        elif held is not None and len(held.p) * len(pair.p) <= most:
            p, q = (_both(*masses).ravel() for masses in zip((held.p, held.q), (pair.p, pair.q), strict=True))
            with np.errstate(invalid="ignore"):  # infinite both ways: it cannot be
                loss = np.add.outer(held.arrays[2], pair.arrays[2]).ravel()
            # what is given away is rounded up
            p, q = np.where(loss == math.inf, p * (1 + EPS), p), np.where(loss == -math.inf, q * (1 + EPS), q)
            known = held.exact and pair.exact
            held = DiscretePair.of(p, q, loss, off=held.moved + pair.moved, exact=known)
        else:
            result += [] if held is None else [(held, 1)]
            held = pair
    return result if held is None else [*result, (held, 1)]
