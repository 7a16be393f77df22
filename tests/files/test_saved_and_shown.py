"""Files that say what was spent, arguments that are refused before noise is drawn, and errors and
representations that show no value of a record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import (
    Adjacency,
    ArgumentError,
    Budget,
    Exponential,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Release,
    from_json,
)
from indistinct.data import (
    Count,
    HeavyHitters,
    Kind,
    Norm,
    Numbers,
    Records,
    UserRecords,
    UserTotals,
    table,
)
from indistinct.errors import DataError
from indistinct.files import read_saved, write_npz
from indistinct.functions import (
    Covariance,
    ExactKernel,
    GaussianKernel,
    GaussianProcess,
    PrivateDensity,
    PrivateFunction,
    RandomFeatures,
    release_density,
)
from indistinct.functions.function import FunctionNoise
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.release import Released
from indistinct.noise import NotPrivateSource
from indistinct.noise.source import Words
from indistinct.workloads import IdentityStrategy, MatrixMechanism, Noise, Prefix

SECRET = 123456.789
RNG = np.random.default_rng(0)
POINTS = {"x": RNG.uniform(0, 1, 3000), "user": np.arange(3000) // 2}
AXIS = {"x": Numbers(0, 1)}


class Watched(NotPrivateSource):
    """Counts how often bits were asked for."""

    def words(self, count: int) -> Words:
        object.__setattr__(self, "asked", getattr(self, "asked", 0) + 1)
        return super().words(count)


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The file with another description, as somebody would write it who knows how."""
    head, arrays = read_saved(path)
    change(head)
    write_npz(path, head, arrays)
    return path


# files


def test_whatever_is_released_keeps_one_protocol(tmp_path: Path) -> None:
    space, counts = RandomFeatures(GaussianKernel(0.2), pairs=5, dimension=1), [3, 1, 4, 1]
    for source in (None, NotPrivateSource(3)):
        told: list[Released] = [
            Gaussian(2).release([1.0, 2.5], source=source),
            Laplace(2).release(7, source=source),
            RandomizedResponse(0.7).release([0, 1, 1], source=source),
            Exponential(1).release([3, 4], source=source),
            Count(UserRecords("user", 2)).gaussian(9.0).release(POINTS, source=source),
            MatrixMechanism(Prefix(4), IdentityStrategy(4), 2.0).release(counts, source=source),
            MatrixMechanism(Prefix(4), IdentityStrategy(4), 2.0, Noise.LAPLACE).release(
                counts, source=source
            ),
            GaussianProcess(space, 4).of_sum(POINTS, AXIS, source=source),
            GaussianProcess(ExactKernel(GaussianKernel(0.2), 1), 4).of_sum(POINTS, AXIS, source=source),
            release_density(POINTS, AXIS, Budget(rho=0.1), source=source),
        ]
        for one in told:
            assert isinstance(one, Released) and one.private is (source is None)
            one.save(tmp_path / "one")
            again = type(one).load(tmp_path / "one")  # type: ignore[attr-defined]
            assert type(again) is type(one) and again.private is one.private
            for adjacency in Adjacency:
                assert again.guarantee(adjacency).epsilon(1e-6) == one.guarantee(adjacency).epsilon(1e-6)
    assert Budget(rho=0.1 * (1 + 1e-6)).met_by(release_density(POINTS, AXIS, Budget(rho=0.1)).guarantee())


def test_what_is_only_accounted_is_not_released() -> None:
    for mechanism in (2 * Gaussian(1), Gaussian(1) + Laplace(1), Gaussian(1).subsample(0.5)):
        with pytest.raises(ArgumentError, match="each by itself"):
            mechanism.release(3)


@pytest.mark.parametrize(
    "change", [{"scale": 1e20}, {"sensitivity": -1.0}, {"mechanism": "count"}, {"scale": "2"}], ids=str
)
def test_numbers_are_not_read_from_nonsense(tmp_path: Path, change: dict[str, Any]) -> None:
    Gaussian(2).release([1.0, 2.5]).save(tmp_path / "one")
    with pytest.raises(ArgumentError, match="one"):
        Release.load(edited(tmp_path / "one", lambda head: head["release"].update(change)))
    with pytest.raises(ArgumentError, match="values"):
        Release({"a": 1}, Gaussian(2), True).save(tmp_path / "other")


