"""Blocks of a page on sheets of paper, by matplotlib: texts, tables and pictures one below the other."""

import re
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from indistinct.report.blocks import Block, Break, DrawnShape, Picture, Rows, Words

_WIDE, _HIGH, _EDGE = 595.0, 842.0, 42.0
"""A4, in points, and its margins."""
_ROOM = _WIDE - 2 * _EDGE
_INK, _SOFT, _LINE, _MAIN = "#000000", "#444444", "#cccccc", "#1f5fa8"
"""As `style.py` has them for print."""
_SIZES = {
    "h1": 16.0,
    "h2": 13.0,
    "h3": 11.0,
    "h4": 9.5,
    "figcaption": 7.5,
    "caption": 7.5,
    "li": 8.5,
    "dd": 8.5,
}
_ABOVE = {"h1": 0.0, "h2": 16.0, "h3": 12.0, "h4": 8.0}
_BODY, _TABLE, _BESIDE, _LEAST = 8.5, 7.5, 6.0, 5.0
"""Letters of texts and tables; the least beside a picture, and anywhere."""
_INDENT = {"li": 10.0, "dd": 70.0}
_GAP = 16.0
_CHART = (_ROOM - _GAP) / 2
"""How wide a picture may be, and how high: two of them, or one and its numbers, stand side by side."""
_RIGHT = _EDGE + _CHART + _GAP
_TURNED = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\) rotate\(-90\)")
_STROKES: dict[str, Any] = {
    "grid": {"edgecolor": _LINE, "linewidth": 0.6},
    "plain": {"edgecolor": _SOFT, "linewidth": 0.7, "linestyle": (0, (4, 3))},
    "main": {"edgecolor": _MAIN, "linewidth": 1.4},
    "whisker": {"edgecolor": _INK, "linewidth": 0.7},
}
_FILLS: dict[str, Any] = {
    "bar": {"facecolor": _MAIN, "alpha": 0.3},
    "band": {"facecolor": _MAIN, "alpha": 0.15},
    "heat": {"facecolor": _MAIN},
    "dot": {"facecolor": _INK},
    "point": {"facecolor": _MAIN},
}


def print_blocks(found: Sequence[Block], pdf: Path) -> bool:
    """All of them; False where matplotlib is not installed."""
    try:
        from matplotlib import rc_context
    except ImportError:
        return False
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that its font does not have
        with _Sheets(pdf) as sheets:
            for place, block in enumerate(found):
                sheets.put(block, found[place + 1 : place + 4])
    return True


