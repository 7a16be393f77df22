"""Losses that can be listed, and at most one that cannot but has a profile in closed form.

    delta(epsilon) = sum over the listed sums l of P(l) delta_1(epsilon - l),

delta_1 being the profile of the one other pair, or (1 - e^epsilon)_+ if there is none. All terms are
positive, so small deltas keep their relative accuracy, at every epsilon.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.guarantees.composed_loss import Term, infinite_mass
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.pair import READ_BEFORE, Pair
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.atoms import Atoms, compose_atoms
from indistinct.numerics.contour import LogBounds

PROFILE_ERROR = 1e-11
"""Relative, of a profile in closed form; they are rounded up."""
_FEW = 1 << 11
"""Listed sums beside another pair, whose profile is read at each."""
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class EnumeratedTail:
    """All there is to know of such a law."""

    atoms: Atoms
    pair: Pair | None
    relative_error: float  # of the masses
    infinite: float
    charged: float

    @property
    def final(self) -> bool:
        return self.charged == 0

    def read(self, epsilon: Array) -> LogBounds:
        if self.pair is None:
            return self._read_listed(epsilon)
        rows = max(1, _CHUNK // self.atoms.loss.size)
        parts = [self._read(self.pair, epsilon[k : k + rows]) for k in range(0, max(epsilon.size, 1), rows)]
        return LogBounds(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def coarse(self, enough: float) -> "EnumeratedTail":
        """The same, where deltas below `enough` need not be close."""
        return self if self.pair is None else replace(self, pair=self.pair.coarse(enough))

    def _read(self, pair: Pair, epsilon: Array) -> LogBounds:
        rest = epsilon[:, None] - self.atoms.loss
        delta, falls = pair.profile_and_fall(rest)
        least = pair.from_below if pair.exact else pair
        known = delta if least == pair else least.profile(rest)
        # losses are rounded up, and the place where a profile is read is known to some last digits, before
        # which it is read
        moved, early = (
            (2 * self.atoms.moved + lost * np.abs(rest)) * falls for lost in (64 * EPS, READ_BEFORE)
        )
        lower = np.where(known > 2 * TINY, known * (1 - PROFILE_ERROR) - early, 0.0)
        delta, lower = delta + np.where(falls > 0, moved, 0.0), np.maximum(lower, 0.0)
        high, low, falls = ((self.atoms.mass * each).sum(axis=1) for each in (delta, lower, falls))
        return self._bounds(low * (1 - self.relative_error), high, -falls)

    def _read_listed(self, epsilon: Array) -> LogBounds:
        """Without another pair."""
        high = self.atoms.told_at_most(epsilon - self.atoms.moved)
        low, above = self.atoms.told(epsilon + self.atoms.moved)
        return self._bounds(low * (1 - self.atoms.rounding - self.relative_error), high, low - above)

    def _bounds(self, low: Array, high: Array, slope: Array) -> LogBounds:
        total = np.maximum(high * (1 + self.relative_error) + self.infinite + self.charged, TINY)
        with np.errstate(divide="ignore", invalid="ignore"):
            return LogBounds(
                np.log(low + self.infinite * (1 - 64 * EPS)), np.minimum(np.log(total), 0.0), slope / total
            )

    def guess(self, log_delta: Array) -> Array:
        if self.pair is not None and self.atoms.loss.size == 1:
            return np.array([self.pair.likely_epsilon(one) for one in log_delta.tolist()])
        above = np.cumsum(self.atoms.mass[::-1])[::-1]
        return self.atoms.loss[np.maximum(np.searchsorted(-above, -np.exp(log_delta)) - 1, 0)]


def enumerate_losses(terms: Sequence[Term], log_cut: float | None) -> EnumeratedTail | None:
    """The tail, where all pairs but one step have few distinct sums; losses on the integers are listed up to
    a mass e^{log_cut} of each, which is charged."""
    listed: list[tuple[Atoms, int]] = []
    others: list[Term] = []  # whose infinite losses are in no profile
    rest: Pair | None = None
    charged, steps = 0.0, 1
    for pair, count in terms:
        if (outcomes := pair.listed(log_cut)) is not None:
            listed.append((Atoms(outcomes.loss, outcomes.p, outcomes.moved), count))
            others.append((pair, count))
            steps += count
            if not isinstance(pair, DiscretePair):
                charged += count * math.exp(log_cut or 0.0)
        elif rest is None and count == 1 and not pair.by_moments:
            rest = pair
        else:
            return None
    law = compose_atoms(listed)
    if law is None or (rest is not None and law.loss.size > _FEW):
        return None
    return EnumeratedTail(law, rest, 4 * EPS * (16 + steps), infinite_mass(others), charged)
