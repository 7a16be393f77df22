"""Reports: strict data, cautious rounding, sentences that fit the mechanism, a picture that opens."""

import builtins
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
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
    parse_guarantee,
)
from indistinct.report import Subject, User, explain
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


def each_report(*cases: tuple[str, float | None, float]) -> pytest.MarkDecorator:
    """A test of each; those of an expression run in one process, because a report remembers its readings."""
    groups = [pytest.param(*case, marks=pytest.mark.xdist_group(case[0].split("[")[0])) for case in cases]
    return pytest.mark.parametrize(("expression", "epsilon", "delta"), groups)


USUAL = [(expression, 0.5, 1e-6) for expression in EXPRESSIONS]
UNUSUAL = [("laplace(2)", None, 0.0), ("gaussian(0.02)", None, 1e-100)]


@cache
def reported(expression: str, epsilon: float | None, delta: float) -> Subject:
    return explain(parse(expression), delta=delta, epsilon=epsilon)


@each_report(*USUAL)
def test_data_is_strict_json_and_agrees_with_the_readings(
    expression: str, epsilon: float, delta: float
) -> None:
    report = reported(expression, epsilon, delta)
    data = json.loads(json.dumps(report.data(), allow_nan=False))
    g = parse(expression).guarantee(report.guarantee.adjacency)
    assert data["adjacency"] == g.adjacency.value
    found = g.epsilon(1e-6)
    close = "infinity" if math.isinf(found) else pytest.approx(found, rel=1e-8)
    assert data["epsilon"] == {"delta": 1e-6, "epsilon": close}
    assert data["delta"] == {"epsilon": 0.5, "delta": pytest.approx(g.delta(0.5), rel=1e-8)}
    assert [entry["order"] for entry in data["renyi"]] == [2, 4, 8, 16, 32]
    assert [entry["fpr"] for entry in data["tradeoff"]] == [0.001, 0.01, 0.05, 0.1]
    assert data["advantage"] == pytest.approx(g.advantage(), rel=1e-8)
    assert set(data["gaussian"]) == {"mu", "regret", "slack"}
    assert parse(data["expression"]) == report.mechanism


@each_report(*USUAL, *UNUSUAL)
def test_text_states_neighbours_and_sampling(expression: str, epsilon: float | None, delta: float) -> None:
    report = reported(expression, epsilon, delta)
    text = str(report)
    assert report.guarantee.adjacency.value in text
    assert all(" ".join(line.split()[:4]) in " ".join(text.split()) for line in report.sampling)
    assert "nan" not in text.split()
    assert "inf" not in text.split()
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("adjacency", Adjacency)
def test_words_fit_a_user(adjacency: Adjacency) -> None:
    report = explain(Gaussian(scale=2, sensitivity=3), adjacency=adjacency)
    by_user = replace(report, user=User("account", 3))
    text = " ".join(str(by_user).split())
    assert "all records of one user (one value of account), up to 3 of which take part" in text
    for words in map(str.split, sentences(by_user.data())):
        assert not {"record", "record's", "person's", "person"} & set(words)
    assert "user" in sentences(replace(explain(0 * Gaussian(2)), user=User("account")).data())[0]
    assert "about one user" in by_user.html() and "about one person" in report.html()
    assert by_user.data()["user"] == {"column": "account", "most": 3} and report.data()["user"] is None
    assert "up to" not in str(replace(report, user=User("account"))).split("What the release")[0]


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


def test_a_claim_that_does_not_reach_the_delta_says_what_does() -> None:
    claim = explain(parse("approx(1, 1e-4)"), delta=1e-6)
    text = " ".join(str(claim).split())
    assert "no epsilon at delta = 1e-6" in text and "ask for the Rényi curve" in text
    assert "smallest that fits is delta = 0.0001, where epsilon is 1;" in text
    assert claim.fits is not None and claim.fits == pytest.approx(1e-4, rel=1e-6)
    assert "no epsilon" not in str(claim.drawable) and claim.data()["fits"]["delta"] == claim.fits
    # pictures are of a delta that fits: a band around the diagonal, and a mark on the profile
    page = claim.html()
    assert "certainty" not in page and "ε = 0.9999 at δ = 0.0002" in page
    nothing, enough = explain(ApproxDP(1.0, 0.99999), delta=1e-5), explain(ApproxDP(1.0, 1e-6), delta=1e-5)
    assert nothing.html() and enough.fits is None and explain(Laplace(scale=2), delta=0.0).fits is None


