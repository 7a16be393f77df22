"""Releases in Python that an account pays for: charged for what was really run, before anybody sees it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indistinct import ArgumentError, Budget, Gaussian, Laplace, RandomizedResponse
from indistinct.data import Bins, Histogram, Numbers, Outside
from indistinct.errors import DataError, Refused
from indistinct.functions import GaussianKernel, GaussianProcess, RandomFeatures, release_density
from indistinct.ledger import Account, Ledger
from indistinct.noise import NotPrivateSource
from indistinct.tables import PrivateTable, release_together
from indistinct.workloads import Identity, IdentityStrategy, MatrixMechanism

PEOPLE = {"age": np.arange(500) % 64 + 0.5}
SMALL = Budget(epsilon=0.1, delta=1e-6)


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with Ledger.open(tmp_path / "budget.db") as ledger:
        yield ledger.open_account("people", Budget(epsilon=4, delta=1e-6), notion="gdp")
        assert not ledger.verify()


def questions() -> Any:
    table = PrivateTable(PEOPLE, {"age": Numbers(0, 64)})
    return table.count(), table.mean("age", low=0, high=64)


SPACE = RandomFeatures(GaussianKernel(length=0.2), pairs=20, dimension=1)
RELEASES: dict[str, Callable[[Any], Any]] = {
    "gaussian": lambda own: Gaussian(scale=50).release([1.0, 2.0], ledger=own),
    "laplace": lambda own: Laplace(scale=50).release(3, ledger=own),
    "randomized response": lambda own: RandomizedResponse(0.51).release([1, 0], ledger=own),
    "query": lambda own: Histogram({"age": Bins(0, 64, 4)}).gaussian(50.0).release(PEOPLE, ledger=own),
    "matrix": lambda own: MatrixMechanism(Identity(3), IdentityStrategy(3), 50).release(
        [1, 2, 3], ledger=own
    ),
    "question": lambda own: questions()[0].release(SMALL, ledger=own),
    "together": lambda own: release_together(questions(), SMALL, ledger=own),
    "function": lambda own: GaussianProcess(SPACE, 50).of_sum(PEOPLE, {"age": Numbers(0, 64)}, ledger=own),
    "density": lambda own: release_density(PEOPLE, {"age": Numbers(0, 64)}, SMALL, records=500, ledger=own),
}


def test_records_that_could_have_been_refused_tell_something(account: Account) -> None:
    strict = {"age": Numbers(0, 64, Outside.ERROR)}
    Histogram({"age": Bins(0, 64, 4)}).gaussian(50.0).release(PEOPLE, ledger=account)
    PrivateTable(PEOPLE, {"age": Numbers(0, 64)}).mean("age", low=0, high=64).release(SMALL, ledger=account)
    assert account.state().told == 0
    Histogram({"age": Bins(0, 64, 4, Outside.ERROR)}).gaussian(50.0).release(PEOPLE, ledger=account)
    GaussianProcess(SPACE, 50).of_sum(PEOPLE, strict, ledger=account)
    release_density(PEOPLE, strict, SMALL, records=500, ledger=account)
    assert account.state().told == 3 and account.entries()[0].content["tells"]


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_released_is_charged(account: Account, name: str) -> None:
    released = RELEASES[name](account)
    (spend,) = account.spends()
    assert spend.state == "complete" and spend.cost == account.spent > 0
    parts = released if isinstance(released, tuple) else (released,)
    known = sum((part.guarantee("add-remove") for part in parts[1:]), start=parts[0].guarantee("add-remove"))
    charged = account.guarantee()
    for delta in (1e-9, 1e-6, 1e-3):
        assert charged.epsilon(delta) >= known.epsilon(delta) * (1 - 1e-9)
    assert [entry.event for entry in account.entries()][:1] == ["spent"]
    assert RELEASES[name](None) is not None and len(account.spends()) == 1


def test_who_cannot_pay_sees_nothing(account: Account) -> None:
    with pytest.raises(Refused, match="left of epsilon 4"):
        Gaussian(scale=0.1).release(3, ledger=account)
    with pytest.raises(Refused, match="no finite"):  # noise from a seed hides nothing
        Gaussian(scale=50).release(3, ledger=account, source=NotPrivateSource(1))
    assert account.spent == 0 and not account.spends()
    assert [entry.event for entry in account.entries()][:4] == ["refused", "asked", "refused", "asked"]
    with pytest.raises(ArgumentError, match="ledger must be an account"):
        Gaussian(scale=50).release(3, ledger="budget.db")


def test_an_estimator_shows_what_was_paid_for(account: Account) -> None:
    estimators = pytest.importorskip("indistinct.functions.estimators")
    points = np.linspace(-1, 1, 60)[:, None]
    mean = estimators.PrivateKernelMean(Budget(epsilon=50, delta=1e-6), box=(-1, 1))
    with pytest.raises(Refused):
        mean.fit(points, ledger=account)
    assert not hasattr(mean, "function_")
    mean.set_params(budget=SMALL).fit(points, ledger=account)
    assert mean.guarantee().epsilon(1e-6) <= account.guarantee().epsilon(1e-6) * (1 + 1e-9) < 0.11
    assert not hasattr(estimators.PrivateKernelMean(SMALL, box=(-1, 1)), "function_")


def test_an_error_that_tells_something_is_counted(account: Account) -> None:
    ages = Histogram({"age": Bins(0, 32, 4, outside=Outside.ERROR)})
    for _ in range(account.terms.refusals):
        with pytest.raises(DataError):
            ages.gaussian(50.0).release(PEOPLE, ledger=account)
    with pytest.raises(Refused, match="locked"):
        Gaussian(scale=50).release(3, ledger=account)
    asked = len(account.entries())
    with pytest.raises(Refused, match="locked"):  # and reads nothing: that it fails would tell something
        ages.gaussian(50.0).release(PEOPLE, ledger=account)
    assert len(account.entries()) == asked


def test_what_was_not_paid_for_is_not_in_a_traceback(account: Account) -> None:
    with pytest.raises(Refused) as caught:
        Gaussian(scale=0.1).release(1234, ledger=account)
    found, seen = caught.value.__traceback__, []
    while found is not None:
        seen += [repr(value) for value in found.tb_frame.f_locals.values() if value is not caught]
        found = found.tb_next
    assert not [one for one in seen if "Release(" in one]


def test_a_part_of_what_is_closed_reads_nothing(account: Account) -> None:
    part = account.part("north", division="region", cap=Budget(mu=0.1))
    account.close()
    before = len(part.entries())
    with pytest.raises(Refused, match="closed"):
        Gaussian(scale=50).release(3, ledger=part)
    assert len(part.entries()) == before
