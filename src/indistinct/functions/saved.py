"""Spaces and private functions from what was saved, through a closed table of names."""

from pathlib import Path as FilePath
from typing import Any

import numpy as np

from indistinct.errors import ExpressionError
from indistinct.functions.covariance import Covariance
from indistinct.functions.exact import ExactKernel, Path, PathFunction
from indistinct.functions.files import opened
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import Drawn, FiniteFunction, PrivateFunction
from indistinct.functions.kernels import kernel_from_json
from indistinct.functions.random_features import RandomFeatures
from indistinct.functions.space import FiniteSpace, Space
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.mechanisms.serialise import build

SPACES: dict[str, type[Any]] = {
    "covariance": Covariance,
    "exact_kernel": ExactKernel,
    "fourier_basis": FourierBasis,
    "random_features": RandomFeatures,
}


def space_from_json(data: Any) -> Space:
    """The space that `to_json` wrote.

    >>> from indistinct.functions import GaussianKernel
    >>> space = RandomFeatures(GaussianKernel(1), pairs=10, dimension=3)
    >>> space_from_json(space.to_json()) == space
    True
    """
    name = data.get("space") if isinstance(data, dict) else None
    kind = SPACES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ExpressionError("space", name, f"one of {', '.join(sorted(SPACES))}")
    values = {key: value for key, value in data.items() if key != "space"}
    if "kernel" in values:
        values["kernel"] = kernel_from_json(values["kernel"])
    space: Space = build(kind, kind, str(name), values, data)
    return space


def load_function(path: str | FilePath) -> PrivateFunction:
    """The private function that `save` wrote."""
    with opened(path) as (head, arrays):
        space, drawn = space_from_json(head["space"]), Drawn(**head["drawn"])
        factor = float(head["factor"])
        if isinstance(space, FiniteSpace):
            return FiniteFunction(space, drawn, factor, arrays["coefficients"])
        assert isinstance(space, ExactKernel)
        nodes = Functionals(arrays["points"], arrays["axes"].astype(np.int64))
        asked = zip(arrays["asked"], arrays["asked_axes"], arrays["answers"], strict=True)
        answers = {(point.tobytes(), int(axis)): float(value) for point, axis, value in asked}
        whitening = Whitening(space.kernel, nodes, arrays["factor"])
        return PathFunction(space, drawn, factor, path=Path(whitening, arrays["whitened"], answers=answers))
