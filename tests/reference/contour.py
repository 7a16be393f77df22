"""Profiles of many composed steps by one contour integral (mpmath to place the nodes, gmpy2 numbers for the inner loops)."""
import itertools
import math
from operator import mul

import gmpy2
from mpmath import mp, mpc, mpf

from pairs import kind, outcomes, rate_scale


class Part:
    """Moments M(z) = E_P[e^(zL)] of one step on real z and on a vertical line, in gmpy2 numbers.

    Subsampled Gaussian, x = s u: r(u) = 1-q+q e^(u/s-1/(2s^2)), M = E_N(0,1)[r^(1+z)] ("remove") or E[r^(-z)] ("add"), by the
    trapezoid rule in u, which converges geometrically.  On the vertical line u moves off the real axis by i*shift, into the
    side where r^(it) decays, so that no node oscillates however large t is.  A smooth window Phi((X-u)/tau)Phi((X+u)/tau)
    cuts the far tail off; it changes delta by at most n*Pr_P[cut], which is made smaller than tol*delta."""
    TAU = mpf(1) / 2

    def __init__(self, n, mechanism, direction, run, log_delta):
        self.n, self.sign, self.kind = n, 1 if direction == "remove" else -1, kind(mechanism)
        if self.kind in ("gaussian", "laplace"):
            self.s = number(mpf(mechanism["scale"]))
        elif self.kind == "randomized_response":
            self.atoms = [(number(a), number(mp.log(a / b))) for a, b in outcomes(mechanism, direction)]
        else:
            q, s = rate_scale(mechanism)
            cut = mp.sqrt(1 + self.TAU ** 2) * mp.sqrt(2 * (mp.log(4 * n / run.tol) - log_delta)) * run.stretch
            cut += 1 / s if direction == "remove" else 0
            width = min(mpf(1), (mpf("0.45") if direction == "remove" else mpf("0.25")) * mp.pi * s)
            step = 2 * mp.pi * width / (95 * run.stretch)
            self.line = self.nodes(q, s, cut, step, self.sign * width)
            self.real = self.nodes(q, s, cut, step * 2, mpf(0))

    def nodes(self, q, s, cut, step, shift):
        """[(log weight, L)] at u = j*step + i*shift."""
        count, found, scale = int((cut + 5) / step), [], 1 / (self.TAU * mp.sqrt(2))
        for j in range(-count, count + 1):
            u = mpc(j * step, shift) if shift else j * step
            loss = self.sign * mp.log1p(q * mp.expm1(u / s - 1 / (2 * s * s)))
            far = abs(j * step) > cut - 8                              # else the window is 1 to 1e-56
            window = mp.erfc(((u if j > 0 else -u) - cut) * scale) / 2 if far else mpf(1)
            weight = mp.log(window * step / mp.sqrt(2 * mp.pi)) - u * u / 2
            found.append((number(weight + (loss if self.sign > 0 else 0)), number(loss)))
        return found

    def cumulants(self, c):
        """n K(c), n K'(c), n K''(c) at real c > 0."""
        if self.kind == "gaussian":
            v = self.n / self.s ** 2
            return v * c * (c + 1) / 2, v * (c + gmpy2.mpfr(0.5)), v
        if self.kind == "laplace":                                     # differences are good enough to place a contour
            h = gmpy2.mpfr(10) ** -15 * min(1, c)
            low, mid, high = (self.n * gmpy2.log(self.laplace(x)) for x in (c - h, c, c + h))
            return mid, (high - low) / (2 * h), (high - 2 * mid + low) / h ** 2
        terms = [(gmpy2.exp(w + c * l), l) for w, l in self.real] if self.kind == "poisson_gaussian" else \
                [(p * gmpy2.exp(c * l), l) for p, l in self.atoms]
        total = sum(t for t, _ in terms)
        mean = sum(t * l for t, l in terms) / total
        return (self.n * gmpy2.log(total), self.n * mean,
                self.n * sum(t * (l - mean) ** 2 for t, l in terms) / total)

    def laplace(self, z):
        return ((z + 1) * gmpy2.exp(z / self.s) + z * gmpy2.exp(-(z + 1) / self.s)) / (2 * z + 1)

    def on_line(self, c, h):
        """Yields n K(c + i h j) for j = 0, 1, 2, ... (any branch: n is an integer)."""
        if self.kind == "poisson_gaussian":
            values = [gmpy2.exp(w + c * l) for w, l in self.line]
            turns = [gmpy2.exp(gmpy2.mpc(0, h) * l) for _, l in self.line]
            tiny = abs(sum(values)) * gmpy2.mpfr(10) ** -40
            for j in itertools.count():
                if j % 32 == 0:                                        # |turn| <= 1: what is negligible stays negligible
                    keep = [k for k, v in enumerate(values) if abs(v.real) + abs(v.imag) > tiny]
                    values, turns = [values[k] for k in keep], [turns[k] for k in keep]
                yield self.n * gmpy2.log(sum(values))
                values = list(map(mul, values, turns))
        for j in itertools.count():
            z = gmpy2.mpc(c, h * j)
            if self.kind == "gaussian":
                yield self.n * z * (z + 1) / (2 * self.s ** 2)
            elif self.kind == "laplace":
                yield self.n * gmpy2.log(self.laplace(z))
            else:
                yield self.n * gmpy2.log(sum(p * gmpy2.exp(z * l) for p, l in self.atoms))


