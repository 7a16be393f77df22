"""Each mistake that once understated a loss, planted again: a law must see it."""

import math
import operator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from compositions import fresh
from scipy.special import log_ndtr
from test_hard_reference import OWN_DIGITS, ROWS
from test_laws_composition import PHASES, check_reversed_lines

from indistinct import Laplace, parse_guarantee
from indistinct.guarantees import engines, loss_reader
from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.guarantee import ExactGuarantee, PairGuarantee
from indistinct.guarantees.pair import Resolution
from indistinct.guarantees.product import Product
from indistinct.guarantees.profiled_pairs import GroupPair
from indistinct.guarantees.sampled_gaussians import SampledGaussians
from indistinct.guarantees.tails import Need
from indistinct.mechanisms import noise
from indistinct.numerics import contour
from indistinct.numerics.envelope import SPLIT_WIDTH, SmoothWindow
from indistinct.testing import check_only_the_request_matters

CONTOUR_ALONE = ((engines.contour, engines.by_order),)
LATTICE, WEAK = "100 * randomized_response(0.55)", "200 * gaussian(1.0).subsample(0.005)"


def assert_none_below(regime: str) -> None:
    """As test_hard_reference, but read now: of a few rows."""
    for row in [row for row in ROWS if row["regime"] == regime and row["reading"] == "delta"][:6]:
        value = parse_guarantee(row["mechanism"]).delta(row["at"])
        assert value >= row["low"] * (1 - OWN_DIGITS)


def test_the_laws_hold_without_a_mistake() -> None:
    assert_none_below("training")
    part = fresh(LATTICE).delta_interval(8.7).low
    assert fresh(f"{LATTICE} + {WEAK}").delta(8.7) >= part * (1 - OWN_DIGITS)
    check_only_the_request_matters(fresh(WEAK), fresh(WEAK), 1e-6, 0.5, ["epsilon", "delta"])


def test_a_line_that_stops_where_a_lattice_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said about frequencies beyond the last node, where a lattice comes back."""
    part = fresh(LATTICE).delta_interval(8.7).low
    monkeypatch.setattr(ComposedLoss, "log_envelope", lambda *_: -1e3)
    monkeypatch.setattr(ComposedLoss, "both_envelopes", lambda *_: [-1e3, -1e3])
    monkeypatch.setattr(loss_reader, "ROUTE", CONTOUR_ALONE)
    assert fresh(f"{LATTICE} + {WEAK}").delta(8.7) >= part * (1 - OWN_DIGITS)  # such a line is not drawn
    monkeypatch.setattr(contour, "_PASSED", math.inf)
    with pytest.raises(AssertionError):
        assert fresh(f"{LATTICE} + {WEAK}").delta(8.7) >= part * (1 - OWN_DIGITS)


def test_a_direction_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairGuarantee, "directions", property(lambda g: (g.product.reverse(),)))
    with pytest.raises(AssertionError):
        assert_none_below("training")


def test_a_far_tail_that_is_cut_and_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_line, log_cut = engines.draw_line, ComposedLoss.log_cut

    def careless(
        cumulant: Any, envelope: Any, aim: Any, infinite: float, charged: float, accuracy: float
    ) -> Any:
        return draw_line(cumulant, envelope, aim, infinite, 0.0, accuracy)

    monkeypatch.setattr(engines, "draw_line", careless)
    monkeypatch.setattr(ComposedLoss, "log_cut", lambda loss, level: log_cut(loss, level) + 25.0)
    monkeypatch.setattr(loss_reader, "ROUTE", CONTOUR_ALONE)
    with pytest.raises(AssertionError):
        assert_none_below("training")


def test_a_range_that_suits_only_one_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses that share their nodes share a range, which must hold the furthest of them."""
    truth, reach = fresh(PHASES).epsilon_interval(1e-9), SampledGaussians._reach

    def short(losses: SampledGaussians, resolution: Resolution) -> tuple[float, float]:
        low, high = reach(losses, resolution)
        return low, high / 2

    monkeypatch.setattr(SampledGaussians, "_reach", short)
    assert fresh(PHASES).epsilon(1e-9) < truth.low