@pytest.mark.parametrize(
    "unit",
    [
        {"is": "UserRecords", "column": None, "most": 1, "key": 0},  # everybody's records would take part
        {"is": "Records", "column": "user"},  # nobody's would
        {"is": "UserTotals", "column": 3, "norm": {"is": "Norm", "value": "L1"}, "bound": 2.0},
    ],
)
def test_a_unit_without_its_column_is_not_read(unit: dict[str, Any]) -> None:
    saved = Count().laplace(2).to_json()
    with pytest.raises(ArgumentError, match="column"):
        from_json({**saved, "query": {"is": "Count", "unit": unit}})


def test_counts_of_another_unit_are_not_released() -> None:
    words = {"word": np.array(["a"] * 50), "user": np.ones(50, dtype=int)}
    many, one = (HeavyHitters("word", 2, 5, UserRecords("user", most)) for most in (50, 1))
    with pytest.raises(ArgumentError, match="ask this mechanism") as refused:
        one.release(many.occurring(words))
    assert "50" not in str(refused.value).replace("('user', 50)", "")
    assert set(one.release(one.occurring(words)).values) <= {"a"}


@pytest.mark.parametrize(
    "change",
    [
        {"private": "no"},
        {"private": 1},
        {"scale": 0.0},
        {"unit": -1.0},
        {"added": -1.0},
        {"replaced": float("nan")},
    ],
)
def test_a_function_is_not_read_from_nonsense(tmp_path: Path, change: dict[str, Any]) -> None:
    space = RandomFeatures(GaussianKernel(0.2), pairs=5, dimension=1)
    GaussianProcess(space, 4).of_sum(POINTS, AXIS).save(tmp_path / "f.npz")
    PrivateFunction.load(tmp_path / "f.npz")
    with pytest.raises(ArgumentError):
        place = "head" if "private" in change else "mechanism"
        changed = lambda head: {"head": head, **head}[place].update(change)  # noqa: E731
        PrivateFunction.load(edited(tmp_path / "f.npz", changed))


def test_noise_on_a_coarse_lattice_promises_nothing() -> None:
    # A neighbour moves by less than a unit, which is not a loss of nothing.
    for adjacency in Adjacency:
        assert FunctionNoise(1.0, 1e9, 1.0, 1.0).guarantee(adjacency).epsilon(delta=1e-6) == np.inf
    assert FunctionNoise(2.0**36, 1.0, 2.0**36, 2.0**36).guarantee().epsilon(delta=1e-6) < 10


def _counts_private(head: dict[str, Any]) -> None:
    head["counts"]["private"] = "no"


def _sized(head: dict[str, Any]) -> None:
    head["sized"] = "no"


def _other_count(head: dict[str, Any]) -> None:
    head["count"]["mechanism"] = Count().laplace(1e9).to_json()


def _other_counts(head: dict[str, Any]) -> None:
    head["counts"]["mechanism"] = Count().laplace(1e9).to_json()


