"""Fitted generators of images in a file: safetensors, numbers and a description, nothing that could run."""

import os
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError, FileError
from indistinct.files import meaning, read_saved, write_safetensors
from indistinct.mechanisms import Release
from indistinct.mechanisms.release import restored
from indistinct.synthesis.images.generator import Generator
from indistinct.synthesis.images.maps import ImageMap
from indistinct.synthesis.images.synthesizer import KernelSynthesizer, Mode, SyntheticImages
from indistinct.synthesis.images.training import Fitted

_HOLDS = "synthetic images"
_MOST_NUMBERS = 2**29
"""In frequencies of a map that is read."""


def save_release(design: KernelSynthesizer, release: Release, path: str | os.PathLike[str]) -> None:
    """Writes the released sums, so that a generator can be fitted later, elsewhere, or again."""
    _write(path, design, release, {})


def load_release(path: str | os.PathLike[str]) -> tuple[KernelSynthesizer, Release]:
    """What `save_release` wrote; `design.trained(release)` fits a generator."""
    design, release, _, _ = _read(path)
    return design, release


def save_images(images: SyntheticImages, path: str | os.PathLike[str]) -> None:
    """Writes the generators, what they were fitted to, and how that was released."""
    numbers: dict[str, Any] = {}
    for place, fitted in enumerate(images.fitted):
        numbers[f"{place}.counts"] = fitted.counts
        numbers |= {f"{place}.{name}": value.cpu().numpy() for name, value in fitted.weights.items()}
    one = images.fitted[0].generator
    sizes = {"channels": one.channels, "latent": one.latent}
    _write(path, images.synthesizer, images.release, numbers, **sizes)


def load_images(path: str | os.PathLike[str]) -> SyntheticImages:
    """The generators that `save_images` wrote."""
    design, release, numbers, description = _read(path)
    with meaning(path, "a file that save_images wrote"):
        if "channels" not in description:
            raise FileError(path, "it must be a file that save_images wrote: this one holds a release only")
        parts: dict[int, dict[str, Any]] = {place: {} for place in range(len(design.generators))}
        for key, value in numbers.items():
            number, _, name = key.partition(".")
            parts[int(number)][name] = value
        sizes = description["channels"], description["latent"]
        fitted = [
            _fitted(Generator(design.shape, classes, *sizes), parts[place])
            for place, classes in enumerate(design.generators)
        ]
        return SyntheticImages(design, tuple(fitted), release)


def _fitted(generator: Generator, numbers: dict[str, Any]) -> Fitted:
    """A generator with weights of its own shapes."""
    import torch

    counts = numbers.pop("counts")
    shapes = generator.shapes()
    found = {name: (value.shape, value.dtype.str) for name, value in numbers.items()}
    if found != {name: (shape, "<f4") for name, shape in shapes.items()} or counts.shape != (
        generator.classes,
    ):
        raise ArgumentError("weights", sorted(numbers), "those of this generator")
    return Fitted(
        generator, {name: torch.from_numpy(value.copy()) for name, value in numbers.items()}, counts
    )


def _write(
    path: str | os.PathLike[str],
    design: KernelSynthesizer,
    release: Release,
    numbers: dict[str, Any],
    **more: int,
) -> None:
    noisy = design.noise_of(release)
    description = {
        "holds": _HOLDS,
        "map": design.map,
        "classes": design.classes,
        "mode": design.mode.name,
        "records": design.records,
        "release": [noisy.scale, release.private],
        **more,
    }
    write_safetensors(path, description, {"released": np.asarray(release.values), **numbers})


def _read(path: str | os.PathLike[str]) -> tuple[KernelSynthesizer, Release, dict[str, Any], dict[str, Any]]:
    description, numbers = read_saved(path)
    with meaning(path, "a file that save_images or save_release wrote"):
        if description["holds"] != _HOLDS:
            raise ArgumentError("holds", description["holds"], _HOLDS)
        map, released = ImageMap.from_json(description["map"]), numbers.pop("released")
        views = [(getattr(part.view, "directions", 1), part.pairs) for part in map.parts]
        if any(map.dimension * directions * pairs > _MOST_NUMBERS for directions, pairs in views):
            raise ArgumentError("parts", map.parts, "of fewer frequencies")
        classes = max(len(description["classes"]), 1)
        # before frequencies are drawn for each feature
        if released.size != classes * map.size or released.shape[-1] != map.size:
            raise ArgumentError("released", released.shape, f"{classes} sums of {map.size} features")
        design = KernelSynthesizer(
            map.shape,
            description["classes"],
            mode=Mode[description["mode"]],
            map=map,
            records=description["records"],
        )
        scale, private = description["release"]
        noisy = design.query.gaussian(scale)
        release = restored(released, noisy, private, noisy.unit, noisy.deviation)
        return design, release, numbers, description
