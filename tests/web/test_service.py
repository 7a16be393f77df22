"""The ledger's service: what each role may do, what is handed out to whom, and what is let in."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from served import Served, serving
from starlette.testclient import TestClient

from indistinct import Budget
from indistinct.boundary import SWITCH
from indistinct.errors import ArgumentError, FileError
from indistinct.ledger import Ledger
from indistinct.web import Desk, application, handlers
from indistinct.web.application import MOST_BYTES
from indistinct.web.limits import Limiter
from indistinct.web.openapi import document
from indistinct.web.routes import ERRORS, ROUTES, Route
from indistinct.web.rules import Fields, Real, Whole
from indistinct.web.serve import is_loopback
from indistinct.web.tokens import PREFIX, caller_of, issue, listing, revoke

DIGEST = "0" * 64


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "budget.db") as one:
        yield one


def problem(response: Any, status: int) -> str:
    """The code of an error, which has the one shape of all errors."""
    assert response.status_code == status, response.text
    told = response.json()
    assert told.keys() == {"error"} and told["error"].keys() == {"code", "message"}
    assert "Traceback" not in response.text and len(told["error"]["message"]) < 700
    return str(told["error"]["code"])


# -- spending -------------------------------------------------------------------------------------


def test_the_life_of_a_release(served: Served) -> None:
    asked = {"account": "census", "mechanism": "laplace(10)", "key": "ages"}
    assert served.post("/v1/reserve", **asked, plan=DIGEST, note="by state").json()["state"] == "reserved"
    assert served.state()["reserved"] == "1/10" and served.state()["spent"] == "0"
    first, again = (served.post("/v1/charge", account="census", key="ages").json() for _ in range(2))
    assert first["secret"] == again["secret"] and re.fullmatch("[0-9a-f]{64}", first["secret"])
    done = {"account": "census", "key": "ages", "digests": {"ages.csv": DIGEST}}
    for _ in range(2):  # an answer that was lost is asked for again
        assert served.post("/v1/complete", **done).json()["state"] == "complete"
    assert problem(served.post("/v1/charge", account="census", key="ages"), 409) == "refused"
    assert problem(served.post("/v1/cancel", account="census", key="ages", reason="no"), 409) == "refused"
    assert served.get("/v1/spend", "ana", account="census", key="ages").json()["digests"] == done["digests"]
    assert served.state()["spent"] == "1/10"
    for path in ("/v1/entries?account=census", "/v1/spends?account=census", "/v1/export"):
        text = served.get(path).text
        assert "ages" in text and first["secret"] not in text


def test_ten_times_a_tenth_and_nothing_more(served: Served) -> None:
    for number in range(10):
        spent = served.post("/v1/spend", account="census", mechanism="laplace(10)", key=f"t{number}")
        assert spent.json()["cost"] == "1/10"
    refused = served.post("/v1/spend", account="census", mechanism="pure(1e-15)", key="more")
    assert problem(refused, 409) == "refused" and "left" in refused.json()["error"]["message"]
    assert served.state()["left"] == "0" and served.state()["share"] == 1.0


def test_a_replay_spends_nothing(served: Served) -> None:
    asked = {"account": "census", "mechanism": {"mechanism": "laplace", "scale": 4}, "key": "k"}
    first = served.post("/v1/spend", **asked).json()
    assert all(served.post("/v1/spend", **asked).json() == first for _ in range(5))
    other = served.post("/v1/spend", **{**asked, "mechanism": "laplace(5)"})
    assert (
        problem(other, 409) == "refused" and problem(served.post("/v1/spend", "ben", **asked), 403) == "key"
    )
    assert served.state()["spent"] == "1/4"


def test_the_secret_goes_to_whoever_reserved(served: Served) -> None:
    served.post("/v1/reserve", account="census", mechanism="laplace(10)", key="k")
    own = {"account": "census", "key": "k"}
    for who, code in (("ben", "key"), ("owner", "role"), ("auditor", "role")):
        assert problem(served.post("/v1/charge", who, **own), 403) == code
    for path, more in (("/v1/cancel", {"reason": "mine"}), ("/v1/complete", {"digests": {}})):
        assert problem(served.post(path, "ben", **own, **more), 403) == "key"
    assert problem(served.get("/v1/spend", "ben", **own), 403) == "key"
    assert "secret" in served.post("/v1/charge", "ana", **own).json()


def test_what_is_cancelled_comes_back_and_what_it_told_counts(served: Served) -> None:
    for number in range(5):
        asked = {"account": "census", "key": f"k{number}"}
        served.post("/v1/reserve", **asked, mechanism="laplace(2)")
        cancelled = served.post("/v1/cancel", **asked, reason="a value outside its bounds")
        assert cancelled.json()["state"] == "cancelled"
    assert served.state()["status"] == "locked" and served.state()["spent"] == "0"
    assert (
        problem(served.post("/v1/spend", account="census", mechanism="laplace(9)", key="x"), 409) == "refused"
    )
    assert served.post("/v1/unlock", "owner", account="census").json()["status"] == "open"
    assert served.post("/v1/spend", account="census", mechanism="laplace(9)", key="x").status_code == 200


def test_only_an_owner_says_that_a_reason_tells_nothing(served: Served) -> None:
    asked = {"account": "census", "key": "k"}
    served.post("/v1/reserve", **asked, mechanism="laplace(2)")
    assert problem(served.post("/v1/cancel", **asked, reason="none", told=False), 403) == "told"
    assert served.state()["reserved"] == "1/2"
    cancelled = served.post("/v1/cancel", "owner", **asked, reason="a mistake of ours", told=False)
    assert cancelled.json()["state"] == "cancelled" and served.state()["told"] == 0


def test_owners_open_approve_raise_and_close(served: Served) -> None:
    budget = {"epsilon": 1, "delta": 1e-6}
    opened = {"account": "clinics", "budget": budget, "approval": True, "unit": "one patient"}
    assert served.post("/v1/accounts", "owner", **opened).json()["promise"] == "epsilon 1 at delta 1e-6"
    assert served.post("/v1/accounts", "owner", **opened).status_code == 200  # the same terms
    assert (
        problem(served.post("/v1/accounts", "owner", **{**opened, "budget": {"epsilon": 2}}), 409)
        == "refused"
    )
    asked = {"account": "clinics", "mechanism": "gaussian(20)", "key": "k", "plan": DIGEST}
    assert problem(served.post("/v1/spend", **asked), 409) == "refused"
    served.post("/v1/approve", "owner", account="clinics", plan=DIGEST)
    assert served.post("/v1/spend", **asked).status_code == 200
    for epsilon, status in ((0.5, 409), (500, 422), (2, 200)):  # less, unconfirmed, more
        larger = {"account": "clinics", "budget": {"epsilon": epsilon, "delta": 1e-6}}
        assert served.post("/v1/raise", "owner", **larger).status_code == status
    assert served.state("clinics")["promise"] == "epsilon 2 at delta 1e-6"
    assert served.post("/v1/close", "owner", account="clinics").json()["status"] == "closed"
    assert problem(served.post("/v1/spend", **{**asked, "key": "l"}), 409) == "refused"
    counted = served.post("/v1/accounts", "owner", account="log", budget=None).json()
    assert counted["limit"] is None and counted["promise"].startswith("none")
    for wrong in (
        {},
        {"epsilon": 0},
        {"epsilon": 1, "mu": 1},
        {"delta": 1e-6},
        {"renyi": 1},
        {"rho": "1"},
        "x",
    ):
        assert problem(served.post("/v1/accounts", "owner", account="new", budget=wrong), 422) == "argument"


def test_auditors_see_all_of_it(served: Served) -> None:
    served.post("/v1/spend", account="census", mechanism="laplace(10)", key="k")
    served.post("/v1/spend", account="census", mechanism="laplace(0.1)", key="l")
    events = [one["event"] for one in served.get("/v1/entries", account="census").json()["entries"]]
    assert events == ["refused", "spent", "opened"]
    assert len(served.get("/v1/entries", account="census", limit=1, offset=1).json()["entries"]) == 1
    assert served.get("/v1/verify").json() == {"valid": True, "mistakes": []}
    assert served.get("/v1/guarantee", account="census").json()["pure"] == pytest.approx(0.1)
    with pytest.MonkeyPatch.context() as patch:  # what takes long to read holds up everybody
        patch.setattr(handlers, "MOST_KINDS", 0)
        assert problem(served.get("/v1/guarantee", account="census"), 422) == "too_much"
    page = served.get("/v1/report", account="census")
    assert page.headers["content-type"].startswith("text/html") and "laplace(10.0)" in page.text
    with sqlite3.connect(served.path) as base:  # somebody makes a spend cheaper
        base.execute("UPDATE spends SET cost = '1/100' WHERE key = 'k'")
    assert not served.get("/v1/verify").json()["valid"]


def test_all_of_it_in_either_database(address: str) -> None:
    with serving(address) as served:
        own = {"account": "census", "key": "ages"}
        served.post("/v1/reserve", **own, mechanism="laplace(10)")
        assert served.post("/v1/charge", **own).json()["spend"]["state"] == "charged"
        assert served.post("/v1/complete", **own, digests={"a.csv": DIGEST}).json()["state"] == "complete"
        refused = served.post("/v1/spend", account="census", mechanism="laplace(1)", key="k")
        assert problem(refused, 409) == "refused" and served.state()["spent"] == "1/10"
        page = served.get("/v1/report", account="census").text
        assert "The budget over time" in page and "The budget by person" in page
        assert served.get("/v1/verify").json()["valid"] and served.get("/v1/export").json()["entries"]
        with Ledger.open(address) as ledger:
            assert revoke(ledger, "ana") == 1
        assert problem(served.get("/v1/state", "ana", account="census"), 401) == "token"


def test_a_look_beside_a_write_is_not_taken_for_an_older_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One ledger serves several threads: another may write between a look and what is made of it."""
    with Ledger.open(tmp_path / "budget.db") as ledger:
        account, run = ledger.open_account("census", Budget(epsilon=1)), ledger.book.store.run

        def slow(sql: str, *values: Any) -> Any:
            rows = run(sql, *values)
            if "FROM accounts" in sql and threading.current_thread() is threading.main_thread():
                with ThreadPoolExecutor(1) as other:
                    other.submit(account.journal, "check").result()
            return rows

        monkeypatch.setattr(ledger.book.store, "run", slow)
        before, after = account.state().number, account.state().number
        assert before < after


