"""Hard reference values, each as a bracket, made without the library under test.

    pip install numpy scipy mpmath
    python tests/reference/make_hard_reference.py              # writes hard.json, in some minutes
    python tests/reference/make_hard_reference.py groups tiny  # only these regimes, the others kept

  losses.py     the losses of one step
  positive.py   plain convolution with Lagrange weights, on finer lattices until two agree; the value must
                lie between the bounds that two-sided rounding gives
  exact.py      enumeration, closed forms (mpmath), integrals split at their kinks

A case is computed at an epsilon with few digits. It gives two rows: delta there, and the epsilon that goes
with that delta; the bracket of the second is that of the first divided by the slope. What does not come out
to ROUGH is not stored. Every mechanism is written in the library's language of expressions, and both
directions count.
"""

import json
import math
import pathlib
import sys
import time

import numpy as np
from exact import (
    SampledGaussianTests,
    gaussian_profile,
    group_profile,
    laplace_profile,
    lattice_gaussian,
    lattice_laplace,
    plus,
    polygon_group,
    response,
    sampled_laplace_profile,
    times,
    with_gaussian,
)
from losses import Atoms, LaplaceLaw, SampledGaussian, Spliced
from mpmath import mp, mpf
from positive import both, directed, pilot, tight

FILE = pathlib.Path(__file__).with_name("hard.json")
ROUGH = 2e-8
"""Relative error of delta beyond which a value is no reference."""
SAFETY = 5.0
EXACT = 2e-12
"""Relative error given to what is enumerated in doubles."""


def few(value, digits=4):
    return float(f"{value:.{digits}g}")


class Rows:
    """What is found, regime by regime."""

    def __init__(self, regime):
        self.regime, self.rows, self.left_out = regime, [], 0

    def add(self, mechanism, epsilon, delta, error, slope, method):
        """`slope`: minus the derivative of delta, or less."""
        if not (delta > 0 and epsilon > 0 and error <= ROUGH * delta):
            self.left_out += 1
            print(
                "   left out:",
                mechanism[:90],
                epsilon,
                delta,
                error / delta if delta > 0 else None,
                flush=True,
            )
            return
        error = max(SAFETY * error, EXACT * delta)
        step = error / slope + 4e-16 * epsilon
        self.row(mechanism, "delta", epsilon, delta, error, method)
        self.row(mechanism, "epsilon", delta, epsilon, step, method)
        print(f"   {epsilon:.6g} {delta:.6g} ±{error / delta:.0e} {mechanism[:90]}", flush=True)

    def row(self, mechanism, reading, at, value, width, method):
        words = {"regime": self.regime, "mechanism": mechanism, "reading": reading, "method": method}
        numbers = {"at": at, "low": value - width, "high": value + width}
        self.rows.append(words | {name: float(number) for name, number in numbers.items()})

    def composed(self, mechanism, terms, delta):
        """By convolution, near a delta."""
        epsilon = few(pilot(terms, delta))
        if epsilon <= 0:
            return
        found = tight(terms, epsilon, delta)
        self.add(
            mechanism, epsilon, found.delta, found.error, math.exp(epsilon) * found.q_above, "convolution"
        )

    def profile(self, mechanism, profile, delta, method, error=EXACT, epsilon=None, digits=5):
        """From a profile that can be computed anywhere, near a delta."""
        if epsilon is None:
            low, high = 0.0, 1.0
            if profile(low) <= delta:
                return
            while profile(high) > delta:
                low, high = high, 2 * high
            for _ in range(16 if digits < 9 else 50):
                middle = (low + high) / 2
                low, high = (middle, high) if profile(middle) > delta else (low, middle)
            epsilon = few(low, digits)
        value = float(profile(epsilon))
        ahead = epsilon * (1 + 10.0 ** (1 - digits))
        slope = (value - float(profile(ahead))) / (ahead - epsilon)
        self.add(mechanism, epsilon, value, error * value, slope, method)

    def at_delta(self, mechanism, terms, delta):
        """The epsilon of a delta that somebody else chose: Newton's method on log delta."""
        epsilon = pilot(terms, delta)
        for _ in range(6):
            found = tight(terms, epsilon, delta)
            slope = math.exp(epsilon) * found.q_above
            move = math.log(found.delta / delta) * found.delta / slope
            if abs(move) < 1e-12 * epsilon:
                break
            epsilon += move
        width = (SAFETY * found.error + abs(found.delta - delta)) / slope + 1e-15 * epsilon
        self.row(mechanism, "epsilon", delta, epsilon, width, "convolution")
        print(f"   {epsilon!r} ±{width:.0e} at {delta} {mechanism[:90]}", flush=True)


