"""The ledger: accounts that belong to data, and what was spent of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.ledger.account import Account
from indistinct.ledger.book import FILES, LEDGER, Book, someone
from indistinct.ledger.chain import check_text, commitment
from indistinct.ledger.events import AccountTerms, State, check_terms
from indistinct.ledger.files import FilesKey, recognised
from indistinct.ledger.lineage import Lineage, names_above
from indistinct.ledger.notions import Cap, Notion, cap_of, check_notion, check_sensible, notions_for
from indistinct.ledger.parts import check_name
from indistinct.ledger.signing import signed
from indistinct.ledger.store import Store, store_of
from indistinct.mechanisms import Budget
from indistinct.noise import SystemSource

_KEY_BYTES = 32


class Ledger:
    """Budgets of data sets, kept in a database.

    >>> import tempfile
    >>> from indistinct import Budget, Laplace
    >>> with Ledger.open(tempfile.mkdtemp() + "/budget.db") as ledger:
    ...     account = ledger.open_account("census", Budget(epsilon=1))
    ...     for _ in range(10):
    ...         _ = account.spend(Laplace(10))
    ...     account.left, account.spend(Laplace(1e9))
    Traceback (most recent call last):
    indistinct.errors.Refused: the account 'census' refuses: epsilon 1e-09 was asked (1e-07 % of the budget),
    and 0 % is left of epsilon 1 (epsilon 1 is taken)
    """

    def __init__(self, store: Store, who: str | None = None) -> None:
        self.book = Book(store)
        self.who = someone() if who is None else check_text("who", who)
        if self.book.state(LEDGER) is None:
            self._begin()
        self._key: bytes | None = None

    @classmethod
    def open(cls, where: Any, *, create: bool = True, who: str | None = None) -> Self:
        """The ledger at an address: `sqlite:///budget.db`, a path, or `postgresql://…`; a new one unless
        told not to."""
        return cls(store_of(where, create), who)

    def close(self) -> None:
        """Ends the connection."""
        self.book.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self) -> None:
        """A ledger's own first entry, and the key for digests of files."""
        with self.book.transaction():
            self.book.store.alone()
            if self.book.state(LEDGER) is None:
                key = random_bytes(_KEY_BYTES)
                content = {"ledger": random_bytes(16).hex(), "secret": commitment(key)}
                self.book.open(LEDGER, AccountTerms(None), None, self.who, content)
                self.book.hide(LEDGER, FILES, key)

    @property
    def id(self) -> str:
        """A random name, by which ledgers that are merged are told apart."""
        first = self.book.first(LEDGER)
        return str(first.content["ledger"])

    # -- accounts ------------------------------------------------------------------------------

    def open_account(
        self,
        name: str,
        budget: Budget | None,
        *,
        notion: str | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        unit: str = "one record",
        approval: bool = False,
        refusals: int = 5,
        renews: str | None = None,
        who: str | None = None,
        confirm: bool = False,
    ) -> Account:
        """An account with a budget, or without one (None: an odometer). One that is there is returned if its
        terms are these. Absurd budgets must be confirmed."""
        check_name(name)
        chosen = None if notion is None else check_notion(notion)
        terms = check_terms(
            AccountTerms(
                budget=None if budget is None else check_sensible(budget, confirm),
                notion=None if chosen is None else chosen.value,
                adjacency=check_adjacency(adjacency),
                unit=check_text("unit", unit),
                approval=_flag("approval", approval),
                refusals=refusals,
                renews=renews,
            )
        )
        cap = first_cap(terms)
        who = self.who if who is None else check_text("who", who)
        with self.book.transaction():
            self.book.locked(LEDGER)
            state = self.book.state(name)
            if state is None:
                self.book.open(name, terms, cap, who, {})
        if state is not None and terms not in (
            state.terms,
            AccountTerms.from_json(self.book.first(name).content["terms"]),
        ):
            raise Refused(name, "it is there, with other terms; `account` opens it as it is")
        return Account(self, name)

    def account(self, name: str) -> Account:
        """The account of this name."""
        if self.book.state(check_text("account", name, longest=1000)) is None:
            known = ", ".join(state.name for state in self.book.states()[:20]) or "none"
            raise ArgumentError("account", name, f"one of this ledger: {known}")
        return Account(self, name)

    def accounts(self) -> list[Account]:
        """All of them, parts too, by name."""
        return [Account(self, state.name) for state in self.book.states()]

    def states(self) -> list[State]:
        """Where all of them stand, in one look; each as `Account.state` says it, without its windows."""
        found = {one.name: one for one in self.book.states()}
        lines = (tuple(found[one] for one in names_above(name) if one in found) for name in found)
        return [Lineage(line).told() for line in lines]

    # -- which data ----------------------------------------------------------------------------

    @property
    def files_key(self) -> FilesKey:
        """The key under which digests of files are taken; it stays here."""
        if self._key is None:
            secret = self.book.secret(LEDGER, FILES)
            if secret is None:
                raise ArgumentError("ledger", "no key", "one whose key for digests of files is there")
            self._key = secret
        return FilesKey(self._key)

    def digest(self, path: str | os.PathLike[str]) -> str:
        """Of what is in a file, under the key of this ledger."""
        from indistinct.ledger.files import digest_of

        return digest_of(self, os.path.realpath(path))

    def recognise(self, paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Account | None:
        """The account that files belong to: by what is in them, and by where they lie; else the one of this
        name."""
        return recognised(self, paths, name)

    # -- the whole -----------------------------------------------------------------------------

    def verify(self, receipts: Iterable[Mapping[str, Any]] = ()) -> list[str]:
        """What is wrong, one sentence for each mistake; nothing if all is well. Receipts (of
        `Account.receipt`, or of `heads`) show whether entries were lost since they were given."""
        from indistinct.ledger.verify import mistakes

        return mistakes(self, receipts)

    def heads(self) -> list[dict[str, Any]]:
        """The last entry of every account and of the ledger itself: receipts for all there is."""
        states = [self.book.state(LEDGER), *self.book.states()]
        return [{"account": one.name, "number": one.number, "hash": one.head} for one in states if one]

    def sign(self, private_key: bytes) -> dict[str, Any]:
        """The heads, signed with Ed25519 (32 bytes of a private key; needs `cryptography`)."""
        return signed(self.id, self.heads(), private_key)

    def export(self) -> dict[str, Any]:
        """Everything but what is secret, as JSON data."""
        from indistinct.ledger.merge import exported

        return exported(self)

    def merge(self, other: "Ledger | Mapping[str, Any]") -> list[str]:
        """Takes in what another ledger has; says what came of it."""
        from indistinct.ledger.merge import merged

        return merged(self, other)


def random_bytes(count: int) -> bytes:
    """From the operating system."""
    return SystemSource().integer(8 * count).to_bytes(count, "big")


def first_cap(terms: AccountTerms) -> Cap | None:
    """The cap of an account that opens; None while the notion is not decided."""
    notion = None if terms.notion is None else check_notion(terms.notion)
    if terms.budget is None:
        if notion is Notion.RENYI:
            raise ArgumentError(
                "notion", "renyi", "another, for an account without a budget: the order is part of one"
            )
        return None if notion is None else Cap(notion, float("inf"))
    possible = notions_for(terms.budget)
    if notion is None and len(possible) > 1:
        return None
    return cap_of(terms.budget, possible[0] if notion is None else notion)


def _flag(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(argument, value, "True or False")
    return value