# -- who may ask ----------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_role_gets_what_is_its_own(route: Route, served: Served) -> None:
    for who, role in (("ana", "analyst"), ("owner", "owner"), ("auditor", "auditor"), ("", "")):
        asked = served.client.request(route.method, route.path, headers=served.header(who), json=None)
        if not route.roles:
            assert asked.status_code == 200
        elif not role:
            assert problem(asked, 401) == "token" and asked.headers["www-authenticate"] == "Bearer"
        elif role not in route.roles:
            assert problem(asked, 403) == "role"
        else:
            assert asked.status_code not in (401, 403)


def test_tokens_expire_are_revoked_and_are_not_kept(served: Served) -> None:
    with Ledger.open(served.path) as ledger:
        for header in (
            "",
            "Bearer",
            "Bearer x",
            "Basic YTpi",
            f"Bearer {served.tokens['ana'][:-1]}",
            "Bearer é",
        ):
            asked = served.client.get("/v1/accounts", headers={"Authorization": header.encode()})
            assert problem(asked, 401) == "token"
        kept = served.path.read_bytes() + served.path.with_name("budget.db-wal").read_bytes()
        assert not any(token.removeprefix(PREFIX).encode() in kept for token in served.tokens.values())
        assert revoke(ledger, "ben") == 1 and revoke(ledger, "ben") == 0
        assert problem(served.get("/v1/accounts", "ben"), 401) == "token"
        assert served.get("/v1/accounts", "ana").status_code == 200
        statuses = {one["name"]: one["status"] for one in listing(ledger)}
        assert statuses == {"ana": "valid", "auditor": "valid", "ben": "revoked", "owner": "valid"}
        events = [entry.event for entry in ledger.book.entries("", 5)]
        assert events[0] == "token revoked" and "token" in events
        for name, role, days in (
            ("a b", "analyst", 1),
            ("ana", "admin", 1),
            ("ana", "owner", 1e9),
            ("ana", "owner", 0),
        ):
            with pytest.raises(ArgumentError):
                issue(ledger, name, role, days)


