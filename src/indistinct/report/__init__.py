"""Reports: one account of a guarantee, told in words, as data and as a picture.

The command line, notebooks and the documentation all show this one account.
"""

from indistinct.report.subject import Subject, User, explain

__all__ = ["Subject", "User", "explain"]
