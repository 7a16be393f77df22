"""High-precision reference values, made without the library under test.

    pip install mpmath gmpy2
    python tests/reference/make_reference.py            # compute what values.json lacks
    python tests/reference/make_reference.py --all      # compute everything again

Every value is computed twice, with other precision, quadrature steps and contours or with another formula
(RUNS), and is stored only if both computations agree to AGREE; otherwise the script stops with an error.
Formulas are in pairs.py, the contour integral for many steps in contour.py.  Where two methods apply (two
subsampled steps; mixes with one Gaussian) the contour integral agrees with quadrature to 20 digits.

Conventions.  A directed pair (P, Q) has loss L = log dP/dQ under P and delta(eps) = E_P[(1 - e^(eps-L))_+].
"remove" is (P, Q), "add" is (Q, P); each direction is composed on its own, the guarantee is the larger delta.
epsilon(d) is the smallest eps >= 0 with delta(eps) <= d.  Sensitivity is 1.
  gaussian             P = N(1, s^2), Q = N(0, s^2)
  laplace              P = Lap(0, b), Q = Lap(1, b)
  randomized_response  P has `truth` on its own value, (1-truth)/(k-1) on each other; Q on another value
  poisson              ((1-q) Q + q P, Q) for the pair (P, Q) of the base
Readings: epsilon at a delta; delta at an epsilon; renyi at an order (the larger direction);
advantage = delta(0), the total variation, `at` "0"; tradeoff at a false positive rate x,
f(x) = sup_{eps>=0} max{0, 1-delta-e^eps x, e^-eps (1-delta-x)}.

Not covered: a few steps (3 to about 100) of a Poisson-subsampled Gaussian with rate <= 1e-5 and noise <= 1,
where the contour needs more than half a million nodes; one and two of them have a formula and a quadrature.
"""

import json
import pathlib
import sys
import time

from contour import chernoff_bound, contour_epsilon, contour_profile
from mpmath import mp, mpf
from pairs import (
    DIRECTIONS,
    Run,
    base_profile,
    best,
    composed,
    discrete_atoms,
    discrete_epsilon,
    discrete_profile,
    discrete_tradeoff,
    dpsgd,
    flatten,
    gaussian,
    gaussian_profile,
    kind,
    laplace,
    laplace_composed_profile,
    laplace_profile,
    poisson,
    rate_scale,
    renyi,
    renyi_closed,
    repeated,
    response,
    solve,
    subsampled_profile,
    two_step_profile,
)

FILE = pathlib.Path(__file__).with_name("values.json")
AGREE = mpf("1e-16")  # relative, asked of the two computations
RUNS = Run(50, 1e-20, 1.0), Run(60, 1e-23, 1.17)
SYMMETRIC = "gaussian", "laplace", "randomized_response"


# ---------------------------------------------------------------------------------------- choosing the method
def method(mechanism):
    parts = flatten(mechanism)
    n, name = parts[0][0], kind(parts[0][1])
    if len(parts) > 1:
        return "contour"
    if name in ("gaussian", "laplace"):
        return name
    if name.endswith("randomized_response"):
        return "discrete"
    if n <= 2:
        return ("single", "double")[n - 1]
    return "contour"


METHODS = {
    "gaussian": "closed form of the composed Gaussian",
    "laplace": "exact residues of the contour integral",
    "discrete": "exact multinomial sum",
    "single": "closed form of one subsampled step",
    "double": "quadrature of the single-step profile",
    "contour": "contour integral through the saddle",
    "renyi": "closed form or geometrically convergent quadrature",
}


def profile(mechanism, direction, run):
    """delta as a function of eps, for every method but the contour."""
    n, step = flatten(mechanism)[0]
    how = method(mechanism)
    if how == "gaussian":
        mu = mp.sqrt(n) / mpf(step["scale"])
        return lambda eps: gaussian_profile(mu, eps)
    if how == "laplace":
        if n == 1 and run is RUNS[1]:
            return lambda eps: laplace_profile(mpf(step["scale"]), eps)
        return lambda eps: laplace_composed_profile(step["scale"], n, eps, run)
    if how == "discrete":
        atoms = discrete_atoms(step, n, direction)
        return lambda eps: discrete_profile(atoms, eps)
    if how == "single":
        q, _ = rate_scale(step)
        return lambda eps: subsampled_profile(base_profile(step), q, eps, direction)
    return lambda eps: two_step_profile(step, eps, direction, run)


