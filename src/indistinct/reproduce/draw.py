"""Pictures and data files of reproduced figures."""

import csv
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from indistinct.report.plot import INK, canvas, tidy
from indistinct.reproduce.figure import Arrow, Figure, FigureTable, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "first": "#1f5fa8",
    "second": "#d1702a",
    "third": "#3a8f5c",
    "fourth": "#8656a5",
    "exact": "#111111",
    "plain": "#a0a0a0",
}
_BOXES = {"(ε, δ)-DP": (0.12, 0.15), "Rényi DP": (0.5, 0.88), "f-DP (hypothesis test)": (0.84, 0.15)}
_WIDTH, _HEIGHT, _SQUARE, _STRIP = 3.8, 3.3, 3.7, 1.05
_ASPECT = 1.6
"""Width over height of the diagram's axes."""


def draw(figure: Figure, title: str, path: Path) -> None:
    """The figure as a picture file."""
    columns = max(-(-len(figure.panels) // figure.rows), 1)
    tall = _SQUARE if any(panel.square for panel in figure.panels) else _HEIGHT
    tall = _STRIP if any(panel.picture is not None for panel in figure.panels) else tall
    size = (max(_WIDTH * columns, 6.4), tall * figure.rows + 0.8)
    picture = canvas(size, dpi=92)
    axes = picture.subplots(figure.rows, columns, squeeze=False)
    for panel, place in zip(figure.panels, axes.flat, strict=False):
        _panel(place, panel)
    for place in axes.flat[len(figure.panels) :]:
        place.set_axis_off()
    if figure.arrows:
        _diagram(axes.flat[0], figure.arrows)
    picture.suptitle(title, fontsize=11, color=INK)
    if figure.note:
        picture.supxlabel(fill(figure.note, int(17 * size[0])), fontsize=8, color="#555555")
    # few colours are used, and files with few colours are a third of the size
    from PIL import Image  # comes with matplotlib

    pixels = BytesIO()
    picture.savefig(pixels, format="png")
    colourful = any(panel.picture is not None and panel.picture.ndim == 3 for panel in figure.panels)
    Image.open(pixels).convert("RGB").quantize(256 if colourful else 64).save(path, optimize=True)


def _panel(axes: "Axes", panel: Panel) -> None:
    if panel.picture is not None:
        axes.imshow(panel.picture, cmap="gray", vmin=0, vmax=255)
        axes.set_title(panel.title, fontsize=7.5, color=INK, pad=3)
        axes.set_axis_off()
        return
    for line in panel.lines:
        style = {"color": _COLOURS[line.role], "label": line.label, "linewidth": 1.8}
        if line.role == "plain":
            style |= {"linewidth": 1.0}
        if line.dots:
            style |= {"linestyle": "none", "marker": "o", "markersize": 4}
        elif line.dashed:
            style |= {"linestyle": (0, (4, 2))}
        axes.plot(line.x, line.y, **style)  # type: ignore[arg-type]
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.y_ticks:
        axes.set_yticks(panel.y_ticks, [f"{tick:g}" for tick in panel.y_ticks])
        axes.minorticks_off()
    if panel.x_range:
        axes.set_xlim(*panel.x_range)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)
    if panel.square:
        axes.set_box_aspect(1)
    axes.set_title(panel.title, fontsize=9.5, color=INK)
    axes.set_xlabel(panel.x_label, fontsize=9)
    axes.set_ylabel(panel.y_label, fontsize=9)
    tidy(axes, 8)
    if panel.legend and any(line.label for line in panel.lines):
        axes.legend(frameon=False, fontsize=8, loc=panel.legend)  # type: ignore[call-overload]


def _diagram(axes: "Axes", arrows: tuple[Arrow, ...]) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    frame = {"boxstyle": "round,pad=0.6", "facecolor": "#eef3f9", "edgecolor": _COLOURS["first"]}
    boxes = {
        name: axes.text(x, y, name, ha="center", va="center", fontsize=10, color=INK, bbox=frame)
        for name, (x, y) in _BOXES.items()
    }
    both = {(a.start, a.end) for a in arrows} & {(a.end, a.start) for a in arrows}
    for arrow in arrows:
        (x0, y0), (x1, y1) = _BOXES[arrow.start], _BOXES[arrow.end]
        # arrows that go both ways bend apart; half of the bend is where the curve passes, its label too
        bend = 0.25 if (arrow.start, arrow.end) in both else 0.0
        look: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "connectionstyle": f"arc3,rad={bend}"}
        look |= {"patchA": boxes[arrow.start].get_bbox_patch(), "patchB": boxes[arrow.end].get_bbox_patch()}
        axes.annotate("", (x1, y1), (x0, y0), arrowprops=look | {"shrinkA": 4, "shrinkB": 4})
        x = (x0 + x1) / 2 + bend / 2 * (y1 - y0) / _ASPECT
        y = (y0 + y1) / 2 - bend / 2 * (x1 - x0) * _ASPECT
        plate = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}
        axes.text(x, y, arrow.label, ha="center", va="center", fontsize=8.5, color=INK, bbox=plate)


def write_data(figure: Figure, path: Path) -> None:
    """The curves, or the table, as CSV with all digits."""
    table = figure.table or FigureTable(
        ("panel", "curve", "x", "y"),
        tuple(
            (panel.title, line.label, float(x), float(y))
            for panel in figure.panels
            for line in panel.lines
            for x, y in zip(line.x, line.y, strict=True)
        ),
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def markdown(table: FigureTable) -> str:
    """A table as Markdown, numbers to six digits."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def _cell(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
