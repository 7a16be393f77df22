"""Reference values of restricted divergences, by mpmath and by other formulas than the package uses.

    python tests/reference/make_adversaries.py          (some minutes; writes adversaries.json)

Noise has scale 1; `shift` is how far the statistic moves (ε for Laplace noise, 1/σ for Gaussian noise).

linear      V(a) = E|1 + a (x - s)|^A in one dimension, Laplace by incomplete gamma functions, Gaussian by
            adaptive quadrature split at the zero; the minimum by the zero of dV/da.
polynomial  E|h|^A by adaptive quadrature split at the zeros of h; the minimum by Newton's method with all
            derivatives integrated in the same way, from order 2 outwards.
vector      Laplace noise in d dimensions: by partial fractions where all coefficients differ, else by the
            characteristic function, E|X|^r = (2/π) Γ(1+r) sin(πr/2) ∫ (1 - Re φ(t)) t^(-1-r) dt for
            0 < r < 2 (so orders above 2); coordinates with the same shift share a coefficient.
kl          sup a s + log(1 - a²) for linear functions of Laplace noise, by the zero of its derivative.
"""

import json
import pathlib
import time

import mpmath as mp
from scipy.optimize import minimize

FILE = pathlib.Path(__file__).with_name("adversaries.json")
mp.mp.dps = 25


def conjugate(order):
    order = mp.mpf(order)
    return order / (order - 1)


# ---------------------------------------------------------------------- one dimension, linear
def laplace_moment(a, b, power):
    """E|b + a x|^power for Laplace x, a > 0, b >= 0: three pieces."""
    c = b / a
    right = mp.exp(c) * mp.gammainc(power + 1, c, mp.inf)  # x > 0
    left = mp.exp(-c) * mp.gamma(power + 1)  # x < -c
    middle = mp.quad(lambda y: (c - y) ** power * mp.exp(-y), [0, c]) if c else mp.mpf(0)  # -c < x < 0
    return a**power * (right + left + middle) / 2


def gaussian_moment(a, b, power):
    zero = -b / a

    def density(x):
        return abs(a * x + b) ** power * mp.npdf(x)

    reach = mp.mpf(14) + 2 * mp.sqrt(power)
    points = sorted({-reach, -6, -2, 2, 6, reach, min(max(zero, -reach), reach)})
    return mp.quad(density, points)


def linear(noise, shift, order):
    """-log of the least E|1 + a (x - s)|^A: h = a x + b with a s + b = 1, 0 <= a <= 1/s (Lemma 4)."""
    power, s = conjugate(order), mp.mpf(shift)
    moment = {"laplace": laplace_moment, "gaussian": gaussian_moment}[noise]

    def log_v(u):  # a = u / (s + something), kept inside (0, 1/s)
        a = u / s
        return mp.log(moment(a, 1 - u, power))

    low, high = mp.mpf("1e-6"), 1 - mp.mpf("1e-9")
    golden = (mp.sqrt(5) - 1) / 2
    x, y = high - golden * (high - low), low + golden * (high - low)
    at_x, at_y = log_v(x), log_v(y)
    for _ in range(42):
        if at_x < at_y:
            high, y, at_y = y, x, at_x
            x = high - golden * (high - low)
            at_x = log_v(x)
        else:
            low, x, at_x = x, y, at_y
            y = low + golden * (high - low)
            at_y = log_v(y)
    return -min(at_x, at_y)


# ---------------------------------------------------------------------- one dimension, polynomials
def density(noise, x):
    return mp.exp(-abs(x)) / 2 if noise == "laplace" else mp.npdf(x)


def raw_moment(noise, k):
    if k % 2:
        return mp.mpf(0)
    return mp.factorial(k) if noise == "laplace" else mp.fac2(k - 1) if k else mp.mpf(1)


def shifted_moments(noise, shift, degree):
    return [
        sum(mp.binomial(k, j) * mp.mpf(shift) ** (k - j) * raw_moment(noise, j) for j in range(k + 1))
        for k in range(degree + 1)
    ]


