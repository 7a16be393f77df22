"""Workloads of linear queries, and the matrix mechanism that answers them with the least noise."""

from indistinct.mechanisms.additive import Noise
from indistinct.workloads.combined import Kronecker, Stacked
from indistinct.workloads.correlated_noise import CorrelatedGaussian
from indistinct.workloads.marginals import Marginals
from indistinct.workloads.mechanism import MatrixMechanism
from indistinct.workloads.optimal import Optimum, optimise
from indistinct.workloads.product import KroneckerStrategy
from indistinct.workloads.release import MatrixRelease
from indistinct.workloads.residual import ResidualStrategy
from indistinct.workloads.strategy import (
    Explicit,
    Hierarchical,
    IdentityStrategy,
    Strategy,
    best_hierarchical,
)
from indistinct.workloads.streams import (
    LowerTriangularStream,
    Stream,
    ToeplitzStream,
    TreeStream,
    banded_stream,
    least_error,
    optimal_stream,
    square_root_stream,
)
from indistinct.workloads.weighted import MarginalStrategy
from indistinct.workloads.workload import AllRange, Identity, Implicit, Matrix, Prefix, Total, Workload

__all__ = [
    "AllRange",
    "CorrelatedGaussian",
    "Explicit",
    "Hierarchical",
    "Identity",
    "IdentityStrategy",
    "Implicit",
    "Kronecker",
    "KroneckerStrategy",
    "LowerTriangularStream",
    "MarginalStrategy",
    "Marginals",
    "Matrix",
    "MatrixMechanism",
    "MatrixRelease",
    "Noise",
    "Optimum",
    "Prefix",
    "ResidualStrategy",
    "Stacked",
    "Strategy",
    "Stream",
    "ToeplitzStream",
    "Total",
    "TreeStream",
    "Workload",
    "banded_stream",
    "best_hierarchical",
    "least_error",
    "optimal_stream",
    "optimise",
    "square_root_stream",
]
