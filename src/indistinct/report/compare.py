"""Several guarantees beside each other: one picture, one table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, check_probability
from indistinct.guarantees import Guarantee
from indistinct.mechanisms.mechanism import Mechanism
from indistinct.report.paper_table import PaperTable
from indistinct.report.plot import canvas, tidy
from indistinct.report.text import rounded_up, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 81
_ORDERS = np.geomspace(1.05, 64.0, 41)
_RATE = 0.01
"""A false positive rate at which attacks are told."""
_LONGEST = 60


@dataclass(frozen=True)
class Compared:
    """A guarantee, and what it is called."""

    name: str
    guarantee: Guarantee


def compared(items: Any, adjacency: Adjacency | str | None) -> list[Compared]:
    """Each of several things with its own words, or the names that it is given."""
    if isinstance(items, Mechanism | Guarantee) or not isinstance(items, Iterable):
        raise ArgumentError(
            "items", items, "a list of mechanisms and guarantees, or a mapping from names to them"
        )
    named = items.items() if isinstance(items, Mapping) else ((None, item) for item in items)
    found = [
        Compared(_words(item) if name is None else str(name), guarantee_of(item, adjacency))
        for name, item in named
    ]
    if not found:
        raise ArgumentError("items", items, "at least one mechanism or guarantee")
    about = {one.guarantee.adjacency for one in found}
    if len(about) > 1:
        told = " and ".join(sorted(one.value for one in about))
        raise ArgumentError(
            "items", told, "about the same neighbours: numbers about others cannot be compared"
        )
    return found


def guarantee_of(item: Any, adjacency: Adjacency | str | None = None) -> Guarantee:
    """That of a mechanism, a guarantee, or anything that has a method `guarantee`."""
    if isinstance(item, Guarantee):
        if adjacency is not None and check_adjacency(adjacency) is not item.adjacency:
            raise ArgumentError("adjacency", adjacency, f"that of the guarantee ({item.adjacency.value})")
        return item
    make = getattr(item, "guarantee", None)
    known = (
        None
        if isinstance(item, type) or not callable(make)
        else make(*() if adjacency is None else (adjacency,))
    )
    if not isinstance(known, Guarantee):
        raise ArgumentError("item", item, "a mechanism, a guarantee, or what has a guarantee")
    return known


def _words(item: Any) -> str:
    text = str(getattr(item, "mechanism", item)).splitlines()[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def compare(
    items: Any,
    reading: str = "tradeoff",
    *,
    ax: "Axes | None" = None,
    delta: float = 1e-5,
    adjacency: Adjacency | str | None = None,
) -> "Axes":
    """Several mechanisms or guarantees in one picture: their trade-off curves, privacy profiles (down to a
    thousandth of `delta`) or Rényi divergences. Labels are their own words, or the keys of a mapping.

    >>> from indistinct import Gaussian, Laplace
    >>> axes = compare([Gaussian(scale=1), Laplace(scale=1)], reading="profile")
    >>> [line.get_label() for line in axes.get_lines()]
    ['gaussian(1.0)', 'laplace(1.0)']
    """
    draw = _READINGS.get(reading)
    if draw is None:
        raise ArgumentError("reading", reading, f"one of {', '.join(map(repr, _READINGS))}")
    listed, delta = compared(items, adjacency), check_probability("delta", delta)
    axes = canvas((5.2, 4.2), dpi=110).subplots() if ax is None else ax
    draw(axes, listed, delta)
    tidy(axes, 9)
    axes.set_title(listed[0].guarantee.adjacency.value, fontsize=9)
    axes.legend(frameon=False, fontsize=8)
    return axes


def _tradeoffs(axes: "Axes", listed: list[Compared], delta: float) -> None:
    fpr = np.linspace(0.0, 1.0, _POINTS) ** 1.5
    for one in listed:
        axes.plot(fpr, one.guarantee.tradeoff(fpr), label=one.name)
    axes.plot([0.0, 1.0], [1.0, 0.0], color="#8a8a8a", linewidth=1, label="nothing can be told")
    axes.set(xlabel="false positive rate", ylabel="false negative rate, at least", xlim=(0, 1), ylim=(0, 1))


def _profiles(axes: "Axes", listed: list[Compared], delta: float) -> None:
    floor = max(1e-3 * delta, 1e-290)
    ends = [one.guarantee.epsilon(floor) for one in listed]
    reach = max([end for end in ends if np.isfinite(end)], default=0.0) or 1.0
    for one in listed:
        # spread over both axes: a profile may fall like a cliff
        levels = one.guarantee.epsilon(np.geomspace(floor, 1.0, _POINTS))
        epsilon = np.unique(np.append(np.linspace(0.0, reach, _POINTS), levels[levels < reach]))
        values = one.guarantee.delta(epsilon)
        axes.plot(epsilon, np.where(values >= floor / 10, values, np.nan), label=one.name)
    axes.set(yscale="log", xlabel="ε", ylabel="δ, at most", xlim=(0, reach), ylim=(floor, 2.0))


def _divergences(axes: "Axes", listed: list[Compared], delta: float) -> None:
    for one in listed:
        values = one.guarantee.renyi(_ORDERS)
        axes.plot(_ORDERS, np.where(np.isfinite(values), values, np.nan), label=one.name)
    axes.set(xscale="log", yscale="log", xlabel="order", ylabel="Rényi divergence, at most")


_READINGS = {"tradeoff": _tradeoffs, "profile": _profiles, "renyi": _divergences}


def comparison(items: Any, *, delta: float = 1e-5, adjacency: Adjacency | str | None = None) -> PaperTable:
    """Several mechanisms or guarantees as a table, rounded towards caution; print it, or write it as LaTeX or
    CSV.

    >>> from indistinct import Gaussian
    >>> print(comparison({"one run": Gaussian(scale=2), "ten": 10 * Gaussian(scale=2)}).to_csv())
    mechanism,ε at δ = 1e-5,μ of Gaussian DP,true positives at 1 % false positives,advantage
    one run,1.994,0.5,0.0339,0.1975
    ten,7.512,1.582,0.2281,0.5709
    <BLANKLINE>
    """
    listed, delta = compared(items, adjacency), check_probability("delta", delta)
    rows = []
    for one in listed:
        g = one.guarantee
        readings = (g.epsilon(delta), g.to_gaussian().mu, 1 - g.tradeoff(_RATE), g.advantage())
        rows.append((one.name, *(_shown(value) for value in readings)))
    header = (
        "mechanism",
        f"ε at δ = {short(delta)}",
        "μ of Gaussian DP",
        "true positives at 1 % false positives",
        "advantage",
    )
    caption = f"Guarantees for {listed[0].guarantee.adjacency.value}; upper bounds."
    return PaperTable(header, tuple(rows), caption)


def _shown(value: float) -> str:
    return "∞" if np.isinf(value) else rounded_up(float(value), 4)
