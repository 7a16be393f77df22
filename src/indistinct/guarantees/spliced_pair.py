"""Fixed-size sampling without replacement, as one dominating pair."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.mixture_pair import MixturePair, mixture
from indistinct.guarantees.pair import Band, Pair, Resolution, Tails, Wave
from indistinct.guarantees.pair_kinds import SymmetricPair, of_both_signs
from indistinct.guarantees.split_mixture import Beside
from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.cumulant import Cumulant, RuleCumulant
from indistinct.numerics.rule import LossRule, TooFineError


def spliced(base: Pair, rate: float) -> Pair:
    """Sampling without replacement from a symmetric base pair, in its simplest form."""
    mixed = mixture(base, rate)
    if not 0 < rate < 1 or mixed.tells_nothing:
        return mixed
    if not isinstance(mixed, DiscretePair):
        return SplicedPair(MixturePair(base, rate))
    p, q, loss = (side[mixed.arrays[2] > 0] for side in mixed.arrays)
    rest = max(1 - float(p.sum() + q.sum()), 0.0)
    both = (
        np.concatenate((p, q, [rest])),
        np.concatenate((q, p, [rest])),
        np.concatenate((loss, -loss, [0.0])),
    )
    found = DiscretePair.of(*both, off=mixed.off, exact=False)
    return replace(found, alone=mixed.exact, beside=mixed.beside)


@dataclass(frozen=True)
class SplicedPair(SymmetricPair):
    """The pair whose profile is that of ((1-q) Q + q P, Q) for epsilon >= 0 and that of
    (P, (1-q) P + q Q) for epsilon < 0, for a symmetric base (P, Q).

    Neither of the two dominates sampling without replacement by itself, and composing one of them is a
    known mistake (Zhu, Dong and Wang 2022, Theorem 11; Lebeda et al. 2024). The two profiles agree at
    zero, so the larger of them is the profile of one pair: the first's positive losses, their mirror
    image, and an atom at zero for the rest. It is symmetric and may be composed; which neighbours are worst
    depends on epsilon, so that a composition reveals less, in truth.
    """

    mixture: MixturePair

    @property
    def tight(self) -> bool:
        return self.mixture.exact

    @property
    def above(self) -> tuple[Pair, ...]:
        return tuple(spliced(one, self.mixture.rate) for one in self.mixture.base.above)

    @property
    def below(self) -> tuple[tuple[tuple[Pair, int], ...], ...]:
        """Where all others are alike, and what replaces a record is like them: one of the two profiles."""
        return self.mixture.below

    def remade(self, change: Callable[[Pair], Pair]) -> Pair:
        return spliced(change(self.mixture.base), self.mixture.rate)

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        positive = [atom for atom in self.mixture.atoms if atom > 0]
        return (*(-atom for atom in positive), *positive)

    @property
    def given_away(self) -> tuple[float, float]:  # type: ignore[override]
        return self.mixture.infinite_mass, self.mixture.infinite_mass

    def rule(self, resolution: Resolution) -> LossRule:
        positive, mirror = self._half(resolution), self._mirror(resolution)
        return LossRule(
            np.concatenate((positive.loss, mirror.loss)),
            np.concatenate((positive.log_q, mirror.log_q)),
            positive.only_p,
            mirror.only_q,
            positive.missing_q + mirror.missing_q,
            positive.missing_more + mirror.missing_more,
        )

    def _half(self, resolution: Resolution) -> LossRule:
        """The positive losses."""
        mixture, high = self.mixture, self.mixture.base_range(resolution)[1]
        base = mixture.base.joined(mixture.pieces(0.0, high, resolution), 0.0, high)
        p_above, q_above, _, _ = (float(np.exp(tail[0])) for tail in mixture.base.tails(np.array([high])))
        more = max(p_above - base.only_p, 0.0) - q_above
        rule = replace(base, missing_q=q_above, missing_more=more).mixed(mixture.rate)
        listed = rule.loss > 0
        return replace(rule, loss=rule.loss[listed], log_q=rule.log_q[listed])

    def _mirror(self, resolution: Resolution) -> LossRule:
        """Their mirror image, as far as that counts, and the atom at zero."""
        rule = self._half(resolution.turned()).reversed()
        loss, log_q = np.append(rule.loss, 0.0), np.append(rule.log_q, self._log_atom)
        return replace(rule, loss=loss, log_q=log_q)

    def split(self, resolution: Resolution, band: Band, kind: int) -> tuple[Cumulant, LossRule | None]:
        if not self.splits:
            return super().split(resolution, band, kind)
        mirror, reach = self._mirror(resolution), (0.0, self.mixture.base_range(resolution)[1])
        bulk, jumps = self.mixture.apart.rules(reach, resolution, band, kind)
        loss, log_q = bulk.loss[bulk.loss > 0], bulk.log_q[bulk.loss > 0]
        # above 0 there is what the bulk lists, and what it misses
        p_base, q_base, _, _ = (float(np.exp(tail[0])) for tail in self.mixture.base.tails(np.zeros(1)))
        more = self.mixture.rate * (p_base - q_base) - float((np.exp(log_q) * np.expm1(loss)).sum())
        below = LossRule(
            np.concatenate((loss, mirror.loss)),
            np.concatenate((log_q, mirror.log_q)),
            missing_q=mirror.missing_q + max(q_base - float(np.exp(log_q).sum()), 0.0),
            missing_more=mirror.missing_more + more,
        )
        return RuleCumulant(below), jumps

    @property
    def splits(self) -> bool:  # type: ignore[override]
        return self.mixture.splits

    def log_envelope(self, resolution: Resolution) -> float:
        if not self.splits:
            return 0.0
        order, frequency = resolution.orders[0], resolution.frequency
        reach = 0.0, self.mixture.base_range(resolution)[1]
        positive, others = self.mixture.apart.log_part(reach, order, frequency), self._beside(resolution)
        bound, mass = np.logaddexp(positive, others(frequency))
        return min(float(bound - mass), 0.0)

    def split_envelope(self, resolution: Resolution, band: Band, kind: int) -> float:
        if not self.splits:
            return super().split_envelope(resolution, band, kind)
        reach = 0.0, self.mixture.base_range(resolution)[1]
        return self.mixture.apart.envelope(reach, resolution, band, kind, self._beside(resolution))

    def _beside(self, resolution: Resolution) -> Beside:
        """Of the mirror image of the positive losses, and of the atom at zero, which never fades."""
        reach, order = (0.0, self.mixture.base_range(resolution.turned())[1]), resolution.orders[0]

        def others(frequency: float) -> tuple[float, float]:
            mirror = self.mixture.apart.log_part(reach, 1 - order, frequency)
            bound, mass = np.logaddexp(mirror, self._log_atom).tolist()
            return bound, mass

        return others

    @property
    def _log_atom(self) -> float:
        p_above, q_above, _, _ = (float(np.exp(tail[0])) for tail in self.mixture.tails(np.zeros(1)))
        return math.log(max(1 - p_above - q_above, TINY))

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        return self.rule(Resolution((-wave.power, 1 + wave.power), wave.frequency))

    def log_moment(self, order: float) -> float:
        try:
            return super().log_moment(order)
        except TooFineError:
            if 0 <= order <= 1:  # min(p, q) <= p^w q^(1-w), and delta(0) is at most the rate
                told = [one.told for one in self.above if isinstance(one, DiscretePair)]
                return math.log1p(-min([self.mixture.rate, *told])) * (1 + 4 * EPS)
            # one half is that of positive losses, which the mixture has, and the mirror image adds no more
            return math.log(2) + self.mixture.log_moment(max(order, 1 - order))

    def outer_losses(self, tilt: float, log_tail: float) -> tuple[float, float]:
        upper = self.mixture.outer_losses(max(tilt, 1.0), log_tail)[1]
        lower = self.mixture.outer_losses(max(1 - tilt, 1.0), log_tail)[1]
        return -lower, upper

    def tails(self, loss: Array) -> Tails:
        p_far, q_far, _, _ = self.mixture.tails(np.abs(loss))
        with np.errstate(divide="ignore"):
            p_near, q_near = np.log1p(-np.exp(p_far)), np.log1p(-np.exp(q_far))
        positive = loss >= 0
        return Tails(
            np.where(positive, p_far, q_near),
            np.where(positive, q_far, p_near),
            np.where(positive, p_near, q_far),
            np.where(positive, q_near, p_far),
        )

    def profile(self, epsilon: Array) -> Array:
        return of_both_signs(epsilon, self.mixture.profile(np.abs(epsilon)))

    @property
    def size(self) -> float:
        return 2 * self.mixture.size

    @property
    def loss_range(self) -> tuple[float, float]:
        top = self.mixture.loss_range[1]
        return -top, top
