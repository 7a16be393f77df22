"""Bounds on delta from two laws on a lattice, one above the loss and one below, convolved by FFT.

Above: each cell keeps its mass under P and under Q by splitting it between its two ends ("connect the dots",
Doroshenko et al. 2022), the tightest rounding that never understates. Below: the cell around each point
becomes one outcome, which is post-processing and reveals no more; a little mass moves to a neighbour so that
the outcome's loss is just that point, and what cannot is rounded down. Their difference *is* the error. Both
are of second order in the step, and equal where all losses lie on the lattice.

Laws are tilted by e^{cL} before the transform, so that the small probabilities that decide delta keep their
digits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import EPS, TINY, Array
from indistinct.numerics.atoms import discounted
from indistinct.numerics.contour import Aim, LogBounds
from indistinct.numerics.cumulant import log1p
from indistinct.numerics.rule import TooFineError

MAX_CELLS = 1 << 18
_UNDERFLOW = 1e-300
_FAR = 600.0
"""A cell whose logarithm of what it tells is larger cannot be made."""
ON_POINT = 1e-9
"""Steps by which an atom may miss a lattice point that it is said to be; a reading is moved by as much."""
_HIGHER = np.array([1.25, 1.5, 2.0, 3.0])
"""Multiples of a tilt whose moments bound what lies beyond a window: each is as far again from 1."""
_TAILS = 1e-12
"""Relative error of a cell's mass, from that of the tails whose difference it is..."""
LAW, LOG_TAIL = 1e-14, 64 * EPS
"""... and of its moment of order c, over 1 + c, and so much more for the logarithm of the smallest tail:
errors of tails are weighted by differences of e^{cl} where P is placed, and of c e^{(1+c)l} where Q says how
(summation by parts). A power multiplies it by its count."""
NO_NUMBER = -745.0
"""The logarithm of a smaller tail is that of nothing."""
_TOLD = 1e-3
"""A share of a cell's mass that may be at the wrong end of it."""
_COARSEST = 1e-3
"""A tilt whose exponents are rounded by more is too steep."""

