"""The privacy loss of one step, in one direction: its probabilities under P and Q, by quadrature over the
noise, and its profile in closed form. No code of the library under test."""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtr

NODES, WEIGHTS = leggauss(12)


def panels(breaks):
    """Gauss-Legendre nodes and weights over every interval between breaks."""
    breaks = np.unique(breaks)
    half, middle = np.diff(breaks) / 2, (breaks[1:] + breaks[:-1]) / 2
    keep = half > 0
    x = (middle[keep, None] + half[keep, None] * NODES).ravel()
    return x, (half[keep, None] * WEIGHTS).ravel()


# -- the laws of one step, in one direction ---------------------------------------------------------------


class SampledGaussian:
    """dP/dQ = r(x) = 1 - q + q e^((x - m/2) m / s^2), Q = N(0, s^2); `add` is the pair (Q, P)."""

    def __init__(self, scale, rate, sensitivity=1.0, add=False):
        self.mu, self.q, self.add = sensitivity / scale, rate, add

    def reverse(self):
        return SampledGaussian(1.0, self.q, self.mu, not self.add)

    def loss(self, x):
        base = self.mu * x - self.mu**2 / 2
        with np.errstate(over="ignore"):
            small = np.log1p(self.q * np.expm1(np.minimum(base, 700.0)))
        large = base + math.log(self.q) if self.q > 0 else base
        r = np.where(base > 600, large, small) if self.q < 1 else base
        return -r if self.add else r

    def place(self, loss):
        """Where the loss is this; beyond what is possible, an infinity."""
        r = -np.asarray(loss) if self.add else np.asarray(loss)
        if self.q == 1:
            return (r + self.mu**2 / 2) / self.mu
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            lift = np.log1p(np.expm1(np.minimum(r, 700.0)) / self.q)
            lift = np.where(r > 600, r - math.log(self.q), lift)
        return np.where(np.expm1(np.minimum(r, 1)) <= -self.q, -np.inf, (lift + self.mu**2 / 2) / self.mu)

    def quadrature(self, h, low, high, far):
        """Losses in (low, high), their P and Q probabilities, nothing beyond `far` standard deviations; one
        panel a cell where a cell is wider than the noise is smooth, and P and Q above `high`."""
        ends = self.place(np.array([low, high]))
        left, right = (ends[1], ends[0]) if self.add else (ends[0], ends[1])
        left, right = max(left, -far), min(right, far + self.mu)
        if left >= right:
            empty = np.zeros(0)
            inside = empty, empty, empty
        else:
            first, last = sorted(float(v) for v in self.loss(np.array([left, right])))
            cells = (np.arange(math.floor(first / h) - 1, math.ceil(last / h) + 1) + 0.5) * h
            cuts = self.place(cells)
            even = np.linspace(left, right, int((right - left) / 0.25) + 2)
            breaks = np.concatenate((even, cuts[np.isfinite(cuts)]))
            x, w = panels(np.clip(breaks, left, right))
            dens_q = w * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
            dens_1 = w * np.exp(-((x - self.mu) ** 2) / 2) / math.sqrt(2 * math.pi)
            dens_p = (1 - self.q) * dens_q + self.q * dens_1
            inside = (self.loss(x), dens_q, dens_p) if self.add else (self.loss(x), dens_p, dens_q)
        if self.add:  # high losses at small x
            b_q, b_1 = ndtr(left), ndtr(left - self.mu)
        else:
            b_q, b_1 = ndtr(-right), ndtr(self.mu - right)
        if left == -far if self.add else right == far + self.mu:
            b_q = b_1 = 0.0  # never seen, and not above `high`
        mix = (1 - self.q) * b_q + self.q * b_1
        over = (b_q, mix) if self.add else (mix, b_q)
        return inside, over

    def profile(self, loss):
        """E_P(1 - e^(loss - L))+ at any loss, positive or negative."""
        x = self.place(loss)
        e = np.exp(np.asarray(loss, float))
        if self.add:
            mix = (1 - self.q) * ndtr(x) + self.q * ndtr(x - self.mu)
            return np.maximum(ndtr(x) - e * mix, 0.0)
        mix = (1 - self.q) * ndtr(-x) + self.q * ndtr(self.mu - x)
        return np.maximum(mix - e * ndtr(-x), 0.0)


