"""Composition in one direction: the product of directed pairs, read through the engines.

Cumulants add (adaptively too: the product pair dominates, Zhu, Dong and Wang 2022, Theorem 10), so a
composition is a table pair -> count and costs the same for one step and for a billion.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.noise_pairs import GaussianPair
from indistinct.guarantees.pair import Pair, Resolution
from indistinct.numerics.arrays import TINY, Array
from indistinct.numerics.contour import ACCURACY, Aim, Line, Scan, draw_line, scan
from indistinct.numerics.cumulant import CumulantSum
from indistinct.numerics.lattice import MAX_CELLS, LatticeTail, convolve, lattice_law
from indistinct.numerics.normal import gaussian_epsilon

Term = tuple[Pair, int]
Tail = Line | LatticeTail

_CELLS = 1 << 18
_GOOD = 1e-9
"""A tail is reused for another reading while its relative error there stays below this."""
_FAIR = 1e-7
"""A contour less accurate than this is compared with the lattice."""
_AT_THE_TOP = 1e9
"""An order beyond this over the largest loss means that epsilon is that loss to nine digits."""
_LOG_FLOOR = -690.0
"""Smaller deltas are not told apart from e to this power."""


@dataclass(frozen=True)
class Product:
    """Independent losses, each with a count; equal pairs merged, Gaussian shifts added in square."""

    terms: tuple[Term, ...]
    _tails: list[Tail] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, terms: list[Term]) -> "Product":
        counts: dict[Pair, int] = {}
        square = 0.0
        for pair, count in terms:
            if isinstance(pair, GaussianPair):
                square += count * pair.shift**2
            elif count:
                counts[pair] = counts.get(pair, 0) + count
        merged = list(counts.items())
        if square or not merged:
            merged.append((GaussianPair(math.sqrt(square)), 1))
        return cls(tuple(merged))

    def reverse(self) -> "Product":
        return Product.of([(pair.reverse(), count) for pair, count in self.terms])

    @property
    def infinite_mass(self) -> float:
        """Probability, under P, of an infinite loss somewhere."""
        log_finite = sum(
            count * math.log1p(-pair.infinite_mass) if pair.infinite_mass < 1 else -math.inf
            for pair, count in self.terms
        )
        return -math.expm1(log_finite)

    @property
    def single(self) -> Pair | None:
        """The pair, if there is just one: its profile is known in closed form."""
        (pair, count), *more = self.terms
        return pair if count == 1 and not more else None

    @property
    def loss_range(self) -> tuple[float, float]:
        ranges = [(pair.loss_range, count) for pair, count in self.terms]
        return sum(n * low for (low, _), n in ranges), sum(n * high for (_, high), n in ranges)

    def log_moment(self, order: float) -> float:
        """log E_Q[(dP/dQ)^order] over finite losses."""
        return sum(count * pair.log_moment(order) for pair, count in self.terms)

    def mean(self) -> float:
        return sum(count * pair.mean() for pair, count in self.terms)

    def delta(self, epsilon: Array) -> Array:
        """An upper bound on delta at each epsilon (a flat array, any sign)."""
        if self.single is not None:
            return _clean(self.single.profile(epsilon))
        result = np.full(epsilon.shape, np.nan)
        for k in np.argsort(-epsilon):
            if np.isnan(result[k]):
                self._read_around(result, epsilon, float(epsilon[k]))
        return result

    def _read_around(self, result: Array, epsilon: Array, target: float) -> None:
        """Fill in delta at `target` and wherever else the same tail is accurate."""
        top = self.loss_range[1]
        beyond = epsilon >= top
        result[beyond] = self.infinite_mass
        if target >= top:
            return
        for attempt in range(2):
            for tail in self._tails if attempt == 0 else [self._tail_at(target)]:
                open_ = np.flatnonzero(np.isnan(result))
                log_delta, _, accuracy = tail.read(epsilon[open_])
                good = accuracy < _GOOD
                if attempt:
                    good |= epsilon[open_] == target
                result[open_[good]] = np.clip(np.exp(log_delta[good]), TINY, 1.0)
                if not np.isnan(result[epsilon == target]).any():
                    return

    def epsilon(self, delta: Array) -> Array:
        """An upper bound on the smallest epsilon >= 0 for each delta (a flat array)."""
        result = np.full(delta.shape, np.nan)
        result[delta <= self.infinite_mass] = math.inf
        top = max(self.loss_range[1], 0.0)
        if math.isfinite(top):
            result[(delta == self.infinite_mass)] = top
        result[delta >= 1] = 0.0
        single = self.single
        if isinstance(single, GaussianPair) and single.shift > 0:
            open_ = np.isnan(result)
            result[open_] = gaussian_epsilon(single.shift, delta[open_])
            return result
        if top == 0.0:
            result[np.isnan(result)] = 0.0
        if single is not None:
            open_ = np.isnan(result)
            result[open_] = bisect(single.profile, delta[open_], top)
            return result
        for k in np.argsort(delta):
            if np.isnan(result[k]):
                self._solve_around(result, delta, float(delta[k]))
        return np.minimum(result, top)

    def _solve_around(self, result: Array, delta: Array, target: float) -> None:
        """Fill in epsilon for `target` and wherever else the same tail is accurate."""
        log_delta, top = math.log(target), self.loss_range[1]
        found = self._scan_for(log_delta)
        if found.order * top > _AT_THE_TOP and math.isfinite(top):
            result[delta == target] = top
            return
        open_ = np.flatnonzero(np.isnan(result))
        here = delta[open_] == target
        best, centre = math.inf, min(found.best, top)
        for _ in range(4):
            tail = self._tail(found, centre, log_delta)
            epsilon, accuracy = solve(tail, np.log(delta[open_]), top)
            best = min(best, float(epsilon[here][0]))
            # a tail aimed too far from the answer is less accurate than one aimed at it
            if accuracy[here][0] < _GOOD or abs(best - centre) * tail.aim.order < 0.1:
                break
            centre = best
        epsilon = np.where(here, best, epsilon)
        done = (accuracy < _GOOD) | here
        result[open_[done]] = np.maximum(epsilon[done], 0.0)

    # -- choosing and building a tail -----------------------------------------------------------

    def _cumulant(
        self, log_cut: float, first: float, last: float, frequency: float = 0.0
    ) -> CumulantSum:
        """K(z) for Re z between first and last."""
        resolution = Resolution((1 + first, 1 + last), frequency, log_cut)
        return CumulantSum([(pair.cumulant(resolution), n) for pair, n in self.terms])

    def _log_cut(self, log_delta: float) -> float:
        """The mass each step may leave out when delta is of this size."""
        return log_delta + math.log(ACCURACY) - math.log(sum(count for _, count in self.terms))

    def _order_scale(self, log_delta: float) -> float:
        variance = 2 * sum(n * min(pair.finite_mean, 1e300) for pair, n in self.terms)
        return math.sqrt(2 * max(-log_delta, 1.0) / max(variance, 1e-300))

    def _scan_for(self, log_delta: float) -> Scan:
        """The cumulant around the order that decides this delta; `best` bounds its epsilon."""

        def conversion(c: Array, k: Array) -> Array:
            # epsilon of the Rényi bound at order 1 + c (Canonne, Kamath and Steinke 2020, Prop. 12)
            result: Array = (k - log_delta + c * np.log(c / (1 + c)) - np.log1p(c)) / c
            return result

        start = self._order_scale(log_delta)
        cumulant = self._cumulant(self._log_cut(log_delta), 0.0, 16 * start)
        return scan(cumulant.real, conversion, start)

    def _tail_at(self, epsilon: float) -> Tail:
        """A tail on which delta at this epsilon can be read."""

        def chernoff(c: Array, k: Array) -> Array:
            result: Array = k - c * epsilon + c * np.log(c / (1 + c)) - np.log1p(c)
            return result

        # what may be cut depends on delta, and the bound on delta on what was cut
        log_delta = -12.0
        start = self._order_scale(log_delta)
        for _ in range(8):
            cumulant = self._cumulant(self._log_cut(log_delta), 0.0, 16 * start)
            found = scan(cumulant.real, chernoff, start)
            bound = max(min(found.best, 0.0), _LOG_FLOOR)
            settled = bound > log_delta - 4.0
            log_delta = bound
            if settled:
                tail = self._tail(found, epsilon, log_delta)
                value, _, accuracy = tail.read(np.array([epsilon]))
                if accuracy[0] < _GOOD or value[0] > log_delta - 2.0:
                    break
                log_delta = max(float(value[0]), _LOG_FLOOR)
        return tail

    def _tail(self, found: Scan, centre: float, log_delta: float) -> Tail:
        """The contour if it is short and accurate, else the better of it and the lattice."""
        aim = found.aim(centre, log_delta + math.log(ACCURACY))
        here = np.array([centre])
        tail: Tail | None = None
        if any(pair.decays for pair, _ in self.terms):
            log_cut = self._log_cut(log_delta)
            tail = draw_line(
                lambda frequency: self._cumulant(log_cut, aim.order, aim.order, frequency),
                aim,
                self.infinite_mass + math.exp(log_delta + math.log(ACCURACY)),
            )
        if tail is None or tail.read(here)[2][0] > _FAIR:
            lattice = self._lattice(aim, log_delta)
            if tail is None or lattice.read(here)[0][0] < tail.read(here)[0][0]:
                tail = lattice
        self._tails.append(tail)
        return tail

    def _lattice(self, aim: Aim, log_delta: float) -> LatticeTail:
        """The loss on a lattice of about 2^18 points, or exactly where all its values lie on one."""
        spans = [pair.span(self._log_cut(log_delta)) for pair, _ in self.terms]
        widest = max(high - low for low, high in spans)
        step = lattice_step(
            [atom for pair, _ in self.terms for atom in pair.atoms],
            max(aim.period / _CELLS, widest / MAX_CELLS),
            exact=all(isinstance(pair, DiscretePair) for pair, _ in self.terms),
        )
        laws = [
            (lattice_law(pair.tails, low, high, step), count)
            for (pair, count), (low, high) in zip(self.terms, spans, strict=True)
        ]
        return convolve(laws, step, aim, math.exp(log_delta + math.log(ACCURACY)))


def lattice_step(atoms: list[float], wanted: float, *, exact: bool) -> float:
    """A lattice step near `wanted` on which the atoms fall, if they have a common measure."""
    sizes = [abs(atom) for atom in atoms if atom]
    unit = min(sizes, default=0.0)
    if unit > wanted and all(abs(size / unit - round(size / unit)) < 1e-9 for size in sizes):
        return unit if exact else unit / math.ceil(unit / wanted)
    return wanted


def solve(tail: Tail, log_delta: Array, top: float) -> tuple[Array, Array]:
    """Epsilon with delta(epsilon) <= delta, by safeguarded Newton steps on log delta from the tail's
    own centre, and the tail's relative error there (infinite where it cannot tell).

    Every epsilon returned was checked to satisfy the inequality.
    """
    low, high = np.full_like(log_delta, -math.inf), np.full_like(log_delta, math.inf)
    epsilon = np.full_like(log_delta, min(tail.aim.epsilon, top))
    done = np.zeros(log_delta.shape, dtype=bool)
    reach = 1 / tail.aim.order  # delta changes by a factor e on this scale
    for _ in range(100):
        value, slope, _ = tail.read(epsilon)
        meets = value <= log_delta
        high = np.where(meets & ~done, epsilon, high)
        low = np.where(meets | done, low, epsilon)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = epsilon + (log_delta - value) / slope
            # step over the root by a little, so that the next point is on the safe side
            newton += 2e-14 * np.abs(newton) + 1e-13 * reach
            outside = np.where(np.isinf(high), low + 8 * reach, high - 8 * reach)
            middle = np.where(np.isinf(high - low), outside, (low + high) / 2)
            inside = (newton > low) & (newton < high) & (np.abs(newton - epsilon) < 64 * reach)
            tight = np.isfinite(low) & (high - low <= 1e-13 * (np.abs(high) + reach))
            tight &= np.isfinite(high)
        done |= (meets & (log_delta - value <= 4e-12)) | tight | (high < 0) | (low > top)
        if done.all():
            break
        epsilon = np.where(done, epsilon, np.where(inside, newton, middle))
    found = np.isfinite(high)
    accuracy = np.full_like(log_delta, math.inf)
    accuracy[found] = tail.read(high[found])[2]
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


def _clean(delta: Array) -> Array:
    return np.clip(delta, TINY, 1.0)
