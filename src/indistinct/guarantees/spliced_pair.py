"""Fixed-size sampling without replacement, as one dominating pair."""

import math
from dataclasses import dataclass

import numpy as np

from indistinct.guarantees.mixture_pair import MixturePair
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair, Resolution, Tails, Wave
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.rule import LossRule


@dataclass(frozen=True)
class SplicedPair(Pair):
    """The pair whose profile is that of ((1-q) Q + q P, Q) for epsilon >= 0 and that of
    (P, (1-q) P + q Q) for epsilon < 0, for a symmetric base (P, Q).

    Neither of the two dominates sampling without replacement by itself, and composing one of them is a
    known mistake (Zhu, Dong and Wang 2022, Theorem 11; Lebeda et al. 2024). The two profiles agree at
    zero, so the larger of them is the profile of one pair: the first's positive losses, their mirror
    image, and an atom at zero for the rest. It is symmetric and may be composed.
    """

    mixture: MixturePair

    @property
    def decays(self) -> bool:  # type: ignore[override]
        return self.mixture.decays

    @property
    def atoms(self) -> tuple[float, ...]:  # type: ignore[override]
        positive = [atom for atom in self.mixture.atoms if atom > 0]
        return (*(-atom for atom in positive), *positive)

    @property
    def infinite_mass(self) -> float:  # type: ignore[override]
        return self.mixture.infinite_mass

    @property
    def reversed_infinite_mass(self) -> float:  # type: ignore[override]
        return self.mixture.infinite_mass

    def rule(self, resolution: Resolution) -> LossRule:
        mixture = self.mixture
        _, high = mixture.base_range(resolution)
        power = 1 + max(map(abs, resolution.orders))
        both = Resolution((-power, power), resolution.frequency, resolution.log_cut)
        pieces = mixture.pieces(0.0, high, both)
        half = mixture.base.joined(pieces, 0.0, high).mixed(mixture.rate)
        p_above, q_above, _, _ = mixture.tails(np.array([mixture.mixed(high)]))
        missing = max(float(np.exp(p_above[0]) + np.exp(q_above[0])) - self.infinite_mass, 0.0)
        kept = half.loss > 0
        loss, log_q = half.loss[kept], half.log_q[kept]
        # the atom at zero contributes nothing to E[e^{zL}] - 1 and need not be listed
        return LossRule(
            np.concatenate((loss, -loss)),
            np.concatenate((log_q, log_q + loss)),
            self.infinite_mass,
            self.infinite_mass,
            missing,
            missing,
        )

    def log_envelope(self, resolution: Resolution) -> float:
        if not isinstance(self.mixture.base, GaussianPair):
            return 0.0
        # the positive losses, their mirror image, and the atom at zero, which never fades
        order = resolution.orders[0]
        reach = 0.0, self.mixture.base_range(resolution)[1]
        parts = [self.mixture.log_part(reach, each, resolution.frequency) for each in (order, 1 - order)]
        p_above, q_above, _, _ = (float(np.exp(tail[0])) for tail in self.mixture.tails(np.zeros(1)))
        log_atom = math.log(max(1 - p_above - q_above, TINY))
        bound, mass = (np.logaddexp.reduce([*part, log_atom]) for part in zip(*parts, strict=True))
        return min(float(bound - mass), 0.0)

    def rule_on(self, low: float, high: float, wave: Wave) -> LossRule:
        return self.rule(Resolution((-wave.power, 1 + wave.power), wave.frequency))

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
        size = np.abs(epsilon)
        above = self.mixture.profile(size)
        negative = np.minimum(epsilon, 0.0)
        value: Array = np.where(epsilon >= 0, above, -np.expm1(negative) + np.exp(negative) * above)
        return value

    reversed_profile = profile

    @property
    def size(self) -> float:
        return 2 * self.mixture.size

    @property
    def loss_range(self) -> tuple[float, float]:
        top = self.mixture.loss_range[1]
        return -top, top

    def reverse(self) -> Pair:
        return self
