"""Private densities as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.errors import ArgumentError

if TYPE_CHECKING:
    from indistinct.functions.density import PrivateDensity

_LINE, _SIDE = 600, 240


def draw_density(density: "PrivateDensity", path: str | Path | None, truth: Any) -> Any:
    """A curve, or a map; the truth dashed, or in a map beside it on the same scale."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('a picture needs matplotlib: pip install "indistinct[plot]"') from None

    basis = density.basis
    if basis.dimension > 2:
        raise ArgumentError("density", f"one of {basis.dimension} columns", "one of 1 or 2, for a picture")
    figure = Figure(figsize=(6.4 if truth is None or basis.dimension == 1 else 11.0, 4.4), dpi=110)
    figure.set_layout_engine("constrained")
    cells = _LINE if basis.dimension == 1 else _SIDE
    middles = (np.arange(cells) + 0.5) / cells
    lines = [a + middles * (b - a) for a, b in zip(basis.low, basis.high, strict=True)]
    if basis.dimension == 1:
        axes = figure.subplots()
        axes.fill_between(lines[0], density(lines[0]), color="#1f5fa8", alpha=0.18, linewidth=0)
        axes.plot(lines[0], density(lines[0]), color="#1f5fa8", linewidth=1.8, label="private")
        if truth is not None:
            axes.plot(lines[0], truth(lines[0]), color="#333333", linestyle="--", label="truth (not private)")
            axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
    else:
        points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
        maps = {"private": density.on_grid(cells)}
        if truth is not None:
            maps["truth (not private)"] = np.reshape(truth(points), (cells, cells))
        highest = float(np.quantile(maps["private"], 0.999))
        panels = np.atleast_1d(figure.subplots(1, len(maps)))
        for axes, (title, values) in zip(panels, maps.items(), strict=True):
            extent = (basis.low[0], basis.high[0], basis.low[1], basis.high[1])
            image = axes.imshow(
                values.T, origin="lower", extent=extent, aspect="auto", cmap="viridis", vmin=0, vmax=highest
            )
            axes.set_title(title, fontsize=10)
        figure.colorbar(image, ax=list(panels), label="density", shrink=0.9)
    if path is not None:
        figure.savefig(path)
    return figure
