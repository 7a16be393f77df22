"""Eight densities that are hard in different ways, from 1,000 to 1,000,000 records.

    .venv/bin/python benchmarks/density_eight.py [folder with earthquakes-23k.csv] [--only ring,hole]

Does the error fall, and is a noisy histogram ever better? The histogram has Laplace noise for the same
epsilon, negative counts are clipped, and its bins are the number that turns out best, as in `density.py`.
Errors are means of |estimate - truth| over the box; records and noise are drawn anew from the operating
system. A line says PASS if the error falls from each number of records to the next, if from 10,000 records on
the histogram's error is at least .95 of ours, and if the mass is one within a millionth. The earthquakes are
a mixture of hills, one for each quake and as wide as its twelfth neighbour is far, so that there is a truth,
and more records than quakes.

Threshold and price of edges were chosen on other densities (boxes, discs, stripes, a half, hills, needles,
balls). That the hole missed the bar was known before, and it was looked at once in between: a price that does
not grow with the number of cells came out worse there at n = 1,000,000, as it then did on the boxes. Blur and
weights were set by hand and never varied. Of the rule for the number of cells, power and 1.3 come from
`density.py`, whose ring and hills are among these; and that Pareto missed the bar (.76 at n = 10,000, epsilon
.2) was seen before the factor for a line was raised from 1.3 to 2, to a value that random densities with
jumps asked for.
"""

import argparse
import csv
import math
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process for each core

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from indistinct import Budget
from indistinct.data import Numbers
from indistinct.functions.density import release_density

Array = npt.NDArray[np.float64]
DELTA, BAR, MASS = 1e-5, 0.95, 1e-6
COUNTS, EPSILONS = (10**3, 10**4, 10**5, 10**6), (1.0, 0.2)
NODES = {1: 5760, 2: 512}
_ON_A_LINE = "1 2 3 4 6 8 11 16 23 32 40 50 64 80 100 128 160 200 256 320 400 512 640 800 1024 1440 2048 2880"
_IN_THE_PLANE = "1 2 3 4 5 6 7 8 10 12 14 16 18 20 23 26 29 32 36 40 46 52 58 64 72 80 92 104 128 160 192 256"
BINS = {1: [int(bins) for bins in _ON_A_LINE.split()], 2: [int(bins) for bins in _IN_THE_PLANE.split()]}
LINE = (np.arange(NODES[1]) + 0.5) / NODES[1]
X, Y = np.meshgrid(*[(np.arange(NODES[2]) + 0.5) / NODES[2]] * 2, indexing="ij")


def hill(middle: tuple[float, float], width: tuple[float, float]) -> Array:
    off = ((X - middle[0]) / width[0]) ** 2 + ((Y - middle[1]) / width[1]) ** 2
    result: Array = np.exp(-off / 2) / math.prod(width)
    return result


def moons() -> Array:
    turns = np.linspace(0, np.pi, 400)
    arcs = [(0.35, 0.45, 0.3), (0.65, 0.55, -0.3)]
    places = [(x + 0.22 * math.cos(t), y + up * math.sin(t)) for x, y, up in arcs for t in turns]
    return np.sum([hill(place, (0.03, 0.03)) for place in places], axis=0)


def spikes() -> Array:
    places = np.random.default_rng(40).uniform(0.05, 0.95, (40, 2))
    return np.sum([hill(tuple(place), (0.008, 0.008)) for place in places], axis=0)


def earthquakes(folder: Path) -> Array:
    with (folder / "earthquakes-23k.csv").open() as file:
        rows = [(float(row["Longitude"]), float(row["Latitude"])) for row in csv.DictReader(file)]
    places = np.array(rows) / [360, 180] + 0.5
    widths = np.maximum(KDTree(places).query(places, k=12)[0][:, -1], 0.002)
    total = np.zeros_like(X)
    for place, width in zip(places, widths, strict=True):
        ends = np.clip([(place - 4 * width) * NODES[2], (place + 4 * width) * NODES[2] + 2], 0, NODES[2])
        part = tuple(slice(int(low), int(high)) for low, high in ends.T)
        off = (X[part] - place[0]) ** 2 + (Y[part] - place[1]) ** 2
        total[part] += np.exp(-off / (2 * width**2)) / width**2
    return total


