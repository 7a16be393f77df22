"""Composition by plain convolution: no transform, no contour, no code of the library under test.

A step is a list of losses with their probabilities (`losses.py`).

`Lattice` puts it on multiples of h by K-point Lagrange weights, which keep K - 1 moments, raises it to its
count by doubling, and reads delta at a multiple of h, the kink corrected by Euler-Maclaurin. The error falls
like h^K where the composed law is smooth near epsilon; it is measured by computing again (`tight`).

`bracket` rounds the same law to two sides: up to a profile above it (the chords of the profile, "connect the
dots"), down to one below it (chords lowered until they lie below). Both are true bounds, less sharp.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

# -- the tight estimate --------------------------------------------------------------------------------------


def lagrange(at, points):
    """Weights of the nearest `points` (odd) integers that keep the moments; first integer, and weights."""
    centre = np.rint(at)
    t, half = at - centre, points // 2
    offsets = np.arange(-half, half + 1)
    scale = np.array([np.prod([float(i - j) for j in offsets if j != i]) for i in offsets])
    gaps = t[:, None] - offsets
    before = np.cumprod(np.concatenate((np.ones((t.size, 1)), gaps[:, :-1]), 1), 1)
    after = np.cumprod(np.concatenate((np.ones((t.size, 1)), gaps[:, :0:-1]), 1), 1)[:, ::-1]
    return centre.astype(int) - half, before * after / scale


@dataclass
class Law:
    """Masses under P at (start + i) h; beyond the window's top only the masses under P and Q."""

    start: int
    p: np.ndarray
    over_p: float
    over_q: float


class Lattice:
    def __init__(self, h, low, high, points, tilt, drop):
        self.h, self.top, self.points, self.tilt, self.drop = h, round(high / h), points, tilt, drop
        self.low = low

    def put(self, step, far):
        """One step on the lattice."""
        (loss, p, _), over = step.quadrature(self.h, self.low, self.top * self.h, far)
        first, weights = lagrange(loss / self.h, self.points)
        start, end = int(first.min()), int(first.max()) + self.points
        index = (first - start)[:, None] + np.arange(self.points)
        mass = np.bincount(index.ravel(), (weights * p[:, None]).ravel(), minlength=end - start)
        return Law(start, mass, *over)

    def together(self, a, b):
        p = np.convolve(a.p, b.p)
        start = a.start + b.start
        over_p = a.over_p + b.over_p - a.over_p * b.over_p
        over_q = a.over_q + b.over_q - a.over_q * b.over_q
        cut = max(self.top - start, 1)
        if cut < p.size:
            beyond = p[cut:]
            over_p += beyond.sum()
            over_q += (beyond * np.exp(-self.h * (start + cut + np.arange(beyond.size)))).sum()
            p = p[:cut]
        weight = np.cumsum(np.abs(p) * np.exp(self.tilt * self.h * (np.arange(p.size) - p.size)))
        lost = int(np.searchsorted(weight, self.drop * weight[-1]))
        return Law(start + lost, p[lost:], over_p, over_q)

    def power(self, law, count):
        result, square = None, law
        while True:
            if count & 1:
                result = square if result is None else self.together(result, square)
            count >>= 1
            if not count:
                return result
            square = self.together(square, square)

    def composed(self, terms, far):
        laws = [self.power(self.put(step, far), count) for step, count in terms]
        total = laws[0]
        for law in laws[1:]:
            total = self.together(total, law)
        return total

    def delta(self, law, index):
        """delta at index * h, and Q(L > index h): minus the slope over e^epsilon."""
        i = index - law.start
        above = law.p[max(i, 0) :]
        gap = self.h * (np.arange(above.size) + max(-i, 0))
        tail = (above * -np.expm1(-gap)).sum() + law.over_p - math.exp(index * self.h) * law.over_q
        around = np.zeros(17)
        for k in range(-8, 9):
            if 0 <= i + k < law.p.size:
                around[k + 8] = law.p[i + k] * -math.expm1(-k * self.h)
        tail += CORRECTION @ around
        count = np.exp(-self.h * (index + np.arange(above.size)))
        q_above = (above * count).sum() - (above[0] * count[0] / 2 if i >= 0 else 0.0) + law.over_q
        return float(tail), float(q_above)


