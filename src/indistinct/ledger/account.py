"""An account: what may be asked of one data set, and what has been."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.guarantees import Guarantee
from indistinct.ledger import files, history, owners, parts
from indistinct.ledger.amounts import Amount, written
from indistinct.ledger.chain import JournalEntry, check_content, check_digests, check_text, commitment
from indistinct.ledger.decide import Decision, Request, decided
from indistinct.ledger.events import (
    ANSWERS,
    CANCELLED,
    CHARGED,
    COMPLETE,
    EVENTS,
    RESERVED,
    AccountTerms,
    Spend,
    State,
    telling,
)
from indistinct.ledger.known import versions
from indistinct.ledger.lineage import Lineage, lineage
from indistinct.ledger.notions import Cap
from indistinct.mechanisms import Budget, Mechanism
from indistinct.noise import SystemSource

if TYPE_CHECKING:
    from indistinct.ledger.ledger import Ledger

R = TypeVar("R")
_SECRET_BITS = 256
_OWN = "#"
"""How the keys begin that the ledger makes itself."""


class Account:
    """An account of a ledger. Everything that it says is read from the ledger when it is asked."""

    def __init__(self, ledger: "Ledger", name: str) -> None:
        self.ledger, self.name = ledger, name
        self._book = ledger.book
        self._first = self._own().terms

    # -- where it stands -----------------------------------------------------------------------

    def state(self) -> State:
        """All of it at one moment; of an account that renews, the window that is open. What is closed or
        locked above is so here, and refusals are those of the whole."""
        return self._line().told()

    def _own(self) -> State:
        state = self._book.state(self.name) if self.name else None
        if state is None:
            raise ArgumentError("account", self.name, "one of this ledger")
        return state

    @property
    def terms(self) -> AccountTerms:
        """What it was opened for; the budget is the last one that it was raised to."""
        return self._own().terms

    @property
    def cap(self) -> Cap | None:
        """The most that may be spent; None until the first mechanism decides in which notion."""
        return self.state().cap

    @property
    def spent(self) -> Amount:
        """What is charged for good."""
        return self.state().spent

    @property
    def reserved(self) -> Amount:
        """What is kept for releases of which nothing was drawn."""
        return self.state().reserved

    @property
    def left(self) -> Amount:
        """What may still be asked."""
        return self.state().left

    def __str__(self) -> str:
        return history.line(self.state())

    def __repr__(self) -> str:
        return f"<account {self.name!r} of {self._book.store.where}>"

    # -- spending ------------------------------------------------------------------------------

    def reserve(
        self,
        mechanism: Mechanism | Guarantee,
        *,
        key: str,
        plan: str = "",
        who: str | None = None,
        note: str = "",
        adjacency: Adjacency | str | None = None,
        unit: str | None = None,
    ) -> Spend:
        """Keeps the cost of a mechanism, of which nothing has been drawn yet. Request again with the same key
        it is the same spend. Refusals are journalled. `unit` says whom it protects, in the words of the
        account, where its queries say it in others."""
        content = {"plan": plan, "note": note}
        return self._ask("reserved", mechanism, check_text("key", key), who, adjacency, content, unit)

    def spend(
        self,
        mechanism: Mechanism | Guarantee,
        *,
        key: str | None = None,
        plan: str = "",
        who: str | None = None,
        note: str = "",
        adjacency: Adjacency | str | None = None,
        digests: Mapping[str, str] | None = None,
        tells: Sequence[str] = (),
    ) -> Spend:
        """Reserved, charged and complete at once, for noise that is drawn elsewhere. Without a key it is a
        new spend whenever it is asked; with one, asked again after an error or a crash, it is charged
        once. `tells` is what is learnt without noise; it counts as a refusal that tells."""
        content = {"plan": plan, "note": note, "digests": check_digests(digests or {}), **telling(tells)}
        return self._ask("spent", mechanism, key, who, adjacency, content)

    def _ask(
        self,
        event: str,
        mechanism: Any,
        key: str | None,
        who: str | None,
        adjacency: Any,
        content: dict[str, Any],
        unit: str | None = None,
    ) -> Spend:
        who, plan = self._who(who), check_text("plan", content["plan"], empty=True)
        check_text("note", content["note"], empty=True, longest=10_000)
        if key is not None and check_text("key", key).startswith((parts.DIVISION, _OWN)):
            raise ArgumentError("key", key, f"one that does not begin with {parts.DIVISION} or {_OWN}")
        about = None if adjacency is None else check_adjacency(adjacency)
        place = self._place(key or "", who)
        ours = self._first.unit
        asked = Request.of(mechanism, self._first.adjacency, about, None if unit == ours else ours)
        asked.prepare(self._book.state(place))
        with self._book.transaction():
            line = lineage(self._book, place, locked=True, telling=ANSWERS in content)
            state = line.own
            own = self._book.free_key(place, _OWN, state.number + 1) if key is None else key
            before = None if key is None else self._book.spend(place, own)
            if before is not None and before.state != CANCELLED:
                if asked.same(before, plan) and (event == "reserved" or before.state == COMPLETE):
                    return replace(before, description=self._book.text(before.digest))
                reason = f"the key {key!r} was used for something else, or is {before.state}"
                decision = Decision(refused=Refused(self.name, reason))
            else:
                decision = decided(state, asked, line.forbidden(self._book, plan))
            if decision.refused is not None:
                told = {"asked": asked.described(), "key": key or "", "plan": plan}
                told["reason"] = decision.refused.reason
                self._book.append(state, None, "refused", "", told, who)
                raise decision.refused
            assert asked.known is not None and decision.cap is not None
            if state.cap is None:
                cap = {"cap": decision.cap.to_json()}
                state, _ = self._book.append(state, None, "notion", "", cap, who)
            cost = {"digest": asked.known.digest, "cost": written(decision.cost), "versions": versions()}
            content |= cost | self._book.describe(asked.known) | ({"block": True} if decision.block else {})
            spend = line.note(self._book, state, before, event, own, content, who)
        assert spend is not None
        return replace(spend, description=asked.known.text)

    def refusal(
        self, mechanism: Mechanism | Guarantee, *, plan: str = "", adjacency: Adjacency | str | None = None
    ) -> str | None:
        """Why the account would refuse a mechanism if it were asked now; None if it would not."""
        line = self._line()
        about = None if adjacency is None else check_adjacency(adjacency)
        asked = Request.of(mechanism, self._first.adjacency, about)
        asked.prepare(line.own)
        refused = decided(line.own, asked, line.forbidden(self._book, plan)).refused
        return None if refused is None else refused.reason

    def charge(self, key: str, *, who: str | None = None, tells: Sequence[str] = ()) -> bytes:
        """Makes what is reserved final, and gives the 32 bytes that its noise is to be drawn from: the same
        ones until it is complete. Nothing may be drawn before. `tells` is as for `spend`."""
        with self._book.transaction():
            line, spend, who = self._found(key, who, telling=bool(tells))
            state = line.own
            if spend.state == CHARGED:
                secret = self._book.secret(state.name, key)
                if secret is None:
                    words = "it was charged in another ledger, which has its noise"
                    raise self._refused(state, key, words, who)
                return secret
            if spend.state != RESERVED:
                words = f"{key!r} is {spend.state}: nothing more is drawn for it"
                raise self._refused(state, key, words, who)
            if shut := line.forbidden(self._book, spend.plan):
                raise self._refused(state, key, shut, who)
            if state.over and state.total != spend.cost:  # by a merge, and not by itself
                raise self._refused(state, key, "more is spent than its cap; what is reserved stays so", who)
            secret = SystemSource().integer(_SECRET_BITS).to_bytes(_SECRET_BITS // 8, "big")
            told = {"secret": commitment(secret), **telling(tells)}
            line.note(self._book, state, spend, "charged", key, told, who)
            self._book.hide(state.name, key, secret)
        return secret

    def complete(
        self,
        key: str,
        digests: Mapping[str, str],
        *,
        content: Mapping[str, Any] | None = None,
        who: str | None = None,
    ) -> Spend:
        """Notes the digests of what was released, and destroys the secret. The same may be told again."""
        digests = check_digests(digests)
        told = {"digests": digests, "more": check_content(content)}
        with self._book.transaction():
            line, spend, who = self._found(key, who)
            state = line.own
            if spend.state == COMPLETE and dict(spend.digests) == digests:
                return replace(spend, description=self._book.text(spend.digest))
            if spend.state != CHARGED:
                reason = f"{key!r} is {spend.state}; what was released is told once, after it was charged"
                raise self._refused(state, key, reason, who)
            _, done = self._book.append(state, spend, "complete", key, told, who)
            self._book.forget(state.name, key)
        self._book.store.scrub()
        assert done is not None
        return replace(done, description=self._book.text(done.digest))

    def cancel(self, key: str, reason: str, *, told: bool = False, who: str | None = None) -> None:
        """Gives back what is reserved. `told` says that the reason depends on the data: it counts towards
        the refusals that the account allows. What is charged is never given back."""
        content = {"reason": check_text("reason", reason, longest=10_000), ANSWERS: bool(told)}
        with self._book.transaction():
            line, spend, who = self._found(key, who, telling=told)
            state = line.own
            if spend.state == CANCELLED:
                return
            if spend.state != RESERVED:
                words = f"{key!r} is {spend.state}: something may have been drawn, and it stays charged"
                raise self._refused(state, key, words, who)
            line.note(self._book, state, spend, "cancelled", key, content, who)

    def journal(
        self,
        event: str,
        content: Mapping[str, Any] | None = None,
        *,
        told: bool = False,
        who: str | None = None,
    ) -> None:
        """An attempt that spends nothing: a check, a dry run, a run that was refused. `told` says that what
        came of it depends on the data, and counts towards the refusals that the account allows."""
        event, who = check_text("event", event, longest=40), self._who(who)
        if event in EVENTS:
            raise ArgumentError("event", event, "another word; the ledger writes this one itself")
        noted = {"more": check_content(content), ANSWERS: bool(told)}
        place = self._place("", who)
        with self._book.transaction():
            line = lineage(self._book, place, locked=True, telling=told)
            line.note(self._book, line.own, None, event, "", noted, who)

    # -- owners --------------------------------------------------------------------------------

    def approve(self, plan: str, *, who: str | None = None) -> None:
        """A plan, by its digest, may run on an account that asks for approval."""
        owners.approve(self._book, self.name, plan, self._who(who))

    def raise_cap(self, budget: Budget, *, who: str | None = None, confirm: bool = False) -> None:
        """A larger budget, in the same notion. The promise is then the new one, for all that was ever
        released; to raise it because of what was released is to have had no cap (an odometer)."""
        owners.raise_cap(self._book, self.name, budget, self._who(who), confirm)

    def unlock(self, *, who: str | None = None) -> None:
        """Opens it again, if it was locked because refusals had told too much of the data."""
        owners.unlock(self._book, self.name, self._who(who))

    def close(self, *, who: str | None = None) -> None:
        """Nothing is asked of it any more, or of its parts; what is charged can still be completed."""
        owners.close(self._book, self.name, self._who(who))

    def part(
        self, name: str, *, division: str, cap: Budget | None = None, who: str | None = None
    ) -> "Account":
        """An account of one part of the data, for instance one state of a division by state. Parts are
        disjoint: nobody is in two. All of them together take the largest of their caps from this account."""
        own = parts.divided(self._book, self._own(), name, division, cap, self._who(who))
        return Account(self.ledger, own)

    # -- what has been -------------------------------------------------------------------------

    def find(self, key: str) -> Spend | None:
        """The spend of a key."""
        check_text("key", key)
        return self._book.find(self.name, key, windows=self._first.renews is not None)

    def spends(self, limit: int | None = None, offset: int = 0) -> list[Spend]:
        """Newest first."""
        return self._book.spends(self.state().name, limit, offset)

    def entries(self, limit: int | None = None, offset: int = 0) -> list[JournalEntry]:
        """The journal, newest first."""
        return self._book.entries(self.state().name, limit, offset)

    def check_open(self) -> None:
        """Refuses where nothing may be asked any more: before data are read, since to read them may tell."""
        if shut := self._line().shut():
            raise Refused(self.name, shut)

    def paid(self, what: str, draw: Callable[[], R], asked: Any = None, about: Any = None) -> R:
        """What `draw` releases; the argument `ledger` of every release comes here.

        >>> import tempfile
        >>> from indistinct import Budget, Gaussian
        >>> from indistinct.ledger import Ledger
        >>> with Ledger.open(tempfile.mkdtemp() + "/budget.db") as ledger:
        ...     account = ledger.open_account("survey", Budget(epsilon=1, delta=1e-6))
        ...     count = Gaussian(scale=20).release(1234, ledger=account)
        ...     print(account)
        survey: epsilon 0.1893 at delta 1e-06 spent of epsilon 1 at delta 1e-06
        """
        from indistinct.ledger.paying import paid

        return paid(self, what, draw, asked, about)

    def receipt(self, key: str | None = None) -> dict[str, Any]:
        """What to keep elsewhere, to find out later whether the journal is still whole: the number and hash
        of a spend, or of the last entry."""
        if key is None:
            state = self.state()
            return {"account": state.name, "number": state.number, "hash": state.head}
        spend = self.find(key)
        if spend is None:
            raise Refused(self.name, f"there is nothing under the key {key!r}")
        return {"account": spend.account, "number": spend.number, "hash": spend.hash}

    def mechanism(self) -> Mechanism:
        """Everything that was ever charged, of all parts and windows, as one mechanism. That of one window
        is `mechanism` of the account of this window's name."""
        return history.mechanism(self._book, self._own())

    def guarantee(self) -> Guarantee:
        """The exact composition of what was ever charged, in every reading. It is what was promised if the
        mechanisms were chosen beforehand. If they were chosen from earlier answers only the cap (or
        `odometer`) is: readings of compositions are no filter."""
        return self.mechanism().guarantee(self._first.adjacency)

    def odometer(self, delta: float) -> float:
        """An epsilon that the loss exceeds with probability at most `delta`, at whatever moment somebody
        stops, for mechanisms and moments chosen from answers; over all windows."""
        return history.odometer(history.altogether(self._book, self._own()), delta)

    def add_files(self, paths: Sequence[str | os.PathLike[str]], *, who: str | None = None) -> None:
        """Files whose content belongs to this account's data."""
        files.add_files(self.ledger, self.name, paths, self._who(who))

    # -- inside --------------------------------------------------------------------------------

    def _who(self, who: str | None) -> str:
        return self.ledger.who if who is None else check_text("who", who)

    def _line(self) -> Lineage:
        """The account, or the window of it that is open, and all above."""
        return lineage(self._book, parts.current(self._book, self._own()).name)

    def _place(self, key: str, who: str) -> str:
        """The account that is charged: itself, or the window that has the key, or that of today."""
        if self._first.renews is None:
            return self.name
        before = self.find(key) if key else None
        if before is not None and before.state != CANCELLED:
            return before.account
        return parts.window(self._book, self._own(), who)

    def _found(self, key: str, who: str | None, telling: bool = False) -> tuple[Lineage, Spend, str]:
        """A spend, and the account that has it, locked."""
        who, place = self._who(who), self.name
        if self._first.renews is not None:
            spend = self.find(key)
            place = self.name if spend is None else spend.account
        line = lineage(self._book, place, locked=True, telling=telling)
        spend = self._book.spend(place, check_text("key", key))
        if spend is None or parts.is_division(spend.key):
            raise self._refused(line.own, key, f"there is nothing under the key {key!r}", who)
        return line, spend, who

    def _refused(self, state: State, key: str, reason: str, who: str) -> Refused:
        """A refusal, journalled: the transaction that it is raised in is kept."""
        self._book.append(state, None, "refused", "", {"reason": reason, "key": key}, who)
        return Refused(self.name, reason)
