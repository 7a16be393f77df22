"""Functions released once and evaluated anywhere: kernels, Gaussian-process noise, private densities."""

from indistinct.functions.covariance import Covariance
from indistinct.functions.density import PrivateDensity, density_from, public_bandwidth, release_density
from indistinct.functions.exact import ExactKernel, PathFunction
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import FiniteFunction, PrivateFunction
from indistinct.functions.kernels import (
    Characters,
    ConstantKernel,
    DeltaKernel,
    GaussianKernel,
    Kernel,
    LaplaceKernel,
    MaternKernel,
    OnColumns,
    PeriodicKernel,
    PolynomialKernel,
    Product,
    RationalQuadraticKernel,
    Scaled,
    Sum,
)
from indistinct.functions.mechanism import GaussianProcess
from indistinct.functions.random_features import RandomFeatures
from indistinct.functions.space import FiniteSpace, Space

__all__ = [
    "Characters",
    "ConstantKernel",
    "Covariance",
    "DeltaKernel",
    "ExactKernel",
    "FiniteFunction",
    "FiniteSpace",
    "FourierBasis",
    "GaussianKernel",
    "GaussianProcess",
    "Kernel",
    "LaplaceKernel",
    "MaternKernel",
    "OnColumns",
    "PathFunction",
    "PeriodicKernel",
    "PolynomialKernel",
    "PrivateDensity",
    "PrivateFunction",
    "Product",
    "RandomFeatures",
    "RationalQuadraticKernel",
    "Scaled",
    "Space",
    "Sum",
    "density_from",
    "public_bandwidth",
    "release_density",
]
