"""Which engine answers, and where it is aimed.

The contour is exact and fast while the loss has no atoms and its integrand is smooth; the lattice answers
otherwise. Both return upper bounds that say how accurate they are, so that a tail aimed badly is aimed
again and a lattice too coarse is refined.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair, merged
from indistinct.guarantees.pair import Pair, Resolution
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.atoms import compose_atoms
from indistinct.numerics.contour import ACCURACY, Line, Scan, draw_line, scan
from indistinct.numerics.cumulant import CumulantSum
from indistinct.numerics.jumps import convolve_jumps
from indistinct.numerics.lattice import (
    MAX_CELLS,
    LatticeTail,
    convolve,
    lattice_law,
    tail_of_atoms,
)

Term = tuple[Pair, int]
Tail = Line | LatticeTail

GOOD = 1e-9
"""A tail answers for another epsilon while its relative error there stays below this."""
_FAIR = 1e-7
"""A contour less accurate than this is compared with the lattice."""
_POOR = 1e-5
"""The lattice is asked even if a contour this inaccurate was the better one at first."""
_CELLS = (1 << 14, 1 << 16, 1 << 18, 1 << 20)
"""Lattice sizes, tried in turn: four times as many cells have a sixteenth of the rounding error."""
AT_TOP = 1e-8
"""An epsilon this close to the top of the loss, relatively, is said to be the top."""
SETTLED = 1e-6
"""A change from one lattice to the next that leaves less than 1e-6 to gain."""
_MOST_BUILDS = 10
_MANY_ATOMS = 12
"""More atoms than this cannot be brought onto a lattice together."""
_LOG_FLOOR = -690.0
SMALLEST = math.exp(_LOG_FLOOR + 1e-9)
"""Smaller deltas are not told apart from this one."""
_LOG_ACCURACY = math.log(ACCURACY)


@dataclass(frozen=True)
class Engine:
    """Tails of the composed loss of `factors`."""

    factors: tuple[Term, ...]
    infinite_mass: float
    top: float
    sizes: list[int] = field(default_factory=lambda: list(_CELLS), compare=False)
    """Lattice sizes still to be tried: once one has settled, later tails start there."""
    last_order: list[float] = field(default_factory=list, compare=False)
    """Where the last epsilon had its saddle: the next one is often near by."""

    def tail_for_delta(self, delta: float) -> tuple[Tail, float] | None:
        """A tail on which the epsilon of this delta can be read, and that epsilon; None where that is the top
        of the loss, or nearly (`AT_TOP`)."""
        if self.reaches_top(delta):
            return None
        log_delta = math.log(delta - self.infinite_mass)

        def place(c: Array, k: Array) -> Array:
            # epsilon at which the integrand on this line is as large as delta
            result: Array = (k - log_delta - np.log(c * (1 + c))) / c
            return result

        start = self._order_scale(log_delta)
        log_cut = self._log_cut(log_delta)
        found = scan(self._real_up_to(log_cut), place, start, self._left_out(log_delta))
        bound = float(((found.log_bounds(0.0) - log_delta) / found.orders).min())
        if found.order * self.top > 1e9 and bound > self.top * (1 - AT_TOP):
            return None
        centre, before = min(bound, self.top), math.inf
        cells = iter(tuple(self.sizes))
        size = next(cells)
        smooth = self.smooth
        best: tuple[Tail, float] | None = None
        for _ in range(_MOST_BUILDS):
            tail = self._tail(found, centre, log_delta, size, smooth)
            epsilon, accuracy = (float(x[0]) for x in solve(tail, np.array([math.log(delta)]), self.top))
            # a contour that failed far from epsilon may do near it
            smooth = isinstance(tail, Line) or (smooth and abs(epsilon - centre) * tail.aim.order > 1)
            if best is None or epsilon < best[1]:
                best = tail, epsilon
            elif epsilon >= before:
                break  # finer is not better any more
            if accuracy < GOOD or abs(epsilon - centre) * tail.aim.order < 0.1:
                if accuracy < _POOR if isinstance(tail, Line) else tail.exact:
                    break
                if isinstance(tail, Line):
                    smooth = False  # it will not get better: see what lattices can do
                elif before - epsilon <= SETTLED * epsilon or not (larger := next(cells, 0)):
                    best = replace(tail, settled=True), min(epsilon, best[1])
                    break
                else:
                    self._outgrow(size, before)
                    before, size = epsilon, larger
            aimed, centre = centre, epsilon if math.isfinite(epsilon) else centre
            if accuracy > _FAIR and not isinstance(tail, Line):
                # far off: where one large loss alone would reach delta is a better place to look
                centre = min(centre, 1.02 * self._one_jump(delta))
                if centre == aimed:
                    break
        # the scan's own bound holds whatever became of the tails
        tail, epsilon = best if best else (tail, math.inf)
        return tail, min(epsilon, max(bound, 0.0) * (1 + 1e-9) + 1e-9 / found.order)

    def tail_for_epsilon(self, epsilon: float) -> Tail | None:
        """A tail on which delta at this epsilon can be read; None where it is below `SMALLEST`."""

        def height(c: Array, k: Array) -> Array:
            # of the integrand on this line: smallest at the saddle, however close delta is to 1
            result: Array = k - c * epsilon - np.log(c * (1 + c))
            return result

        # what may be cut depends on delta, and the bound on delta on what was cut
        log_delta, before = -12.0, math.inf
        start = self.last_order[0] if self.last_order else self._order_scale(log_delta)
        cells = iter(tuple(self.sizes))
        size = next(cells)
        smooth = self.smooth
        best: tuple[Tail, float] | None = None
        builds = 0
        for _ in range(200):
            log_cut = self._log_cut(log_delta)
            found = scan(self._real_up_to(log_cut), height, start, self._left_out(log_delta))
            start = found.order
            self.last_order[:] = [start]
            bound = max(min(float(found.log_bounds(epsilon).min()), 0.0), _LOG_FLOOR)  # finite losses
            if bound < log_delta - 4.0:
                # the bound is about the law with its tail cut off, so no smaller than what was cut; what
                # single large losses amount to is the place to look next
                jump = math.log(max(float(self._single_steps(np.array([epsilon]))[0]), TINY))
                log_delta = max(bound, min(log_delta + _LOG_ACCURACY, jump), _LOG_FLOOR)
                continue
            if bound == log_delta == _LOG_FLOOR:
                return None
            level = min(bound, log_delta) if builds else bound
            builds += 1
            tail = self._tail(found, epsilon, level, size, smooth)
            smooth = isinstance(tail, Line)
            here = np.array([epsilon])
            value, accuracy = float(tail.read(here)[0][0]), float(tail.accuracy(here)[0])
            if best is None or value < best[1]:
                best = tail, value
            elif math.isfinite(before):
                break
            charged = value < level + _LOG_ACCURACY + 7.0  # mostly the mass that was cut: cut less
            if not charged and (accuracy < GOOD or value > log_delta - 2.0):
                if isinstance(tail, Line) or tail.exact:
                    break
                if before - value <= SETTLED or not (larger := next(cells, 0)):
                    best = replace(tail, settled=True), min(value, best[1])
                    break
                self._outgrow(size, before)
                before, size = value, larger
            if builds == _MOST_BUILDS:
                break
            log_delta = max(min(value, level), _LOG_FLOOR)
        return best[0] if best else None

    def reaches_top(self, delta: float) -> bool:
        """Whether so much mass lies near the top that epsilon must. With h the distance, and m the
        probability that every step keeps within its share of h/2, delta(top - h) >= m (1 - e^{-h/2})."""
        if not 0 < self.top < math.inf:
            return False
        half = AT_TOP * self.top / 2
        share = half / sum(count for _, count in self.terms)
        log_delta, log_mass = math.log(delta), math.log(-math.expm1(-half))
        for pair, count in self.terms:
            if log_mass <= log_delta:
                return False
            highest = pair.outer_losses(1.0, -math.inf)[1]
            log_mass += count * float(pair.tails(np.array([highest - share]))[0][0])
        return log_mass > log_delta

    def _one_jump(self, delta: float) -> float:
        """Where the deltas of the single steps add up to delta."""
        return float(bisect(self._single_steps, np.array([delta]), self.top)[0])

    def _single_steps(self, epsilon: Array) -> Array:
        """The deltas of the single steps, added up."""
        total: Array = np.sum([n * pair.profile(epsilon) for pair, n in self.terms], axis=0)
        return total

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What is composed, with as few terms as may be."""
        return tuple(merged(self.factors))

    @cached_property
    def scale(self) -> float:
        """About how large the composed loss is: the sizes of its terms, added up."""
        return sum(n * pair.size for pair, n in self.terms)

    @cached_property
    def enumerated(self) -> LatticeTail | None:
        """The whole law, where all pairs are finite and there are few distinct sums."""
        terms = []
        for pair, count in self.factors:
            if not isinstance(pair, DiscretePair) or not pair.finite_atoms.loss.size:
                return None
            terms.append((pair.finite_atoms, count))
        law = compose_atoms(terms)
        if law is None:
            return None
        order = self._order_scale(-12.0)
        return tail_of_atoms(law, min(1 / order, self.top), order, self.infinite_mass)

    def _cumulant(self, log_cut: float, first: float, last: float, frequency: float = 0.0) -> CumulantSum:
        """K(z) for Re z between first and last."""
        resolution = Resolution((1 + first, 1 + last), frequency, log_cut)
        return CumulantSum([(pair.cumulant(resolution), n) for pair, n in self.terms])

    def _log_envelope(self, log_cut: float, order: float, frequency: float) -> float:
        """log of a bound on |e^{K(order + is) - K(order)}| for every s >= frequency."""
        resolution = Resolution((1 + order, 1 + order), frequency, log_cut)
        return sum(n * pair.log_envelope(resolution) for pair, n in self.terms)

    def _outgrow(self, size: int, before: float) -> None:
        """Where a lattice of this size changed the answer, later readings do without coarser ones."""
        if math.isfinite(before):
            self.sizes[:] = [cells for cells in self.sizes if cells >= size]

    def _real_up_to(self, log_cut: float) -> Callable[[float], Callable[[Array], Array]]:
        return lambda top: self._cumulant(log_cut, 0.0, top).real

    def _log_cut(self, log_delta: float) -> float:
        """The mass each step may leave out when delta is of this size."""
        return log_delta + _LOG_ACCURACY - math.log(sum(count for _, count in self.terms))

    def _left_out(self, log_delta: float) -> float:
        """The mass that all steps leave out together: infinite losses, and what was cut."""
        return self.infinite_mass + math.exp(log_delta + _LOG_ACCURACY)

    def _order_scale(self, log_delta: float) -> float:
        """The order that decides delta if the loss were Gaussian."""
        return math.sqrt(2 * max(-log_delta, 1.0) / max(self.scale, 1e-300))

    @property
    def smooth(self) -> bool:
        """Whether the contour is worth trying: some loss has no atoms."""
        return any(pair.decays for pair, _ in self.terms)

    def _tail(self, found: Scan, centre: float, log_delta: float, cells: int, smooth: bool) -> Tail:
        """The contour if it is short and accurate, else the better of it and the lattice."""
        aim = found.aim(centre, log_delta + _LOG_ACCURACY)
        here = np.array([centre])
        line: Line | None = None
        if smooth:
            log_cut = self._log_cut(log_delta)
            line = draw_line(
                lambda frequency: self._cumulant(log_cut, aim.order, aim.order, frequency),
                lambda frequency: self._log_envelope(log_cut, aim.order, frequency),
                aim,
                self._left_out(log_delta),
            )
        if line is not None:
            line = replace(line, charged=max(line.infinite - self.infinite_mass, 0.0))
            if line.accuracy(here)[0] < _FAIR:
                return line
        lattice = self._lattice(found, centre, log_delta, cells)
        lattice = replace(lattice, charged=max(lattice.infinite - self.infinite_mass, 0.0))
        if line is not None and line.read(here)[0][0] <= lattice.read(here)[0][0]:
            return line
        return lattice

    def _lattice(self, found: Scan, centre: float, log_delta: float, cells: int) -> LatticeTail:
        """The loss on a lattice of about `cells` points, or exactly where its values lie on one."""
        log_level = log_delta + _LOG_ACCURACY
        spans = [pair.span(self._log_cut(log_delta)) for pair, _ in self.terms]
        widest = max(max(high - low, 1e-12 * max(abs(high), abs(low)), 1e-300) for low, high in spans)
        # a steeper tilt would need a finer lattice than one step's losses have room for
        aim = found.aim(centre, log_level, highest=-2 * log_level / widest)
        finest = max(aim.period, widest) / MAX_CELLS
        unit = common_unit([pair for pair, _ in self.terms])
        exact = unit > finest
        atoms = [atom for pair, _ in self.terms for atom in pair.atoms]
        step = unit if exact else lattice_step(atoms, max(aim.period / cells, finest))
        laws = [
            (lattice_law(pair.tails, low, high, step), count)
            for (pair, count), (low, high) in zip(self.terms, spans, strict=True)
        ]
        tail = convolve(laws, step, aim, log_level, exact=exact)
        if tail.accuracy(np.array([centre]))[0] < _FAIR:
            return tail
        by_jumps = convolve_jumps(laws, step, aim, log_level)
        here = np.array([centre])
        return by_jumps if by_jumps and by_jumps.read(here)[0][0] < tail.read(here)[0][0] else tail