# -- words ---------------------------------------------------------------------------------------------------


def gaussian(scale, rate=None, steps=1):
    text = f"gaussian({scale!r})" if rate is None else f"gaussian({scale!r}).subsample({rate!r})"
    return f"{steps} * {text}", (SampledGaussian(scale, 1.0 if rate is None else rate), steps)


def together(parts):
    return " + ".join(text for text, _ in parts), [term for _, term in parts]


def log_uniform(rng, low, high, digits=4):
    return few(math.exp(rng.uniform(math.log(low), math.log(high))), digits)


# -- the regimes ---------------------------------------------------------------------------------------------


def training(rows):
    rng = np.random.default_rng(1)
    for _ in range(24):
        rate, scale = log_uniform(rng, 5e-4, 0.05), log_uniform(rng, 0.5, 4)
        steps, delta = round(log_uniform(rng, 1e2, 1e5)), 10 ** -rng.uniform(3, 12)
        text, term = gaussian(scale, rate, steps)
        rows.composed(text, [term], delta)


def tiny(rows):
    rng = np.random.default_rng(2)
    for k in range(36):
        rate, scale = log_uniform(rng, 1e-7, 1e-3), log_uniform(rng, 0.6, 3)
        steps = round(log_uniform(rng, 2, 1e5 if k % 2 else 100))
        delta = min(10 ** -rng.uniform(5, 30), steps * rate * 1e-3)
        text, term = gaussian(scale, rate, steps)
        rows.composed(text, [term], delta)


def deep(rows):
    rng = np.random.default_rng(3)
    for k in range(24):
        rate, scale = log_uniform(rng, 1e-5, 0.5), log_uniform(rng, 0.8, 6)
        steps, delta = round(log_uniform(rng, 1, 1e4)), 10 ** -rng.uniform(30, 100)
        if k % 6 == 5:
            delta = 1e-100
        text, term = gaussian(scale, rate, steps)
        rows.composed(text, [term], delta)


def several(rows):
    rng = np.random.default_rng(4)
    for k in range(24):
        parts = []
        for _ in range([2, 3, 5, 8, 13, 20][k % 6]):
            kind = rng.integers(5)
            if kind <= 1:
                steps = round(log_uniform(rng, 1, 3000))
                parts.append(gaussian(log_uniform(rng, 0.7, 5, 3), log_uniform(rng, 1e-4, 0.1, 3), steps))
            elif kind == 2:
                parts.append(gaussian(log_uniform(rng, 3, 30, 3)))
            elif kind == 3:
                scale, rate = log_uniform(rng, 2, 30, 3), log_uniform(rng, 0.01, 0.5, 3)
                parts.append((f"laplace({scale!r}).subsample({rate!r})", (LaplaceLaw(scale, rate), 1)))
            else:
                truth = few(rng.uniform(0.51, 0.7), 3)
                parts.append(
                    (f"randomized_response({truth!r})", (Atoms([truth, 1 - truth], [1 - truth, truth]), 1))
                )
        parts.append(gaussian(log_uniform(rng, 4, 12, 3)))
        text, terms = together(parts)
        rows.composed(text, terms, 10 ** -rng.uniform(3, 15))


def without_replacement(rows):
    rng = np.random.default_rng(5)
    for k in range(18):
        size, of = int(rng.integers(1, 200)), int(rng.integers(500, 100_000))
        scale, sensitivity = log_uniform(rng, 0.7, 4, 3), [1.0, 2.0][k % 2]
        steps, delta = round(log_uniform(rng, 1, 5000)), 10 ** -rng.uniform(3, 20)
        text = f"{steps} * gaussian({scale!r}, sensitivity={sensitivity!r}).subsample({size}, of={of})"
        rows.composed(
            text, [(Spliced(scale, size / of, sensitivity), steps)], min(delta, 1e-3 * steps * size / of)
        )
    for truth, size, of, steps, delta in (
        (0.75, 30, 100, 20, 1e-4),
        (0.9, 5, 1000, 200, 1e-6),
        (0.6, 1, 4, 50, 1e-9),
    ):
        lie, rate = 1 - truth, size / of
        up = (1 - rate) * lie + rate * truth
        step = Atoms([up, lie, 1 - up - lie], [lie, up, 1 - up - lie])
        law = times(step, steps)
        text = f"{steps} * randomized_response({truth!r}).subsample({size}, of={of})"
        rows.profile(text, lambda e, law=law: with_gaussian(law, 0.0, e), delta, "enumeration", 1e-12)


