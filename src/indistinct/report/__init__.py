"""Reports: one account of a guarantee, told in words, as data and as a picture.

The command line, notebooks and the documentation all show this one account.
"""

from indistinct.report.compare import compare as compare
from indistinct.report.compare import comparison as comparison
from indistinct.report.model_card import ModelCard as ModelCard
from indistinct.report.model_card import model_card as model_card
from indistinct.report.paper_table import PaperTable as PaperTable
from indistinct.report.subject import Subject as Subject
from indistinct.report.subject import User as User
from indistinct.report.subject import explain as explain
