"""Law 8: everything that can be saved reads back equal, and prints as what makes it.

The classes are those of the table itself: one that is declared without an example here fails.
"""

import importlib
import json
import math
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import SINGLE

from indistinct import (
    AboveThreshold,
    Adjacency,
    ApproxDP,
    ArgumentError,
    Budget,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    ExpressionError,
    Gaussian,
    GaussianDP,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    PrivacyProfile,
    PureDP,
    RandomizedResponse,
    RandomShift,
    RenyiCurve,
    RepeatAndSelect,
    ReportNoisyMax,
    Stated,
    TradeoffCurve,
    TruncatedSum,
    ZeroConcentratedDP,
    calibrate,
    from_json,
    mixture,
    parallel,
    parse,
)
from indistinct.data import (
    BetweenRungs,
    Bins,
    Categories,
    Count,
    CovarianceTable,
    FeatureSum,
    GroupBy,
    HeavyHitters,
    Hierarchy,
    Histogram,
    Intervals,
    Kind,
    Ladder,
    LinearRegression,
    LogisticRegression,
    Mean,
    Missing,
    Norm,
    Numbers,
    OrMissing,
    Outside,
    OutsideDomain,
    ProductSum,
    Quantile,
    Quantiles,
    Records,
    SuggestedBounds,
    Sum,
    Tables,
    Times,
    UserRecords,
    UsersOver,
    UserTotals,
    Variance,
    VectorSum,
    Within,
)
from indistinct.description import _HOMES, DEEPEST, TABLE, Described, arguments, describable, home
from indistinct.errors import FileError
from indistinct.files import arrays
from indistinct.functions import (
    ConstantKernel,
    Covariance,
    DeltaKernel,
    ExactKernel,
    FourierBasis,
    GaussianKernel,
    GaussianProcess,
    LaplaceKernel,
    LinearSpace,
    MaternKernel,
    PeriodicKernel,
    PolynomialKernel,
    PrivateFunction,
    RandomFeatures,
    RationalQuadraticKernel,
)
from indistinct.functions.function import FunctionNoise
from indistinct.mechanisms.mechanism import natural_adjacency
from indistinct.plans.measured import MeasuredWorkload
from indistinct.plans.together import Together
from indistinct.report import explain
from indistinct.synthesis.images.feature_maps import ImageMap, MapPart
from indistinct.synthesis.images.patches import PatchPart
from indistinct.synthesis.images.views import Pixels, Wavelets
from indistinct.synthesis.tables.rounds import NoisyDistances
from indistinct.workloads import (
    AllRange,
    CorrelatedGaussian,
    Explicit,
    Hierarchical,
    Identity,
    IdentityStrategy,
    Kronecker,
    KroneckerStrategy,
    LowerTriangularStream,
    Marginals,
    MarginalStrategy,
    Matrix,
    MatrixMechanism,
    Noise,
    Prefix,
    ResidualStrategy,
    Stacked,
    ToeplitzStream,
    Total,
    TreeStream,
    optimise,
)

REPLACE = Adjacency.REPLACE_ONE
SMOOTH = GaussianKernel((0.2, 1.0))
LINE = {"x": Numbers(0, 1)}
USERS = UserRecords("person", 3, key=5, missing=Missing.ERROR)
FEATURES = RandomFeatures(GaussianKernel(0.2), pairs=3, dimension=1, seed=4)
BASIS = FourierBasis(GaussianKernel(0.3), (0.0,), (1.0,))
AGES = Histogram({"age": Bins(0, 100, 5), "smokes": Categories(["no", "yes"])}, USERS)
MATRIX = MatrixMechanism(Prefix(3), IdentityStrategy(3), 2.0, Noise.LAPLACE)
VIEWS = MapPart(Pixels(0.5), 1.0, 2, 0.5), MapPart(Wavelets(1.0, 0.5, 2), 2.0, 3, 0.25)

