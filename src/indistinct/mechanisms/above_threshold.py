"""Validation until something is good enough: the first of many questions whose answer exceeds a threshold."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.description import Flag, Nonnegative, Positive, describable
from indistinct.errors import check_real
from indistinct.guarantees.guarantee import Guarantee
from indistinct.guarantees.stated import KnownByClaim, PureDP
from indistinct.mechanisms.additive import NO_NOISE
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.mechanisms.paying import Payer, charged
from indistinct.mechanisms.release import Lattice, Release, no_guarantee
from indistinct.noise import Source, SystemSource, discrete_laplace
from indistinct.numerics.arrays import EPS
from indistinct.numerics.rounding import quotient_up


@describable("above_threshold")
class AboveThreshold(Mechanism):
    """Answers questions one by one with "below", however many there are, and stops at the first "above":
    Laplace noise of `threshold_scale` on the threshold, once, and of `scale` on every answer (Dwork and Roth
    2014, Algorithm 1). Of a sequence of models and a hold-out, it tells the first that is good enough;
    questions may depend on what was told before. To go on afterwards is to run it again: `3 *
    AboveThreshold(...)`.

    Answers move by at most `sensitivity`; `monotonic` says that a neighbour moves all of them the same way.

    Whatever the threshold's noise, "below" is likelier on the neighbour if that noise is `sensitivity`
    larger, and "above" then needs 2 `sensitivity` more noise (1 if all answers move one way): so each loss
    is at most sensitivity/threshold_scale + 2 sensitivity/scale (Lyu, Su and Li 2017, "Understanding the
    sparse vector technique", Theorems 2 and 3). The noise of those below costs nothing.

    >>> AboveThreshold(threshold_scale=4, scale=8).guarantee().pure()
    0.5
    """

    threshold_scale: Positive
    scale: Positive
    sensitivity: Nonnegative = 1.0
    monotonic: Flag = False

    def _guarantee(self, adjacency: Adjacency) -> Guarantee:
        answers = (1 if self.monotonic else 2) * quotient_up(self.sensitivity, self.scale)
        most = (quotient_up(self.sensitivity, self.threshold_scale) + answers) * (1 + 2 * EPS)
        known = KnownByClaim(PureDP(most, adjacency=adjacency))
        return no_guarantee(adjacency) if most > NO_NOISE else known

    @charged
    def release(
        self,
        answers: Iterable[float],
        /,
        *,
        threshold: float = 0.0,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> Release[Any]:
        """The place of the first answer that is above the threshold, up to the noise; None if none is.
        Answers are taken one by one, and none after that one.

        >>> AboveThreshold(1e-3, 1e-3).release([0.1, 0.7, 0.9], threshold=0.5).values
        1
        """
        source = SystemSource() if source is None else source
        lattice = Lattice.of(min(self.scale, self.threshold_scale))
        unit = lattice.unit
        limit = self._rounded(lattice, "threshold", threshold)
        limit += int(discrete_laplace(self.threshold_scale / unit, 1, source)[0])
        found = None
        for place, answer in enumerate(answers):
            noise = int(discrete_laplace(self.scale / unit, 1, source)[0])
            if self._rounded(lattice, "answers", answer) + noise >= limit:
                found = place
                break
        moved = unit * lattice.moved(self.sensitivity, 1.0)
        run = AboveThreshold(self.threshold_scale, self.scale, moved, self.monotonic)
        return Release(found, run, source.private)

    @staticmethod
    def _rounded(lattice: Lattice, argument: str, value: Any) -> int:
        number = np.array([check_real(argument, value, "finite numbers")])
        return int(lattice.nearest(number)[0])
