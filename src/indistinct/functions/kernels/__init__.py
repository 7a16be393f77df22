"""Kernels: similarities of points that functions are made of."""

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

__all__ = [
    "Characters",
    "ConstantKernel",
    "DeltaKernel",
    "GaussianKernel",
    "Kernel",
    "KernelProduct",
    "KernelSum",
    "LaplaceKernel",
    "MaternKernel",
    "OnColumns",
    "PeriodicKernel",
    "PolynomialKernel",
    "RationalQuadraticKernel",
    "Scaled",
]