def test_a_tail_kept_from_another_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, kept = loss_reader.drawn, {}

    def kept_first(engine: Any, loss: Any, level: int) -> Any:
        return kept.setdefault((engine, id(loss)), drawn(engine, loss, level))

    monkeypatch.setattr(loss_reader, "drawn", kept_first)
    with pytest.raises(AssertionError):
        check_only_the_request_matters(fresh(WEAK), fresh(WEAK), 1e-6, 0.5, ["epsilon", "delta"])


def test_windows_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands as products of two smooth steps do not add up to the law: more than it is counted from below."""

    def product(self: SmoothWindow, x: Any) -> Any:
        ends = (
            away for end, away in ((self.first, x - self.first), (self.last, self.last - x)) if abs(end) < 1e9
        )
        return sum(log_ndtr(away.real / SPLIT_WIDTH) for away in ends)

    monkeypatch.setattr(SmoothWindow, "log_share", product)
    with pytest.raises(AssertionError):
        assert fresh("2 * gaussian(0.3).subsample(0.01)").epsilon_interval(1e-5).low <= 11.372779591177905


def test_a_group_whose_records_are_all_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group may add some records and remove others."""
    assert_none_below("groups")
    monkeypatch.setattr(GroupPair, "_one", lambda group, epsilon: group.pair.reversed_profile(epsilon))
    with pytest.raises(AssertionError):
        assert_none_below("groups")


def test_the_largest_loss_is_not_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_hold() -> bool:
        return all(
            Fraction((steps * Laplace(scale=scale)).guarantee().epsilon(0)) >= steps / Fraction(scale)
            for steps in (1, 2, 7)
            for scale in np.linspace(0.3, 9.0, 20).tolist()
        )

    assert all_hold()
    monkeypatch.setattr(noise, "quotient_up", operator.truediv)
    assert not all_hold()


def test_a_reversed_line_that_is_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of both directions are drawn at once: each must be what it is said to be."""
    check_reversed_lines()
    both = SampledGaussians.both_cumulants

    def forward_only(self: SampledGaussians, resolution: Resolution) -> Any:
        cumulant = both(self, resolution)
        rule = cumulant.rule
        return replace(cumulant, rule=replace(rule, loss=rule.loss[[0, 0]], log_q=rule.log_q[[0, 0]]))

    monkeypatch.setattr(SampledGaussians, "both_cumulants", forward_only)
    with pytest.raises(AssertionError):
        check_reversed_lines()


def check_rough(g: PairGuarantee) -> None:
    """What need not be close is a bound, whichever direction is read first."""
    epsilon = np.array([0.0, 0.2, 1.0, 3.0])
    known = g.delta_interval(epsilon)
    least = known.low * (1 - OWN_DIGITS)
    for turned in (g, ExactGuarantee(g.product.reverse(), g.adjacency)):
        for rough in (0.5, 0.1, 1e-3):
            about = turned._delta_about(epsilon, Need(rough, rough))
            assert (about >= least).all() and (about <= known.high + rough).all()


def test_a_direction_that_is_less_than_what_need_not_be_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown to be below what another reading feels, and so not told at all: 0 for 0.0085."""
    text = "3 * discrete([0.2, 0.8], [0.05, 0.95]) + 5 * gaussian(2.0).subsample(0.3)"
    check_rough(fresh(text))
    right = Product.covers_reverse

    def careless(product: Product, epsilon: Any, delta: Any) -> Any:
        return right(product, epsilon, np.maximum(delta, 0.5))

    monkeypatch.setattr(Product, "covers_reverse", careless)
    with pytest.raises(AssertionError):
        check_rough(fresh(text))