def directions(mechanism):
    return DIRECTIONS[:1] if all(kind(step) in SYMMETRIC for _, step in flatten(mechanism)) else DIRECTIONS


# --------------------------------------------------------------------------------------------------- readings
def delta(mechanism, eps, run):
    if method(mechanism) != "contour":
        return max(profile(mechanism, direction, run)(eps) for direction in directions(mechanism))
    steps = flatten(mechanism)
    found = contour_profile(steps, "remove", run, eps)[0]
    if add_matters(mechanism, run, eps, found):
        found = max(found, contour_profile(steps, "add", run, eps)[0])
    return found


def add_matters(mechanism, run, eps, d):
    """Whether a quick bound of the other direction leaves open that its delta(eps) exceeds d."""
    log_d = mp.log(d)
    return (
        len(directions(mechanism)) == 2 and chernoff_bound(flatten(mechanism), "add", run, eps, log_d) > log_d
    )


def epsilon(mechanism, d, run):
    """The larger direction.  "add" is solved only if it exceeds d at the epsilon of "remove"."""
    if method(mechanism) == "discrete":
        n, step = flatten(mechanism)[0]
        return max(discrete_epsilon(discrete_atoms(step, n, way), d) for way in directions(mechanism))
    if method(mechanism) != "contour":
        eps = mpf(0)
        for direction in directions(mechanism):
            f = profile(mechanism, direction, run)
            if f(eps) > d:
                eps = solve(f, d)
        return eps
    steps = flatten(mechanism)
    eps = contour_epsilon(steps, "remove", run, d)
    if add_matters(mechanism, run, eps, d) and contour_profile(steps, "add", run, eps)[0] > d:
        eps = contour_epsilon(steps, "add", run, d)
    return eps


def tradeoff(mechanism, x, run):
    """First run: Neyman and Pearson's test in closed form; second run, contours: the supremum over eps."""
    n, step = flatten(mechanism)[0]
    how = method(mechanism)
    if how == "contour":
        return contour_tradeoff(mechanism, x, run)
    if run is RUNS[1]:
        f = profile(mechanism, "remove", run)
        return max(
            0,
            best(lambda e: 1 - f(e) - mp.exp(e) * x, mpf(0), mpf(100)),
            best(lambda e: mp.exp(-e) * (1 - f(e) - x), mpf(0), mpf(100)),
        )
    if how == "gaussian":  # Dong, Roth & Su 2022
        return mp.ncdf(mp.sqrt(2) * mp.erfinv(1 - 2 * x) - mp.sqrt(n) / mpf(step["scale"]))
    if how == "laplace" and n == 1:
        s = 1 / mpf(step["scale"])
        if x < mp.exp(-s) / 2:
            return 1 - mp.exp(s) * x
        return mp.exp(-s) / (4 * x) if x < 0.5 else mp.exp(-s) * (1 - x)
    return discrete_tradeoff(discrete_atoms(step, n, "remove"), x)


def contour_tradeoff(mechanism, x, run):
    """1-delta-e^eps x is largest where Q(L>eps) = x, e^-eps (1-delta-x) where P(L>eps) = 1-x (or at 0),
    and flat there: 14 digits of eps are plenty.  "add" does not matter if its delta is smaller there."""
    steps, found = flatten(mechanism), mpf(0)

    def at(eps):
        return contour_profile(steps, "remove", run, eps)

    for first in (True, False):
        if first:
            eps = solve(lambda e: at(e)[1] * mp.exp(-e), x, 14)
            value = 1 - at(eps)[0] - mp.exp(eps) * x
        else:
            eps = solve(lambda e: sum(at(e)), 1 - x, 14)
            value = mp.exp(-eps) * (1 - at(eps)[0] - x)
        if value > found:
            found, where = value, eps
    if delta(mechanism, where, run) > at(where)[0]:
        raise ValueError("add exceeds remove: not handled")
    return found


def renyi_curve(mechanism, order, run):
    """First run: closed forms where there are any; second run: quadrature everywhere."""

    def one_step(step, direction):
        if run is RUNS[0] and step["kind"] in ("gaussian", "laplace"):
            return renyi_closed(step, order)
        return renyi(step, order, direction, run)

    def total(direction):
        return sum(n * one_step(step, direction) for n, step in flatten(mechanism))

    return max(total(direction) for direction in directions(mechanism))


READINGS = {
    "epsilon": epsilon,
    "delta": delta,
    "advantage": delta,
    "tradeoff": tradeoff,
    "renyi": renyi_curve,
}


