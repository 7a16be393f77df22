"""Logistic regression for a pure epsilon: the density of what is released on neighbours, by its formula
and by draws; the search ends where it says; sums are exact."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from logistic_cases import few_records
from scipy.stats import kstest

from indistinct import Adjacency, Budget, Mechanism, calibrate
from indistinct.data import (
    BoundedSum,
    Categories,
    CovarianceTable,
    LogisticRegression,
    Norm,
    Numbers,
    PerturbedLikelihood,
    UserRecords,
    UserTotals,
    WithLaplace,
    read_parquet,
    read_sql,
    table,
)
from indistinct.data.queries import perturbed_likelihood
from indistinct.data.queries.likelihood_sums import (
    CURVATURE,
    CURVED_UP,
    FINEST,
    ROUNDING,
    SLOPE,
    FineSlopes,
    LikelihoodSums,
    steeper,
)
from indistinct.data.queries.perturbed_fit import PerturbedEquations, block_cumulants
from indistinct.data.queries.perturbed_likelihood import (
    PLACE,
    Perturbation,
    SearchedRecords,
    _least,
    _rounded,
)
from indistinct.data.queries.regression_fits import cornish_fisher
from indistinct.data.queries.regression_scores import END, FINE, NODES, TABLE
from indistinct.errors import ArgumentError
from indistinct.noise import KeyedSource, NotPrivateSource

Array = npt.NDArray[np.float64]
BOTH = Categories([0, 1])
QUERY = LogisticRegression("y", {"x": Numbers(-1, 1), "y": BOTH})
TOWNS = LogisticRegression(
    "y", {"x": Numbers(-1, 1), "town": Categories(["a", "b", "c"]), "sex": BOTH, "y": BOTH}
)
RECORDS = list(itertools.product([-1.0, -0.4, 0.0, 0.7, 1.0], [0, 1]))


def columns(records: list[tuple[float, int]]) -> dict[str, Any]:
    return {"x": np.array([x for x, _ in records]), "y": np.array([y for _, y in records], dtype=int)}


def chance(logits: Array) -> tuple[Array, Array]:
    """The tabled chance and its slope, written down again."""
    places = np.clip(logits * NODES + END * NODES, 0, 2 * END * NODES - 1e-6)
    node = places.astype(int)
    rise = np.diff(TABLE)[node]
    found = (TABLE[node] + rise * (places - node)) / FINE
    return found, np.where(np.abs(logits) < END, rise * NODES / FINE, 0.0)


GRID = np.stack(np.meshgrid(*[np.linspace(-9, 9, 73)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)


def log_volume(records: list[tuple[float, int]], ridge: float, places: Array) -> Array:
    """The log of the determinant of the curvature with its ridge."""
    curvature = np.zeros((len(places), 2, 2))
    for x, _ in records:
        row = np.array([1.0, x])
        curvature += chance(places @ row)[1][:, None, None] * np.outer(row, row)
    return np.asarray(np.linalg.slogdet(curvature + ridge * np.eye(2))[1])


def log_density(records: list[tuple[float, int]], scale: float, ridge: float, places: Array) -> Array:
    """Of the exact minimum, by the change of variables."""
    slope = np.zeros((len(places), 2))
    for x, y in records:
        row = np.array([1.0, x])
        slope += (y - chance(places @ row)[0])[:, None] * row
    size = np.abs(slope - ridge * places).max(axis=1)
    # e^(-|z|/s) has the mass (2 s)^2 2! in the plane, |z| being the largest coordinate
    return np.asarray(-size / scale + log_volume(records, ridge, places) - math.log(8 * scale**2))


def largest_loss(scale: float, ridge: float, drawn: float, curved: float) -> float:
    """What a record costs at most, times the scale that is accounted for: over tables of up to two
    records, and one that comes or goes, the log ratio of densities at each place, and with it what the
    curvature there tells with noise that is so many times smaller. The scale that is `drawn` is the same,
    if all is well."""
    found = 0.0
    for count in range(3):
        for records in itertools.combinations_with_replacement(RECORDS[::4], count):
            before = log_density(list(records), drawn, ridge, GRID)
            for x, y in RECORDS:
                after = log_density([*records, (x, y)], drawn, ridge, GRID)
                p = chance(GRID @ [1.0, x])[0]
                found = max(found, float((np.abs(after - before) + curved * p * (1 - p) / drawn).max()))
    return found * scale


@pytest.mark.parametrize("scale", [0.3, 1.0, 6.0])
def test_no_neighbour_is_told_apart_by_more(scale: float) -> None:
    """The coefficients cost 1/s, at every place, and some nearly as much; with the curvature it is the
    share that is stated. Half the noise, a ridge that is too small and a curvature that is too sharp cost
    more, and that is seen."""
    ridge, slack = Perturbation(QUERY.axes, scale).ridge, float(perturbed_likelihood._SLACK)
    both, curved = float(perturbed_likelihood._TOGETHER), perturbed_likelihood._CURVED
    assert 0.9 <= largest_loss(scale, ridge, scale, 0) <= 1 + slack
    assert 0.9 * both <= largest_loss(scale, ridge, scale, curved) <= both + slack
    assert largest_loss(scale, ridge, scale / 2, curved) > 1.5 * both
    assert largest_loss(scale, ridge / 4, scale, curved) > 1.05 * both
    assert largest_loss(scale, ridge, scale, curved + 1) > 1.05 * both


def test_replaced_records_and_several_of_a_user() -> None:
    """A record that is replaced costs at most twice as much, and so do two records that come."""
    scale, ridge = 1.0, Perturbation(QUERY.axes, 1.0).ridge
    others = [[], [RECORDS[1]], [RECORDS[4], RECORDS[7]]]
    replaced, two = 0.0, 0.0
    for records in others:
        alone = log_density(records, scale, ridge, GRID)
        one = np.array([log_density([*records, more], scale, ridge, GRID) for more in RECORDS])
        replaced = max(replaced, float(np.abs(one[:, None] - one[None]).max()))
        for a, b in itertools.combinations_with_replacement(RECORDS, 2):
            two = max(two, float(np.abs(log_density([*records, a, b], scale, ridge, GRID) - alone).max()))
    most = 2 * (1 + float(perturbed_likelihood._SLACK))
    assert 1.7 <= replaced <= most and 1.7 <= two <= most


@pytest.mark.parametrize("forgotten", [False, True])
def test_density_is_that_of_the_minimum(forgotten: bool) -> None:
    """The formula above has mass one; without its determinant it has not."""
    scale, records = 0.5, [RECORDS[0], RECORDS[3], RECORDS[9], RECORDS[9]]
    ridge = Perturbation(QUERY.axes, scale).ridge
    ends = np.linspace(-12, 12, 601)
    places = np.stack(np.meshgrid(ends, ends, indexing="ij"), axis=-1).reshape(-1, 2)
    found = log_density(records, scale, ridge, places)
    if forgotten:  # as if records did not bend the likelihood
        found = found - log_volume(records, ridge, places) + log_volume([], ridge, places)
    mass = float(np.exp(found).sum()) * (ends[1] - ends[0]) ** 2
    assert (mass < 0.9) if forgotten else (mass == pytest.approx(1, abs=0.01))


@pytest.mark.parametrize("planted", [False, True])
def test_what_is_released_has_this_density(planted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From releases b of the mechanism itself: the size of S(b) - Λ b is gamma of shape 2."""
    if planted:  # noise of half the scale
        own = perturbed_likelihood.block_noise
        monkeypatch.setattr(
            perturbed_likelihood, "block_noise", lambda blocks, scale, source: own(blocks, scale / 2, source)
        )
    mechanism, records = QUERY.laplace(0.5), [RECORDS[0], RECORDS[3], RECORDS[6], RECORDS[9]]
    assert isinstance(mechanism, PerturbedLikelihood)
    source, data, sizes = NotPrivateSource(5), table(columns(records)), []
    for _ in range(250):
        b = mechanism.noisy(data, source)[0][:2]
        slope = sum(
            ((y - chance(np.array([b @ [1.0, x]]))[0][0]) * np.array([1.0, x]) for x, y in records),
            np.zeros(2),
        )
        sizes.append(np.abs(slope - mechanism.noise_in.ridge * b).max() / 0.5)
    chance_of_it = kstest(sizes, "gamma", args=(2,)).pvalue
    assert (chance_of_it < 1e-9) if planted else (chance_of_it > 1e-3)


