"""Engines: bounds on delta, from below and from above, for the sum of independent losses.

An engine is asked for a *tail*, the composed law near one size of delta, or says that it cannot draw one.
Whatever a tail is read at, it answers with two bounds that hold; how far apart they are is its only claim to
accuracy. Sizes of delta are rounded to levels, so a tail belongs to the composition and a level and to
nothing else: what was read before cannot change a reading, and readings that share a level share a tail.
At the end is in which order they are asked; `loss_reader` asks them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from indistinct.guarantees import rare_losses, tails
from indistinct.guarantees.composed_loss import LOG_ACCURACY, ComposedLoss, Levels
from indistinct.guarantees.enumerated import enumerate_losses
from indistinct.guarantees.pair import Pair
from indistinct.guarantees.rare_losses import SplitTail, split_tail
from indistinct.guarantees.single_losses import single_losses
from indistinct.guarantees.tails import NARROW
from indistinct.guarantees.uneven_lattice import uneven_lattice
from indistinct.numerics.arrays import Array
from indistinct.numerics.contour import ACCURACY, NOT_SCANNED, Aim, ContourLine, draw_line
from indistinct.numerics.lattice import MAX_CELLS, ON_POINT, LatticeTail, convolve, law_above, law_below
from indistinct.numerics.rule import TooFineError

_NEAR = 3.0
"""A line whose delta at its aim is this near its level, in nats, was aimed well."""
_ROUGH = 1e-8
"""Of a line that cannot have the accuracy of others."""
_COARSE, _FINEST = 1 << 13, 1 << 17
"""Cells of lattices."""
_TRIED = 1 << 16
"""Steps that are tried, for atoms that are to be on points."""
_MANY_ATOMS = 12
"""More atoms than this cannot be brought onto a lattice together."""

_LEVELS_LOST = 4
LITTLE_KNOWN = 1e-3
"""Bounds on log delta that a lattice left so far apart may be closer on one of another level."""

Engine = Callable[[ComposedLoss, int], tails.Tail | None]

Step = tuple[Engine, Callable[[ComposedLoss, Array, Array, Array], Levels | None]]
"""An engine, and the levels at which it is asked for deltas at epsilons, which have bounds by now (-1: it is
not)."""


def enumerated(loss: ComposedLoss, level: int) -> tails.Tail | None:
    """Listed sums, and at most one pair with a profile in closed form."""
    return enumerate_losses(loss.factors, loss.log_cut(level))


def contour(loss: ComposedLoss, level: int) -> tails.Tail | None:
    """The contour integral through the saddle, while the transform decays along it."""
    log_delta, found = loss.log_delta_of(level), loss.scan(level)
    centre = found.likely_epsilon(log_delta)
    line: ContourLine | None = None
    accuracy, only = ACCURACY, loss.by_moments  # no other engine knows more
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
    """The same with as many cells as it takes: the bounds differ by the square of the step. More of them have
    more rounding, so they do not help where that hides what has this size."""
    coarse = drawn(coarse_lattice, loss, level)
    if not isinstance(coarse, LatticeTail):
        return None
    found = tails.solve(coarse, np.array([loss.log_delta_of(level)]), loss.top)[1]
    low, high, _ = coarse.read(np.where(found < math.inf, found, coarse.aim.epsilon))
    if found[0] < math.inf and low[0] == -math.inf:
        return None
    wide = min(max(float(high[0] - low[0]) / NARROW, 4.0), (_FINEST / _COARSE) ** 2)
    return _lattice(loss, level, coarse.aim.epsilon, _COARSE << math.ceil(math.log2(wide) / 2))


def _lattice(loss: ComposedLoss, level: int, centre: float, cells: int) -> LatticeTail:
    log_level, log_cut = loss.log_delta_of(level) + LOG_ACCURACY, loss.log_cut(level)
    spans = [pair.span(log_cut) for pair, _ in loss.terms]
    widest = max(max(high - low, 1e-12 * max(abs(high), abs(low)), 1e-300) for low, high in spans)
    # a steeper tilt would need a finer lattice than one step's losses have room for
    aim = loss.scan(level).aim(min(centre, loss.top), log_level, -2 * log_level / widest)
    unit = common_unit([pair for pair, _ in loss.terms])
    finest = max(aim.period, widest) / min(8 * cells, MAX_CELLS)
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


# -- in which order they are asked -----------------------------------------------------------------


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


def by_least(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """The same, as the lower bound so far has them, if there is one."""
    return np.where(low > -math.inf, loss.levels_of(low), -1)


def beside_bound(more: int, loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """So much more or less, where little is known: delta falls by several levels at once, as it does where
    there are atoms, or losses end."""
    if not any(pair.atoms or pair.unit or pair.loss_range[1] < math.inf for pair, _ in loss.terms):
        return None
    return np.where(high - low > LITTLE_KNOWN, np.maximum(loss.levels_of(high) + more, 0), -1)


def if_little_is_known(loss: ComposedLoss, epsilon: Array, low: Array, high: Array) -> Levels | None:
    """Any, of what is alike at all of them."""
    return np.where(high - low > LITTLE_KNOWN, 0, -1)


ROUTE: tuple[Step, ...] = (
    (chernoff, by_order),
    (enumerated, by_order),
    (enumerated, by_least),  # less is cut, and charged, of what is listed
    (contour, by_order),
    (contour, by_bound),
    (contour, by_jumps_if_near),
    (split_tail, by_jumps),
    (split_tail, by_bound),
    (coarse_lattice, by_bound),
    (fine_lattice, by_bound),
    *((fine_lattice, partial(beside_bound, more)) for more in (1, -1, 0)),
    (single_losses, by_bound),
    (uneven_lattice, if_little_is_known),
    (chernoff, by_bound),
)
"""How delta is looked for, in order of cost: an engine, and how the level is found that it is asked at. A new
engine is a line here; one may come again, at another level."""

ROUGHLY = sorted(
    (step for step in ROUTE if step[0] not in (fine_lattice, uneven_lattice)),
    key=lambda step: step[0] == split_tail,
)
"""How it is where a search begins."""

ENGINES: tuple[Engine, ...] = tuple(dict.fromkeys(engine for engine, _ in ROUTE if engine is not chernoff))
"""The same engines, for epsilon, whose level is that of its delta."""

SOLVED = (*((engine, 0) for engine in ENGINES if engine != uneven_lattice), (fine_lattice, 1), (chernoff, 0))
"""How epsilon is: an engine, and how much larger than delta what it is asked about may be, in levels.
The uneven lattice is asked only where they leave much open."""
BY_MOMENTS = ((enumerated, 0), (contour, 0), (contour, 1), (contour, 2), (chernoff, 0))
"""The same of what no other engine knows."""
