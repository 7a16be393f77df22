"""*Rényi Differential Privacy* (Mironov 2017, arXiv 1702.07476v3): three figures, two tables, the text."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from indistinct import Gaussian, Guarantee, Laplace, PureDP, RandomizedResponse, RenyiCurve
from indistinct.guarantees.published import (
    advanced_composition,
    gaussian_renyi,
    laplace_renyi,
    mironov_event,
    mironov_group,
    mironov_pure_event,
    mironov_pure_renyi,
    randomized_response_renyi,
)
from indistinct.numerics.arrays import Array
from indistinct.reproduce.figure import Curve, Figure, FigureTable, Panel, Printed, curve

Reader = Callable[[float], float]
_RANKS = ("first", "second", "third", "fourth")
_RESTRICTED = (1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64, math.inf)
_MASSES = (1e-6, 1e-3, 0.1)
_MASS_NAMES = {1e-6: "10⁻⁶", 1e-3: "10⁻³", 0.1: "0.1"}


def figure_1() -> Figure:
    """Budget curves of randomized response, Laplace and Gaussian noise, orders 1 to 10."""
    orders = np.linspace(1.0, 10.0, 91)
    families: list[tuple[str, list[tuple[str, Guarantee, Reader]]]] = [
        ("Randomized response", [(f"p = {p}", *_response(p)) for p in (0.55, 0.6, 0.75)]),
        ("Laplace mechanism", [(f"1/λ = {e}", *_laplace(1 / e)) for e in (0.25, 0.5, 1.0)]),
        ("Gaussian mechanism", [(f"σ = {s}", *_gaussian(s)) for s in (4, 3, 2)]),
    ]
    panels, gap = [], 0.0
    for title, members in families:
        lines = []
        for role, (label, guarantee, printed) in zip(_RANKS, members, strict=False):
            ours = guarantee.renyi(orders)
            gap = max(gap, float(np.abs(ours - curve(printed, orders)).max()))
            lines.append(Curve(label, orders, ours, role))
        panels.append(Panel(title, "order α", "ε", tuple(lines), (1, 10), (0, 2.5), legend="upper left"))
    straight = np.diff(Gaussian(2).guarantee().renyi(orders), 2)
    bend = float(np.abs(straight).max())
    return Figure(
        tuple(panels),
        (
            Printed("the closed forms of Table II give these curves", f"differ by {gap:.0e}", gap < 1e-9),
            Printed("the Gaussian budget curve is a straight line", f"bends by {bend:.0e}", bend < 1e-12),
        ),
    )


def _response(p: float) -> tuple[Guarantee, Reader]:
    """A mechanism, and its row of Table II."""
    return RandomizedResponse(p).guarantee(), partial(randomized_response_renyi, p)


def _laplace(scale: float) -> tuple[Guarantee, Reader]:
    return Laplace(scale).guarantee(), partial(laplace_renyi, scale)


def _gaussian(scale: float) -> tuple[Guarantee, Reader]:
    return Gaussian(scale).guarantee(), partial(gaussian_renyi, scale)


# -- Figure 2 ---------------------------------------------------------------------------------------


def figure_2() -> Figure:
    """How much likelier an event can become after n runs: four bounds, and the truth."""
    steps = np.arange(1, 251)
    slow = np.array([1, 50, 100, 175, 250])
    orders = 1 + np.geomspace(1e-3, 1e4, 400)
    families: list[tuple[str, float, Guarantee]] = [
        ("randomized response, p = 0.51", math.log(0.51 / 0.49), RandomizedResponse(0.51).guarantee()),
        ("Laplace, λ = 20", 1 / 20, Laplace(20).guarantee()),
    ]
    panels: list[Panel] = []
    tighter, above, slack = True, dict.fromkeys(_MASSES, 0), 0.0
    for name, epsilon, guarantee in families:
        one = guarantee.renyi(orders)
        truth = np.array([_most(int(n) * guarantee, np.array(_MASSES)) for n in slow])
        for column, mass in enumerate(_MASSES):
            naive = np.exp(steps * epsilon)
            generic = np.array([mironov_pure_event(epsilon, n, mass) / mass for n in steps.tolist()])
            standard = np.array([_advanced_ratio(epsilon, n, mass) for n in steps.tolist()])
            renyi = np.array([_best(orders, n * one, mass)[1] for n in steps])
            # pure DP is the order infinity of the Rényi curve
            renyi = np.minimum(renyi, naive)
            exact = truth[:, column] / mass
            tighter &= bool((renyi <= np.minimum(np.minimum(naive, generic), standard) * (1 + 1e-9)).all())
            above[mass] += int((standard > generic * (1 + 1e-9)).sum())
            slack = max(slack, float((renyi[slow - 1] / exact).max()))
            lines = (
                Curve("naïve nε", steps, naive, "first"),
                Curve("generic Rényi (Prop. 4)", steps, generic, "fourth"),
                Curve("generic (ε, δ), best δ", steps, standard, "second"),
                Curve("Rényi analysis (Prop. 10)", steps, renyi, "third"),
                Curve("exact (ours)", slow, exact, "exact", dots=True),
            )
            legend = "upper right" if len(panels) == 5 else ""
            title = f"{name}\nPr[S] = {_MASS_NAMES[mass]}"
            panels.append(Panel(title, "n", "ratio", lines, (1, 250), (1, 100), y_log=True, legend=legend))
    named = ", ".join(f"{count} (Pr[S] = {_MASS_NAMES[mass]})" for mass, count in above.items())
    claims = (
        Printed(
            "the Rényi analysis is tighter than all generic bounds",
            "at every n" if tighter else "not always",
            tighter,
        ),
        Printed(
            "Prop. 4 is consistently outperformed by the (ε, δ) theorem with the best δ",
            f"the other way at {named} of {2 * steps.size} points",
            not any(above.values()),
            f"the exact ratio is up to {slack:.2f} times smaller than the Rényi analysis",
        ),
    )
    return Figure(
        tuple(panels), claims, rows=2, note="Ratio: how much likelier the event S can be on a neighbour."
    )


def _advanced_ratio(epsilon: float, steps: int, mass: float) -> float:
    """The standard advanced composition theorem at its best slack."""
    slacks = np.geomspace(mass * 1e-8, min(mass * 10, 0.5), 120)
    pairs = (advanced_composition(epsilon, 0.0, steps, float(slack)) for slack in slacks)
    return min(1 / mass, *(math.exp(min(e, 700.0)) + d / mass for e, d in pairs))


def _most(guarantee: Guarantee, masses: Array) -> Array:
    """What `event(masses).high` gives, quicker for many steps: the least of δ(ε) + e^ε p over ε."""
    epsilon = np.linspace(0.0, 1.0, 250) * min(guarantee.epsilon(1e-12), 60.0)
    found: Array = (guarantee.delta(epsilon) + np.exp(epsilon) * masses[:, None]).min(axis=1)
    return np.minimum(found, 1.0)


# -- Figure 3 ---------------------------------------------------------------------------------------


def figure_3() -> Figure:
    """A mixed mechanism: bounds with all orders and with thirteen, and the orders chosen."""
    mixed = RandomizedResponse(0.52).guarantee() + Laplace(20).guarantee() + Gaussian(10).guarantee()
    steps = np.arange(1, 101)
    fine = 1 + np.geomspace(1e-2, 200, 500)
    few = np.array([order for order in _RESTRICTED if math.isfinite(order)])
    on_fine, on_few = mixed.renyi(fine), mixed.renyi(few)
    slow = np.array([1, 10, 25, 50, 75, 100])
    exact = np.array([_most(int(n) * mixed, np.array(_MASSES)) for n in slow]) / np.array(_MASSES)
    ratios, chosen, gaps = [], [], []
    for column, (role, mass) in enumerate(zip(("third", "second", "first"), _MASSES, strict=True)):
        best = np.array([_best(fine, n * on_fine, mass) for n in steps])
        restricted = np.array([_best(few, n * on_few, mass) for n in steps])
        gaps.append(restricted[:, 1] / best[:, 1] - 1)
        name = f"S = {_MASS_NAMES[mass]}"
        ratios += [
            Curve(f"{name}, all orders", steps, best[:, 1], role),
            Curve(f"{name}, 13 orders", steps, restricted[:, 1], role, dashed=True),
            Curve("exact (ours)" if column == 0 else "", slow, exact[:, column], "exact", dots=True),
        ]
        chosen += [
            Curve(f"{name}, all orders", steps, best[:, 0], role),
            Curve(f"{name}, 13 orders", steps, restricted[:, 0], role, dashed=True),
        ]
    title = "bound on the ratio (dots: exact, ours)"
    left = Panel(title, "iterations", "probability ratio", tuple(ratios), (1, 100), (0, 100), legend="")
    right = Panel(
        "order chosen",
        "iterations",
        "order α",
        tuple(chosen),
        (1, 100),
        (1.4, 70),
        y_log=True,
        y_ticks=(1.5, 2, 3, 4, 6, 8, 16, 32, 64),
        legend="upper right",
    )
    claim = Printed(
        "the curves for all orders and for 13 orders are nearly identical",
        f"{100 * float(np.mean(gaps)):.1f} % apart on average, {100 * float(np.max(gaps)):.0f} % at most",
        bool(np.mean(gaps) < 0.05),
        "one iteration releases all three mechanisms",
    )
    return Figure(
        (left, right),
        (claim,),
        note="Randomized response p = 0.52, Laplace λ = 20, Gaussian σ = 10, composed.",
    )


def _best(orders: Array, values: Array, mass: float) -> tuple[float, float]:
    """The best order of Proposition 10, and the ratio that it gives."""
    logs = (values + math.log(mass)) * (1 - 1 / orders)
    place = int(logs.argmin())
    return float(orders[place]), math.exp(float(logs[place])) / mass


# -- Tables -----------------------------------------------------------------------------------------


def table_1() -> Figure:
    """The properties of Table I, each measured on Laplace noise of scale 1 at order 4."""
    order, mass = 4.0, 0.1
    laplace = Laplace(1).guarantee()
    value = laplace.renyi(order)
    bound, truth = mironov_event(order, value, mass), laplace.event(mass)
    x = np.linspace(-40.0, 40.0, 320_001)
    loss = np.abs(x - 1) - np.abs(x)
    without = 0.5 * np.exp(-np.abs(x - 1))
    moment = float(np.trapezoid(without * np.exp(order * loss), x))
    drift = float(np.trapezoid(without * np.exp(loss) * loss, x))
    correct = 1 - 0.5 * math.exp(-0.5)  # the sign of output - 1/2 tells the truth this often
    group_order, group_value = mironov_group(order, value, 1)
    rows = (
        ("probability of S, at most", bound.high, truth.high),
        ("probability of S, at least", bound.low, truth.low),
        ("moment of the Bayes factor", math.exp((order - 1) * value), moment),
        ("mean change of the log Bayes factor", value, drift),
        ("after post-processing (the sign)", value, randomized_response_renyi(correct, order)),
        ("two in sequence", 2 * value, (2 * laplace).renyi(order)),
        ("two records at once, order 2", group_value, laplace.group(2).renyi(group_order)),
    )
    holds = all(
        ours >= says * (1 - 1e-9) if "least" in name else ours <= says * (1 + 1e-6)
        for name, says, ours in rows
    )
    return Figure(
        claims=(
            Printed(
                "all properties of Table I",
                "measured on Laplace noise: hold" if holds else "one fails",
                holds,
            ),
        ),
        table=FigureTable(
            ("property (order 4, Laplace scale 1, Pr[S] = 0.1)", "Rényi DP says", "measured"), rows
        ),
    )


def table_2() -> Figure:
    """Pure and Rényi parameters of the three mechanisms: printed formulas against our readings."""
    rows, gap = [], 0.0
    for name, guarantee, printed in (
        ("randomized response p=0.75", *_response(0.75)),
        ("Laplace λ=2", *_laplace(2)),
        ("Gaussian σ=2", *_gaussian(2)),
    ):
        for order in (1.0, 1.5, 2.0, 8.0, 64.0, math.inf):
            says, ours = printed(order), guarantee.renyi(order)
            rows.append((name, order, says, ours))
            if math.isfinite(says) or math.isfinite(ours):
                gap = max(gap, abs(says - ours))
    small = laplace_renyi(100, 1) * 100**2
    return Figure(
        claims=(
            Printed("the formulas of Table II", f"differ from our readings by {gap:.0e}", gap < 1e-9),
            Printed.number("Laplace at order 1 is .5/λ² + O(1/λ³)", 0.5, small, 0.01, "λ = 100, times λ²"),
        ),
        table=FigureTable(("mechanism", "order", "Table II", "ours"), tuple(rows)),
    )


def text() -> Figure:
    """Numbers and statements outside figures and tables."""
    mechanism = RenyiCurve([10], [0.1])
    claims = []
    for mass, low, high, rounding in (
        (0.5, 0.419, 0.586, 0.5e-3),
        (1e-3, 0.00042, 0.00218, 0.5e-5),
        (1e-6, 0.195e-6, 4.36e-6, 0.5e-8),
    ):
        printed, ours = mironov_event(10, 0.1, mass), mechanism.event(mass)
        beside = f"tighter: [{ours.low:.4g}, {ours.high:.4g}]"
        says = f"(10, 0.1)-RDP, p = {mass:g}:"
        low_digits = min(rounding, 0.5e-9) if mass == 1e-6 else rounding
        claims.append(Printed.number(f"{says} at least {low:g}", low, float(printed.low), low_digits, beside))
        claims.append(Printed.number(f"{says} at most {high:g}", high, float(printed.high), rounding, beside))
    limit = (1 + math.sqrt(2)) * math.log(100)
    claims.append(Printed.number("Remark 3: δ < 1 % covers ε' < 11", 11, limit, 0.5, "(1+√2) log 100"))
    orders, epsilons = np.linspace(1.0, 30.0, 30), np.geomspace(0.01, 5.0, 12)
    worst = 0.0
    for epsilon in epsilons.tolist():
        bound = [mironov_pure_renyi(epsilon, order, constant=0.5) for order in orders.tolist()]
        worst = max(worst, float((PureDP(epsilon).renyi(orders) / np.array(bound)).max()))
    claims.append(
        Printed(
            "Lemma 1's constant 2 can be improved to 0.5",
            f"tight value at most {worst:.4f} of it",
            worst <= 1 + 1e-9,
        )
    )
    claims += [_markov(1.5), _markov(3.0), _classical_gaussian()]
    return Figure(claims=tuple(claims))


def _classical_gaussian() -> Printed:
    """Section II: σ above √(2 log(1.25/δ))/ε is (ε, δ)-DP for ε < 1."""
    worst = 0.0
    for epsilon in (0.05, 0.3, 0.999):
        for delta in (1e-9, 1e-5, 1e-2):
            scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
            worst = max(worst, Gaussian(scale).guarantee().epsilon(delta) / epsilon)
    return Printed(
        "Section II: σ > √(2 log(1.25/δ))/ε is (ε, δ)-DP, ε < 1",
        f"exact ε at most {worst:.3f} of that",
        worst <= 1,
    )


def _markov(order: float) -> Printed:
    """Section VII: Pr[the odds grow by more than β] < e^ε/β^(1/(α-1)), on coins that are (α, ε)-RDP."""
    beta, worst = 10.0, 0.0
    for p in np.geomspace(1e-4, 0.99, 200).tolist():
        q = p / (beta * 1.001)
        epsilon = max(_coin_divergence(order, p, q), _coin_divergence(order, q, p))
        worst = max(worst, p / (math.exp(epsilon) / beta ** (1 / (order - 1))))
    return Printed(
        f"Section VII: Pr[odds grow over β times] < e^ε/β^(1/(α-1)), α = {order:g}, β = 10",
        f"a coin reaches {worst:.3g} times that",
        worst <= 1,
        "Markov gives (e^ε/β)^(α-1), the same at α = 2 only; the printed exponent fails below 2",
    )


def _coin_divergence(order: float, p: float, q: float) -> float:
    moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return math.log(moment) / (order - 1)
