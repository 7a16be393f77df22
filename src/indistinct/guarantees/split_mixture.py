"""Rare, large losses of sampled Gaussian noise, split off smoothly: those below a band, and those in it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from indistinct.guarantees.pair import LOG_NEGLIGIBLE, Band, Resolution
from indistinct.numerics.envelope import SPLIT_WIDTH, SmoothWindow, mixture_envelope
from indistinct.numerics.rule import LossRule

if TYPE_CHECKING:
    from indistinct.guarantees.mixture_pair import MixturePair

Losses = tuple[float, float]
"""Between two losses of the base."""
Beside = Callable[[float], Losses]
"""log of a bound on the transform of other losses, at all frequencies from one on, and of their mass."""


@dataclass(frozen=True)
class SplitMixture:
    """The losses of a mixture whose base is Gaussian noise, of this shift."""

    mixture: "MixturePair"
    shift: float

    def log_part(
        self, base_losses: Losses, order: float, frequency: float, window: SmoothWindow | None = None
    ) -> Losses:
        """log of a bound on the transform of (dP/dQ)^order dQ between two base losses, or of a window, at all
        frequencies from one on, and of its mass."""
        low, high = (loss / self.shift + self.shift / 2 for loss in base_losses)
        return mixture_envelope(self.shift, self.mixture.rate, order, frequency, low, high, window)

    def rules(
        self, base_losses: Losses, resolution: Resolution, band: Band, kind: int
    ) -> tuple[LossRule, LossRule | None]:
        """The losses below a band and (kind 1) those in it, of those between two base losses (the second,
        smoothly)."""
        shift, sharpness = self.shift, (SPLIT_WIDTH * self.shift) ** -2
        rules = []
        windows = self._windows(base_losses, resolution, band)
        begins, ends = windows[1][0].first, windows[1][0].last
        listed = kind and begins < ends  # a band may be beyond all losses
        for window, (low, high) in windows[: 2 if listed else 1]:
            # panels are fine where a window begins and ends, which is all of it if it is narrow
            soft = 2 * (high / shift + shift / 2 - window.last)
            edges = [low, max(low, high - shift * soft), high]
            if window.first > -math.inf:
                edges.insert(1, min(low + shift * soft, edges[1]))
            sharp = [sharpness, 0.0, sharpness][-len(edges) + 1 :]
            pieces = [
                piece
                for (start, stop), more in zip(pairwise(edges), sharp, strict=True)
                if stop > start
                for piece in self.mixture.pieces(start, stop, resolution, more)
            ]
            loss, log_q = (np.concatenate([getattr(p, part) for p in pieces]) for part in ("loss", "log_q"))
            rules.append(LossRule(loss, log_q + window.log_share(loss / shift + shift / 2)))
        # what the bulk does not list: all that is above, in closed form, and the lower end of the range
        tails = self.mixture.base.tails(np.array(base_losses))
        _, _, p_below, q_below = (float(np.exp(tail[0])) for tail in tails)
        root = math.sqrt(1 + SPLIT_WIDTH**2)
        above_p, above_q = float(ndtr((shift - begins) / root)), float(ndtr(-begins / root))
        more = p_below - q_below + above_p - above_q
        bulk = replace(rules[0], missing_q=q_below + above_q, missing_more=more)
        rate = self.mixture.rate
        return bulk.mixed(rate), rules[1].mixed(rate) if listed else None

    def envelope(
        self,
        base_losses: Losses,
        resolution: Resolution,
        band: Band,
        kind: int,
        beside: Beside = lambda _: (-math.inf, -math.inf),
    ) -> float:
        """`Pair.split_envelope`, where other losses may belong to the bulk too."""
        (below, reach), (inside, within) = self._windows(base_losses, resolution, band)
        order, frequency = resolution.orders[0], resolution.frequency
        if kind and inside.first >= inside.last:
            return 0.0
        mass = float(np.logaddexp(self.log_part(reach, order, 0.0, below)[1], beside(0.0)[1]))
        if kind:
            return math.exp(min(self.log_part(within, order, frequency, inside)[0] - mass, 700.0))
        bulk = np.logaddexp(self.log_part(reach, order, frequency, below)[0], beside(frequency)[0])
        return min(float(bulk) - mass, 0.0)

    def _windows(
        self, base_losses: Losses, resolution: Resolution, band: Band
    ) -> list[tuple[SmoothWindow, Losses]]:
        """What is below a band and in it, as parts of the normal variable, and the base losses between which
        each is integrated: what it has beyond is less than may be cut, by e^-70."""
        assert resolution.log_cut is not None
        shift, (low, high) = self.shift, base_losses
        first, last = (self.mixture.unmixed(np.array(band)) / shift + shift / 2).tolist()
        # what the smooth end leaves out weighs no more than what a sharp one at `high` would
        end = (high / shift + shift / 2) * math.sqrt(1 + SPLIT_WIDTH**2) + SPLIT_WIDTH
        first, last = min(first, end), min(last, end)
        soft = SPLIT_WIDTH * math.sqrt(2 * (-LOG_NEGLIGIBLE - resolution.log_cut))
        below, start, above = (
            shift * x - shift * shift / 2 for x in (first + soft, first - soft, last + soft)
        )
        return [
            (SmoothWindow(-math.inf, first), (low, max(below, low))),
            (SmoothWindow(first, last), (max(start, low), max(above, low))),
        ]
