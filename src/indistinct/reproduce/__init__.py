"""The figures, tables and printed numbers of papers, computed again by the library.

`indistinct reproduce` on the command line. What a paper prints is typed in as a claim; everything else is
computed. Where a paper's method is not valid, the exact curve is drawn beside it.
"""

from indistinct.reproduce.catalogue import CATALOGUE, PAPERS, claims, listing, reproduce
from indistinct.reproduce.figure import Curve, Entry, Figure, FigureTable, Panel, Printed

__all__ = [
    "CATALOGUE",
    "PAPERS",
    "Curve",
    "Entry",
    "Figure",
    "FigureTable",
    "Panel",
    "Printed",
    "claims",
    "listing",
    "reproduce",
]