def rarely(rows):
    """Without replacement at tiny rates, where a few steps are told and others may be told the other way."""
    rng = np.random.default_rng(15)
    for _ in range(16):
        of, scale = round(log_uniform(rng, 1e4, 1e6)), log_uniform(rng, 0.7, 3, 3)
        steps, size = round(log_uniform(rng, 2, 30)), int(rng.integers(1, 10))
        delta = steps * size / of * 10 ** -rng.uniform(0.7, 4)
        text = f"{steps} * gaussian({scale!r}).subsample({size}, of={of})"
        rows.composed(text, [(Spliced(scale, size / of, 1.0), steps)], delta)


def discrete(rows):
    rng = np.random.default_rng(6)
    for k in range(26):
        laws, words = [], []
        for _ in range(1 + k % 3):
            steps, kind = round(log_uniform(rng, 1, 100)), rng.integers(3)
            if kind == 0:
                truth = few(rng.uniform(0.51, 0.75), 3)
                laws.append(times(response(truth), steps))
                words.append(f"{steps} * randomized_response({truth!r})")
            elif kind == 1:
                scale, shift = log_uniform(rng, 0.7, 6, 2), int(rng.integers(1, 3))
                steps = min(steps, 30)
                laws.append(times(lattice_gaussian(scale, shift), steps))
                words.append(f"{steps} * discrete_gaussian({scale!r}, sensitivity={shift})")
            else:
                scale, shift = log_uniform(rng, 1, 10, 2), int(rng.integers(1, 4))
                steps = min(steps, 30)
                laws.append(times(lattice_laplace(scale, shift), steps))
                words.append(f"{steps} * discrete_laplace({scale!r}, sensitivity={shift})")
        law = laws[0]
        for other in laws[1:]:
            if law.p.size * other.p.size > 2e7:
                break
            law = plus(law, other)
        else:
            scale = [0, 20.0, 200.0, 1000.0, 60.0][k % 5]
            text = " + ".join([*words, f"gaussian({scale!r})"] if scale else words)
            mu = 1 / scale if scale else 0.0
            delta = 10 ** -rng.uniform(1, 12)
            rows.profile(
                text, lambda e, law=law, mu=mu: with_gaussian(law, mu, e), delta, "enumeration", 1e-12
            )
    for truth, steps, rate, scale, delta in (
        (0.7, 20, 0.2, 50.0, 1e-4),
        (0.9, 100, 0.05, 100.0, 1e-6),
        (0.6, 40, 0.5, 500.0, 1e-3),
        (0.8, 10, 0.01, 30.0, 1e-8),
    ):
        step = Atoms([truth, 1 - truth], [1 - truth, truth]).sampled(rate)
        laws = times(step, steps), times(step.reverse(), steps)
        text = f"{steps} * randomized_response({truth!r}).subsample({rate!r}) + gaussian({scale!r})"
        rows.profile(
            text,
            lambda e, laws=laws, s=scale: max(with_gaussian(x, 1 / s, e) for x in laws),
            delta,
            "enumeration",
            1e-12,
        )
    for truth, steps, scale, rate, count, delta in (
        (0.6, 30, 2.0, 0.01, 1000, 1e-5),
        (0.55, 100, 1.0, 0.005, 200, 1e-4),
        (0.7, 8, 3.0, 0.02, 3000, 1e-7),
    ):
        text, term = gaussian(scale, rate, count)
        step = Atoms([truth, 1 - truth], [1 - truth, truth])
        rows.composed(f"{steps} * randomized_response({truth!r}) + {text}", [(step, steps), term], delta)


