"""Reports: one account of a guarantee, told in words, as data and as a picture.

The command line, notebooks and the documentation all show this one account.
"""

from indistinct.report.compare import compare, comparison
from indistinct.report.model_card import ModelCard, model_card
from indistinct.report.paper_table import PaperTable
from indistinct.report.subject import Subject, User, explain

__all__ = ["ModelCard", "PaperTable", "Subject", "User", "compare", "comparison", "explain", "model_card"]
