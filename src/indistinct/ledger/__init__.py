"""Privacy budgets that cannot be overspent: accounts of data sets, kept in a database."""

from indistinct.errors import Refused as Refused
from indistinct.ledger.account import Account as Account
from indistinct.ledger.chain import JournalEntry as JournalEntry
from indistinct.ledger.events import AccountTerms as AccountTerms
from indistinct.ledger.events import Spend as Spend
from indistinct.ledger.events import State as State
from indistinct.ledger.ledger import Ledger as Ledger
from indistinct.ledger.notions import Cap as Cap
from indistinct.ledger.notions import Notion as Notion
from indistinct.ledger.signing import signed_heads as signed_heads