def groups(rows):
    mp.dps = 30
    for scale, rate, size, delta in (
        (1.0, 0.01, 3, 1e-12),
        (1.0, 0.01, 2, 1e-5),
        (2.0, 0.05, 4, 1e-6),
        (0.8, 0.001, 2, 1e-8),
        (1.5, 0.1, 5, 1e-10),
        (0.6, 0.02, 3, 1e-4),
        (1.0, 1e-4, 2, 1e-15),
        (3.0, 0.3, 3, 1e-20),
        (1.2, 0.5, 2, 1e-9),
        (0.7, 1e-5, 3, 1e-9),
    ):
        tests = SampledGaussianTests(1 / mpf(scale), rate)
        text = f"gaussian({scale!r}).subsample({rate!r}).group({size})"
        rows.profile(text, lambda e, t=tests, s=size: group_profile(t, s, e), delta, "mpmath")
    for scale, steps, size, delta in ((4.0, 3, 3, 1e-6), (20.0, 100, 5, 1e-40), (50.0, 1000, 2, 1e-5)):
        mu = size * math.sqrt(steps) / scale
        text = f"({steps} * gaussian({scale!r})).group({size})"
        rows.profile(text, lambda e, mu=mu: float(gaussian_profile(mu, e)), delta, "closed form")
    for scale, steps, size, delta in ((20.0, 6, 3, 1e-6), (5.0, 2, 2, 1e-3), (60.0, 12, 5, 1e-8)):
        text = f"({steps} * laplace({scale!r})).group({size})"
        rows.profile(
            text, lambda e, k=size, s=scale, n=steps: laplace_profile(k / mpf(s), n, e), delta, "mpmath"
        )
    for truth, size, delta in ((0.75, 2, 0.3), (0.6, 3, 0.2), (0.9, 2, 0.05)):
        profile = polygon_group([mpf(truth), 1 - mpf(truth)], [1 - mpf(truth), mpf(truth)], size)
        rows.profile(f"randomized_response({truth!r}).group({size})", profile, delta, "mpmath")
    for scale, size, steps, delta in ((3.0, 3, 4, 1e-5), (2.0, 2, 10, 1e-9)):
        law = times(lattice_gaussian(scale, size), steps)
        text = f"({steps} * discrete_gaussian({scale!r})).group({size})"
        rows.profile(text, lambda e, law=law: with_gaussian(law, 0.0, e), delta, "enumeration", 1e-12)


def nested(rows):
    rng = np.random.default_rng(8)
    for k in range(22):
        rate, inner, scale = (
            log_uniform(rng, 0.003, 0.5, 3),
            log_uniform(rng, 1e-3, 0.2, 3),
            log_uniform(rng, 0.7, 3, 3),
        )
        steps, delta = round(log_uniform(rng, 2, 300)), 10 ** -rng.uniform(4, 15)
        if k == 0:
            rate, inner, scale, steps, delta = 0.14, 0.00626, 1.375, 17, 1e-5
        if k == 1:
            rate, inner, scale, steps, delta = 0.14, 0.00626, 1.375, 17, 1e-9
        terms = [(SampledGaussian(scale, inner if k % 3 else 1.0), steps)]
        delta = min(delta, 1e-4 * rate)
        base = pilot(terms, delta / rate)
        epsilon = few(math.log1p(rate * math.expm1(base)))
        if epsilon <= 0:
            continue
        within = math.log1p(math.expm1(epsilon) / rate)
        found = tight(
            terms[:1], within, delta / rate
        )  # "remove" of the base is its worse direction, checked next
        add = added(terms, rate, epsilon, delta)
        value, error = rate * found.delta, rate * found.error
        if add > value * 0.999:
            print("   the other direction is as large:", add, value)
            continue
        slope = math.exp(epsilon) * found.q_above  # Q(L > epsilon) is Q(L0 > within)
        middle = f"gaussian({scale!r}).subsample({inner!r})" if k % 3 else f"gaussian({scale!r})"
        rows.add(f"({steps} * {middle}).subsample({rate!r})", epsilon, value, error, slope, "convolution")


def added(terms, rate, epsilon, delta):
    """The profile of (Q, (1-q) Q + q P) at epsilon, from that of (Q, P)."""
    left = 1 - math.exp(epsilon) * (1 - rate)
    if left <= 0:
        return 0.0
    within = epsilon + math.log(rate) - math.log(left)
    return left * directed(both(terms)[1], within, math.log(delta), floor=delta / 10).delta


