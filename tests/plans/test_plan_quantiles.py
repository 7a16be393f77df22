"""Quantiles of a plan: which mechanism is chosen, and what its result says."""

import csv
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct.plans.check import check_plan
from indistinct.plans.plan import parse_plan
from indistinct.plans.run import run_plan

pytestmark = pytest.mark.usefixtures("told_once")

SEXES = ["f", "m"]
INCOMES = np.clip(np.exp(np.random.default_rng(1).normal(9.8, 1, 2000)), 0, 200_000)


def incomes(tmp_path: Path, others: int = 0, delta: float = 0.0, **asked: Any) -> Any:
    """A plan that asks for quantiles of skewed incomes, and perhaps for counts besides."""
    tmp_path.mkdir(exist_ok=True)
    lines = [f"{income},{SEXES[place % 2]}" for place, income in enumerate(INCOMES.tolist())]
    (tmp_path / "incomes.csv").write_text("\n".join(["income,sex", *lines]) + "\n")
    quantiles = {"name": "q", "kind": "quantiles", "column": "income", "ranks": [0.5], "bins": 1000} | asked
    content = {
        "data": {"csv": "incomes.csv", "records": 2000},
        "budget": {"epsilon": 1, "delta": delta},
        "columns": {"income": {"low": 0, "high": 200_000}, "sex": {"categories": SEXES}},
        "releases": [quantiles, *({"name": f"c{i}", "kind": "count"} for i in range(others))],
    }
    return parse_plan(content, tmp_path)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({"interval": True}, "laplace"),
        ({"interval": False}, "permute-and-flip"),
        ({"interval": False, "others": 2}, "permute-and-flip"),
        ({"interval": False, "by": ["sex"]}, "permute-and-flip"),
        ({"interval": True, "by": ["sex"]}, "laplace"),
        ({"interval": False, "ranks": [0.25, 0.5, 0.75]}, "laplace"),
        ({"interval": False, "bins": 16}, "laplace"),
        ({"interval": False, "ranks": [0.123456789]}, "laplace"),  # no fraction: qualities would be rounded
        ({"interval": False, "delta": 1e-6}, "permute-and-flip"),
        ({"interval": False, "delta": 1e-6, "others": 1}, "laplace"),
    ],
)
def test_the_better_mechanism_is_chosen_before_a_record_is_read(
    tmp_path: Path, asked: dict[str, Any], chosen: str
) -> None:
    checked = check_plan(incomes(tmp_path, **asked))
    delta = asked.get("delta", 0.0)
    assert f", {chosen} noise of scale" in checked.accuracy()[0]
    spent = checked.mechanism.guarantee()
    assert 0.999 < (spent.epsilon(delta=delta) if delta else spent.pure()) <= 1
    part = checked.parts[0]
    if part.may_select:  # type: ignore[attr-defined]
        (tmp_path / "other").mkdir()
        tree = check_plan(incomes(tmp_path / "other", **asked | {"interval": True}))
        errors = [part.error(checked.scales[0]), tree.parts[0].error(tree.scales[0])]
        assert errors[0] <= errors[1] and (errors[0] < errors[1]) == (chosen == "permute-and-flip")  # type: ignore[operator]


@pytest.mark.parametrize("by", [[], ["sex"]])
@pytest.mark.parametrize("interval", [True, False])
def test_results_say_how_near_they_are(tmp_path: Path, interval: bool, by: list[str]) -> None:
    ranks = [0.5, 0.9] if interval else [0.5]
    plan = incomes(tmp_path, interval=interval, ranks=ranks, **({"by": by} if by else {}))
    run_plan(plan, tmp_path / "out")
    with open(tmp_path / "out" / "q.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == [*by, "rank", "income", "rank_error", *(["low", "high"] if interval else [])]
    stated = plan.parts[0].error(check_plan(plan).scales[0])
    groups = [INCOMES[::2], INCOMES[1::2]] if by else [INCOMES]
    for (place, rank), row in zip(product(range(len(groups)), ranks), rows, strict=True):
        assert row[: len(by)] == ([SEXES[place]] if by else [])
        numbers = [float(number) for number in row[len(by) :]]
        assert numbers[0] == rank and numbers[2] == pytest.approx(stated, rel=1e-3)
        # the system's noise: six deviations, and a bin
        records = groups[place]
        assert abs((numbers[1] > records).sum() - rank * len(records)) < 6 * stated + 20
        assert not interval or 0 <= numbers[3] <= numbers[1] <= numbers[4] <= 200_000