def _correction():
    """Euler-Maclaurin at the kink: sum of B_2k/(2k)! times odd derivatives, from 17 central values."""
    k = np.arange(-8, 9)
    from fractions import Fraction

    rows = [[Fraction(int(x)) ** n for x in k] for n in range(17)]
    weights = np.zeros(17)
    for order, factor in (
        (1, Fraction(1, 12)),
        (3, Fraction(-1, 720)),
        (5, Fraction(1, 30240)),
        (7, Fraction(-1, 1209600)),
        (9, Fraction(1, 47900160)),
    ):
        target = [Fraction(0)] * 17
        target[order] = Fraction(math.factorial(order))
        weights += np.array([float(factor * v) for v in _solve(rows, target)])
    return weights


def _solve(rows, target):
    """Exact elimination."""
    matrix = [[*row, value] for row, value in zip(rows, target, strict=True)]
    size = len(matrix)
    for i in range(size):
        pivot = next(r for r in range(i, size) if matrix[r][i] != 0)
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [v / matrix[i][i] for v in matrix[i]]
        for r in range(size):
            if r != i and matrix[r][i] != 0:
                factor = matrix[r][i]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[i], strict=True)]
    return [row[-1] for row in matrix]


CORRECTION = _correction()


# -- choosing the lattice, and measuring the error --------------------------------------------------------


class Cumulant:
    """log E_P e^(c L) of a whole composition, for windows and tilts only: never for an answer."""

    def __init__(self, terms, far):
        self.parts = []
        for step, count in terms:
            (loss, p, _), _ = step.quadrature(1e3, -math.inf, math.inf, far)
            keep = p > 0
            self.parts.append((loss[keep], np.log(p[keep]), count))

    def __call__(self, c):
        return sum(n * logsumexp(log_p + c * loss) for loss, log_p, n in self.parts)

    def tilts(self):
        return np.exp(np.linspace(math.log(0.02), math.log(3e5), 120))

    def top(self):
        return sum(n * loss.max() for loss, _, n in self.parts)

    def epsilon_above(self, log_delta):
        """A loss that is exceeded with at most this probability (Chernoff)."""
        return min(self.top(), *((self(c) - log_delta) / c for c in self.tilts()))

    def saddle(self, epsilon):
        return min(self.tilts(), key=lambda c: self(c) - c * epsilon)

    def log_below(self, level):
        """log P(L < level), at most."""
        return min(0.0, *(self(-c) + c * level for c in self.tilts()))

    def floor(self, tilt, log_drop):
        """A loss of one step below which the tilted law hardly goes."""
        low = 0.0
        for loss, log_p, _ in self.parts:
            order = np.argsort(loss)
            tilted = log_p[order] + tilt * loss[order]
            total = np.logaddexp.accumulate(tilted)
            keep = np.searchsorted(total, total[-1] + log_drop)
            low = min(low, loss[order][min(keep, loss.size - 1)])
        return low - 1e-12


def far_for(terms, log_mass):
    """Standard deviations beyond which all steps together are seen with less than this probability."""
    total = math.log(sum(n for _, n in terms))
    far = 1.0
    while log_ndtr(-far) + total > log_mass:
        far += 0.25
    return far


MOST_CELLS = 60_000


@dataclass
class Estimate:
    delta: float
    error: float
    q_above: float
    cells: int


