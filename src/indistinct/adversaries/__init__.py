"""Adversaries of limited capacity: what a release leaks to someone who can only apply some functions."""

from indistinct.adversaries.adversary import (
    Adversary,
    Features,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Unrestricted,
)
from indistinct.adversaries.reading import Reading, disjoint, either, sequential
from indistinct.adversaries.rules import AffineMap, AnyMap, PolynomialMap, Rules

__all__ = [
    "Adversary",
    "AffineMap",
    "AnyMap",
    "Features",
    "Linear",
    "PiecewiseLinear",
    "Polynomial",
    "PolynomialMap",
    "Reading",
    "Rules",
    "Unrestricted",
    "disjoint",
    "either",
    "sequential",
]