EXAMPLES: list[Described] = [
    # mechanisms, and how they combine
    Gaussian(2),
    Gaussian(2, sensitivity=3),
    Laplace(0.5),
    DiscreteGaussian(3),
    NoisyDistances(4, 20.0),
    DiscreteLaplace(3, sensitivity=2),
    Exponential(2, monotonic=True),
    PermuteAndFlip(2),
    ReportNoisyMax(2, 3),
    RandomizedResponse(0.75, categories=4),
    RandomShift(2.0, (0.0, 1.0, 2.0), (0.5, 0.3, 0.2)),
    TruncatedSum(1.0, 0.05, 4, 60),
    Discrete((0.5, 0.5), (0.25, 0.75)),
    1000 * Gaussian(1.1).subsample(0.01),
    Gaussian(1).subsample(0.01),
    Gaussian(1).subsample(5, of=100),
    (Gaussian(1) + 2 * Laplace(3)).subsample(0.1),
    (2 * Gaussian(1)).group(3),
    2 * (Gaussian(1) + Laplace(3)),
    RepeatAndSelect(Gaussian(1), 10, shape=0.5),
    AboveThreshold(4, 8, sensitivity=2, monotonic=True),
    Gaussian(1) + 2 * Laplace(3),
    parallel(Gaussian(1), Laplace(1) + Gaussian(2)),
    mixture([Gaussian(1), Laplace(1)], [0.25, 0.75]),
    Stated(ApproxDP(1, 1e-6)),
    ApproxDP(1, 1e-6, adjacency="replace-one") + Gaussian(20),
    parse("3 * (pure(1) + gdp(0.5)).group(2) + gaussian(2)"),
    # claims
    PureDP(0.5),
    ApproxDP(1, 1e-6, adjacency=REPLACE),
    GaussianDP(0.8),
    ZeroConcentratedDP(0.1),
    RenyiCurve([2, 8, math.inf], [0.1, 0.4, math.inf]),
    PrivacyProfile([0.5, 2], [0.01, 1e-6]),
    TradeoffCurve([0, 0.01, 0.1, 1], [1, 0.95, 0.7, 0]),
    # what is asked of tables
    Numbers(0, 10, Outside.ERROR, of=Times("day", "Europe/Berlin")),
    Bins(0, 1, 4),
    Categories([1, 2], outside=Outside.ERROR),
    Intervals([0, 1, 10], whole=True),
    OrMissing(Categories(["no", "yes"])),
    Times("day"),
    Records(),
    USERS,
    UserTotals("person", Norm.L2, 2.5),
    Count(),
    AGES,
    Sum("x", Numbers(0, 1)),
    VectorSum(("x", "y"), Norm.L2, 1.0),
    Variance("x", Numbers(0, 1)),
    GroupBy({"a": Categories([1, 2])}, Mean("x", Numbers(0, 1))),
    Mean("x", Numbers(0, 1), UserTotals("person", Norm.L1, 2.0)),
    Quantiles("x", Bins(0, 1, 16), [0.5, 0.75]),
    Tables({"x": Intervals([0, 1, 5]), "y": Categories(["a", "b"])}, [("x",), ("x", "y")]),
    FeatureSum(LINE, FEATURES, block=("y", Categories([0, 1])), records=50),
    ProductSum(LINE, FEATURES),
    Within({"a": [1, 2], "b": [2]}, outside=Outside.ERROR),
    Hierarchy({"x": Categories(["a", "b"]), "y": Within({"a": [1, 2], "b": [2]})}, (2, 0, 3), True, USERS),
    OutsideDomain("x", Numbers(0, 1), USERS),
    UsersOver("person", 3),
    Ladder("x", high=100.0),
    Ladder("x", of=Times("day")),
    BetweenRungs(Ladder("x"), 3, 5),
    SuggestedBounds(Ladder("x").gaussian(3), 0.9),
    LinearRegression("y", {**LINE, "y": Numbers(0, 2)}),
    LogisticRegression("y", {**LINE, "y": Categories(["no", "yes"])}, USERS),
    LogisticRegression("y", {**LINE, "y": Categories(["no", "yes"])}).laplace(2.0),
    CovarianceTable({**LINE, "y": Numbers(0, 2)}),
    Count().laplace(2),
    AGES.gaussian(3),
    HeavyHitters("word", 2, 9, USERS, of=Kind.INTEGER),
    Quantile("x", Bins(0, 1, 16), 0.5, 3),
    # kernels and spaces
    SMOOTH,
    ConstantKernel(3),
    DeltaKernel(4),
    LaplaceKernel(0.5),
    MaternKernel(smoothness=1.5, length=2),
    PeriodicKernel(length=1, period=3),
    PolynomialKernel(2, offset=1.0, radius=2.0),
    RationalQuadraticKernel(1.5, (1.0, 2.0)),
    SMOOTH + ConstantKernel(1),
    (SMOOTH + ConstantKernel(1)) * DeltaKernel(2).on(0),
    (SMOOTH * ConstantKernel(2)).scale(2),
    (SMOOTH + ConstantKernel(1)).on(0, 2),
    Covariance([[2.0, 1.0], [1.0, 2.0]]),
    ExactKernel(SMOOTH, 2),
    FEATURES,
    LinearSpace((0.0, -1.0), (1.0, 10.0)),
    BASIS,
    GaussianProcess(ExactKernel(SMOOTH, 2), 5, sensitivity=2),
    FunctionNoise(2.0**37, 1.0, 2.0**36, 2.0**37),
    Budget(epsilon=1, delta=1e-6),
    Budget(renyi=0.5, order=8),
    # workloads and strategies
    Identity(3),
    Total(3),
    Prefix(3),
    AllRange(3),
    Matrix([[1, 1, 0], [0, 1, 1]]),
    Kronecker(Total(2), Prefix(3)),
    Stacked(Identity(3), Total(3), weights=(1, 2)),
    Marginals((2, 3), ways=1),
    IdentityStrategy(3),
    Explicit([[1.0, 0.5], [0.0, 1.0]]),
    Hierarchical(5, branching=3),
    KroneckerStrategy(IdentityStrategy(2), Hierarchical(3)),
    optimise(Prefix(3)).strategy,
    MarginalStrategy((2, 3), ((0,), (1,)), (1.0, 2.0)),
    ResidualStrategy((2, 3), ((), (0,), (1,)), (1.0, 2.0, 3.0)),
    MATRIX,
    ToeplitzStream(8, [1.0, 0.5]),
    LowerTriangularStream([[1.0, 0.0], [0.5, 2.0]]),
    TreeStream(8),
    CorrelatedGaussian(TreeStream(8), 2, sensitivity=0.5, separation=4, participations=2),
    # images
    PatchPart((3, 16, 16), 0.5, filters=4, pictures=50),
    *VIEWS,
    *(part.view for part in VIEWS),
    ImageMap((1, 4, 4), VIEWS, 0.25, seed=3),
    # plans
    MeasuredWorkload(Histogram({"x": Bins(0, 1, 3)}), MATRIX),
    Together((Laplace(1), Laplace(1.0001))),
]
# Of other mechanisms, that of the laws' list will do.
EXAMPLES += {
    type(case.subject): case.subject
    for case in SINGLE
    if isinstance(case.subject, Described) and type(case.subject) not in map(type, EXAMPLES)
}.values()
KINDS = {key: declared for key, declared in TABLE.items() if declared.__module__.startswith("indistinct.")}
PYTHON = {
    **{declared.__name__: declared for declared in KINDS.values() if not getattr(declared, "form", "")},
    "inf": math.inf,
    "mixture": mixture,
    "parallel": parallel,
}


