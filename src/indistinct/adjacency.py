"""Which data sets count as neighbours.

A privacy statement without its adjacency is not a statement: the same noise gives different
guarantees when a neighbour lacks a record and when a neighbour has another record in its place.
"""

from enum import Enum

from indistinct.description import describable
from indistinct.errors import ArgumentError


@describable()
class Adjacency(Enum):
    """The relation between neighbouring data sets.

    >>> Adjacency.ADD_REMOVE.value
    'add/remove'
    """

    ADD_REMOVE = "add/remove"
    """One data set is the other with one record added or removed."""

    REPLACE_ONE = "replace-one"
    """Both data sets have the same size and differ in the value of one record."""

    @classmethod
    def _missing_(cls, value: object) -> "Adjacency | None":
        """As it is typed in plans and in a shell."""
        return cls.ADD_REMOVE if value == "add-remove" else None


def check_adjacency(adjacency: object, argument: str = "adjacency") -> Adjacency:
    """The adjacency, or the one of this name.

    >>> check_adjacency("replace-one")
    <Adjacency.REPLACE_ONE: 'replace-one'>
    """
    try:
        return Adjacency(adjacency)
    except ValueError:
        raise ArgumentError(argument, adjacency, "'add-remove' or 'replace-one'") from None
