"""Synthetic images: what is declared, one release, a generator, and as many images as you like."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.boundary import guarded
from indistinct.data import Categories, FeatureSum, Histogram, NoisyQuery, Numbers, Outside, Table, table
from indistinct.errors import ArgumentError, DataError, check_count, needs
from indistinct.guarantees import Guarantee
from indistinct.mechanisms import Budget, Release, calibrate
from indistinct.mechanisms.paying import Payer, charged
from indistinct.noise import Source
from indistinct.numerics.arrays import Array
from indistinct.synthesis.images.declared import as_rows, check_shape
from indistinct.synthesis.images.discriminant import discriminant, filled
from indistinct.synthesis.images.feature_maps import ImageMap, Pairs, Shape, standard_map
from indistinct.synthesis.images.held_out import distance, split_pairs
from indistinct.synthesis.images.training import Fitted, ImageTraining, sample, train
from indistinct.synthesis.progress import Progress, bar, check_fit

_LABEL = "label"


class Mode(Enum):
    """How classes are treated. The released sums, and so the guarantee, are the same for the first two: each
    record is in the sums of one class (parallel composition)."""

    CONDITIONAL = "one generator that is told the class"
    PARALLEL = "one generator for each class"
    UNCONDITIONAL = "no classes"


@final
@dataclass(frozen=True)
class ImageSynthesizer:
    """Images of a given shape and, unless the mode is unconditional, declared classes.

    Class by class, the sum over records of the features of a finite-rank kernel is released once, with
    Gaussian noise; its constant feature counts the records, and is part of the same release. A generator
    whose images have the released features on average is then fitted, which costs no more privacy. `records`
    is a public bound on how many there are.

    >>> from indistinct import Budget
    >>> design = ImageSynthesizer((1, 8, 8), classes=range(10), pairs=500)
    >>> design.mechanism(Budget(epsilon=1, delta=1e-5)).guarantee().epsilon(delta=1e-5)
    1.0
    """

    map: ImageMap
    classes: tuple[Any, ...]
    mode: Mode
    records: int

    def __init__(
        self,
        shape: Shape,
        classes: Sequence[Any] = (),
        *,
        mode: Mode | None = None,
        pairs: int = 20_000,
        map: ImageMap | None = None,
        records: int = 100_000,
    ) -> None:
        with needs("synthesis"):
            import torch  # noqa: F401
        shape = check_shape(shape)
        try:
            classes = Categories(classes).values if len(classes) else ()
        except (TypeError, ArgumentError):
            raise ArgumentError("classes", classes, "different texts, integers or truth values") from None
        chosen = mode or (Mode.CONDITIONAL if len(classes) else Mode.UNCONDITIONAL)
        if not isinstance(chosen, Mode):
            raise ArgumentError("mode", chosen, "Mode.CONDITIONAL, Mode.PARALLEL or Mode.UNCONDITIONAL")
        if (chosen is Mode.UNCONDITIONAL) == bool(len(classes)):
            raise ArgumentError("classes", classes, "given, unless the mode is unconditional")
        found = map if map is not None else standard_map(shape, pairs=pairs)
        if not isinstance(found, ImageMap) or found.shape != shape:
            raise ArgumentError("map", getattr(found, "shape", found), f"a map of images of shape {shape}")
        object.__setattr__(self, "map", found)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "mode", chosen)
        object.__setattr__(self, "records", check_count("records", records, least=1))
        _ = self.query  # refuses at once what cannot be added up

    @property
    def shape(self) -> Shape:
        return self.map.shape

    @property
    def query(self) -> FeatureSum:
        """The only thing that is asked of the records."""
        pixel = Numbers(0, 1, outside=Outside.ERROR)  # from 0 to 255 by mistake, clipping would leave nothing
        axes = {f"pixel{place}": pixel for place in range(math.prod(self.shape))}
        block = (_LABEL, Categories(self.classes)) if self.classes else None
        return FeatureSum(axes, self.map, block=block, records=self.records)

    def mechanism(self, budget: Budget, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> NoisyQuery:
        """The query with as little Gaussian noise as the budget allows."""
        return calibrate(self.query.gaussian, budget, adjacency=adjacency).mechanism

    @guarded("the images and their labels")
    def table(self, images: Any, labels: Any = None) -> Table:
        """Images and labels as the table that is read: [n, channels, height, width] or without what is 1;
        bytes from 0 to 255, or numbers from 0 to 1. Nothing is computed from them here but their form."""
        array = as_rows(images, self.shape)
        columns: dict[str, npt.NDArray[Any]] = {
            f"pixel{place}": column for place, column in enumerate(array.T)
        }
        if (labels is None) != (not self.classes):
            allowed = "one for each image" if self.classes else "left out: no classes are declared"
            raise ArgumentError("labels", labels if labels is None else "labels", allowed)
        if labels is not None:
            columns[_LABEL] = np.asarray(labels)
            if columns[_LABEL].shape != (len(array),):
                raise ArgumentError("labels", columns[_LABEL].shape, f"one for each of {len(array)} images")
        return table(columns)

    def check(self, data: Table) -> None:
        """Refuses data that are not as declared, an empty class among them. It looks at the records, and that
        it complains is seen; a promise of clean data is what it checks."""
        self.query.check(data)
        if self.classes:
            counts = Histogram({_LABEL: Categories(self.classes)}).statistic(data).units
            if empty := [name for name, count in zip(self.classes, counts, strict=True) if not count]:
                raise DataError(f"no image has the label {empty[0]!r}: leave it out of the classes")

    def fit(
        self,
        images: Any,
        labels: Any,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        training: ImageTraining | None = None,
        seed: int = 0,
        device: str | None = None,
        source: Source | None = None,
        ledger: Payer | None = None,
        progress: Progress | None = None,
    ) -> "SyntheticImages":
        """Releases the class sums of the images, once, and fits a generator to them.

        `seed` is that of the post-processing: the noise does not come from it. `progress` is told of steps; a
        bar on the terminal unless given. A crash while training loses the release, and what was paid for
        it: where training is long, call `release`, `save` and `trained` one after the other, the last with a
        folder for checkpoints.
        """
        check_fit(training, ImageTraining, seed, progress)
        how: dict[str, Any] = {"adjacency": adjacency, "training": training, "device": device}
        released = self.release(images, labels, budget, source=source, ledger=ledger, **how)
        return released.trained(training, seed=seed, device=device, progress=progress)

    @charged
    @guarded("the images and their labels")
    def release(
        self,
        images: Any,
        labels: Any,
        budget: Budget,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        training: ImageTraining | None = None,
        device: str | None = None,
        source: Source | None = None,
        ledger: Payer | None = None,
    ) -> "SyntheticImages":
        """The class sums of the images with noise: all that is ever asked of them, and no generator yet. What
        can go wrong is tried before, a step of training included."""
        check_fit(training, ImageTraining, 0, None)
        data = self.table(images, labels)
        noisy = self.mechanism(budget, adjacency)
        self.check(data)
        self._rehearse(training or ImageTraining(), device)
        release = replace(noisy.release(data, source=source), adjacency=check_adjacency(adjacency))
        return SyntheticImages(self, release)

    def _rehearse(self, training: ImageTraining, device: str | None) -> None:
        """Is the device there? Two steps of training on nothing, where memory may not suffice. Better now
        than after the release."""
        import torch

        try:
            torch.zeros(1, device=device).item()
        except (RuntimeError, AssertionError):  # PyTorch asserts that it was built for a device
            raise ArgumentError("device", device, "one that PyTorch can use here, such as 'cpu'") from None
        if not torch.cuda.is_available() or device == "cpu":
            return
        short = replace(training, steps=2, plain_steps=1, steps_per_metric=1)
        try:
            train(self.map, np.ones((self.generators[0], self.map.size)), 1.0, training=short, device=device)
        except torch.cuda.OutOfMemoryError:
            allowed = "one with more memory, or fewer pairs, images_per_class or images_in_metric"
            raise ArgumentError("device", device or "cuda", allowed) from None

    @property
    def generators(self) -> list[int]:
        """How many classes each generator knows."""
        return [1] * len(self.classes) if self.mode is Mode.PARALLEL else [max(len(self.classes), 1)]


@final
@dataclass(frozen=True, eq=False)
class SyntheticImages:
    """What was released of images, and the generators fitted to it: draws images, and says what the data
    paid for them."""

    synthesizer: ImageSynthesizer
    release: Release[Array]
    fitted: tuple[Fitted, ...] = ()
    """None before it is `trained`."""

    def __post_init__(self) -> None:
        # one of other sums would be taken for what it is not, and its guarantee would be stated wrongly
        noisy = self.release.mechanism if isinstance(self.release, Release) else None
        if not isinstance(noisy, NoisyQuery) or noisy != self.synthesizer.query.gaussian(noisy.scale):
            raise ArgumentError("release", "another one", "a release of this design's own `mechanism`")

    @property
    def mechanism(self) -> NoisyQuery:
        """What was run."""
        assert isinstance(self.release.mechanism, NoisyQuery)
        return self.release.mechanism

    @property
    def private(self) -> bool:
        return self.release.private

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Guarantee:
        """That of the one release; training and drawing add nothing."""
        return self.release.guarantee(adjacency)

    @property
    def counts(self) -> Array:
        """How many records each class has, as released."""
        return np.concatenate([part.counts for part in self.fitted])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all of it to a file (safetensors: numbers and a description, nothing that could run)."""
        from indistinct.synthesis.images.saved import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SyntheticImages":
        """What `save` wrote."""
        from indistinct.synthesis.images.saved import read

        return read(path)

    def trained(
        self,
        training: ImageTraining | None = None,
        *,
        seed: int = 0,
        device: str | None = None,
        progress: Progress | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> "SyntheticImages":
        """The same release with a new generator. It reads no records: do it again as often as you like.

        `checkpoint` is a folder where the training is kept from time to time: after an interruption the same
        call goes on from there, and comes to the same generator.
        """
        folder = None if checkpoint is None else Path(checkpoint)
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                raise ArgumentError("checkpoint", str(folder), "a folder, and there is a file") from None
        return replace(self, fitted=self._fitted(training, None, seed, device, progress, folder))

    def chosen(
        self,
        trainings: Sequence[ImageTraining],
        *,
        share: float = 0.1,
        seed: int = 0,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> "Choice":
        """The best of several ways to train, by what was released already: no more privacy is spent.

        Each is tried on a part of the released features and scored on the rest, a public random `share` of
        them, whose noise it cannot have learned; see `held_out`. The best is then fitted again, to all
        features: those that were set aside say as much about the records as the others do.
        """
        if not isinstance(trainings, Sequence) or not trainings:
            raise ArgumentError("trainings", trainings, "a list of ImageTraining(...), one or more")
        map = self.synthesizer.map
        kept, aside = split_pairs(map, share, seed)
        scores = []
        for training in trainings:
            fitted = self._fitted(training, kept, seed, device, progress)
            found = [
                distance(map, one, part, self.mechanism.deviation, aside, seed=seed, device=device)
                for one, part in zip(fitted, self._parts(), strict=True)
            ]
            scores.append(math.fsum(found))
        best = trainings[int(np.argmin(scores))]
        images = self.trained(best, seed=seed, device=device, progress=progress)
        return Choice(images, best, tuple(scores))

    def _fitted(
        self,
        training: ImageTraining | None,
        pairs: Pairs | None,
        seed: int,
        device: str | None,
        progress: Progress | None,
        folder: Path | None = None,
    ) -> tuple[Fitted, ...]:
        check_fit(training, ImageTraining, seed, progress)
        told = progress or bar((training or ImageTraining()).steps)
        return tuple(
            train(
                self.synthesizer.map,
                part,
                self.mechanism.deviation,
                training=training,
                pairs=pairs,
                seed=seed + place,
                device=device,
                progress=told,
                checkpoint=None if folder is None else folder / f"generator{place}.safetensors",
            )
            for place, part in enumerate(self._parts())
        )

    def _parts(self) -> list[Array]:
        """For each generator the released sums of its classes."""
        sums = np.asarray(self.release.values).reshape(-1, self.synthesizer.map.size)
        return np.split(sums, len(self.synthesizer.generators))

    def sample(
        self,
        n: int,
        *,
        balanced: bool = True,
        relabelled: bool | None = None,
        seed: int = 0,
        device: str | None = None,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any]]:
        """New images [n, channels, height, width] and their labels: each class as often as the others, or,
        not `balanced`, in proportion to its released count. A label is the class that the generator was told
        or, `relabelled` (colour is), the one the image looks like by what was released (`discriminant`)."""
        check_count("n", n)
        if not self.fitted:
            raise ArgumentError("images", "a release without a generator", "trained first: `trained()`")
        shares = np.ones(len(self.counts)) if balanced else np.maximum(self.counts, 0.0)
        ends = np.rint(np.cumsum(shares) / shares.sum() * n)
        places = np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0.0).astype(np.int64))
        if relabelled is None:
            relabelled = self.synthesizer.shape[0] > 1
        drawn = self._relabelled if relabelled and len(shares) > 1 else self._drawn
        return drawn(places, seed, device), np.array(self.synthesizer.classes or [0])[places]

    def _drawn(self, places: Any, seed: int, device: str | None) -> npt.NDArray[np.float32]:
        """One image for each place of a class, which the generator is told."""
        images = np.zeros((len(places), *self.synthesizer.shape), dtype=np.float32)
        start = 0
        for fitted in self.fitted:
            chosen = (places >= start) & (places < start + len(fitted.counts))
            if chosen.any():
                drawn = sample(fitted, places[chosen] - start, seed=seed + start, device=device)
                images[chosen] = drawn.cpu().numpy()
            start += len(fitted.counts)
        return images

    def _relabelled(self, places: Any, seed: int, device: str | None) -> npt.NDArray[np.float32]:
        """One image for each place of a class, which it looks like."""

        def draw(places: Any, turn: int) -> npt.NDArray[np.float32]:
            other = int.from_bytes(sha256(f"{seed} {turn}".encode()).digest()[:7], "big")
            return self._drawn(places, other if turn else seed, device)

        map, scale = self.synthesizer.map, self.mechanism.deviation
        means = np.asarray(self.release.values).reshape(-1, map.size) / self.counts[:, None]
        return filled(places, draw, discriminant(map, means, scale, self.counts, draw, device))


@final
@dataclass(frozen=True, eq=False)
class Choice:
    """The best of several ways to train, fitted to all that was released, and how each of them scored."""

    images: SyntheticImages
    training: ImageTraining
    scores: tuple[float, ...]
    """Squared distances on features that were set aside, in the order of the ways; less is better."""
