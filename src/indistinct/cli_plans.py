"""The commands about plans: `indistinct init`, `indistinct check`, `indistinct run`."""

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from indistinct.errors import ArgumentError, Refused

_WIDE = 20
_EVERY = 0.2


def init(options: argparse.Namespace) -> None:
    """A plan to begin with."""
    from indistinct.plans.starter import starter

    path = Path(options.plan or Path(options.data).with_suffix(".toml"))
    if path.exists():
        raise ArgumentError("plan", str(path), "a file that is not there yet: nothing is overwritten")
    text = starter(options.data, path)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    print(f"A plan to fill in is in {path}; only the names of the columns were read.")
    print(f"Next: indistinct check {path}")


def check(options: argparse.Namespace) -> None:
    """What a plan will be worth."""
    from indistinct.plans import check_plan, read_plan
    from indistinct.plans.batches import fits, looked_up

    plan = read_plan(options.plan)
    with looked_up(plan, _out(options), options.who) as standing:
        if standing is None or standing.account is None:
            print(check_plan(plan))
        else:
            standing.account.journal("checked", {"plan": standing.digest})
            checked = standing.checked()
            print(checked)
            print(f"The ledger has an account for these data. {standing.account}.")
            if standing.charged:
                print(f"Released before, and not charged again: {', '.join(standing.charged)}.")
            if (reason := fits(standing, checked)) is not None:
                raise Refused(standing.account.name, reason)
    print(f"No record was looked at, and nothing was charged. Next: indistinct run {options.plan}")


def run(options: argparse.Namespace) -> None:
    """Results and their report."""
    from indistinct.plans import read_plan, run_plan

    plan = read_plan(options.plan)
    out = _out(options)
    said: list[str] = []
    with progress(sys.stderr) as show:

        def say(line: str) -> None:
            said.append(line)
            show(line)

        report = run_plan(plan, out, say, pdf=True, who=options.who)
    told = [line for line in said if line.startswith(("Warning:", "opened:", "charged:", "complete,"))]
    print("\n".join([*(line[0].upper() + line[1:] for line in told), f"The report is in {report}."]))


def _out(options: argparse.Namespace) -> Path:
    """Where results go."""
    path = Path(options.plan)
    return Path(getattr(options, "out", None) or path.parent / "out" / path.stem)


@contextmanager
def progress(stream: TextIO) -> Iterator["Progress"]:
    """What is being done, on a terminal: a bar that moves while records are read. Elsewhere nothing: what is
    sent to a file or another program is the answer alone."""
    bar = Progress(stream)
    try:
        yield bar
    finally:
        bar.close()


class Progress:
    """Lines that come and go at the bottom of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown = stream, stream.isatty()
        self._line, self._since, self._lock = "", time.monotonic(), threading.Lock()
        self._ended = threading.Event()
        if self._shown:
            self._clock = threading.Thread(target=self._tick, daemon=True)
            self._clock.start()

    def __call__(self, line: str) -> None:
        if not self._shown:
            return
        with self._lock:
            self._line, self._since = line, time.monotonic()
            if not line.startswith("reading "):  # stays; what is read is replaced by the next
                self._stream.write(f"\r\x1b[K{line}\n")
                self._line = ""
        self._draw()

    def close(self) -> None:
        if self._shown:
            self._ended.set()
            self._clock.join()
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _tick(self) -> None:
        while not self._ended.wait(_EVERY):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self._line:
                seconds = time.monotonic() - self._since
                self._stream.write(f"\r\x1b[K{bar(self._line)} {seconds:.0f} s")
            self._stream.flush()


def bar(line: str) -> str:
    """`reading 2/6: ages` as a bar.

    >>> bar("reading 1/2: ages")
    'reading [##########..........] 1/2: ages'
    """
    start, _, rest = line.partition(" ")
    done, _, whole = rest.partition(":")[0].partition("/")
    marks = "#" * (_WIDE * int(done) // int(whole))
    return f"{start} [{marks:.<{_WIDE}}] {rest}"
