"""The generator: a mixture whose components draw each column by itself.

Given the label, a component is picked at random and each column is drawn from the component's own
distribution. All low-order tables of such a mixture are sums of outer products, so they are compared with
noisy ones exactly, without drawing a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from indistinct.errors import ArgumentError, check_count
from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array
from indistinct.synthesis.tables.trading import traded

Places = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """For each label, equally likely components, each with one distribution for each column.

    `shares` [labels] are the probabilities of the labels; `chances` [labels, components, cells] are those of
    the cells, the columns side by side.
    """

    sizes: tuple[int, ...]
    shares: Array
    chances: Array

    def __post_init__(self) -> None:
        labels, cells = len(self.shares), sum(self.sizes)
        if self.chances.ndim != 3 or (self.chances.shape[0], self.chances.shape[2]) != (labels, cells):
            raise ArgumentError("chances", self.chances.shape, f"of shape ({labels}, components, {cells})")
        for name, array in (("shares", self.shares), ("chances", self.chances)):
            if not (np.isfinite(array).all() and (array >= 0).all()):
                raise ArgumentError(name, "numbers that are no probabilities", "finite and not negative")
        sums = [self.shares.sum(), *(self.chances[:, :, part].sum(axis=2) for part in self.columns)]
        if any((np.abs(total - 1) > 1e-3).any() for total in sums):
            raise ArgumentError("chances", "sums that are not 1", "1 for all labels, and for each column")

    @property
    def columns(self) -> list[slice]:
        """Where the cells of each column are."""
        return [slice(a, b) for a, b in pairwise(accumulate(self.sizes, initial=0))]

    def sample(self, rows: int, public: PublicUniforms) -> tuple[Places, Places]:
        """The labels of new records, and the cells of their columns [rows, columns].

        Each row has the distribution of the mixture, but rows are not independent: expected counts are
        rounded up or down, of labels and components and, inside a component, of the cells of each column
        (systematic sampling); then rows of a component trade values (`trading`). Tables of the rows differ
        less from those of the mixture by both.
        """
        uniforms = public.draw(check_count("rows", rows), 2, 1 + len(self.sizes))
        labels, components = self.chances.shape[:2]
        together: Places = np.zeros(rows, dtype=np.int64)
        own = drawn(np.repeat(self.shares, components)[None], spread(together, uniforms[:, :, -1]))
        flat = self.chances.reshape(labels * components, -1)
        cells = [
            drawn(flat[:, part][own], spread(own, uniforms[:, :, place]))
            for place, part in enumerate(self.columns)
        ]
        return own // components, traded(self, own, np.stack(cells, axis=1), public)

    def table(self, columns: Sequence[int], by_label: bool = False) -> Array:
        """Probabilities of the cells of some columns together, the label's first if `by_label`."""
        labels, components = self.chances.shape[:2]
        joint = np.repeat(self.shares / components, components)[:, None]
        for column in columns:
            own = self.chances.reshape(labels * components, -1)[:, self.columns[column]]
            if column == columns[-1]:  # adds components up at once, where most cells would be held
                left, right = (part.reshape(labels, components, -1) for part in (joint, own))
                joint = np.matmul(left.transpose(0, 2, 1), right)
            else:
                joint = (joint[:, :, None] * own[:, None]).reshape(len(own), -1)
        found: Array = joint.reshape(labels, *(self.sizes[column] for column in columns))
        return found if by_label else found.sum(axis=0)


def drawn(chances: Array, uniforms: Array) -> Places:
    """One cell for each uniform, by inverting the sums of its row of chances (or of the only one)."""
    sums = np.cumsum(chances, axis=1)
    if len(sums) == 1:
        found = np.searchsorted(sums[0], uniforms * sums[0, -1], side="right")
    else:
        found = (sums <= uniforms[:, None] * sums[:, -1:]).sum(axis=1)
    places: Places = np.minimum(found, chances.shape[1] - 1)
    return places


def spread(groups: Places, uniforms: Array) -> Array:
    """A uniform number for each row, evenly spread over those of a group: with these, expected counts in the
    group are rounded up or down (systematic sampling, in a random order). Of `uniforms` [rows, 2] the first
    make the order, the second say where each group begins."""
    order = np.lexsort((uniforms[:, 0], groups))
    own = groups[order]
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    members = np.diff(starts, append=len(own))
    first = np.repeat(starts, members)
    found = np.empty(len(groups))
    found[order] = (np.arange(len(own)) - first + uniforms[first, 1]) / np.repeat(members, members)
    return found
