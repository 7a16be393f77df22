"""What a mechanism costs in a notion: exact where it is known exactly, else a reading, which is an upper
bound."""

import math
from fractions import Fraction

from indistinct.adjacency import Adjacency
from indistinct.guarantees import GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from indistinct.guarantees.discrete_noise_pairs import FINE
from indistinct.ledger.amounts import NONE, Amount, stated, times, up
from indistinct.ledger.notions import Cap, Notion
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism
from indistinct.mechanisms.budget import dominating_shift, known_mu, known_rho
from indistinct.mechanisms.discrete_noise import whole_steps
from indistinct.mechanisms.mechanism import Composed, Repeated, Stated

_LEAST = Fraction(1, 10**100)
"""Losses beyond its inverse are no guarantee at all, as `NO_NOISE` says."""


def cost_of(mechanism: Mechanism, cap: Cap, adjacency: Adjacency) -> Amount:
    """The cost in the notion of a cap. Steps and parts add up; a query is what it draws.

    >>> cost_of(10 * Laplace(10), Cap(Notion.PURE, Fraction(1)), Adjacency.ADD_REMOVE)
    Fraction(1, 1)
    >>> cost_of(Gaussian(3), Cap(Notion.GDP, Fraction(1)), Adjacency.ADD_REMOVE)
    Fraction(1, 9)
    """
    _ = mechanism.guarantee(adjacency)  # refuses neighbours that it is not about
    return _cost(mechanism, cap, adjacency)


def _cost(mechanism: Mechanism, cap: Cap, adjacency: Adjacency) -> Amount:
    if isinstance(mechanism, Repeated):
        return times(mechanism.steps, _cost(mechanism.base, cap, adjacency))
    if isinstance(mechanism, Composed):
        return sum((_cost(part, cap, adjacency) for part in mechanism.parts), NONE)
    drawn = getattr(mechanism, "drawn", None)
    if callable(drawn):  # a query with noise
        return _cost(drawn(adjacency), cap, adjacency)
    epsilon, rho, square = _exactly(mechanism)
    known: Amount | None = None
    match cap.notion:
        case Notion.PURE:
            known = epsilon
        case Notion.GDP:
            known = square
            if known is None and isinstance(epsilon, Fraction):
                known = Fraction(dominating_shift(math.nextafter(float(epsilon), math.inf))) ** 2
        case Notion.ZCDP:
            known = rho
            if known is None and isinstance(epsilon, Fraction):  # Bun and Steinke 2016, Proposition 1.4
                known = epsilon**2 / 2
        case Notion.RENYI:
            known = None if rho is None or cap.order is None else rho * stated(cap.order)
    return known if known is not None else _reading(mechanism.guarantee(adjacency), cap)


def _reading(guarantee: Guarantee, cap: Cap) -> Amount:
    match cap.notion:
        case Notion.PURE:
            return up(guarantee.pure())
        case Notion.ZCDP:
            return up(known_rho(guarantee))
        case Notion.GDP:
            mu = up(known_mu(guarantee))
            return mu**2 if isinstance(mu, Fraction) else mu
        case Notion.RENYI:
            return up(guarantee.renyi(math.inf if cap.order is None else cap.order))


def _exactly(mechanism: Mechanism) -> tuple[Amount | None, Amount | None, Amount | None]:
    """The epsilon, rho and mu^2 that noise or a claim has in closed form, None for the others."""
    match mechanism:
        case Stated(claim=PureDP(bound=epsilon)):
            return stated(epsilon), None, None
        case Stated(claim=ZeroConcentratedDP(rho=rho)):
            return None, stated(rho), None
        case Stated(claim=GaussianDP(mu=mu)):
            square = stated(mu) ** 2
            return None, square / 2, square
        case Laplace():
            return _ratio(mechanism.sensitivity, mechanism.scale), None, None
        case DiscreteLaplace():
            return _ratio(whole_steps(mechanism.sensitivity), mechanism.scale), None, None
        case Gaussian():
            square = _ratio(mechanism.sensitivity, mechanism.scale) ** 2
            return None, square / 2, square
        case DiscreteGaussian():  # Canonne, Kamath and Steinke 2020, Theorem 4
            fine = mechanism.scale >= FINE
            moved = mechanism.sensitivity if fine else whole_steps(mechanism.sensitivity)
            return None, _ratio(moved, mechanism.scale) ** 2 / 2, None
    return None, None, None


def _ratio(sensitivity: float, scale: float) -> Amount:
    """Of floats as they are."""
    ratio = Fraction(sensitivity) / Fraction(scale)
    return ratio if ratio * _LEAST <= 1 else math.inf
