"""Where a few rare, large losses decide, no tilt suits the whole law: it would weigh what is never seen.

So losses are split, smoothly, into a bulk and bands, and compositions are sorted by the band of their largest
loss. With B the transform of what is below a band and J of what is in it, that is a positive measure of
transform (B + J)^n - B^n, computed as B^n (e^{n log(1 + J/B)} - 1), so it keeps its digits however small it
is, and it is integrated on a line of its own. The bulk alone is one more.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.pair import Band, Resolution
from indistinct.guarantees.tails import solve
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.contour import ACCURACY, GUARD, ContourLine, LogBounds, Scan, draw_line, scan
from indistinct.numerics.cumulant import SplitCumulant, log_expm1
from indistinct.numerics.rule import TooFineError
from indistinct.numerics.search import falls_to

_LOG_LEFT_OUT = math.log(1e-10)
"""What is left out, relative to delta: the far end of a heavy tail is dear."""
_JUMPS = 14.0
"""A jump is so much likelier than delta, in nats..."""
_FEW_JUMPS = -2.0
"""... but no likelier than this, over all steps."""
_LOWEST = 1e-3
"""Losses below this share of epsilon are not told apart."""
_TOO_MUCH = 3.0
"""About how much a Chernoff bound is above delta."""
_POOR = 1e-9
"""What a line may leave out, relative to it, rather than not be drawn."""
_FAR_ABOVE = 40.0
"""Losses so far above epsilon are one band."""
_FURTHER = 1.1
"""If delta is reached so many times further out than was aimed at, it is aimed once more."""
_REACH = 2.5
"""How far below its own delta, in nats, a level is read."""
_FAR = 16.0
"""A band needs no line if what is not known of it is so much smaller than delta."""


def split_tail(loss: ComposedLoss, level: int) -> "SplitTail | None":
    """The engine: None where no pair has rare losses to split off."""
    if not _splits(loss):
        return None
    tail = _SplitLoss(loss, level).tail()
    # several losses may add up to more than one is: then once more, around what this one says
    found = float(solve(tail, np.array([loss.log_delta_of(level)]), loss.top)[1][0])
    further = _FURTHER * tail.centre < found < math.inf
    return _SplitLoss(loss, level, found).tail() if further else tail


def expected(loss: ComposedLoss, epsilon: Array) -> Array | None:
    """About log delta, if single losses or the bulk make it up; None where nothing can be split off."""
    if not _splits(loss):
        return None
    log_delta = np.log(np.maximum(loss.single(epsilon), TINY))
    levels = loss.levels_of(log_delta)
    for level in np.unique(levels).tolist():
        rows = levels == level
        bulk = _bulk(loss, level).read(epsilon[rows]).high - _TOO_MUCH
        log_delta[rows] = np.logaddexp(log_delta[rows], bulk)
    return log_delta


@lru_cache(maxsize=256)
def _bulk(loss: ComposedLoss, level: int) -> Scan:
    """Of all losses that are not rare."""
    split = _SplitLoss(loss, level)
    return split.scanned((split.bottom, math.inf), 0)


def _splits(loss: ComposedLoss) -> bool:
    # what is known by its moments alone cannot be split, nor placed beside what is
    return any(pair.splits for pair, _ in loss.terms) and not any(pair.by_moments for pair, _ in loss.terms)


@dataclass(frozen=True)
class _SplitLoss:
    """A composition split for one size of delta."""

    loss: ComposedLoss
    level: int
    around: float | None = None
    """Where delta has this size, if that is known better than single losses tell."""

    @property
    def log_delta(self) -> float:
        return self.loss.log_delta_of(self.level)

    @cached_property
    def bottom(self) -> float:
        """Losses above this may be rare."""
        few = min(self.log_delta + _JUMPS, _FEW_JUMPS)
        return max(self._exceeded(few), _LOWEST * self._exceeded(self.log_delta))

    def _exceeded(self, log_expected: float) -> float:
        """The loss above which so many steps are expected."""
        rare = [(pair, n) for pair, n in self.loss.terms if pair.splits]

        def log_above(loss: Array) -> Array:
            above: Array = np.logaddexp.reduce([math.log(n) + pair.tails(loss).p_above for pair, n in rare])
            return above

        return falls_to(log_above, log_expected, 1e-12)

    @property
    def log_level(self) -> float:
        return self.log_delta + _LOG_LEFT_OUT

    @property
    def log_cut(self) -> float:
        return self.log_level - math.log(self.loss.steps)

    def tail(self) -> "SplitTail":
        bands = self._bands()
        parts = [part for band in bands for part in self._band_parts(band)]
        bulk = self._near_part(bands[0], 0, self.scanned(bands[0], 0))
        # a bulk with sharp edges has no line: the less of it there is, the less its bound says too much; but
        # a band without a line says no more
        bottom = bands[0][0]
        while isinstance(bulk, Scan) and not self._negligible(bulk) and bottom > _LOWEST * self.centre:
            band = bottom / 4, bottom
            below, bottom = self._band_parts(band), band[0]
            if any(isinstance(part, Scan) and not self._negligible(part) for part in below):
                break
            parts += below
            bulk = self._near_part(band, 0, self.scanned(band, 0))
        return SplitTail((bulk, *parts), self.loss.infinite_mass, math.exp(self.log_level), self.centre)

    @property
    def centre(self) -> float:
        return self._places[0]

    @cached_property
    def _places(self) -> tuple[float, float]:
        """About where single steps, or the bulk, reach delta, and where this level ends, if that is not below
        what is rare."""

        def log_delta(epsilon: Array) -> Array:
            alone = np.log(np.maximum(self.loss.single(epsilon), TINY))
            return np.logaddexp(alone, _bulk(self.loss, self.level).read(epsilon).high - _TOO_MUCH)

        centre = self.around or falls_to(log_delta, self.log_delta, self.bottom)
        return centre, falls_to(log_delta, self.log_delta - _REACH, centre)

    def _bands(self) -> list[Band]:
        """Epsilon well inside one of them, the others around it."""
        # two or three losses that are just below half of epsilon add up to more
        below = 2 if self.loss.steps > 3 else 4
        edges = [self.centre / below]
        while edges[0] > max(2 * self.bottom, _LOWEST * self.centre):
            edges.insert(0, edges[0] / 4)
        while edges[-1] < min(self._end, self.centre + _FAR_ABOVE):
            edges.append(edges[-1] + min((2 * below - 1) * edges[-1], max(2.0, self.centre / 32)))
        return [*pairwise(edges[:-1]), (edges[-2], math.inf)] if len(edges) > 1 else [(edges[0], math.inf)]

    @cached_property
    def _end(self) -> float:
        """The largest loss of one step that is not cut."""
        return max(pair.span(self.log_cut)[1] for pair, _ in self.loss.terms if pair.splits)

    def _band_parts(self, band: Band) -> "list[Part]":
        """What has its largest loss in a band (kind 1), if anything has."""
        split = self._split(band, 1, -1.0, 0.0)
        return [self._band_part(band, *split.log_masses)] if split.jumps else []

    def _band_part(self, band: Band, log_p: float, log_q: float) -> "Part":
        """The same, of so much mass."""
        if log_p < self.log_level:
            return FarBand(log_p, log_q, np.zeros(0), np.zeros(0))  # no more is needed
        if band[0] > self.centre:
            far = self._far_band(band)
            if far and far.log_rest(np.array(self._places[1])) < self.log_delta - _FAR:
                return far
            found = self.scanned(band, 1, log_p)
            return self._line(band, 1, found) or far or found
        return self._near_part(band, 1, self.scanned(band, 1, log_p))

    def _far_band(self, band: Band) -> "FarBand | None":
        try:
            return far_band(self._split(band, 1, -FarBand.reach(band[0]), 0.0), band[0])
        except TooFineError:  # of other steps' losses, which are negative
            return None

    def _near_part(self, band: Band, kind: int, found: Scan) -> "Part":
        """The same of a band near epsilon, or what has all its losses below the band (kind 0)."""
        return found if self._negligible(found) else self._line(band, kind, found) or found

    def _negligible(self, found: Scan) -> bool:
        return bool(found.read(np.array([self.centre])).high[0] < self.log_level)

    def _split(
        self, band: Band, kind: int, first: float, last: float, frequency: float = 0.0
    ) -> SplitCumulant:
        resolution = Resolution((1 + first, 1 + last), frequency, self.log_cut)
        return SplitCumulant([(*pair.split(resolution, band, kind), n) for pair, n in self.loss.terms])

    def scanned(self, band: Band, kind: int, log_mass: float = 0.0) -> Scan:
        largest = min(band[1], self._end) if kind else band[0]
        start = min(1 / band[0], 10 * max(-self.log_delta, 1.0) / largest)
        return scan(
            lambda last: self._split(band, kind, 0.0, last).part(kind).real, self.log_delta, start, log_mass
        )

    def _line(self, band: Band, kind: int, found: Scan) -> ContourLine | None:
        aim = found.aim(self.centre, self.log_level)
        at_zero = self._envelope(band, kind, aim.order, 0.0)
        for accuracy in (ACCURACY, _POOR):
            line = draw_line(
                lambda t: self._split(band, kind, aim.order, aim.order, t).part(kind),
                lambda t: (self._envelope(band, kind, aim.order, t) - at_zero,),
                aim,
                0.0,
                0.0,
                accuracy,
            )
            if line is not None:
                return line
        return None

    def _envelope(self, band: Band, kind: int, order: float, frequency: float) -> float:
        """|(b + j)^n - b^n| <= (|b| + |j|)^n - |b|^n."""
        resolution = Resolution((1 + order, 1 + order), frequency, self.log_cut)
        each = [(pair.split_envelope(resolution, band, kind), n) for pair, n in self.loss.terms]
        if kind == 0:
            return sum(n * bulk for bulk, n in each)
        jumps = sum(n * math.log1p(jump) for jump, n in each)
        return log_expm1(jumps) if jumps else -math.inf


@dataclass(frozen=True, eq=False)
class FarBand:
    """A measure of losses well above epsilon: its delta is its mass less e^epsilon times its mass under Q,
    and E[(e^{epsilon - L} - 1)_+] more, where (e^x - 1)_+ <= e^{ax} (1 - 1/a)^a / (a - 1)."""

    log_p: float
    log_q: float
    orders: Array
    values: Array  # log of a bound on E[e^{-order L}], and that factor

    @staticmethod
    def reach(place: float) -> float:
        """The largest of the orders."""
        return 100.0 * max(1.0, 1 / place)

    def log_rest(self, epsilon: Array) -> Array:
        each = self.values + self.orders * epsilon[..., None]
        least: Array = each.min(axis=-1, initial=self.log_p + 700.0)
        return least + GUARD

    def read(self, epsilon: Array) -> LogBounds:
        rest = self.log_rest(epsilon)
        with np.errstate(divide="ignore"):
            above = np.minimum(epsilon + self.log_q - self.log_p, 0.0)
            known = self.log_p + np.log(-np.expm1(above))
        slope = -np.exp(np.minimum(epsilon + self.log_q - known, 700.0))
        # what two masses lose to each other by rounding
        error = self.log_p + math.log(GUARD * 1e-3)
        low = known + np.log1p(-np.exp(np.minimum(error - known, -1e-3))) - GUARD
        high = np.minimum(np.logaddexp(np.logaddexp(known + GUARD, rest), error), self.log_p + GUARD)
        return LogBounds(low, high, slope)


def far_band(cumulant: SplitCumulant, place: float) -> FarBand:
    """A band far above a place, by moments of real orders."""
    orders = np.geomspace(0.02, 1.0, 9) * FarBand.reach(place)  # larger than 1
    values = cumulant.real(np.concatenate(([0.0, -1.0], -orders)))
    moments = values[2:] + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    usable = np.isfinite(moments)
    return FarBand(float(values[0]), float(values[1]), orders[usable], moments[usable])


Part = ContourLine | Scan | FarBand


@dataclass(frozen=True, eq=False)
class SplitTail:
    """Measures that add up, each on a line, or with the Chernoff bound where none could be drawn."""

    final: ClassVar[bool] = False

    parts: tuple[Part, ...]
    infinite: float
    charged: float
    centre: float

    def read(self, epsilon: Array) -> LogBounds:
        nothing = math.log(max(self.infinite + self.charged, TINY))
        low, high = np.full(epsilon.shape, -math.inf), np.full(epsilon.shape, nothing)
        slope = np.zeros(epsilon.shape)
        for part in self.parts:
            bounds = part.read(epsilon)
            low, high = np.logaddexp(low, bounds.low), np.logaddexp(high, bounds.high)
            slope += bounds.slope * np.exp(np.minimum(bounds.high, 0.0))
        low = np.logaddexp(low, math.log(self.infinite)) if self.infinite else low
        return LogBounds(low, np.minimum(high, 0.0), slope * np.exp(-high))

    def guess(self, log_delta: Array) -> Array:
        return np.full_like(log_delta, self.centre)
