"""Profiles of many composed steps by one contour integral: nodes placed by mpmath, inner loops in gmpy2."""

import itertools
import math
from functools import lru_cache
from operator import mul

import gmpy2
from mpmath import mp, mpc, mpf
from pairs import kind, outcomes, rate_scale

TAU = mpf(1) / 2  # width of the window's edges


@lru_cache(50)
def windowed_grid(cut, step, shift, digits):
    """[(u, log weight)] at u = j*step + i*shift for the measure N(0,1) times the window described in Part."""
    count, found = int((cut + 5) / step), []
    for j in range(-count, count + 1):
        u = mpc(j * step, shift) if shift else j * step
        weight = mp.log(step / mp.sqrt(2 * mp.pi)) - u * u / 2
        if abs(j * step) > cut - 8:  # else the window is 1 to 1e-56
            weight += mp.log(mp.erfc(((u if j > 0 else -u) - cut) / (TAU * mp.sqrt(2))) / 2)
        found.append((u, weight))
    return found


class Part:
    """Moments M(z) = E_P[e^(zL)] of one step on real z and on a vertical line, in gmpy2 numbers.

    Subsampled Gaussian, x = s u: r(u) = 1-q+q e^(u/s-1/(2s^2)) and M = E_N(0,1)[r^(1+z)] ("remove") or
    E_N(0,1)[r^(-z)] ("add"), by the trapezoid rule in u, which converges geometrically.  On the vertical
    line u moves off the real axis by i*shift, to the side where r^(it) decays, so that no node oscillates
    however large t is.  A smooth window Phi((X-u)/tau) Phi((X+u)/tau) cuts the far tail off; it changes
    delta by at most n*Pr_P[cut], which is made smaller than tol*delta."""

    def __init__(self, n, mechanism, direction, run, log_delta):
        self.n, self.sign, self.kind = n, 1 if direction == "remove" else -1, kind(mechanism)
        if self.kind in ("gaussian", "laplace"):
            self.s = number(mpf(mechanism["scale"]))
        elif self.kind == "randomized_response":
            self.atoms = [(number(a), number(mp.log(a / b))) for a, b in outcomes(mechanism, direction)]
        else:
            q, s = rate_scale(mechanism)
            cut = mp.sqrt(1 + TAU**2) * mp.sqrt(2 * (mp.log(4 * n / run.tol) - log_delta)) * run.stretch
            cut += 1 / s if direction == "remove" else 0
            width = min(mpf(1), (mpf("0.45") if direction == "remove" else mpf("0.25")) * mp.pi * s)
            step = 2 * mp.pi * width / (95 * run.stretch)
            cut = mp.ceil(2 * cut) / 2  # so that parts share their grids
            self.line = self.nodes(q, s, windowed_grid(cut, step, self.sign * width, mp.dps))
            self.real = self.nodes(q, s, windowed_grid(cut, step * 4, mpf(0), mp.dps))

    def nodes(self, q, s, grid):
        """[(log weight, L)] over the grid, of N(0,1) for both directions: "remove" carries one more r."""
        found = []
        for u, weight in grid:
            loss = self.sign * mp.log1p(q * mp.expm1(u / s - 1 / (2 * s * s)))
            found.append((number(weight + (loss if self.sign > 0 else 0)), number(loss)))
        return found

    def cumulants(self, c):
        """n K(c), n K'(c), n K''(c) at real c > 0."""
        if self.kind == "gaussian":
            v = self.n / self.s**2
            return v * c * (c + 1) / 2, v * (c + gmpy2.mpfr(0.5)), v
        if self.kind == "laplace":  # differences are good enough to place a contour
            h = gmpy2.mpfr(10) ** -15 * min(1, c)
            low, mid, high = (self.n * gmpy2.log(self.laplace(x)) for x in (c - h, c, c + h))
            return mid, (high - low) / (2 * h), (high - 2 * mid + low) / h**2
        if self.kind == "poisson_gaussian":
            terms = [(gmpy2.exp(w + c * loss), loss) for w, loss in self.real]
        else:
            terms = [(p * gmpy2.exp(c * loss), loss) for p, loss in self.atoms]
        total = sum(t for t, _ in terms)
        mean = sum(t * loss for t, loss in terms) / total
        variance = sum(t * (loss - mean) ** 2 for t, loss in terms) / total
        return self.n * gmpy2.log(total), self.n * mean, self.n * variance

    def laplace(self, z):
        return ((z + 1) * gmpy2.exp(z / self.s) + z * gmpy2.exp(-(z + 1) / self.s)) / (2 * z + 1)

    def on_line(self, c, h):
        """Yields n K(c + i h j) for j = 0, 1, 2, ... (any branch: n is an integer)."""
        if self.kind == "poisson_gaussian":
            values = [gmpy2.exp(w + c * loss) for w, loss in self.line]
            turns = [gmpy2.exp(gmpy2.mpc(0, h) * loss) for _, loss in self.line]
            tiny = abs(sum(values)) * gmpy2.mpfr(10) ** -40
            for j in itertools.count():
                if j % 32 == 0:  # |turn| <= 1: what is negligible stays negligible
                    keep = [k for k, v in enumerate(values) if abs(v.real) + abs(v.imag) > tiny]
                    values, turns = [values[k] for k in keep], [turns[k] for k in keep]
                yield self.n * gmpy2.log(sum(values))
                values = list(map(mul, values, turns))
        for j in itertools.count():
            z = gmpy2.mpc(c, h * j)
            if self.kind == "gaussian":
                yield self.n * z * (z + 1) / (2 * self.s**2)
            elif self.kind == "laplace":
                yield self.n * gmpy2.log(self.laplace(z))
            else:
                yield self.n * gmpy2.log(sum(p * gmpy2.exp(z * loss) for p, loss in self.atoms))