EIGHT: dict[str, Callable[[], Array]] = {
    "ring": lambda: np.exp(-(((np.hypot(X - 0.5, Y - 0.5) - 0.3) / 0.04) ** 2) / 2),
    "moons": moons,
    "spikes": spikes,
    "hole": lambda: 1.0 - (np.hypot(X - 0.5, Y - 0.5) < 0.25),
    "Cauchy": lambda: 1 / (1 + ((LINE - 0.5) * 50) ** 2),
    "Pareto": lambda: np.where(LINE * 50 >= 1, np.maximum(LINE * 50, 1) ** -2.5, 0.0),
    "hills": lambda: (
        0.35 * hill((0.3, 0.3), (0.06, 0.08))
        + 0.4 * hill((0.7, 0.6), (0.1, 0.05))
        + 0.25 * hill((0.4, 0.8), (0.04, 0.04))
    ),
}


@cache
def truth(name: str, folder: Path | None) -> Array:
    density = earthquakes(folder) if name == "earthquakes" and folder is not None else EIGHT[name]()
    return density / density.mean()


def histograms(cells: list[npt.NDArray[np.int64]], density: Array, epsilon: float) -> list[float]:
    """Errors for all numbers of bins and both ways to normalise; `cells`: of the nodes, for each record."""
    nodes, dimension, draw = density.shape[0], density.ndim, np.random.default_rng()
    found, records = [], len(cells[0])
    for bins in BINS[dimension]:
        bin_of = np.floor((np.arange(nodes) + 0.5) / nodes * bins).astype(np.int64)
        place = sum(bin_of[cell] * bins**axis for axis, cell in enumerate(reversed(cells)))
        exact = np.bincount(place, minlength=bins**dimension).reshape((bins,) * dimension)
        noisy = np.maximum(exact + draw.laplace(0, 1 / epsilon, exact.shape), 0)
        for total in (records, max(float(noisy.sum()), 1e-9)):
            heights = (noisy * bins**dimension / total)[np.ix_(*[bin_of] * dimension)]
            found.append(float(np.abs(heights - density).mean()))
    return found


def once(name: str, folder: Path | None, epsilon: float, count: int) -> tuple[list[float], float, float]:
    """Errors of the histograms and ours, and how far our mass is from one."""
    density, draw = truth(name, folder), np.random.default_rng()
    drawn = draw.multinomial(count, density.ravel() / density.sum())
    cells = list(np.unravel_index(np.repeat(np.arange(density.size), drawn), density.shape))
    data = {f"x{axis}": (cell + draw.random(count)) / density.shape[0] for axis, cell in enumerate(cells)}
    budget = Budget(epsilon=epsilon, delta=DELTA)
    own = release_density(data, {column: Numbers(0, 1) for column in data}, budget)
    error = float(np.abs(own.on_grid(density.shape[0]) - density).mean())
    # two middles in each cell: exact for what is linear there
    mass = float(own.on_grid(2 * own.share.shape[0]).mean())
    return histograms(cells, density, epsilon), error, abs(mass - 1)


def row(name: str, epsilon: float, found: list[list[tuple[list[float], float, float]]]) -> bool:
    errors = [float(np.mean([error for _, error, _ in runs])) for runs in found]
    best = [float(np.mean([each for each, _, _ in runs], axis=0).min()) for runs in found]
    ratios = [theirs / own for theirs, own in zip(best, errors, strict=True)]
    off = max(mass for runs in found for _, _, mass in runs)
    falls = all(later < earlier for earlier, later in pairwise(errors))
    level = all(ratio >= BAR for count, ratio in zip(COUNTS, ratios, strict=True) if count >= 10**4)
    good = falls and level and off <= MASS
    cells = "".join(f"{own:9.4f} ({ratio:4.2f})" for own, ratio in zip(errors, ratios, strict=True))
    print(f"{name:12}{epsilon:8}{cells}{off:10.1e}", "PASS" if good else "FAIL", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", default=",".join((*EIGHT, "earthquakes")))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name in EIGHT or options.folder]
    print(
        f"{'error (histogram / ours)':>20}"
        + "".join(f"{count:>16,}" for count in COUNTS)
        + f"{'mass off':>10}"
    )
    with ProcessPoolExecutor(options.workers) as pool:
        good = []
        for name in names:
            for epsilon in EPSILONS:
                run = partial(once, name, options.folder, epsilon)
                jobs = [[pool.submit(run, count) for _ in range(options.runs)] for count in COUNTS]
                good.append(row(name, epsilon, [[job.result() for job in several] for several in jobs]))
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
