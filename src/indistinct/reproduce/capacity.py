"""*Capacity Bounded Differential Privacy* (Chaudhuri, Imola and Machanavajjhala 2019): four figures, Table 1,
the text.

Its upper bounds on the (linear, Rényi) parameter are false where privacy is high (docs/adversaries.md); they
are drawn as printed, with the exact value and a bound that holds beside them.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from indistinct import Gaussian, Laplace, Linear, Mechanism, Polynomial, generalization_gap
from indistinct.adjacency import Adjacency
from indistinct.adversaries import (
    PublishedBound,
    gaussian_kl,
    gaussian_linear_bound,
    laplace_kl,
    laplace_linear_bound,
    laplace_linear_kl,
    published_gaussian_linear,
    published_laplace_linear,
    published_matrix_mechanism,
    published_pinsker,
    sequential,
)
from indistinct.numerics.arrays import Array
from indistinct.reproduce.figure import Curve, Figure, FigureTable, Panel, Printed, curve

Reader = Callable[[float], float]

_ORDERS = np.linspace(1.05, 10.0, 120)
_FAR = np.array([50.0, 200.0, 1000.0])
_DEGREES = (1, 2, 3)
_ROLES = ("first", "second", "third")


def figure_1a() -> Figure:
    """Laplace noise, ε = 1: linear adversaries against all functions."""
    return _linear(Laplace(1), "Laplace, ε = 1", _laplace_printed(1), 3.3)


def figure_1b() -> Figure:
    """Laplace noise, ε = 1: polynomials."""
    return _polynomials(Laplace(1), "Laplace, ε = 1", 1.2)


def figure_2a() -> Figure:
    """Gaussian noise, σ = 1: linear adversaries against all functions."""
    return _linear(Gaussian(1), "Gaussian, σ = 1", _gaussian_printed(1), 2.3)


def figure_2b() -> Figure:
    """Gaussian noise, σ = 1: polynomials."""
    return _polynomials(Gaussian(1), "Gaussian, σ = 1", 2.0)


def _linear(release: Mechanism, title: str, published: Reader, stated: float) -> Figure:
    guarantee = release.guarantee()
    exact = guarantee.against(Linear()).renyi(_ORDERS)
    whole = guarantee.renyi(_ORDERS)
    printed = curve(published, _ORDERS)
    crossing = float(np.interp(0.0, (whole - printed), _ORDERS))
    lines = (
        Curve("upper bound as printed", _ORDERS, printed, "second", dashed=True),
        Curve("all functions (Rényi DP)", _ORDERS, whole, "first"),
        Curve("linear, exact", _ORDERS, exact, "exact"),
    )
    return Figure(
        (Panel(title, "order α", "parameter", lines, (1, 10), (0, 2.0), legend="upper right"),),
        (
            Printed(
                "the exact (lin, Rényi) parameter is always better than Rényi DP",
                f"{float((exact / whole).max()):.3f} of it at most",
                bool((exact < whole).all()),
            ),
            Printed.number(f"the bound overtakes at α ≈ {stated}", stated, crossing, 0.05),
            Printed(
                "the printed curve is an upper bound of the exact one here",
                f"at least {float((printed / exact).min()):.3f} of it",
                bool((printed >= exact).all()),
                "not for smaller ε or larger σ: 000-text",
            ),
        ),
    )


def _polynomials(release: Mechanism, title: str, top: float) -> Figure:
    guarantee = release.guarantee()
    readings = [guarantee.against(Polynomial(degree)) for degree in _DEGREES]
    curves = [reading.renyi(_ORDERS) for reading in readings]
    far = [reading.renyi(_FAR) for reading in readings]
    whole = guarantee.renyi(_ORDERS)
    lines = [
        Curve(f"degree {degree}", _ORDERS, values, role)
        for degree, values, role in zip(_DEGREES, curves, _ROLES, strict=True)
    ]
    lines.append(Curve("all functions", _ORDERS, whole, "exact"))
    rising = bool((np.diff([*curves, whole], axis=0) > -1e-9).all())
    gaps = [float((whole - values).max()) for values in curves]
    falls = [bool((np.diff(values) < 0).all()) for values in far]
    said = ", ".join(
        f"degree {degree}: {'falls' if fall else 'rises'} from {values[0]:.4f} to {values[-1]:.4f}"
        for degree, values, fall in zip(_DEGREES, far, falls, strict=True)
    )
    panel = Panel(title, "order α", "parameter", tuple(lines), (1, 10), (0, top), legend="upper left")
    return Figure(
        (panel,),
        (
            Printed(
                "as the degree increases the parameters converge to Rényi DP",
                "furthest below: " + ", ".join(f"{gap:.3f}" for gap in gaps),
                rising,
                "degrees 1, 2, 3; orders up to 10",
            ),
            Printed("the parameters eventually decrease with α", said, all(falls), "orders 50 to 1000"),
        ),
    )


# -- Table 1 ------------------------------------------------------------------------------------------


def table_1() -> Figure:
    """Every row at two parameters, with what is exact."""
    rows: list[tuple[object, ...]] = []
    kl_gap = 0.0
    for epsilon in (1.0, 0.1):
        guarantee = Laplace(1 / epsilon).guarantee()
        printed = math.sqrt(1 + epsilon**2) - 1
        printed += math.log(1 - printed**2 / epsilon**2)
        exact = guarantee.against(Linear()).kl()
        kl_gap = max(kl_gap, abs(exact - printed), abs(exact - laplace_linear_kl(epsilon)))
        kl_gap = max(kl_gap, abs(guarantee.renyi(1) - laplace_kl(epsilon)))
        rows.append(("KL", f"Laplace, ε = {epsilon:g}", printed, exact, guarantee.renyi(1)))
    for sigma in (1.0, 3.0):
        guarantee = Gaussian(sigma).guarantee()
        exact = guarantee.against(Linear()).kl()
        kl_gap = max(kl_gap, abs(exact - gaussian_kl(sigma)))
        rows.append(("KL", f"Gaussian, σ = {sigma:g}", gaussian_kl(sigma), exact, guarantee.renyi(1)))
    broken = []
    for name, release, bound in _bounded():
        guarantee = release.guarantee()
        reading = guarantee.against(Linear(), adaptive=False)
        for order in (3.0, 10.0):
            exact, printed = reading.renyi(order), bound(order)
            rows.append((f"Rényi, α = {order:g}", name, printed, exact, guarantee.renyi(order)))
            if reading.renyi_interval(order).low > printed:
                broken.append(f"{name} at α = {order:g}: {exact:.3g} > {printed:.3g}")
    least = 1.0 - math.log(2)
    lower = Laplace(1).guarantee().renyi(2)
    return Figure(
        claims=(
            Printed("the KL rows", f"differ from our readings by {kl_gap:.0e}", kl_gap < 1e-12),
            Printed(
                "the (linear, Rényi) rows are upper bounds",
                "; ".join(broken) if broken else "at all parameters tried",
                not broken,
                "Theorem 13 keeps b^A at full weight",
            ),
            Printed(
                "unrestricted Laplace is at least ε - log(2)/(α-1)",
                f"ε = 1, α = 2: {lower:.4f} ≥ {least:.4f}",
                lower >= least,
            ),
        ),
        table=FigureTable(
            ("divergence", "mechanism", "linear, as printed", "linear, exact", "all functions"), tuple(rows)
        ),
    )


def _bounded() -> Iterator[tuple[str, Mechanism, Reader]]:
    """Names, releases and printed bounds of the Rényi rows."""
    for epsilon in (1.0, 0.1):
        yield f"Laplace, ε = {epsilon:g}", Laplace(1 / epsilon), _laplace_printed(epsilon)
    for sigma in (1.0, 3.0):
        yield f"Gaussian, σ = {sigma:g}", Gaussian(sigma), _gaussian_printed(sigma)
    for epsilon in (1.0, 0.01):
        name = f"Laplace, ε = {epsilon:g}, v = (1, 1, 1)"
        yield name, 3 * Laplace(1 / epsilon), _laplace_printed(epsilon, 3)
    yield "Gaussian, σ = 20, v = (1, 1, 1)", 3 * Gaussian(20), _gaussian_printed(20, 3)


def _laplace_printed(epsilon: float, dimension: int = 1) -> Reader:
    return lambda order: published_laplace_linear(order, epsilon, (1,) * dimension).value


def _gaussian_printed(sigma: float, dimension: int = 1) -> Reader:
    return lambda order: published_gaussian_linear(order, sigma, (1,) * dimension).value


# -- the text -----------------------------------------------------------------------------------------


def text() -> Figure:
    """The error over ε and σ, and the statements that carry numbers."""
    return Figure(
        _error_panels(), _statements(), note="Order 3 (left) and 5 (right), sensitivity 1, one dimension."
    )


def _error_panels() -> tuple[Panel, ...]:
    laplace, gaussian = "Laplace, order 3", "Gaussian, order 5"
    epsilons, sigmas = np.geomspace(0.01, 5.0, 60), np.geomspace(0.2, 20.0, 60)
    left = _error_lines(epsilons, 3, lambda e: Laplace(1 / e), published_laplace_linear, laplace_linear_bound)
    right = _error_lines(sigmas, 5, Gaussian, published_gaussian_linear, gaussian_linear_bound)
    return (
        Panel(laplace, "ε", "parameter", left, (0.01, 5), (1e-6, 10), True, True, legend="lower right"),
        Panel(gaussian, "σ", "parameter", right, (0.2, 20), (1e-6, 100), True, True, legend="lower left"),
    )


def _error_lines(
    places: Array,
    order: float,
    mechanism: Callable[[float], Mechanism],
    printed: Callable[[float, float], PublishedBound],
    valid: Callable[[float, float], float],
) -> tuple[Curve, ...]:
    """What is printed, what holds, and the exact values for all functions and for linear ones."""
    guarantees = [mechanism(place).guarantee() for place in places.tolist()]
    everything = np.array([g.renyi(order) for g in guarantees])
    linear = np.array([g.against(Linear()).renyi(order) for g in guarantees])
    return (
        Curve("upper bound as printed", places, curve(lambda x: printed(order, x).value, places), "second"),
        Curve("bound that holds", places, curve(lambda x: valid(order, x), places), "third", dashed=True),
        Curve("all functions", places, everything, "first"),
        Curve("linear, exact", places, linear, "exact"),
    )


def _statements() -> tuple[Printed, ...]:
    strong, weak = Laplace(1).guarantee(), Laplace(10).guarantee()
    exact = weak.against(Linear()).renyi(3)
    rows = (10 * Laplace(10, 0.1)).guarantee().against(Linear(), adaptive=False)
    spread = rows.renyi_interval(3.0)
    printed = published_matrix_mechanism(3, 0.1, 1).value
    alone = [m.guarantee().against(Linear()) for m in (Laplace(1), Laplace(2))]
    together = (Laplace(1) + Laplace(2)).guarantee().against(Linear(), adaptive=False)
    added = sequential(*alone, adaptive=False)
    release = Gaussian(20).guarantee(Adjacency.REPLACE_ONE)
    gap, theirs = generalization_gap(release, Linear()), published_pinsker(release.against(Linear()).kl())
    return (
        Printed(
            "Corollary 2: the bound holds for all α > 2",
            f"Laplace, ε = 0.1, α = 3: exact {exact:.3g}, bound {published_laplace_linear(3, 0.1).value:.3g}",
            False,
            "the exact value is larger for every small ε",
        ),
        Printed(
            "Theorem 5: a strategy with one row, ε = 0.1, order 3",
            f"exact {exact:.3g}, bound {printed:.3g}",
            exact <= printed,
            f"ten rows that share the sensitivity: exact {spread.high:.3g}, "
            f"bound {published_matrix_mechanism(3, 0.1, 10).value:.3g}",
        ),
        Printed(
            "Corollary 1: unrestricted Laplace is at least ε‖v‖₁ for α ≥ 1",
            f"ε = 1, α = 2: {strong.renyi(2):.4f}",
            strong.renyi(2) >= 1,
            "Table 1 has the term -d log(2)/(α-1) that is missing here",
        ),
        Printed(
            "Lemma 2: a release without noise has no finite parameter",
            f"{Laplace(1e-120).guarantee().against(Linear()).renyi(2)}",
            math.isinf(Laplace(1e-120).guarantee().against(Linear()).renyi(2)),
        ),
        Printed(
            "Theorem 4: parameters add up, at most",
            f"order 3: {together.renyi(3):.4f} ≤ {added.renyi(3):.4f}",
            together.renyi(3) <= added.renyi(3),
            f"KL adds up exactly: {together.kl():.6f}",
        ),
        Printed(
            "Appendix A: the Rényi parameter of d-dimensional Gaussian noise is α(‖v‖₂/σ)²",
            f"σ = 1, α = 2: {Gaussian(1).guarantee().renyi(2):.4g}",
            abs(Gaussian(1).guarantee().renyi(2) - 2) < 1e-9,
            "half of that, as in Table 1",
        ),
        Printed(
            "Theorems 6 and 7: the generalization gap is at most 8√KL",
            f"Gaussian, σ = 20: {gap:.4f} ≤ {theirs:.4f}",
            gap <= theirs,
            "√(KL/2) holds for classes closed under scaling",
        ),
    )
