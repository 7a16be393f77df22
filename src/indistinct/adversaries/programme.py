"""The restricted Rényi divergence of one released number, by convex programming, with a certificate.

For a class closed under scaling (Chaudhuri, Imola and Machanavajjhala 2019, equations 2 and 3, Lemma 3)

    exp((α-1) D) = sup over h of (E_P h)^α / (E_Q |h|^A)^(α-1),   A = α/(α-1),

so D = -log V with V the least E_Q|h|^A of an h = a.φ with E_P h = 1, which is convex in a. Its dual asks for
the least ||g||_α with E_Q[g φ] = E_P φ. From any h the function g = |h|^(A-1) sign h / V nearly meets that
condition; what is missing, and what quadrature may have got wrong, is made up by a small multiple of bounded
functions, whose norm is added (Minkowski). So what is returned is an upper bound wherever the search
stopped, and V itself gives the lower one.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.bracket import Bracket
from indistinct.adversaries.coordinate import Coordinate
from indistinct.adversaries.quadrature import NEAREST, Line
from indistinct.adversaries.span import Span
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, TINY, Array

ROUNDING = 64 * EPS
"""Relative rounding of an integral, on top of what refining its rule shows."""
_DEPENDENT = 1e-11
_MOST_STEPS = 100
_CONVERGED = 1e-25
_LAST_STEP = 1e-14
"""Where the next step is the last: convergence is quadratic."""
_FURTHEST = 1.25
"""From one power of |h| to the next, a search goes no further than this factor."""


class _Norm(NamedTuple):
    """log ||h||_A under Q for h = a . φ, with its first two derivatives in a (divided by the norm)."""

    log: float
    slope: Array
    bend: Array


class Moments(NamedTuple):
    """The features of a span, made orthonormal under Q, and their means under P with an error bound."""

    basis: Array
    target: Array
    error: Array


def feature_moments(place: Coordinate, line: Line) -> Moments:
    """What a programme has to know of the features; `line` is cut for Q."""
    gram, _, _ = _expect(line)
    scale = np.sqrt(np.diag(gram))
    if not np.isfinite(gram).all() or (scale <= 0).any():
        raise ArgumentError("features", line.span, "of finite and positive second moment under the noise")
    if np.linalg.eigvalsh(gram / np.outer(scale, scale))[0] < _DEPENDENT:
        raise ArgumentError("features", line.span, "linearly independent, the constant among them")
    basis = np.linalg.inv(np.linalg.cholesky(gram))
    _, mean, error = _expect(Line(place.p, line.span))
    return Moments(basis, basis @ mean, np.abs(basis) @ error)


def _expect(line: Line) -> tuple[Array, Array, Array]:
    """E[φ φ'] and E[φ], and how far the latter may be off."""
    reach = line.square_extent()
    means = []
    for dense in (False, True):
        x, log_weight = line.rule(*reach, dense=dense)
        features, weight = line.span(x), np.exp(log_weight)
        means.append(features @ weight)
    error = np.abs(means[1] - means[0]) + ROUNDING * (np.abs(features) @ weight)
    return (features * weight) @ features.T, means[1], error


class Programme:
    """One coordinate against one span. It keeps its last solution: the next order starts from there."""

    def __init__(self, place: Coordinate, span: Span) -> None:
        self.line = Line(place.q, span)
        self.moments = feature_moments(place, self.line)
        self._plane = null_space(self.moments.target)
        start = self.moments.target / (self.moments.target @ self.moments.target)  # solves order 2
        self._last: tuple[float, Array] = (2.0, start)

    def renyi(self, order: float) -> Bracket:
        """The restricted divergence of a finite order above 1."""
        power = order / (order - 1)
        coefficients = self._search(power)
        self._last = (power, coefficients)
        return self._certify(power, coefficients)

    def chi_squared(self) -> float:
        """sup E_P h - E_Q[h + h²/4] = E_P φ' G^-1 E_P φ - 1, with the constant in the span."""
        return max(float(self.moments.target @ self.moments.target) - 1, 0.0)

    # -- the search ----------------------------------------------------------------------------

    def _search(self, power: float) -> Array:
        """Newton's method on the norm, from the last order solved and through powers in between."""
        last, a = self._last
        while max(power / last, last / power) > _FURTHEST:
            last = last * _FURTHEST if power > last else max(last / _FURTHEST, power)
            a = self._newton(a, last, enough=1e-6)
        return self._newton(a, power, enough=_CONVERGED)

    def _newton(self, a: Array, power: float, enough: float) -> Array:
        plane, norm = self._plane, self._norm(a, power)
        before = math.inf
        for _ in range(_MOST_STEPS):
            slope = plane.T @ norm.slope
            bend = plane.T @ norm.bend @ plane
            bend += 1e-15 * np.trace(bend) * np.eye(bend.shape[0])
            step = np.linalg.solve(bend, -slope)
            decrement = -float(slope @ step)
            # near the end the norm itself is flat to rounding, and only the slope still shows progress
            near = decrement < 1e-9
            if not decrement > enough or (near and decrement >= before):
                break
            before = decrement if near else math.inf
            if decrement < _LAST_STEP:
                return a + plane @ step
            size = 1.0
            while size > 1e-6:
                tried = a + plane @ (size * step)
                at = self._norm(tried, power)
                if near or at.log <= norm.log - 0.1 * size * decrement:
                    break
                size /= 2 if size > 0.2 else 8
            else:
                break
            a, norm = tried, at
        return a

    def _norm(self, a: Array, power: float) -> _Norm:
        x, log_weight, zeros = self._rule(a, power)
        basis = self.moments.basis @ self.line.span(x)
        h = a @ basis
        with np.errstate(divide="ignore", invalid="ignore"):
            size = power * np.log(np.abs(h)) + log_weight
            top = float(size.max())
            weight = np.exp(size - top)
            total = float(weight.sum())
            weight /= total
            ratio = np.where(h != 0, basis / h, 0.0)
        slope = ratio @ weight
        bend = (power - 1) * ((ratio * weight) @ ratio.T - np.outer(slope, slope))
        if power < 2.5 and zeros.size:
            bend += self._at_zeros(a, power, zeros, top + math.log(total))
        return _Norm((top + math.log(total)) / power, slope, bend)

    def _at_zeros(self, a: Array, power: float, zeros: Array, log_total: float) -> Array:
        """What |h|^(A-2) holds nearer to its poles than any node: nearly all of it as A falls to 1."""
        step = 1e-6
        ahead, behind = (self.moments.basis @ self.line.span(zeros + side * step) for side in (1.0, -1.0))
        steepness = np.abs(a @ (ahead - behind)) / (2 * step) + TINY
        at = (ahead + behind) / 2
        log_size = (
            (power - 2) * np.log(steepness)
            + (power - 1) * math.log(NEAREST)
            + self.line.law.log_density(zeros)
            + math.log(2.0)
            - log_total
        )
        return (at * np.exp(np.minimum(log_size, 300.0))) @ at.T

    def _rule(self, a: Array, power: float, *, dense: bool = False) -> tuple[Array, Array, Array]:
        raw = a @ self.moments.basis
        reach = self.line.extent(lambda features: power * np.log(np.abs(raw @ features)))
        if reach is None:
            raise ArgumentError(
                "features", self.line.span, f"of finite moment of order {power:g} under the noise"
            )
        low, high = reach
        zeros = self.line.span.zeros(raw, low, high)
        zeros = zeros[(zeros > low) & (zeros < high)]
        return *self.line.rule(low, high, zeros, dense=dense), zeros

    # -- the certificate -----------------------------------------------------------------------

    def _certify(self, power: float, a: Array) -> Bracket:
        target, target_error = self.moments.target, self.moments.error
        order = power / (power - 1)
        found = []
        for dense in (False, True):
            x, log_weight, _ = self._rule(a, power, dense=dense)
            basis = self.moments.basis @ self.line.span(x)
            h = a @ basis
            with np.errstate(divide="ignore"):
                log_h = np.log(np.abs(h))
            log_v = log_sum(power * log_h + log_weight)
            log_g = (power - 1) * log_h - log_v
            if not log_g.max() < 600:
                return Bracket(0.0, math.inf)
            g = np.sign(h) * np.exp(log_g)
            found.append((log_v, basis @ (g * np.exp(log_weight))))
        (coarse_v, coarse), (log_v, met) = found
        v_error = abs(log_v - coarse_v) + ROUNDING
        # what is seen to be missing is put in, what cannot be seen is bounded
        repaired = g + (target - met) @ self._dual(basis)
        size = np.abs(basis) @ np.abs(g * np.exp(log_weight))
        unseen = np.abs(met - coarse) + ROUNDING * size + target_error
        with np.errstate(divide="ignore"):
            log_norm = log_sum(order * np.log(np.abs(repaired)) + log_weight) / order
        log_norm += v_error / power
        high = power * (log_norm + math.log1p(float(unseen @ self._repair[1]) * math.exp(-log_norm)))
        reached = float(a @ target) - float(np.abs(a) @ target_error)
        low = power * math.log(reached) - log_v - v_error if reached > 0 else 0.0
        return Bracket(max(low, 0.0), max(high, 0.0) * (1 + 4 * EPS))

    def _dual(self, basis: Array) -> Array:
        """Bounded functions that change one mean each: the features, held where they grow large."""
        dual: Array = self._repair[0] @ held(basis)
        return dual

    @cached_property
    def _repair(self) -> tuple[Array, Array]:
        """How those are made from the held features, and bounds on them."""
        x, log_weight = self.line.rule(*self.line.square_extent())
        basis = self.moments.basis @ self.line.span(x)
        kept = held(basis)
        mix: Array = np.linalg.inv((kept * np.exp(log_weight)) @ basis.T)
        return mix, 1.1 * np.abs(mix @ kept).max(axis=1)


def held(basis: Array) -> Array:
    """The features, scaled down where their norm is large."""
    size = np.linalg.norm(basis, axis=0)
    kept: Array = basis * np.minimum(1.0, 8 * math.sqrt(basis.shape[0]) / size)
    return kept


def log_sum(size: Array) -> float:
    top = float(size.max())
    return top + math.log(float(np.exp(size - top).sum()))


def null_space(target: Array) -> Array:
    """An orthonormal basis of the vectors orthogonal to a target."""
    q, _ = np.linalg.qr(target[:, None], mode="complete")
    plane: Array = q[:, 1:]
    return plane