def run(terms, epsilon, h, points, log_delta, strict):
    """One direction on one lattice."""
    far = far_for(terms, log_delta - 30 - strict)
    cumulant = Cumulant(terms, far)
    tilt = cumulant.saddle(epsilon)
    spare = min(log_delta - (cumulant(tilt) - tilt * epsilon), 0.0)  # how far Chernoff is off
    steps = sum(n for _, n in terms)
    log_drop = spare - 32 - strict - math.log(steps)
    low = cumulant.floor(tilt, log_drop)
    above = cumulant.epsilon_above(log_delta - 30 - strict)
    high = min(above, epsilon + 0.8 * MOST_CELLS * h)
    high = max(high, epsilon + 20 * h)
    low = max(low, -MOST_CELLS * h)
    lattice = Lattice(h, low, high, points, tilt, math.exp(max(log_drop, -700)))
    law = lattice.composed(terms, far)
    leak = 0.0
    if high < above and law.over_p > 0:
        leak = law.over_p * math.exp(cumulant.log_below(epsilon - high))
    return lattice, law, leak


def both(terms):
    return [terms, [(step.reverse(), n) for step, n in terms]]


def pilot(terms, delta, near=None):
    """About the epsilon that goes with delta, by a coarse lattice: the larger of both directions."""
    log_delta = math.log(delta)
    found = []
    for direction in both(terms):
        far = far_for(direction, log_delta - 20)
        reach = max(Cumulant(direction, far).epsilon_above(log_delta), 1e-12)
        for _ in range(8):
            h = reach / 1500
            lattice, law, _ = run(direction, reach / 2, h, 11, log_delta, 0.0)
            low, high = 0, 1500
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if lattice.delta(law, middle)[0] > delta else (low, middle)
            if low >= 60 or lattice.delta(law, 0)[0] <= delta:
                break
            reach = max(low, 1) * h * 6
        found.append(low * h)
    return max(found)


def smoothness(terms, epsilon):
    """A length over which the composed law changes, from its tilted variance; a first guess only."""
    far = far_for(terms, -40)
    cumulant = Cumulant(terms, far)
    c = cumulant.saddle(epsilon)
    variance = 0.0
    for loss, log_p, n in cumulant.parts:
        weight = np.exp(log_p + c * loss - logsumexp(log_p + c * loss))
        mean = (weight * loss).sum()
        variance += n * (weight * (loss - mean) ** 2).sum()
    return math.sqrt(variance)


def directed(terms, epsilon, log_delta, aim=1e-10, floor=0.0):
    """delta in one direction; computed on finer lattices until two with other points agree. Below `floor`
    no digits are wanted."""
    if Cumulant(terms, far_for(terms, log_delta - 40)).top() <= epsilon:
        return Estimate(0.0, 0.0, 0.0, 0)
    count = max(40, math.ceil(12 * epsilon / max(smoothness(terms, epsilon), epsilon / 100)))
    best, error, spread = None, math.inf, 0.0
    for attempt in range(16):
        points, strict = (11, 13, 15)[attempt % 3], (attempt * 2.5) % 7
        h = epsilon / count
        if best is not None and spread / h > MOST_CELLS:
            break
        lattice, law, leak = run(terms, epsilon, h, points, log_delta, strict)
        value, q_above = lattice.delta(law, count)
        spread = law.p.size * h
        if best is not None:
            error = abs(value - best) * 2 + leak
            if error <= aim * abs(value) or max(abs(value), abs(best)) < floor:
                break
        best = value
        count = math.ceil(count * 1.45)
    return Estimate(value, error + 2e-12 * abs(value), q_above, law.p.size)


def tight(terms, epsilon, delta_about, aim=1e-10):
    """delta at epsilon, the worse direction; it must lie between what two-sided rounding gives."""
    log_delta = math.log(delta_about)
    forward, backward = both(terms)
    first = directed(forward, epsilon, log_delta, aim)
    second = directed(backward, epsilon, log_delta, aim, floor=0.9 * first.delta)
    forward_is_worse = first.delta >= second.delta
    worse = first if forward_is_worse else second
    low, high = bracket(forward if forward_is_worse else backward, 1000, epsilon, log_delta)
    if not low * (1 - 1e-9) <= worse.delta <= high * (1 + 1e-9):
        raise ArithmeticError(f"{worse} is not in [{low}, {high}] at epsilon {epsilon}")
    return worse


