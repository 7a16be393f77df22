"""*Three Variants of Differential Privacy* (Asoodeh et al. 2021), Figures 4, 5, 8 and 9: noisy SGD.

They use γ(α) = αq²/((1-q)σ²) for a sampled Gaussian step, after Abadi et al. 2016, Lemma 3, which asks for
σ >= 1 and α <= 1 + σ² log(1/(qσ)). Where that does not hold the curves understate the loss; the exact ones
(Poisson sampling, add/remove) are drawn beside them.
"""

import math
from collections.abc import Callable

import numpy as np

from indistinct import Gaussian, GaussianDP
from indistinct.guarantees.published import (
    asoodeh_gaussian_epsilon,
    asoodeh_tradeoff,
    moments_accountant_epsilon,
    noisy_sgd_largest_order,
    noisy_sgd_rho,
)
from indistinct.numerics.arrays import Array
from indistinct.reproduce.figure import Curve, Figure, Panel, Printed, curve, wedges
from indistinct.reproduce.regions import DIAGONAL

_RATE = 256 / 60000
Region = Callable[[float, int, Array], Array]
"""From scale, steps and false positive rates to false negative rates."""


def figure_4() -> Figure:
    """σ = 4, q = 0.001, δ = 1e-5, by epochs (1000 steps each)."""
    rate, scale, delta = 0.001, 4.0, 1e-5
    rho = noisy_sgd_rho(rate, scale)
    epochs = np.arange(2, 802, 4)
    accountant = curve(lambda e: moments_accountant_epsilon(rho, round(e / rate), delta), epochs)
    lemma = curve(lambda e: asoodeh_gaussian_epsilon(rho, round(e / rate), delta), epochs)
    step = Gaussian(scale).subsample(rate).guarantee()
    slow = np.array([2, 10, 25, 50, 100, 200, 300, 400, 500, 600, 700, 800])
    exact = np.array([(round(float(e) / rate) * step).epsilon(delta) for e in slow])
    budgets = np.linspace(0.3, float(accountant[-1]), 60)
    more = np.interp(budgets, lemma, epochs) - np.interp(budgets, accountant, epochs)
    often = float((more > 100).mean())
    covered = noisy_sgd_largest_order(rate, scale)
    # (29) is attained at the order 1 + √(log(1/δ)/(ρT)); later epochs use smaller ones
    early = 1 + math.sqrt(math.log(1 / delta) * rate / (2 * rho))
    first_covered = math.log(1 / delta) / (rho * (covered - 1) ** 2) * rate
    lines = (
        Curve("moments accountant (29)", epochs, accountant, "second"),
        Curve("Lemma 2", epochs, lemma, "first"),
        Curve("exact, Poisson sampling (ours)", slow, exact, "exact", dashed=True),
    )
    claims = (
        Printed(
            "often over a hundred more epochs for the same ε",
            f"up to {more.max():.0f} more; over 100 in {100 * often:.0f} % of the range",
            often > 0.5,
            f"at 100 epochs Lemma 2 says ε = {np.interp(100, epochs, lemma):.4f}, exact {exact[4]:.4f}",
        ),
        Printed(
            "γ(α) = αq²/((1-q)σ²) holds at the orders used",
            f"from epoch {first_covered:.0f} on (orders up to {covered:.1f})",
            first_covered <= float(epochs[0]),
            f"order {early:.0f} at epoch 2: the rule gives {early * rho:.1e}, exact {step.renyi(early):.3f}",
        ),
    )
    panel = Panel("q = 0.001, σ = 4, δ = 10⁻⁵", "epochs", "ε", lines, (0, 800), (0, 1.7), legend="upper left")
    note = (
        f"Before epoch {first_covered:.0f} the orders used exceed {covered:.0f}, the largest the rule covers."
        " The range of epochs is ours."
    )
    return Figure((panel,), claims, note=note)


