"""The second engine: the loss on a lattice, pessimistically rounded, convolved by FFT.

Each cell of the lattice keeps its mass under P and under Q by splitting it between its two ends
("connect the dots", Doroshenko et al. 2022), which is the tightest rounding that never understates.
Lattice laws are tilted by e^{cL} before the transform, so that the small probabilities that decide delta
are computed to relative accuracy; a law whose losses lie on the lattice (randomized response) is exact.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray
from indistinct.numerics.atoms import Atoms
from indistinct.numerics.contour import GUARD, Aim, Scan
from indistinct.numerics.cumulant import log1p

MAX_CELLS = 1 << 22
_FEW = 64
_UNDERFLOW = 1e-300


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at (first + k) * step, and the P-mass moved to an infinite loss."""

    first: int
    mass: Array
    infinite: float


def lattice_law(
    tails: Callable[[Array], Sequence[Array]], low: float, high: float, step: float
) -> LatticeLaw:
    """Round a loss up to the lattice. `tails` gives log P(L>l), Q(L>l), P(L<=l), Q(L<=l)."""
    first, last = int(np.floor(low / step)) - 1, int(np.ceil(high / step)) + 1
    points: Array = step * np.arange(first, last + 1, dtype=np.float64)
    p_above, q_above, p_below, q_below = tails(points)
    p = _differences(p_above, p_below)
    q = _differences(q_above, q_below)
    # a + b = p and a e^{-l} + b e^{-l-step} = q place the cell's mass on its two ends
    upper = (p - q * np.exp(np.minimum(points[:-1], 700.0))) / -np.expm1(-step)
    upper = np.clip(upper, 0.0, p)
    mass = np.zeros(points.size)
    mass[:-1] += p - upper
    mass[1:] += upper
    mass[0] += np.exp(p_below[0])
    return LatticeLaw(first, mass, float(np.exp(p_above[-1])))


def _differences(above: Array, below: Array) -> Array:
    """Masses of the cells, from whichever side loses fewer digits."""
    from_above = -np.diff(np.exp(above))
    from_below = np.diff(np.exp(below))
    cells: Array = np.where(above[:-1] < below[:-1], from_above, from_below)
    return np.maximum(cells, 0.0)