@pytest.mark.parametrize("change", [_counts_private, _sized, _other_count, _other_counts])
def test_a_density_is_not_read_from_nonsense(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    density = release_density(POINTS, AXIS, Budget(epsilon=0.05, delta=1e-6))
    assert density.count is not None
    density.save(tmp_path / "d.npz")
    read = PrivateDensity.load(tmp_path / "d.npz")
    for adjacency in Adjacency:
        for delta in (1e-9, 1e-6):
            known = density.guarantee(adjacency).epsilon(delta=delta)
            assert read.guarantee(adjacency).epsilon(delta=delta) == known
    with pytest.raises(ArgumentError):
        PrivateDensity.load(edited(tmp_path / "d.npz", change))


def test_a_matrix_mechanism_is_not_read_with_more_than_it_knows() -> None:
    plan = MatrixMechanism(Prefix(3), IdentityStrategy(3), scale=2)
    assert MatrixMechanism.from_json(plan.to_json()) == plan
    with pytest.raises(ArgumentError, match="steps must be absent"):
        MatrixMechanism.from_json({**plan.to_json(), "steps": 3})


def test_rows_that_were_not_written_in_full_are_not_left(tmp_path: Path) -> None:
    from indistinct.plans.folder import Folder

    def rows() -> Any:
        yield ["count"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Folder(tmp_path).write_rows("ages", rows())
    assert not list(tmp_path.iterdir())


# before noise is drawn


@pytest.mark.parametrize(
    "wrong",
    [
        {"bandwidth": 5.0},
        {"bandwidth": "x"},
        {"budget": 2.0},
        {"budget": Budget(epsilon=1), "bandwidth": 0.1},
        {"unit": UserTotals("user", Norm.L1, 2.0), "budget": Budget(epsilon=1), "records": 10**10},
        {"budget": Budget(mu=0.5), "bandwidth": 9},
    ],
)
def test_a_density_is_refused_before_anything_is_drawn(wrong: dict[str, Any]) -> None:
    source = Watched(0)
    with pytest.raises(ArgumentError):
        release_density(POINTS, AXIS, **{"budget": Budget(epsilon=1, delta=1e-6), **wrong}, source=source)
    assert not hasattr(source, "asked")


def test_coefficients_are_counted_before_noise_is_drawn() -> None:
    source = Watched(0)
    with pytest.raises(ArgumentError, match="2 numbers"):
        GaussianProcess(Covariance([[1.0, 0.0], [0.0, 1.0]]), 1, 1).release([1.0, 2.0, 3.0], source=source)
    assert not hasattr(source, "asked")


def test_a_choice_is_not_made_for_a_release_that_is_refused() -> None:
    pytest.importorskip("sklearn")
    from indistinct.functions.estimators import PrivateKernelRidge

    source, kernels = Watched(0), [GaussianKernel(0.1), GaussianKernel(0.3)]
    budget = Budget(epsilon=1e-9, delta=1e-12)
    declared: dict[str, Any] = {"box": (0, 1), "targets": (0, 1), "records": 100}
    model = PrivateKernelRidge(budget, **declared, candidates=kernels, pairs=5, source=source)
    with pytest.raises(ArgumentError, match="larger"):
        model.fit(np.linspace(0, 1, 100)[:, None], np.linspace(0, 1, 100))
    assert not hasattr(source, "asked") and not hasattr(model, "space_")


# what is shown


@pytest.mark.parametrize(
    "release",
    [
        lambda: Gaussian(1).release([SECRET, "x"]),
        lambda: Gaussian(1).release([[SECRET], [1, 2]]),
        lambda: Gaussian(1).release(np.array(1234560000000000000)),
        lambda: Gaussian(1).release(np.complex128(SECRET)),
        lambda: Gaussian(2e-290).release(1.23456e299),
        lambda: DiscreteLaplace(2).release(SECRET),
        lambda: DiscreteGaussian(2).release([SECRET]),
        lambda: Exponential(1).release([[SECRET]]),
        lambda: RandomizedResponse(0.75).release([0, 1, 123456]),
        lambda: GaussianProcess(Covariance([[1.0]]), 1, 1).release([[SECRET]]),
        lambda: Covariance([[1.0]]).coefficients_of([SECRET, "Alice"]),
        lambda: Covariance([[1.0]]).coefficients_of([SECRET, 1e200]),
    ],
)
def test_an_error_does_not_show_a_private_number(release: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError) as refused:
        release()
    assert "23456" not in str(refused.value) + repr(refused.value.value)


@pytest.mark.parametrize("where", ["X", "y"])
def test_estimators_do_not_show_texts(where: str) -> None:
    pytest.importorskip("sklearn")
    from indistinct.functions import estimators as known

    good, bad = np.linspace(0, 1, 10), np.array(["0.5"] * 9 + ["Alice"], dtype=object)
    X, y = (bad if where == "X" else good)[:, None], bad if where == "y" else good
    given: dict[str, Any] = {"budget": Budget(epsilon=1, delta=1e-6), "box": (0, 1), "records": 10}
    models = [known.PrivateKernelRidge(**given, targets=(0, 1))]
    if where == "X":
        models += [known.PrivateKernelMean(**given), known.PrivateKernelDensity(**given)]
        models += [known.PrivateKernelClassifier(**given, classes=[0, 1])]
    for model in models:
        with pytest.raises(DataError, match="numbers") as refused:
            model.fit(X, y)
        assert "Alice" not in str(refused.value) and refused.value.__context__ is None


def test_columns_of_a_table_do_not_show_their_records() -> None:
    records = table({"x": np.array([SECRET]), "name": np.array(["Alice"])})
    shown = repr([*records.batches({"x": Kind.NUMBER, "name": Kind.TEXT}, None)])
    assert "23456" not in shown and "Alice" not in shown


def test_users_need_a_column() -> None:
    with pytest.raises(ArgumentError, match="column"):
        UserRecords(None, 1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="column"):
        Records("user")  # type: ignore[arg-type]
