"""Kernels from JSON data, through a closed table of names: never an import path, never code."""

from typing import Any

from indistinct.errors import ExpressionError
from indistinct.functions.kernels.kernel import Kernel, OnColumns, Product, Scaled, Sum
from indistinct.functions.kernels.others import ConstantKernel, DeltaKernel, PolynomialKernel
from indistinct.functions.kernels.stationary import (
    GaussianKernel,
    LaplaceKernel,
    MaternKernel,
    PeriodicKernel,
    RationalQuadraticKernel,
)
from indistinct.mechanisms.serialise import DEEPEST, build

KERNELS: dict[str, type[Kernel]] = {
    kernel.kind: kernel
    for kernel in (
        ConstantKernel,
        DeltaKernel,
        GaussianKernel,
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
}


def kernel_from_json(data: Any) -> Kernel:
    """The kernel that `to_json` wrote.

    >>> kernel = GaussianKernel(length=(1, 2)) + ConstantKernel(3)
    >>> kernel_from_json(kernel.to_json()) == kernel
    True
    """
    kernel = _read(data, 0)
    if not isinstance(kernel, Kernel):
        raise ExpressionError("JSON", data, 'an object with a "kernel" name')
    return kernel


def _read(data: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ExpressionError("nesting", depth, f"at most {DEEPEST} deep")
    if isinstance(data, list):
        return tuple(_read(item, depth + 1) for item in data)
    if not isinstance(data, dict):
        return data
    name = data.get("kernel")
    kind = KERNELS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ExpressionError("kernel", name, f"one of {', '.join(sorted(KERNELS))}")
    values = {field: _read(value, depth + 1) for field, value in data.items() if field != "kernel"}
    return build(kind, kind, kind.kind, values, data)
