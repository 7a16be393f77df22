"""Private functions from what was saved."""

from pathlib import Path as FilePath
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, check_real
from indistinct.files import meaning, read_saved
from indistinct.functions.exact import ExactKernel, Path, PathFunction
from indistinct.functions.function import Drawn, FiniteFunction, PrivateFunction
from indistinct.functions.space import FiniteSpace, Space
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.mechanisms.release import Lattice, check_noise
from indistinct.numerics.arrays import Array

_FINEST = 2.0**100


def load_function(path: str | FilePath) -> PrivateFunction:
    """The private function that `save` wrote."""
    head, arrays = read_saved(path)
    with meaning(path, "a file that `save` of a private function wrote"):
        factor = check_real("factor", head["factor"])
        if set(head) != {"drawn", "factor", "space"}:
            raise ArgumentError("description", sorted(head), "that of a function")
        if "coefficients" in arrays:
            space = finite_space(head["space"], arrays["coefficients"])
            return finite_function(space, head["drawn"], factor, arrays["coefficients"])
        exact = Space.from_json(head["space"])
        if not isinstance(exact, ExactKernel):
            raise ArgumentError("space", head["space"]["space"], "exact_kernel, for a path")
        drawn, kept = _drawn(head["drawn"]), _path(exact, arrays)
        if drawn.unit != Lattice.of(drawn.scale).unit:
            raise ArgumentError("unit", drawn.unit, "that of the scale")
        check_noise(kept.whitened, drawn.scale, drawn.unit * 2.0**-60)  # they were turned: no multiples
        return PathFunction(exact, drawn, factor, path=kept)


def finite_space(head: dict[str, Any], coefficients: Array) -> FiniteSpace:
    """The space of these coefficients; one that is larger is not even made."""
    pairs = head.get("pairs", 0)
    if head.get("space") == "random_features" and pairs != len(coefficients) / 2:
        raise ArgumentError("pairs", pairs, f"half of {len(coefficients)} coefficients")
    space = Space.from_json(head)
    if not isinstance(space, FiniteSpace):
        raise ArgumentError("space", head["space"], "one with coefficients")
    return space


def finite_function(space: FiniteSpace, head: Any, factor: float, coefficients: Array) -> FiniteFunction:
    """The function with coefficients that noise as described can have left."""
    drawn = _drawn(head)
    check_noise(coefficients, drawn.scale, drawn.unit)
    return FiniteFunction(space, drawn, factor, coefficients)


def _drawn(head: Any) -> Drawn:
    drawn = Drawn(**head)
    if not drawn.added > 0 or not drawn.replaced > 0:
        raise ArgumentError("added", drawn.added, "positive: some record changes the function")
    if not drawn.scale / drawn.unit < _FINEST:
        raise ArgumentError("unit", drawn.unit, "larger: no noise was drawn on so fine a lattice")
    return drawn


def _path(space: ExactKernel, arrays: dict[str, Any]) -> Path:
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
    return Path(Whitening(space.kernel, nodes, factor), arrays["whitened"], answers=answers)
