"""*Three Variants of Differential Privacy* (Asoodeh et al. 2021): hypothesis tests (Figures 6 and 7), and
theorems outside the figures that carry numbers."""

import math

import numpy as np

from indistinct import Budget, Gaussian, GaussianDP, RenyiCurve, ZeroConcentratedDP, calibrate
from indistinct.guarantees.published import (
    asoodeh_divergence,
    asoodeh_free_deltas,
    asoodeh_gaussian_variance,
    asoodeh_kullback_tradeoff,
    asoodeh_renyi,
)
from indistinct.reproduce.figure import Curve, Figure, Panel, Printed, wedges

DIAGONAL = Curve("nothing can be told", np.array([0.0, 1.0]), np.array([1.0, 0.0]), "plain")


def figure_6() -> Figure:
    """One Gaussian release, σ² = 1: its trade-off curve, and what (ε, δ) alone says at ε = 1."""
    fpr = np.linspace(0.0, 1.0, 201)
    release = Gaussian(1).guarantee()
    delta = release.delta(1.0)
    wedge = wedges([1.0], [delta], fpr)
    exact = GaussianDP(1.0).tradeoff(fpr)
    lines = (
        DIAGONAL,
        Curve("trade-off curve", fpr, exact, "second"),
        Curve(f"(1, {delta:.3f})-DP alone", fpr, wedge, "first"),
    )
    epsilon = np.linspace(0.0, 12.0, 600)
    gap = float(np.abs(wedges(epsilon, release.delta(epsilon), fpr) - exact)[2:-2].max())
    claims = (
        Printed("Remark 2: all (ε, δ) together are the trade-off curve", f"differ by {gap:.0e}", gap < 1e-3),
        Printed(
            "the (ε, δ) region contains the true one", "at every fpr", bool((wedge <= exact + 1e-12).all())
        ),
    )
    panel = Panel.tradeoff("Gaussian, σ² = 1", lines)
    return Figure((panel,), claims)


def figure_7() -> Figure:
    """Composed Gaussian noise: the exact region, Corollary 1 over all orders, and its Kullback form."""
    fpr = np.linspace(0.0, 1.0, 201)
    panels, outside, nested, looseness = [], 0.0, 0.0, 0.0
    for steps in (100, 400, 1000):
        total = steps / (2 * 20.0**2)
        exact = GaussianDP(math.sqrt(2 * total)).tradeoff(fpr)
        first = ZeroConcentratedDP(total).tradeoff(fpr)
        second = asoodeh_kullback_tradeoff(total, fpr)
        outside = max(outside, float((first - exact).max()), float((second - exact).max()))
        nested = max(nested, float((second - first).max()))
        looseness = max(looseness, float((exact - first).max()))
        lines = (
            DIAGONAL,
            Curve("exact (51)", fpr, exact, "exact"),
            Curve("bound 1 (52), all orders", fpr, first, "first"),
            Curve("bound 2 (53), order 1", fpr, second, "second"),
        )
        legend = "upper right" if steps == 100 else ""
        panels.append(Panel.tradeoff(f"T = {steps}", lines, legend))
    claims = (
        Printed("both regions contain the exact one", f"outside by {max(outside, 0):.0e}", outside < 1e-9),
        Printed(
            "bound 1 is contained in bound 2",
            f"outside by {nested:.0e}",
            nested < 1e-3,
            f"bound 1 is up to {looseness:.3f} below the exact curve",
        ),
    )
    return Figure(
        tuple(panels),
        claims,
        note="σ = 20 as in Fig. 3; the paper does not print the parameters of these panels.",
    )


def text() -> Figure:
    """Remark 1, Proposition 1 and Theorem 5."""
    order, value = 2.0, 0.1
    low, high = asoodeh_free_deltas(order, value)
    needed = asoodeh_divergence(order, 0.0, low)
    optimum = RenyiCurve([order], [value]).advantage()
    # a distribution with an outcome that the other one lacks: P = (0, 1), Q = (1/2, 1/2)
    printed, true = asoodeh_renyi(2.0, [0.0, 1.0], [0.5, 0.0]), math.log(2)
    epsilon, delta, steps = 1.0, 1e-5, 1000
    variance = asoodeh_gaussian_variance(epsilon, delta, steps)
    reached = (steps * Gaussian(math.sqrt(variance))).guarantee().epsilon(delta)
    least = calibrate(lambda scale: steps * Gaussian(scale), Budget(epsilon=epsilon, delta=delta))
    best = least.guarantee().renyi(2.0)  # steps / scale²
    shares = [_saving(epsilon, d, steps) for d in (delta, 1e-100, 1e-300)]
    return Figure(
        claims=(
            Printed(
                f"Remark 1: (2, 0.1)-RDP is (0, δ)-DP for δ in [{low:.4f}, {high:.4f}]",
                f"at δ = {low:.4f} divergences up to {needed:.4f} are allowed",
                needed >= value,
                f"the smallest such δ is {optimum:.4f}",
            ),
            Printed(
                "Proposition 1 is the divergence of the trade-off curve",
                f"P = (0, 1), Q = (1/2, 1/2), order 2: printed {printed:.4f}, true {true:.4f}",
                abs(printed - true) < 1e-9,
                "the term 1 - β(0) is too much where β(0) < 1; the formula is still an upper bound",
            ),
            Printed(
                "Theorem 5: this variance makes 1000 runs (1, 1e-5)-DP",
                f"σ² = {variance:.0f} (equation 109) has ε = {reached:.4f}",
                reached <= epsilon,
                f"the least σ² is {steps / best:.0f}",
            ),
            Printed(
                "Theorem 5: σ² is less than by the moments accountant by 2T/ε² (log(2 log 1/δ) + 1 - log ε)",
                ", ".join(f"{share:.3f}" for share in shares) + " of that at δ = 1e-5, 1e-100, 1e-300",
                abs(shares[-1] - 1) < 0.03,
                "a statement for δ → 0; at usual δ the saving is smaller",
            ),
        )
    )


def _saving(epsilon: float, delta: float, steps: int) -> float:
    """How much less variance equation 109 asks for than (35), in units of what Theorem 5 says."""
    log_inverse = -math.log(delta)
    room = epsilon + 2 * log_inverse - 2 * math.sqrt((epsilon + log_inverse) * log_inverse)
    accountant = steps / (2 * room)
    said = 2 * steps / epsilon**2 * (math.log(2 * log_inverse) + 1 - math.log(epsilon))
    return (accountant - asoodeh_gaussian_variance(epsilon, delta, steps)) / said
