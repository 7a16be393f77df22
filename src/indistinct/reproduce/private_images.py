"""*Functional Rényi Differential Privacy for Generative Modeling* (Jiang, Sun and Yu 2023), Tables 1 and 3
and Figures 1 to 4: images by several methods, and what a network learns from them.

What a GPU measured is kept beside this file, with the day and the machine; `benchmarks/functional_renyi.py`
computes it again. The numbers of the paper are typed in, for they are the claim.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np

from indistinct import Gaussian
from indistinct.report.text import rounded_up
from indistinct.reproduce.figure import Figure, FigureTable, Numbers, Panel, Printed
from indistinct.reproduce.functional_renyi import DELTA, TABLE_2

OURS, MERF, EACH = "one release (ours)", "DP-MERF", "a release in each step"
CONDITIONAL, PARALLEL = "published loop, conditional", "published loop, parallel"
METHODS = {OURS: True, MERF: True, EACH: True, CONDITIONAL: False, PARALLEL: False}
"""What was measured, and whether it is private."""
SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar10": "CIFAR-10"}
_SAVED = Path(__file__).with_name("functional_renyi.json")
_DISTANCE = "Fréchet distance of wavelet features (no FID)"
_NEAR = 2.0
"""Percentage points within which two accuracies agree: other runs, another training of the judge."""
_NOT_PRIVATE = "NOT PRIVATE"
_NO_CELEBA = "CelebA is to be had for research only and was not at hand: CIFAR-10, recompressed, stands in."

_Cells = tuple[float | None, ...]
_PAPER: dict[float, dict[str, _Cells]] = {
    1.0: {
        MERF: (118.3, 80.5, 104.2, 73.1, 219.4, 57.6),
        "GS-WGAN": (489.8, 14.3, 587.3, 16.6, 437.3, 62.9),
        "DP-HP": (None, 74.0, None, 67.0, None, None),
        "PEARL": (121.0, 78.2, 109.0, 68.3, None, None),
        "G-PATE": (153.4, 58.8, 214.8, 58.1, 293.2, 70.2),
        "DataLens": (186.1, 71.2, 195.0, 64.8, 297.7, 70.6),
        "DPDM": (23.4, 93.4, 37.8, 73.6, 71.0, None),
        CONDITIONAL: (29.5, 93.4, 49.5, 78.8, 81.8, 86.2),
        PARALLEL: (21.8, 95.5, 48.4, 80.0, 83.8, 87.0),
    },
    0.2: {
        MERF: (119.3, 75.2, 151.3, 67.4, 264.8, 52.7),
        "PEARL": (133.0, 77.6, 160.0, 68.0, None, None),
        "G-PATE": (None, 22.0, None, 18.0, None, None),
        "DataLens": (None, 23.4, None, 22.3, None, None),
        "DPDM": (61.9, 71.9, 78.4, 57.0, None, None),
        CONDITIONAL: (26.5, 91.3, 46.2, 78.4, 85.9, 84.3),
        PARALLEL: (37.3, 93.7, 65.4, 79.2, 95.8, 86.5),
    },
    10.0: {
        "DPDM": (5.0, 97.3, 18.6, 84.9, 21.1, None),
        "DP-CGAN": (179.2, 63.0, 243.8, 46.0, None, None),
        MERF: (121.4, 82.0, 110.4, 73.2, 211.1, 64.0),
        "PEARL": (116.0, 78.8, 102.0, 64.9, None, None),
        "G-PATE": (150.6, 80.9, 171.9, 69.3, 305.9, 70.7),
        "DataLens": (173.5, 80.7, 167.7, 70.6, 320.8, 72.9),
        "GS-WGAN": (61.3, 80.0, 131.3, 65.0, 432.5, 63.3),
        "DP-Sinkhorn": (55.6, 79.1, 129.4, 68.9, None, None),
        CONDITIONAL: (29.9, 93.1, 56.3, 79.2, 77.2, 85.8),
        PARALLEL: (17.7, 96.4, 38.1, 82.0, 78.5, 87.4),
    },
}
"""Tables 1 and 3, by ε: FID and accuracy in % of MNIST, Fashion-MNIST and CelebA."""


@final
@dataclass(frozen=True)
class MeasuredImages:
    """One method on one set of images: accuracies in %, of several trainings of the judge, and the Fréchet
    distance of wavelet features to test images."""

    method: str
    set: str
    epsilon: float
    accuracy: tuple[float, ...]
    distance: float | None
    steps: int
    seconds: float
    on: str
    day: str
    remark: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracy))

    @property
    def score(self) -> str:
        """Such as 95.5 ± 0.6."""
        if len(self.accuracy) == 1:
            return f"{self.mean:.1f} (one run)"
        return f"{self.mean:.1f} ± {np.std(self.accuracy, ddof=1):.1f}"

    @property
    def gap(self) -> str:
        return "-" if self.distance is None else f"{self.distance:.3g}"

    @property
    def measured(self) -> str:
        """When and on what."""
        return f"measured {self.day} on {self.on}{self.remark and f' {self.remark}'}"


@cache
def measured() -> dict[tuple[str, str, float], MeasuredImages]:
    """What was saved, by method, set and ε."""
    rows: list[dict[str, Any]] = json.loads(_SAVED.read_text(encoding="utf-8"))["results"]
    found = [MeasuredImages(**{**row, "accuracy": tuple(row["accuracy"])}) for row in rows]
    return {(one.method, one.set, one.epsilon): one for one in found}


@cache
def samples() -> dict[str, Numbers]:
    """Images [classes, two, channels, 32, 32] in sixteen steps of grey, by method, set and ε."""
    with np.load(_SAVED.with_suffix(".npz")) as saved:
        return {name: saved[name] for name in saved.files}


def table_1() -> Figure:
    """ε of 1 and 0.2."""
    return _table((1.0, 0.2))


def table_3() -> Figure:
    """ε of 10."""
    return _table((10.0,))


def figure_1() -> Figure:
    """MNIST and Fashion-MNIST, ε of 1."""
    return _samples((1.0,), ("mnist", "fashion"))


def figure_2() -> Figure:
    """MNIST and Fashion-MNIST, ε of 0.2."""
    return _samples((0.2,), ("mnist", "fashion"))


def figure_3() -> Figure:
    """Colour: CIFAR-10 in place of CelebA, ε of 1 and 0.2."""
    return _samples((1.0, 0.2), ("cifar10",))


def figure_4() -> Figure:
    """MNIST and Fashion-MNIST, ε of 10."""
    return _samples((10.0,), ("mnist", "fashion"))


def _said(row: _Cells, place: int) -> str:
    return "-" if row[place] is None else f"{row[place]:g}"


def _table(epsilons: tuple[float, ...]) -> Figure:
    """What the paper prints beside what was measured: first what was run, then what the paper cites."""
    found, rows, claims = measured(), [], []
    for epsilon in epsilons:
        paper = _PAPER[epsilon]
        for method in [*METHODS, *(name for name in paper if name not in METHODS)]:
            said, cells = paper.get(method, (None,) * 6), []
            for place, name in enumerate(SETS):
                ours = found.get((method, name, epsilon))
                of_paper = [_said(said, 2 * place + 1), _said(said, 2 * place)]
                cells += [*of_paper, ours.score if ours else "-", ours.gap if ours else "-"]
                if ours and name != "cifar10" and (stated := said[2 * place + 1]) is not None:
                    where = f"{SETS[name]} at ε = {epsilon:g}"
                    claims.append(
                        Printed(
                            f"{method}: {stated:g} % for {where}",
                            f"{ours.score} %",
                            abs(ours.mean - stated) <= _NEAR,
                            f"{_status(method, epsilon, ours.steps)}; {ours.measured}",
                        )
                    )
            steps = next((one.steps for key, one in found.items() if key[0] == method), None)
            status = "cited by the paper" if steps is None else _status(method, epsilon, steps)
            rows.append((epsilon, method, status, *cells))
        if epsilon < 10:  # there Table 3 has DPDM ahead
            claims += [_ahead(epsilon, name) for name in ("mnist", "fashion")]
    columns = ["ε", "method", "private"]
    for name, title in SETS.items():
        paper_set = "CelebA" if name == "cifar10" else title
        columns += [f"paper: {paper_set}, accuracy %", f"paper: {paper_set}, FID"]
        columns += [f"measured: {title}, accuracy %", f"measured: {title}, {_DISTANCE}"]
    return Figure(table=FigureTable(tuple(columns), tuple(rows)), claims=tuple(claims), note=_provenance())


def _status(method: str, epsilon: float, steps: int) -> str:
    """Whether it is private; of what takes Table 2's steps, how many of them, and the ε of those."""
    row = next(
        row
        for row in TABLE_2
        if row.target == epsilon and (row.variant == "parallel") is (method == PARALLEL)
    )
    if not METHODS[method]:
        return f"{_NOT_PRIVATE} ({steps} of {row.steps} steps)"
    if method != EACH:
        return "private"
    spent = (steps * Gaussian(row.noise).subsample(row.rate)).guarantee().epsilon(DELTA)
    return f"private, ε = {rounded_up(spent, 3)} ({steps} of {row.steps} steps)"