def number(x):
    """mpmath to gmpy2."""
    if isinstance(x, mpc):
        return gmpy2.mpc(number(x.real), number(x.imag))
    return gmpy2.mpfr(mp.nstr(x, mp.dps, strip_zeros=False))


class Contour:
    """delta(eps) = (1/2 pi i) int e^(nK(z)-z eps)/(z(z+1)) dz on Re z = c > 0, by the trapezoid rule near the saddle.

    (Laplace inversion of the profile; MATH.md section 1, and Zhu, Dong & Wang 2022 for the characteristic function.)
    The rule's error is sum_{k != 0} delta(eps+kp) e^(ckp) for the period p = 2 pi/step; p makes each term < tol*delta: for
    k < 0 by delta <= 1, for k > 0 by Chernoff's delta(eps+p) <= e^(nK(b)-b(eps+p)) with the best b > c.
    The nodes serve all eps near the one given."""

    def __init__(self, parts, eps, log_delta, run):
        self.parts, self.eps, self.nodes = parts, eps, []
        saddle = self.saddle(eps)
        period, c = min(self.period(saddle * gmpy2.mpfr(f / run.stretch ** 0.3), log_delta, run)
                        for f in (1, 0.93, 0.85, 0.75, 0.6))
        self.c, self.step, small = c, 2 * gmpy2.const_pi() / period, 0
        for j, terms in enumerate(zip(*(part.on_line(c, self.step) for part in parts))):
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
        """(p, c) for the line Re z = c; p is infinite where the integrand is over 1e19 times delta (cancellation)."""
        def excess(b): return total_cumulants(self.parts, b)[0] - b * self.eps - log_delta
        if excess(c) > 45:
            return gmpy2.inf(), c
        ahead = min((excess(b * c) - math.log(run.tol)) / ((b - 1) * c)
                    for b in map(gmpy2.mpfr, (1.05, 1.1, 1.2, 1.35, 1.6, 2, 2.5, 3.2, 4, 6, 10, 20, 50, 200)))
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
    return [sum(x) for x in zip(*(part.cumulants(c) for part in parts))]


def make_parts(steps, direction, run, log_delta):
    gmpy2.get_context().precision = int(run.digits * 3.33)
    return [Part(n, mechanism, direction, run, log_delta) for n, mechanism in steps]


def saddle_estimates(parts):
    """[(eps, log delta)] of the saddle-point approximation for c on a geometric grid."""
    found = []
    for j in range(-60, 61):
        c = gmpy2.exp(gmpy2.mpfr(j) / 3)
        k, k1, k2 = total_cumulants(parts, c)
        eps = k1 - 1 / c - 1 / (1 + c)
        spread = 2 * gmpy2.const_pi() * (k2 + c ** -2 + (1 + c) ** -2)
        found.append((eps, k - c * eps - gmpy2.log(c * (1 + c) * gmpy2.sqrt(spread))))
    return found


def contour_epsilon(steps, direction, run, delta):
    """Start between the saddle-point estimates around delta; move the line until it stands at the solution."""
    parts = make_parts(steps, direction, run, mp.log(delta))
    log_delta = number(mp.log(delta))
    points = saddle_estimates(parts)
    eps = next(a + (b - a) * (log_delta - x) / (y - x) for (a, x), (b, y) in zip(points, points[1:]) if y <= log_delta)
    for _ in range(12):
        line = Contour(parts, eps, log_delta, run)
        last, eps = eps, line.epsilon(log_delta)
        if abs(eps - last) * line.c < 1:
            return mpf(str(eps))
    raise ValueError("the contour did not settle")


def contour_profile(steps, direction, run, eps):
    """delta(eps), -delta'(eps).  The window and the tolerances need the size of delta: iterate from the estimates."""
    points = saddle_estimates(make_parts(steps, direction, run, mpf(-30)))
    log_delta = next((mpf(str(x + (y - x) * (number(eps) - a) / (b - a)))
                      for (a, x), (b, y) in zip(points, points[1:]) if b >= eps), mpf(-200))
    for _ in range(12):
        parts = make_parts(steps, direction, run, log_delta)
        line = Contour(parts, number(eps), number(log_delta), run)
        delta, slope = (mpf(str(y)) for y in line.profile(line.eps))
        last, log_delta = log_delta, mp.log(delta)
        if abs(log_delta - last) < 8:
            return delta, slope
    raise ValueError("the contour did not settle")


def add_is_smaller(steps, run, eps, delta):
    """Whether Chernoff's delta_add(eps) <= min_c e^(nK(c)-c eps) c^c/(1+c)^(1+c) already shows delta_add(eps) < delta."""
    parts = make_parts(steps, "add", run, mp.log(delta))
    for j in range(-20, 40):
        c = gmpy2.exp(gmpy2.mpfr(j) / 2)
        bound = total_cumulants(parts, c)[0] - c * number(eps)
        if bound + c * gmpy2.log(c) - (1 + c) * gmpy2.log(1 + c) < number(mp.log(delta)):
            return True
    return False
