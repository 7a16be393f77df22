"""Fitted generators of images in a file: safetensors, numbers and a description, nothing that could run."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.files import meaning, read_saved, write_safetensors
from indistinct.mechanisms.release import named, restored, unnamed
from indistinct.synthesis.images.feature_maps import ImageMap, MapPart
from indistinct.synthesis.images.generator import Generator
from indistinct.synthesis.images.synthesizer import ImageSynthesizer, Mode, SyntheticImages
from indistinct.synthesis.images.training import Fitted

_HOLDS = "synthetic images"
_MOST_NUMBERS = 2**29
"""In frequencies of a map that is read."""


def write(images: SyntheticImages, path: str | os.PathLike[str]) -> None:
    """What was released, how, and the generators fitted to it."""
    design, release = images.synthesizer, images.release
    description = {
        "holds": _HOLDS,
        "map": design.map,
        "classes": design.classes,
        "mode": design.mode.name,
        "records": design.records,
        "release": [images.mechanism.scale, release.private],
    } | named(release.adjacency)
    numbers: dict[str, Any] = {"released": np.asarray(release.values)}
    for place, fitted in enumerate(images.fitted):
        description |= {"channels": fitted.generator.channels, "latent": fitted.generator.latent}
        numbers[f"{place}.counts"] = fitted.counts
        numbers |= {f"{place}.{name}": value.cpu().numpy() for name, value in fitted.weights.items()}
    write_safetensors(path, description, numbers)


def _fitted(generator: Generator, numbers: dict[str, Any]) -> Fitted:
    """A generator with weights of its own shapes."""
    import torch

    counts = numbers.pop("counts")
    found = {name: (value.shape, value.dtype.str) for name, value in numbers.items()}
    wanted = {name: (shape, "<f4") for name, shape in generator.shapes().items()}
    if found != wanted or counts.shape != (generator.classes,):
        raise ArgumentError("weights", sorted(numbers), "those of this generator")
    weights = {name: torch.from_numpy(value.copy()) for name, value in numbers.items()}
    return Fitted(generator, weights, counts)


def read(path: str | os.PathLike[str]) -> SyntheticImages:
    """What `write` wrote."""
    description, numbers = read_saved(path)
    with meaning(path, "a file that `save` of synthetic images wrote"):
        if description["holds"] != _HOLDS:
            raise ArgumentError("holds", description["holds"], _HOLDS)
        map, released = ImageMap.from_json(description["map"]), numbers.pop("released")
        kernels = [part for part in map.parts if isinstance(part, MapPart)]
        views = [(getattr(part.view, "directions", 1), part.pairs) for part in kernels]
        if any(map.dimension * directions * pairs > _MOST_NUMBERS for directions, pairs in views):
            raise ArgumentError("parts", map.parts, "of fewer frequencies")
        classes = max(len(description["classes"]), 1)
        # before frequencies are drawn for each feature
        if released.size != classes * map.size or released.shape[-1] != map.size:
            raise ArgumentError("released", released.shape, f"{classes} sums of {map.size} features")
        design = ImageSynthesizer(
            map.shape,
            description["classes"],
            mode=Mode[description["mode"]],
            map=map,
            records=description["records"],
        )
        scale, private = description["release"]
        noisy = design.query.gaussian(scale)
        told = restored(released, noisy, private, noisy.unit, noisy.deviation)
        images = SyntheticImages(design, replace(told, adjacency=unnamed(description)))
        if "channels" not in description:
            return images
        fitted: dict[int, dict[str, Any]] = {place: {} for place in range(len(design.generators))}
        for key, value in numbers.items():
            number, _, name = key.partition(".")
            fitted[int(number)][name] = value
        sizes = description["channels"], description["latent"]
        made = (
            _fitted(Generator(design.shape, count, *sizes), fitted[place])
            for place, count in enumerate(design.generators)
        )
        return replace(images, fitted=tuple(made))
