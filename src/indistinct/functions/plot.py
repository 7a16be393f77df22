"""Private functions as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.functions.function import PrivateFunction

_LINE, _SIDE = 401, 161


def draw(function: "PrivateFunction", low: Array, high: Array, path: str | Path | None) -> Any:
    """A curve with its band, or a map."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('a picture needs matplotlib: pip install "indistinct[plot]"') from None

    if len(low) > 2:
        raise ArgumentError("function", f"one of {len(low)} coordinates", "one of 1 or 2, for a picture")
    figure = Figure(figsize=(6.4, 4.0), dpi=110, layout="constrained")
    axes = figure.subplots()
    if len(low) == 1:
        x = np.linspace(low[0], high[0], _LINE)
        value, band = function(x), 2 * function.deviation(x)
        axes.fill_between(x, value - band, value + band, color="#1f5fa8", alpha=0.18, linewidth=0)
        axes.plot(x, value, color="#1f5fa8", linewidth=1.8)
        axes.set_title("band: two standard deviations of the noise", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
    else:
        lines = [np.linspace(a, b, _SIDE) for a, b in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
        values = function(grid).reshape(_SIDE, _SIDE)
        image = axes.imshow(
            values.T, origin="lower", extent=(low[0], high[0], low[1], high[1]), aspect="auto", cmap="viridis"
        )
        figure.colorbar(image, ax=axes)
        noise = float(function.deviation(grid[:: _SIDE // 4]).max())
        axes.set_title(f"standard deviation of the noise: {noise:.3g}", fontsize=9)
    if path is not None:
        figure.savefig(path)
    return figure
