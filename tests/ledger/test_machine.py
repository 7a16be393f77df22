"""Any sequence of calls, against a model of a few lines: what an account says is what the model says."""

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indistinct import Budget, Laplace
from indistinct.errors import Refused
from indistinct.ledger import Ledger
from indistinct.ledger.events import replayed

KEYS = st.sampled_from("abcd")
SCALES = st.sampled_from([3, 4, 7, 10, 40])


class AccountMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.open()
        self.account = self.ledger.open_account("a", Budget(epsilon=1), refusals=2)
        self.known: dict[str, tuple[str, int]] = {}  # key: state, scale
        self.told, self.secrets = 0, dict[str, bytes]()

    def open(self) -> None:
        self.ledger = Ledger.open(Path(self.folder.name) / "budget.db")
        self.ledger.book.store.connection.execute("PRAGMA synchronous = OFF")

    def teardown(self) -> None:
        assert self.ledger.verify() == []
        self.ledger.close()
        self.folder.cleanup()

    def total(self, *states: str) -> Fraction:
        return sum(
            (Fraction(1, scale) for state, scale in self.known.values() if state in states), Fraction(0)
        )

    def fits(self, scale: int) -> bool:
        taken = self.total("reserved", "charged", "complete")
        return self.told < 2 and taken + Fraction(1, scale) <= 1

    def does(self, expected: bool, action):
        try:
            found = action()
        except Refused:
            assert not expected
            return None
        assert expected
        return found

    @rule(key=KEYS, scale=SCALES)
    def reserve(self, key: str, scale: int) -> None:
        state, before = self.known.get(key, ("cancelled", 0))
        new = state == "cancelled" and self.fits(scale)
        self.does(
            new or (state != "cancelled" and before == scale),
            lambda: self.account.reserve(Laplace(scale), key=key),
        )
        if new:
            self.known[key] = "reserved", scale

    @rule(key=KEYS, scale=SCALES)
    def spend(self, key: str, scale: int) -> None:
        state, before = self.known.get(key, ("cancelled", 0))
        new = state == "cancelled" and self.fits(scale)
        again = state == "complete" and before == scale
        self.does(new or again, lambda: self.account.spend(Laplace(scale), key=key))
        if new:
            self.known[key] = "complete", scale

    @rule(key=KEYS)
    def charge(self, key: str) -> None:
        state, scale = self.known.get(key, ("", 0))
        ok = state == "charged" or (state == "reserved" and self.told < 2)
        secret = self.does(ok, lambda: self.account.charge(key))
        if ok:
            assert self.secrets.setdefault(f"{key}{self.account.find(key).number}", secret) == secret
            self.known[key] = "charged", scale

    @rule(key=KEYS, digest=st.sampled_from("xy"))
    def complete(self, key: str, digest: str) -> None:
        state, scale = self.known.get(key, ("", 0))
        done = self.account.find(key)
        same = state == "complete" and dict(done.digests) == {"f": digest}
        self.does(state == "charged" or same, lambda: self.account.complete(key, {"f": digest}))
        if state == "charged":
            self.known[key] = "complete", scale

    @rule(key=KEYS, told=st.booleans())
    def cancel(self, key: str, told: bool) -> None:
        state, scale = self.known.get(key, ("", 0))
        self.does(state in ("reserved", "cancelled"), lambda: self.account.cancel(key, "why", told=told))
        if state == "reserved":
            self.known[key] = "cancelled", scale
            self.told += told

    @rule()
    def unlock(self) -> None:
        self.account.unlock()
        self.told = 0

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.open()
        self.account = self.ledger.account("a")

    @invariant()
    def agrees(self) -> None:
        state = self.account.state()
        assert state.reserved == self.total("reserved")
        assert state.spent == self.total("charged", "complete")
        assert state.left == 1 - state.spent - state.reserved >= 0
        after, spends = replayed(self.ledger.book.all_entries("a"))
        assert after == state
        assert {key: spend.state for key, spend in spends.items()} == {
            key: s for key, (s, _) in self.known.items()
        }


AccountMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=20)
TestAccounts = AccountMachine.TestCase