def number(x):
    """mpmath to gmpy2."""
    if isinstance(x, mpc):
        return gmpy2.mpc(number(x.real), number(x.imag))
    return gmpy2.mpfr(mp.nstr(x, mp.dps, strip_zeros=False))


class Contour:
    """delta(eps) = (1/2 pi i) int e^(nK(z)-z eps)/(z(z+1)) dz on Re z = c > 0, by the trapezoid rule.

    This is Laplace inversion of the profile with cumulant K (Zhu, Dong & Wang 2022 use the characteristic
    function of the loss in the same way).  The rule's error is sum_{k != 0} delta(eps+kp) e^(ckp) for the
    period p = 2 pi/step; p makes each term smaller than tol*delta: for k < 0 by delta <= 1, for k > 0 by
    Chernoff's delta(eps+p) <= e^(nK(b)-b(eps+p)) with the best b > c.  The nodes serve all eps near `eps`."""

    def __init__(self, parts, eps, log_delta, run):
        self.parts, self.eps, self.nodes = parts, eps, []
        saddle = self.saddle(eps)
        period, c = min(
            self.period(saddle * gmpy2.mpfr(f / run.stretch**0.3), log_delta, run)
            for f in (1, 0.93, 0.85, 0.75, 0.6)
        )
        if not gmpy2.is_finite(period):
            raise ValueError("every line has too much cancellation")
        self.c, self.step, small = c, 2 * gmpy2.const_pi() / period, 0
        for j, terms in enumerate(zip(*(part.on_line(c, self.step) for part in parts), strict=True)):
            z, k = gmpy2.mpc(c, self.step * j), sum(terms)
            self.nodes.append((z, k))
            size = gmpy2.exp(k.real - c * eps - log_delta) * (self.step * j + c) / abs(z * (1 + z))
            small = small + 1 if size < run.tol else 0
            if small > 50 + j // 4:
                break
            if j > 500_000:
                raise ValueError("too many contour nodes")

    def saddle(self, eps):
        """The minimum of the convex nK(c) - c eps - log(c(1+c)), by bisection of log c."""
        low, high = -25.0, 25.0
        for _ in range(40):
            c = gmpy2.exp(gmpy2.mpfr((low + high) / 2))
            beyond = total_cumulants(self.parts, c)[1] - 1 / c - 1 / (1 + c) > eps
            low, high = (low, (low + high) / 2) if beyond else ((low + high) / 2, high)
        return c

    def period(self, c, log_delta, run):
        """(p, c) for the line Re z = c; p is infinite where the integrand is over 1e19 times delta."""

        def excess(b):
            return total_cumulants(self.parts, b)[0] - b * self.eps - log_delta

        if excess(c) > 45:
            return gmpy2.inf(), c
        ahead = min(
            (excess(b * c) - math.log(run.tol)) / ((b - 1) * c)
            for b in map(gmpy2.mpfr, (1.05, 1.1, 1.2, 1.35, 1.6, 2, 2.5, 3.2, 4, 6, 10, 20, 50, 200))
        )
        return max(ahead, -(log_delta + math.log(run.tol)) / c) * gmpy2.mpfr(run.stretch), c

    def profile(self, eps):
        """delta(eps) and -delta'(eps) = e^eps Q(L > eps)."""
        delta = slope = gmpy2.mpfr(0)
        for j, (z, k) in enumerate(self.nodes):
            term = gmpy2.exp(k - z * eps) / (1 + z) * (1 if j else gmpy2.mpfr(0.5))
            slope += term.real
            delta += (term / z).real
        return delta * self.step / gmpy2.const_pi(), slope * self.step / gmpy2.const_pi()

    def epsilon(self, log_delta):
        """Newton on log delta over the same nodes, kept in a bracket."""
        low, high, eps = gmpy2.mpfr(0), gmpy2.inf(), self.eps
        for _ in range(100):
            d, slope = self.profile(eps)
            move = (gmpy2.log(d) - log_delta) * d / slope if d > 0 and slope > 0 else gmpy2.mpfr(-1)
            low, high = (eps, high) if move > 0 else (low, eps)
            last, eps = eps, eps + move
            if abs(move) < abs(eps) * gmpy2.mpfr(10) ** -25:
                return eps
            if not low < eps < high:
                eps = (low + high) / 2 if gmpy2.is_finite(high) else 2 * last
        raise ValueError("Newton did not settle")