def check(value: Described) -> None:
    """The law for one value."""
    again = from_json(json.loads(json.dumps(value.to_json())))
    assert type(again) is type(value) and again == value and hash(again) == hash(value)
    assert eval(repr(value), dict(PYTHON)) == value


def saved(value: Any) -> set[tuple[str, str]]:
    """Every kind that is named in the JSON of a value."""
    if isinstance(value, list):
        return set().union(*map(saved, value))
    if not isinstance(value, dict):
        return set()
    named = {(noun, kind) for noun, kind in value.items() if isinstance(kind, str) and (noun, kind) in TABLE}
    return named.union(*map(saved, value.values()))


def lacking(examples: list[Described]) -> set[tuple[str, str]]:
    """Declared classes without an example. Words such as `Norm.L1` are examples wherever they occur."""
    roots = {(value.noun, value.kind) for value in examples}
    words = set().union(*(saved(value.to_json()) for value in examples))
    return {key for key, one in KINDS.items() if key not in (words if issubclass(one, Enum) else roots)}


def test_every_describable_class_has_an_example() -> None:
    for module in set(_HOMES.values()):
        importlib.import_module(f"indistinct.{module}")
    assert KINDS == {key: one for key, one in TABLE.items() if one.__module__.startswith("indistinct.")}
    assert not lacking(EXAMPLES)
    # and would be missed: one class, and one word
    assert lacking([one for one in EXAMPLES if type(one) is not Gaussian]) == {("mechanism", "gaussian")}
    assert ("is", "Norm") in lacking([one for one in EXAMPLES if "Norm" not in repr(one)])


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: repr(value)[:60])
def test_what_is_saved_reads_back_equal_and_prints_as_what_makes_it(value: Described) -> None:
    check(value)
    if isinstance(value, Mechanism):
        neighbours = natural_adjacency(value)
        again = Mechanism.from_json(value.to_json())
        assert again.guarantee(neighbours) == value.guarantee(neighbours)


