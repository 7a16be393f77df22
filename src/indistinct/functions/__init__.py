"""Functions released once and evaluated anywhere: kernels, Gaussian-process noise, private densities."""

from indistinct.functions.covariance import Covariance
from indistinct.functions.density import PrivateDensity, density_from, public_bandwidth, release_density
from indistinct.functions.exact_kernel import ExactKernel, PathFunction
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import FiniteFunction, PrivateFunction
from indistinct.functions.kernels.characters import Characters
from indistinct.functions.kernels.finite_kernels import ConstantKernel, DeltaKernel, PolynomialKernel
from indistinct.functions.kernels.kernel import Kernel, KernelProduct, KernelSum, OnColumns, Scaled
from indistinct.functions.kernels.stationary import (
    GaussianKernel,
    LaplaceKernel,
    MaternKernel,
    PeriodicKernel,
    RationalQuadraticKernel,
)
from indistinct.functions.linear import LinearSpace
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
    "KernelProduct",
    "KernelSum",
    "LaplaceKernel",
    "LinearSpace",
    "MaternKernel",
    "OnColumns",
    "PathFunction",
    "PeriodicKernel",
    "PolynomialKernel",
    "PrivateDensity",
    "PrivateFunction",
    "RandomFeatures",
    "RationalQuadraticKernel",
    "Scaled",
    "Space",
    "density_from",
    "public_bandwidth",
    "release_density",
]
