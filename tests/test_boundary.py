"""The error boundary: no word of a record comes out, whatever a library says while it has records in hand."""

import errno
import logging
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from indistinct import Budget
from indistinct.boundary import SWITCH, guarded, guarded_each
from indistinct.cli import main
from indistinct.errors import ArgumentError, DataError, FileError

SECRET = "full name,HIV,positive"


class Panic(BaseException):
    """What Rust libraries raise."""


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        try:
            raise ValueError(SECRET)
        except ValueError:
            warnings.warn(SECRET, stacklevel=1)
            logging.getLogger("a.library").critical(SECRET)
            raise error  # noqa: B904 -- with a context, as libraries do

    return fail


def everything(error: BaseException) -> str:
    """All that a program may print of an error: its chain, hidden or not, and where it came from."""
    told, seen = "", [error]
    while seen:
        one = seen.pop()
        told += "".join(traceback.format_exception_only(one)) + repr(vars(one)) + "".join(map(str, one.args))
        seen += [link for link in (one.__cause__, one.__context__) if link is not None]
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if frame.f_code.co_filename.endswith("indistinct/boundary.py"):
                told += repr(frame.f_locals)
    return told


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError(SECRET), "cannot be used as it is"),
        (KeyError(SECRET), "cannot be used as it is"),
        (Panic(SECRET), "cannot be used as it is"),
        (RecursionError(SECRET), "cannot be used as it is"),
        (MemoryError(SECRET), "more memory"),
        (type("OutOfMemoryException", (Exception,), {})(SECRET), "more memory"),
        (type("InterruptException", (Exception,), {})(SECRET), "interrupted"),
        (OSError(errno.ENOSPC, SECRET), "the disk is full"),
        (RuntimeError(f"{SECRET}: No space left on device"), "the disk is full"),
        (FileNotFoundError(errno.ENOENT, SECRET), "does not exist"),
        (PermissionError(errno.EACCES, SECRET), "permission"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_only_our_words_come_out(error: BaseException, words: str, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(DataError, match=words) as refused, guarded("the table"):
            raising(error)()
        with pytest.raises(DataError, match=words) as decorated:
            guarded("the table")(raising(error))()
    assert not told and not caplog.records
    logging.getLogger("ours").critical("public")
    assert [record.message for record in caplog.records] == ["public"]
    for one in (refused.value, decorated.value):
        assert one.__cause__ is None and one.__context__ is None and SECRET not in everything(one)


@pytest.mark.parametrize(
    "own", [DataError("ours"), ArgumentError("x", 1, "2"), FileError("f", "r"), ArithmeticError("ours")]
)
def test_our_own_errors_pass_without_what_led_to_them(own: Exception) -> None:
    with pytest.raises(type(own), match=str(own)[:1]) as passed, guarded("the table"):
        raising(own)()
    assert passed.value is own and SECRET not in everything(own)


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit])
def test_who_wants_to_leave_may(leaving: type[BaseException]) -> None:
    with pytest.raises(leaving), guarded("the table"):
        raise leaving


def test_the_switch_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    assert "PRIVATE" in SWITCH
    with pytest.warns(UserWarning, match="HIV"), pytest.raises(DataError) as refused, guarded("the table"):
        raising(KeyError(SECRET))()
    assert SECRET in everything(refused.value)


def test_items_are_fetched_inside_and_used_outside() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError(SECRET)

    found = guarded_each("the table", items())
    assert next(found) == 1
    with pytest.warns(UserWarning, match="public"):
        warnings.warn("public", stacklevel=1)
    with pytest.raises(DataError) as refused:
        next(found)
    assert SECRET not in everything(refused.value)


def test_filters_come_back_from_many_threads() -> None:
    before = list(warnings.filters), warnings.showwarning
    gate = threading.Barrier(8)

    def work() -> None:
        gate.wait()
        for _ in range(50):
            with guarded("the table"), guarded("again"):
                np.log(np.zeros(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (list(warnings.filters), warnings.showwarning) == before


@pytest.fixture
def ridge() -> Any:
    pytest.importorskip("sklearn")
    from indistinct.functions.estimators import PrivateKernelRidge

    return PrivateKernelRidge(Budget(epsilon=1, delta=1e-6), box=(0, 1), targets=(0, 1), records=100, pairs=5)


CANARY = 4.24918273e9
ROWS = np.linspace(0, 1, 20)[:, None]


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.full(20, CANARY), np.zeros(20)),
        (np.full((2, 2, 2), CANARY), np.zeros(2)),
        (ROWS, np.array([f"{CANARY:.0f} euros"] * 20)),
        (np.array([[f"{CANARY:.0f} euros"]] * 20), np.zeros(20)),
        (np.full((20, 1), complex(CANARY, 1)), np.zeros(20)),
        (np.array([[{"pay": CANARY}]] * 20, dtype=object), np.zeros(20)),
        (ROWS, np.full((20, 2), CANARY)),
        (ROWS, np.full(19, CANARY)),
        (np.array([[CANARY], [np.nan]]), np.zeros(2)),
        ([[CANARY], [CANARY, 2]], np.zeros(2)),
        (CANARY, CANARY),
    ],
)
def test_scikit_learn_shows_no_record(ridge: Any, X: Any, y: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(ValueError) as refused:
            ridge.fit(X, y)
    for text in (everything(refused.value), *(str(one.message) for one in told)):
        assert "249" not in text and "e+09" not in text


def test_no_warning_is_about_records(ridge: Any) -> None:
    from indistinct.functions.estimators import PrivateKernelClassifier

    settings = {"budget": Budget(epsilon=1, delta=1e-6), "box": (0, 1), "records": 100, "pairs": 5}
    classifier = PrivateKernelClassifier(classes=range(40), regularization=1.0, **settings)
    numbers = np.geomspace(1e-300, 1e300, 20)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        classifier.fit(ROWS, np.arange(20))  # as many classes as records
        ridge.fit(numbers[:, None], -numbers)
        assert ridge.guarantee().epsilon(delta=1e-6) <= 1 + 1e-9


def test_the_command_has_a_last_resort(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("indistinct.cli.explain", fail)
    assert main(["explain", "gaussian(1)"]) == 1
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err and SWITCH in told.err and told.err.count("\n") == 1
    monkeypatch.setenv(SWITCH, "1")
    with pytest.raises(KeyError, match="HIV"):
        main(["explain", "gaussian(1)"])
