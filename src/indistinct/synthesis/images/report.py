"""What synthetic images are worth, in one report. It looks at real records: nothing here is private."""

import statistics
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indistinct.boundary import guarded
from indistinct.errors import ArgumentError, DataError, check_count, needs
from indistinct.synthesis.images.evaluation import predicted
from indistinct.synthesis.images.quality import (
    Features,
    ImageNearness,
    Images,
    frechet_distance,
    nearness,
    wavelet_features,
)
from indistinct.synthesis.words import not_private

_NOT_PRIVATE = not_private("images")
_WIDTH = 96


@dataclass(frozen=True)
class ImageEvaluation:
    """Synthetic images, judged by real ones that were set aside."""

    images: int
    """Synthetic ones."""
    real: int
    accuracies: tuple[float, ...]
    """The share of real images whose class a network finds that was trained on synthetic ones only, for each
    seed of the network."""
    by_class: tuple[tuple[Any, float], ...]
    """Each class, and the share of its real images that are found, the mean over the seeds."""
    frechet: float
    frechet_is_fid: bool
    """In features of an Inception network that was given; otherwise in wavelet features, and no FID."""
    repeated: float
    """The share of synthetic images that equal an earlier one, to a byte's precision."""
    copies: float
    """The share of synthetic images that equal a real one that was set aside, in the same sense."""
    copies_of_used: float | None = None
    """The same for images that the generator was fitted to, where they are known."""
    near: ImageNearness | None = None
    """Distances to images that were used, and to as many that were not, where the former are known."""

    @property
    def accuracy(self) -> float:
        return statistics.fmean(self.accuracies)

    @property
    def deviation(self) -> float | None:
        """Of the accuracy over the seeds of the network: it says nothing of other noise or other records."""
        return statistics.stdev(self.accuracies) if len(self.accuracies) > 1 else None

    def data(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        found = {**asdict(self), "accuracy": self.accuracy, "deviation": self.deviation}
        found["by_class"] = [[_plain(label), share] for label, share in self.by_class]
        return {"private": False, "words": _NOT_PRIVATE, **found}

    def __str__(self) -> str:
        lines = [*textwrap.wrap(_NOT_PRIVATE, _WIDTH), ""]

        def row(name: str, text: str) -> None:
            lines.append(f"{name:60}{text:>20}")

        row("synthetic images", f"{self.images}")
        row("real images, to test on", f"{self.real}")
        spread = "" if self.deviation is None else f" ± {self.deviation:.4f}"
        seeds = len(self.accuracies)
        row(f"accuracy on real images, {seeds} network{'s' * (seeds > 1)}", f"{self.accuracy:.4f}{spread}")
        for label, share in self.by_class:
            row(f"  of class {label}"[:59], f"{share:.4f}")
        name = (
            "Fréchet Inception distance"
            if self.frechet_is_fid
            else "wavelet-feature Fréchet distance (no FID)"
        )
        row(name, f"{self.frechet:.4f}")
        row("equal to an earlier synthetic image", f"{self.repeated:.4f}")
        row("equal to a real image that was set aside", f"{self.copies:.4f}")
        if self.copies_of_used is not None:
            row("equal to an image that was used", f"{self.copies_of_used:.4f}")
        if self.near is not None:
            row("distance to the nearest that was set aside", f"{self.near.to_others:.4f}")
            row("distance to the nearest that was used", f"{self.near.to_used:.4f}")
            row("within a tenth of the usual distance of one set aside", f"{self.near.copies_of_others:.4f}")
            row("within a tenth of the usual distance of one used", f"{self.near.copies_of_used:.4f}")
        return "\n".join(lines)


@guarded("the images and their labels")
def evaluate_images(
    images: Any,
    labels: Any,
    real_images: Any,
    real_labels: Any,
    used_images: Any = None,
    *,
    seeds: int = 3,
    epochs: int = 20,
    features: Features | None = None,
    device: str | None = None,
) -> ImageEvaluation:
    """Judges synthetic images by real ones that were set aside, all [n, channels, height, width], bytes or
    numbers from 0 to 1; with `used_images`, those that the generator was fitted to, it says also whether they
    are copied. `features` is `inception_features(weights)` for an FID. Not private."""
    with needs("synthesis"):
        import torch

    check_count("seeds", seeds, least=1)
    check_count("epochs", epochs, least=1)
    made, real = _checked("images", images), _checked("real_images", real_images)
    used = None if used_images is None else _checked("used_images", used_images)
    for name, some in (("real_images", real), ("used_images", used)):
        if some is not None and some.shape[1:] != made.shape[1:]:
            raise ArgumentError(
                name, some.shape[1:], f"images of shape {made.shape[1:]}, like synthetic ones"
            )
    names, kinds, truth = _coded(labels, len(made), real_labels, len(real))
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    tensors = [torch.as_tensor(some, device=device) for some in (made, kinds, real)]
    right = np.array(
        [predicted(*tensors, epochs=epochs, seed=seed).cpu().numpy() == truth for seed in range(seeds)]
    )
    present = np.unique(truth)
    near, copied = None, None
    if used is not None:
        many = min(len(used), len(real))
        near, copied = nearness(made, used[:many], real[:many]), _equal(made, used)
    return ImageEvaluation(
        len(made),
        len(real),
        tuple(float(share) for share in right.mean(axis=1)),
        tuple((names[place], float(right[:, truth == place].mean())) for place in present),
        frechet_distance(made, real, features or wavelet_features),
        features is not None,
        1 - len(np.unique(_bytes(made))) / len(made),
        _equal(made, real),
        copied,
        near,
    )


def _checked(name: str, images: Any) -> npt.NDArray[np.float32]:
    array = np.asarray(images)
    if array.ndim == 3:
        array = array[:, None]
    if array.ndim != 4 or array.dtype.kind not in "uif":
        allowed = "numbers [n, channels, height, width], or [n, height, width]"
        raise ArgumentError(name, f"{array.dtype} of shape {array.shape}", allowed)
    if len(array) < 2:
        raise DataError(f"{name}: there are fewer than two images")
    scaled: npt.NDArray[np.float32] = (array / 255 if array.dtype == np.uint8 else array).astype(np.float32)
    if not (np.isfinite(scaled).all() and 0 <= scaled.min() and scaled.max() <= 1):
        raise DataError(f"{name}: there are values that are not bytes, and not numbers from 0 to 1")
    return scaled


def _coded(labels: Any, images: int, real_labels: Any, real: int) -> tuple[list[Any], Any, Any]:
    """The classes of the synthetic images and then all others; and both kinds of labels as places in them."""
    both = [np.asarray(labels), np.asarray(real_labels)]
    for name, some, count in zip(("labels", "real_labels"), both, (images, real), strict=True):
        if some.shape != (count,):
            raise ArgumentError(name, f"shape {some.shape}", f"one for each of {count} images")
    if len({some.dtype.kind in "iub" for some in both}) > 1:
        kinds = f"{both[0].dtype} and {both[1].dtype}"
        raise ArgumentError("labels", kinds, "of the same type as the real ones")
    known = np.unique(both[0])
    names = [*known, *np.setdiff1d(both[1], known)]  # a network knows no class that was never generated
    place = {name: position for position, name in enumerate(names)}
    kinds_of, truth = (np.array([place[name] for name in some], dtype=np.int64) for some in both)
    return names, kinds_of, truth


def _bytes(images: Images) -> npt.NDArray[Any]:
    """Each image as one value: equal where all pixels are, to a byte's precision."""
    rows = np.ascontiguousarray(np.rint(np.asarray(images) * 255).astype(np.uint8).reshape(len(images), -1))
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()


def _equal(images: Images, others: Images) -> float:
    return float(np.isin(_bytes(images), _bytes(others)).mean())


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