def _ahead(epsilon: float, name: str) -> Printed:
    """That the paper's method is the best, against what is private."""
    found = measured()
    best = max((found[method, name, epsilon] for method in (CONDITIONAL, PARALLEL)), key=lambda one: one.mean)
    ours = found[OURS, name, epsilon]
    return Printed(
        f"DP-kernel is the most accurate for {SETS[name]} at ε = {epsilon:g}",
        f"its loop {best.score} %, one release {ours.score} %",
        best.mean > ours.mean,
        f"the loop is {_NOT_PRIVATE}, one release is",
    )


def _samples(epsilons: tuple[float, ...], names: tuple[str, ...]) -> Figure:
    """Two images of each class by every method that was run."""
    found, panels, rows, claims = measured(), [], [], []
    columns = [(epsilon, name) for epsilon in epsilons for name in names]
    methods = [method for method in METHODS if any((method, n, e) in found for e, n in columns)]
    for method in methods:
        for epsilon, name in columns:
            one = found.get((method, name, epsilon))
            if one is None:
                panels.append(Panel(f"{method}: not run", picture=np.full((2 * 34, 10 * 34), 255)))
                continue
            private = METHODS[method]
            where = SETS[name] if len(epsilons) == 1 else f"{SETS[name]}, ε = {epsilon:g}"
            words = method if private else f"{method}, {_NOT_PRIVATE}"
            title = f"{where}: {words}: {one.mean:.1f} %"
            panels.append(Panel(title, picture=_sheet(samples()[f"{method}|{name}|{epsilon}"])))
            status = _status(method, epsilon, one.steps)
            rows.append((method, status, SETS[name], epsilon, one.score, one.gap, one.seconds))
        claims += [_better(method, epsilon, name) for epsilon, name in columns if method == PARALLEL]
    if names == ("cifar10",):
        claims.append(_in_colour())
    head = ("method", "private", "set", "ε", "accuracy %", _DISTANCE, "seconds")
    return Figure(
        tuple(panels),
        tuple(claims),
        FigureTable(head, tuple(rows)),
        rows=len(methods),
        note=_provenance(),
    )