def figure_5() -> Figure:
    """σ = 0.6, q = 0.003, 30 epochs: Lemma 2, the f-DP limit of Bu et al., and the truth."""
    rate, scale, epochs = 0.003, 0.6, 30
    steps = round(epochs / rate)
    rho = noisy_sgd_rho(rate, scale)
    deltas = np.geomspace(1e-10, 0.3, 80)
    lemma = curve(lambda d: asoodeh_gaussian_epsilon(rho, steps, d), deltas)
    limit = GaussianDP(_limit_mu(rate, scale, steps)).epsilon(deltas)
    step = Gaussian(scale).subsample(rate).guarantee()
    exact = (steps * step).epsilon(deltas)
    orders = np.linspace(1.01, 40.0, 4000)
    at = 1e-5
    used = float(orders[np.argmin(orders * rho * steps + _simple_rest(orders, at))])
    covered = noisy_sgd_largest_order(rate, scale)
    here, true = asoodeh_gaussian_epsilon(rho, steps, at), (steps * step).epsilon(at)
    below = float(GaussianDP(_limit_mu(rate, scale, steps)).epsilon(at))
    few = np.array([1.1, 2.0, 3.0, 5.0, 7.0, 10.0])
    low_everywhere = bool((step.renyi(few) > few * rho).all())
    lines = (
        Curve("Lemma 2 with γ = αρ (not valid here)", lemma, deltas, "first"),
        Curve("f-DP, central limit (Bu et al.)", limit, deltas, "second"),
        Curve("exact, Poisson sampling (ours)", exact, deltas, "exact", dashed=True),
    )
    claims = (
        Printed.number("T = E/q = 10000", 10000, float(steps), 0),
        Printed(
            "Lemma 2 may be tighter than f-DP",
            f"δ = 1e-5: {here:.3f} against {below:.3f}",
            here < below,
            f"both are below the exact ε = {true:.3f}",
        ),
        Printed(
            "γ(α) = αq²/((1-q)σ²) holds at the order used",
            f"order {used:.1f} is used, at most {covered:.2f} is covered",
            used <= covered,
            f"and it is for σ >= 1: at order 2 it gives {2 * rho:.2e}, exact {step.renyi(2.0):.2e}",
        ),
        Printed(
            "the ε of Lemma 2 is a guarantee here",
            f"δ = 1e-5: the exact ε is {true / here:.2f} times larger",
            true <= here,
        ),
    )
    panel = Panel(
        "q = 0.003, σ = 0.6, T = 10000",
        "ε",
        "δ",
        lines,
        (0, 12),
        (1e-10, 1),
        y_log=True,
        legend="upper right",
    )
    where = "at no order" if low_everywhere else "not at the orders used"
    note = f"At σ = 0.6 the paper's rule for γ holds {where}; the dashed curve is the guarantee."
    return Figure((panel,), claims, note=note)


def _simple_rest(orders: Array, delta: float) -> Array:
    rest: Array = np.log1p(-1 / orders) - np.log(orders * delta) / (orders - 1)
    return rest


def _limit_mu(rate: float, scale: float, steps: int) -> float:
    """Bu et al. 2020: the central limit of f-DP, μ = q √(T (e^(1/σ²) - 1))."""
    return rate * math.sqrt(steps * math.expm1(1 / scale**2))


# -- regions ----------------------------------------------------------------------------------------


def _by_renyi(scale: float, steps: int, fpr: Array) -> Array:
    """Equation 54: integer orders up to the largest that the rule for γ covers."""
    rho = noisy_sgd_rho(_RATE, scale)
    orders = np.arange(2, math.floor(noisy_sgd_largest_order(_RATE, scale)) + 1)
    return asoodeh_tradeoff(orders, orders * rho * steps, fpr)


def _by_limit(scale: float, steps: int, fpr: Array) -> Array:
    """Equation 55: the central limit of f-DP."""
    return np.asarray(GaussianDP(_limit_mu(_RATE, scale, steps)).tradeoff(fpr))


def _exactly(scale: float, steps: int, fpr: Array) -> Array:
    """What `tradeoff` gives, to the eye and much quicker: the lines of 400 (ε, δ) below the curve."""
    guarantee = (steps * Gaussian(scale).subsample(_RATE)).guarantee()
    delta = np.concatenate((np.geomspace(1e-10, 0.01, 120), np.linspace(0.01, 1.0, 280)))
    return wedges(guarantee.epsilon(delta), delta, fpr)


