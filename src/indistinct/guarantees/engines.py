"""Engines: bounds on delta, from below and from above, for the sum of independent losses.

An engine is asked for a *tail*, the composed law near one size of delta, or says that it cannot draw one.
Whatever a tail is read at, it answers with two bounds that hold; how far apart they are is its only claim to
accuracy. A `LossReader` asks the engines in order of cost until the bounds are close, and returns the honest
interval if none are. Sizes of delta are rounded to levels, so a tail belongs to the composition and a level
and to nothing else: what was read before cannot change a reading, and readings that share a level share a
tail.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import chain, repeat
from typing import Any

import numpy as np

from indistinct.guarantees import rare_losses, tails
from indistinct.guarantees.composed_loss import LOG_ACCURACY, LOG_FLOOR, ComposedLoss, Levels
from indistinct.guarantees.enumerated import EnumeratedTail, enumerate_losses
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.rare_losses import SplitTail, split_tail
from indistinct.guarantees.single_losses import single_losses
from indistinct.guarantees.tails import NARROW, Need
from indistinct.numerics.arrays import EPS, Array
from indistinct.numerics.contour import ACCURACY, NOT_SCANNED, Aim, ContourLine, draw_line
from indistinct.numerics.lattice import MAX_CELLS, ON_POINT, LatticeTail, convolve, law_above, law_below
from indistinct.numerics.rule import TooFineError

_MORE = np.array([[1.0], [1 + NARROW]])
_NEAR = 3.0
"""A line whose delta at its aim is this near its level, in nats, was aimed well."""
_ROUGH = 1e-8
"""Of a line that cannot have the accuracy of others."""
_LEVELS_LOST = 4
_LITTLE_KNOWN = 1e-3
"""Bounds on log delta that a lattice left so far apart may be closer on one of another level."""
_COARSE, _FINEST = 1 << 13, 1 << 17
"""Cells of lattices."""
_TRIED = 1 << 16
"""Steps that are tried, for atoms that are to be on points."""
_MANY_ATOMS = 12
"""More atoms than this cannot be brought onto a lattice together."""

Engine = Callable[[ComposedLoss, int], tails.Tail | None]

Step = tuple[Engine, Callable[[ComposedLoss, Array, Array, Array], Levels | None]]
"""An engine, and the levels at which it is asked for deltas at epsilons, which have bounds by now (-1: it is
not)."""


# -- the engines -----------------------------------------------------------------------------------


def enumerated(loss: ComposedLoss, level: int) -> tails.Tail | None:
    """Listed sums, and at most one pair with a profile in closed form."""
    return enumerate_losses(loss.factors, loss.log_cut(level))


def contour(loss: ComposedLoss, level: int) -> tails.Tail | None:
    """The contour integral through the saddle, while the transform decays along it."""
    log_delta, found = loss.log_delta_of(level), loss.scan(level)
    centre = found.likely_epsilon(log_delta)
    line: ContourLine | None = None
    accuracy, only = ACCURACY, any(pair.by_moments for pair, _ in loss.terms)  # no other engine knows more
    for _ in range(4):
        drawn = _line(loss, level, found.aim(min(centre, loss.top), log_delta + LOG_ACCURACY), accuracy)
        if accuracy == ACCURACY and only and not (drawn and drawn.width_at_aim <= NARROW):
            line, accuracy = drawn, _ROUGH  # with fewer nodes, where far ones are known badly
            continue
        if drawn is None:
            return line
        line = drawn
        if abs(line.at_aim[0] - log_delta) < _NEAR:
            break
        # aimed badly, as with heavy tails: once more, at what this line says
        centre = float(tails.solve(line, np.array([log_delta]), loss.top)[1][0])
        if math.isinf(centre):
            break
    return line


@dataclass(frozen=True)
class Along:
    """A loss on the line that another has: without a scan, and from above only, where every line is a bound.
    It mostly shows that the other direction is the worse one."""

    other: ComposedLoss

    def __call__(self, loss: ComposedLoss, level: int) -> tails.Tail | None:
        line = drawn(contour, self.other, level)
        if not isinstance(line, ContourLine):
            return None
        if line.turned is not None:  # it was drawn along with the other
            return replace(line.turned, infinite=loss.infinite_mass)
        return _line(loss, level, line.aim.unscanned(), ACCURACY)


def _line(loss: ComposedLoss, level: int, aim: Aim, accuracy: float) -> ContourLine | None:
    log_cut, c = loss.log_cut(level), aim.order
    charged = math.exp(loss.log_delta_of(level) + LOG_ACCURACY)
    line, ends = None, (loss.infinite_mass, charged, accuracy)
    if loss.turns and aim.scan is not NOT_SCANNED:
        cumulants, envelopes = (
            partial(loss.both_cumulants, log_cut, c),
            partial(loss.both_envelopes, log_cut, c),
        )
        line = draw_line(cumulants, envelopes, aim, *ends)
    if line is None:
        cumulant, envelope = partial(loss.cumulant, log_cut, c, c), partial(loss.log_envelope, log_cut, c)
        line = draw_line(cumulant, lambda t: (envelope(t),), aim, *ends)
    return line


def coarse_lattice(loss: ComposedLoss, level: int) -> LatticeTail:
    """Two lattice laws, one above the loss, one below, around where delta has this size."""
    log_delta, found = loss.log_delta_of(level), loss.scan(level)
    if level == 0:
        return _lattice(loss, level, 0.0, _COARSE)  # what is more than this level's delta lies above it
    first = found.aim(min(found.least_epsilon(log_delta), loss.top), log_delta + LOG_ACCURACY)
    centre = max(found.likely_epsilon(log_delta), -first.period)
    for _ in range(4):
        tail = _lattice(loss, level, centre, _COARSE)
        centre = float(tails.solve(tail, np.array([log_delta]), loss.top)[1][0])
        # aimed badly: once more, at what this one says
        if not abs(centre - tail.aim.epsilon) > tail.aim.period / 16 or math.isinf(centre):
            break
    return tail


def fine_lattice(loss: ComposedLoss, level: int) -> LatticeTail | None:
    """The same with as many cells as it takes: the bounds differ by the square of the step."""
    coarse = drawn(coarse_lattice, loss, level)
    if not isinstance(coarse, LatticeTail):
        return None
    low, high, _ = coarse.read(np.array([coarse.aim.epsilon]))
    wide = min(max(float(high[0] - low[0]) / NARROW, 4.0), (_FINEST / _COARSE) ** 2)
    return _lattice(loss, level, coarse.aim.epsilon, _COARSE << math.ceil(math.log2(wide) / 2))


def _lattice(loss: ComposedLoss, level: int, centre: float, cells: int) -> LatticeTail:
    log_level, log_cut = loss.log_delta_of(level) + LOG_ACCURACY, loss.log_cut(level)
    spans = [pair.span(log_cut) for pair, _ in loss.terms]
    widest = max(max(high - low, 1e-12 * max(abs(high), abs(low)), 1e-300) for low, high in spans)
    # a steeper tilt would need a finer lattice than one step's losses have room for
    aim = loss.scan(level).aim(min(centre, loss.top), log_level, -2 * log_level / widest)
    unit, finest = common_unit([pair for pair, _ in loss.terms]), max(aim.period, widest) / MAX_CELLS
    atoms = [atom for pair, _ in loss.terms for atom in pair.atoms]
    step = unit if unit > finest else lattice_step(atoms, max(aim.period / cells, finest))
    placed = list(zip(loss.terms, spans, strict=True))
    above = [(law_above(pair.tails, *span, step), n) for (pair, n), span in placed]
    below = [(law_below(pair.tails, *span, step, pair.atoms), n) for (pair, n), span in placed]
    high, low = (convolve(laws, step, aim, log_level) for laws in (above, below))
    return LatticeTail(high, low, aim, loss.infinite_mass, ON_POINT * step * loss.steps)


def chernoff(loss: ComposedLoss, level: int) -> SplitTail:
    """The best Rényi order: loose, and always to be had."""
    log_delta, found = loss.log_delta_of(level), loss.scan(level)
    charged = math.exp(log_delta + LOG_ACCURACY)
    return SplitTail((found,), loss.infinite_mass, charged, found.least_epsilon(log_delta))


def common_unit(pairs: Sequence[Pair]) -> float:
    """The lattice on which all losses lie, or 0 if there is none."""
    units = [pair.unit for pair in pairs]
    smallest = min(units)
    ratios = [unit / smallest for unit in units] if smallest > 0 else [0.5]
    return smallest if all(abs(ratio - round(ratio)) < 1e-9 for ratio in ratios) else 0.0


def lattice_step(atoms: Sequence[float], wanted: float) -> float:
    """A lattice step of about `wanted` on which the atoms fall, or nearly: an atom between two points is
    rounded apart, and that is felt wherever delta has a kink; least, if it lies a little further out."""
    sizes = np.unique(np.abs(np.array([atom for atom in atoms if atom])))
    if sizes.size == 0 or sizes.size > _MANY_ATOMS or sizes[-1] < wanted:
        return wanted
    first = math.ceil(sizes[-1] / wanted)
    parts = first + np.arange(min(first, _TRIED) + 1.0)
    places = parts[:, None] * (sizes / sizes[-1])
    return float(sizes[-1] / parts[np.argmin((places - np.floor(places + ON_POINT)).max(axis=1))])


# -- what is asked of them -------------------------------------------------------------------------


def _drawn(engine: Engine, loss: ComposedLoss, level: int) -> tails.Tail | None:
    try:
        return engine(loss, level)
    except TooFineError:
        return None


_few, _many = lru_cache(maxsize=24)(_drawn), lru_cache(maxsize=256)(_drawn)


def drawn(engine: Engine, loss: ComposedLoss, level: int) -> tails.Tail | None:
    """What an engine knows at a level: a function of the three, kept for a while; of fine lattices, which are
    large, only a few are."""
    return (_few if engine is fine_lattice else _many)(engine, loss, level)


@dataclass(frozen=True, eq=False)
class LossReader:
    """Bounds on epsilon and delta of one composed loss, as close as is needed. `other` is the loss of another
    direction, whose lines may show that no more is."""

    loss: ComposedLoss
    exact: bool
    """Whether lower ends are of the mechanism itself."""

    @cached_property
    def listed(self) -> EnumeratedTail | None:
        """The whole law, where it can be listed: it serves every request."""
        return enumerate_losses(self.loss.factors, None)

    @np.errstate(over="ignore")  # of what is infinitely far away
    def epsilon_bounds(self, delta: Array, enough: Array, other: ComposedLoss | None) -> tuple[Array, Array]:
        """Bounds on the smallest epsilon >= 0 with delta(epsilon) <= each delta, for infinite_mass < delta <
        1."""
        low, high = np.zeros_like(delta), np.zeros_like(delta)
        if (listed := self.listed) is not None:
            for least, rows in _by_size(delta):
                coarse = [listed.coarse(least)]
                low[rows], high[rows] = self._solved(coarse, [listed], np.log(delta[rows]), enough[rows])
            return (low if self.exact else np.zeros_like(low)), high
        most = self.loss.most if other is None else other.most  # which is the same both ways
        by_level: dict[int, list[int]] = {}
        for row, one in enumerate(delta.tolist()):
            if one < most:  # otherwise nothing is told at all
                level = self.loss.level_of(math.log(one - self.loss.infinite_mass))
                by_level.setdefault(level, []).append(row)
        for level, rows in by_level.items():
            route = [(engine, level) for engine in ENGINES]
            route += [(fine_lattice, max(level - 1, 0)), (chernoff, level)]
            asked = (drawn(engine, self.loss, near) for engine, near in route)
            low[rows], high[rows] = self._solved(
                self._hints(other, level), asked, np.log(delta[rows]), enough[rows]
            )
        return (low if self.exact else np.zeros_like(low)), high

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
        enough: Array,
    ) -> tuple[Array, Array]:
        """What tails say together, until it is enough; hints are only asked for that."""
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
                narrow = found_high - found_low <= NARROW * np.minimum(found_high, 1e300)
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
        low, high = np.full(epsilon.shape, -math.inf), np.full(epsilon.shape, math.log(self.loss.most))
        asked: dict[Engine, list[Levels]] = {}
        rows = np.arange(epsilon.size)  # of what is still open
        hints: tuple[Step, ...] = () if other is None else ((Along(other), partial(beside, other)),)
        for engine, levels_for in hints + ROUTE:
            levels = np.full(epsilon.shape, -1)
            if (found := levels_for(self.loss, epsilon[rows], low[rows], high[rows])) is not None:
                levels[rows] = found
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


def _by_size(values: Array) -> Iterator[tuple[float, Any]]:
    """A few numbers, and the rows that are a little larger than each."""
    with np.errstate(divide="ignore"):
        sizes = np.exp2(np.floor(np.log2(values) / 4) * 4)
    for size in np.unique(sizes).tolist():
        yield size, sizes == size


def beside(other: ComposedLoss, loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The levels of delta at each epsilon that another direction's best order has."""
    return other.levels_at(epsilon)