def polynomial_terms(noise, a, power, *, only_value=False):
    """V, E|h|^(A-1) sign h x^k and E|h|^(A-2) x^k, by quadrature split at the zeros."""
    degree = len(a) - 1
    roots = mp.polyroots(list(reversed(a)), maxsteps=500, extraprec=200) if degree else []
    real = [mp.re(r) for r in roots if abs(mp.im(r)) < 2]
    reach = 60 + 6 * degree * power if noise == "laplace" else 14 + 3 * mp.sqrt(degree * power)
    marks = [-reach, -60, -25, -10, -4, -1, 0, 1, 4, 10, 25, 60, reach]
    points = sorted({mp.mpf(p) for p in [*marks, *real] if -reach <= p <= reach})

    def h(x):
        return mp.polyval(list(reversed(a)), x)

    def integrate(f):
        return mp.quad(f, points)

    v = integrate(lambda x: abs(h(x)) ** power * density(noise, x))
    if only_value:
        return v
    first = [
        integrate(lambda x, k=k: mp.sign(h(x)) * abs(h(x)) ** (power - 1) * x**k * density(noise, x))
        for k in range(degree + 1)
    ]
    second = [
        integrate(lambda x, k=k: (abs(h(x)) ** (power - 2) if h(x) else mp.mpf(0)) * x**k * density(noise, x))
        for k in range(2 * degree + 1)
    ]
    return v, first, second


def polynomial(noise, shift, order, degree):
    """Newton's method on V under a . m = 1, through orders from 2 to the one wanted."""
    m = shifted_moments(noise, shift, degree)
    gram = mp.matrix([[raw_moment(noise, i + j) for j in range(degree + 1)] for i in range(degree + 1)])
    solved = mp.lu_solve(gram, mp.matrix(m))
    scale = sum(solved[i] * m[i] for i in range(degree + 1))
    a = [solved[i] / scale for i in range(degree + 1)]
    goal = mp.log(mp.mpf(order) - 1)
    stages = max(1, int(mp.ceil(abs(goal) / mp.mpf("0.35"))))
    for stage in range(1, stages + 1):
        alpha = 1 + mp.exp(goal * stage / stages)
        power = conjugate(alpha)
        for _ in range(40):
            v, first, second = polynomial_terms(noise, a, power)
            size = degree + 2
            system, right = mp.matrix(size, size), mp.matrix(size, 1)
            for i in range(degree + 1):
                for j in range(degree + 1):
                    system[i, j] = (power - 1) * second[i + j]
                system[i, degree + 1] = system[degree + 1, i] = m[i]
                right[i] = -first[i]
            step = mp.lu_solve(system, right)
            length = mp.mpf(1)
            while length > mp.mpf("1e-4"):
                tried = [a[i] + length * step[i] for i in range(degree + 1)]
                if polynomial_terms(noise, tried, power, only_value=True) <= v:
                    break
                length /= 2
            a = tried
            gain = -sum(first[i] * step[i] for i in range(degree + 1)) / v
            if gain < (mp.mpf("1e-18") if stage == stages else mp.mpf("1e-6")):
                break
    return -mp.log(polynomial_terms(noise, a, power, only_value=True))


# ---------------------------------------------------------------------- several dimensions
def distinct_moment(coefficients, b, power):
    """E|b + Σ a_i x_i|^power for different a_i: partial fractions of Π 1/(1 + a_i² t²)."""
    total = mp.mpf(0)
    for i, a in enumerate(coefficients):
        others = [c for j, c in enumerate(coefficients) if j != i]
        total += laplace_moment(a, b, power) * mp.fprod(a**2 / (a**2 - c**2) for c in others)
    return total


