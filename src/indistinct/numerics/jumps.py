"""The lattice engine where one rare, large loss decides: tiny rates, few steps, tiny delta.

There the loss is heavy-tailed, no tilt helps, and the rounding noise of a transform of the whole law hides
the small probabilities. So each law is split at a threshold into bulk and jumps, and the composition is
sorted by the number of jumps: none (the bulk is bounded and can be tilted), then one to four; more are
charged to an infinite loss. Bulk and jumps are transformed on their own scales and keep their own relative
accuracy.
"""

import math
from collections.abc import Sequence

import numpy as np

from indistinct.numerics.arrays import EPS, TINY, Array, ComplexArray
from indistinct.numerics.contour import Aim
from indistinct.numerics.cumulant import log1p
from indistinct.numerics.lattice import MAX_CELLS, LatticeLaw, LatticeTail

_SHARE = 0.6
"""The threshold, as a share of epsilon: two jumps exceed epsilon, and the bulk needs two to reach it."""
_MOST_JUMPS = 4


def convolve_jumps(
    laws: Sequence[tuple[LatticeLaw, int]], step: float, aim: Aim, log_level: float
) -> LatticeTail | None:
    """The tail near the aim's epsilon; None where more jumps are not negligible."""
    threshold = math.floor(_SHARE * aim.epsilon / step)
    bulks = [(_part(law, threshold, above=False), count) for law, count in laws]
    jumps = [(_part(law, threshold, above=True), count) for law, count in laws]
    expected = sum(count * float(law.mass.sum()) for law, count in jumps)
    # the chance of more jumps is at most the expected number of such sets of steps
    log_more = (_MOST_JUMPS + 1) * math.log(max(expected, TINY)) - math.lgamma(_MOST_JUMPS + 2)
    if threshold <= 0 or expected == 0 or log_more > log_level + 9.0:
        return None
    infinite = sum(count * law.infinite for law, count in laws) + math.exp(log_more)
    highest = max(law.first + law.mass.size for law, _ in laws)
    cells = 1 << math.ceil(math.log2(2.2 * highest + 64))
    if cells > MAX_CELLS // 2:
        return None
    bottom = -(cells // 32)
    points: Array = step * (bottom + np.arange(cells, dtype=np.float64))

    # the transform of the composition as a polynomial whose m-th coefficient is that of m jumps
    by_jumps: list[ComplexArray] = [np.ones(cells // 2 + 1, dtype=np.complex128)]
    shift = 0
    for (bulk, count), (jump, _) in zip(bulks, jumps, strict=True):
        log_bulk, pivot = _log_transform(bulk, cells)
        spectrum = _transform(jump, cells, pivot)
        powers = [
            math.comb(count, m) * spectrum**m * np.exp((count - m) * log_bulk)
            for m in range(min(count, _MOST_JUMPS) + 1)
        ]
        by_jumps = [
            np.sum(
                [by_jumps[k] * powers[m - k] for k in range(len(by_jumps)) if 0 <= m - k < len(powers)],
                axis=0,
            )
            for m in range(min(len(by_jumps) + len(powers) - 1, _MOST_JUMPS + 1))
        ]
        shift += count * pivot
    some = _window(np.sum(by_jumps[1:], axis=0), cells, shift, bottom)
    none, log_missed = _bulk_window(bulks, step, aim.epsilon, cells, bottom, log_level)
    weights = none + some
    # rounding of the transforms, on the scale of the jumps; a reading weighs cells by at most 1 - e^{-u}
    size = math.sqrt(float(np.square(some).sum()))
    reach = min(1.0, float(points[-1] - aim.epsilon))
    moved = sum(count * float(law.mass.sum() - law.mass.max()) for law, count in bulks)
    noise = 16 * EPS * math.log2(cells) * (1 + moved) * size * reach
    unit = float(weights[points >= aim.epsilon].max(initial=0.0))
    if unit <= 0:
        return None
    infinite += math.exp(max(log_missed, -745.0))
    first = max(0, math.floor(0.9 * aim.epsilon / step) - bottom)
    # the threshold belongs to this epsilon: nothing is claimed far below it
    return LatticeTail(
        points[first:],
        weights[first:] / unit,
        math.log(unit),
        math.log(max(noise, TINY)),
        0.0,  # this noise is not tilted: it is the same at every epsilon
        aim,
        min(infinite, 1.0),
        exact=False,
        aliases=False,
    )


def _part(law: LatticeLaw, threshold: int, *, above: bool) -> LatticeLaw:
    cut = min(max(threshold - law.first + 1, 0), law.mass.size)
    return (
        LatticeLaw(law.first + cut, law.mass[cut:], 0.0)
        if above
        else LatticeLaw(law.first, law.mass[:cut], 0.0)
    )


def _transform(law: LatticeLaw, cells: int, pivot: int) -> ComplexArray:
    """The transform of the masses, with `pivot` as the origin."""
    index = (law.first - pivot + np.arange(law.mass.size)) % cells
    spectrum: ComplexArray = np.fft.rfft(np.bincount(index, weights=law.mass, minlength=cells))
    return spectrum


def _log_transform(law: LatticeLaw, cells: int) -> tuple[ComplexArray, int]:
    """The logarithm of the transform about the heaviest point, and that point."""
    heaviest = int(np.argmax(law.mass))
    away = law.mass.copy()
    away[heaviest] = 0.0
    total = float(law.mass.sum())
    moved = _transform(LatticeLaw(law.first, away, 0.0), cells, law.first + heaviest) - away.sum()
    return log1p(moved / total) + math.log(total), law.first + heaviest


def _window(spectrum: ComplexArray, cells: int, shift: int, bottom: int) -> Array:
    window: Array = np.roll(np.fft.irfft(spectrum, cells), (shift - bottom) % cells)
    return window


def _bulk_window(
    bulks: Sequence[tuple[LatticeLaw, int]],
    step: float,
    epsilon: float,
    cells: int,
    bottom: int,
    log_level: float,
) -> tuple[Array, float]:
    """No jump at all: the bulk alone, tilted to reach epsilon; or a bound where that is negligible."""
    places = [(step * (law.first + np.arange(law.mass.size)), law.mass, count) for law, count in bulks]
    tilts = np.geomspace(1.0, 1e5, 60) / epsilon

    def log_size(tilt: float) -> float:
        total = -tilt * epsilon
        for loss, mass, count in places:
            top = float(loss[-1])
            total += count * (math.log(float((mass * np.exp(tilt * (loss - top))).sum()) + TINY) + tilt * top)
        return total

    sizes = np.array([log_size(float(tilt)) for tilt in tilts])
    tilt, size = float(tilts[sizes.argmin()]), float(sizes.min())
    if size <= log_level:
        return np.zeros(cells), size
    total, shift, log_moment = np.zeros(cells // 2 + 1, dtype=np.complex128), 0, 0.0
    for (law, count), (loss, mass, _) in zip(bulks, places, strict=True):
        tilted = mass * np.exp(tilt * (loss - loss[-1]))
        log_moment += count * (math.log(float(tilted.sum())) + tilt * float(loss[-1]))
        log_bulk, pivot = _log_transform(LatticeLaw(law.first, tilted / tilted.sum(), 0.0), cells)
        total += count * log_bulk
        shift += count * pivot
    window = _window(np.exp(total), cells, shift, bottom)
    points = step * (bottom + np.arange(cells))
    keep = points >= 0.9 * epsilon
    untilted = np.zeros(cells)
    untilted[keep] = window[keep] * np.exp(log_moment - tilt * points[keep])
    # rounding noise of this part, untilted at epsilon
    noise = 64 * EPS * math.log2(cells) * math.exp(log_moment - tilt * epsilon) / max(tilt * step, 1e-300)
    return untilted, math.log(noise)