def laplace(rows):
    mp.dps = 60
    for scale, steps, delta in (
        (1.0, 1, 1e-2),
        (1.0, 2, 1e-2),
        (5.0, 10, 1e-6),
        (20.0, 16, 1e-5),
        (10.0, 20, 1e-9),
        (2.0, 5, 1e-4),
        (50.0, 24, 1e-12),
    ):
        text = f"{steps} * laplace({scale!r})"
        rows.profile(text, lambda e, s=scale, n=steps: laplace_profile(1 / mpf(s), n, e), delta, "mpmath")
    for scale, steps, rate, delta in (
        (5.0, 10, 0.1, 1e-18),
        (5.0, 10, 0.1, 1e-7),
        (3.0, 4, 0.01, 1e-5),
        (8.0, 12, 0.3, 1e-10),
    ):

        def profile(e, s=scale, n=steps, q=rate):
            return q * laplace_profile(1 / mpf(s), n, mp.log1p(mp.expm1(mpf(e)) / mpf(q)))

        # near the largest loss delta falls steeply
        rows.profile(
            f"({steps} * laplace({scale!r})).subsample({rate!r})", profile, delta, "mpmath", digits=10
        )
    for scale, rate, steps, delta in (
        (0.5, 0.1, 1, 1e-2),
        (1.0, 0.01, 1, 1e-3),
        (0.5, 0.1, 2, 1e-3),
        (2.0, 0.3, 2, 1e-2),
        (1.0, 0.05, 3, 1e-3),
    ):

        def sampled(e, a=1 / scale, q=rate, n=steps):
            return max(sampled_laplace_profile(a, q, n, e, add) for add in (False, True))

        rows.profile(f"{steps} * laplace({scale!r}).subsample({rate!r})", sampled, delta, "quadrature", 2e-12)
    for scale, rate, steps, delta in (
        (2.0, 0.05, 1000, 1e-5),
        (1.0, 0.01, 5000, 1e-6),
        (20.0, None, 250, 1e-6),
        (3.0, 0.1, 300, 1e-8),
        (100.0, None, 10_000, 1e-5),
        (0.7, 0.02, 2000, 1e-4),
    ):
        law = LaplaceLaw(scale, 1.0 if rate is None else rate)
        text = f"{steps} * laplace({scale!r})" + ("" if rate is None else f".subsample({rate!r})")
        rows.composed(text, [(law, steps)], delta)


def issue(rows):
    """What was found wrong before, at the very deltas."""
    for steps, rate, scale, delta in (
        (74_518, 1.594762e-6, 1.5043, 1.413056e-29),
        (22_026, 2.2603294069810542e-6, 1.0, 1.1548224173015786e-17),
        (16, 0.0044317212, 7.6563191745, 3.3993480937e-10),
        (74_866, 0.0361, 13.2, 7.5e-11),
        (1000, 0.01, 1.0, 1e-12),
        (14_062, 256 / 60000, 1.1, 1e-5),
    ):
        text, term = gaussian(scale, rate, steps)
        rows.at_delta(text, [term], delta)
    law = times(response(0.55), 100)
    for mu, more in ((0.0, ""), (1e-3, " + gaussian(1000.0)")):
        text = "100 * randomized_response(0.55)" + more
        rows.profile(
            text, lambda e, mu=mu: with_gaussian(law, mu, e), None, "enumeration", 1e-12, epsilon=1.0
        )
    law2 = times(lattice_gaussian(1.0, 1), 10)
    for mu, more in ((0.0, ""), (1 / 200, " + gaussian(200.0)")):
        text = "10 * discrete_gaussian(1.0)" + more
        rows.profile(text, lambda e, mu=mu: with_gaussian(law2, mu, e), 1e-5, "enumeration", 1e-12)


REGIMES = training, tiny, deep, several, without_replacement, rarely, discrete, groups, nested, laplace, issue


def main():
    wanted = sys.argv[1:] or [regime.__name__ for regime in REGIMES]
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    for regime in REGIMES:
        if regime.__name__ not in wanted:
            continue
        start = time.time()
        rows = Rows(regime.__name__)
        regime(rows)
        print(
            f"{regime.__name__}: {len(rows.rows)} rows, {rows.left_out} left out, {time.time() - start:.0f}s",
            flush=True,
        )
        kept = [row for row in kept if row["regime"] != regime.__name__] + rows.rows
        FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