Tails = Callable[[Array], Sequence[Array]]
"""Gives log P(L > l), Q(L > l), P(L <= l) and Q(L <= l)."""


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at (first + k) * step."""

    first: int
    mass: Array
    error: float
    """Of a moment of order c, relatively, over 1 + c."""
    infinite: float = 0.0
    """The P-mass of an infinite loss."""
    below: bool = False
    """Whether it is below what it stands for, and not above."""

    def log_error(self, orders: Any, step: float) -> Any:
        """Of moments: what its tails lack or have too much, and the rounding of e^{cl}."""
        furthest = step * max(abs(self.first), abs(self.first + self.mass.size))
        return self.error * (1 + orders) + 4 * EPS * orders * furthest


def law_above(tails: Tails, low: float, high: float, step: float) -> LatticeLaw:
    """A loss rounded up to the lattice."""
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    points: Array = step * np.arange(first, last + 1, dtype=np.float64)
    p_above, q_above, p_below, q_below = tails(points)
    p = np.exp(_log_cells(p_above, p_below))
    told = np.exp(_log_cells(q_above, q_below) + points[:-1])
    # a + b = p and a e^{-l} + b e^{-l-step} = q place the cell's mass on its two ends
    upper = np.clip((p - told) / -math.expm1(-step), 0.0, p)
    mass = np.zeros(points.size)
    mass[:-1] += p - upper
    mass[1:] += upper
    mass[0] += np.exp(p_below[0])
    return LatticeLaw(first, mass, _error(p_above), float(np.exp(p_above[-1])) * (1 + _TAILS))


def law_below(tails: Tails, low: float, high: float, step: float, atoms: Sequence[float] = ()) -> LatticeLaw:
    """A loss rounded down to the lattice; what lies beyond the ends is left out."""
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    points: Array = step * np.arange(first, last + 1, dtype=np.float64)
    p_above, q_above, p_below, q_below = tails(np.append(points - step / 2, points[-1] + step / 2))
    # Q times e^l, which is as large as P where the loss is l: however large that is, both are numbers
    p, told = np.exp(_log_cells(p_above, p_below)), np.exp(_log_cells(q_above, q_below) + points)
    error, on_points = _error(p_above), np.zeros(points.size)
    # atoms that are lattice points stay what they are, whatever lies around them; several may be one point
    near = {round(atom / step) for atom in atoms if abs(atom / step - round(atom / step)) <= ON_POINT / 2}
    for k in (place - first for place in near):
        if 0 <= k < points.size:
            around = points[k] + ON_POINT * step * np.array([-1.0, 1.0])
            p_above, q_above, p_below, q_below = tails(around)
            own = math.exp(_log_cells(p_above, p_below)[0])
            log_told = float(_log_cells(q_above, q_below)[0] + points[k])
            if log_told > _FAR:
                raise TooFineError("losses too far apart for a cell around one")
            own_told = math.exp(log_told)
            p[k], told[k] = max(p[k] - own, 0.0), max(told[k] - own_told, 0.0)
            on_points[k] += own
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where((p > 0) & (told > 0), np.log(p) - np.log(told), 0.0)  # than the point, of the loss
    surplus = np.clip(p - told, -p * (math.e - 1), p * (1 - 1 / math.e)) - 4 * EPS * p * (1 + np.abs(points))
    # what lacks takes from the next cell above, what has more from the one below, until the loss is the point
    from_above = np.append(
        np.maximum(-surplus[:-1], 0.0) / np.maximum(-np.expm1(-step - more[1:]), TINY), 0.0
    )
    from_below = np.append(0.0, np.maximum(surplus[1:], 0.0) / np.maximum(np.expm1(step - more[:-1]), TINY))
    for _ in range(2):
        given = _given(from_above, from_below)
        # nobody gives much, nor to a cell that is itself in doubt
        fine = given <= 0.25 * p
        from_above[:-1][~fine[1:]] = 0.0
        from_below[1:][~fine[:-1]] = 0.0
    given = _given(from_above, from_below)
    share = np.where(p > 0, given / np.maximum(p, TINY), 0.0)
    # a cell that gives has less to make up for, and less to spare
    from_below *= np.maximum(1 - share, 0.0)
    given = _given(from_above, from_below)
    mass = np.maximum(p - given, 0.0) + from_above + from_below
    # an atom without such a neighbour takes from the heaviest cell above: very little, since that is far away
    lacks = np.flatnonzero((surplus < 0) & (from_above == 0) & (p > 0))
    donor = _heaviest_above(p)[lacks]
    wanted = -surplus[lacks] / np.maximum(-np.expm1(points[lacks] - points[donor] - more[donor]), TINY)
    wanted[(donor == lacks) | (np.bincount(donor, wanted, p.size) + given > 0.25 * p)[donor]] = 0.0
    mass[lacks] += wanted
    mass -= np.bincount(donor, wanted, p.size)
    # what still lacks is rounded down by one point
    down = np.zeros(p.size)
    down[lacks] = np.where(wanted > 0, 0.0, mass[lacks])
    mass = (mass - down) + np.append(down[1:], 0.0)
    return LatticeLaw(first, (mass + on_points) * (1 - _TAILS), error, below=True)


def _given(from_above: Array, from_below: Array) -> Array:
    """What each cell gives to its neighbours, from what these take."""
    given: Array = np.append(0.0, from_above[:-1]) + np.append(from_below[1:], 0.0)
    return given


def _error(log_tail: Array) -> float:
    """Of a law, from its tail above."""
    return LAW + LOG_TAIL * -float(log_tail.min(where=log_tail > NO_NUMBER, initial=0.0))


def _heaviest_above(mass: Array) -> npt.NDArray[np.intp]:
    """For each cell the heaviest of those above it, the highest if there are several; the last, of itself."""
    turned = mass[::-1]
    record = np.maximum.accumulate(turned)
    best = np.maximum.accumulate(np.where(turned == record, np.arange(mass.size), 0))[::-1]
    return mass.size - 1 - np.append(best[1:], 0)


def _log_cells(above: Array, below: Array) -> Array:
    """Logarithms of the masses of cells, from whichever side loses fewer digits."""
    upper = above[:-1] < below[:-1]
    larger, smaller = np.where(upper, above[:-1], below[1:]), np.where(upper, above[1:], below[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        cells: Array = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
    return np.where(larger > -math.inf, cells, -math.inf)


@dataclass(frozen=True, eq=False)
class LatticeWindow:
    """A composed lattice law near one place, untilted."""

    points: Array
    weights: Array  # P-mass, in units of e^{log_unit}
    log_unit: float
    log_error: float  # of the absolute error of a reading, plus tilt * epsilon
    tilt: float
    missed: float = 0.0  # P-mass beyond the window, and of infinite losses
    rounding: float = 0.0  # of a weight, relatively
    blurred: float = 0.0  # of what is above epsilon, relatively: where laws place their mass is rounded too
    misplaced: int = 1  # by how many points, in all, that may be below where it should be
    aliases: tuple[Array, Array, float] = (np.zeros(0), np.zeros(0), 0.0)
    """Orders, logarithms of what bounds aliases from the right, and of those from the left."""

    def log_alias(self, epsilon: Array) -> Array:
        """log of a bound on what wraps around: Chernoff's for these very laws, delta <= 1 on the left."""
        orders, right, left = self.aliases
        alias: Array = np.logaddexp((right - orders * epsilon[:, None]).min(axis=1), left)
        return alias

    def read(self, epsilon: Array) -> tuple[Array, Array, Array]:
        """P(L > epsilon), e^epsilon Q(L > epsilon) and their error, in units of e^{log_unit}: delta is the
        difference, linear in e^epsilon between lattice points."""
        mass, discounted = self._sums
        index = np.searchsorted(self.points, epsilon, side="right")
        reach = np.minimum(index, self.points.size - 1)
        above = mass[index]
        below = discounted[index] * np.exp(np.minimum(epsilon - self.points[reach], 0.0))
        log_noise = self.log_error - self.tilt * epsilon - self.log_unit
        noise = np.where(log_noise < 700.0, np.exp(np.minimum(log_noise, 700.0)), math.inf)
        # far from its aim a tail's numbers underflow, and what was lost must not look like nothing
        # what lies in a cell with epsilon may belong to either of its ends
        lost = 8 * EPS * np.abs(above) + self.blurred * np.abs(mass[np.maximum(index - self.misplaced, 0)])
        lost = np.where(index < self.misplaced, math.inf, lost)
        return above, below, noise + lost + self.points.size * _UNDERFLOW

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """sum_{i>=j} w_i, and sum_{i>=j} w_i e^{l_j - l_i}."""
        mass = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)
        return mass, np.append(discounted(self.points, self.weights), 0.0)


