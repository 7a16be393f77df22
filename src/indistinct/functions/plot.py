"""Private functions and densities as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.errors import ArgumentError, needs
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.functions.density import PrivateDensity
    from indistinct.functions.function import PrivateFunction

_POINTS = {1: 601, 2: 201}
"""Along each side, by the dimension."""


def draw(function: "PrivateFunction", low: Array, high: Array, path: str | Path | None) -> Any:
    """A curve with a band of two standard deviations of the noise, or a map."""
    figure, (axes,) = _figure(len(low), 1)
    points, values = _values(function, low, high)
    if len(low) == 1:
        band = 2 * function.deviation(points)
        _curve(axes, points, values, values - band, values + band)
        axes.set_title("band: two standard deviations of the noise", fontsize=9)
    else:
        figure.colorbar(_map(axes, values, low, high), ax=axes)
        noise = float(function.deviation(points[:: _POINTS[2] // 4]).max())
        axes.set_title(f"standard deviation of the noise: {noise:.3g}", fontsize=9)
    return _written(figure, path)


def draw_density(density: "PrivateDensity", path: str | Path | None, truth: Any) -> Any:
    """A curve, or a map; the truth dashed, or in a map beside it on the same scale."""
    low, high = density.basis.low, density.basis.high
    shown = {"private": density} | ({} if truth is None else {"truth (not private)": truth})
    figure, panels = _figure(len(low), len(shown) if len(low) == 2 else 1)
    values = {title: _values(one, low, high) for title, one in shown.items()}
    points, private = values["private"]
    if len(low) == 1:
        _curve(panels[0], points, private, 0.0, private, label="private")
        for title, (_, told) in list(values.items())[1:]:
            panels[0].plot(points, told, color="#333333", linestyle="--", label=title)
            panels[0].legend(frameon=False)
        panels[0].set_ylim(bottom=0)
    else:
        most = float(np.quantile(private, 0.999))
        for axes, (title, (_, told)) in zip(panels, values.items(), strict=True):
            image = _map(axes, told, low, high, vmin=0, vmax=most)
            axes.set_title(title, fontsize=10)
        figure.colorbar(image, ax=list(panels), label="density", shrink=0.9)
    return _written(figure, path)


def _figure(dimension: int, panels: int) -> tuple[Any, Any]:
    with needs("plot"):
        from matplotlib.figure import Figure
    if dimension not in _POINTS:
        raise ArgumentError("function", f"one of {dimension} coordinates", "one of 1 or 2, for a picture")
    figure = Figure(figsize=(6.4 if panels == 1 else 11.0, 4.2), dpi=110, layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _values(function: Any, low: Any, high: Any) -> tuple[Array, Array]:
    """Points of the box, and a function's values as a curve or a table."""
    lines = [np.linspace(a, b, _POINTS[len(low)]) for a, b in zip(low, high, strict=True)]
    if len(lines) == 1:
        return lines[0], function(lines[0])
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.reshape(function(points), (_POINTS[2], _POINTS[2]))


def _curve(axes: Any, points: Array, values: Array, below: Any, above: Array, **more: Any) -> None:
    axes.fill_between(points, below, above, color="#1f5fa8", alpha=0.18, linewidth=0)
    axes.plot(points, values, color="#1f5fa8", linewidth=1.8, **more)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0)


def _map(axes: Any, values: Array, low: Any, high: Any, **more: Any) -> Any:
    extent = (low[0], high[0], low[1], high[1])
    return axes.imshow(values.T, origin="lower", extent=extent, aspect="auto", cmap="viridis", **more)


def _written(figure: Any, path: str | Path | None) -> Any:
    if path is not None:
        figure.savefig(path)
    return figure
