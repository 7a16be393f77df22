"""Profiles by enumeration, in closed form or by one-dimensional quadrature: discrete noise, Laplace noise,
groups. No transform, no contour, no code of the library under test."""

import math

import numpy as np
from losses import NODES, WEIGHTS, Atoms, sampled_profile
from mpmath import mp, mpf
from scipy.special import erfcx, ndtr

# -- Gaussian noise -----------------------------------------------------------------------------------------


def gaussian_profile(mu, epsilon):
    """P(L > e) - e^e Q(L > e), as a difference of Mills ratios where both are small."""
    e = np.asarray(epsilon, float)
    a, b = e / mu - mu / 2, e / mu + mu / 2
    root = math.sqrt(2)
    far = math.sqrt(math.pi / 2) * (erfcx(np.maximum(a, -3) / root) - erfcx(np.maximum(b, -3) / root))
    with np.errstate(over="ignore", under="ignore"):
        tail = np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi) * far
        near = ndtr(-a) - np.exp(np.minimum(e, 700)) * ndtr(-b)
    return np.where(a > -3, tail, near)


# -- noise on the integers, randomized response ---------------------------------------------------------


def lattice_gaussian(scale, shift):
    """(unit, first, masses): the loss of k is shift (2k - shift) / (2 scale^2)."""
    reach = int(39 * scale) + shift + 2
    k = np.arange(-reach, reach + shift + 1)
    total = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2)).sum()
    p = np.exp(-((k - shift) ** 2) / (2 * scale**2)) / total
    loss = shift * (2 * k - shift) / (2 * scale**2)
    return merged(loss, p)


def lattice_laplace(scale, shift):
    reach = int(740 * scale) + shift
    k = np.arange(-reach, reach + shift + 1)
    total = (1 + math.exp(-1 / scale)) / (1 - math.exp(-1 / scale))
    p = np.exp(-np.abs(k - shift) / scale) / total
    return merged((np.abs(k) - np.abs(k - shift)) / scale, p)


def response(truth, categories=2):
    lie = (1 - truth) / (categories - 1)
    size = math.log(truth / lie)
    rest = lie * (categories - 2)
    loss, p = np.array([size, -size, 0.0]), np.array([truth, lie, rest])
    return merged(loss[p > 0], p[p > 0])


def merged(loss, p):
    """Equal losses (but for rounding) put together; sorted."""
    keep = p > 0
    loss, p = loss[keep], p[keep]
    order = np.argsort(loss)
    loss, p = loss[order], p[order]
    new = np.concatenate(([True], np.diff(loss) > 1e-9 * np.maximum(1.0, np.abs(loss[1:]))))
    first = np.flatnonzero(new)
    return Atoms(np.add.reduceat(p, first), np.add.reduceat(p, first) * np.exp(-loss[first]), loss[first])


def times(atoms, count):
    """The sum of `count` losses, outcome by outcome; what is below 1e-290 is given away."""
    result, square = None, atoms
    while count:
        if count & 1:
            result = square if result is None else plus(result, square)
        count >>= 1
        if count:
            square = plus(square, square)
    return result


def plus(a, b):
    p = np.multiply.outer(a.p, b.p).ravel()
    loss = np.add.outer(a.l, b.l).ravel()
    return merged(loss[p > 1e-290], p[p > 1e-290])


def with_gaussian(atoms, mu, epsilon):
    """delta at epsilon of a finite pair with Gaussian noise of this shift (none: 0) beside it."""
    if mu == 0:
        return math.fsum(atoms.p * -np.expm1(np.minimum(epsilon - atoms.l, 0.0)))
    return math.fsum(atoms.p * gaussian_profile(mu, epsilon - atoms.l))


# -- Laplace noise -------------------------------------------------------------------------------------------


def laplace_profile(a, count, epsilon):
    """`count` Laplace losses with top a: by how many are at either end; the k others are uniform but for a
    tilt, and their sum has the density of Irwin and Hall."""
    a, epsilon = mpf(a), mpf(epsilon)
    total = mpf(0)
    for up in range(count + 1):
        for down in range(count - up + 1):
            k = count - up - down
            c = epsilon - (up - down) * a
            ways = mp.factorial(count) / mp.factorial(up) / mp.factorial(down) / mp.factorial(k)
            weight = ways * mpf("0.5") ** (up + down) * mp.exp(-a * down) * (mp.exp(-a / 2) / 4) ** k
            inner = mpf(0)
            for r in range(k + 1):
                span = k * a - 2 * a * r - c
                if span <= 0:
                    break
                inner += (-1) ** r * mp.binomial(k, r) * sinh_sum(k, span)
            total += weight * 2 * mp.exp(c / 2) * inner
    return total


def sinh_sum(k, span):
    """The integral over (0, span) of sinh((span - u)/2) u^(k-1)/(k-1)!, which is the sum over odd m of
    span^(k+m) / 2^m / (k+m)!."""
    term = span ** (k + 1) / 2 / mp.factorial(k + 1)
    total, m = mpf(0), 1
    while term > total * mpf(10) ** (-mp.dps):
        total += term
        term *= span**2 / 4 / ((k + m + 1) * (k + m + 2))
        m += 2
    return total


