"""A page of a report as blocks, one below the other: what is left of HTML where no browser can lay it out."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_WORDS = {"h1", "h2", "h3", "h4", "p", "li", "dd", "figcaption", "caption"}
_SHAPES = {"line", "rect", "path", "circle", "text"}
_CELLS = {"th", "td"}


@dataclass
class Words:
    """A heading or a paragraph: what it is called in HTML, and for a `dd` its `dt`."""

    kind: str
    text: str = ""
    name: str = ""


@dataclass
class DrawnShape:
    """An element of a picture, with what is written there."""

    kind: str
    given: dict[str, str]
    text: str = ""

    def number(self, name: str) -> float:
        return float(self.given.get(name, "0").removesuffix("em"))


@dataclass
class Picture:
    """A chart, its size as its shapes count."""

    width: float
    height: float
    shapes: list[DrawnShape] = field(default_factory=list)


@dataclass
class Rows:
    """A table; the first row is its header, where it has one."""

    rows: list[list[str]] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    """Which columns hold numbers."""
    headed: bool = False


@dataclass
class Break:
    """What follows begins on a new page."""


Block = Words | Picture | Rows | Break


def blocks(page: str) -> list[Block]:
    """Of a page that this package has made.

    >>> blocks("<h2>One</h2><p>two &amp; <b>three</b></p>")
    [Words(kind='h2', text='One', name=''), Words(kind='p', text='two & three', name='')]
    """
    reader = _PageReader()
    reader.feed(page)
    return [one for one in reader.found if not isinstance(one, Words) or one.text]


class _PageReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Block] = []
        self._into: Words | DrawnShape | list[str] | None = None
        """What text goes to."""
        self._name = Words("dt")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        last = self.found[-1] if self.found else None
        if tag in _WORDS:
            self._into = Words(tag, name=self._name.text.strip())
            self._name = Words("dt")
            self.found.append(self._into)
        elif tag == "dt":
            self._into = self._name
        elif tag == "svg":
            _, _, width, height = map(float, given["viewbox"].split())
            self.found.append(Picture(width, height))
            self._into = None
        elif tag in _SHAPES and isinstance(last, Picture):
            self._into = DrawnShape(tag, given)
            last.shapes.append(self._into)
        elif tag == "table":
            self.found.append(Rows())
        elif tag in ("title", "desc", "style"):
            self._into = None
        elif (rows := self._rows()) is not None:
            if tag == "thead":
                rows.headed = True
            elif tag == "tr":
                rows.rows.append([])
                rows.right = []
            elif tag in _CELLS:
                self._into = []
                rows.right.append(tag == "td")

    def handle_endtag(self, tag: str) -> None:
        rows = self._rows()
        if tag in _CELLS and rows is not None and isinstance(self._into, list):
            rows.rows[-1].append("".join(self._into).strip())
        if tag == "header":
            self.found.append(Break())
        if tag in _WORDS | _CELLS | {"dt", "text", "svg"}:
            self._into = None

    def handle_data(self, data: str) -> None:
        if isinstance(self._into, list):
            self._into.append(data)
        elif self._into is not None:
            self._into.text += data

    def _rows(self) -> Rows | None:
        """The table that was begun last; its caption comes after it."""
        last = self.found[-1] if self.found else None
        if isinstance(last, Words) and last.kind == "caption":
            last = self.found[-2]
        return last if isinstance(last, Rows) else None