def by_order(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The levels of delta at each epsilon as the best order has them."""
    return loss.levels_at(epsilon)


def by_jumps(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The same, as single large losses have them."""
    log_delta = rare_losses.expected(loss, epsilon)
    return None if log_delta is None else loss.levels_of(np.minimum(log_delta, high))


def by_jumps_if_near(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The same, unless it is so far below the best order's delta that a line of all losses has no digits."""
    levels = by_jumps(loss, epsilon, low, high)
    return None if levels is None else np.where(levels - loss.levels_at(epsilon) <= _LEVELS_LOST, levels, -1)


def by_bound(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The same, as the best bound so far has them."""
    return loss.levels_of(high)


def beside_bound(more: int, loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """So much more or less, where little is known: the bound is still too much, or delta falls by several
    levels at once, as it does where there are atoms."""
    return np.where(high - low > _LITTLE_KNOWN, np.maximum(loss.levels_of(high) + more, 0), -1)


ROUTE: tuple[Step, ...] = (
    (chernoff, by_order),
    (enumerated, by_order),
    (contour, by_order),
    (contour, by_bound),
    (contour, by_jumps_if_near),
    (split_tail, by_jumps),
    (split_tail, by_bound),
    (coarse_lattice, by_bound),
    (fine_lattice, by_bound),
    *((fine_lattice, partial(beside_bound, more)) for more in (1, -1, 0)),
    (single_losses, by_bound),
    (chernoff, by_bound),
)
"""How delta is looked for, in order of cost: an engine, and how the level is found that it is asked at. A new
engine is a line here; one may come again, at another level."""

ENGINES: tuple[Engine, ...] = tuple(dict.fromkeys(engine for engine, _ in ROUTE if engine is not chernoff))
"""The same engines, for epsilon, whose level is that of its delta."""