def test_an_expired_token_stays_expired_when_the_clock_goes_back(served: Served) -> None:
    with Ledger.open(served.path) as ledger:
        assert caller_of(ledger, served.tokens["ana"]) is not None
        ledger.book.clock = lambda: "2199-01-01T00:00:00.000000+00:00"
        ledger.account("census").journal("check")  # the ledger has seen a later day
        del ledger.book.clock
    with Ledger.open(served.path) as ledger:
        assert caller_of(ledger, served.tokens["ana"]) is None
    assert problem(served.get("/v1/accounts", "ana"), 401) == "token"


def test_too_often_is_said_with_a_time(served: Served) -> None:
    with TestClient(application(Desk(served.path), rate=1e-4, burst=3)) as client:
        asked = [client.get("/v1/accounts", headers=served.header("ana")) for _ in range(4)]
        assert [one.status_code for one in asked] == [200, 200, 200, 429]
        assert problem(asked[3], 429) == "too_often" and 0 < int(asked[3].headers["retry-after"]) <= 10_000
        assert client.get("/v1/accounts", headers=served.header("ben")).status_code == 200
        strangers = [client.get("/v1/accounts", headers={"Authorization": f"Bearer {k}"}) for k in range(5)]
        assert [one.status_code for one in strangers] == [401, 401, 401, 429, 429]
        assert client.get("/v1/accounts", headers=served.header("ben")).status_code == 200  # not their fault


