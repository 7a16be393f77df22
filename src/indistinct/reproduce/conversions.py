"""*Three Variants of Differential Privacy* (Asoodeh et al. 2021), Figures 1 to 3: from Rényi DP to (ε, δ)."""

import math
from functools import partial

import numpy as np

from indistinct import Gaussian, GaussianDP, RenyiCurve, ZeroConcentratedDP
from indistinct.guarantees.published import (
    asoodeh_divergence,
    asoodeh_epsilon,
    asoodeh_gaussian_epsilon,
    asoodeh_least_divergence,
    asoodeh_profile_tradeoff,
    asoodeh_renyi,
    mironov_epsilon,
    moments_accountant_epsilon,
)
from indistinct.reproduce.figure import Arrow, Curve, Figure, FigureTable, Panel, Printed, curve, wedges


def figure_1() -> Figure:
    """The diagram of what follows from what, each arrow taken by a Gaussian release of scale 1."""
    release, order, delta, fpr = Gaussian(1).guarantee(), 4.0, 1e-5, 0.05
    stated = RenyiCurve([order], [release.renyi(order)])
    every_order = ZeroConcentratedDP(0.5)
    grid = np.concatenate(
        ([0.0], np.geomspace(1e-12, 0.5, 4000), 1 - np.geomspace(0.5, 1e-12, 4000)[1:], [1.0])
    )
    polygon = asoodeh_renyi(2.0, grid, np.append(release.tradeoff(grid[:-1]), 0.0))
    test = GaussianDP(1.0).tradeoff(fpr)
    epsilon = np.linspace(0.0, 8.0, 400)
    from_profile = float(wedges(epsilon, release.delta(epsilon), fpr))
    arrows = (
        Arrow("Rényi DP", "(ε, δ)-DP", "Theorems 3 and 4,\nLemmas 1 and 2"),
        Arrow("Rényi DP", "f-DP (hypothesis test)", "Lemmas 3 and 4,\nCorollary 1"),
        Arrow("f-DP (hypothesis test)", "Rényi DP", "Proposition 1"),
        Arrow("(ε, δ)-DP", "f-DP (hypothesis test)", "equation 39"),
        Arrow("f-DP (hypothesis test)", "(ε, δ)-DP", "Remark 2"),
    )
    via_profile = float(asoodeh_profile_tradeoff(order, stated.renyi(order), fpr))
    rows = (
        ("Rényi, order 4 → ε at δ=1e-5", "Theorem 3", stated.epsilon(delta), release.epsilon(delta)),
        ("Rényi, every order → ε at δ=1e-5", "Theorem 3", every_order.epsilon(delta), release.epsilon(delta)),
        ("Rényi, order 4 → fnr at fpr=0.05", "Lemma 3", via_profile, test),
        ("Rényi, order 4 → fnr at fpr=0.05", "Lemma 4", stated.tradeoff(fpr), test),
        ("Rényi, every order → fnr at fpr=0.05", "Corollary 1", every_order.tradeoff(fpr), test),
        ("trade-off curve → Rényi, order 2", "Proposition 1", polygon, release.renyi(2.0)),
        ("profile → fnr at fpr=0.05", "equation 39, Remark 2", from_profile, test),
    )
    safe = all(ours >= exact - 1e-9 if "ε at" in name else True for name, _, ours, exact in rows)
    safe &= all(ours <= exact + 1e-9 for name, _, ours, exact in rows if "fnr" in name)
    loss = abs(polygon - release.renyi(2.0)) + abs(from_profile - test)
    return Figure(
        arrows=arrows,
        table=FigureTable(("arrow, for Gaussian noise of scale 1", "by", "gives", "exact"), rows),
        claims=(
            Printed("from Rényi DP: valid bounds on (ε, δ) and on the test", "all on the safe side", safe),
            Printed(
                "trade-off → Rényi and profile ↔ trade-off lose nothing",
                f"differ by {loss:.0e}",
                loss < 1e-3,
                "a polygon through 8,000 points of the curve",
            ),
        ),
    )