def _better(method: str, epsilon: float, name: str) -> Printed:
    """That the images of the paper's method are better than those of the other kernel method."""
    loop, merf, ours = (measured()[which, name, epsilon] for which in (method, MERF, OURS))
    assert loop.distance is not None and merf.distance is not None
    return Printed(
        f"{SETS[name]}, ε = {epsilon:g}: DP-kernel's images are better than DP-MERF's",
        f"Fréchet distance of wavelet features {loop.gap} against {merf.gap}",
        loop.distance < merf.distance,
        f"the loop is {_NOT_PRIVATE}; one release has {ours.gap}",
    )


def _in_colour() -> Printed:
    merf, ours = (measured()[method, "cifar10", 1.0] for method in (MERF, OURS))
    said = (_PAPER[1.0][method][5] for method in (MERF, PARALLEL))
    return Printed(
        "in colour DP-MERF is far behind: CelebA, ε = 1, {} against {} %".format(*said),
        f"CIFAR-10: {merf.score} against {ours.score}, one release",
        ours.mean > 1.5 * merf.mean,
        f"the published loop, {_NOT_PRIVATE}, was not run in colour; ours {ours.measured}",
    )


def _sheet(images: Numbers) -> Numbers:
    """Images [classes, two, channels, side, side], a column for each class."""
    framed = np.pad(images, ((0, 0), (0, 0), (0, 0), (1, 1), (1, 1)), constant_values=255)
    classes, each, channels, side, _ = framed.shape
    sheet = framed.transpose(1, 3, 0, 4, 2).reshape(each * side, classes * side, channels)
    return sheet[..., 0] if channels == 1 else sheet


def _provenance() -> str:
    """When and on what it was computed."""
    every = sorted({one.measured for one in measured().values() if not one.remark})
    return (
        f"By benchmarks/functional_renyi.py, {'; '.join(every)}; δ = 10⁻⁵, one seed of noise. Accuracy: the "
        "network of appendix C, trained on what is generated, tested on real images. Our release is of "
        f"wavelets too, so their distance favours it. {_NO_CELEBA}"
    )
