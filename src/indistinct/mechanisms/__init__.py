"""Mechanisms: plain descriptions of releases, and how they combine."""

from indistinct.mechanisms.calibration import calibrate
from indistinct.mechanisms.expression import parse, parse_guarantee, parse_statement
from indistinct.mechanisms.finite import Discrete, RandomizedResponse
from indistinct.mechanisms.lattice_noise import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.mechanism import Mechanism, natural_adjacency
from indistinct.mechanisms.noise import Gaussian, Laplace
from indistinct.mechanisms.release import Release
from indistinct.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax
from indistinct.mechanisms.serialise import mechanism_from_json
from indistinct.mechanisms.statement import Statement

__all__ = [
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
    "Statement",
    "calibrate",
    "mechanism_from_json",
    "natural_adjacency",
    "parse",
    "parse_guarantee",
    "parse_statement",
]
