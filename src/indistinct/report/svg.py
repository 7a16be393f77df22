"""Charts as plain SVG, for pages that need nothing else: no library, no script, no font of their own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from indistinct.adjacency import Adjacency
from indistinct.numerics.arrays import Array
from indistinct.report.plot import profile_points
from indistinct.report.text import rounded_up, short

if TYPE_CHECKING:
    from indistinct.report.subject import Subject

_LETTER = 6.1
"""How wide a letter is, about."""
_SHARES = [(x, f"{100 * x:g} %") for x in (0.0, 0.25, 0.5, 0.75, 1.0)]


@dataclass(frozen=True)
class ChartAxes:
    """A frame: where data lie on the page. Both axes are linear; a caller takes logarithms."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float = 340.0
    height: float = 320.0
    left: float = 58.0
    right: float = 22.0
    top: float = 12.0
    bottom: float = 46.0

    def across(self, x: float) -> float:
        share = (self._kept(x, self.x) - self.x[0]) / (self.x[1] - self.x[0])
        return self.left + share * (self.width - self.left - self.right)

    def up(self, y: float) -> float:
        share = (self._kept(y, self.y) - self.y[0]) / (self.y[1] - self.y[0])
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def _kept(self, place: float, ends: tuple[float, float]) -> float:
        return min(max(place, ends[0]), ends[1])

    def path(self, xs: Array, ys: Array) -> str:
        """The line through the points that lie in the frame."""
        pieces = []
        points = zip(xs.tolist(), ys.tolist(), strict=True)
        for inside, run in groupby(points, key=lambda point: math.isfinite(point[1])):
            if inside:
                pieces.append("M" + "L".join(f"{self.across(x):.1f} {self.up(y):.1f}" for x, y in run))
        return "".join(pieces)

    def frame(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        names: tuple[str, str],
        *,
        upright: bool = False,
    ) -> str:
        """Lines, what stands at them and the names of both axes; `upright` turns what stands below."""
        right, bottom = self.width - self.right, self.height - self.bottom
        middle_x, middle_y = (self.left + right) / 2, (self.top + bottom) / 2
        body = ""
        for x, label in x_ticks:
            at = f"{self.across(x):.1f}"
            body += f'<line class="grid" x1="{at}" y1="{self.top:g}" x2="{at}" y2="{bottom:g}"/>'
            place = f'x="{at}" y="{bottom + 15:g}" text-anchor="middle"'
            if upright:
                place = f'transform="translate({at} {bottom + 6:g}) rotate(-90)" dy="0.35em"'
                place += ' text-anchor="end"'
            body += f"<text {place}>{escape(label)}</text>"
        for y, label in y_ticks:
            at = f"{self.up(y):.1f}"
            body += f'<line class="grid" x1="{self.left:g}" y1="{at}" x2="{right:g}" y2="{at}"/>'
            place = f'x="{self.left - 6:g}" y="{at}" dy="0.35em"'
            body += f'<text {place} text-anchor="end">{escape(label)}</text>'
        place = f'x="{middle_x:g}" y="{self.height - 10:g}"'
        body += f'<text class="name" {place} text-anchor="middle">{escape(names[0])}</text>'
        turned = f'transform="translate(13 {middle_y:g}) rotate(-90)"'
        return body + f'<text class="name" text-anchor="middle" {turned}>{escape(names[1])}</text>'

    def label(
        self, x: float, y: float, text: str, anchor: str = "start", dx: float = 6, dy: float = -7
    ) -> str:
        return (
            f'<text class="mark" x="{self.across(x) + dx:.1f}" y="{self.up(y) + dy:.1f}"'
            f' text-anchor="{anchor}">{escape(text)}</text>'
        )

    def dot(self, x: float, y: float) -> str:
        return f'<circle class="dot" cx="{self.across(x):.1f}" cy="{self.up(y):.1f}" r="3.5"/>'


