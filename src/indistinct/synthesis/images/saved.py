"""Fitted generators of images in a file: safetensors, numbers and a description, nothing that could run."""

import os
from typing import Any

import numpy as np

from indistinct.errors import ArgumentError
from indistinct.mechanisms import Release
from indistinct.synthesis.images.generator import Generator
from indistinct.synthesis.images.maps import ImageMap, Part
from indistinct.synthesis.images.synthesizer import KernelSynthesizer, Mode, SyntheticImages
from indistinct.synthesis.images.training import Fitted
from indistinct.synthesis.images.views import Pixels, View, Wavelets
from indistinct.synthesis.stored import read, write

_FORMAT = "indistinct synthetic images 1"
_VIEWS: dict[str, type[View]] = {kind.__name__: kind for kind in (Pixels, Wavelets)}


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
    import torch

    design, release, numbers, description = _read(path)
    if "channels" not in description:
        raise ArgumentError("path", str(path), "a file that save_images wrote: this one holds a release only")
    parts: dict[int, dict[str, Any]] = {}
    for key, value in numbers.items():
        number, _, name = key.partition(".")
        parts.setdefault(int(number), {})[name] = value
    fitted = []
    for place in sorted(parts):
        counts = parts[place].pop("counts")
        generator = Generator(design.shape, len(counts), description["channels"], description["latent"])
        weights = {name: torch.from_numpy(value.copy()) for name, value in parts[place].items()}
        fitted.append(Fitted(generator, weights, counts))
    return SyntheticImages(design, tuple(fitted), release)


def _write(
    path: str | os.PathLike[str],
    design: KernelSynthesizer,
    release: Release,
    numbers: dict[str, Any],
    **more: int,
) -> None:
    noisy = design.noise_of(release)
    parts = [{**vars(part), "view": [type(part.view).__name__, vars(part.view)]} for part in design.map.parts]
    description = {
        "format": _FORMAT,
        "shape": design.shape,
        "parts": parts,
        "count_weight": design.map.count_weight,
        "seed": design.map.seed,
        "classes": design.classes,
        "mode": design.mode.name,
        "records": design.records,
        "release": [noisy.scale, release.private, release.unit],
        **more,
    }
    write(path, {"released": np.asarray(release.values), **numbers}, description)


def _read(path: str | os.PathLike[str]) -> tuple[KernelSynthesizer, Release, dict[str, Any], dict[str, Any]]:
    numbers, description = read(path, _FORMAT, "a file that save_images or save_release wrote")
    shape = tuple(description["shape"])
    parts = tuple(
        Part(**{**part, "view": _VIEWS[part["view"][0]](**part["view"][1])}) for part in description["parts"]
    )
    map = ImageMap(shape, parts, description["count_weight"], description["seed"])
    design = KernelSynthesizer(
        shape,
        description["classes"],
        mode=Mode[description["mode"]],
        map=map,
        records=description["records"],
    )
    scale, private, unit = description["release"]
    release = Release(numbers.pop("released"), design.query.gaussian(scale), private, unit)
    return design, release, numbers, description