# -- rounding to two sides -------------------------------------------------------------------------------


def rounded_up(loss, p, h):
    """Every loss split between its two neighbours on the lattice so that P and Q are kept: a pair that
    dominates (Doroshenko et al. 2022)."""
    below = np.floor(loss / h).astype(int)
    share = np.clip(np.expm1(below * h - loss) / math.expm1(-h), 0.0, 1.0)
    start = int(below.min())
    mass = np.bincount(below - start, p * (1 - share), minlength=below.max() - start + 2)
    return start, mass + np.bincount(below + 1 - start, p * share, minlength=mass.size)


def rounded_down(loss, p, q, h):
    """Outcomes merged, in order and in parts, until P/Q is a power of e^h: what is computed from the outcome
    is dominated by it. What is left at the top loses some of P."""
    order = np.argsort(loss)
    found: dict[int, float] = {}
    target = math.floor(loss[order[0]] / h) + 1
    grown, sum_p, sum_q = math.exp(target * h), 0.0, 0.0
    for a, b, at in zip(p[order].tolist(), q[order].tolist(), loss[order].tolist(), strict=True):
        while True:
            missing = grown * sum_q - sum_p  # what outcomes above the target must bring
            brings = a - grown * b
            if brings < missing or (missing <= 0 and brings <= 0):
                sum_p, sum_q = sum_p + a, sum_q + b
                break
            part = missing / brings if brings > 0 else 0.0
            found[target] = found.get(target, 0.0) + sum_p + part * a
            a, b, sum_p, sum_q = a * (1 - part), b * (1 - part), 0.0, 0.0
            target = max(math.floor(at / h) + 1, target + 1)
            grown = math.exp(target * h)
    if sum_p > 0 and sum_q > 0:
        last = math.floor(math.log(sum_p / sum_q) / h)
        found[last] = found.get(last, 0.0) + sum_q * math.exp(last * h)
    start = min(found)
    mass = np.zeros(max(found) - start + 1)
    for index, value in found.items():
        mass[index - start] = value
    return start, mass


def bracket(terms, count, epsilon, log_delta):
    """Bounds of delta in one direction, on multiples of epsilon / count."""
    h = epsilon / count
    far = far_for(terms, log_delta - 20)
    cumulant = Cumulant(terms, far)
    top = min(cumulant.epsilon_above(log_delta - 20) + 2 * h, epsilon + 6000 * h)
    bottom = -2000 * h
    answers = []
    for up in (False, True):
        start, mass, lost = (
            0,
            np.ones(1),
            0.0,
        )  # `lost`: mass of an infinite loss, counted by the upper end only

        def clipped(start, mass, lost, up):
            cut = max(round(top / h) - start, 1)
            lost += mass[cut:].sum()
            mass = mass[:cut]
            low = round(bottom / h) - start
            if low > 0:
                rest = mass[:low].sum()
                mass, start = mass[low:].copy(), start + low
                if up and mass.size:
                    mass[0] += rest
            return (start, mass, lost) if mass.size else (start, np.zeros(1), lost)

        def times(a, b, up):
            lost = a[2] + b[2] - a[2] * b[2]
            return clipped(a[0] + b[0], np.convolve(a[1], b[1]), lost, up)

        total = (start, mass, lost)
        for step, n in terms:
            (loss, p, q), over = step.quadrature(h, -math.inf, top, far)
            keep = (p > 0) & (q > 0)
            loss, p, q = loss[keep], p[keep], q[keep]
            law = rounded_up(loss, p, h) if up else rounded_down(loss, p, q, h)
            square = clipped(*law, over[0], up)
            while n:
                if n & 1:
                    total = times(total, square, up)
                n >>= 1
                if n:
                    square = times(square, square, up)
        start, mass, lost = total
        gap = h * (np.arange(mass.size) + start - count)
        value = (mass * -np.expm1(-np.maximum(gap, 0.0))).sum()
        answers.append(value + lost if up else value)
    return tuple(answers)
