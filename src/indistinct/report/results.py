"""Pictures of released counts: bars with the range that their noise leaves open."""

from collections.abc import Sequence

from indistinct.report.svg import _Axes, _chart, _round_ticks

_MOST_LABELS = 8


def counts_chart(
    name: str,
    column: str,
    values: Sequence[float],
    errors: Sequence[float],
    *,
    ends: tuple[float, float] | None = None,
    labels: Sequence[str] = (),
) -> str:
    """Bars over equal intervals between two `ends`, or over `labels`; each with two standard errors."""
    size = len(values)
    reach = [value + 2 * error for value, error in zip(values, errors, strict=True)]
    low = min(0.0, *(value - 2 * error for value, error in zip(values, errors, strict=True)))
    high = max(*reach, 1e-9)
    axes = _Axes((0.0, float(size)), (low, high))
    if ends is not None:
        x_ticks = [(size * k / 4, f"{ends[0] + (ends[1] - ends[0]) * k / 4:.4g}") for k in range(5)]
    else:
        every = -(-size // _MOST_LABELS)
        x_ticks = [(place + 0.5, labels[place][:10]) for place in range(0, size, every)]
    y_ticks = [(y, f"{y:,.4g}" if abs(y) < 1e4 else f"{y:,.0f}") for y in _round_ticks(high)]
    body = axes.frame(x_ticks, y_ticks, (column, "records"))
    gap = 0.1 if size <= 60 else 0.0
    for place, (value, error) in enumerate(zip(values, errors, strict=True)):
        left, right = axes.across(place + gap), axes.across(place + 1 - gap)
        top, bottom = sorted((axes.up(value), axes.up(0.0)))
        middle = (left + right) / 2
        body += f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}"'
        body += f' height="{bottom - top:.1f}"/>'
        body += f'<path class="main" d="M{left:.1f} {axes.up(value):.1f}H{right:.1f}"/>'
        up, down = axes.up(value + 2 * error), axes.up(value - 2 * error)
        body += f'<path class="plain" d="M{middle:.1f} {up:.1f}V{down:.1f}"/>'
    description = f"Counts by {column}, with noise; the dashed lines are two standard errors either way."
    return _chart(name, name, description, body)
