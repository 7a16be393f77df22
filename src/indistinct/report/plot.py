"""A report as a picture: the privacy profile, and the trade-off of an attacker's errors."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError
from indistinct.guarantees import GaussianDP, Guarantee
from indistinct.numerics.arrays import Array
from indistinct.report.text import rounded_up, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from indistinct.report.subject import Subject

INK, _MAIN, _FIT, _PLAIN = "#222222", "#1f5fa8", "#d1702a", "#8a8a8a"
_POINTS = 81
_USUAL_DELTA = 1e-5
_FAINTEST = 1e-290
_LONGEST_TITLE = 90


def draw(subject: "Subject", path: str | Path | None = None) -> Any:
    """The report's picture, as a matplotlib figure; written to `path` if one is given."""
    figure = canvas((9.6, 4.2), dpi=110)
    left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.08})
    _profile(left, subject)
    _tradeoff(right, subject.guarantee, subject.gaussian.mu)
    for axes in (left, right):
        tidy(axes, 9)
    title = subject.expression
    title = title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
    figure.suptitle(f"{title}\n{subject.guarantee.adjacency.value}", fontsize=10, color=INK)
    if path is not None:
        try:
            figure.savefig(path)
        except ValueError as error:  # an ending that matplotlib does not know
            allowed = f"a file name such as out.png ({error})"
            raise ArgumentError("plot", str(path), allowed) from None
    return figure


def canvas(size: tuple[float, float], dpi: int) -> "Figure":
    """An empty figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('a picture needs matplotlib: pip install "indistinct[plot]"') from None

    return Figure(figsize=size, dpi=dpi, layout="constrained")


def tidy(axes: "Axes", letters: float) -> None:
    """Axes with no more ink than they need."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=letters)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def _profile(axes: "Axes", subject: "Subject") -> None:
    epsilon, delta = subject.guarantee.epsilon(subject.delta or _USUAL_DELTA), subject.delta or _USUAL_DELTA
    grid, values, floor = profile_points(subject)
    reach = float(grid[-1])
    axes.semilogy(grid, np.where(values > 1e-300, values, np.nan), color=_MAIN, linewidth=2)
    if subject.delta and math.isfinite(epsilon):
        axes.plot([epsilon], [delta], "o", color=INK, markersize=6)
        beyond = epsilon > 0.6 * reach
        axes.annotate(
            f"ε = {rounded_up(epsilon)}\nδ = {short(delta)}",
            (epsilon, delta),
            xytext=(-10 if beyond else 10, -4 if beyond else 7),
            textcoords="offset points",
            ha="right" if beyond else "left",
            va="top" if beyond else "baseline",
            color=INK,
            fontsize=10,
        )
    axes.minorticks_off()
    axes.set_xlim(0.0, reach)
    axes.set_ylim(floor, 2.0)
    axes.set_xlabel("ε")
    axes.set_ylabel("δ")
    axes.set_title("Privacy profile: the δ that goes with each ε", fontsize=10, color=INK)


def profile_points(subject: "Subject") -> tuple[Array, Array, float]:
    """Where to draw the profile, its values there, and the smallest δ to draw."""
    # a logarithmic axis has no zero: pure DP is drawn over the usual range, without a mark
    guarantee, delta = subject.guarantee, subject.delta or _USUAL_DELTA
    floor = max(1e-3 * delta, _FAINTEST)
    reach = _reach(subject, guarantee.epsilon(delta), floor)
    # spread over both axes: a profile may fall like a cliff
    levels = guarantee.epsilon(np.geomspace(floor, 1.0, _POINTS))
    grid = np.unique(np.concatenate((np.linspace(0.0, reach, _POINTS), levels[levels < reach])))
    return grid, guarantee.delta(grid), floor


def _reach(subject: "Subject", epsilon: float, floor: float) -> float:
    """The largest ε to draw: where δ leaves the picture, if it does."""
    reach = subject.guarantee.epsilon(floor)
    if not math.isfinite(reach):
        reach = 2 * epsilon if 0 < epsilon < math.inf else 1.0
    if subject.epsilon is not None:
        reach = max(reach, min(1.1 * subject.epsilon, 10 * reach))
    return 1.05 * reach if reach > 0 else 1.0


def _tradeoff(axes: "Axes", guarantee: Guarantee, mu: float) -> None:
    fpr = np.linspace(0.0, 1.0, _POINTS) ** 1.5
    axes.plot([0.0, 1.0], [1.0, 0.0], color=_PLAIN, linewidth=1, label="nothing can be told")
    axes.plot(fpr, guarantee.tradeoff(fpr), color=_MAIN, linewidth=2, label="no test gets below this")
    if math.isfinite(mu):
        fit, label = GaussianDP(mu).tradeoff(fpr), f"Gaussian DP, μ = {rounded_up(mu, 4)}"
        axes.plot(fpr, fit, color=_FIT, linewidth=1.4, linestyle="--", label=label)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    membership = guarantee.adjacency is Adjacency.ADD_REMOVE
    axes.set_xlabel("false positive rate" + (" (wrongly said to be in the data)" if membership else ""))
    axes.set_ylabel("false negative rate" + (" (missed)" if membership else ""))
    axes.set_title("Trade-off of an attacker's errors", fontsize=10, color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
