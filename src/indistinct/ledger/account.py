"""An account: what may be asked of one data set, and what has been."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from indistinct.adjacency import Adjacency, check_adjacency
from indistinct.errors import ArgumentError, Refused
from indistinct.guarantees import Guarantee
from indistinct.ledger.amounts import Amount
from indistinct.ledger.book import LEDGER
from indistinct.ledger.chain import Entry, canonical, check_text
from indistinct.ledger.decide import Asked, Decision, decided
from indistinct.ledger.events import (
    ANSWERS,
    CANCELLED,
    CHARGED,
    COMPLETE,
    EVENTS,
    OPEN,
    RESERVED,
    Spend,
    State,
    Terms,
)
from indistinct.ledger.known import Known, versions
from indistinct.ledger.notions import Cap, cap_of
from indistinct.mechanisms import Budget, Mechanism
from indistinct.mechanisms.budget import check_budget
from indistinct.noise import SystemSource

if TYPE_CHECKING:
    import os

    from indistinct.ledger.ledger import Ledger

_SECRET_BITS = 256
_LONGEST_CONTENT = 1_000_000


class Account:
    """An account of a ledger. Everything that it says is read from the ledger when it is asked."""

    def __init__(self, ledger: "Ledger", name: str) -> None:
        self.ledger, self.name = ledger, name
        self._book = ledger.book

    # -- where it stands -----------------------------------------------------------------------

    def state(self) -> State:
        """All of it at one moment; of an account that renews, the window that is open."""
        state = self._own()
        if state.terms.renews is None:
            return state
        from indistinct.ledger.parts import window_name

        window = self._book.state(window_name(state, max(self._book.clock(), state.time)))
        return state if window is None else window

    def _own(self) -> State:
        state = self._book.state(self.name)
        if state is None:
            raise ArgumentError("account", self.name, "one of this ledger")
        return state

    @property
    def terms(self) -> Terms:
        """What it was opened for."""
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
        """What is kept for releases that have not been drawn."""
        return self.state().reserved

    @property
    def left(self) -> Amount:
        """What may still be asked."""
        return self.state().left

    def __str__(self) -> str:
        state = self.state()
        if state.cap is None:
            return f"{state.name}: nothing spent of {state.terms.budget}"
        told = state.cap.told
        budget = state.terms.budget
        of = f" of {told(state.cap.limit, budget)}" if isinstance(state.cap.limit, Fraction) else ""
        kept = f", {told(state.reserved, budget)} reserved" if state.reserved else ""
        shut = "" if state.status == OPEN else f" ({state.status})"
        return f"{state.name}: {told(state.spent, budget)} spent{of}{kept}{shut}"

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
    ) -> Spend:
        """Keeps the cost of a mechanism, of which nothing has been drawn yet. Asked again with the same key
        it is the same spend; refusals are journalled."""
        return self._ask("reserved", mechanism, check_text("key", key), plan, who, note, adjacency, {})

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
    ) -> Spend:
        """Reserved, charged and complete at once, for noise that is drawn elsewhere. Without a key it is a
        new spend whenever it is asked; with one, asked again after an error or a crash, it is charged
        once."""
        own = f"{SystemSource().integer(128):032x}" if key is None else check_text("key", key)
        return self._ask("spent", mechanism, own, plan, who, note, adjacency, check_digests(digests or {}))

    def _ask(
        self,
        event: str,
        mechanism: Any,
        key: str,
        plan: str,
        who: str | None,
        note: str,
        adjacency: Any,
        digests: Any,
    ) -> Spend:
        who, plan = self._who(who), check_text("plan", plan, empty=True)
        note = check_text("note", note, empty=True, longest=10_000)
        if key.startswith("division:"):
            raise ArgumentError("key", key, "another; this is how divisions are kept")
        place = self._place(who)
        asked = Asked.of(
            mechanism, place.terms.adjacency, None if adjacency is None else check_adjacency(adjacency)
        )
        asked.prepare(place)
        before = self._book.find(self.name, key)
        holder = place.name if before is None or before.state == CANCELLED else before.account
        with self._book.transaction():
            state = self._locked(holder)
            before = self._book.spend(holder, key)
            if before is not None and before.state != CANCELLED:
                return self._again(before, asked, plan, event)
            decision = decided(state, asked, self._unapproved(state, plan))
            if decision.refused is None:
                spend = self._admit(
                    state, asked.known, decision, event, key, who, plan=plan, note=note, digests=digests
                )
            else:
                content = {
                    "reason": decision.refused.reason,
                    "asked": asked.described(),
                    "plan": plan,
                    "note": note,
                }
                self._book.append(state, "refused", "", {**content, "key": key}, who)
        if decision.refused is not None:
            raise decision.refused
        return spend

    def _admit(
        self,
        state: State,
        made: Known | None,
        decision: Decision,
        event: str,
        key: str,
        who: str,
        **told: Any,
    ) -> Spend:
        assert made is not None and decision.cap is not None
        self._book.describe(made)
        if state.cap is None:
            state, _ = self._book.append(state, "notion", "", {"cap": decision.cap.to_json()}, who)
        digests = told.pop("digests")
        content = {"digest": made.digest, "cost": str(decision.cost), "versions": versions(), **told}
        content |= {"block": True} if decision.block else {}
        content |= {"digests": digests} if event == "spent" else {}
        _, spend = self._book.append(state, event, key, content, who)
        assert spend is not None
        return spend

    def _again(self, before: Spend, asked: Asked, plan: str, event: str) -> Spend:
        if asked.known is None or before.digest != asked.known.digest or before.plan != plan:
            raise Refused(self.name, f"the key {before.key!r} was used for something else")
        if event == "spent" and before.state != COMPLETE:
            raise Refused(self.name, f"the key {before.key!r} is {before.state}")
        return before

    def charge(self, key: str, *, who: str | None = None) -> bytes:
        """Makes what is reserved final, and gives the 32 bytes that its noise is to be drawn from: the same
        ones until it is complete. Nothing may be drawn before."""
        spend, who = self._found(key), self._who(who)
        with self._book.transaction():
            state = self._locked(spend.account)
            now = self._book.spend(spend.account, key)
            assert now is not None
            if now.state == CHARGED:
                secret = self._book.secret(spend.account, key)
                if secret is None:
                    raise Refused(self.name, f"{key!r} was charged in another ledger, which has its noise")
                return secret
            if now.state != RESERVED:
                raise Refused(self.name, f"{key!r} is {now.state}: nothing more is drawn for it")
            if state.status != OPEN:
                raise Refused(self.name, f"it is {state.status}")
            self._book.append(state, "charged", key, {}, who)
            secret = SystemSource().integer(_SECRET_BITS).to_bytes(_SECRET_BITS // 8, "big")
            self._book.hide(spend.account, key, secret)
        return secret

    def complete(
        self,
        key: str,
        digests: Mapping[str, str],
        *,
        content: Mapping[str, Any] | None = None,
        who: str | None = None,
    ) -> Spend:
        """Notes the digests of what was released, and destroys the secret. The same digests may be told
        again."""
        spend, who, digests = self._found(key), self._who(who), check_digests(digests)
        with self._book.transaction():
            state = self._locked(spend.account)
            now = self._book.spend(spend.account, key)
            assert now is not None
            if now.state == COMPLETE and dict(now.digests) == digests:
                return now
            if now.state != CHARGED:
                raise Refused(self.name, f"{key!r} is {now.state}, with other digests or none")
            told = {"digests": digests, "more": _content(content)}
            _, done = self._book.append(state, "complete", key, told, who)
            self._book.forget(spend.account, key)
        assert done is not None
        return done

    def cancel(self, key: str, reason: str, *, told: bool = False, who: str | None = None) -> None:
        """Gives back what is reserved. `told` says that the reason depends on the data: it counts towards
        the refusals that the account allows. What is charged is never given back."""
        spend, who = self._found(key), self._who(who)
        content = {"reason": check_text("reason", reason, longest=10_000), ANSWERS: bool(told)}
        with self._book.transaction():
            state = self._locked(spend.account)
            now = self._book.spend(spend.account, key)
            assert now is not None
            if now.state == CANCELLED:
                return
            if now.state != RESERVED:
                raise Refused(
                    self.name, f"{key!r} is {now.state}: something may have been drawn, and it stays charged"
                )
            self._book.append(state, "cancelled", key, content, who)

    def journal(
        self,
        event: str,
        content: Mapping[str, Any] | None = None,
        *,
        told: bool = False,
        who: str | None = None,
    ) -> None:
        """An attempt that spends nothing: a check, a dry run, a run that was refused. `told` says that what
        came of it depends on the data."""
        event, who = check_text("event", event, longest=40), self._who(who)
        if event in EVENTS:
            raise ArgumentError("event", event, "another word; the ledger writes this one itself")
        place = self._place(who).name
        with self._book.transaction():
            self._book.append(
                self._locked(place), event, "", {"more": _content(content), ANSWERS: bool(told)}, who
            )

    # -- owners --------------------------------------------------------------------------------

    def approve(self, plan: str, *, who: str | None = None) -> None:
        """A plan, by its digest, may run on an account that asks for approval."""
        plan, who = check_text("plan", plan), self._who(who)
        with self._book.transaction():
            state = self._locked(self.name)
            if not self._book.approved(self.name, plan):
                self._book.append(state, "approved", "", {"plan": plan}, who)
                self._book.approve(self.name, plan, who)

    def raise_cap(self, budget: Budget, *, who: str | None = None, confirm: bool = False) -> None:
        """A larger budget, in the same notion. The promise is then the new one, for all that was ever
        released."""
        from indistinct.ledger.ledger import check_sensible

        who = self._who(who)
        if not confirm:
            check_sensible(check_budget(budget))
        with self._book.transaction():
            state = self._locked(self.name)
            if state.parent or state.terms.renews or state.terms.budget is None:
                raise Refused(self.name, "only an account of its own with a budget can have a larger one")
            if state.cap is None:
                raise Refused(self.name, "nothing was asked of it yet; open another one")
            cap = cap_of(check_budget(budget), state.cap.notion, state.cap.order)
            if (cap.notion, cap.order) != (state.cap.notion, state.cap.order) or cap.limit < state.cap.limit:
                raise Refused(
                    self.name, f"{budget} is not more than {state.terms.budget}, in the same notion"
                )
            self._book.append(state, "raised", "", {"cap": cap.to_json(), "budget": budget.to_json()}, who)

    def unlock(self, *, who: str | None = None) -> None:
        """Opens an account again that was locked because too many refusals told something of the data."""
        self._shut("unlocked", who)

    def close(self, *, who: str | None = None) -> None:
        """Nothing is asked of it any more; what is charged can still be completed."""
        self._shut("closed", who)

    def _shut(self, event: str, who: str | None) -> None:
        who = self._who(who)
        place = self._place(who).name
        with self._book.transaction():
            self._book.append(self._locked(place), event, "", {}, who)

    # -- what has been -------------------------------------------------------------------------

    def find(self, key: str) -> Spend | None:
        """The spend of a key."""
        return self._book.find(self.name, check_text("key", key))

    def spends(self, limit: int | None = None, offset: int = 0) -> list[Spend]:
        """Newest first."""
        return self._book.spends(self.state().name, limit, offset)

    def entries(self, limit: int | None = None, offset: int = 0) -> list[Entry]:
        """The journal, newest first."""
        return self._book.entries(self.state().name, limit, offset)

    def add_files(self, paths: "Sequence[str | os.PathLike[str]]", *, who: str | None = None) -> None:
        """Files whose content belongs to this account's data."""
        from indistinct.ledger.files import add_files

        add_files(self.ledger, self.name, paths, self._who(who))

    # -- inside --------------------------------------------------------------------------------

    def _who(self, who: str | None) -> str:
        return self.ledger.who if who is None else check_text("who", who)

    def _place(self, who: str) -> State:
        """The account that is charged now: itself, or its window of today."""
        return self._own()

    def _locked(self, name: str) -> State:
        state = self._book.locked(name)
        if state is None or name == LEDGER:
            raise ArgumentError("account", name, "one of this ledger")
        return state

    def _found(self, key: str) -> Spend:
        spend = self.find(key)
        if spend is None:
            raise Refused(self.name, f"there is nothing under the key {key!r}")
        return spend

    def _unapproved(self, state: State, plan: str) -> str | None:
        if not state.terms.approval or (plan and self._book.approved(self.name, plan)):
            return None
        return "the plan has not been approved" if plan else "it asks for a plan that was approved"


def check_digests(digests: Any) -> dict[str, str]:
    """Names of files, and digests of what is in them."""
    if not isinstance(digests, Mapping):
        raise ArgumentError("digests", type(digests).__name__, "a mapping from names to digests")
    return {check_text("digests", name): check_text("digests", digest) for name, digest in digests.items()}


def _content(content: Mapping[str, Any] | None) -> dict[str, Any]:
    """JSON data of a modest size."""
    try:
        plain = dict(content or {})
        if len(canonical(plain)) <= _LONGEST_CONTENT:
            return plain
    except (TypeError, ValueError, RecursionError):
        pass
    raise ArgumentError(
        "content", type(content).__name__, f"JSON data of at most {_LONGEST_CONTENT:,} characters"
    )