def figure_2() -> Figure:
    """Left: δ to the largest divergence, and Theorem 4. Right: ε to it, Lemma 1 and its first term."""
    deltas = np.concatenate((np.geomspace(1e-4, 0.05, 25), np.linspace(0.06, 0.9, 85)))
    left, gaps, above = [], [], 0.0
    for role, order, epsilon in (("first", 2, 0.5), ("second", 4, 1.0), ("third", 10, 1.5)):
        exact = curve(partial(asoodeh_divergence, order, epsilon), deltas)
        bound = curve(partial(asoodeh_least_divergence, order, epsilon), deltas)
        gaps.append(exact - bound)
        above = max(above, float((bound - exact).max()))
        name = f"α = {order}, ε = {epsilon}"
        left.append(Curve(name, deltas, exact, role))
        left.append(Curve(f"{name}: Theorem 4", deltas, bound, role, dashed=True))
    two, delta = 2.0, 1e-4
    epsilons = np.linspace(0.05, 12.5, 120)
    values = np.concatenate((np.geomspace(1e-6, 0.1, 30), np.linspace(0.15, 4.0, 60)))
    first = values + mironov_epsilon(two, 0.0, delta) - math.log(4)
    both = curve(lambda g: asoodeh_epsilon(two, g, delta), values)
    exact = curve(lambda e: asoodeh_divergence(two, e, delta), epsilons)
    right = (
        Curve("exact, Theorem 3", epsilons, exact, "exact"),
        Curve("Lemma 1, both terms", both, values, "first", dashed=True),
        Curve("first term only (Balle et al.)", first, values, "second", dashed=True),
    )
    flat = np.linspace(0.25, 0.9, 40)
    off = curve(lambda d: asoodeh_divergence(4, 1.0, d) - asoodeh_least_divergence(4, 1.0, d), flat)
    most, tiny = float(np.abs(off).max()), asoodeh_epsilon(two, 1e-12, delta)
    claims = (
        Printed("Theorem 4 is a lower bound", f"above by {max(above, 0):.0e} at most", above < 1e-9),
        Printed(
            "Theorem 4 closely approximates Theorem 3",
            f"{float(np.mean(gaps)):.3f} below on average",
            bool(np.mean(gaps) < 0.05),
            f"at most {', '.join(f'{float(g.max()):.3f}' for g in gaps)} for the three pairs",
        ),
        Printed("equation 22 is exact for αδ >= 1", f"differs by {most:.0e}", most < 1e-9),
        Printed(
            "with γ → 0 the first term of (25) does not vanish, the second does",
            f"first {first[0]:.3f}, second {tiny:.1e}",
            first[0] > 1 and tiny < 1e-6,
        ),
    )
    largest = "largest divergence for (ε, δ)-DP"
    panels = (
        Panel(largest, "δ", "γ", tuple(left), (0, 0.9), (0, 4.2), legend="upper left"),
        Panel("α = 2, δ = 10⁻⁴", "ε", "γ", right, (0, 12.5), (0, 4), legend="upper left"),
    )
    return Figure(
        panels, claims, note="Left: the paper does not print its three pairs (α, ε); these are ours."
    )


def figure_3() -> Figure:
    """Gaussian noise of scale 20 composed up to 1000 times, δ = 1e-5."""
    rho, delta = 1 / 800, 1e-5
    steps = np.arange(1, 1001)
    accountant = curve(lambda n: moments_accountant_epsilon(rho, int(n), delta), steps)
    lemma = curve(lambda n: asoodeh_gaussian_epsilon(rho, int(n), delta), steps)
    slow = np.unique(np.round(np.linspace(1, 1000, 40))).astype(int)
    exact = np.array([(int(n) * Gaussian(20).guarantee()).epsilon(delta) for n in slow])
    saved = float((accountant - lemma).max())
    budgets = np.linspace(6.0, float(lemma[-1]), 50)
    more = np.interp(budgets, lemma, steps) - np.interp(budgets, accountant, steps)
    within = budgets <= float(accountant[-1])
    exact_more = np.interp(6.0, exact, slow) - np.interp(6.0, accountant, steps)
    lines = (
        Curve("moments accountant (29)", steps, accountant, "second"),
        Curve("Lemma 2", steps, lemma, "first"),
        Curve("exact (ours)", slow, exact, "exact", dashed=True),
    )
    claims = (
        Printed.number(
            "ε smaller by up to 0.75 within 1000 steps",
            0.75,
            saved,
            0.01,
            f"exact: smaller by {float((np.interp(slow, steps, accountant) - exact).max()):.3f}",
        ),
        Printed(
            "100 more steps for the same ε, for any ε above 6",
            f"{more[within].min():.0f} to {more[within].max():.0f} more",
            bool(more[within].min() >= 95),
            f"exact: {exact_more:.0f} more at ε = 6",
        ),
    )
    return Figure(
        (Panel("σ = 20, δ = 10⁻⁵", "steps T", "ε", lines, (0, 1000), (0, 9), legend="upper left"),), claims
    )