def test_buckets_fill_and_are_forgotten() -> None:
    now = [0.0]
    limiter = Limiter(rate=2, burst=3, clock=lambda: now[0])
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] += 0.5
    assert limiter.wait("a") == 0 and limiter.wait("a") > 0
    now[0] -= 100  # a clock that goes back gives nothing
    assert limiter.wait("a") > 0
    for number in range(20_000):
        limiter.wait(str(number))
    assert len(limiter._buckets) <= 10_000


# -- what is let in -------------------------------------------------------------------------------


def test_bodies_are_small_json(served: Served) -> None:
    send = {**served.header("ana"), "Content-Type": "application/json"}

    def post(content: Any, **headers: str) -> Any:
        return served.client.post("/v1/spend", content=content, headers={**send, **headers})

    large = b'{"account": "' + b"x" * MOST_BYTES + b'"}'
    assert problem(post(large), 413) == "too_large"
    assert problem(post(part for part in (large[:100], large[100:])), 413) == "too_large"  # no length is said
    for body in (
        b"",
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"[" * 1000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ):
        assert problem(post(body), 400) == "json"
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert problem(post(b"{}", **{"Content-Type": media}), 415) == "media_type"
    assert problem(served.client.post("/v1/spend?account=census", json={}, headers=send), 422) == "argument"
    assert served.state()["entries"] == 1


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"mechanism": "laplace(-1)"}, "scale"),
        ({"mechanism": "__import__('os').system('true')"}, "expression"),
        ({"mechanism": "1" + "0" * 40 + " * laplace(1)"}, "number"),
        ({"mechanism": {"mechanism": "unknown"}}, "mechanism"),
        ({"mechanism": {"mechanism": "laplace", "scale": "10"}}, "scale"),
        ({"mechanism": {"mechanism": "laplace", "scale": 1e308, "sensitivity": 1e309}}, "sensitivity"),
        (
            {"mechanism": {"mechanism": "matrix", "strategy": {"strategy": "identity", "size": 10**9}}},
            "mechanism",
        ),
        ({"mechanism": {"claim": "pure", "epsilon": 0.1}}, "JSON"),
        ({"mechanism": {"is": "Budget", "epsilon": 1}}, "JSON"),
        ({"mechanism": 7}, "mechanism"),
        ({"mechanism": None}, "mechanism"),
        ({"key": ""}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"key": "\u0000"}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"key": "x" * 201}, "key"),
        ({"key": {"$ne": ""}}, "key"),
        ({"plan": "'; DROP TABLE entries; --"}, "plan"),
        ({"adjacency": "both"}, "adjacency"),
        ({"who": "owner"}, "who"),
        ({"cost": "0"}, "cost"),
    ],
)
def test_a_forged_request_says_what_is_wrong(changed: dict[str, Any], named: str, served: Served) -> None:
    asked = {"account": "census", "mechanism": "laplace(10)", "key": "k", **changed}
    body = json.dumps(asked).encode()
    header = {**served.header("ana"), "Content-Type": "application/json"}
    refused = served.client.post("/v1/spend", content=body, headers=header)
    problem(refused, 422)
    assert named in refused.json()["error"]["message"]
    assert served.state()["spent"] == "0" and served.state()["entries"] == 1


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE accounts; --", "<script>alert(1)</script>", '"; rm -rf', "%00 %s ?", "مرحبا"]
)
def test_names_are_only_names(name: str, served: Served) -> None:
    served.post("/v1/accounts", "owner", account=name.replace("/", "|"), budget={"epsilon": 1}, unit=name)
    name = name.replace("/", "|")
    spent = served.post("/v1/spend", account=name, mechanism="laplace(2)", key=name, note=name).json()
    assert spent["key"] == name and served.state(name)["spent"] == "1/2"
    assert served.state("census")["spent"] == "0" and served.get("/v1/verify").json()["valid"]
    page = served.get("/v1/report", account=name).text
    assert "<script" not in page and escape(name) in page.replace("\N{NO-BREAK SPACE}", " ")


