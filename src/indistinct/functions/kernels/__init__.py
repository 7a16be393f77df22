"""Kernels: similarities of points that functions are made of."""

from indistinct.functions.kernels.characters import Characters
from indistinct.functions.kernels.kernel import Kernel, OnColumns, Product, Scaled, Sum
from indistinct.functions.kernels.others import ConstantKernel, DeltaKernel, PolynomialKernel
from indistinct.functions.kernels.stationary import (
    GaussianKernel,
    LaplaceKernel,
    MaternKernel,
    PeriodicKernel,
    RationalQuadraticKernel,
)

__all__ = [
    "Characters",
    "ConstantKernel",
    "DeltaKernel",
    "GaussianKernel",
    "Kernel",
    "LaplaceKernel",
    "MaternKernel",
    "OnColumns",
    "PeriodicKernel",
    "PolynomialKernel",
    "Product",
    "RationalQuadraticKernel",
    "Scaled",
    "Sum",
]