def value(mechanism, reading, at):
    """The value as a decimal string, once both runs agree."""
    both = []
    for run in RUNS:
        mp.dps = run.digits
        both.append(READINGS[reading](mechanism, mpf(at), run))
    if not abs(both[0] - both[1]) <= AGREE * abs(both[1]):
        raise ArithmeticError(f"{mechanism} {reading} {at}: {both[0]} and {both[1]}")
    if both[1] <= 0:
        raise ArithmeticError(f"{mechanism} {reading} {at}: the value is {both[1]}, choose another case")
    return mp.nstr(both[1], 17, strip_zeros=False, min_fixed=-4, max_fixed=17)


# ------------------------------------------------------------------------------------------------------ cases
SGD = dpsgd("0.01", "1", 1000)

STATED = [  # written down before the library was
    (repeated(1000, gaussian("20")), "1e-5"),
    (dpsgd("0.001", "4", 100_000), "1e-5"),
    (dpsgd("0.004266666666666666666666666666666666666667", "1.1", 14_062), "1e-5"),
    (dpsgd("0.01", "1", 20_000), "1e-5"),
    (dpsgd("0.003", "0.6", 10_000), "1e-5"),
    (SGD, "1e-5"),
    (SGD, "1e-12"),
    (SGD, "1e-300"),
    (dpsgd("0.0044317212", "7.6563191745", 16), "3.3993480937e-10"),
    (dpsgd("0.0361", "13.2", 74_866), "7.5e-11"),
    (repeated(250, response("0.51")), "1e-6"),
    (repeated(250, response("0.52")), "1e-6"),
    (repeated(250, laplace("20")), "1e-6"),
]
GAUSSIAN = [  # scale, steps, delta
    ("0.3", 1, "0.3"),
    ("0.3", 1, "1e-100"),
    ("0.5", 10, "1e-10"),
    ("1", 1, "1e-5"),
    ("1", 1, "1e-2"),
    ("1", 10**9, "1e-5"),
    ("0.3", 10**9, "1e-30"),
    ("2", 100, "1e-30"),
    ("5", 1, "1e-2"),
    ("10", 1, "1e-5"),
    ("30", 100, "1e-10"),
    ("100", 10**4, "0.3"),
    ("100", 1, "1e-5"),
    ("1e3", 10**6, "1e-5"),
    ("1e4", 1, "1e-10"),
    ("1e4", 10**9, "1e-2"),
    ("1e4", 1, "1e-30"),
    ("1e4", 10**6, "1e-100"),
    ("1e3", 1, "1e-100"),
]
GAUSSIAN_DELTA = [  # scale, steps, epsilon
    ("1", 1, "1"),
    ("1", 1, "30"),
    ("20", 1000, "1"),
    ("20", 1000, "10"),
    ("0.3", 1, "5"),
    ("1e4", 1, "1e-5"),
    ("1e4", 10**9, "20"),
]
SUBSAMPLED = [  # rate, scale, steps, delta
    ("1e-6", "0.5", 1, "1e-10"),
    ("1e-4", "1", 1, "1e-5"),
    ("1e-3", "0.3", 1, "1e-5"),
    ("0.01", "4", 1, "1e-10"),
    ("0.1", "30", 1, "1e-10"),
    ("0.5", "1e3", 1, "1e-10"),
    ("0.9", "0.3", 1, "0.3"),
    ("0.9", "1e4", 1, "1e-30"),
    ("0.5", "0.5", 1, "1e-2"),
    ("0.1", "1", 1, "1e-100"),
    ("1e-6", "1", 2, "1e-10"),
    ("1e-4", "0.5", 2, "1e-5"),
    ("0.01", "0.3", 2, "1e-5"),
    ("0.1", "1", 2, "1e-5"),
    ("0.5", "4", 2, "1e-2"),
    ("0.9", "0.3", 2, "0.3"),
    ("0.5", "30", 2, "1e-10"),
    ("1e-3", "4", 2, "1e-30"),
    ("1e-6", "4", 100, "1e-10"),
    ("1e-4", "4", 100, "1e-10"),
    ("1e-3", "1", 100, "1e-5"),
    ("0.01", "0.5", 100, "1e-5"),
    ("0.1", "0.3", 100, "1e-2"),
    ("0.1", "30", 100, "1e-10"),
    ("0.5", "1", 100, "1e-30"),
    ("0.9", "0.3", 100, "0.3"),
    ("0.9", "1e3", 100, "1e-10"),
    ("0.5", "1e4", 100, "1e-10"),
    ("0.01", "1", 100, "1e-100"),
    ("0.9", "4", 100, "1e-5"),
    ("0.1", "4", 3, "1e-10"),
    ("0.5", "0.5", 5, "1e-5"),
    ("0.01", "1", 10, "1e-5"),
    ("1e-4", "1", 100, "1e-5"),
    ("1e-3", "0.5", 100, "1e-5"),
    ("1e-4", "0.3", 10**4, "1e-2"),
    ("1e-4", "1", 10**4, "1e-5"),
    ("1e-3", "0.5", 10**4, "1e-5"),
    ("0.01", "4", 10**4, "1e-10"),
    ("0.1", "1", 10**4, "0.3"),
    ("0.5", "30", 10**4, "1e-2"),
    ("0.9", "1e3", 10**4, "1e-5"),
    ("0.5", "0.3", 10**4, "1e-100"),
    ("0.1", "1e4", 10**4, "1e-30"),
    ("0.01", "1", 10**4, "1e-30"),
    ("1e-6", "0.3", 10**6, "1e-5"),
    ("1e-6", "0.5", 10**6, "1e-10"),
    ("1e-6", "1", 10**6, "1e-5"),
    ("1e-4", "4", 10**6, "1e-10"),
    ("1e-3", "1", 10**6, "0.3"),
    ("1e-3", "30", 10**6, "1e-10"),
    ("0.01", "0.5", 10**6, "1e-2"),
    ("0.1", "4", 10**6, "1e-5"),
    ("0.5", "1e3", 10**6, "1e-10"),
    ("0.9", "1e4", 10**6, "1e-2"),
    ("0.01", "1", 10**6, "1e-100"),
    ("1e-6", "1", 10**9, "1e-5"),
    ("1e-6", "0.3", 10**9, "1e-10"),
    ("1e-4", "30", 10**9, "1e-5"),
    ("1e-3", "1e3", 10**9, "1e-10"),
    ("1e-3", "4", 10**9, "1e-30"),
    ("0.01", "1e4", 10**9, "1e-5"),
    ("0.1", "1", 10**9, "0.3"),
    ("0.5", "0.3", 10**9, "1e-5"),
    ("0.9", "1e3", 10**9, "1e-100"),
    ("0.5", "1e4", 10**9, "0.3"),
]
SUBSAMPLED_DELTA = [  # rate, scale, steps, epsilon
    *(("0.01", "1", 1000, eps) for eps in ("0.1", "0.5", "1", "2", "5", "20")),
    ("0.001", "4", 100_000, "0.1"),
    ("0.001", "4", 100_000, "0.5"),
    ("0.1", "0.5", 100, "10"),
    ("0.5", "1", 1, "1"),
    ("0.01", "1", 2, "0.05"),
]
RESPONSE = [  # truth, categories, steps, delta
    ("0.51", 2, 1, "1e-2"),
    ("0.51", 2, 10, "1e-5"),
    ("0.51", 2, 5000, "1e-5"),
    ("0.52", 2, 5000, "1e-10"),
    ("0.75", 2, 1, "1e-5"),
    ("0.75", 2, 10, "1e-5"),
    ("0.75", 2, 250, "1e-5"),
    ("0.75", 2, 5000, "1e-5"),
    ("0.99", 2, 1, "1e-5"),
    ("0.99", 2, 10, "1e-10"),
    ("0.99", 2, 250, "1e-5"),
    ("0.5", 3, 1, "1e-2"),
    ("0.5", 3, 10, "1e-5"),
    ("0.5", 3, 250, "1e-5"),
    ("0.5", 3, 5000, "1e-5"),
    ("0.2", 10, 10, "1e-5"),
    ("0.2", 10, 250, "1e-5"),
    ("0.2", 10, 5000, "1e-10"),
    ("0.9", 10, 10, "1e-2"),
    ("0.9", 10, 250, "1e-30"),
]
LAPLACE = [  # scale, steps, delta
    ("0.5", 1, "1e-5"),
    ("0.5", 2, "1e-5"),
    ("0.5", 10, "1e-5"),
    ("0.5", 250, "1e-10"),
    ("1", 1, "1e-5"),
    ("1", 2, "1e-2"),
    ("1", 10, "1e-5"),
    ("1", 250, "1e-5"),
    ("5", 1, "1e-2"),
    ("5", 2, "1e-5"),
    ("5", 10, "1e-5"),
    ("5", 250, "1e-5"),
    ("20", 1, "1e-2"),
    ("20", 2, "1e-5"),
    ("20", 10, "1e-2"),
]
SUBSAMPLED_OTHER = [  # rate, base, steps, delta
    ("0.1", laplace("1"), 1, "1e-5"),
    ("0.01", laplace("0.5"), 1, "1e-3"),
    ("0.5", laplace("5"), 1, "1e-2"),
    ("0.1", laplace("1"), 2, "1e-5"),
    ("0.01", laplace("0.5"), 2, "1e-3"),
    ("0.5", laplace("5"), 2, "1e-2"),
    *(("0.1", response("0.75"), n, "1e-5") for n in (1, 10, 100)),
    *(("0.01", response("0.99"), n, "1e-5") for n in (1, 10, 100)),
    *(("0.5", response("0.6", 3), n, "1e-5") for n in (1, 10, 100)),
]
MIXED = [  # mechanism, delta
    (composed(repeated(20, gaussian("10")), SGD), "1e-5"),
    (composed(dpsgd("0.01", "1", 500), dpsgd("0.02", "2", 500)), "1e-6"),
    (composed(repeated(50, gaussian("20")), repeated(100, laplace("20"))), "1e-5"),
    (composed(repeated(10, gaussian("5")), repeated(100, response("0.51")), dpsgd("0.05", "3", 200)), "1e-8"),
    (composed(*(poisson("0.01", gaussian(f"{1 + i / 50:.2f}")) for i in range(100))), "1e-5"),
]
RENYI = [
    poisson("0.01", gaussian("1")),
    poisson("0.1", gaussian("4")),
    poisson("0.5", gaussian("0.5")),
    laplace("1"),
    response("0.75"),
    response("0.5", 3),
    poisson("0.1", laplace("1")),
    repeated(10, gaussian("5")),
]
TRADEOFF = [
    gaussian("1"),
    repeated(1000, gaussian("20")),
    laplace("1"),
    response("0.75"),
    repeated(10, response("0.6")),
    SGD,
]
ADVANTAGE = [
    gaussian("1"),
    laplace("1"),
    repeated(250, laplace("20")),
    repeated(250, response("0.51")),
    poisson("0.01", gaussian("1")),
    SGD,
    dpsgd("0.001", "4", 100_000),
]

