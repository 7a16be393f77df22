"""Features and their means: what a programme has to know of the two laws."""

import math
from typing import NamedTuple

import numpy as np

from indistinct.adversaries.solvers.quadrature import ROUNDING, Measure, Reach
from indistinct.adversaries.solvers.signed import Coefficients, Signed
from indistinct.errors import ArgumentError
from indistinct.numerics.arrays import Array

_DEPENDENT = 1e-11
"""Features of unit size whose Gram matrix has a smaller eigenvalue than this are refused."""


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
    return _expect(measure)[1:]


def _expect(measure: Measure) -> tuple[Array, Array, Array]:
    reach = measure.square_extent()
    means = []
    for dense in (False, True):
        x, log_weight = measure.rule(reach, dense=dense)
        features, weight = measure.features(x), np.exp(log_weight)
        means.append(features @ weight)
    error = np.abs(means[1] - means[0]) + ROUNDING * (np.abs(features) @ weight)
    return (features * weight) @ features.T, means[1], error


class LostError(ArithmeticError):
    """A search that has left what can be integrated."""


def power_reach(measure: Measure, basis: Array, a: Coefficients, power: float) -> Reach:
    """From where to where |h|^A matters for h = a . φ, and the zeros of h there. Where features are local,
    |h|^(A-1) times the features counts too: |h|^A alone would not see the pieces where h nearly vanishes."""
    if measure.local:
        signed = Signed.of(a).times(np.diag(basis))
        signed = Signed(signed.sign, signed.log - signed.largest())
        if not np.isfinite(signed.sign * np.exp(signed.log)).all():
            raise LostError
        seen: list[Array] = []  # on the grid of extents, which is looked at twice

        def log_h(features: Array) -> Array:
            if not seen:
                seen.append(signed.combine(features).log)
            return seen[0]

        raw: Coefficients = signed
        alone = measure.extent(lambda features: power * log_h(features))
        beside = measure.extent(
            lambda features: (power - 1) * log_h(features) + np.log1p(np.abs(features).max(axis=0))
        )
        if alone is None or beside is None:
            raise LostError
        reach = alone.and_to(beside)
    else:
        raw = plain = np.asarray(a @ basis)
        far = measure.extent(lambda features: power * np.log(np.abs(plain @ features)))
        if far is None:
            if measure.all_moments or not (plain.any() and np.isfinite(plain).all()):
                raise LostError
            allowed = f"of finite moment of order {power:g} under the noise"
            raise ArgumentError("features", measure.named, allowed)
        reach = far
    zeros = measure.zeros(raw, reach.low, reach.high)
    return reach._replace(cuts=zeros[(zeros > reach.low) & (zeros < reach.high)])


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


def log_power(values: Array, power: float, log_weight: Array) -> float:
    """log of the sum of |values|^power, weighted."""
    with np.errstate(divide="ignore"):
        return log_sum(power * np.log(np.abs(values)) + log_weight)
