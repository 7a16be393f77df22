"""Reference values of noise on the integers and of selection, made without the library under test.

    pip install mpmath
    python tests/reference/make_lattice.py        # writes lattice.json

Every value is computed twice, with other precision and other cuts, and stored only if both agree to AGREE.

  discrete_laplace    P(k) ~ e^(-|k-m|/s), Q(k) ~ e^(-|k|/s) on the integers, summed over |k| up to a cut
  discrete_gaussian   P(k) ~ e^(-(k-m)^2/(2 s^2)), likewise
  exponential         the largest over t of the two-point pairs with losses t and t - 2 m/s; several of them
                      composed are dominated by the pair with their pointwise largest profile, whose loss has
                      P-density e^l d(delta' e^(-l))/dl, differentiated and integrated numerically
Readings: delta at an epsilon, epsilon at a delta (bisection), renyi at an order.
"""

import json
import pathlib

from mpmath import mp, mpf

FILE = pathlib.Path(__file__).with_name("lattice.json")
AGREE = mpf("1e-15")
RUNS = (40, 46), (55, 52)  # digits; standard deviations (or a third as many scales) kept


def lattice_law(kind, scale, shift, cut):
    """P and Q over a range of integers that leaves out less than matters."""
    s, m = mpf(scale), int(shift)
    reach = int(cut * s) + cut * m if kind == "discrete_gaussian" else int(4 * cut * s) + 3

    def weight(k):
        return mp.exp(-mpf(k * k) / (2 * s * s)) if kind == "discrete_gaussian" else mp.exp(-mpf(abs(k)) / s)

    total = weight(0) + 2 * mp.fsum(weight(k) for k in range(1, reach + 1))
    ks = range(-reach, reach + m + 1)
    return [weight(k - m) / total for k in ks], [weight(k) / total for k in ks]


def merged(p, q):
    """(loss, p, q) with equal losses put together: they are equal where the ratios agree to many digits."""
    table = {}
    for a, b in zip(p, q, strict=True):
        key = mp.nstr(mp.log(a / b), 25)
        first = table.get(key, (mpf(0), mpf(0)))
        table[key] = first[0] + a, first[1] + b
    return list(table.values())


def composed(atoms, steps):
    law = atoms
    for _ in range(steps - 1):
        law = merged(*zip(*[(a * c, b * d) for a, b in law for c, d in atoms], strict=True))
    return law


def lattice_delta(atoms, epsilon):
    grown = mp.exp(mpf(epsilon))
    return mp.fsum(a - grown * b for a, b in atoms if a > grown * b)


def lattice_renyi(atoms, order):
    w = mpf(order)
    return mp.log(mp.fsum(a**w * b ** (1 - w) for a, b in atoms)) / (w - 1)


def selection_profile(width, epsilon):
    """The largest delta of a two-point pair, by golden section over t."""
    low, high = max(epsilon, mpf(0)), width

    def delta(t):
        mass = (1 - mp.exp(t - width)) / (1 - mp.exp(-width))
        return mass * max(1 - mp.exp(epsilon - t), mpf(0))

    golden = (mp.sqrt(5) - 1) / 2
    while high - low > mpf(10) ** (-mp.dps // 2 - 4):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if delta(a) > delta(b) else (a, high)
    return delta((low + high) / 2)


def selection_density(width):
    """The Q-density of the ratio is the second derivative of delta in e^epsilon; in the loss, under P."""

    def profile(x):
        return (1 - mp.sqrt(x * mp.exp(-width))) ** 2 / (1 - mp.exp(-width))

    return lambda loss: mp.exp(2 * loss) * mp.diff(profile, mp.exp(loss), 2)


def selection_delta(width, steps, epsilon):
    if steps == 1:
        return selection_profile(width, epsilon)
    density = selection_density(width)

    def single(e):
        if e >= width:
            return mpf(0)
        return 1 - mp.exp(e) if e <= -width else (1 - mp.exp((e - width) / 2)) ** 2 / (1 - mp.exp(-width))

    kinks = sorted({max(min(point, width), -width) for point in (epsilon - width, epsilon + width)})
    ends = [-width, *[kink for kink in kinks if -width < kink < width], width]
    return mp.quad(lambda loss: density(loss) * single(epsilon - loss), ends)


def selection_renyi(width, order):
    density = selection_density(width)
    w = mpf(order)
    return mp.log(mp.quad(lambda loss: density(loss) * mp.exp((w - 1) * loss), [-width, 0, width])) / (w - 1)


def compute(row, digits, cut):
    mp.dps = digits
    kind, scale, shift, steps, reading, at = row
    if kind == "exponential":
        width = 2 * mpf(shift) / mpf(scale)
        if reading == "renyi":
            return selection_renyi(width, at)
        return selection_delta(width, steps, mpf(at))
    atoms = composed(merged(*lattice_law(kind, scale, shift, cut)), steps)
    if reading == "renyi":
        return steps * lattice_renyi(composed(merged(*lattice_law(kind, scale, shift, cut)), 1), at)
    if reading == "delta":
        return lattice_delta(atoms, at)
    low, high, target = mpf(0), mpf(64), mpf(at)
    while high - low > mpf(10) ** -22:
        middle = (low + high) / 2
        low, high = (low, middle) if lattice_delta(atoms, middle) <= target else (middle, high)
    return high


def rows():
    for scale, shift in (("2", 1), ("0.5", 1), ("3", 5), ("10", 7)):
        for at in ("0", "0.1", "0.3"):
            yield "discrete_laplace", scale, shift, 1, "delta", at
        for at in ("1.01", "2", "30"):
            yield "discrete_laplace", scale, shift, 1, "renyi", at
    yield "discrete_laplace", "3", 2, 4, "epsilon", "1e-3"
    yield "discrete_laplace", "3", 2, 4, "delta", "1.3"
    for scale, shift in (("1", 1), ("0.3", 1), ("4", 3), ("20", 2)):
        for at in ("0", "0.5", "2"):
            yield "discrete_gaussian", scale, shift, 1, "delta", at
        for at in ("1.01", "2", "30"):
            yield "discrete_gaussian", scale, shift, 1, "renyi", at
        for at in ("0.01", "1e-9", "1e-60"):
            yield "discrete_gaussian", scale, shift, 1, "epsilon", at
    for at in ("0", "1", "6"):
        yield "discrete_gaussian", "2", 1, 3, "delta", at
    for at in ("1e-6", "1e-20"):
        yield "discrete_gaussian", "2", 1, 3, "epsilon", at
    for scale in ("0.5", "2", "20"):
        for at in ("0", "0.03", "0.9"):
            yield "exponential", scale, 1, 1, "delta", at
            if scale != "20":
                yield "exponential", scale, 1, 2, "delta", at
        for at in ("1.5", "2", "30"):
            yield "exponential", scale, 1, 1, "renyi", at


def main():
    found = []
    for row in rows():
        first, second = (compute(row, *run) for run in RUNS)
        if abs(first - second) > AGREE * abs(second):
            raise SystemExit(f"{row}: {mp.nstr(first, 25)} and {mp.nstr(second, 25)} do not agree")
        kind, scale, shift, steps, reading, at = row
        found.append(
            {
                "kind": kind,
                "scale": scale,
                "sensitivity": shift,
                "steps": steps,
                "reading": reading,
                "at": at,
                "value": mp.nstr(second, 20),
            }
        )
        print(*row, mp.nstr(second, 20), flush=True)
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
