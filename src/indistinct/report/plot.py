"""A report as a picture: the privacy profile, and the trade-off between an attacker's two errors."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.guarantees import GaussianDP
from indistinct.report.text import rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from indistinct.report.subject import Subject

_INK, _MAIN, _FIT = "#222222", "#1f5fa8", "#d1702a"
_POINTS = 121
_FAINTEST = 1e-30
_WIDEST = 50.0
_LONGEST_TITLE = 90


def draw(subject: "Subject", path: str | Path | None = None) -> Any:
    """The report's picture, as a matplotlib figure; written to `path` if one is given."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('a picture needs matplotlib: pip install "indistinct[plot]"') from None

    figure = Figure(figsize=(9.6, 4.2), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.08})
    _profile(left, subject)
    _tradeoff(right, subject)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_INK, labelsize=9)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
    title = subject.expression
    title = title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
    figure.suptitle(f"{title}\n{subject.guarantee.adjacency.value}", fontsize=10, color=_INK)
    if path is not None:
        try:
            figure.savefig(path)
        except ValueError as error:  # an ending that matplotlib does not know
            raise ArgumentError("plot", str(path), f"a file name such as out.png ({error})") from None
    return figure


def _profile(axes: "Axes", subject: "Subject") -> None:
    guarantee, delta = subject.guarantee, subject.delta
    epsilon = guarantee.epsilon(delta)
    widest = 1.6 * epsilon if 0 < epsilon < math.inf else 1.0
    if subject.epsilon is not None:
        widest = max(widest, min(1.2 * subject.epsilon, _WIDEST))
    grid = np.linspace(0.0, widest, _POINTS)
    values = guarantee.delta(grid)
    floor = max(1e-3 * delta, _FAINTEST)
    axes.semilogy(grid, np.where(values > floor * 1e-3, values, np.nan), color=_MAIN, linewidth=2)
    if math.isfinite(epsilon) and delta >= _FAINTEST:
        axes.plot([epsilon], [delta], "o", color=_INK, markersize=6)
        axes.annotate(
            f"ε = {rounded_up(epsilon)}\nδ = {delta:g}",
            (epsilon, delta),
            xytext=(9, 7),
            textcoords="offset points",
            color=_INK,
            fontsize=9.5,
        )
    axes.set_xlim(0.0, widest)
    axes.set_ylim(max(floor, float(values.min()) * 0.5), 2.0)
    axes.set_xlabel("ε")
    axes.set_ylabel("δ")
    axes.set_title("Privacy profile: the δ that goes with each ε", fontsize=10, color=_INK)


def _tradeoff(axes: "Axes", subject: "Subject") -> None:
    guarantee = subject.guarantee
    fpr = np.linspace(0.0, 1.0, _POINTS) ** 1.5
    axes.plot([0.0, 1.0], [1.0, 0.0], color="#8a8a8a", linewidth=1, label="nothing can be told")
    axes.plot(fpr, guarantee.tradeoff(fpr), color=_MAIN, linewidth=2, label="no test does better")
    gaussian = guarantee.to_gaussian()
    if math.isfinite(gaussian.mu):
        axes.plot(
            fpr,
            GaussianDP(gaussian.mu).tradeoff(fpr),
            color=_FIT,
            linewidth=1.4,
            linestyle="--",
            label=f"Gaussian DP, μ = {rounded_up(gaussian.mu, 4)}",
        )
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    replace = guarantee.adjacency.value == "replace-one"
    axes.set_xlabel("false positive rate" + ("" if replace else " (wrongly said to be in the data)"), fontsize=9.5)
    axes.set_ylabel("false negative rate" + ("" if replace else " (missed)"), fontsize=9.5)
    axes.set_title("Trade-off of an attacker's errors", fontsize=10, color=_INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