def repeated_moment(groups, coefficients, b, power):
    """The same by the characteristic function, where coefficients are repeated and it falls quickly."""

    def integrand(t):
        phi = mp.cos(b * t)
        for (count, _), a in zip(groups, coefficients, strict=True):
            phi /= (1 + (a * t) ** 2) ** count
        return (1 - phi) * t ** (-1 - power)

    points = [0, mp.mpf("0.25"), mp.mpf("0.5"), *range(1, 16), *range(16, 64, 3), 64, 96, 128, 192, 256]
    tail = mp.mpf(points[-1]) ** (-power) / power  # φ is gone there
    with mp.workdps(50):  # 1 - φ cancels near 0
        body = mp.quad(integrand, points) + tail
    return 2 / mp.pi * mp.gamma(1 + power) * mp.sin(mp.pi * power / 2) * body


def vector(groups, order):
    """The place of the minimum matters to second order only: found in double precision, read in more."""
    power = conjugate(order)
    offsets = [count * shift for count, shift in groups]
    single = all(count == 1 for count, _ in groups)

    def log_v(a):
        a = [mp.mpf(x) for x in a]
        b = 1 - sum(x * o for x, o in zip(a, offsets, strict=True))
        moment = distinct_moment(a, b, power) if single else repeated_moment(groups, a, b, power)
        return mp.log(moment)

    total = sum(shift**2 * count / 2 for count, shift in groups)
    start = [float(shift / 2 / (1 + total)) for _, shift in groups]
    found = minimize(
        lambda a: float(log_v(a)), start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-15}
    )
    return -log_v(found.x)


def laplace_linear_kl(shift):
    s = mp.mpf(shift)
    a = mp.findroot(lambda a: s - 2 * a / (1 - a * a), s / (1 + mp.sqrt(1 + s * s)))
    return a * s + mp.log(1 - a * a)


def cases():
    for noise, shifts in (("laplace", ("0.01", "0.1", "1", "5")), ("gaussian", ("0.05", "0.5", "1", "5"))):
        for shift in shifts:
            for order in ("1.05", "1.5", "2", "3", "10", "50"):
                yield {"kind": "linear", "noise": noise, "shift": shift, "order": order}
    for noise in ("laplace", "gaussian"):
        for degree, shift, order in (
            (2, "1", "1.2"), (2, "1", "3"), (2, "0.1", "5"), (2, "5", "3"), (2, "1", "50"),
            (3, "1", "3"), (3, "1", "1.3"), (3, "2", "10"), (4, "1", "3"), (5, "1", "4"), (5, "0.5", "2.5"),
        ):  # fmt: skip
            yield {"kind": "polynomial", "noise": noise, "degree": degree, "shift": shift, "order": order}
    for groups, order in (
        ([[1, "0.5"], [1, "0.25"]], "3"),
        ([[1, "1"], [1, "0.1"]], "5"),
        ([[1, "0.2"], [1, "0.3"], [1, "0.4"]], "10"),
        ([[2, "0.3"], [3, "0.1"]], "3"),
        ([[10, "0.1"], [10, "0.3"]], "3"),
        ([[20, "0.2"]], "20"),
    ):
        yield {"kind": "vector", "groups": groups, "order": order}
    for shift in ("0.01", "0.1", "1", "5"):
        yield {"kind": "kl", "noise": "laplace", "shift": shift}


def value(case):
    match case["kind"]:
        case "linear":
            return linear(case["noise"], case["shift"], case["order"])
        case "polynomial":
            return polynomial(case["noise"], case["shift"], case["order"], case["degree"])
        case "vector":
            return vector([(n, mp.mpf(s)) for n, s in case["groups"]], case["order"])
        case _:
            return laplace_linear_kl(case["shift"])


def main():
    found = []
    for case in cases():
        start = time.time()
        try:
            number = value(case)
        except Exception as error:  # a case that mpmath cannot do is left out, and said
            print("left out", case, repr(error)[:80], flush=True)
            continue
        found.append({**case, "value": mp.nstr(number, 15)})
        print(f"{time.time() - start:6.1f} s", found[-1], flush=True)
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