@pytest.mark.parametrize(
    "value",
    [
        m
        for m in EXAMPLES
        if isinstance(m, Mechanism) and type(m).__module__.startswith("indistinct.mechanisms")
    ],
)
def test_expressions_say_the_same(value: Mechanism) -> None:
    assert parse(str(value)) == value


def test_a_class_that_forgets_is_found() -> None:
    @describable("forgetful")
    class Forgetful(Gaussian):
        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "scale", self.scale + 1)

    @describable("mistaken", scale="sensitivity", sensitivity="scale")
    class Mistaken(Gaussian):
        pass

    try:
        for mistake in (Forgetful(2), Mistaken(2)):
            with pytest.raises(AssertionError):
                check(mistake)
        with pytest.raises(TypeError, match="there is another mechanism gaussian"):
            describable("gaussian")(type("Other", (Gaussian,), {}))
    finally:
        del TABLE["mechanism", "forgetful"], TABLE["mechanism", "mistaken"]


def test_kinds_are_found_where_they_are_declared() -> None:
    for (noun, kind), declared in KINDS.items():
        inside = f"{declared.__module__}.".startswith(f"indistinct.{home(noun, kind)}.")
        assert inside or declared is Adjacency, (noun, kind)


def test_a_query_is_read_from_the_core() -> None:
    told = json.dumps((2 * Count().laplace(2)).to_json())
    code = f"import indistinct; print(repr(indistinct.from_json({json.loads(told)!r})))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "2 * Count().laplace(2.0)"


def test_formats() -> None:
    told = (3 * Gaussian(2)).to_json()
    assert told["format"] == 1 and "format" not in told["base"]
    del told["format"]  # as it was written before there were formats
    assert from_json(told) == 3 * Gaussian(2)
    assert from_json({**MATRIX.to_json(), "noise": "laplace"}) == MATRIX  # and so were noises
    for other in (2, 0, True, None, "1"):
        with pytest.raises(ExpressionError, match="format must be 1"):
            from_json({"format": other, **told})
    with pytest.raises(ArgumentError, match="format must be absent"):
        from_json({**told, "base": Gaussian(2).to_json()})