class _Sheets:
    """Where the next block goes."""

    def __init__(self, pdf: Path) -> None:
        from matplotlib.backends.backend_pdf import PdfPages

        self._pages: Any = PdfPages(pdf)
        self._count = 0
        self._beside: tuple[float, float] | None = None
        """Where pictures that stand here begin and end, and whether the last has its words."""
        self._left, self._captioned = _EDGE, False
        self._begin()

    def __enter__(self) -> "_Sheets":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._pages.close()

    def _begin(self) -> None:
        from matplotlib.figure import Figure

        self._figure: Any = Figure(figsize=(_WIDE / 72, _HIGH / 72), dpi=72)
        self._y, self._count, self._beside, self._left = _EDGE, self._count + 1, None, _EDGE

    def _end(self) -> None:
        self._text(_WIDE - _EDGE, _HIGH - 22, str(self._count), 7.5, _SOFT, ha="right")
        self._pages.savefig(self._figure)

    def _need(self, height: float) -> None:
        """A new sheet where there is no such room on this one."""
        if self._y + height > _HIGH - _EDGE and self._y > _EDGE:
            self._end()
            self._begin()

    def put(self, block: Block, following: Sequence[Block]) -> None:
        """A block; those that follow tell whether a heading has room for what it is the heading of."""
        if isinstance(block, Picture):
            self._put_picture(block)
            return
        if isinstance(block, Rows) and block.rows:
            self._put_rows(block)
        elif isinstance(block, Words):
            self._put_words(block, following)
        elif isinstance(block, Break):
            self._y = _HIGH

    # -- texts ------------------------------------------------------------------------------------

    def _put_words(self, words: Words, following: Sequence[Block]) -> None:
        size, indent = _SIZES.get(words.kind, _BODY), _INDENT.get(words.kind, 0.0)
        caption = words.kind == "figcaption"
        if not caption:
            self._go_below()
        lines = _wrapped(words.text, size, _CHART if caption else _ROOM - indent)
        high, bold = 1.35 * size, words.kind in _ABOVE
        self._y += _ABOVE.get(words.kind, 0.0)
        if bold:  # not alone at the end of a sheet
            next_high = max((_height(one) for one in following), default=0.0)
            self._need(len(lines) * high + min(next_high, _CHART))
        left = self._left + indent
        for place, line in enumerate(lines):
            if not caption:
                self._need(high)
            if place == 0 and words.kind == "li":
                self._text(left - 8, self._y + size, "•", size, _INK)
            if place == 0 and words.name:
                self._text(_EDGE, self._y + size, words.name, size, _SOFT)
            color = _SOFT if words.kind in ("figcaption", "caption") else _INK
            self._text(left, self._y + size, line, size, color, weight="bold" if bold else "normal")
            self._y += high
        self._y += 3.0
        if caption and self._beside is not None:
            self._beside, self._captioned = (self._beside[0], max(self._beside[1], self._y)), True

    def _text(self, x: float, y: float, text: str, size: float, color: str, **more: Any) -> None:
        from matplotlib.text import Text

        turned = {"va": "baseline", "fontsize": size, "color": color, "parse_math": False, **more}
        shown = Text(x, _HIGH - y, _drawable(text), **turned)
        shown.set_figure(self._figure)
        self._figure.add_artist(shown)
        shown.set_transform(_identity())

    # -- tables -----------------------------------------------------------------------------------

    def _put_rows(self, table: Rows) -> None:
        left, start = _EDGE, self._beside[0] if self._beside and self._left == _EDGE else _HIGH
        widths, size = _widths(table, _CHART)
        if size >= _BESIDE and start + (1.5 * len(table.rows) + 1) * size <= _HIGH - _EDGE:
            left, self._y = _RIGHT, start
        else:
            self._go_below()
            widths, size = _widths(table, _ROOM)
        high = 1.5 * size
        self._need(min(len(table.rows), 4) * high)
        for place, row in enumerate(table.rows):
            if self._y + high > _HIGH - _EDGE:
                self._end()
                self._begin()
                if table.headed and place:
                    self._row(table, table.rows[0], widths, size, left, head=True)
            self._row(table, row, widths, size, left, head=table.headed and place == 0)
        self._y += 8.0
        self._go_below()

    def _row(
        self,
        table: Rows,
        row: Sequence[str],
        widths: Sequence[float],
        size: float,
        left: float,
        *,
        head: bool,
    ) -> None:
        base, x = self._y + 1.1 * size, left
        for text, wide, right in zip(row, widths, table.right, strict=False):
            shown, color = _cut(text, size, wide - 8), _SOFT if head else _INK
            self._text(
                x + wide - 4 if right else x, base, shown, size, color, ha="right" if right else "left"
            )
            x += wide
        self._y += 1.5 * size
        self._stroke([(left, self._y), (x, self._y)], _STROKES["grid"])

    # -- pictures ---------------------------------------------------------------------------------

    def _put_picture(self, picture: Picture) -> None:
        scale = _scale(picture)
        high = scale * picture.height
        pair = self._beside is not None and self._left == _EDGE and self._captioned
        if self._beside is not None and pair and self._beside[0] + high + 24 <= _HIGH - _EDGE:
            self._left, self._y = _RIGHT, self._beside[0]
        else:
            self._go_below()
            self._need(high + 24)
            self._beside = (self._y, self._y)
        assert self._beside is not None
        top = self._y
        for shape in picture.shapes:
            self._shape(shape, scale, top)
        self._y += high + 2
        self._beside, self._captioned = (top, max(self._beside[1], self._y)), False

    def _go_below(self) -> None:
        """Of what stands side by side."""
        if self._beside is not None:
            self._y, self._beside = max(self._y, self._beside[1]), None
        self._left = _EDGE

    def _shape(self, shape: DrawnShape, scale: float, top: float) -> None:
        def place(x: float, y: float) -> tuple[float, float]:
            return self._left + scale * x, top + scale * y

        number, kind = shape.number, shape.given.get("class", "").split(" ")[0]
        if shape.kind == "text":
            self._written(shape, kind, scale, place)
        elif shape.kind == "line":
            ends = [place(number("x1"), number("y1")), place(number("x2"), number("y2"))]
            self._stroke(ends, _STROKES["grid"])
        elif shape.kind == "rect":
            x, y, wide, high = (number(name) for name in ("x", "y", "width", "height"))
            corners = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)]
            fill = _FILLS.get(kind)
            style = {**(fill or _STROKES["grid"])}
            if "fill-opacity" in shape.given:
                style["alpha"] = number("fill-opacity")
            self._stroke([place(*corner) for corner in corners], style, filled=fill is not None)
        elif shape.kind == "circle":
            self._round(
                *place(number("cx"), number("cy")), scale * number("r"), _FILLS.get(kind, _FILLS["dot"])
            )
        else:
            style = _FILLS.get(kind) or _STROKES.get(kind, _STROKES["plain"])
            for line in _lines(shape.given["d"]):
                self._stroke([place(*point) for point in line], style, filled=kind in _FILLS)

    def _written(self, shape: DrawnShape, kind: str, scale: float, place: Any) -> None:
        size = (12.0 if kind in ("name", "mark") else 11.0) * scale
        x, y, turn = shape.number("x"), shape.number("y"), 0.0
        if moved := re.fullmatch(
            r"translate\(([-\d.]+) ([-\d.]+)\) rotate\(-90\)", shape.given.get("transform", "")
        ):
            x, y, turn = float(moved[1]), float(moved[2]), 90.0
        down = shape.number("dy") * size
        at_x, at_y = place(x, y)
        anchor = {"middle": "center", "end": "right"}.get(shape.given.get("text-anchor", ""), "left")
        where = (at_x + (down if turn else 0.0), at_y + (0.0 if turn else down))
        color = _INK if kind in ("name", "mark") else _SOFT
        self._text(*where, shape.text, size, color, ha=anchor, rotation=turn, rotation_mode="anchor")

    def _stroke(self, points: Sequence[tuple[float, float]], style: Any, *, filled: bool = False) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        drawn = PathPatch(Outline([(x, _HIGH - y) for x, y in points]), fill=filled, **style)
        if filled:
            drawn.set_linewidth(0)
        self._figure.add_artist(drawn)
        drawn.set_transform(_identity())

    def _round(self, x: float, y: float, radius: float, style: Any) -> None:
        from matplotlib.patches import Circle

        drawn = Circle((x, _HIGH - y), radius, linewidth=0, **style)
        self._figure.add_artist(drawn)
        drawn.set_transform(_identity())