def exact_slope(rows: npt.NDArray[np.int64], at: tuple[int, ...]) -> list[Fraction]:
    """In fractions: coordinates in 2^17, the response last."""
    found = [Fraction(0)] * len(at)
    for row in rows.tolist():
        logit = sum((Fraction(x * b, 2 ** (17 + FINEST)) for x, b in zip(row, at, strict=False)), Fraction(0))
        place = min(max(logit + END, Fraction(0)), Fraction(2 * END)) * NODES
        node = min(int(place), 2 * END * NODES - 1)
        p = (int(TABLE[node]) + int(TABLE[node + 1] - TABLE[node]) * (place - node)) / FINE
        for j, x in enumerate(row[:-1]):
            found[j] += ((row[-1] > 0) - p) * Fraction(x, 2**17)
    return found


def people(rows: int, seed: int = 3) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x, sex = draw.uniform(-1, 1, rows), draw.integers(0, 2, rows)
    town = draw.choice(np.array(["a", "b", "c"]), rows, p=[0.6, 0.3, 0.1])
    logit = 1.5 * x - 1 + (town == "b") + 0.5 * sex
    y = (draw.random(rows) < 1 / (1 + np.exp(-logit))).astype(int)
    return {"x": x, "town": town, "sex": sex, "y": y, "person": np.arange(rows) // 3}


def batch_rows(query: LogisticRegression, data: dict[str, Any]) -> npt.NDArray[np.int64]:
    sums = LikelihoodSums(query.axes, (0,) * Perturbation(query.axes, 1.0).size)
    kept: list[npt.NDArray[np.int64]] = []

    class Seen(LikelihoodSums):
        def total(self, rows: Any) -> Any:
            kept.append(rows)
            return super().total(rows)

    table(data).total(BoundedSum(Seen(sums.axes, sums.at)))
    return np.concatenate(kept)


@pytest.mark.parametrize("size", [0.0, 1.0, 15.0, 1e4, 1e5])
def test_sums_are_exact(size: float) -> None:
    """Against fractions: each record is rounded by less than 2^-71, wherever logits are."""
    data, draw = people(60), np.random.default_rng(4)
    at = tuple(int(Fraction(size * value) * 2**FINEST) + 12_345_678_901 for value in draw.normal(size=5))
    units = table(data).total(BoundedSum(LikelihoodSums(TOWNS.axes, at))).units
    exact = exact_slope(batch_rows(TOWNS, data), at)
    for own, true in zip(units[:5], exact, strict=True):
        assert abs(Fraction(int(own), 2**SLOPE) - true) <= 60 * Fraction(1, 2**ROUNDING)
    x = np.stack(
        [np.ones(60), data["x"], data["town"] == "b", data["town"] == "c", 2 * data["sex"] - 1], axis=1
    ).astype(float)
    p = chance(x @ (np.array([float(one) for one in at]) * 2.0**-FINEST))[0]
    sums = LikelihoodSums(TOWNS.axes, at)
    found = sums.terms.matrix(np.array([float(one) for one in units[5:]]) * 2.0**-SLOPE)
    np.testing.assert_allclose(found, (x.T * (p * (1 - p))) @ x, atol=0.02)


def test_a_record_moves_curvatures_by_a_quarter() -> None:
    """One of each block, at most; also where its chance is even."""
    sums = LikelihoodSums(TOWNS.axes, (0,) * 5)
    data = [
        {"x": np.array([x]), "town": np.array([town]), "sex": np.array([sex]), "y": np.array([1])}
        for x, town, sex in itertools.product([-1.0, 0.3, 1.0], ["a", "b", "c"], [0, 1])
    ]
    for one in data:
        units = table(one).total(BoundedSum(sums)).units[5:]
        numbers = [abs(int(own)) >> SLOPE - CURVATURE for own in units]
        ordered = [numbers[place] for place in sums.curvature_order()]
        ends = np.cumsum([0, *sums.curvature_blocks])
        sizes = [sum(ordered[a:b]) for a, b in itertools.pairwise(ends)]
        assert max(sizes) == 2**CURVATURE // 4
    assert sum(sums.curvature_blocks) == len(sums.terms.moments) and sums.slope_blocks == (1, 1, 2, 1)


@pytest.mark.parametrize("scale", [1e-3, 0.2, 1.0, 30.0, 1e5])
def test_what_is_charged(scale: float) -> None:
    """The parts of the account, from the numbers that are used."""
    many = LogisticRegression("y", {f"x{n}": Numbers(-1, 1) for n in range(398)} | {"y": BOTH})
    for query in (QUERY, TOWNS, many):
        noise, m, c = Perturbation(query.axes, scale), len(query.axes), perturbed_likelihood._CURVED
        assert noise.ridge >= m * scale
        weight = CURVED_UP + (0.25 + steeper()) * m * PLACE / 2
        assert steeper() + max(noise.blocks[0]) * noise.grain + c * weight <= perturbed_likelihood._SLACK
        moved = Fraction(2**CURVATURE) / noise._curvature_scale
        assert moved == c / Fraction(scale)
        costs = [q + (1 + c) * q * (1 - q) for q in np.linspace(0, 1, 1_001)]
        assert max(costs) == pytest.approx(float(perturbed_likelihood._TOGETHER), abs=1e-5)
        stated = Fraction(query.sensitivity(Norm.L1))
        assert stated >= perturbed_likelihood._TOGETHER + perturbed_likelihood._SLACK
    assert (np.diff(TABLE) >= 0).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize("case", ["some", "none", "one", "separated", "alike", "far noise"])
def test_search_ends_where_it_says(scale: float, case: str) -> None:
    """By fractions: the slope of the objective is as short as is accounted for, also where answers are
    separated, columns are equal, nobody is there, or noise is far out."""
    rows = {"none": 0, "one": 1}.get(case, 80)
    data = people(rows)
    if case == "separated":
        data["y"] = (data["x"] > 0.1).astype(int)
    if case == "alike":
        data["sex"] = (data["x"] > 0).astype(int)
        data["x"] = np.where(data["sex"] == 1, 1.0, -1.0)
    noise = Perturbation(TOWNS.axes, scale)
    if not rows:  # left out, as its town is not listed
        data = {"x": [0.0], "town": ["?"], "sex": [0], "y": [1]}
    left = perturbed_likelihood._LEFT * len(TOWNS.axes)
    for seed in range(3):
        drawn = noise.drawn(NotPrivateSource(seed)).middle
        if case == "far noise":
            drawn = [one * 40 for one in drawn]
        records = SearchedRecords(table(data), TOWNS.axes, TOWNS.unit)
        place = _least(noise, records, drawn, noise.start, FINEST, left)
        exact = exact_slope(batch_rows(TOWNS, data), place)
        ridge = Fraction(noise.ridge)
        rest = [ridge * b / 2**FINEST + z - own for b, z, own in zip(place, drawn, exact, strict=True)]
        bound = left + rows * 5 * 2.0**-ROUNDING
        assert math.sqrt(sum(float(one) ** 2 for one in rest)) <= bound


def test_rounding_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that often leaves open how a coefficient is rounded goes on with more bits, and arrives at
    the same: with exact sums, and bits of the noise that are drawn when they are needed."""
    data, noise = people(40), Perturbation(TOWNS.axes, 1.0)
    at = tuple(int(one) << 64 for one in noise.start)
    fine = FineSlopes(TOWNS.axes, at, FINEST + 64)
    units = table(data).total(BoundedSum(fine)).units
    exact = exact_slope(batch_rows(TOWNS, data), noise.start)
    assert [Fraction(int(one), 2**fine.places) for one in units] == exact
    records, refined = SearchedRecords(table(data), TOWNS.axes, TOWNS.unit), []
    own = perturbed_likelihood.DrawnSlope.refine

    def counted(self: Any) -> None:
        refined.append(self)
        before, half = self.middle, self.half
        own(self)
        assert all(abs(a - b) <= half for a, b in zip(before, self.middle, strict=True))
        assert self.half == half / 2**64

    monkeypatch.setattr(perturbed_likelihood.DrawnSlope, "refine", counted)
    found = []
    for left in (2.0**-36, 2.0**-22):
        monkeypatch.setattr(perturbed_likelihood, "_LEFT", left)
        found.append([_rounded(noise, records, NotPrivateSource(seed)) for seed in range(12)])
    assert found[0] == found[1] and len(refined) > 6


def test_guarantee() -> None:
    mechanism = calibrate(QUERY.laplace, Budget(epsilon=1)).mechanism
    assert isinstance(mechanism, PerturbedLikelihood)
    assert 0.999 < mechanism.guarantee().pure() <= 1
    assert mechanism.guarantee(Adjacency.REPLACE_ONE).pure() == pytest.approx(
        2 * mechanism.guarantee().pure()
    )
    axes = dict(QUERY.axes)
    three = LogisticRegression("y", axes, UserRecords("person", 3)).laplace(2.0)
    assert three.guarantee().pure() == pytest.approx(3 * QUERY.laplace(2.0).guarantee().pure())
    totals = LogisticRegression("y", axes, UserTotals("person", Norm.L1, 30.0)).laplace(2.0)
    assert type(totals) is WithLaplace
    assert Mechanism.from_json(mechanism.to_json()) == mechanism and "laplace" in repr(mechanism)
    for wrong in (totals.query, LogisticRegression("y", axes).gaussian(1.0)):
        with pytest.raises(ArgumentError):
            PerturbedLikelihood(wrong, 1.0)  # type: ignore[arg-type]


def test_same_bits_on_every_engine(tmp_path: Path) -> None:
    """In any order of records, in one piece or several, from files or from DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    data, draw = people(900), np.random.default_rng(5)
    mixed = draw.permutation(900)
    pq.write_table(pa.table(data), tmp_path / "people.parquet", row_group_size=100)
    connection = duckdb.connect()
    connection.register("people", pa.table(data))
    for unit in (None, UserRecords("person", 2)):
        query = TOWNS if unit is None else LogisticRegression("y", dict(TOWNS.axes), unit)
        mechanism = query.laplace(1.0)
        found = [
            mechanism.noisy(engine, NotPrivateSource(1))[0].tolist()
            for engine in (
                data,
                {name: column[mixed] for name, column in data.items()},
                read_parquet(tmp_path / "people.parquet"),
                read_sql("SELECT * FROM people", connection=connection),
            )
        ]
        assert found[0] == found[1] == found[2] == found[3] and len(found[0]) == mechanism.noise_in.numbers


def test_records_of_a_user_are_the_same_at_all_coefficients() -> None:
    """Which of them takes part must not depend on where the search is: else it would be no function's
    slope."""
    unit = UserRecords("person", 1)
    two = {"x": np.array([0.3, -0.8]), "y": np.array([1, 0]), "person": np.array([7, 7])}
    alone = [{name: column[i : i + 1] for name, column in two.items()} for i in range(2)]
    chosen = set()
    for value in range(-20, 21):
        sums = BoundedSum(LikelihoodSums(QUERY.axes, (value << FINEST - 2, 3 << FINEST - 1)), unit)
        units = [table(data).total(sums).units.tolist() for data in (two, *alone)]
        chosen.add(units[1:].index(units[0]))
    assert len(chosen) == 1


def test_keyed_noise_is_of_the_records() -> None:
    """The same again for the same records; another for others, also where their products add up to the
    same."""
    mechanism = QUERY.laplace(1.0)
    first, second = [-0.75, -0.25, 0.25, 0.75], [-0.5, -0.5, 0.5, 0.5]
    add = math.sqrt((2 * (0.75**2 + 0.25**2) - 4 * 0.25) / 2)
    tables = [
        {"x": np.array([*x, *more]), "y": np.array([0, 1, 1, 0, 0, 1])}
        for x, more in ((first, [0.0, 0.0]), (second, [-add, add]))
    ]
    found = [mechanism.noisy(data, KeyedSource(bytes(32), b"label"))[0] for data in (*tables, tables[0])]
    assert found[0].tolist() == found[2].tolist() and not np.isin(found[0], found[1]).any()
    records = [SearchedRecords(table(data), QUERY.axes, QUERY.unit) for data in tables]
    start = Perturbation(QUERY.axes, 1.0).start
    assert records[0].content(start) != records[1].content(start)


def test_errors_are_small() -> None:
    """Few records and five coefficients: half the error of steps of Newton's method with Laplace noise."""
    query, data, truth = few_records()
    mechanism = calibrate(query.laplace, Budget(epsilon=1)).mechanism
    errors = []
    for seed in range(30):
        fit, _ = query.equations(mechanism, mechanism.noisy(data, NotPrivateSource(seed))[0])
        assert isinstance(fit, PerturbedEquations)
        errors.append(np.median(np.abs(fit.coefficients - truth)))
    assert np.median(errors) < 0.045


@pytest.mark.parametrize("blocks", [(1, 1, 1), (1,) * 6, (1, 1, 4), (1, 10)])
def test_quantiles_of_combinations(blocks: tuple[int, ...]) -> None:
    """Never much smaller than by simulation, and not much larger."""
    draw, size, runs = np.random.default_rng(6), sum(blocks), 100_000
    parts = []
    for width in blocks:
        shares = draw.dirichlet(np.ones(width + 1), runs)[:, :width]
        parts.append(shares * draw.choice([-1.0, 1.0], (runs, width)))
    noise = draw.gamma(size + 1, 1.0, runs)[:, None] * np.concatenate(parts, axis=1)
    for way in (np.eye(size)[0], np.eye(size)[-1], np.ones(size), draw.normal(size=size)):
        seen = noise @ way
        variance, fourth = block_cumulants(way * noise.std(axis=0), blocks)
        assert variance == pytest.approx(seen.var(), rel=0.03)
        quantile = np.quantile(np.abs(seen), 0.95) / seen.std()
        assert 0.98 * quantile <= cornish_fisher(fourth / variance**2) <= 1.06 * quantile


@pytest.mark.parametrize("scale", [1e6, 4.5e9, 1e15])
def test_a_tiny_epsilon_ends_too(scale: float) -> None:
    """The search asked for more than coefficients resolve, and went on for ever."""
    values, _ = QUERY.laplace(scale).noisy(columns(RECORDS), NotPrivateSource(1))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("high", [5e-324, 1e-310, 1e-201])
def test_numbers_that_lie_in_next_to_nothing(high: float) -> None:
    """0/0 became the smallest of all integers: a record moved sums by 5e8 times what is stated."""
    for query in (QUERY, CovarianceTable({"x": Numbers(-1, 1)})):
        axes = {name: Numbers(0, high) if name == "x" else domain for name, domain in query.axes}
        with pytest.raises(ArgumentError, match="wider than"):
            LogisticRegression("y", axes) if len(axes) > 1 else CovarianceTable(axes)
