"""Functions released once and evaluated anywhere: kernels, Gaussian-process noise, private densities."""

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
    kernel_from_json,
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
    "kernel_from_json",
]
