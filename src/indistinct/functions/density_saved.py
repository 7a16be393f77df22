"""Private densities in files: arrays and a line of JSON, nothing that could run."""

from pathlib import Path
from typing import Any

from indistinct.data import WithLaplace, from_json
from indistinct.functions.density import PrivateDensity
from indistinct.functions.density_fit import Shape
from indistinct.functions.files import opened, write
from indistinct.functions.fourier import FourierBasis
from indistinct.functions.function import Drawn, FiniteFunction
from indistinct.functions.saved import space_from_json
from indistinct.mechanisms import DiscreteGaussian, DiscreteLaplace
from indistinct.mechanisms.release import Release


def save_density(density: PrivateDensity, path: str | Path) -> None:
    """Writes it; the guarantee goes with it."""
    released, count = density.released, density.count
    head: dict[str, Any] = {
        "basis": density.basis.to_json(),
        "records": density.records,
        "floor": density.floor,
        "sized": density.sized,
        "log_total": density.shape.log_total,
        "count": None if count is None else {**_head(count), "values": count.values},
        "otherwise": None,
    }
    if isinstance(density.otherwise, Drawn):
        head["otherwise"] = vars(density.otherwise)
    elif density.otherwise is not None:
        head["otherwise"] = density.otherwise.to_json()
    arrays = {"factors": density.shape.factors, "share": density.shape.share}
    if isinstance(released, Release):
        head["counts"], arrays["counts"] = _head(released), released.values
    else:
        head["function"] = {"drawn": vars(released.drawn), "factor": released.factor}
        arrays["coefficients"] = released.coefficients
    write(path, head, arrays)


def _head(release: Release) -> dict[str, Any]:
    return {"mechanism": release.mechanism.to_json(), "private": release.private, "unit": release.unit}


def _release(values: Any, head: dict[str, Any]) -> Release:
    return Release(values, from_json(head["mechanism"]), _truth(head["private"]), float(head["unit"]))


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):  # any text would be true
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _otherwise(head: dict[str, Any] | None) -> WithLaplace | Drawn | None:
    if head is None:
        return None
    if "mechanism" not in head:
        return Drawn(**head)
    counts = from_json(head)
    assert isinstance(counts, WithLaplace)
    return counts


def load_density(path: str | Path) -> PrivateDensity:
    """The density that `save` wrote."""
    with opened(path) as (head, arrays):
        basis, count = space_from_json(head["basis"]), head["count"]
        assert isinstance(basis, FourierBasis)
        released: FiniteFunction | Release
        if "counts" in head:
            released = _release(arrays["counts"], head["counts"])
            assert isinstance(released.mechanism, WithLaplace)
            if released.values.size != released.mechanism.query.size:
                raise ValueError("counts that are not those of the mechanism")
        else:
            drawn, factor = Drawn(**head["function"]["drawn"]), float(head["function"]["factor"])
            released = FiniteFunction(basis, drawn, factor, arrays["coefficients"])
        first = None if count is None else _release(count["values"], count)
        if first is not None and not isinstance(first.mechanism, DiscreteGaussian | DiscreteLaplace):
            raise ValueError("a first count that is none")
        if first is None and head["otherwise"] is not None:
            raise ValueError("a choice without the count that decided it")
        return PrivateDensity(
            released,
            basis,
            float(head["records"]),
            Shape(arrays["factors"], float(head["log_total"]), arrays["share"]),
            float(head["floor"]),
            first,
            _truth(head["sized"]),
            _otherwise(head["otherwise"]),
        )
