"""Reports: strict data, cautious rounding, sentences that fit the mechanism, a picture that opens."""

import builtins
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indistinct import (
    Adjacency,
    ApproxDP,
    ArgumentError,
    Gaussian,
    GaussianDP,
    Laplace,
    RandomizedResponse,
    RenyiCurve,
    parse,
)
from indistinct.report import explain
from indistinct.report.text import rounded_down, rounded_up, sentences

EXPRESSIONS = [
    "gaussian(1.5)",
    "laplace(2)",
    "100 * gaussian(2).subsample(0.01)",
    "10 * gaussian(2, sensitivity=2).subsample(10, of=1000)",
    "randomized_response(0.75, categories=4)",
    "discrete([0.5, 0.5, 0], [0, 0.5, 0.5])",
    "parallel(laplace(1), gaussian(3))",
    "gaussian(2).group(3) + laplace(9).group(3)",
    "0 * laplace(1)",
]


@pytest.fixture(params=EXPRESSIONS)
def expression(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_data_is_strict_json_and_agrees_with_the_readings(expression: str) -> None:
    report = explain(parse(expression), delta=1e-6, epsilon=0.5)
    data = json.loads(json.dumps(report.data(), allow_nan=False))
    g = report.guarantee
    assert data["adjacency"] == g.adjacency.value
    epsilon = g.epsilon(1e-6)
    close = "infinity" if math.isinf(epsilon) else pytest.approx(epsilon, rel=1e-8)
    assert data["epsilon"] == {"delta": 1e-6, "epsilon": close}
    assert data["delta"] == {"epsilon": 0.5, "delta": pytest.approx(g.delta(0.5), rel=1e-8)}
    assert [entry["order"] for entry in data["renyi"]] == [2, 4, 8, 16, 32]
    assert [entry["fpr"] for entry in data["tradeoff"]] == [0.001, 0.01, 0.05, 0.1]
    assert data["advantage"] == pytest.approx(g.advantage(), rel=1e-8)
    assert set(data["gaussian"]) == {"mu", "regret", "slack"}
    assert parse(data["expression"]) == report.mechanism


def test_text_states_neighbours_and_sampling(expression: str) -> None:
    report = explain(parse(expression))
    text = str(report)
    assert report.guarantee.adjacency.value in text
    assert all(" ".join(line.split()[:4]) in " ".join(text.split()) for line in report.sampling)
    assert "nan" not in text.split()
    assert "inf" not in text.split()
    assert max(map(len, text.splitlines())) <= 100


def test_words_fit_the_mechanism() -> None:
    poisson = str(explain(Gaussian(scale=1).subsample(0.01)))
    assert "add/remove" in poisson and "Poisson" in poisson and "0.01" in poisson
    fixed = str(explain(Gaussian(scale=1).subsample(5, of=100)))
    assert "replace-one" in fixed and "exactly 5 of the 100" in fixed and "without the record" not in fixed
    group = str(explain(Gaussian(scale=9).group(3)))
    assert "3 records" in group and "one person's record" not in group
    assert "pure epsilon 0.5" in str(explain(Laplace(scale=2)))
    assert "does not protect" in str(explain(Gaussian(scale=0.01)))
    assert "does not depend on the record" in str(explain(0 * Laplace(scale=2)))
    assert "no epsilon" in str(explain(ApproxDP(1.0, 1e-3), delta=1e-5))


def test_a_sentence_that_anyone_can_repeat() -> None:
    run = 14062 * Gaussian(scale=1.1).subsample(0.004267)
    first, second, third, fourth = sentences(explain(run).data())
    assert first == (
        "Someone who wants to know whether one given person's record was used, and accepts being wrong"
        " about 5 % of those who were not in the data, will still miss at least 85.7 % of those who were."
    )
    assert "61.3 %" in second
    assert "24 %" in third
    assert "epsilon = 2.3819 at delta = 1e-5" in fourth


@pytest.mark.parametrize("claim", [RenyiCurve([2, 8], [0.1, 0.4]), GaussianDP(0.5), ApproxDP(1.0, 1e-6)])
def test_stated_guarantees_have_reports_too(claim: Any) -> None:
    report = explain(claim)
    assert "not known" in str(report)
    assert report.data()["mechanism"] is None
    json.dumps(report.data(), allow_nan=False)


def test_notebooks_show_the_table() -> None:
    html = explain(RandomizedResponse(truth=0.75))._repr_html_()
    assert html.count("<tr>") > 10 and "1.0987" in html


def test_what_cannot_be_reported_is_refused() -> None:
    with pytest.raises(ArgumentError, match="what"):
        explain(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="adjacency"):
        explain(ApproxDP(1, 0), adjacency=Adjacency.REPLACE_ONE)
    with pytest.raises(ArgumentError, match="delta"):
        explain(Laplace(scale=1), delta=2)
    with pytest.raises(ArgumentError, match="epsilon"):
        explain(Laplace(scale=1), epsilon=-1)


@given(st.floats(1e-290, 1e290), st.integers(2, 8))
def test_rounding_is_cautious(value: float, digits: int) -> None:
    slack = 1e-11 * value
    up, down = float(rounded_up(value, digits)), float(rounded_down(value, digits))
    step = 2 * 10.0 ** (1 - digits) * value
    assert value - slack <= up <= value + step
    assert value - step <= down <= value + slack


@pytest.mark.parametrize(
    ("expression", "delta"),
    [*((e, 1e-5) for e in EXPRESSIONS), (EXPRESSIONS[1], 0.0), (EXPRESSIONS[2], 1e-100)],
)
def test_picture_is_a_png(expression: str, delta: float, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    explain(parse(expression), delta=delta, epsilon=0.3).plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 150_000


def test_picture_has_labels_and_no_state() -> None:
    figure = explain(Laplace(scale=2)).plot()
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel(), left.get_yscale()) == ("ε", "δ", "log")
    assert right.get_xlabel().startswith("false positive rate")
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels[0] == "nothing can be told" and "μ" in labels[2]


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r'pip install "indistinct\[plot\]"'):
        explain(Laplace(scale=2)).plot()
