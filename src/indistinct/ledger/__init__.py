"""Privacy budgets that cannot be overspent: accounts of data sets, kept in a database."""

from indistinct.errors import Refused
from indistinct.ledger.account import Account
from indistinct.ledger.chain import Entry
from indistinct.ledger.events import Spend, State, Terms
from indistinct.ledger.ledger import Ledger
from indistinct.ledger.notions import Cap, Notion
from indistinct.ledger.signing import signed_heads

__all__ = [
    "Account",
    "Cap",
    "Entry",
    "Ledger",
    "Notion",
    "Refused",
    "Spend",
    "State",
    "Terms",
    "signed_heads",
]
