"""Private functions and densities in files: arrays and a line of JSON, nothing that could run."""

from pathlib import Path
from typing import Any

import numpy as np

from indistinct.adjacency import check_adjacency
from indistinct.data import WithLaplace
from indistinct.description import from_json, given
from indistinct.errors import ArgumentError, check_positive, check_probability, check_real
from indistinct.files import meaning, read_saved, write_npz
from indistinct.functions.density import PrivateDensity
from indistinct.functions.exact_kernel import ExactKernel, NoisePath, PathFunction
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import FiniteFunction, FunctionNoise, PrivateFunction
from indistinct.functions.space import FiniteSpace
from indistinct.functions.whitening import Functionals, Whitening
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.release import Lattice, Release, check_noise, restored
from indistinct.numerics.arrays import Array

_FINEST = 2.0**100
_truth = given(bool, "true or false")  # any text would be true


def read_function(path: str | Path) -> PrivateFunction:
    """The private function that `save` wrote."""
    head, arrays = read_saved(path)
    with meaning(path, "a file that `save` of a private function wrote"):
        if set(head) != {"mechanism", "private", "factor", "space"}:
            raise ArgumentError("description", sorted(head), "that of a function")
        if "coefficients" in arrays:
            space = finite_space(head["space"], arrays["coefficients"])
            return finite_function(space, head, arrays["coefficients"])
        exact = ExactKernel.from_json(head["space"])
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
    return FiniteSpace.from_json(head)


def finite_function(space: FiniteSpace, head: dict[str, Any], coefficients: Array) -> FiniteFunction:
    """The function with coefficients that noise as described can have left."""
    noise, private, factor = _noise(head)
    check_noise(coefficients, noise.scale, noise.unit)
    return FiniteFunction(space, noise, private, factor, coefficients)


def _noise(head: dict[str, Any]) -> tuple[FunctionNoise, bool, float]:
    """The noise, whether it is private, and what values were multiplied by since."""
    noise, private = FunctionNoise.from_json(head["mechanism"]), _truth("private", head["private"])
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


def write_density(density: PrivateDensity, path: str | Path) -> None:
    """Writes it; the guarantee goes with it."""
    released, count = density.released, density.count
    head: dict[str, Any] = {
        "basis": density.basis,
        "records": density.records,
        "floor": density.floor,
        "sized": density.sized,
        "adjacency": density.adjacency.value,
        "count": None if count is None else {**_head(count), "values": count.values, "unit": count.unit},
    }
    arrays = {"share": density.share}
    if isinstance(released, Release):
        head["counts"], arrays["counts"] = _head(released), released.values
    else:
        head["function"] = {**_head(released), "factor": released.factor}
        arrays["coefficients"] = released.coefficients
    write_npz(path, head, arrays)


def _head(release: Release[Any] | FiniteFunction) -> dict[str, Any]:
    return {"mechanism": release.mechanism, "private": release.private}


def _counts(head: dict[str, Any], values: Array) -> Release[Any]:
    mechanism = WithLaplace.from_json(head["mechanism"])
    if values.size != mechanism.query.size:
        raise ArgumentError("counts", head["mechanism"], "counts with Laplace noise, as many as are there")
    return restored(values, mechanism, head["private"], mechanism.unit, mechanism.deviation)


def _first(head: dict[str, Any] | None) -> Release[Any] | None:
    if head is None:
        return None
    kinds = DiscreteGaussian | DiscreteLaplace
    mechanism = given(kinds, "one count with noise")("count", from_json(head["mechanism"]))
    value, unit = check_real("count", head["values"]), check_positive("unit", head["unit"])
    return restored(value, mechanism, head["private"], unit, mechanism.scale * unit)


def read_density(path: str | Path) -> PrivateDensity:
    """What `write_density` wrote."""
    head, arrays = read_saved(path)
    with meaning(path, "a file that `save` of a private density wrote"):
        basis, first = FourierBasis.from_json(head["basis"]), _first(head["count"])
        released: FiniteFunction | Release[Any]
        if "counts" in head:
            released = _counts(head["counts"], arrays["counts"])
        else:
            released = finite_function(basis, head["function"], arrays["coefficients"])
        return PrivateDensity(
            released,
            basis,
            check_positive("records", head["records"]),
            _share(basis, arrays["share"]),
            check_probability("floor", head["floor"]),
            first,
            _truth("sized", head["sized"]),
            check_adjacency(head["adjacency"]),
        )


def _share(basis: FourierBasis, share: Array) -> Array:
    cells = share.shape[:1] * basis.dimension
    if share.shape != cells or not share.size or not (share >= 0).all() or abs(float(share.sum()) - 1) > 1e-9:
        raise ArgumentError("share", share.shape, "as many cells along each axis, whose shares add up to one")
    return share