@dataclass(frozen=True, eq=False)
class LatticeTail:
    """The law of a composed loss on a window of the lattice, tilted; read at any epsilon."""

    points: Array
    weights: Array  # P-mass, in units of e^{log_unit}
    log_unit: float
    log_error: float  # of the absolute error of a reading, plus tilt * epsilon
    tilt: float
    aim: Aim
    infinite: float
    exact: bool  # whether every loss was a lattice point
    aliases: bool = True  # whether losses outside the window appear inside it
    charged: float = 0.0  # how much of `infinite` is only mass left out
    whole: bool = False  # whether the points are all there are
    relative_error: float = 8 * EPS  # of the weights
    settled: bool = False  # whether a finer lattice would say the same, or there is none

    @property
    def floor(self) -> float:
        """Where the window begins: nothing is known below."""
        return float(self.points[0]) if not self.whole else -math.inf

    @property
    def size(self) -> int:
        """How many numbers it keeps."""
        return self.points.size

    def read(self, epsilon: Array) -> tuple[Array, Array]:
        """log of an upper bound on delta, and its derivative in epsilon.

        Between lattice points delta is linear in e^epsilon: sum_{l > epsilon} w (1 - e^{epsilon - l}).
        """
        above, below, error = self._parts(epsilon)
        value = np.maximum(above - below, 0.0) + error
        with np.errstate(divide="ignore", invalid="ignore"):
            log_finite = np.log(value) + (self.log_unit + GUARD)
            log_delta = np.logaddexp(log_finite, math.log(max(self.infinite, TINY)))
            slope = np.where(value > 0, -below / value * np.exp(log_finite - log_delta), 0.0)
        return np.where(epsilon < self.floor, 0.0, log_delta), slope

    def judged(self, epsilon: Array) -> tuple[Array, Array]:
        """log of an upper bound on delta, and its relative error, rounding to the lattice apart."""
        log_delta, _ = self.read(epsilon)
        with np.errstate(divide="ignore"):
            log_error = np.log(2 * self._parts(epsilon)[2]) + self.log_unit
        if self.aliases:
            log_error = np.logaddexp(log_error, self.aim.log_alias(epsilon))
        relative = self.aim.relative_error(epsilon, log_delta, log_error, self.charged)
        return log_delta, np.where(epsilon < self.floor, np.inf, relative)

    def accuracy(self, epsilon: Array) -> Array:
        """The relative error alone."""
        return self.judged(epsilon)[1]

    def _parts(self, epsilon: Array) -> tuple[Array, Array, Array]:
        """P(L > epsilon) and e^epsilon Q(L > epsilon), and their error."""
        mass, discounted = self._sums
        index = np.searchsorted(self.points, epsilon, side="right")
        reach = np.minimum(index, self.points.size - 1)
        above = mass[index]
        below = discounted[index] * np.exp(np.minimum(epsilon - self.points[reach], 0.0))
        noise = np.exp(np.minimum(self.log_error - self.tilt * epsilon - self.log_unit, 700.0))
        # far from its aim a tail's numbers underflow, and what was lost must not look like nothing
        lost = 0.0 if self.whole else self.size * _UNDERFLOW
        return above, below, noise + self.relative_error * np.abs(above) + lost

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """sum_{i>=j} w_i, and sum_{i>=j} w_i e^{l_j - l_i} (far terms dropped: that overstates)."""
        mass = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)
        discounted = np.zeros(mass.size)
        start, size = 0, self.points.size
        if size > 1 and float(np.diff(self.points).min()) > 40.0:
            discounted[:-1], start = self.weights, size  # the neighbours are too far to matter
        while start < size:
            end, stop = np.searchsorted(self.points, self.points[start] + np.array([300.0, 600.0]))
            offset = self.points[start:stop] - self.points[start]
            suffix = np.cumsum((self.weights[start:stop] * np.exp(-offset))[::-1])[::-1]
            discounted[start:end] = (suffix * np.exp(offset))[: end - start]
            start = int(end)
        return mass, discounted


def tail_of_atoms(atoms: Atoms, epsilon: float, order: float, infinite: float) -> LatticeTail:
    """An enumerated law, read like any other: all probabilities are positive and keep their relative
    accuracy, so it serves every epsilon."""
    aim = Aim(order, math.inf, 1.0, epsilon, Scan(np.zeros(0), np.zeros(0), order))
    rounding = EPS * (64 + 4 * math.log2(atoms.loss.size + 1))
    return LatticeTail(
        atoms.loss,
        atoms.mass,
        log_unit=0.0,
        log_error=-math.inf,
        tilt=0.0,
        aim=aim,
        infinite=infinite,
        exact=True,
        aliases=False,
        whole=True,
        relative_error=rounding,
        settled=True,
    )


