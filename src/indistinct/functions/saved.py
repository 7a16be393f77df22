"""Private functions from what was saved."""

from pathlib import Path
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, check_real
from indistinct.files import meaning, read_saved
from indistinct.functions.exact_kernel import ExactKernel, NoisePath, PathFunction
from indistinct.functions.function import FiniteFunction, FunctionNoise, PrivateFunction
from indistinct.functions.space import FiniteSpace, Space
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.mechanisms.release import Lattice, check_noise
from indistinct.numerics.arrays import Array

_FINEST = 2.0**100


def read_function(path: str | Path) -> PrivateFunction:
    """The private function that `save` wrote."""
    head, arrays = read_saved(path)
    with meaning(path, "a file that `save` of a private function wrote"):
        if set(head) != {"mechanism", "private", "factor", "space"}:
            raise ArgumentError("description", sorted(head), "that of a function")
        if "coefficients" in arrays:
            space = finite_space(head["space"], arrays["coefficients"])
            return finite_function(space, head, arrays["coefficients"])
        exact = Space.from_json(head["space"])
        if not isinstance(exact, ExactKernel):
            raise ArgumentError("space", head["space"]["space"], "exact_kernel, for a path")
        noise, private, factor = _noise(head)
        kept = _path(exact, arrays)
        if noise.unit != Lattice.of(noise.scale).unit:
            raise ArgumentError("unit", noise.unit, "that of the scale")
        check_noise(kept.whitened, noise.scale, noise.unit * 2.0**-60)  # they were turned: no multiples
        return PathFunction(exact, noise, private, factor, path=kept)


def finite_space(head: dict[str, Any], coefficients: Array) -> FiniteSpace:
    """The space of these coefficients; one that is larger is not even made."""
    pairs = head.get("pairs", 0)
    if head.get("space") == "random_features" and pairs != len(coefficients) / 2:
        raise ArgumentError("pairs", pairs, f"half of {len(coefficients)} coefficients")
    space = Space.from_json(head)
    if not isinstance(space, FiniteSpace):
        raise ArgumentError("space", head["space"], "one with coefficients")
    return space


def finite_function(space: FiniteSpace, head: dict[str, Any], coefficients: Array) -> FiniteFunction:
    """The function with coefficients that noise as described can have left."""
    noise, private, factor = _noise(head)
    check_noise(coefficients, noise.scale, noise.unit)
    return FiniteFunction(space, noise, private, factor, coefficients)


def _noise(head: dict[str, Any]) -> tuple[FunctionNoise, bool, float]:
    """The noise, whether it is private, and what values were multiplied by since."""
    noise, private = FunctionNoise.from_json(head["mechanism"]), head["private"]
    if not isinstance(private, bool):  # any text would be true
        raise ArgumentError("private", private, "true or false")
    if not noise.added > 0 or not noise.replaced > 0:
        raise ArgumentError("added", noise.added, "positive: some record changes the function")
    if not noise.scale / noise.unit < _FINEST:
        raise ArgumentError("unit", noise.unit, "larger: no noise was drawn on so fine a lattice")
    return noise, private, check_real("factor", head["factor"])


def _path(space: ExactKernel, arrays: dict[str, Any]) -> NoisePath:
    points, factor, asked = (arrays[name] for name in ("points", "factor", "asked"))
    count, dimension = len(points), space.dimension
    shapes = {
        "points": (count, dimension),
        "axes": (count,),
        "factor": (count, count),
        "whitened": (count,),
        "asked": (len(asked), dimension),
        "asked_axes": (len(asked),),
        "answers": (len(asked),),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype != np.float64:
            raise ArgumentError(name, arrays[name].shape, f"numbers of shape {shape}")
    for name in ("axes", "asked_axes"):
        if not np.isin(arrays[name], np.arange(-1, dimension)).all():
            raise ArgumentError(name, "others", "axes of the space")
    if not (np.diag(factor) > 0).all() or np.triu(factor, 1).any():
        raise ArgumentError("factor", "another matrix", "lower triangular with a positive diagonal")
    nodes = Functionals(points, arrays["axes"].astype(np.int64))
    told = zip(asked, arrays["asked_axes"], arrays["answers"], strict=True)
    answers = {(point.tobytes(), int(axis)): float(value) for point, axis, value in told}
    return NoisePath(Whitening(space.kernel, nodes, factor), arrays["whitened"], answers=answers)