def test_files_of_another_format_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "function.npz"
    function = GaussianProcess(FEATURES, 5).release([0.0] * FEATURES.size)
    function.save(path)
    assert PrivateFunction.load(path).space == FEATURES
    with monkeypatch.context() as patched:
        patched.setattr(arrays, "FORMAT", 2)
        function.save(path)
    with pytest.raises(FileError, match="must be in format 1"):
        PrivateFunction.load(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "one of the names"),
        ({"is": "Norm", "value": "L1"}, "one of the names"),
        ({"mechanism": "os.system"}, "mechanism must be one of above_threshold, allocated, composed"),
        ({"is": "os.system", "command": "ls"}, "is must be one of"),
        ({"claim": "pure", "epsilon": -1}, "epsilon must be a non-negative"),
        ({"claim": "pure"}, "epsilon must be given: pure has epsilon, adjacency"),
        ({"claim": "pure", "bound": 1}, "bound must be absent"),
        ({"claim": "pure", "epsilon": 1, "adjacency": {"is": "Adjacency", "value": "both"}}, "'add/remove'"),
        ({"workload": "kronecker", "factors": 3}, "kronecker has factors"),
        ({"workload": "kronecker", "factors": [3]}, "factors"),
        ({"mechanism": "stated", "claim": 3}, "claim must be"),
        ({"mechanism": "measured_query", "query": 1, "matrix": 2}, "query must be"),
        ({"mechanism": "together", "parts": [1]}, "parts must be"),
    ],
)
def test_what_describes_nothing_is_refused(data: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        from_json(data)


def test_another_class_is_refused_and_so_is_nesting() -> None:
    with pytest.raises(ExpressionError, match="a description of a Mechanism"):
        Mechanism.from_json(Count().to_json())
    deep: Any = {"kernel": "constant"}
    for _ in range(DEEPEST + 1):
        deep = {"kernel": "scaled", "part": deep, "factor": 1}
    with pytest.raises(ExpressionError, match="nesting"):
        from_json(deep)
    with pytest.raises(ArgumentError, match="given by points"):
        TradeoffCurve(lambda fpr: (1 - fpr) ** 2).to_json()


def test_in_brief_large_tables_are_words() -> None:
    small, large = (MatrixMechanism(Identity(n), Explicit(np.eye(n)), 2.0) for n in (2, 11))
    assert from_json(small.to_json(brief=True)) == small
    told = large.to_json(brief=True)
    assert (
        told["strategy"]["table"] == "<11 x 11 numbers>" and told["workload"] == large.to_json()["workload"]
    )
    with pytest.raises(ArgumentError, match="table must be an array"):
        from_json(told)


# -- the same things under the same names -------------------------------------------------------------


def test_python_and_expressions_offer_the_same() -> None:
    for made, text in (
        (parallel(Gaussian(1), Laplace(1)), "parallel(gaussian(1), laplace(1))"),
        (mixture([Gaussian(1), Laplace(1)], [0.25, 0.75]), "mixture([gaussian(1), laplace(1)], [1/4, 3/4])"),
        (sum([Gaussian(1), Laplace(1), Gaussian(2)]), "sum([gaussian(1), laplace(1), gaussian(2)])"),
        (100 * Gaussian(1).subsample(256 / 60000), "100 * gaussian(1).subsample(256/60000)"),
        (Gaussian(1).subsample(5, of=100).group(2), "gaussian(1).subsample(5, of=100).group(2)"),
    ):
        assert parse(text) == made
    assert sum([PureDP(0.5), PureDP(0.25)]) == PureDP(0.5) + PureDP(0.25)
    for text in (
        "gaussian(1/0)",
        "sum([])",
        "sum(gaussian(1))",
        "mixture([gaussian(1)], [0.5])",
        "[gaussian(1)]",
    ):
        with pytest.raises(ArgumentError):
            parse(text)


def test_claims_and_mechanisms_compose() -> None:
    both = ApproxDP(1, 1e-6) + Gaussian(20)
    assert both == Stated(ApproxDP(1, 1e-6)) + Gaussian(20) != Gaussian(20) + ApproxDP(1, 1e-6)
    known = ApproxDP(1, 1e-6) + Gaussian(20).guarantee()
    assert both.guarantee() == known == parse("approx(1, 1e-6) + gaussian(20)").guarantee()
    assert repr(both) == "Stated(ApproxDP(1.0, 1e-06)) + Gaussian(20.0)"
    with pytest.raises(ArgumentError, match="add/remove, as ApproxDP"):  # nothing is claimed about others
        both.guarantee("replace-one")
    assert parse("approx(1, 1e-6)").guarantee("replace-one") == ApproxDP(1, 1e-6, adjacency=REPLACE)
    fixed = PureDP(1, adjacency=REPLACE) + Gaussian(20)
    assert natural_adjacency(fixed) is REPLACE and explain(fixed).guarantee.adjacency is REPLACE
    with pytest.raises(ArgumentError, match="does not tell what is sampled"):
        both.subsample(0.1)
    found = calibrate(lambda scale: PureDP(0.5) + Gaussian(scale), Budget(epsilon=1, delta=1e-6))
    assert found.guarantee().epsilon(delta=1e-6) <= 1
    assert parallel(PureDP(1), Laplace(2)).guarantee().pure() == 1


def test_adjacencies_may_be_named() -> None:
    assert Gaussian(1).guarantee("replace-one") == Gaussian(1).guarantee(REPLACE)
    assert Gaussian(1).guarantee("add-remove") == Gaussian(1).guarantee("add/remove")
    assert Sum("x", Numbers(-1, 1)).sensitivity(Norm.L1, "replace-one") == 2  # type: ignore[arg-type]
    assert explain(PureDP(1), adjacency="add/remove").guarantee == PureDP(1)
    with pytest.raises(ArgumentError, match="'add-remove' or 'replace-one'"):
        Gaussian(1).guarantee("replace")


@pytest.mark.parametrize(
    ("guarantee", "text"),
    [
        (Gaussian(2).guarantee(), "<guarantee of GaussianPair(shift=0.5), add/remove>"),
        (
            (10 * Laplace(2).subsample(0.5)).guarantee() + Gaussian(2).guarantee(),
            "<guarantee of 10 * MixturePair(base=LaplacePair(loss=0.5), rate=0.5) + GaussianPair(shift=0.5),"
            " add/remove>",
        ),
        (
            3 * ZeroConcentratedDP(0.1) + RenyiCurve([2], [1]),
            "3 * ZeroConcentratedDP(0.1) + RenyiCurve((2.0,), (1.0,))",
        ),
        (
            mixture([PureDP(1), GaussianDP(1)], [0.5, 0.5]),
            "mixture([PureDP(1.0), GaussianDP(1.0)], [0.5, 0.5])",
        ),
        (parallel(PureDP(1), GaussianDP(1)), "parallel(PureDP(1.0), GaussianDP(1.0))"),
    ],
)
def test_guarantees_are_printed_for_people(guarantee: Any, text: str) -> None:
    assert repr(guarantee) == str(guarantee) == text


def words_of(example: Described) -> dict[str, Any]:
    fields = getattr(example, "__dataclass_fields__", {})
    return {
        name: getattr(example, name)
        for name, own in fields.items()
        if isinstance(own.type, type) and issubclass(own.type, Enum)
    }


@pytest.mark.parametrize("example", [one for one in EXAMPLES if words_of(one)], ids=repr)
def test_words_are_checked_where_they_are_given(example: Described) -> None:
    """A word that is none of those allowed is refused at once, and one that is may be given by its name."""
    given = arguments(example)
    for name, word in words_of(example).items():
        with pytest.raises(ArgumentError, match=name):
            type(example)(**{**given, name: "banana"})
        assert type(example)(**{**given, name: word.value}) == example
