"""Asks engines for bounds on epsilon and delta of a composed loss, in order of cost, until what they say
together is close; what they leave open is the answer, an honest interval."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from typing import Any

import numpy as np

from indistinct.guarantees import tails
from indistinct.guarantees.composed_loss import LOG_FLOOR, ComposedLoss, Levels
from indistinct.guarantees.engines import (
    BY_MOMENTS,
    LITTLE_KNOWN,
    ROUGHLY,
    ROUTE,
    SOLVED,
    Along,
    Engine,
    Step,
    beside,
    chernoff,
    contour,
    drawn,
    fine_lattice,
)
from indistinct.guarantees.enumerated import EnumeratedTail, enumerate_losses
from indistinct.guarantees.tails import EXACT, NARROW, Need
from indistinct.guarantees.uneven_lattice import uneven_lattice
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.contour import ContourLine

_MORE = np.array([[1.0], [1 + NARROW]])
_FAR = 12.0
"""Deltas this far apart, in nats, are no neighbours."""
_ALIKE = 8
"""Levels that differ by a share of this are alike, for a rough reading."""
_OPEN, _HALVED = 1e-3, 12
"""Epsilon that is open by more than this, relatively, is halved so often."""


@dataclass(frozen=True, eq=False)
class LossReader:
    """Bounds on epsilon and delta of one composed loss, as close as is needed. `other` is that of another
    direction, whose lines may show that no more is."""

    loss: ComposedLoss
    exact: bool
    """Whether lower ends are of the mechanism itself."""

    @cached_property
    def listed(self) -> EnumeratedTail | None:
        """The whole law, where it can be listed: it serves every request."""
        return enumerate_losses(self.loss.factors, None)

    @np.errstate(over="ignore")  # of what is infinitely far away
    def epsilon_bounds(self, delta: Array, need: Need, other: ComposedLoss | None) -> tuple[Array, Array]:
        """Bounds on the smallest epsilon >= 0 with delta(epsilon) <= each delta, for infinite_mass < delta <
        1."""
        low, high = np.zeros_like(delta), np.zeros_like(delta)
        if (listed := self.listed) is not None:
            for least, rows in _by_size(delta):
                coarse = [listed.coarse(least)]
                needed = need.at(delta.shape, rows)
                low[rows], high[rows] = self._solved(coarse, [listed], np.log(delta[rows]), needed)
            return (low if self.exact else np.zeros_like(low)), high
        most = self.loss.most if other is None else other.most  # which is the same both ways
        by_level: dict[int, list[int]] = {}
        sizes = delta if need.near is None else np.maximum(need.near, delta)
        levels = self.loss.levels_of(np.log(sizes - self.loss.infinite_mass)).tolist()
        for row, (one, level) in enumerate(zip(delta.tolist(), levels, strict=True)):
            if one < most:  # otherwise nothing is told at all
                by_level.setdefault(level, []).append(row)
        for level, rows in by_level.items():
            route = BY_MOMENTS if self.loss.by_moments else SOLVED
            asked = (
                drawn(engine, self.loss, max(level - less, 0))
                for engine, less in route
                if not (need.rough and engine == fine_lattice)
            )
            hints, needed = self._hints(other, level), need.at(delta.shape, rows)
            low[rows], high[rows] = self._solved(hints, asked, np.log(delta[rows]), needed)
        if not need.rough and (open_ := (high - low > _OPEN * high) & (high > need.enough)).any():
            if (tail := drawn(uneven_lattice, self.loss, 0)) is not None:
                found = tails.solve(tail, np.log(delta[open_]), self.loss.top)
                low[open_], high[open_], _ = tails.both((low[open_], high[open_]), found)
            self._halved(low, high, np.log(delta), need.enough, other)
        return (low if self.exact else np.zeros_like(low)), high

    def _halved(
        self, low: Array, high: Array, log_delta: Array, enough: Array | float, other: ComposedLoss | None
    ) -> None:
        """Where the tails of delta's level leave much open: ends by halving, on what is known of delta at an
        epsilon, whose levels are others."""
        ends = ((high, low, True), (low, high, False)) if self.exact else ((high, low, True),)
        for end, other_end, meets in ends:
            far = other_end.copy()
            for _ in range(_HALVED):
                open_ = (np.abs(end - far) > _OPEN * high) & (high < math.inf) & (high > enough)
                if not (rows := np.flatnonzero(open_)).size:
                    break
                middle = (end[rows] + far[rows]) / 2
                least, most = self._log_delta_bounds(middle, EXACT.at(low.shape, rows), other)
                closer = most <= log_delta[rows] if meets else least >= log_delta[rows]
                end[rows], far[rows] = np.where(closer, (middle, far[rows]), (end[rows], middle))

    def covers_reverse(self, epsilon: Array, delta: Array) -> tails.Flags:
        """Where the reversed loss is shown to have no larger delta at an epsilon, on lines drawn for both at
        once."""
        covered = np.zeros(epsilon.shape, dtype=bool)
        if not self.loss.turns or self.listed is not None:
            return covered
        infinite = self.loss.reversed_infinite_mass
        usable = (epsilon < math.inf) & (delta > infinite) & (delta < 1)
        log_finite = np.log(np.where(usable, delta - infinite, 1.0))
        levels = np.where(usable, self.loss.levels_of(log_finite), -1)
        for level in set(levels[usable].tolist()):
            line, rows = drawn(contour, self.loss, level), levels == level
            if isinstance(line, ContourLine) and line.turned is not None:
                covered[rows] = line.turned.read(epsilon[rows]).high <= log_finite[rows]
        return covered

    def _hints(self, other: ComposedLoss | None, level: int) -> Iterator[tails.Tail | None]:
        """What may show that `enough` is enough, at little cost."""
        if other is not None:
            yield drawn(Along(other), self.loss, level)
            yield drawn(chernoff, self.loss, level)

    def _solved(
        self,
        hints: Iterable[tails.Tail | None],
        asked: Iterable[tails.Tail | None],
        log_delta: Array,
        need: Need,
    ) -> tuple[Array, Array]:
        """What tails say together, until it is enough; hints are only asked for that."""
        enough = np.asarray(need.enough)
        low, high = np.zeros_like(log_delta), np.full_like(log_delta, max(self.loss.top, 0.0))
        wanted = (enough > 0) & (enough < math.inf)
        rows = np.arange(log_delta.size)  # of what is open
        for tail, hint in chain(zip(hints, repeat(True)), zip(asked, repeat(False))):
            if tail is None:
                continue
            if (some := rows[wanted[rows]]).size:
                at = _MORE * enough[some]
                meets = tail.read(at.ravel()).high.reshape(at.shape) <= log_delta[some]
                met = meets.any(axis=0)
                low[some[met]] = 0.0
                high[some[met]] = np.minimum(np.where(meets[0], at[0], at[1])[met], high[some[met]])
                rows = np.setdiff1d(rows, some[met], assume_unique=True)
            if rows.size and not hint:
                found = tails.solve(tail, log_delta[rows], self.loss.top)
                found_low, found_high, wrong = tails.both((low[rows], high[rows]), found)
                low[rows], high[rows] = found_low, found_high
                narrow = found_high - found_low <= need.accuracy * np.minimum(found_high, 1e300)
                rows = rows[~(narrow | wrong | tail.final)]
            if not rows.size:
                break
        return low, high

    @np.errstate(over="ignore")
    def delta_bounds(self, epsilon: Array, need: Need, other: ComposedLoss | None) -> tuple[Array, Array]:
        """Bounds on delta at each epsilon; those at one level share tails."""
        low, high = np.empty_like(epsilon), np.empty_like(epsilon)
        if (listed := self.listed) is not None:
            for least, rows in _by_size(np.maximum(need.enough, need.slack)):
                low[rows], high[rows], _ = listed.coarse(least).read(epsilon[rows])
        else:
            low, high = self._log_delta_bounds(epsilon, need, other)
        # a logarithm is rounded by as much as it is long
        low = np.exp(low) * (1 - EPS * (8 - 2 * np.maximum(low, LOG_FLOOR)))
        high = np.minimum(np.exp(high) * (1 + EPS * (8 - 2 * np.maximum(high, LOG_FLOOR))), 1.0)
        return (low if self.exact else np.zeros_like(low)), high

    def _log_delta_bounds(
        self, epsilon: Array, need: Need, other: ComposedLoss | None
    ) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            enough, slack = np.log(need.enough), np.log(need.slack)
            near = None if need.near is None else np.log(need.near)
        low, high = np.full(epsilon.shape, -math.inf), np.full(epsilon.shape, math.log(self.loss.most))
        asked: dict[Engine, list[Levels]] = {}
        rows = np.arange(epsilon.size)  # of what is still open
        # at first whether there is more than what nobody feels
        unfelt = np.where(slack > -math.inf, self.loss.levels_of(slack), -1)
        hints: list[Step] = [(chernoff, lambda *_: unfelt)] if (unfelt >= 0).any() else []
        hints += [] if other is None else [(Along(other), partial(beside, other))]
        for engine, levels_for in chain(hints, ROUGHLY if need.rough else ROUTE):
            levels = np.full(epsilon.shape, -1)
            own = rows
            if near is not None and engine != uneven_lattice:
                # unless delta is known not to be near, or the engine did not know it from there
                far = (near[rows] > -math.inf) & (low[rows] > near[rows] + _FAR)
                far |= high[rows] < near[rows] - _FAR
                if engine in asked:
                    far |= high[rows] - low[rows] > LITTLE_KNOWN
                own, others = rows[far], rows[~far]
                levels[others] = self.loss.levels_of(near[others])
            if own.size:
                found = levels_for(self.loss, epsilon[own], low[own], high[own])
                levels[own] = -1 if found is None else found
            if need.rough:
                levels = _together(levels)
            earlier = asked.setdefault(engine, [])
            levels[np.any([levels == other for other in earlier], axis=0)] = -1
            earlier.append(levels)
            for level in sorted(set(levels[levels >= 0].tolist())):
                if (tail := drawn(engine, self.loss, level)) is not None:
                    at = np.flatnonzero(levels == level)
                    bounds = tail.read(epsilon[at])
                    low[at], high[at], wrong = tails.both((low[at], high[at]), (bounds.low, bounds.high))
                    least = np.logaddexp(np.maximum(low[at], enough[at]), slack[at])  # of what is known
                    close = high[at] - np.maximum(least, LOG_FLOOR) <= need.accuracy
                    done = at[close | wrong | tail.final]
                    rows = np.setdiff1d(rows, done, assume_unique=True)
            if not rows.size:
                break
        return low, high


def _together(levels: Levels) -> Levels:
    """About the same levels, a few as one: where delta is small, a tail serves others next to it."""
    some = np.exp2(np.floor(np.log2(np.maximum(levels / _ALIKE, 1.0)))).astype(np.intp)
    return -(-levels // some) * some


def _by_size(values: Array) -> Iterator[tuple[float, Any]]:
    """A few numbers, and the rows that are a little larger than each."""
    with np.errstate(divide="ignore"):
        sizes = np.exp2(np.floor(np.log2(values) / 4) * 4)
    for size in np.unique(sizes).tolist():
        yield size, sizes == size