def sampled_laplace_profile(a, rate, count, epsilon, add):
    """Up to three sampled Laplace losses, one integral for each but the last, split at the kinks."""
    sign = -1.0 if add else 1.0
    ends = sign * np.log1p(rate * np.expm1(np.array([-a, a])))
    q_ends = np.array([0.5, 0.5 * math.exp(-a)])
    p_ends = q_ends if add else q_ends * np.exp(ends)

    def one(e):
        inner = lambda x: np.where(  # noqa: E731
            x >= a, 0.0, np.where(x <= -a, -np.expm1(x), -np.expm1((np.clip(x, -a, a) - a) / 2))
        )
        return sampled_profile(inner, rate, e, add)

    kinks = list(ends)

    def several(left, e):
        if left == 1:
            return one(e)
        sums = {0.0}
        for _ in range(left - 1):
            sums = {s + k for s in sums for k in kinks}
        out = np.zeros(e.shape)
        for place, value in np.ndenumerate(e):
            # base losses at which the rest meets a kink
            with np.errstate(divide="ignore", invalid="ignore"):
                meets = np.log1p(np.expm1(sign * (value - np.array(sorted(sums)))) / rate)
            meets = meets[np.isfinite(meets)]
            breaks = np.unique(np.clip(np.concatenate((np.linspace(-a, a, 5), meets)), -a, a))
            half, middle = np.diff(breaks) / 2, (breaks[1:] + breaks[:-1]) / 2
            base = (middle[:, None] + half[:, None] * NODES).ravel()
            w = (half[:, None] * WEIGHTS).ravel()
            loss = sign * np.log1p(rate * np.expm1(base))
            q = 0.25 * w * np.exp(-(a + base) / 2)
            p = q if add else q * np.exp(loss)
            out[place] = (p * several(left - 1, value - loss)).sum() + (
                p_ends * several(left - 1, value - ends)
            ).sum()
        return out

    return float(several(count, np.array([float(epsilon)]))[0])


# -- groups: the trade-off function applied to itself ---------------------------------------------------


class SampledGaussianTests:
    """y = T(x): the most that a test accepts under one distribution if it accepts x under the other, for the
    sampled Gaussian pair with both directions taken together: the pair (mixture, Q) while the likelihood
    ratio is above 1, its mirror image about the antidiagonal after, and a piece of slope 1 between."""

    def __init__(self, mu, rate):
        self.mu, self.q = mpf(mu), mpf(rate)
        self.x1 = upper(self.mu / 2)
        self.y1 = (1 - self.q) * self.x1 + self.q * upper(-self.mu / 2)

    def at(self, t):
        """(x, y, slope) of the upper left part, by threshold."""
        x = upper(t)
        slope = 1 - self.q + self.q * mp.exp(self.mu * t - self.mu**2 / 2)
        return x, (1 - self.q) * x + self.q * upper(t - self.mu), slope

    def __call__(self, x):
        """T(x) and its slope."""
        if x <= self.x1:
            _, y, slope = self.at(threshold(x))
            return y, slope
        if x <= 1 - self.y1:
            return x + (self.y1 - self.x1), mpf(1)
        # mirrored: (x, y) = (1 - y', 1 - x') with (x', y') on the first part
        t = root(lambda t: self.at(t)[1] - (1 - x), self.mu / 2, mpf(60))
        inner, _, slope = self.at(t)
        return 1 - inner, 1 / slope


def upper(t):
    return mp.erfc(t / mp.sqrt(2)) / 2


def threshold(x):
    """t with upper(t) = x, by Newton's method in log x."""
    t = mp.sqrt(-2 * mp.log(x)) if x < mpf("0.1") else mpf(0)
    for _ in range(200):
        value = upper(t)
        slope = mp.exp(-t * t / 2) / mp.sqrt(2 * mp.pi)
        step = (mp.log(value) - mp.log(x)) * value / slope
        t += step
        if abs(step) < mpf(10) ** (-mp.dps + 5) * (1 + abs(t)):
            break
    return t


def root(f, low, high):
    """Where a falling function is zero, by bisection and then secants."""
    for _ in range(mp.prec + 10):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


def group_profile(tests, size, epsilon):
    """max over x of T(T(...T(x))) - e^epsilon x; the slope of the left side falls in x."""
    target = mpf(epsilon)

    def chain(x):
        slope = mpf(1)
        for _ in range(size):
            x, factor = tests(x)
            slope *= factor
        return x, slope

    # in the threshold of the innermost test
    t = root(lambda t: target - mp.log(chain(upper(t))[1]), mpf(-8), mpf(60))
    x = upper(t)
    return chain(x)[0] - mp.exp(target) * x


def polygon_group(p, q, size):
    """The profile of T o ... o T for finitely many outcomes of a symmetric pair, from the corners."""
    order = sorted(range(len(p)), key=lambda i: -(mpf(p[i]) / mpf(q[i])))
    xs, ys = [mpf(0)], [mpf(0)]
    for i in order:
        xs.append(xs[-1] + mpf(q[i]))
        ys.append(ys[-1] + mpf(p[i]))

    def forward(x):
        for i in range(1, len(xs)):
            if x <= xs[i]:
                return ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1])
        return mpf(1)

    def backward(y):
        for i in range(1, len(ys)):
            if y <= ys[i]:
                return xs[i - 1] + (xs[i] - xs[i - 1]) * (y - ys[i - 1]) / (ys[i] - ys[i - 1])
        return mpf(1)

    corners = set(xs)
    wanted = set(xs)
    for _ in range(size - 1):
        wanted = {backward(x) for x in wanted}
        corners |= wanted

    def chain(x):
        for _ in range(size):
            x = forward(x)
        return x

    points = [(x, chain(x)) for x in sorted(corners)]
    return lambda epsilon: max(y - mp.exp(mpf(epsilon)) * x for x, y in points)