def test_nothing_is_said_of_what_went_wrong_inside(
    served: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(SWITCH, raising=False)

    def fail(error: Exception) -> Any:
        def account(ledger: Any, name: str) -> Any:
            raise error

        return account

    monkeypatch.setattr(handlers, "_account", fail(RuntimeError("row 17: Ana Smith, HIV")))
    answer = served.get("/v1/state", account="census")
    told = capfd.readouterr()
    assert problem(answer, 500) == "inside" and "RuntimeError" in told.err
    assert not any("Ana" in text for text in (answer.text, str(answer.headers), told.err, told.out))
    monkeypatch.setattr(handlers, "_account", fail(FileError("/data/private/budget.db", "SQL: no")))
    answer = served.get("/v1/state", account="census")
    assert problem(answer, 503) == "ledger" and "private" not in answer.text
    monkeypatch.setattr(handlers, "_account", fail(OverflowError("Ana")))
    answer = served.get("/v1/state", account="census")
    assert problem(answer, 422) == "too_much" and "Ana" not in answer.text


def test_answers_are_not_kept_nor_framed(served: Served) -> None:
    for answer in (
        served.get("/v1/accounts"),
        served.client.get("/nothing"),
        served.client.delete("/health"),
    ):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert problem(served.client.get("/nothing"), 404) == "address"
    assert problem(served.client.delete("/v1/spend"), 405) == "method"
    assert problem(served.client.get("/v1/accounts/", headers=served.header("ana")), 404) == "address"


# -- the document ---------------------------------------------------------------------------------


def test_the_document_is_the_table() -> None:
    paths = document()["paths"]
    listed = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert listed == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        told = paths[route.path][route.method.lower()]
        assert set(map(int, told["responses"])) <= {200, *ERRORS} and len(told["summary"]) > 10
        assert bool(route.roles) == ("security" in told)
        if route.method == "POST":
            schema = told["requestBody"]["content"]["application/json"]["schema"]
            assert schema["required"] == list(route.given.needed) and not schema["additionalProperties"]


def test_a_rule_reads_addresses_as_strictly_as_json() -> None:
    rule = Fields({"a": Real(0, 1)}, {"n": Whole(0, 9)})
    assert rule.address([("a", "1e-6"), ("n", "3")]) == {"a": 1e-6, "n": 3}
    for text in ("nan", "inf", "1_0", " ", "", "0", "-1", "2", "0x1", "١"):
        with pytest.raises(ArgumentError):
            rule.address([("a", text)])
    for pairs in (
        [("a", "1"), ("a", "1")],
        [("n", "1")],
        [("a", "1"), ("b", "1")],
        [("a", "1"), ("n", "1.5")],
    ):
        with pytest.raises(ArgumentError):
            rule.address(pairs)


# -- on a real socket -----------------------------------------------------------------------------


def test_a_real_server_serves_many_and_ends(served: Served) -> None:
    command = [
        sys.executable,
        "-m",
        "indistinct",
        "ledger",
        "serve",
        str(served.path),
        "--port",
        "0",
        "--rate",
        "1e4",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        with httpx2.Client(base_url=address, headers=served.header("ana"), timeout=600) as client:

            def spend(number: int) -> tuple[int, str]:
                asked = {"account": "census", "mechanism": "laplace(10)", "key": f"k{number % 20}"}
                answer = client.post("/v1/spend", json=asked)
                return answer.status_code, answer.text

            with ThreadPoolExecutor(8) as pool:  # twenty keys, each asked twice, for ten places
                answers = list(pool.map(spend, range(40)))
            statuses = [status for status, _ in answers]
            assert statuses.count(200) == 20 and statuses.count(409) == 20, answers
            assert client.get("/v1/state", params={"account": "census"}).json()["left"] == "0"
            answer = client.get("/health")
            assert "server" not in answer.headers
    finally:
        server.terminate()
        said = server.communicate(timeout=600)
    assert "Traceback" not in said[1] and "Warning" not in said[1]
    with Ledger.open(served.path, create=False) as ledger:
        assert ledger.verify() == [] and ledger.account("census").left == 0


def test_addresses_of_this_machine_alone() -> None:
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert (
        not is_loopback("0.0.0.0")
        and not is_loopback("192.168.1.7")
        and not is_loopback("ledger.example.org")
    )
