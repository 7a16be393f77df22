"""Adversaries of limited capacity: what a release leaks to someone who can only apply some functions."""

from indistinct.adversaries.classes import (
    Adversary,
    AffineMap,
    AnyMap,
    Features,
    Linear,
    PiecewiseLinear,
    Polynomial,
    PolynomialMap,
    Rules,
    Unrestricted,
)
from indistinct.adversaries.closed_forms import (
    PublishedBound,
    gaussian_kl,
    gaussian_linear_bound,
    laplace_kl,
    laplace_linear_bound,
    laplace_linear_kl,
    published_gaussian_linear,
    published_laplace_linear,
    published_matrix_mechanism,
)
from indistinct.adversaries.estimate import Estimate, estimate, estimate_from
from indistinct.adversaries.generalization import generalization_gap, pinsker, published_pinsker
from indistinct.adversaries.reading import Reading, disjoint, either, sequential

__all__ = [
    "Adversary",
    "AffineMap",
    "AnyMap",
    "Estimate",
    "Features",
    "Linear",
    "PiecewiseLinear",
    "Polynomial",
    "PolynomialMap",
    "PublishedBound",
    "Reading",
    "Rules",
    "Unrestricted",
    "disjoint",
    "either",
    "estimate",
    "estimate_from",
    "gaussian_kl",
    "gaussian_linear_bound",
    "generalization_gap",
    "laplace_kl",
    "laplace_linear_bound",
    "laplace_linear_kl",
    "pinsker",
    "published_gaussian_linear",
    "published_laplace_linear",
    "published_matrix_mechanism",
    "published_pinsker",
    "sequential",
]