def _identity() -> Any:
    """Points of the sheet as they are."""
    from matplotlib.transforms import IdentityTransform

    return IdentityTransform()


def _lines(path: str) -> list[list[tuple[float, float]]]:
    """The lines of a path of straight pieces."""
    lines: list[list[tuple[float, float]]] = []
    for letter, given in re.findall(r"([MLHVZ])([-\d. ]*)", path):
        numbers = [float(number) for number in given.split()]
        if letter == "M":
            lines.append([(numbers[0], numbers[1])])
        elif letter == "Z":
            lines[-1].append(lines[-1][0])
        else:
            x, y = lines[-1][-1]
            at = {"L": numbers, "H": [*numbers, y], "V": [x, *numbers]}[letter]
            lines[-1].append((at[0], at[1]))
    return lines


def _drawable(text: str) -> str:
    """The text without what no font draws, such as marks of direction: names may come from records."""
    return "".join(
        one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text
    )


@lru_cache(maxsize=4096)
def _long(text: str) -> float:
    """How wide a text is at size 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, shown = FontProperties(size=100), _drawable(text)
    wide, _, _ = text_to_path.get_text_width_height_descent(shown, font, ismath=False)
    return float(wide) / 100


def _wrapped(text: str, size: float, room: float) -> list[str]:
    lines, own = [""], 0.0
    for word in text.split():
        wide = size * _long(word)
        if lines[-1] and own + size * 0.32 + wide > room:
            lines.append("")
            own = 0.0
        own += wide + (size * 0.32 if lines[-1] else 0.0)
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _cut(text: str, size: float, room: float) -> str:
    """As much of it as has room."""
    if len(text) <= 2 or size * _long(text) <= room + 4:
        return text
    letters = bisect_right(range(1, len(text)), room + 4, key=lambda k: size * _long(f"{text[:k]}…"))
    return f"{text[: max(letters, 1)]}…"


def _widths(table: Rows, room: float) -> tuple[list[float], float]:
    """Of the columns, and the size of letters with which they have room; at the least size texts are cut."""
    columns = zip(*(row for row in table.rows if len(row) == len(table.rows[0])), strict=True)
    longest = [max(_long(text) for text in column) for column in columns]
    size = min(_TABLE, max((room - 8 * len(longest)) / max(sum(longest), 1e-9), _LEAST))
    widths = [size * wide + 8 for wide in longest]
    over = sum(widths) / room
    return ([wide / over for wide in widths] if over > 1 else widths), size


def _scale(picture: Picture) -> float:
    return min(_CHART / picture.width, _CHART / picture.height, 0.8)


def _height(block: Block) -> float:
    """About how high the beginning of a block is."""
    if isinstance(block, Picture):
        return _scale(block) * block.height + 24
    return 40.0
