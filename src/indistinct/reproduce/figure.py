"""What a reproduced figure consists of: curves, tables and claims, all plain data.

A figure is computed by one function and drawn, written and compared elsewhere; so a new figure is one
function and one entry in the catalogue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.numerics.arrays import Array

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """One curve. `role` decides how it looks: "first" to "fourth" for what the paper draws, "exact" for
    what is true, "plain" for a reference line."""

    label: str
    x: Numbers
    y: Numbers
    role: str = "first"
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes; or a `picture`, of pixels from 0 to 255, without any."""

    title: str
    x_label: str = ""
    y_label: str = ""
    lines: tuple[Curve, ...] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_log: bool = False
    y_log: bool = False
    y_ticks: tuple[float, ...] = ()
    legend: str = "best"
    square: bool = False
    picture: Numbers | None = None

    @classmethod
    def tradeoff(cls, title: str, lines: tuple[Curve, ...], legend: str = "upper right") -> "Panel":
        """The errors of tests."""
        labels = "type I error τ", "type II error β"
        return cls(title, *labels, lines, (0, 1), (0, 1), square=True, legend=legend)


@dataclass(frozen=True)
class Arrow:
    """In a diagram: from one box to another, and the theorem that allows it."""

    start: str
    end: str
    label: str


@dataclass(frozen=True)
class FigureTable:
    """Rows under named columns; numbers are kept as numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Printed:
    """Something a paper says, and what comes out here."""

    says: str
    ours: str
    agrees: bool
    remark: str = ""

    @classmethod
    def number(cls, says: str, stated: float, ours: float, tolerance: float, remark: str = "") -> "Printed":
        """Agrees if the two numbers differ by no more than the paper's own rounding."""
        return cls(says, f"{ours:.5g}", abs(ours - stated) <= tolerance, remark)


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, computed again."""

    panels: tuple[Panel, ...] = ()
    claims: tuple[Printed, ...] = ()
    table: FigureTable | None = None
    arrows: tuple[Arrow, ...] = ()
    rows: int = 1
    note: str = ""
    """One line under the picture: what is not printed in the paper, or not valid in it."""


@dataclass(frozen=True)
class Entry:
    """A place in the catalogue: what the figure shows, and the function that computes it."""

    title: str
    compute: Callable[[], Figure]


def wedges(epsilon: npt.ArrayLike, delta: npt.ArrayLike, fpr: npt.ArrayLike) -> Array:
    """The false negative rates that (ε, δ) allow at least: the best of the lines of all (Asoodeh et al. 2021,
    equation 39)."""
    epsilon, kept, rates = np.asarray(epsilon), 1 - np.asarray(delta), np.asarray(fpr)[..., None]
    lines = np.maximum(kept - np.exp(epsilon) * rates, np.exp(-epsilon) * (kept - rates))
    best: Array = np.maximum(lines.max(axis=-1), 0.0)
    return best


def curve(function: Callable[[float], float], points: Numbers) -> Array:
    """A function of one number, read at many points."""
    return np.array([function(float(point)) for point in points])
