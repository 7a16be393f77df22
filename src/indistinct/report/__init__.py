"""Reports: one account of a guarantee, told in words, as data and as a picture.

The command line, notebooks and the documentation all show this one; nothing is computed differently for
one of them.
"""

from indistinct.report.data import to_data
from indistinct.report.plot import draw
from indistinct.report.subject import Subject, explain
from indistinct.report.text import to_text

__all__ = ["Subject", "draw", "explain", "to_data", "to_text"]
