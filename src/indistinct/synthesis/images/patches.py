"""What small patches of a picture look like, and where: the features for colour pictures.

Each patch, less its mean and divided by its contrast, is compared with some random patches (Coates and Ng
2012); how far each comparison goes beyond a threshold, up and down, is averaged over the squares of a grid.
These numbers are then whitened: put in the scale in which they vary alike and independently. Patches and
scales are those of public random pictures, `leaves`, so all of it is fixed before a record is read.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt

from indistinct.description import Described, Positive, PositiveCount, describable
from indistinct.errors import ArgumentError
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import EPS
from indistinct.synthesis.images.leaves import leaves

_FLAT = 0.003
"""Added to the variance of a patch, so that a flat one is compared with nothing."""
_THRESHOLD = 0.5
_RIDGE = 0.1
"""Of the whitening of patches, as a share of their mean variance."""
_SMALL_SCALE = 3e-3
"""Of the whitening of all features, likewise."""
_REACH = 4.0
"""Features before whitening are pulled back towards this many times their usual length."""
_AT_ONCE = 64
_MOST_PAIRS, _MOST_PICTURES = 2**13, 2**17
_MOST_NUMBERS = 2**28
"""In all public pictures together: a gigabyte or two."""
_FLOOR = 1 / 16


@final
@describable("PatchPart")
class PatchPart(Described):
    """Patches of `side` pixels compared with `filters` random ones, averaged over a grid, and a small copy of
    the picture; a vector no longer than the root of `weight`, whatever the picture."""

    shape: tuple[int, int, int]
    weight: Positive
    side: PositiveCount = 6
    filters: PositiveCount = 400
    grid: PositiveCount = 3
    copy: PositiveCount = 8
    pictures: PositiveCount = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        whole = len(self.shape) == 3 and all(isinstance(side, int) and side > 0 for side in self.shape)
        if not whole or self.pictures < 2 or math.prod(self.shape) * self.pictures > _MOST_NUMBERS:
            allowed = f"(channels, height, width) of pictures that have {_MOST_NUMBERS} numbers together"
            raise ArgumentError("shape", self.shape, allowed)
        least = self.side + self.grid - 1
        if min(self.shape[1:]) < max(least, self.copy):
            allowed = f"{max(least, self.copy)} pixels or more, for this side, grid and copy"
            raise ArgumentError("shape", self.shape, allowed)
        if self.copy % 2:
            raise ArgumentError("copy", self.copy, "an even number")
        if self.pairs > _MOST_PAIRS or self.pictures > _MOST_PICTURES:
            allowed = f"at most {_MOST_PAIRS} pairs of features and {_MOST_PICTURES} pictures"
            raise ArgumentError("filters", self.filters, allowed)

    @property
    def pairs(self) -> int:
        """Half of how many features there are."""
        return self.filters * self.grid**2 + self.shape[0] * self.copy**2 // 2

    def wobble(self) -> float:
        """Twice how far from the true vector one computation may be, u being half of EPS.

        A patch, centred and divided, has length √p at most. Its comparison with a filter w is wrong by
        (p + 8) u |w| √p, and by what centring numbers from 0 to 1 adds, (p + 2) u |w| √p / √flat. Means over
        squares of n places keep such errors and add (n + 2) u times the largest comparison, |w| √p. Pulling
        back has slope 1 at most. A product with the matrix W of D rows is wrong by D u |W|_F times the
        length, and passes errors on times |W|. The last division has slope at most 4 / root(D) (`_unit`)."""
        made = _made(self)
        patch = self.shape[0] * self.side**2
        half, places = EPS / 2, (self.shape[1] + 1) * (self.shape[2] + 1)
        longest = made.longest_filter * math.sqrt(patch)
        one = half * longest * (patch + 8 + (patch + 2) / math.sqrt(_FLAT) + places + 2)
        count = 2 * self.pairs
        raw = math.sqrt(count) * one + 8 * half * count * made.reach
        white = made.stretch * raw + (count + 4) * half * made.frobenius * made.reach
        return 2 * math.sqrt(self.weight) * (white / math.sqrt(_FLOOR * count) + 8 * half)

    def on(self, device: str, *, exact: bool, some: npt.NDArray[np.int64]) -> Callable[[Any], Any]:
        """As a function of PyTorch tensors; only some pairs of features."""
        import torch

        kind = torch.float64 if exact else torch.float32
        raw, white = _features(self, _made(self), device, kind)
        chosen = torch.as_tensor(np.concatenate([some, some + self.pairs]), device=device)
        everything = len(some) == self.pairs
        height = math.sqrt(self.weight)

        def features(images: Any) -> Any:
            found = white(raw(images)) * height
            return found if everything else found[:, chosen]

        return features


@dataclass(frozen=True)
class _Made:
    """What is measured on public pictures, in double precision."""

    filters: Any
    middle: Any
    whitening: Any
    reach: float
    longest_filter: float
    stretch: float
    frobenius: float


@lru_cache(maxsize=4)
def _made(part: PatchPart) -> _Made:
    """The whitening is that of Cholesky's root: unlike eigenvectors it has no signs or turns to choose, so
    another machine finds the same, but for rounding."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.no_grad():
        pictures = leaves(part.shape, part.pictures, part.seed, device)
        drawn = PublicUniforms(part.seed + 1)
        some = _patches(pictures[: part.filters], part.side)
        some = some.reshape(-1, some.shape[-1])
        stride = max(1, len(some) // 200_000)
        root = _root(torch.cov(some[::stride].T), _RIDGE)
        picked = torch.as_tensor((drawn.draw(part.filters) * len(some)).astype(np.int64), device=device)
        seen = some[picked] @ root.T
        filters = (seen / (seen.norm(dim=1, keepdim=True) + 1e-3)) @ root
        filters = (filters - filters.mean(1, keepdim=True)).T
        made = _Made(filters, 0.0, None, math.inf, 0.0, 0.0, 0.0)
        raw, _ = _features(part, made, device, torch.float64)
        rows = raw(pictures)
        middle = rows.mean(0)
        spread = torch.cov(rows.T)
        whitening = _root(spread, _SMALL_SCALE)
        return _Made(
            filters,
            middle,
            whitening,
            _REACH * math.sqrt(float(spread.trace())),
            float(filters.norm(dim=0).max()),
            1 / math.sqrt(_SMALL_SCALE * float(spread.diagonal().mean())),
            float(whitening.norm()),
        )


def _root(covariance: Any, ridge: float) -> Any:
    """The inverse of Cholesky's root, lower triangular."""
    import torch

    size = len(covariance)
    eye = torch.eye(size, dtype=covariance.dtype, device=covariance.device)
    lower = torch.linalg.cholesky(covariance + (ridge * covariance.diagonal().mean() + 1e-12) * eye)
    return torch.linalg.solve_triangular(lower, eye, upper=False)


def _patches(images: Any, side: int) -> Any:
    """Every patch, less its mean and divided by its contrast: [n, places, numbers in a patch]."""
    from torch.nn import functional

    rows = functional.unfold(images, side).transpose(1, 2)
    rows = rows - rows.mean(2, keepdim=True)
    return rows / ((rows**2).mean(2, keepdim=True) + _FLAT).sqrt()


def _features(part: PatchPart, made: _Made, device: str, kind: Any) -> tuple[Callable[[Any], Any], ...]:
    import torch

    _, height, width = part.shape
    filters = made.filters.to(device, kind)
    squares = _squares(height - part.side + 1, width - part.side + 1, part.grid).to(device, kind)
    cells = _squares(height, width, part.copy).to(device, kind)

    def raw(images: Any) -> Any:
        if kind is torch.float64 and len(images) > _AT_ONCE:
            return torch.cat([raw(few) for few in images.split(_AT_ONCE)])
        images = images.clamp(0, 1)
        seen = _patches(images, part.side) @ filters
        beyond = torch.cat([(seen - _THRESHOLD).relu(), (-seen - _THRESHOLD).relu()], 2)
        found = (squares @ beyond).flatten(1)
        copy = (images.flatten(2) @ cells.T).flatten(1)
        return torch.cat([found, copy], 1)

    if made.whitening is None:
        return raw, raw
    middle, whitening = made.middle.to(device, kind), made.whitening.to(device, kind)

    def white(rows: Any) -> Any:
        rows = rows - middle
        # y / root(1 + |y|² / R²) is no longer than R, and close to y where |y| is much less
        rows = rows / (1 + (rows**2).sum(1, keepdim=True) / made.reach**2).sqrt()
        return _unit(rows @ whitening.T)

    return raw, white


def _unit(rows: Any) -> Any:
    """y / root(D / 16 + |y|²), shorter than 1; whitened features have |y|² of about D or more. Its slope is
    at most 4 / root(D)."""
    return rows / (_FLOOR * rows.shape[1] + (rows**2).sum(1, keepdim=True)).sqrt()


def _squares(height: int, width: int, grid: int) -> Any:
    """[grid², places]: means over the squares of a grid, row by row."""
    import torch

    def lines(length: int) -> Any:
        place = torch.arange(length) * grid // length
        member = (place == torch.arange(grid)[:, None]).double()
        return member / member.sum(1, keepdim=True)

    return torch.kron(lines(height), lines(width))
