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

from indistinct.adjacency import Adjacency
from indistinct.errors import ArgumentError, ExpressionError, TargetError
from indistinct.guarantees import (
    ApproxDP,
    GaussianDP,
    GaussianReport,
    Guarantee,
    Interval,
    PureDP,
    RenyiCurve,
    ZeroConcentratedDP,
    parallel,
)
from indistinct.mechanisms import (
    Discrete,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    calibrate,
    mechanism_from_json,
    parse,
)

__version__ = "0.1.0"

__all__ = [
    "Adjacency",
    "ApproxDP",
    "ArgumentError",
    "Discrete",
    "ExpressionError",
    "Gaussian",
    "GaussianDP",
    "GaussianReport",
    "Guarantee",
    "Interval",
    "Laplace",
    "Mechanism",
    "PureDP",
    "RandomizedResponse",
    "RenyiCurve",
    "TargetError",
    "ZeroConcentratedDP",
    "calibrate",
    "mechanism_from_json",
    "parallel",
    "parse",
]
