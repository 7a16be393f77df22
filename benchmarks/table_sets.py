"""Five tables of records in declared cells, for benchmarks of synthetic tables.

Every column becomes places in a list of cells that is written down here (those of categories are their
values, which are public), so that all methods see the same integers. Edges were declared by someone who knows
what the columns are about, not by quantiles of the records.
A fifth of the records is set aside for testing (Adult has its own test records).
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.data import Categories, Intervals
from indistinct.synthesis.tables import TableSynthesizer

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coded:
    """Records as places in cells [records, columns]; the label is the last column."""

    name: str
    sizes: dict[str, int]
    ordered: frozenset[str]
    train: Codes
    test: Codes

    @property
    def design(self) -> TableSynthesizer:
        *_, label = self.sizes
        domains = {
            name: Intervals([*range(size), size - 0.5], whole=True)
            if name in self.ordered
            else Categories(range(size))
            for name, size in self.sizes.items()
        }
        return TableSynthesizer(domains, label=label)

    def columns(self, codes: Codes) -> dict[str, Codes]:
        return dict(zip(self.sizes, codes.T, strict=True))

    def held_out(self, share: float, seed: int) -> "Coded":
        """The same with a part of the training records to test on: to choose settings."""
        order = np.random.default_rng(seed).permutation(len(self.train))
        cut = int(share * len(order))
        parts = self.train[order[cut:]], self.train[order[:cut]]
        return Coded(f"{self.name}, held out", self.sizes, self.ordered, *parts)


Edges = dict[str, list[float]]
ADULT: Edges = {
    "age": [17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56, 60, 65, 70],
    "fnlwgt": [10_000, 60_000, 100_000, 140_000, 180_000, 220_000, 280_000, 360_000],
    "capital-gain": [0, 1, 2000, 3500, 5000, 7000, 10_000, 15_000, 30_000, 99_999],
    "capital-loss": [0, 1, 1200, 1500, 1700, 1900, 2100, 2500],
    "hours-per-week": [1, 15, 25, 33, 38, 40, 41, 45, 50, 55, 60],
}
CALIFORNIA: Edges = {
    "longitude": [-125 + 0.5 * at for at in range(1, 21)],
    "latitude": [32.5 + 0.5 * at for at in range(19)],
    "housing_median_age": [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 52],
    "total_rooms": [0, 500, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 7000, 10_000],
    "total_bedrooms": [0, 100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000],
    "population": [0, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 3500, 5000],
    "households": [0, 100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000],
    "median_income": [0, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 10, 15],
    "median_house_value": [0, 180_000],
}
RANDHIE: Edges = {
    "lncoins": [0, 1, 3.3, 3.6, 4],
    "lpi": [0, 1, 5, 5.5, 6, 6.25, 6.5, 6.75, 7],
    "fmde": [0, 1, 5, 5.5, 6, 6.25, 6.5, 6.75, 7, 7.5, 8],
    "physlm": [0, 0.001, 0.999],
    "disea": [0, 2, 4, 6, 8, 10, 12, 14, 16, 20, 25, 30],
    "mdvis": [0, 1],
}
FAIR: Edges = {
    "age": [17, 20, 25, 30, 35, 40],
    "yrs_married": [0, 1, 5, 8, 12, 15, 20],
    "children": [0, 1, 2, 3, 4, 5],
    "educ": [9, 12, 14, 16, 17, 20],
    "affairs": [0, 1e-9],
}
PUMS: Edges = {
    "age": [18, 25, 30, 35, 40, 45, 50, 55, 60, 65, 75],
    "income": [0, 1, 5000, 10_000, 20_000, 30_000, 40_000, 60_000, 80_000, 120_000],
}


def _coded(
    name: str, columns: dict[str, Any], edges: Edges, label: str, records: int | None = None, seed: int = 0
) -> Coded:
    """Numbers with edges by their cells, all others by their place among `columns`' listed values."""
    places, sizes = {}, {}
    for column, values in columns.items():
        if column in edges:
            places[column] = np.maximum(np.searchsorted(edges[column], values, side="right") - 1, 0)
            sizes[column] = len(edges[column])
        else:
            listed, places[column] = np.unique(values, return_inverse=True)
            sizes[column] = len(listed)
    order = [*(column for column in columns if column != label), label]
    codes = np.stack([places[column] for column in order], axis=1).astype(np.int64)
    if records is None:
        codes = codes[np.random.default_rng(seed).permutation(len(codes))]
        records = len(codes) * 4 // 5
    sizes = {column: sizes[column] for column in order}
    ordered = frozenset(set(edges) - {label})
    return Coded(name, sizes, ordered, codes[:records], codes[records:])


def _rows(path: Path, **options: Any) -> list[list[str]]:
    with open(path, newline="") as lines:
        return [row for row in csv.reader(lines, **options) if row]


def adult() -> Coded:
    words = (DATA / "adult" / "adult.names").read_text().splitlines()
    names = [line.split(": ")[0] for line in words if ": " in line and not line.startswith("|")]
    parts = [_rows(DATA / "adult" / file, skipinitialspace=True) for file in ("adult.data", "adult.test")]
    rows = [[row for row in part if len(row) == 15] for part in parts]
    texts = dict(zip([*names, "income"], zip(*rows[0], *rows[1], strict=True), strict=True))
    del texts["education-num"]  # follows from education
    columns = {
        name: np.array(own, dtype=np.float64) if name in ADULT else np.char.rstrip(np.array(own), ".")
        for name, own in texts.items()
    }
    return _coded("Adult", columns, ADULT, "income", len(rows[0]))


def california() -> Coded:
    names, *rows = _rows(DATA / "points" / "california_housing.csv")
    texts = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns = {
        name: np.array([value or "0" for value in own], dtype=np.float64) if name in CALIFORNIA else own
        for name, own in texts.items()
    }
    return _coded("California", columns, CALIFORNIA, "median_house_value")


def randhie() -> Coded:
    return _coded("randhie", _packaged("randhie"), RANDHIE, "mdvis")


def fair() -> Coded:
    return _coded("fair", _packaged("fair"), FAIR, "affairs")


def pums() -> Coded:
    names, *rows = _rows(DATA / "PUMS.csv")
    numbers = np.array(rows, dtype=np.float64)
    return _coded("PUMS", dict(zip(names, numbers.T, strict=True)), PUMS, "married")


def _packaged(name: str) -> dict[str, Any]:
    import statsmodels.api  # type: ignore[import-untyped,unused-ignore]

    frame = getattr(statsmodels.api.datasets, name).load_pandas().data
    return {column: frame[column].to_numpy() for column in frame}


SETS = {"Adult": adult, "California": california, "randhie": randhie, "fair": fair, "PUMS": pums}