def test_a_sentence_that_anyone_can_repeat() -> None:
    run = 14062 * Gaussian(scale=1.1).subsample(0.004267)
    test, guess, rare, belief, content, consequence, epsilon = sentences(explain(run).data())
    assert test == (
        "Someone who wants to know whether one given person's record was used, and accepts being wrong"
        " about 5 % of those who were not in the data, will still miss at least 85.7 % of those who were."
    )
    assert "61.3 %" in guess
    assert "no guess does better than always saying that nobody was" in rare
    assert belief == (
        "Someone who thought it 1 % likely that the record was there will think it at most 14.3 % likely"
        " after seeing the release; someone who thought 50 %, at most 94.3 %, except with a probability of"
        " 1e-5."
    )
    assert "1 in 10 " in content and "at most 24 %" in content and "at most 0.606 %" in content
    assert "at least 3.1 % and at most 24 %" in consequence
    assert "epsilon = 2.3819 at delta = 1e-5" in epsilon


def test_beliefs_and_guesses_as_data() -> None:
    data = explain(RandomizedResponse(truth=0.75)).data()
    assert data["bayes_factor"] == {"beyond": 1e-5, "factor": pytest.approx(3)}
    assert [entry["high"] for entry in data["posterior"]] == pytest.approx([3 / 102, 0.75])
    assert [entry["risk"] for entry in data["bayes_risk"]] == pytest.approx([0.01, 0.25])
    assert [entry["success"] for entry in data["reconstruction"]] == pytest.approx([0.003, 0.3])
    assert data["event"][1] == {"probability": 0.1, "low": pytest.approx(1 / 30), "high": pytest.approx(0.3)}
    assert "guess is wrong at least 0.501 %" in " ".join(str(explain(Gaussian(scale=0.3))).split())
    assert "become certain" in str(explain(ApproxDP(1.0, 1e-3)))
    assert "whatever the outcome" in " ".join(str(explain(Laplace(scale=2), delta=0)).split())
    fixed = " ".join(str(explain(Gaussian(scale=1).subsample(5, of=100))).split())
    assert "that the record has a certain value" in fixed and "nobody was" not in fixed


@pytest.mark.slow
def test_statements_have_reports() -> None:
    stated = parse("pure(0.5) + 10 * gaussian(20).subsample(5, of=100) + zcdp(0.01).group(2)")
    report = explain(stated)
    data, text = report.data(), " ".join(str(report).split())
    assert text.startswith("Stated pure(0.5) + 10 * gaussian(20.0)")
    assert data["adjacency"] == "replace-one" and data["records"] == [1, 2] and data["mechanism"] is None
    assert "exactly 5 of the 100" in text and "unknown for what is only claimed" in text
    again = parse_guarantee(data["expression"])
    assert again.epsilon(1e-5) == pytest.approx(data["epsilon"]["epsilon"], rel=1e-9)


# -- the page ---------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """What a browser would see: tags, attributes and text; complains about tags left open."""

    EMPTY = ("meta", "line", "path", "circle")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@each_report(*USUAL, *UNUSUAL)
def test_page_is_whole_and_needs_nothing_else(expression: str, epsilon: float | None, delta: float) -> None:
    report = reported(expression, epsilon, delta)
    source = report.html()
    page = _Page(source)
    names = [tag for tag, _ in page.tags]
    assert ("html", {"lang": "en"}) in page.tags and names.count("title") == 4 and names.count("h1") == 1
    # every picture has a name and a description that exist
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) == 3 and all(p["role"] == "img" for p in pictures)
    assert all(set(str(p["aria-labelledby"]).split()) <= ids for p in pictures)
    # nothing is fetched, nothing is run
    assert not {"script", "link", "img", "iframe"} & set(names)
    assert not {"src", "href", "style", "onload"} & {name for _, given in page.tags for name in given}
    assert "http" not in source and "url(" not in source and "@import" not in source
    # all numbers are numbers
    for tag, attributes in page.tags:
        for name in ("d", "cx", "cy", "x", "y", "x1", "y2"):
            assert not re.search("nan|inf", attributes.get(name) or ""), tag
    text = " ".join(" ".join(page.text).replace("\N{NO-BREAK SPACE}", " ").split())
    assert all(sentence in text for sentence in sentences(report.data()))
    assert len(source) < 60_000


def test_page_escapes_and_is_written(tmp_path: Path) -> None:
    report = replace(explain(Laplace(scale=2)), expression="<script>alert('x')</script> & \"more\"")
    path = tmp_path / "report.html"
    assert report.html(path) == path.read_text(encoding="utf-8")
    assert "<script" not in report.html() and "&lt;script&gt;" in report.html()


def test_page_needs_no_matplotlib() -> None:
    code = (
        "import sys; from indistinct import parse; from indistinct.report import explain;"
        "explain(parse('laplace(2)')).html(); assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("claim", [RenyiCurve([2, 8], [0.1, 0.4]), GaussianDP(0.5), ApproxDP(1.0, 1e-6)])
def test_stated_guarantees_have_reports_too(claim: Any) -> None:
    report = explain(claim)
    assert "unknown" in str(report)
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


@each_report(*USUAL[2::3], *UNUSUAL)
def test_picture_is_a_png(expression: str, epsilon: float | None, delta: float, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    reported(expression, epsilon, delta).plot(path)
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
