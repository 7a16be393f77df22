"""Features and their means: what a programme has to know of the two laws.

A `Measure` is a law with features on it and rules to integrate over it: the real line under noise
(`quadrature.Line`), or finitely many outcomes (`table.Table`).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import EPS, Array

ROUNDING = 64 * EPS
"""Relative rounding of an integral, on top of what refining its rule shows."""
_DEPENDENT = 1e-11


class Rule(NamedTuple):
    """Nodes, and the logarithms of their weights under a law."""

    x: Array
    log_weight: Array


class Reach(NamedTuple):
    """From where to where to integrate an exponential, and where to cut so that no peak is missed."""

    low: float
    high: float
    cuts: Array


class Measure(Protocol):
    """A law, features, and rules for the expectations of functions that these span."""

    @property
    def named(self) -> Any:
        """The features, as an error message names them."""

    @property
    def all_moments(self) -> bool: ...

    @property
    def local(self) -> bool: ...

    def features(self, x: Array) -> Array:
        """One a row."""

    def log_density(self, x: Array) -> Array: ...

    def zeros(self, coefficients: Array, low: float, high: float) -> Array:
        """Where a function changes sign, as far as its rule has to know."""

    def peaks(self, coefficients: Array) -> Array:
        """Where to cut for e^h with these coefficients, so that no peak is missed."""

    def extent(
        self, log_size: Callable[[Array], Array], cuts: Array | None = None, ceiling: float = math.inf
    ) -> tuple[float, float] | None:
        """Where e^{log_size(features)} times the density is not negligible against its largest value, or
        against a ceiling in logarithms; none if that never ends."""

    def square_extent(self) -> tuple[float, float]:
        """Where the squares of the features matter; refused where their second moment is infinite."""

    def rule(
        self,
        low: float,
        high: float,
        zeros: Array | None = None,
        *,
        dense: bool = False,
        exponential: bool = False,
    ) -> Rule:
        """A rule from low to high for functions with these zeros, or for exponentials of functions."""


class Moments(NamedTuple):
    """A basis of the span, its means under P with an error bound, and the coefficients that solve order 2."""

    basis: Array
    target: Array
    error: Array
    second: Array


def feature_moments(p: Measure, q: Measure, *, orthonormal: bool = True) -> Moments:
    """The features made orthonormal under Q, or only of unit size. Refuses features that are linearly
    dependent or have no second moment."""
    gram, _, _ = _expect(q)
    scale = np.sqrt(np.diag(gram))
    if not np.isfinite(gram).all() or (scale <= 0).any():
        allowed = "of finite and positive second moment (none may live where the noise never is)"
        raise ArgumentError("features", q.named, allowed)
    if np.linalg.eigvalsh(gram / np.outer(scale, scale))[0] < _DEPENDENT:
        raise ArgumentError("features", q.named, "linearly independent, of each other and of the constant")
    _, mean, error = _expect(p)
    if orthonormal:
        basis = np.linalg.inv(np.linalg.cholesky(gram))
        second = basis @ mean
    else:
        basis = np.diag(1 / scale)
        second = np.linalg.solve(gram / np.outer(scale, scale), basis @ mean)
    target = basis @ mean
    return Moments(basis, target, np.abs(basis) @ error, second / float(second @ target))


def feature_means(measure: Measure) -> tuple[Array, Array]:
    """E[φ] under a law, and how far it may be off."""
    _, mean, error = _expect(measure)
    return mean, error


def _expect(measure: Measure) -> tuple[Array, Array, Array]:
    reach = measure.square_extent()
    means = []
    for dense in (False, True):
        x, log_weight = measure.rule(*reach, dense=dense)
        features, weight = measure.features(x), np.exp(log_weight)
        means.append(features @ weight)
    error = np.abs(means[1] - means[0]) + ROUNDING * (np.abs(features) @ weight)
    return (features * weight) @ features.T, means[1], error


def held(basis: Array) -> Array:
    """The features, scaled down smoothly where their norm is large: bounded functions of the same shape."""
    most = held_at_most(basis.shape[0])
    with np.errstate(over="ignore"):
        size = np.linalg.norm(basis, axis=0)
        kept: Array = basis * (most / np.hypot(most, size))
    return kept


def held_at_most(count: int) -> float:
    """The norm below which so many features are held."""
    return 8 * math.sqrt(count)


def eliminated(target: Array) -> Array:
    """A basis of the vectors orthogonal to a target that leaves all coordinates as they are but one."""
    pivot = int(np.abs(target).argmax())
    plane = np.delete(np.eye(target.size), pivot, axis=1)
    plane[pivot] = -np.delete(target, pivot) / target[pivot]
    return plane


def null_space(target: Array) -> Array:
    """An orthonormal basis of the vectors orthogonal to a target."""
    q, _ = np.linalg.qr(target[:, None], mode="complete")
    plane: Array = q[:, 1:]
    return plane


def log_sum(size: Array) -> float:
    """log of the sum of e^size."""
    top = float(size.max())
    if top == -math.inf:
        return top
    return top + math.log(float(np.exp(size - top).sum()))
