"""The figures, tables and printed numbers of papers, computed again by the library.

`indistinct reproduce` on the command line. What a paper prints is typed in as a claim; everything else is
computed. Where a paper's method is not valid, the exact curve is drawn beside it.
"""

from indistinct.reproduce.catalogue import CATALOGUE, PAPERS, claims, listing, reproduce
from indistinct.reproduce.figure import Claim, Curve, Entry, Figure, FigureTable, Panel

__all__ = [
    "CATALOGUE",
    "PAPERS",
    "Claim",
    "Curve",
    "Entry",
    "Figure",
    "FigureTable",
    "Panel",
    "claims",
    "listing",
    "reproduce",
]