def total_cumulants(parts, c):
    return [sum(x) for x in zip(*(part.cumulants(c) for part in parts), strict=True)]


def make_parts(steps, direction, run, log_delta):
    gmpy2.get_context().precision = int(run.digits * 3.33)
    return [Part(n, mechanism, direction, run, log_delta) for n, mechanism in steps]


def lowest(f):
    """The minimum over c > 0 of a quasi-convex f, by golden section in log c."""
    low, high, ratio = -25.0, 25.0, (math.sqrt(5) - 1) / 2
    points = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [f(gmpy2.exp(gmpy2.mpfr(x))) for x in points]
    for _ in range(40):
        if values[0] < values[1]:
            high = points[1]
            points, values = [high - ratio * (high - low), points[0]], [None, values[0]]
        else:
            low = points[0]
            points, values = [points[1], low + ratio * (high - low)], [values[1], None]
        new = values.index(None)
        values[new] = f(gmpy2.exp(gmpy2.mpfr(points[new])))
    return min(values)


def chernoff(parts, c):
    """n K(c) + log sup_y (1-e^-y) e^(-cy): log delta(eps) is at most this - c eps, for every c > 0."""
    return total_cumulants(parts, c)[0] + c * gmpy2.log(c) - (1 + c) * gmpy2.log(1 + c)


def contour_epsilon(steps, direction, run, delta):
    """Start at Chernoff's bound; move the line until it stands at the solution."""
    parts = make_parts(steps, direction, run, mp.log(delta))
    log_delta = number(mp.log(delta))
    eps = lowest(lambda c: (chernoff(parts, c) - log_delta) / c)
    for _ in range(12):
        line = Contour(parts, eps, log_delta, run)
        last, eps = eps, line.epsilon(log_delta)
        if abs(eps - last) * line.c < 1:
            return mpf(str(eps))
    raise ValueError("the contour did not settle")


def contour_profile(steps, direction, run, eps):
    """delta(eps) and -delta'(eps).  Window and tolerances need the size of delta: iterate on it."""
    log_delta = chernoff_bound(steps, direction, run, eps, mpf(-30))
    for _ in range(12):
        parts = make_parts(steps, direction, run, log_delta)
        line = Contour(parts, number(eps), number(log_delta), run)
        delta, slope = (mpf(str(y)) for y in line.profile(line.eps))
        last, log_delta = log_delta, mp.log(delta) if delta > 0 else log_delta - 20
        if abs(log_delta - last) < 8:
            return delta, slope
    raise ValueError("the contour did not settle")


def chernoff_bound(steps, direction, run, eps, log_delta):
    """An upper bound of log delta(eps), up to the mass that the window for log_delta cuts off."""
    parts = make_parts(steps, direction, run, log_delta)
    return mpf(str(lowest(lambda c: chernoff(parts, c) - c * number(eps))))
