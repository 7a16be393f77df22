"""Bad input: a ValueError that names the argument, its value and what is allowed."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    ApproxDP,
    ArgumentError,
    Budget,
    Discrete,
    Exponential,
    ExpressionError,
    Gaussian,
    GaussianDP,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
    RandomShift,
    RenyiCurve,
    SampledSum,
    TargetError,
    TradeoffCurve,
    TruncatedSum,
    ZeroConcentratedDP,
    calibrate,
    parallel,
    parse,
)
from indistinct.adversaries import generalization_gap
from indistinct.data import Numbers
from indistinct.errors import needs
from indistinct.functions import release_density
from indistinct.mechanisms.drawn_sums import DrawnSum
from indistinct.training import PoissonBatches

NAN, INF = math.nan, math.inf
BASE = Gaussian(scale=1)
KNOWN = (100 * BASE.subsample(0.01)).guarantee()
CURVE = ZeroConcentratedDP(0.1)

NOT_A_NUMBER: list[Any] = [True, np.True_, "1", b"1", None, 1j, [1.0, 2.0], ..., {}, NAN, np.nan]
NOT_POSITIVE = [0, -1, -1e-300, INF, -INF, 10**400]
NOT_A_PROBABILITY = [-0.1, -1e-300, 1.5, 1 + 1e-9, 2, INF, -INF]
NOT_A_COUNT: list[Any] = [2.5, 3.0, "3", None, True, np.float64(3), NAN, 1j, [3], 10**400]
NOT_READABLE: list[Any] = [NAN, None, "0.1", True, 1j, [0.1, NAN], ["a"], ..., [[0.1], [0.1, 0.2]]]


def assert_refused(call: Callable[[], object], argument: str, value: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.argument == argument
    assert str(error) == f"{argument} must be {error.allowed}, got {error.value!r}"
    assert error.allowed
    if isinstance(value, int | float | str | None) and not isinstance(value, bool):
        assert repr(error.value) == repr(value) or float(error.value) == value  # type: ignore[arg-type]


def cases(table: dict[str, tuple[Callable[[Any], object], str, list[Any]]]) -> Any:
    """One test for each argument, with everything that it must refuse."""
    return pytest.mark.parametrize(
        ("call", "argument", "values"), [pytest.param(*case, id=name) for name, case in table.items()]
    )


@cases(
    {
        "gaussian scale": (lambda v: Gaussian(scale=v), "scale", NOT_A_NUMBER + NOT_POSITIVE),
        "laplace scale": (lambda v: Laplace(scale=v), "scale", NOT_A_NUMBER + NOT_POSITIVE),
        "gaussian sensitivity": (
            lambda v: Gaussian(scale=1, sensitivity=v),
            "sensitivity",
            [*NOT_A_NUMBER, -1, INF, -INF],
        ),
        "laplace sensitivity": (
            lambda v: Laplace(scale=1, sensitivity=v),
            "sensitivity",
            [*NOT_A_NUMBER, -1, INF, -INF],
        ),
        "truth": (lambda v: RandomizedResponse(truth=v), "truth", NOT_A_NUMBER + NOT_A_PROBABILITY),
        "categories": (
            lambda v: RandomizedResponse(truth=0.6, categories=v),
            "categories",
            [*NOT_A_COUNT, 1, 0, -2],
        ),
        "rate": (BASE.subsample, "rate", NOT_A_NUMBER + NOT_A_PROBABILITY),
        "size": (lambda v: BASE.subsample(v, of=10), "size", [*NOT_A_COUNT, -1, 11]),
        "of": (lambda v: BASE.subsample(0, of=v), "of", [2.5, "3", True, NAN, 0, -1]),
        "steps": (lambda v: v * BASE, "steps", [2.5, 3.0, NAN, True, -1, -(10**30)]),
        "steps on the right": (lambda v: BASE * v, "steps", [*NOT_A_COUNT, -1]),
        "steps of a guarantee": (lambda v: KNOWN * v, "steps", [*NOT_A_COUNT, -1]),
        "steps of a claim": (lambda v: CURVE * v, "steps", [*NOT_A_COUNT, -1]),
        "group of a mechanism": (BASE.group, "size", [*NOT_A_COUNT, 0, -1]),
        "group of a guarantee": (KNOWN.group, "size", [*NOT_A_COUNT, 0, -1]),
        "group of a claim": (CURVE.group, "size", [*NOT_A_COUNT, 0, -1]),
        "group of pure": (PureDP(1).group, "size", [*NOT_A_COUNT, 0, -1]),
        "adjacency": (BASE.guarantee, "adjacency", ["add", 0.5, 1]),
        "pure": (PureDP, "epsilon", [*NOT_A_NUMBER, -1, INF]),
        "approximate epsilon": (lambda v: ApproxDP(v, 1e-6), "epsilon", [*NOT_A_NUMBER, -1, INF]),
        "approximate delta": (lambda v: ApproxDP(1, v), "delta", NOT_A_NUMBER + NOT_A_PROBABILITY),
        "gaussian claim": (GaussianDP, "mu", [*NOT_A_NUMBER, -1, INF]),
        "zero-concentrated": (ZeroConcentratedDP, "rho", [*NOT_A_NUMBER, -1, INF]),
        "zero-concentrated offset": (lambda v: ZeroConcentratedDP(0.1, v), "xi", [*NOT_A_NUMBER, -1, INF]),
        "random shift": (lambda v: RandomShift(1, (0, v), (0.5, 0.5)), "shifts[1]", [*NOT_A_NUMBER, -1, INF]),
        "random shift's noise": (
            lambda v: RandomShift(v, (0, 1), (0.5, 0.5)),
            "noise",
            [*NOT_A_NUMBER, 0, INF],
        ),
        "truncated sum": (lambda v: TruncatedSum(1, 0.1, v, 10), "largest", [*NOT_A_NUMBER, 0, 2.5]),
    }
)
def test_bad_description(call: Callable[[Any], object], argument: str, values: list[Any]) -> None:
    for value in values:
        assert_refused(lambda value=value: call(value), argument, value)


@cases(
    {
        "delta": (lambda g: g.epsilon, "delta", [*NOT_READABLE, -1e-5, 1.5, 2, INF]),
        "epsilon": (lambda g: g.delta, "epsilon", [*NOT_READABLE, -1e-5, -INF]),
        "order": (lambda g: g.renyi, "order", [*NOT_READABLE, 0.49, 0, -2, -INF]),
        "fpr": (lambda g: g.tradeoff, "fpr", [*NOT_READABLE, -0.1, 1.1]),
        "probability": (lambda g: g.event, "probability", [*NOT_READABLE, -0.1, 1.1]),
        "slack": (lambda g: g.to_gaussian, "slack", [NAN, None, "0.1", True, 1j, -0.1, 1.1]),
    }
)
def test_bad_reading(call: Callable[[Any], Any], argument: str, values: list[Any]) -> None:
    for guarantee in (KNOWN, BASE.guarantee(), CURVE, PureDP(1)):
        read = call(guarantee)
        for value in values:
            assert_refused(lambda read=read, value=value: read(value), argument, value)


def test_one_bad_entry_of_an_array_is_named() -> None:
    assert_refused(lambda: KNOWN.epsilon([1e-5, 1e-6, -3.0]), "delta", -3.0)
    assert_refused(lambda: KNOWN.renyi(np.array([[2.0, 0.25]])), "order", 0.25)


def test_no_noise_says_so() -> None:
    with pytest.raises(ArgumentError, match=r"scale must be a positive finite number, got 0"):
        Gaussian(scale=0)


@pytest.mark.parametrize(
    ("p", "q", "argument"),
    [
        ((0.5, 0.4), (0.5, 0.5), "p"),
        ((0.5, 0.5), (0.5, 0.6), "q"),
        ((1.5, -0.5), (0.5, 0.5), "p"),
        ((NAN, 1.0), (0.5, 0.5), "p"),
        ((0.5, 0.5), (1.0,), "q"),
        ((), (), "p"),
        ("ab", (0.5, 0.5), "p"),
        (0.5, 0.5, "p"),
        (None, (0.5, 0.5), "p"),
        (([0.5], [0.5]), (0.5, 0.5), "p"),
    ],
)
def test_bad_discrete(p: Any, q: Any, argument: str) -> None:
    assert_refused(lambda: Discrete(p, q), argument, object())


@pytest.mark.parametrize(
    ("orders", "values", "argument"),
    [
        ([2, 1.5], [0.1, 0.2], "orders[1]"),
        ([2, 4, 4], [0.1, 0.2, 0.3], "values[2]"),
        ([2, 4], [0.2, 0.1], "values[1]"),
        ([2, 4, 8], [0.1, 0.39, 0.4], "values[1]"),
        ([2, 4, math.inf], [0.1, 0.39, 0.2], "values[2]"),
        ([0.3, 2], [0.1, 0.2], "orders[0]"),
        ([NAN], [0.1], "orders[0]"),
        ([], [], "orders"),
        ("ab", [0.1], "orders"),
        (None, [0.1], "orders"),
        ([2], [-0.1], "values[0]"),
        ([2], [NAN], "values[0]"),
        ([2, 3], [0.1], "values"),
        ([2], None, "values"),
        ([2], [1j], "values[0]"),
        ([2], [True], "values[0]"),
        ([True], [0.1], "orders[0]"),
    ],
)
def test_bad_renyi_curve(orders: Any, values: Any, argument: str) -> None:
    assert_refused(lambda: RenyiCurve(orders, values), argument, object())


@pytest.mark.parametrize("claim", [PureDP, GaussianDP, ZeroConcentratedDP])
def test_bad_adjacency_of_a_claim(claim: Any) -> None:
    assert_refused(lambda: claim(1, adjacency="replace"), "adjacency", "replace")


def test_adjacency_must_fit() -> None:
    poisson, fixed = BASE.subsample(0.1), BASE.subsample(1, of=10)
    assert_refused(lambda: poisson.guarantee(Adjacency.REPLACE_ONE), "adjacency", "replace-one")
    assert_refused(lambda: fixed.guarantee(Adjacency.ADD_REMOVE), "adjacency", "add/remove")
    replaced = fixed.guarantee(Adjacency.REPLACE_ONE)
    assert_refused(lambda: replaced + KNOWN, "adjacency", "add/remove")
    assert_refused(lambda: parallel(replaced, replaced), "adjacency", "replace-one")
    assert_refused(lambda: parallel(KNOWN, replaced), "adjacency", "replace-one")
    assert_refused(parallel, "parts", ())


@pytest.mark.parametrize("other", [1, "x", None])
def test_only_guarantees_add(other: object) -> None:
    with pytest.raises(TypeError):
        KNOWN + other  # type: ignore[operator]


@pytest.mark.parametrize("other", [1, "x", None])
def test_only_mechanisms_add(other: object) -> None:
    with pytest.raises(TypeError):
        BASE + other  # type: ignore[operator]


EXPRESSIONS = [
    "", " ", "gaussian", "gaussian(", "gaussian()", "gaussian(1", "gaussian(1))", "gaussian(1) +",
    "+ gaussian(1)", "gaussian(1) gaussian(2)", "2 gaussian(1)", "gaussian(1) * x", "gaussian(1).",
    "gaussian(1).eval(2)", "gaussian(1).subsample", "gaussian(1).subsample()", "gaussian(1, 2, 3)",
    "gaussian(scale=1, scale=2)", "gaussian(size=1)", "gaussian(1,)", "gaussian(1,,2)", "gaussian([1])",
    "discrete([1,], [1])", "discrete([1], [1", "__import__('os').system('true')", "gaussian(1).__class__",
    "lambda: 1", "os.system(1)", "gaussian(1e)", "gaussian(--1)", "gaussian('1')", "gaussian(1)\0",
    "gaussian(1); gaussian(2)", "gaussian(nan)", "2 ** gaussian(1)", "parallel()", "parallel(1)",
    "gaussian(gaussian(1))", "1.5 * gaussian(1)", "-1 * gaussian(1)", "laplace(0x10)", "гауссиан(1)",
    "gaussian(١)", "٣ * gaussian(1)", "gaussian(²)", "² * gaussian(1)", "4" * 5000 + " * gaussian(1)",
    "gaussian(1).subsample(gaussian(1))", "discrete(1, 2)", "discrete(gaussian(1), gaussian(1))",
    "1 * 2 * gaussian(1)",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS, ids=lambda text: repr(text)[:40])
def test_expression_that_does_not_parse(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse(text)


@pytest.mark.parametrize("text", [None, 3, b"gaussian(1)", ["gaussian(1)"], 21_000 * "("])
def test_expression_that_is_no_expression(text: Any) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "gaussian(1)" + ")" * 5000,
        "parallel(" * 1000 + "gaussian(1)" + ")" * 1000,
        "gaussian(" * 2000,
        "(" * 9000,
    ],
    ids=["brackets", "parallel", "arguments", "open"],
)
def test_huge_nesting_of_text(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_long_chain_is_read_or_refused() -> None:
    """A chain of methods is deep as a mechanism: it may be refused, but not end the process."""
    text = "gaussian(1)" + ".group(1)" * 2000
    try:
        mechanism = parse(text)
        mechanism.guarantee()
        str(mechanism), hash(mechanism), mechanism.to_json()
    except ArgumentError:
        pass


@pytest.mark.parametrize(
    "data",
    [
        None, 3, "gaussian", [], {}, {"mechanism": 3}, {"mechanism": None}, {"mechanism": "os.system"},
        {"mechanism": "gaussian"}, {"mechanism": "gaussian", "scale": "1"},
        {"mechanism": "gaussian", "scale": -1},
        {"mechanism": "gaussian", "scale": NAN}, {"mechanism": "gaussian", "scale": 1, "colour": 2},
        {"mechanism": "gaussian", "scale": {"mechanism": "gaussian", "scale": 1}},
        {"mechanism": "repeated", "base": 3, "steps": 2}, {"mechanism": "repeated", "base": None, "steps": 2},
        {"mechanism": "repeated", "base": {"mechanism": "gaussian", "scale": 1}, "steps": 2.0},
        {"mechanism": "repeated", "base": {"mechanism": "gaussian", "scale": 1}},
        {"mechanism": "composed", "parts": []}, {"mechanism": "composed", "parts": [3]},
        {"mechanism": "composed", "parts": {"mechanism": "gaussian", "scale": 1}},
        {"mechanism": "parallel", "parts": "ab"}, {"mechanism": "discrete", "p": [1], "q": 3},
        {"mechanism": "poisson_sampled", "base": {"mechanism": "gaussian", "scale": 1}, "rate": 2},
        {"mechanism": "grouped", "base": "x", "size": 2},
        {"mechanism": "fixed_size_sampled", "base": [], "size": 1, "of": 2},
        {"mechanism": "poisson_sampled", "base": "gaussian(1)", "rate": 0.5},
    ],
    ids=lambda data: repr(data)[:70],
)  # fmt: skip
def test_json_that_is_no_mechanism(data: Any) -> None:
    with pytest.raises(ArgumentError):
        Mechanism.from_json(data)


def nested(depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {"mechanism": "gaussian", "scale": 1.0, "sensitivity": 1.0}
    for _ in range(depth):
        data = {"mechanism": "grouped", "base": data, "size": 1}
    return data


def test_huge_nesting_of_json() -> None:
    with pytest.raises(ExpressionError, match="deep"):
        Mechanism.from_json(nested(50_000))
    assert Mechanism.from_json(nested(20)).to_json() == {"format": 1, **nested(20)}
    parts: Any = [0.5]
    for _ in range(50_000):
        parts = [parts]
    with pytest.raises(ArgumentError):
        Mechanism.from_json({"mechanism": "discrete", "p": parts, "q": [1.0]})


def test_json_is_plain_and_refuses_nan() -> None:
    text = json.dumps((3 * BASE.subsample(0.1)).to_json(), allow_nan=False)
    assert "NaN" not in text


@pytest.mark.parametrize(
    ("target", "argument"),
    [
        ({}, "budget"),
        ({"epsilon": 1, "advantage": 0.1}, "budget"),
        ({"delta": 1e-5}, "budget"),
        ({"epsilon": NAN, "delta": 1e-5}, "epsilon"),
        ({"epsilon": -1, "delta": 1e-5}, "epsilon"),
        ({"epsilon": "1", "delta": 1e-5}, "epsilon"),
        ({"epsilon": True, "delta": 1e-5}, "epsilon"),
        ({"epsilon": 1, "delta": 2}, "delta"),
        ({"epsilon": 1, "delta": NAN}, "delta"),
        ({"epsilon": 1, "fpr": 0.1}, "fpr"),
        ({"advantage": 1.5}, "advantage"),
        ({"advantage": 0.1, "delta": 1e-5}, "delta"),
        ({"fnr": 0.5}, "fpr"),
        ({"fnr": 0.5, "fpr": NAN}, "fpr"),
        ({"fnr": -0.5, "fpr": 0.1}, "fnr"),
        ({"renyi": 1}, "order"),
        ({"renyi": 1, "order": 0.1}, "order"),
        ({"renyi": 1, "order": NAN}, "order"),
        ({"renyi": -1, "order": 2}, "renyi"),
        ({"rho": -1}, "rho"),
        ({"mu": math.inf}, "mu"),
        ({"mu": 1, "order": 2}, "order"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"advantage": 1}, "advantage"),
        ({"fnr": 0.95, "fpr": 0.05}, "fnr"),
        ({"fnr": 0, "fpr": 0.05}, "fnr"),
    ],
    ids=repr,
)
def test_bad_target(target: dict[str, Any], argument: str) -> None:
    assert_refused(lambda: calibrate(lambda s: Gaussian(scale=s), Budget(**target)), argument, object())


@pytest.mark.parametrize("family", [None, 3, "gaussian", lambda s: s, lambda s: None])
def test_bad_family(family: Any) -> None:
    assert_refused(lambda: calibrate(family, Budget(epsilon=1, delta=1e-5)), "family", object())


def test_the_tree_of_errors() -> None:
    assert issubclass(ExpressionError, ArgumentError) and issubclass(TargetError, ArgumentError)
    assert issubclass(ArgumentError, ValueError)


def test_no_pure_epsilon_from_gaussian_noise() -> None:
    with pytest.raises(TargetError, match="delta above 0"):
        calibrate(lambda s: Gaussian(scale=s), Budget(epsilon=1, delta=0))


def test_a_missing_package_is_named_with_what_to_install() -> None:
    said = r'no_such_thing .*pip install "indistinct\[plot\]"'
    with pytest.raises(ModuleNotFoundError, match=said), needs("plot"):
        import no_such_thing.inside  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"budget": None}, "budget"),
        ({"budget": 1.0}, "budget"),
        ({"bandwidth": 0.1}, "delta"),
        ({"axes": {"x": (0, 1)}}, "axes"),
    ],
)
def test_a_density_names_what_is_missing(given: dict[str, Any], argument: str) -> None:
    given = {"axes": {"x": Numbers(0, 1)}, "budget": Budget(epsilon=1), **given}
    assert_refused(lambda: release_density({"x": np.zeros(9)}, **given), argument, object())


class Three:
    """Counts, as NumPy's integers do."""

    def __index__(self) -> int:
        return 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: generalization_gap(BASE), "guarantee"),  # type: ignore[arg-type]
        (lambda: Exponential(1.0, 1.0, np.array([True, False])), "monotonic"),  # type: ignore[arg-type]
        (lambda: Exponential(1.0, 1.0, None), "monotonic"),  # type: ignore[arg-type]
        (lambda: RenyiCurve(np.array([2 + 2j, 4]), [0.1, 0.2]), "orders[0]"),
        (lambda: RenyiCurve(np.ma.array([2, 4], mask=[0, 1]), [0.1, 0.2]), "orders[1]"),
        (lambda: Gaussian(np.array(1.0)), "scale"),  # type: ignore[arg-type]
        (lambda: KNOWN.epsilon(np.ma.array([0.1, 0.2], mask=[0, 1])), "delta"),
    ],
)
def test_what_numpy_would_take_for_numbers(call: Callable[[], object], argument: str) -> None:
    """They ended in strangers' errors and warnings, or were read without what makes them what they are."""
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.filterwarnings("error")
def test_arguments_are_kept_as_they_were_checked() -> None:
    """A count that is no int was counted with as it was given; no move at all was divided by."""
    for mechanism, same in (
        (DrawnSum(2.0, Three(), 9), DrawnSum(2.0, 3, 9)),  # type: ignore[arg-type]
        (SampledSum(2.0, 0.1, Three()), SampledSum(2.0, 0.1, 3)),  # type: ignore[arg-type]
        (TruncatedSum(2.0, 0.1, Three(), np.int64(9)), TruncatedSum(2.0, 0.1, 3, 9)),  # type: ignore[arg-type]
    ):
        assert mechanism == same and str(mechanism) == str(same)
        assert mechanism.guarantee().delta(0.1) == same.guarantee().delta(0.1)
    batches = PoissonBatches(Three(), 1, Three())  # type: ignore[arg-type]
    assert len(list(batches)) == 3
    for sensitivity in (-0.0, 0.0):
        nothing = Gaussian(1, sensitivity=sensitivity).subsample(10, of=100).guarantee("replace-one")
        assert nothing.renyi([0.5, 1.0, 2.0]).tolist() == [0.0] * 3 and nothing.epsilon(1e-5) == 0.0
    assert math.copysign(1.0, Gaussian(1, sensitivity=-0.0).sensitivity) == 1.0
    steep = TradeoffCurve([0, 1e-320, 1], [1, 0.5, 0])  # a convex curve may fall to 0 at once
    assert steep.delta(1.0) == 1.0 and steep.epsilon(0.4) == math.inf
    assert steep.tradeoff(1e-320) == pytest.approx(0.5)