def common_unit(pairs: Sequence[Pair]) -> float:
    """The lattice on which all losses lie, or 0 if there is none."""
    units = [pair.unit for pair in pairs]
    smallest = min(units)
    ratios = [unit / smallest for unit in units] if smallest > 0 else [0.5]
    return smallest if all(abs(ratio - round(ratio)) < 1e-9 for ratio in ratios) else 0.0


def lattice_step(atoms: Sequence[float], wanted: float) -> float:
    """A lattice step of about `wanted` on which the atoms fall, or nearly: an atom between two points
    is rounded apart, and that is felt wherever delta has a kink."""
    sizes = np.unique(np.abs(np.array([atom for atom in atoms if atom])))
    if sizes.size == 0 or sizes.size > _MANY_ATOMS or sizes[-1] < wanted:
        return wanted
    first = math.ceil(sizes[-1] / wanted)
    parts = np.arange(first, 2 * first + 1)
    places = parts[:, None] * (sizes / sizes[-1])
    return float(sizes[-1]) / int(parts[np.argmin(np.abs(places - np.rint(places)).max(axis=1))])


def solve(tail: Tail, log_delta: Array, top: float) -> tuple[Array, Array]:
    """Epsilon with delta(epsilon) <= delta, by safeguarded Newton steps on log delta from the tail's
    own centre, and the tail's relative error there (infinite where it cannot tell).

    Every epsilon returned was checked to satisfy the inequality.
    """
    if isinstance(tail, Line) and log_delta.size == 1:
        quick = tail.newton(float(log_delta[0]), top)
        if quick is not None:
            return np.array([quick]), tail.accuracy(np.array([quick]))
    low, high = np.full_like(log_delta, -math.inf), np.full_like(log_delta, math.inf)
    start = tail.aim.laplace(float(log_delta[0])) if isinstance(tail, Line) else tail.aim.epsilon
    epsilon = np.full_like(log_delta, min(start, top))
    done, lost = np.zeros(log_delta.shape, dtype=bool), np.zeros(log_delta.shape, dtype=bool)
    reach = 1 / tail.aim.order  # delta changes by a factor e on this scale
    for _ in range(100):
        value, slope = tail.read(epsilon)
        meets = value <= log_delta
        high = np.where(meets & ~done, epsilon, high)
        low = np.where(meets | done, low, epsilon)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = epsilon + (log_delta - value) / slope
            # step over the root by a little, so that the next point is on the safe side
            newton += 2e-14 * np.abs(newton) + 3e-12 * reach
            outside = np.where(np.isinf(high), low + 8 * reach, high - 8 * reach)
            middle = np.where(np.isinf(high - low), outside, (low + high) / 2)
            inside = (newton > low) & (newton < high) & (np.abs(newton - epsilon) < 64 * reach)
            tight = np.isfinite(low) & (high - low <= 1e-13 * (np.abs(high) + reach))
            tight &= np.isfinite(high)
        close = meets & (log_delta - value <= 1e-11)
        # pressed against the lower end of what the tail knows
        lost |= ~done & tight & ~close & (low < tail.floor)
        done |= close | tight | (high < 0) | (low > top)
        if done.all():
            break
        epsilon = np.where(done, epsilon, np.where(inside, newton, middle))
    found = np.isfinite(high)
    accuracy = np.full_like(log_delta, math.inf)
    accuracy[found] = tail.accuracy(high[found])
    accuracy[lost] = math.inf
    return np.minimum(high, top), accuracy


def bisect(profile: Callable[[Array], Array], delta: Array, top: float) -> Array:
    """The smallest epsilon >= 0 with profile(epsilon) <= delta, to the last digits, from above."""
    low, high = np.zeros_like(delta), np.full_like(delta, min(top, 1.0))
    while (short := (profile(high) > delta) & (high < top)).any():
        low, high = np.where(short, high, low), np.where(short, np.minimum(4 * high, top), high)
    high = np.where(profile(np.zeros_like(delta)) <= delta, 0.0, high)
    for _ in range(1100):
        # geometric first: epsilon may be of any size
        middle = np.where(low > 0, np.sqrt(low) * np.sqrt(high), high * 1e-3)
        middle = np.where(high < 2 * low, (low + high) / 2, middle)
        if (high - low <= 1e-15 * high).all():
            break
        meets = profile(middle) <= delta
        low, high = np.where(meets, low, middle), np.where(meets, middle, high)
    return high
