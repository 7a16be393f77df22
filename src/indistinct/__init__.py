"""Differential privacy, known exactly.

Describe a mechanism once; read its guarantee in every language of the field.

>>> from indistinct import Gaussian, calibrate
>>> run = 14062 * Gaussian(scale=1.1, sensitivity=1).subsample(256 / 60000)
>>> guarantee = run.guarantee()
>>> guarantee.epsilon(delta=1e-5)
2.3815969
>>> guarantee.tradeoff(fpr=0.05)
0.8575
"""

import importlib
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency
from indistinct.description import from_json
from indistinct.errors import ArgumentError, ExpressionError, TargetError
from indistinct.guarantees import (
    ApproxDP,
    GaussianDP,
    GaussianReport,
    Guarantee,
    Interval,
    PrivacyProfile,
    PureDP,
    RenyiCurve,
    TradeoffCurve,
    ZeroConcentratedDP,
)
from indistinct.mechanisms import (
    Budget,
    Calibrated,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    RandomizedResponse,
    Release,
    ReportNoisyMax,
    Stated,
    calibrate,
    mechanism_from_json,
    mixture,
    parallel,
    parse,
    parse_guarantee,
)

if TYPE_CHECKING:
    from indistinct.adversaries import (
        Adversary,
        Features,
        Linear,
        PiecewiseLinear,
        Polynomial,
        Unrestricted,
        generalization_gap,
    )

__version__ = "0.1.0"

__all__ = [
    "Adjacency",
    "Adversary",
    "ApproxDP",
    "ArgumentError",
    "Budget",
    "Calibrated",
    "Discrete",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "ExpressionError",
    "Features",
    "Gaussian",
    "GaussianDP",
    "GaussianReport",
    "Guarantee",
    "Interval",
    "Laplace",
    "Linear",
    "Mechanism",
    "PermuteAndFlip",
    "PiecewiseLinear",
    "Polynomial",
    "PrivacyProfile",
    "PureDP",
    "RandomizedResponse",
    "Release",
    "RenyiCurve",
    "ReportNoisyMax",
    "Stated",
    "TargetError",
    "TradeoffCurve",
    "Unrestricted",
    "ZeroConcentratedDP",
    "calibrate",
    "from_json",
    "generalization_gap",
    "mechanism_from_json",
    "mixture",
    "parallel",
    "parse",
    "parse_guarantee",
]


def __getattr__(name: str) -> Any:
    """Adversaries are imported when they are asked for: most programs start a little faster."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("indistinct.adversaries"), name)