@dataclass(frozen=True, eq=False)
class LatticeTail:
    """The law of a composed loss between two lattice laws."""

    final: ClassVar[bool] = False

    above: LatticeWindow
    below: LatticeWindow
    aim: Aim
    infinite: float  # P-mass of infinite losses
    moved: float  # by which losses below may be rounded up after all

    def read(self, epsilon: Array) -> LogBounds:
        with np.errstate(divide="ignore", invalid="ignore"):
            above, below, error = self.above.read(epsilon)
            value = np.maximum(above - below, 0.0) * (1 + self.above.rounding) + error
            extra = math.log(max(self.above.missed, TINY))
            finite = np.log(value) + self.above.log_unit
            high = np.logaddexp(finite, extra)
            slope = -below / value * np.exp(finite - high)
            above, below, error = self.below.read(epsilon + self.moved)
            aliases = np.exp(np.minimum(self.below.log_alias(epsilon) - self.below.log_unit, 700.0))
            least = (above - below) * (1 - self.below.rounding) - error - aliases
            low = np.log(np.maximum(least, 0.0)) + self.below.log_unit
        low = np.logaddexp(low, math.log(self.infinite)) if self.infinite else low
        # nothing is known below the window
        known = epsilon >= max(self.above.points[0], self.below.points[0])
        return LogBounds(
            np.where(known, low, -math.inf),
            np.where(known, np.minimum(high, 0.0), 0.0),
            np.where(known & np.isfinite(slope), slope, 0.0),
        )

    def guess(self, log_delta: Array) -> Array:
        return np.full_like(log_delta, self.aim.epsilon)


