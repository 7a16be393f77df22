"""A private heat map of places: one release, and anyone may zoom in anywhere. Writes out/private_map.png."""

import csv
from pathlib import Path

import numpy as np

from indistinct import Budget
from indistinct.data import Numbers
from indistinct.functions import release_density

houses = Path(__file__).parents[2] / "shared" / "data" / "points" / "california_housing.csv"
if houses.exists():  # centres of the blocks of the 1990 census in California
    with houses.open() as file:
        rows = [(float(row["longitude"]), float(row["latitude"])) for row in csv.DictReader(file)]
    places = np.array(rows)
else:  # the like: two large cities, a valley between them
    draw = np.random.default_rng(0)
    which = draw.random(20_000)[:, None]
    valley = np.array([-121.8, 38.8]) + draw.random((20_000, 1)) * [3.0, -3.5]
    south = draw.normal((-118.2, 34.0), 0.35, (20_000, 2))
    north = draw.normal((-122.1, 37.6), 0.3, (20_000, 2))
    places = np.where(which < 0.45, south, np.where(which < 0.75, north, draw.normal(valley, 0.25)))

box = {"longitude": Numbers(-125, -114), "latitude": Numbers(32, 42)}
data = {"longitude": places[:, 0], "latitude": places[:, 1]}
density = release_density(data, box, Budget(epsilon=1, delta=1e-6))

# The truth, to compare with: it is not private, and would not be published.
counts, west, south_edge = np.histogram2d(
    places[:, 0], places[:, 1], bins=60, range=[(-125, -114), (32, 42)], density=True
)


def histogram(points):
    column = np.clip(np.searchsorted(west, points[:, 0], side="right") - 1, 0, 59)
    row = np.clip(np.searchsorted(south_edge, points[:, 1], side="right") - 1, 0, 59)
    return counts[column, row]


Path("out").mkdir(exist_ok=True)
density.plot("out/private_map.png", truth=histogram)
angeles = [-118.7, 33.6], [-117.6, 34.4]
share = ((places >= angeles[0]) & (places <= angeles[1])).all(axis=1).mean()
epsilon = density.guarantee().epsilon(delta=1e-6)
print(f"epsilon {epsilon:.2f} at delta 1e-6, about {density.records:.0f} places; map in out/private_map.png")
print(f"around Los Angeles: {density.probability(*angeles):.1%} (the truth, not private: {share:.1%})")
