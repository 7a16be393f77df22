"""The laws that ship with the library: what is right keeps them, and each of them sees a planted mistake."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
from cases import SINGLE, Case, each

from indistinct import (
    Discrete,
    Gaussian,
    Guarantee,
    Interval,
    Laplace,
    Linear,
    Mechanism,
    Polynomial,
    PureDP,
    RandomizedResponse,
    Release,
)
from indistinct.description import TABLE, describable
from indistinct.guarantees.composed_loss import ComposedLoss
from indistinct.guarantees.discrete_pair import DiscretePair
from indistinct.guarantees.engines import contour
from indistinct.guarantees.guarantee import ExactGuarantee, PairGuarantee
from indistinct.guarantees.mixture_pair import mixture
from indistinct.guarantees.noise_pairs import GaussianPair, LaplacePair
from indistinct.guarantees.product import Product
from indistinct.noise import Source
from indistinct.testing import (
    check_adversary,
    check_directions,
    check_engine,
    check_guarantee,
    check_mechanism,
    check_no_less,
    check_noise,
    check_pair,
    integrated,
)
from indistinct.testing.pairs import check_far_profile

KNOWN = [case for case in SINGLE if case.truth]


@each(KNOWN)
def test_what_is_known_otherwise(case: Case) -> None:
    assert isinstance(case.subject, Mechanism)
    check_mechanism(case.subject, case.adjacency, truth=case.truth, neighbours=case.neighbours)


# -- planted mistakes ----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Planted(ExactGuarantee):
    """A guarantee with one method replaced."""

    method: str = ""
    wrong: Any = field(default=None, compare=False)

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name == object.__getattribute__(self, "method"):
            return partial(object.__getattribute__(self, "wrong"), found)
        return found


def planted(method: str, wrong: Any) -> Callable[[], Guarantee]:
    pairs = Product.of([(DiscretePair((0.25, 0.75), (0.75, 0.25)), 1)])
    return lambda: Planted(pairs, method=method, wrong=wrong)


COUNTER = count(1)


@pytest.mark.parametrize(
    ("law", "method", "wrong"),
    [
        ("delta", "delta", lambda right, epsilon: right(epsilon) / 2),
        ("epsilon is at least 0", "epsilon", lambda right, delta: right(delta) * math.nan),
        (
            "does not fall with the order",
            "renyi",
            lambda right, order: right(order) * np.where(np.equal(order, 5), 0.5, 1.0),
        ),
        ("pure epsilon", "pure", lambda right: right() * 0.9),
        ("a trade-off lies between", "tradeoff", lambda right, fpr: right(fpr) + 0.3),
        (
            "a trade-off is convex",
            "tradeoff",
            lambda right, fpr: np.where(np.equal(fpr, 0.3), 0.56, right(fpr)),
        ),
        ("an interval ends at its reading", "delta_interval", lambda right, epsilon: Interval(0.0, 1.0)),
        (
            "the same after other readings",
            "renyi",
            lambda right, order: right(order) * (1 + 1e-12 * next(COUNTER)),
        ),
        ("the same alone", "epsilon", lambda right, at: right(at) * (1 + 1e-13 * (np.size(at) == 3))),
        ("two records tell no less", "group", lambda right, size: PureDP(0.1)),
    ],
)
def test_a_guarantee_that_breaks_a_law(law: str, method: str, wrong: Any) -> None:
    with pytest.raises(AssertionError, match=law):
        check_guarantee(planted(method, wrong))


def test_a_guarantee_that_keeps_them() -> None:
    check_guarantee(planted("", None))
    check_no_less((2 * Laplace(1)).guarantee(), [Laplace(1).guarantee()], 1e-6, 0.4)
    with pytest.raises(AssertionError, match="tells no less"):
        check_no_less(Laplace(1.01).guarantee(), [Laplace(1).guarantee()], 1e-6, 0.4)


def test_a_direction_that_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    g = Discrete((0.7, 0.2, 0.1), (0.4, 0.25, 0.35)).guarantee()
    check_directions(g)
    monkeypatch.setattr(PairGuarantee, "directions", property(lambda g: (g.product,)))
    with pytest.raises(AssertionError, match="both directions count"):
        check_directions(Discrete((0.7, 0.2, 0.1), (0.4, 0.25, 0.35)).guarantee())


@dataclass(frozen=True)
class PlantedPair(LaplacePair):
    """A pair with one method replaced."""

    method: str = ""
    wrong: Any = field(default=None, compare=False)
    __getattribute__ = Planted.__getattribute__


@pytest.mark.parametrize(
    ("law", "method", "wrong"),
    [
        ("delta is P", "profile", lambda right, epsilon: right(epsilon) / 2),
        ("delta turned round", "reversed_profile", lambda right, epsilon: right(epsilon) / 2),
        (
            "reversed_profile is at least 1 - e",
            "reversed_profile",
            lambda right, epsilon: np.where(epsilon < -600, 0.5, right(epsilon)),
        ),
        ("profile falls", "profile", lambda right, epsilon: right(np.where(epsilon > 500, 0.0, epsilon))),
        ("both tails", "tails", lambda right, loss: right(loss)._replace(p_above=right(loss).p_above - 0.1)),
        ("tail of P falls", "tails", lambda right, loss: right(np.sin(40 * loss) / 2)),
        ("P has e", "tails", lambda right, loss: right(loss + 0.01)),
        ("no loss is above", "tails", lambda right, loss: right(np.minimum(loss, 0.699))),
        ("the rule has", "rule_on", lambda right, low, high, wave: right(low, high - 0.1, wave)),
        ("the moment of order", "log_moment", lambda right, order: right(order) * 1.05),
        ("turned twice", "reverse", lambda right: GaussianPair(1.0)),
    ],
)
def test_a_pair_that_breaks_a_law(law: str, method: str, wrong: Any) -> None:
    check_pair(PlantedPair(0.7))
    with pytest.raises(AssertionError, match=law):
        check_pair(PlantedPair(0.7, method=method, wrong=wrong))


def test_pairs_of_all_cases() -> None:
    guarantees = [case.guarantee() for case in SINGLE]
    pairs = {pair for g in guarantees if isinstance(g, PairGuarantee) for pair, _ in g.product.terms}
    assert len(pairs) > 30
    for pair in pairs:
        check_pair(pair)
        # next to nothing, and next to all: of a listed loss of 600 a rate of 1e-45 made delta 2.7e-5
        for rate in (1e-300, 1e-45, 1e-12, 0.3, 1 - 1e-12) if not pair.by_moments else ():
            check_far_profile(mixture(pair.stand_in, rate))


# Mechanisms that are declared wrongly, or draw what they do not account for.


@pytest.fixture
def declared() -> Iterator[Callable[..., Any]]:
    """Declares a class for one test."""
    before = dict(TABLE)
    yield lambda cls: describable(cls.__name__.lower())(cls)
    for key in TABLE.keys() - before.keys():
        del TABLE[key]


class Forgetful(Gaussian):
    def to_json(self, *, brief: bool = False) -> dict[str, Any]:
        return {**super().to_json(brief=brief), "sensitivity": 1.0}


class Misprinted(Gaussian):
    form = "gaussian({scale})"


class Unread(Gaussian):
    def __str__(self) -> str:
        return "noise of scale 3"


class Unlike(Gaussian):
    def __hash__(self) -> int:
        return id(self)


class Weak(Laplace):
    def release(self, values: Any, *, source: Source | None = None) -> Release:
        drawn = Laplace(self.scale / 3, self.sensitivity).release(values, source=source)
        return Release(drawn.values, Laplace(self.scale, self.sensitivity), drawn.private)


class Seeded(Laplace):
    def release(self, values: Any, *, source: Source | None = None) -> Release:
        return replace(super().release(values, source=source), private=True)


class Understated(Laplace):
    def release(self, values: Any, *, source: Source | None = None) -> Release:
        return replace(super().release(values, source=source), mechanism=Laplace(9.0))


class Amplified(Laplace):
    def subsample(self, amount: Any, /, *, of: int | None = None) -> Mechanism:
        return Laplace(self.scale / 2, self.sensitivity) if amount else super().subsample(amount)


@pytest.mark.parametrize(
    ("law", "mistake"),
    [
        ("what JSON says is equal", Forgetful),
        ("what its expression says is equal", Misprinted),
        ("its expression can be read", Unread),
        ("the same hash", Unlike),
        ("a release tells no more", Weak),
        ("from a seed has no guarantee", Seeded),
        ("what was drawn is accounted", Understated),
        ("a sample tells no more", Amplified),
    ],
)
def test_a_mechanism_that_breaks_a_law(law: str, mistake: type[Any], declared: Any) -> None:
    with pytest.raises(AssertionError, match=law):
        check_mechanism(declared(mistake)(2.0, 3.0))


def test_what_is_right_keeps_the_laws() -> None:
    check_mechanism(Gaussian(2, sensitivity=3))
    check_mechanism(RandomizedResponse(0.75, categories=3), neighbours=(0, 1))


def test_a_density_is_that_of_the_noise() -> None:
    def gaussian(x: Any) -> Any:
        return np.exp(-np.square(x) / 8) / math.sqrt(8 * math.pi)

    check_noise(Gaussian(2, sensitivity=3), gaussian, shift=3, reach=40)
    for mistake, law in ((Gaussian(2.2, 3), "no less"), (Gaussian(1.8, 3), "no more")):
        with pytest.raises(AssertionError, match=f"known to be: {law}"):
            check_noise(mistake, gaussian, shift=3, reach=40)
    with pytest.raises(AssertionError, match="mass 1"):
        integrated(gaussian, shift=3, reach=1)


def test_an_engine_that_is_wrong() -> None:
    g, more = ((n * Gaussian(1).subsample(0.05)).guarantee() for n in (100, 102))
    assert isinstance(g, PairGuarantee) and isinstance(more, PairGuarantee)
    other = ComposedLoss(more.product.terms, 0.0, more.product.finite_top)
    check_engine(contour, g, deltas=(1e-3,))
    with pytest.raises(AssertionError, match="overlap"):
        check_engine(lambda _, level: contour(other, level), g, deltas=(1e-3,))
    with pytest.raises(AssertionError, match="the engine answers"):
        check_engine(lambda loss, level: None, g)


def test_an_adversary_that_is_wrong() -> None:
    class Greedy(Linear):
        def reading(self, guarantee: Guarantee, *, adaptive: bool = True) -> Any:
            return super().reading(2 * guarantee, adaptive=False)

    g = Gaussian(1).guarantee()
    check_adversary(Polynomial(2), g, smaller=[Linear()])
    with pytest.raises(AssertionError, match="no more than all functions"):
        check_adversary(Greedy(), Laplace(0.3).guarantee())
    with pytest.raises(AssertionError, match="no less than"):
        check_adversary(Linear(), g, smaller=[Polynomial(2)])