def convolve(
    laws: Sequence[tuple[LatticeLaw, int]], step: float, aim: Aim, log_level: float
) -> LatticeWindow:
    """Compose lattice laws and keep a window that starts a little below the aim's epsilon.

    What lies beyond the window wraps around: it adds mass (`log_alias`), and from above it may land below
    epsilon and be lost. Both are bounded by Chernoff's inequality for these very laws.
    """
    tilt = aim.order
    tilted = [_tilted(law, tilt * step) for law, _ in laws]
    cells = 1 << max(4, math.ceil(math.log2(aim.period / step) - 1e-9))
    orders = tilt * _HIGHER
    moments = np.zeros(orders.size)
    for law, n in laws:
        higher = np.array([_tilted(law, order * step)[1] for order in orders.tolist()])
        moments += n * (higher + law.log_error(orders, step))
    while True:
        bottom = math.floor(aim.epsilon / step) - max(2, cells // 8)
        end = step * (bottom + cells)
        log_missed = min(0.0, float((moments - orders * end).min()))
        if log_missed <= log_level or cells >= MAX_CELLS:
            break
        cells *= 2
    log_cells = math.log2(cells)
    spectrum: npt.NDArray[np.complex128] = np.zeros(cells // 2 + 1, dtype=np.complex128)
    log_moment, log_finite, shift, spread, steps = 0.0, 0.0, 0, 0.0, 0
    for (law, count), (mass, log_total) in zip(laws, tilted, strict=True):
        lacks = law.log_error(tilt, step)
        log_moment += count * (log_total - lacks if law.below else log_total + lacks)
        # relative to the heaviest point the transform is 1 + sum of w (e^{i...} - 1) over the others: where
        # nearly all mass is on one point, a power of it keeps its digits
        heaviest = int(np.argmax(mass))
        others = mass.copy()
        others[heaviest] = 0.0
        index = (np.arange(mass.size) - heaviest) % cells
        away = np.fft.rfft(np.bincount(index, weights=others, minlength=cells))
        spectrum += count * log1p(away - others.sum())
        shift += count * (law.first + heaviest)
        spread += count * (math.sqrt(float(np.square(others).sum())) * log_cells + float(others.sum()))
        steps += count
        log_finite += count * math.log1p(-min(law.infinite, 1 - EPS))
    window = np.roll(np.fft.irfft(np.exp(spectrum), cells), (shift - bottom) % cells)
    points: Array = step * (bottom + np.arange(cells, dtype=np.float64))
    # Transforms err by at most 4 eps log2(cells) in the 2-norm (Higham 2002, Theorem 24.2), which powers
    # multiply by their count. A reading is a scalar product with e^{-cu} (1 - e^{-u}), u = l - epsilon > 0:
    # Cauchy and Schwarz.
    size = math.sqrt(float(np.square(window).sum()))
    noise = 4 * EPS * (spread + (log_cells + steps) * size)
    square = 1 / (step * tilt * (2 * tilt + 1) * (tilt + 1)) + 1 / (1 + tilt) ** 2
    log_error = math.log(noise) + 0.5 * math.log(square)
    log_untilt = log_moment - tilt * points
    rounding = 4 * EPS * float(np.abs(log_untilt[[0, -1]]).max() + abs(log_moment))
    if not rounding < _COARSEST:
        raise TooFineError(f"a tilt of {tilt}")
    # in units of the largest probability at epsilon or above; far below, the tilt magnifies mere noise
    above = (points >= aim.epsilon) & (window > 0)
    unit = float((np.log(window[above]) + log_untilt[above]).max(initial=-np.inf))
    unit = unit if math.isfinite(unit) else log_moment + log_error - tilt * aim.epsilon
    first = int(np.searchsorted(-(log_untilt - unit), -650.0))
    first = max(0, min(first, int(np.searchsorted(points, aim.epsilon)) - 2))
    # negative cells are rounding too: left in, they cancel the positive ones
    weights = window[first:] * np.exp(np.minimum(log_untilt[first:] - unit, 700.0))
    missed = min(math.exp(max(log_missed, -745.0)) - math.expm1(log_finite), 1.0)
    gap, fall = (orders - tilt) * step * cells, tilt * step * cells
    aliases = orders, moments - gap - np.log(-np.expm1(-gap)), -fall - math.log(-math.expm1(-fall))
    kept = points[first:], weights, unit, log_error + log_moment, tilt
    # of a narrow cell nobody knows at which of its ends the mass is, and so of each step's
    misplaced = 1 if LOG_TAIL * steps < _TOLD * step else steps
    return LatticeWindow(*kept, missed, rounding, LOG_TAIL * steps, misplaced, aliases)


def _tilted(law: LatticeLaw, tilt: float) -> tuple[Array, float]:
    """The masses times e^{tilt index}, made to add up to 1, and the logarithm of their sum."""
    with np.errstate(divide="ignore"):
        exponent = np.log(law.mass) + tilt * (law.first + np.arange(law.mass.size))
    top = float(exponent.max())
    mass = np.exp(exponent - top)
    total = float(mass.sum())
    return mass / total, top + math.log(total)