def convolve(
    laws: Sequence[tuple[LatticeLaw, int]], step: float, aim: Aim, log_level: float, *, exact: bool
) -> LatticeTail:
    """Compose lattice laws and keep a window that starts a little below the aim's epsilon.

    What lies beyond the window wraps around. From below it only adds mass. The mass above may land
    below epsilon and be lost: it is bounded, made smaller than e^{log_level} if the window can grow,
    and charged to an infinite loss like every other mass cut off.
    """
    saddle = aim.order
    cells = 1 << max(4, math.ceil(math.log2(aim.period / step) - 1e-9))
    while True:
        bottom = math.floor(aim.epsilon / step) - max(2, cells // 8)
        log_missed = aim.log_beyond(step * (bottom + cells))
        if log_missed <= log_level or cells >= MAX_CELLS:
            break
        cells *= 2
    log_moment, log_finite = 0.0, 0.0
    total, once = np.zeros(cells // 2 + 1, dtype=complex), np.ones(cells // 2 + 1, dtype=complex)
    rounding, shift = 2 * EPS * math.log2(cells), 0
    for law, count in laws:
        index = law.first + np.arange(law.mass.size)
        keep = law.mass > 0
        index, mass = index[keep], law.mass[keep]
        exponent = np.log(mass) + saddle * step * index
        top = exponent.max()
        tilted = np.exp(exponent - top)
        log_moment += count * (top + np.log(tilted.sum()))
        tilted /= tilted.sum()
        # Relative to the heaviest point the transform is 1 + sum of w (e^{i...} - 1) over the others:
        # where nearly all mass is on one point, a power of it keeps its digits.
        heaviest = int(np.argmax(tilted))
        others = np.arange(index.size) != heaviest
        away, weight = index[others] - index[heaviest], tilted[others]
        if away.size <= min(_FEW, count):
            spectrum = _direct_transform(away, weight, cells)
            rounding += count * 4 * EPS * float(weight.sum())
        else:
            spectrum = np.fft.rfft(np.bincount(away % cells, weights=weight, minlength=cells))
            spread = math.log2(cells) * math.sqrt(float(np.square(weight).sum()))
            rounding += count * 2 * EPS * (spread + float(weight.sum()))
        if count == 1:
            once *= 1 + (spectrum - weight.sum())
        else:
            total += count * log1p(spectrum - weight.sum())
        shift += count * int(index[heaviest])
        log_finite += count * math.log1p(-min(law.infinite, 1 - EPS))
    infinite = math.exp(max(log_missed, -745.0)) - math.expm1(log_finite)
    spectrum = once * np.exp(total)
    window = np.fft.irfft(spectrum, cells)
    points: Array = step * (bottom + np.arange(cells, dtype=np.float64))
    window = np.roll(window, (shift - bottom) % cells)
    # The transforms err by a relative rounding in the 2-norm (Higham 2002, section 24.1), spread over the
    # window; a reading is a scalar product with e^{-cu} (1 - e^{-u}), u = l - epsilon > 0. Sixteen standard
    # deviations of that product, the cells' errors taken as independent:
    noise = rounding * float(np.sqrt(np.square(window).sum())) * min(1.0, 16 / math.sqrt(cells))
    log_error = math.log(noise) - 0.5 * math.log(step * saddle * (2 * saddle + 1) * (saddle + 1))
    log_untilt = log_moment - saddle * points
    # in units of the largest probability at epsilon or above; far below, the tilt magnifies mere noise
    above = (points >= aim.epsilon) & (window > 0)
    unit = float((np.log(window[above]) + log_untilt[above]).max(initial=-np.inf))
    unit = unit if math.isfinite(unit) else log_moment + log_error - saddle * aim.epsilon
    first = int(np.searchsorted(-(log_untilt - unit), -650.0))
    first = max(0, min(first, int(np.searchsorted(points, aim.epsilon)) - 2))
    # negative cells are rounding too: left in, they cancel the positive ones
    return LatticeTail(
        points[first:],
        window[first:] * np.exp(np.minimum(log_untilt[first:] - unit, 700.0)),
        unit,
        log_error + log_moment,
        saddle,
        aim,
        min(infinite, 1.0),
        exact,
        settled=exact,
    )


def _direct_transform(index: npt.NDArray[np.int64], weight: Array, cells: int) -> ComplexArray:
    """sum of weight e^{-2 pi i index f / cells}, for few terms more accurate than an FFT."""
    frequency = np.arange(cells // 2 + 1)
    circle = np.exp((-2j * np.pi / cells) * np.arange(cells))
    total = np.zeros(frequency.size, dtype=np.complex128)
    for i, w in zip(index, weight, strict=True):
        total += w * circle[(i * frequency) % cells]
    return total
