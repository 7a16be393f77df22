"""Mechanisms: plain descriptions of releases, and how they combine."""

from indistinct.mechanisms.budget import Budget, check_budget
from indistinct.mechanisms.calibration import Calibrated, calibrate
from indistinct.mechanisms.discrete_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.expression import parse, parse_guarantee
from indistinct.mechanisms.finite import Discrete, RandomizedResponse
from indistinct.mechanisms.mechanism import Mechanism, Stated, mixture, natural_adjacency, parallel
from indistinct.mechanisms.noise import Gaussian, Laplace
from indistinct.mechanisms.release import Release
from indistinct.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax

mechanism_from_json = Mechanism.from_json

__all__ = [
    "Budget",
    "Calibrated",
    "Discrete",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "PermuteAndFlip",
    "RandomizedResponse",
    "Release",
    "ReportNoisyMax",
    "Stated",
    "calibrate",
    "check_budget",
    "mechanism_from_json",
    "mixture",
    "natural_adjacency",
    "parallel",
    "parse",
    "parse_guarantee",
]