def figure_8() -> Figure:
    """Regions of noisy SGD: integer orders (54), the f-DP limit (55), and the truth."""
    fpr = np.linspace(0.0, 1.0, 101) ** 1.5
    panels, above = [], {}
    for steps in (2000, 14062):
        for scale in (0.5, 0.7, 1.0):
            renyi = _by_renyi(scale, steps, fpr)
            exact = _exactly(scale, steps, fpr)
            above[steps, scale] = float((renyi - exact).max())
            lines = (
                DIAGONAL,
                Curve("Rényi (54)", fpr, renyi, "first"),
                Curve("f-DP limit (55)", fpr, _by_limit(scale, steps, fpr), "second"),
                Curve("exact (ours)", fpr, exact, "exact", dashed=True),
            )
            legend = "upper right" if (steps, scale) == (2000, 0.5) else ""
            title = f"σ = {scale}, T = {steps}"
            panels.append(Panel.tradeoff(title, lines, legend))
    crossing = _crossing(2000)
    worst = max(above.values())
    claims = (
        Printed.number(
            "(54) is tighter than (55) below σ₀ ≈ 0.7", 0.7, crossing, 0.05, "equal areas, T = 2000"
        ),
        Printed(
            "(54) is an outer bound of the true region",
            f"above the exact curve by up to {worst:.3f}",
            worst <= 1e-3,
            "by σ: "
            + ", ".join(f"{s:g}: {max(above[2000, s], above[14062, s]):.3f}" for s in (0.5, 0.7, 1.0)),
        ),
    )
    note = (
        "A blue curve above the exact one promises privacy that is not there: the rule for γ asks for σ >= 1."
        " q = 256/60000; the paper's text does not give the σ and T of its panels."
    )
    return Figure(tuple(panels), claims, rows=2, note=note)


def _area_difference(scale: float, steps: int, other: Region = _by_limit) -> float:
    """Area of another region, (55), less that of (54)."""
    fpr = np.linspace(0.0, 1.0, 101)
    return float(np.trapezoid(_by_renyi(scale, steps, fpr) - other(scale, steps, fpr), fpr))


def _crossing(steps: int) -> float:
    """The scale at which both regions are equally large."""
    low, high = 0.5, 0.9
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (middle, high) if _area_difference(middle, steps) > 0 else (low, middle)
    return (low + high) / 2


def figure_9() -> Figure:
    """Which outer bound is smaller, by scale and number of steps; and by how much (54) is too small."""
    scales = np.linspace(0.4, 1.0, 19)
    counts = (1000, 5000, 14062, 30000)
    roles = ("first", "second", "third", "fourth")
    lines = [
        Curve(f"T = {n}", scales, np.array([_area_difference(s, n) for s in scales.tolist()]), role)
        for role, n in zip(roles, counts, strict=True)
    ]
    crossings = [_crossing(n) for n in counts]
    few = np.array([0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    missing = [_area_difference(scale, 5000, _exactly) for scale in few.tolist()]
    zero = Curve("", np.array([0.4, 1.0]), np.zeros(2), "plain")
    left = Panel(
        "area of (55) less area of (54)", "σ", "area", (zero, *lines), (0.4, 1.0), legend="upper right"
    )
    right = Panel(
        "area that (54) leaves out, T = 5000",
        "σ",
        "area",
        (zero, Curve("exact region less (54)", few, np.array(missing), "exact")),
        (0.4, 1.0),
        legend="upper right",
    )
    named = ", ".join(f"{c:.2f} (T = {n})" for c, n in zip(crossings, counts, strict=True))
    claims = (
        Printed.number("σ₀ ≈ 0.7: below it (54) is tighter", 0.7, crossings[1], 0.05, "T = 5000"),
        Printed(
            "σ₀ does not depend on the number of iterations",
            named,
            max(crossings) - min(crossings) < 0.05,
            "it falls for long runs",
        ),
        Printed(
            "there (54) is the better guarantee",
            f"at σ = 0.6 it leaves out {missing[3]:.3f} of the true region",
            missing[3] <= 1e-3,
            "(54) is smaller because its rule for γ does not hold for σ below 1",
        ),
    )
    note = (
        "Above zero: left, (54) is the smaller region; right, it is smaller than the truth, so no guarantee."
        " The paper's text does not give the T of its panels."
    )
    return Figure((left, right), claims, note=note)