CASES = [
    *((m, "epsilon", d) for m, d in STATED),
    *((repeated(n, gaussian(s)), "epsilon", d) for s, n, d in GAUSSIAN),
    *((repeated(n, gaussian(s)), "delta", e) for s, n, e in GAUSSIAN_DELTA),
    *((repeated(n, response(p, k)), "epsilon", d) for p, k, n, d in RESPONSE),
    *((repeated(n, laplace(b)), "epsilon", d) for b, n, d in LAPLACE),
    *((repeated(n, poisson(q, base)), "epsilon", d) for q, base, n, d in SUBSAMPLED_OTHER),
    *((m, "renyi", order) for m in RENYI for order in ("0.5", "0.9", "1", "1.5", "2", "10.5", "100")),
    *((m, "advantage", "0") for m in ADVANTAGE),
    *((dpsgd(q, s, n), "epsilon", d) for q, s, n, d in SUBSAMPLED),
    *((dpsgd(q, s, n), "delta", e) for q, s, n, e in SUBSAMPLED_DELTA),
    *((repeated(10, laplace("1")), "delta", e) for e in ("0.5", "3")),
    *((repeated(250, response("0.51")), "delta", e) for e in ("0.5", "3")),
    *((m, "tradeoff", x) for m in TRADEOFF for x in ("1e-6", "0.01", "0.05", "0.3", "0.7")),
    *((m, "epsilon", d) for m, d in MIXED),
]


def write(rows):
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def main():
    rows = json.loads(FILE.read_text()) if FILE.exists() and "--all" not in sys.argv else []
    known = {json.dumps([row["mechanism"], row["reading"], row["at"]]): row for row in rows}
    keys = [json.dumps(case) for case in CASES]
    for key, (mechanism, reading, at) in zip(keys, CASES, strict=True):
        if key in known:
            continue
        start = time.perf_counter()
        found = value(mechanism, reading, at)
        how = METHODS["renyi" if reading == "renyi" else method(mechanism)]
        known[key] = {"mechanism": mechanism, "reading": reading, "at": at, "value": found, "method": how}
        print(f"{time.perf_counter() - start:7.2f}s {found:24} {key[1:100]}", flush=True)
        write([known[k] for k in keys if k in known])
    write([known[k] for k in keys])


if __name__ == "__main__":
    main()
