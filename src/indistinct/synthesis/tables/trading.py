"""Rows that trade values, so that tables of them come nearer to those of the mixture they were drawn from.

Inside a component columns are independent, so which of its rows has which value is chance, and chance blurs
tables of two columns. Two rows of a component trade their values of a column where that brings the tables of
this column and each other one, by label, nearer to what the mixture expects. How often a component has a
value stays as it was. It reads the mixture and the rows alone.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from indistinct.functions.public_randomness import PublicUniforms
from indistinct.numerics.arrays import Array

if TYPE_CHECKING:
    from indistinct.synthesis.tables.generator import Mixture, Places

_AT_A_TIME = 16
"""Of the pairs of rows that may trade a column, one in so many decide together: each sees what those before
did, and not what its own do."""
_MOST = 2**25
"""Beyond so many numbers in all tables together rows keep what they have."""


def traded(mixture: "Mixture", own: "Places", cells: "Places", public: PublicUniforms) -> "Places":
    """Cells [rows, columns] after trades between rows of one component; `own` [rows] says which that is."""
    labels, components, width = mixture.chances.shape
    rows, columns = cells.shape
    if columns < 2 or labels * width**2 > _MOST:
        return cells
    places = cells + np.cumsum([0, *mixture.sizes[:-1]])
    first = own // components * width  # where the tables of a row's label begin
    excess = _excess(mixture, first, places)
    for column in range(columns):
        one, other = _partners(own, public.draw(rows))
        differ = places[one, column] != places[other, column]
        one, other = one[differ], other[differ]
        rest = np.delete(np.arange(columns), column)
        for batch in range(_AT_A_TIME):
            some = np.stack([one[batch::_AT_A_TIME], other[batch::_AT_A_TIME]])
            have = places[some, column]
            beside = places[some[:, :, None], rest]
            lines = first[some[0]][:, None] + beside
            # a trade takes 1 from the cells of what both have, and adds 1 to those of what they get
            kept, got = excess[lines, have[:, :, None]], excess[lines, have[::-1, :, None]]
            # half of what it adds to the sum of squares; where both are alike, cells stay as they are
            change = np.where(beside[0] == beside[1], 0.0, (got - kept).sum(axis=0) + 2).sum(axis=1)
            chosen = change < 0
            values, lines, beside = have[:, chosen, None], lines[:, chosen], beside[:, chosen]
            labelled = lines - beside
            for value, sign in ((values, -1.0), (values[::-1], 1.0)):
                np.add.at(excess, (lines, value), sign)
                np.add.at(excess, (labelled + value, beside), sign)
            places[some[:, chosen], column] = have[::-1, chosen]
    found: Places = places - np.cumsum([0, *mixture.sizes[:-1]])
    return found


def _excess(mixture: "Mixture", first: "Places", places: "Places") -> Array:
    """How many rows of each label [labels · cells, cells] have two cells, beyond what is expected."""
    labels, components, width = mixture.chances.shape
    expected = np.matmul(mixture.chances.transpose(0, 2, 1), mixture.chances)
    expected *= (len(places) * mixture.shares / components)[:, None, None]
    ones = np.ones(places.size)
    starts = np.arange(0, places.size + 1, places.shape[1])
    shape = (len(places), labels * width)
    by_label = sparse.csr_array((ones, (first[:, None] + places).ravel(), starts), shape)
    plain = sparse.csr_array((ones, places.ravel(), starts), (len(places), width))
    counts: Array = (by_label.T @ plain).toarray()
    counts -= expected.reshape(labels * width, width)
    return counts


def _partners(own: "Places", order: Array) -> tuple["Places", "Places"]:
    """Two by two, the rows of each component in a random order: the first of each two, and the second."""
    rows: npt.NDArray[np.int64] = np.lexsort((order, own))
    sorted_own = own[rows]
    starts = np.flatnonzero(np.diff(sorted_own, prepend=-1))
    place = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    leads = np.flatnonzero((place[:-1] % 2 == 0) & (sorted_own[1:] == sorted_own[:-1]))
    return rows[leads], rows[leads + 1]