class Spliced:
    """Sampling without replacement under replace-one: the positive losses of the sampled pair, their mirror
    image, and an atom at zero (Zhu, Dong and Wang 2022; Lebeda et al. 2024)."""

    def __init__(self, scale, rate, sensitivity=1.0):
        self.half = SampledGaussian(scale, rate, sensitivity)

    def reverse(self):
        return self

    def quadrature(self, h, low, high, far):
        (loss, p, q), over = self.half.quadrature(h, 0.0, max(high, -low), far)
        zero = 1 - p.sum() - q.sum() - over[0] - over[1]
        up, down = loss < high, -loss > low
        over = over[0] + p[~up].sum(), over[1] + q[~up].sum()
        inside = (
            np.concatenate((loss[up], -loss[down], [0.0])),
            np.concatenate((p[up], q[down], [zero])),
            np.concatenate((q[up], p[down], [zero])),
        )
        return inside, over

    def profile(self, loss):
        loss = np.asarray(loss, float)
        positive = self.half.profile(np.abs(loss))
        return np.where(loss >= 0, positive, -np.expm1(loss) + np.exp(loss) * positive)


class Atoms:
    """Finitely many outcomes (also: a law that was tabulated before)."""

    def __init__(self, p, q, loss=None):
        self.p, self.q = np.asarray(p, float), np.asarray(q, float)
        self.l = np.log(self.p / self.q) if loss is None else np.asarray(loss, float)

    def reverse(self):
        return Atoms(self.q, self.p, -self.l)

    def quadrature(self, h, low, high, far):
        inside, above = (self.l > low) & (self.l < high), self.l >= high
        return (self.l[inside], self.p[inside], self.q[inside]), (self.p[above].sum(), self.q[above].sum())

    def profile(self, loss):
        gain = -np.expm1(np.minimum(np.asarray(loss, float)[..., None] - self.l, 0.0))
        return (gain * self.p).sum(-1)

    def sampled(self, rate):
        mixed = (1 - rate) * self.q + rate * self.p
        return Atoms(mixed, self.q, np.log1p(rate * np.expm1(self.l)))


class LaplaceLaw:
    """Laplace noise sampled with a rate (1: always): atoms at both ends and a density between."""

    def __init__(self, scale, rate=1.0, sensitivity=1.0, add=False):
        self.a, self.q, self.add = sensitivity / scale, rate, add

    def reverse(self):
        return LaplaceLaw(1.0, self.q, self.a, not self.add)

    def quadrature(self, h, low, high, far):
        a, q = self.a, self.q
        mixed = lambda base: np.log1p(q * np.expm1(base))  # noqa: E731
        ends = mixed(np.array([-a, a]))
        cells = (np.arange(math.floor(ends[0] / h), math.ceil(ends[1] / h)) + 0.5) * h
        with np.errstate(divide="ignore", invalid="ignore"):
            cuts = np.log1p(np.expm1(cells) / q)
        cuts = cuts[np.isfinite(cuts)]
        breaks = np.concatenate((np.linspace(-a, a, 2 + int(8 * a)), cuts))
        base, w = panels(np.clip(breaks, -a, a))
        # under Q the base loss has density e^(-(a + l)/2) / 4 between its atoms
        base = np.concatenate(([-a, a], base))
        mass_q = np.concatenate(([0.5, 0.5 * math.exp(-a)], 0.25 * w * np.exp(-(a + base[2:]) / 2)))
        mass_1 = mass_q * np.exp(base)
        mass_p = (1 - q) * mass_q + q * mass_1
        loss, p, r = (-mixed(base), mass_q, mass_p) if self.add else (mixed(base), mass_p, mass_q)
        inside, above = (loss > low) & (loss < high), loss >= high
        return (loss[inside], p[inside], r[inside]), (p[above].sum(), r[above].sum())

    def base_profile(self, e):
        """Of the unsampled pair, which is symmetric."""
        inner = -np.expm1((np.minimum(np.maximum(e, -self.a), self.a) - self.a) / 2)
        return np.where(e >= self.a, 0.0, np.where(e <= -self.a, -np.expm1(e), inner))

    def profile(self, loss):
        loss, q = np.asarray(loss, float), self.q
        return sampled_profile(self.base_profile, q, loss, self.add)


def sampled_profile(base, rate, loss, add):
    """The profile of the pair ((1-q) Q + q P, Q), or of its reverse, from that of (P, Q) or of (Q, P)."""
    if rate == 1:
        return base(loss)
    if not add:
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.log1p(np.expm1(loss) / rate)
        positive = np.expm1(loss) > -rate
        return np.where(positive, rate * base(np.where(positive, inner, 0.0)), -np.expm1(loss))
    left = 1 - np.exp(loss) * (1 - rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = loss + math.log(rate) - np.log(left)
    return np.where(left > 0, left * base(np.where(left > 0, inner, 0.0)), 0.0)
