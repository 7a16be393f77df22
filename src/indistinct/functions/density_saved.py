"""Private densities in files: arrays and a line of JSON, nothing that could run."""

from pathlib import Path
from typing import Any

from indistinct.data import WithLaplace
from indistinct.description import from_json
from indistinct.errors import ArgumentError, check_positive, check_probability, check_real
from indistinct.files import meaning, read_saved, write_npz
from indistinct.functions.density import PrivateDensity
from indistinct.functions.density_fit import Shape
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import FiniteFunction, FunctionNoise
from indistinct.functions.saved import finite_function
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.release import Release, restored
from indistinct.numerics.arrays import Array


def write_density(density: PrivateDensity, path: str | Path) -> None:
    """Writes it; the guarantee goes with it."""
    released, count = density.released, density.count
    head: dict[str, Any] = {
        "basis": density.basis,
        "records": density.records,
        "floor": density.floor,
        "sized": density.sized,
        "log_total": density.shape.log_total,
        "count": None if count is None else {**_head(count), "values": count.values, "unit": count.unit},
        "otherwise": density.otherwise,
    }
    arrays = {"factors": density.shape.factors, "share": density.shape.share}
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
    mechanism = from_json(head["mechanism"])
    if not isinstance(mechanism, DiscreteGaussian | DiscreteLaplace):
        raise ArgumentError("count", head["mechanism"], "one count with noise")
    value, unit = check_real("count", head["values"]), check_positive("unit", head["unit"])
    return restored(value, mechanism, head["private"], unit, mechanism.scale * unit)


def _otherwise(head: Any) -> WithLaplace | FunctionNoise | None:
    found = None if head is None else from_json(head)
    if not isinstance(found, WithLaplace | FunctionNoise | None):
        raise ArgumentError("otherwise", head, "counts with Laplace noise, or the noise of a function")
    return found


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
        if first is None and head["otherwise"] is not None:
            raise ArgumentError("otherwise", head["otherwise"], "absent without the count that decided it")
        if not isinstance(head["sized"], bool):
            raise ArgumentError("sized", head["sized"], "true or false")
        return PrivateDensity(
            released,
            basis,
            check_positive("records", head["records"]),
            _shape(basis, head, arrays),
            check_probability("floor", head["floor"]),
            first,
            head["sized"],
            _otherwise(head["otherwise"]),
        )


def _shape(basis: FourierBasis, head: dict[str, Any], arrays: dict[str, Any]) -> Shape:
    factors, share = arrays["factors"], arrays["share"]
    if factors.shape != (basis.size - 1,) or share.ndim != basis.dimension or (share < 0).any():
        raise ArgumentError("factors", factors.shape, f"{basis.size - 1} numbers, with shares of cells")
    return Shape(factors, check_real("log_total", head["log_total"]), share)
