"""Law 9: what is composed tells no less, readings do not depend on what was read before, and every reading is
an enclosure. The cheapest laws that catch a wrong engine: nothing has to be known but that they hold."""

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, each
from compositions import anything, beside, deltas, drawn, epsilons, fresh, harsh, lattices, tiny_deltas, weak
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct import Gaussian, RandomizedResponse
from indistinct.guarantees import engines, loss_reader, sampled_gaussians
from indistinct.guarantees.engines import by_bound
from indistinct.guarantees.guarantee import PairGuarantee
from indistinct.guarantees.loss_reader import LossReader
from indistinct.guarantees.tails import EXACT
from indistinct.numerics.arrays import Array
from indistinct.numerics.contour import ContourLine, LogBounds
from indistinct.testing import check_engines, check_intervals, check_no_less, check_only_the_request_matters
from indistinct.testing.guarantees import OWN_DIGITS, requests

ORDERS = [0.5, 1.0, 2.0, 16.0, math.inf]

FEW = settings(max_examples=settings.default.max_examples // 6)
"""Of random compositions, which are dear; `make fuzz` tries more."""

pytestmark = pytest.mark.slow

every_case = each(CASES[::3])
"""A third of them: each is read many times."""


# -- what is composed tells no less -------------------------------------------------------------------------


@FEW
@given(anything, anything, deltas, epsilons)
def test_more_tells_no_less(first: str, second: str, delta: float, epsilon: float) -> None:
    check_no_less(fresh(f"{first} + {second}"), [fresh(first), fresh(second)], delta, epsilon)


@FEW
@given(lattices, weak, deltas, epsilons)
def test_a_weak_part_hides_no_lattice(strong: str, weak: str, delta: float, epsilon: float) -> None:
    """The characteristic function of a lattice comes back at every multiple of its frequency."""
    check_no_less(fresh(f"{strong} + {weak}"), [fresh(strong)], delta, epsilon)


@settings(max_examples=settings.default.max_examples // 3)
@given(drawn, beside, deltas)
def test_an_envelope_hides_no_draws(strong: str, other: str, delta: float) -> None:
    """A law that is cut somewhere has an edge, which its transform shows at every frequency."""
    alone, whole = fresh(strong), fresh(f"{strong} + {other}")
    assert whole.epsilon(delta) >= alone.epsilon_interval(delta).low * (1 - OWN_DIGITS)


@every_case
def test_a_little_more_tells_no_less(case: Case) -> None:
    part = case.fresh()
    more: list[Any] = [Gaussian(scale=300.0), RandomizedResponse(truth=0.52)]
    for other in more:
        whole = case.fresh() + other.guarantee(part.adjacency)
        assert whole.epsilon(1e-6) >= part.epsilon_interval(1e-6).low * (1 - OWN_DIGITS)
        for epsilon in (0.0, 0.5):
            assert whole.delta(epsilon) >= part.delta_interval(epsilon).low * (1 - OWN_DIGITS)
        assert (whole.renyi(ORDERS) >= part.renyi(ORDERS) * (1 - 1e-9)).all()


# -- a reading is a function of the mechanism and the request -------------------------------------------


@settings(max_examples=settings.default.max_examples // 12)  # each is read three times over
@given(anything, tiny_deltas, epsilons, st.permutations(sorted(requests(0, 0))))
def test_only_the_request_matters(text: str, delta: float, epsilon: float, order: list[str]) -> None:
    check_only_the_request_matters(fresh(text), fresh(text), delta, epsilon, order)


@every_case
def test_only_the_request_matters_for_a_case(case: Case) -> None:
    order = sorted(requests(0, 0))
    random.Random(case.name).shuffle(order)
    check_only_the_request_matters(case.fresh(), case.fresh(), 1e-6, 0.4, order)


# -- every reading is an enclosure --------------------------------------------------------------------------


@FEW
@given(anything, tiny_deltas, epsilons)
def test_intervals_do_not_contradict_each_other(text: str, delta: float, epsilon: float) -> None:
    check_intervals(fresh(text), delta, epsilon)


@every_case
def test_intervals_of_a_case_do_not_contradict_each_other(case: Case) -> None:
    g = case.fresh()
    for delta, epsilon in ((1e-12, 0.3), (1e-4, 2.0)):
        check_intervals(g, delta, epsilon)


@FEW
@given(harsh, st.one_of(st.integers(0, 4), st.integers(0, 60)))
def test_engines_do_not_contradict_each_other(text: str, level: int) -> None:
    guarantee = fresh(text)
    assert isinstance(guarantee, PairGuarantee)
    check_engines(guarantee, level)


# -- found by reviewers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "delta", "epsilon"),
    [
        # a bound on a moment normalised an envelope: too little was cut off
        ("17 * laplace(1.027).subsample(3.403e-05)", 7.474179959657047e-09, 0.00048905227),
        # one step, read at its largest loss
        ("laplace(7.642).subsample(0.2381)", 1e-18, 0.03),
        ("3 * (gaussian(2.0).subsample(0.1)).group(2)", 1e-13, 20.0),
    ],
)
def test_intervals_that_did_not_hold(text: str, delta: float, epsilon: float) -> None:
    g = fresh(text)
    check_intervals(g, delta, epsilon)
    assert g.epsilon(delta) < math.inf


@pytest.mark.parametrize(
    ("text", "level"),
    [
        # beyond e^700 Q is no number, and a cell's loss was taken to be its point
        ("5477 * gaussian(1.0)", 1),
        # a rule that ends where P does is no cumulant
        ("35834 * gaussian(20.3) + 2 * gaussian(25.1).subsample(1.93e-6)", 27),
        # an atom at zero that was not listed
        ("3 * gaussian(0.917).subsample(7, of=13593)", 2),
        # what wraps around of a law that goes a little further than the cut one
        ("18 * gaussian(3.66315).subsample(9.75063e-07)", 46),
        # differences of masses, times an order of 1e7
        ("3997 * gaussian(18.97779911953714).subsample(3.89683005019162e-08)", 3),
        # tails of 1e-100 have fewer digits
        ("gaussian(18.41649492731096).subsample(2.30732176065815e-07)", 59),
        # losses that are as small as rounding
        (f"4 * discrete([{1 - 9.6e-08}, 9.6e-08], [{1 - 9.600006e-08}, 9.600006e-08]).subsample(0.004)", 3),
        # nothing is left that has a finite loss
        ("4 * discrete([1, 0], [0, 1]) + gaussian(2)", 0),
        # noise that is no number
        ("42 * randomized_response(0.6433596458639296)", 9),
        ("59 * randomized_response(0.6524347295539672)", 22),
    ],
)
def test_engines_that_contradicted_each_other(text: str, level: int) -> None:
    guarantee = fresh(text)
    assert isinstance(guarantee, PairGuarantee)
    check_engines(guarantee, level)


def test_a_table_claims_no_lower_end() -> None:
    table = fresh("3 * (gaussian(2.0).subsample(0.1)).group(2)")
    assert table.delta_interval(20.0).low == table.epsilon_interval(1e-13).low == 0
    assert table.epsilon_interval(0.0).low == 0


PHASES = " + ".join(f"{40 + 7 * k} * gaussian({0.9 + k / 7}).subsample({0.004 * 1.3**k})" for k in range(9))


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-40])
def test_phases_read_together_are_read_as_if_apart(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    together = fresh(PHASES).epsilon_interval(delta)
    monkeypatch.setattr(sampled_gaussians, "_MOST", 1)
    apart = fresh(PHASES).epsilon_interval(delta)
    assert together.high == pytest.approx(apart.high, rel=1e-8)
    assert max(together.low, apart.low) <= min(together.high, apart.high)


def check_reversed_lines() -> None:
    """The line that was drawn along with that of the other direction bounds delta, and closely."""
    more = "5 * gaussian(0.7).subsample(0.9)", "gaussian(3) + 900 * gaussian(2).subsample(0.05)"
    for text in (PHASES, *more):
        first, second = fresh(text).directions
        line = engines.contour(first.loss, 3)
        assert isinstance(line, ContourLine) and line.turned is not None
        epsilon = np.linspace(0.5, 1.0, 5) * line.aim.epsilon
        low, high = LossReader(second.loss, exact=True).delta_bounds(epsilon, EXACT.at((5,), ...), None)
        found = np.exp(line.turned.read(epsilon).high)
        assert (found >= low).all()
        assert found == pytest.approx(high, rel=1e-6)


def test_reversed_lines() -> None:
    check_reversed_lines()


def test_a_contradiction_is_not_settled_by_a_third() -> None:
    """Two engines that contradict each other may be of different minds, or a third like the wrong one."""

    @dataclass(frozen=True)
    class Says:
        low: float
        high: float
        final: bool = False

        def read(self, epsilon: Array) -> LogBounds:
            flat = np.zeros_like(epsilon)
            return LogBounds(flat + self.low, flat + self.high, flat)

        def guess(self, log_delta: Array) -> Array:
            return np.ones_like(log_delta)

    reader = LossReader(fresh("7 * gaussian(2).subsample(0.5)").product.loss, exact=True)
    tails = [Says(-3.0, -2.9), Says(-9.0, -8.9), Says(-9.0, -8.95)]
    route = [(lambda loss, level, tail=tail: tail, by_bound) for tail in tails]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_reader, "ROUTE", tuple(route))
        low, high = reader.delta_bounds(np.array([0.5]), EXACT.at((1,), ...), None)
    assert np.log([low[0], high[0]]) == pytest.approx([-9.0, -2.9])