def belief_chart(subject: "Subject") -> str:
    """What an observer may believe afterwards, against what was believed before."""
    prior = np.linspace(0.0, 1.0, 101)
    after = subject.guarantee.posterior(prior, beyond=subject.delta)
    low, high = np.asarray(after.low), np.asarray(after.high)
    axes = ChartAxes((0.0, 1.0), (0.0, 1.0))
    band = axes.path(np.concatenate((prior, prior[::-1])), np.concatenate((high, low[::-1])))
    half = float(high[50])
    at_half = f"50 % → {rounded_up(100 * half, 3)} % at most" if half < 0.9999 else "50 % → certainty"
    but = f", except with a probability of {short(subject.delta)}" if subject.delta else ""
    description = f"Beliefs move within the shaded band around the diagonal{but}. {at_half}."
    body = (
        axes.frame(_SHARES, _SHARES, ("belief before the release", "belief after"))
        + f'<path class="band" d="{band}Z"/><path class="plain" d="{axes.path(prior, prior)}"/>'
        + f'<path class="main" d="{axes.path(prior, high)}"/><path class="main" d="{axes.path(prior, low)}"/>'
        + axes.dot(0.5, half)
        + axes.label(0.5, half, at_half, *(("end", -9, -4) if half < 0.85 else ("start", -6, 19)))
    )
    return chart("belief", "What someone may come to believe", description, body)


def tradeoff_chart(subject: "Subject") -> str:
    """The errors that every test must make."""
    guarantee = subject.guarantee
    fpr = np.linspace(0.0, 1.0, 101) ** 1.5
    axes, at = ChartAxes((0.0, 1.0), (0.0, 1.0)), 0.05
    fnr, missed = guarantee.tradeoff(fpr), guarantee.tradeoff(at)
    member = guarantee.adjacency is Adjacency.ADD_REMOVE
    names = (
        "false alarms" + (" (said to be there, was not)" if member else ""),
        "misses" + (" (was there, not found)" if member else ""),
    )
    mark = f"5 % false alarms: misses {math.floor(1000 * missed) / 10:g} %"
    low = missed < 0.12
    body = (
        axes.frame(_SHARES, _SHARES, names)
        + f'<path class="plain" d="{axes.path(fpr, 1 - fpr)}"/><path class="main" d="{axes.path(fpr, fnr)}"/>'
        + axes.dot(at, missed)
        + axes.label(at, missed, mark, dx=8, dy=-8 if low else -1)
    )
    description = f"No test gets below the curve. {mark} at least. The diagonal is guessing blindly."
    return chart("tradeoff", "The errors that every test must make", description, body)


def profile_chart(subject: "Subject") -> str:
    """δ against ε, on a logarithmic scale."""
    grid, delta, floor = profile_points(subject)
    with np.errstate(divide="ignore"):
        logs = np.where(delta > 1e-300, np.log10(delta), -np.inf)
    reach, bottom = float(grid[-1]), math.log10(floor)
    axes = ChartAxes((0.0, reach), (bottom, 0.0))
    step = max(1, math.ceil(-bottom / 6))
    y_ticks = [(float(-k), "1" if k == 0 else f"1e-{k}") for k in range(0, int(-bottom) + 1, step)]
    body = axes.frame([(x, f"{x:g}") for x in round_ticks(reach)], y_ticks, ("ε", "δ"))
    shown = np.where(logs >= bottom, logs, np.nan)
    body += f'<path class="main" d="{axes.path(grid, shown)}"/>'
    description = "The smaller δ is chosen, the larger ε becomes."
    epsilon = subject.guarantee.epsilon(subject.delta)
    if subject.delta > 0 and epsilon <= reach:
        level = math.log10(subject.delta)
        text = f"ε = {rounded_up(epsilon, 4)} at δ = {short(subject.delta)}"
        beyond = epsilon > 0.5 * reach
        body += axes.dot(epsilon, level)
        body += axes.label(
            epsilon, level, text, "end" if beyond else "start", -8 if beyond else 8, 14 if beyond else -7
        )
        description = f"{text}. {description}"
    return chart("profile", "The δ that goes with each ε", description, body)


def round_ticks(high: float, low: float = 0.0, most: int = 4) -> list[float]:
    """Round numbers from `low` to `high`, about so many."""
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(k * unit for k in (1, 2, 2.5, 5, 10) if k * unit >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def width_of(text: str) -> float:
    """How wide a text of a chart is, about; rather too wide."""
    return _LETTER * len(text)


def chart(name: str, title: str, description: str, body: str, axes: ChartAxes | None = None) -> str:
    """A figure; without axes, of the usual size."""
    width, height = (340.0, 320.0) if axes is None else (axes.width, axes.height)
    size = f'width="{1.25 * width:g}" viewBox="0 0 {width:g} {height:g}"'
    return (
        f'<figure><svg {size} role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escape(title)}</title>'
        f'<desc id="{name}-d">{escape(description)}</desc>{body}</svg>'
        f"<figcaption><strong>{escape(title)}.</strong> {escape(description)}</figcaption></figure>"
    )
