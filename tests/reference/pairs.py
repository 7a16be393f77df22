"""Exact formulas for one, two or many steps of one mechanism, and small tools (see make_reference.py)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from mpmath import mp, mpf


@dataclass(frozen=True)
class Run:
    """The knobs in which the two computations of a value differ."""

    digits: int  # working precision
    tol: float  # relative size of what the contour method may neglect
    stretch: float  # scales contour position, period and quadrature steps


DIRECTIONS = "remove", "add"


# ------------------------------------------------------------------------------------------------- mechanisms
def gaussian(scale):
    return {"kind": "gaussian", "scale": scale}


def laplace(scale):
    return {"kind": "laplace", "scale": scale}


def response(truth, k=2):
    return {"kind": "randomized_response", "truth": truth, "categories": k}


def poisson(rate, base):
    return {"kind": "poisson", "rate": rate, "base": base}


def repeated(steps, base):
    return {"kind": "repeated", "steps": steps, "base": base} if steps > 1 else base


def composed(*parts):
    return {"kind": "composed", "parts": list(parts)}


def dpsgd(rate, scale, steps):
    return repeated(steps, poisson(rate, gaussian(scale)))


def flatten(mechanism):
    """[(steps, single-step mechanism)]."""
    if mechanism["kind"] == "composed":
        return [item for part in mechanism["parts"] for item in flatten(part)]
    if mechanism["kind"] == "repeated":
        return [(n * mechanism["steps"], base) for n, base in flatten(mechanism["base"])]
    return [(1, mechanism)]


def kind(mechanism):
    return mechanism["kind"] + ("_" + mechanism["base"]["kind"] if mechanism["kind"] == "poisson" else "")


def rate_scale(mechanism):
    """(q, scale) as mpf; q = 1 without subsampling."""
    if mechanism["kind"] == "poisson":
        return mpf(mechanism["rate"]), mpf(mechanism["base"]["scale"])
    return mpf(1), mpf(mechanism["scale"])


# -------------------------------------------------------------------------------------- one step, closed form
def gaussian_profile(mu, eps):
    """Phi(mu/2-eps/mu) - e^eps Phi(-mu/2-eps/mu), any real eps (Balle & Wang 2018, Theorem 8).

    n steps with noise s: mu = sqrt(n)/s."""
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)


def laplace_profile(b, eps):
    """1 - e^((eps-1/b)/2) for |eps| <= 1/b: probability 1/2 at loss 1/b, density e^((l-1/b)/2)/4 below."""
    if eps >= 1 / b:
        return mpf(0)
    return -mp.expm1((eps - 1 / b) / 2) if eps >= -1 / b else -mp.expm1(eps)


def subsampled_profile(base, q, eps, direction):
    """Amplification as an identity of measures (Balle, Barthe & Gaboardi 2018, Theorem 2), any real eps:
    (1-q)Q + qP - e^eps Q = q (P - e^l Q) with e^l = (e^eps-1+q)/q, and
    Q - e^eps((1-q)Q+qP) = w (Q - e^l P) with w = 1-(1-q)e^eps, e^l = q e^eps/w.
    `base` is the profile of a symmetric base pair."""
    if direction == "remove":
        ratio = (mp.expm1(eps) + q) / q
        return q * base(mp.log(ratio)) if ratio > 0 else -mp.expm1(eps)
    w = 1 - (1 - q) * mp.exp(eps)
    return w * base(mp.log(q * mp.exp(eps) / w)) if w > 0 else mpf(0)


def base_profile(mechanism):
    s = mpf(mechanism["base"]["scale"])
    if mechanism["base"]["kind"] == "gaussian":
        return lambda eps: gaussian_profile(1 / s, eps)
    return lambda eps: laplace_profile(s, eps)


# -------------------------------------------------------------------------------------- two steps, quadrature
def two_step_profile(mechanism, eps, direction, run):
    """delta_2(eps) = int P(dx) delta_1(eps - L(x)), split where delta_1 is not analytic."""
    q, s = rate_scale(mechanism)
    base = base_profile(mechanism)
    normal = mechanism["base"]["kind"] == "gaussian"
    sign = 1 if direction == "remove" else -1

    def inner(loss):
        return subsampled_profile(base, q, eps - loss, direction)

    def log_ratio(base_loss):
        return mp.log1p(q * mp.expm1(base_loss))

    def inverse(loss):  # the base loss with that loss, or None
        e = (mp.expm1(sign * loss) + q) / q
        return mp.log(e) if e > 0 else None

    def mix(under_p, under_q):
        return under_q if direction == "add" else (1 - q) * under_q + q * under_p

    if normal:  # x = s u, base loss u/s - 1/(2 s^2)
        reach = 26 + 2 / s  # beyond it: less than 1e-148, for delta >= 1e-100
        low, high, atoms = -reach, reach, mpf(0)
        edge = inverse(eps - mp.log(1 - q) * sign)  # delta_1 leaves its trivial piece here
        splits = [] if edge is None else [s * edge + 1 / (2 * s)]

        def integrand(u):
            return mix(mp.npdf(u - 1 / s), mp.npdf(u)) * inner(sign * log_ratio(u / s - 1 / (2 * s * s)))
    else:  # base loss in (-1/b, 1/b), atoms at the ends
        top = 1 / s
        low, high = -top, top
        atoms = mix(mpf(1) / 2, mp.exp(-top) / 2) * inner(sign * log_ratio(top)) + mix(
            mp.exp(-top) / 2, mpf(1) / 2
        ) * inner(sign * log_ratio(-top))
        splits = [x for x in (inverse(eps - sign * log_ratio(end)) for end in (-top, top)) if x is not None]

        def integrand(x):
            return mix(mp.exp((x - top) / 2), mp.exp((-x - top) / 2)) / 4 * inner(sign * log_ratio(x))

    splits = [x for x in splits if low < x < high]
    panels = int((40 if normal else 6) * run.stretch)
    grid = [low + (high - low) * j / panels for j in range(1, panels)]
    far = [x for x in grid if all(abs(x - split) > (high - low) / (2 * panels) for split in splits)]
    grid = sorted([low, high, *far, *splits])  # no panel begins close to, but not at, a singular point
    return atoms + panel_quadrature(integrand, grid, splits)


def panel_quadrature(f, grid, singular):
    """Gauss-Legendre on each panel; tanh-sinh on panels with an end in `singular`."""
    total = mpf(0)
    for a, b in pairwise(grid):
        method = "tanh-sinh" if a in singular or b in singular else "gauss-legendre"
        total += mp.quad(f, [a, b], method=method, maxdegree=8 if method == "tanh-sinh" else 4)
    return total


# --------------------------------------------------------------------------- finitely many losses: exact sums
def outcomes(mechanism, direction):
    """[(P, Q)] of one step, at most three outcomes, of (subsampled) randomized response."""
    inner = mechanism.get("base", mechanism)
    p, k = mpf(inner["truth"]), inner["categories"]
    q = mpf(mechanism.get("rate", 1))
    other = (1 - p) / (k - 1)
    pairs = [(p, other), (other, p)] + ([((k - 2) * other,) * 2] if k > 2 else [])
    pairs = [((1 - q) * b + q * a, b) for a, b in pairs]
    return pairs if direction == "remove" else [(b, a) for a, b in pairs]


def discrete_atoms(mechanism, n, direction):
    """[(P, Q)] of n steps, by multinomial sums, largest loss first."""
    pairs = outcomes(mechanism, direction)
    if len(pairs) == 3 and "base" not in mechanism:  # losses s, 0, -s: coefficients of (a y^2 + b y + c)^n,
        (a, c), _, (b, _) = pairs  # from its differential equation (Miller)
        coeff = [c**n]
        for m in range(1, n + 1):
            last = (2 * n - m + 2) * a * coeff[m - 2] if m > 1 else 0
            coeff.append(((n - m + 1) * b * coeff[m - 1] + last) / (m * c))
        coeff += [coeff[n - d] * (a / c) ** d for d in range(1, n + 1)]
        return list(zip(reversed(coeff), coeff, strict=True))  # swapping P and Q reverses the losses
    logs = [(mp.log(a), mp.log(b)) for a, b in pairs]
    fact = [mp.loggamma(j + 1) for j in range(n + 1)]
    counts = (
        [(i, n - i) for i in range(n + 1)]
        if len(pairs) == 2
        else [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
    )
    atoms = []
    for count in counts:
        ways = fact[n] - sum(fact[j] for j in count)
        atoms.append(
            tuple(
                mp.exp(ways + sum(j * log[side] for j, log in zip(count, logs, strict=True)))
                for side in (0, 1)
            )
        )
    return sorted(atoms, key=lambda atom: atom[1] / atom[0])


def discrete_profile(atoms, eps):
    return sum(max(a - mp.exp(eps) * b, 0) for a, b in atoms)


def discrete_epsilon(atoms, delta):
    """delta(eps) = P(L>eps) - e^eps Q(L>eps), with constants P and Q between losses: solve piecewise."""
    tails = list(zip(accumulate(a for a, _ in atoms), accumulate(b for _, b in atoms), strict=True))
    losses = [b / a for a, b in atoms]  # e^-loss, increasing
    for j, (p_tail, q_tail) in enumerate(tails):  # delta at eps = loss of atom j+1, from above
        if j + 1 == len(tails) or p_tail - q_tail / losses[j + 1] >= delta:
            return max(mpf(0), mp.log((p_tail - delta) / q_tail))
    raise ValueError


def discrete_tradeoff(atoms, x):
    """Neyman-Pearson: reject the atoms of largest loss first, the last one by a coin."""
    power = mpf(0)
    for a, b in atoms:
        if x <= b:
            return 1 - power - a * x / b
        power, x = power + a, x - b
    return mpf(0)


# ------------------------------------------------------------------------------------ Laplace, exact residues
@lru_cache(None)
def laplace_residues(n):
    """Integer coefficients in v of (1+v)^(n-1-k) (v-1)^(k-1), up to v^(n-1), for k = 0, 1, ... < n/2."""
    row = [math.comb(n - 1, j) for j in range(n)]
    row = [-x for x in accumulate(row)]  # divided by (v-1)
    rows = [row]
    for _ in range(1, (n + 1) // 2):
        row = [b - a for a, b in zip(row, [0, *row[:-1]], strict=True)]  # times (v-1)
        row = list(accumulate(row, lambda last, x: x - last))  # divided by (1+v)
        rows.append(row)
    return rows


def laplace_composed_profile(b, n, eps, run):
    """The contour integral of e^(nK(z)-z eps)/(z(z+1)), by residues.

    e^K = ((z+1)e^(zs) + z e^(-(z+1)s))/(2z+1), s = 1/b (Mironov 2017, Table II, order z+1).  Expand the n-th
    power: term k carries e^(zA), A = s(n-2k)-eps, vanishes for A <= 0 (close to the right), and is otherwise
    its residues at z = 0 (1, for k = 0 only) and at the n-fold pole z = -1/2 (a Taylor coefficient)."""
    with mp.workdps(run.digits + 3 * n):
        s, eps = 1 / mpf(b), mpf(eps)
        total = mpf(0)
        for k, row in enumerate(laplace_residues(n)):
            a = s * (n - 2 * k) - eps
            if a <= 0:
                break
            power, series = mpf(1), mpf(0)  # sum_j row_j 2^j a^(n-1-j)/(n-1-j)!
            for i, x in enumerate(reversed(row)):
                series += x * mp.ldexp(power, n - 1 - i)
                power *= a / (i + 1)
            total += (k == 0) + math.comb(n, k) * mp.exp(-k * s - a / 2) * mp.ldexp(series, 2 - 2 * n)
        return total


# ------------------------------------------------------------------------------------------- Renyi divergence
def density_nodes(mechanism, direction, order, run):
    """[(log P, log Q, weight)]: the pair as a finite sum, by quadratures that converge geometrically."""
    name, nodes = kind(mechanism), []
    if name.endswith("randomized_response"):
        return [(mp.log(a), mp.log(b), mpf(1)) for a, b in outcomes(mechanism, direction)]
    q, s = rate_scale(mechanism)
    if name.endswith("gaussian"):  # trapezoid in u = x/s, peak between 0 and order/s
        step = min(s, mpf(1)) / (50 * run.stretch)
        low, high = int(-18 / step), int((18 + max(order, 1) / s) / step)
        for j in range(low, high):
            u = j * step
            nodes.append((-u * u / 2, u / s - 1 / (2 * s * s), step / mp.sqrt(2 * mp.pi)))
    else:  # base loss in (-1/b, 1/b): atoms and tanh-sinh
        top = 1 / s
        nodes = [(-top, top, mpf(1) / 2), (mpf(0), -top, mpf(1) / 2)]
        step = 1 / (32 * mpf(run.stretch))
        for j in range(int(-4.5 / step), int(4.5 / step) + 1):
            t = j * step
            loss = top * mp.tanh(mp.pi / 2 * mp.sinh(t))
            weight = top * mp.pi / 2 * mp.cosh(t) / mp.cosh(mp.pi / 2 * mp.sinh(t)) ** 2 * step / 4
            nodes.append(((-loss - top) / 2, loss, weight))
    nodes = [(logq + mp.log1p(q * mp.expm1(loss)), logq, weight) for logq, loss, weight in nodes]
    return nodes if direction == "remove" else [(b, a, w) for a, b, w in nodes]


def renyi(mechanism, order, direction, run):
    """log E_Q[(P/Q)^order] / (order-1); Kullback-Leibler at order 1 (van Erven & Harremoes 2014)."""
    nodes = density_nodes(mechanism, direction, order, run)
    if order == 1:
        return mp.fsum(w * mp.exp(a) * (a - b) for a, b, w in nodes)
    return mp.log(mp.fsum(w * mp.exp(order * a + (1 - order) * b) for a, b, w in nodes)) / (order - 1)


def renyi_closed(mechanism, order):
    """Gaussian and Laplace (Mironov 2017, Table II; the order 1/2 of Laplace is a limit)."""
    s = mpf(mechanism["scale"])
    if mechanism["kind"] == "gaussian":
        return order / (2 * s * s)
    s, a = 1 / s, order
    if a == 1:
        return s + mp.expm1(-s)
    total = (
        (1 + s / 2) * mp.exp(-s / 2)
        if 2 * a == 1
        else (a * mp.exp((a - 1) * s) + (a - 1) * mp.exp(-a * s)) / (2 * a - 1)
    )
    return mp.log(total) / (a - 1)


# ---------------------------------------------------------------------------------------------------- solving
def solve(f, target, digits=25):
    """The eps >= 0 with f(eps) = target for a decreasing f: secant on log f in a bracket, else bisection."""

    def g(x):
        value = f(x)
        return mp.log(value / target) if value > 0 else mpf("-1e9")

    if f(mpf(0)) <= target:
        return mpf(0)
    low = high = mpf(1)
    if g(high) > 0:
        while g(high) > 0:
            low, high = high, high * 2
    else:
        while g(low) <= 0:
            low, high = low / 2, low
    pair = [(low, g(low)), (high, g(high))]  # the last two points tried
    for step in range(300):
        (x0, g0), (x1, g1) = pair
        x = x1 - g1 * (x1 - x0) / (g1 - g0) if g1 != g0 else low
        if not low < x < high or step % 6 == 5:
            x = (low + high) / 2
        pair = [pair[1], (x, g(x))]
        low, high = (x, high) if pair[1][1] > 0 else (low, x)
        if abs(pair[1][1]) < mpf(10) ** -digits or high - low < high * mpf(10) ** -(digits + 3):
            return x
    raise ValueError("no root found")


def best(f, low, high):
    """The maximum of a unimodal f on [low, high], by golden section."""
    ratio = (mp.sqrt(5) - 1) / 2
    a, b = low, high
    x, y = b - ratio * (b - a), a + ratio * (b - a)
    fx, fy = f(x), f(y)
    for _ in range(220):
        if fx > fy:
            b, y, fy = y, x, fx
            x = b - ratio * (b - a)
            fx = f(x)
        else:
            a, x, fx = x, y, fy
            y = a + ratio * (b - a)
            fy = f(y)
    return max(fx, fy, f(low))
