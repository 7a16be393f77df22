"""Accounting side by side: indistinct, dp-accounting, Opacus and autodp on five tasks.

Prints one table (value, time, time relative to indistinct, memory) and then, for each task,
whether indistinct is at least 200 times faster than dp-accounting's PLD accountant at a
tighter or equal value. The exit status is 1 when a line says FAIL.

    .venv-bench/bin/python benchmarks/accounting.py [--quick] [--task NAME] [--timeout SECONDS]

Method: all libraries are imported; then each (task, library) runs in its own process, forked
after the imports, with a cap on its address space and a limit on its time, on one core: where it is moved
between calls, as it tells the parent of each, the next one finds cold caches. "first" is the first
call there, "median" that of up to 15 more (fewer where they would take over half the time
limit). A call makes new objects and does all the work. So that no cache keyed by value helps
anybody, call i multiplies the noise (for the calibration: the sampling rate) by 1 + 1e-12 i;
the value shown is the first call's. "MiB" is the growth of peak resident memory (ru_maxrss)
from fork to end, library pages touched for the first time included. Libraries run with their
defaults: grid 1e-4 for dp-accounting's PLD, an error in epsilon of 0.01 for Opacus' PRV. Opacus'
history is set directly, as its own calibration does. All values: add/remove, Poisson sampling.
"""

import argparse
import functools
import gc
import importlib.metadata
import math
import multiprocessing
import operator
import os
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

OURS, RIVAL = "indistinct", "dp-accounting PLD"
BAR = 200  # times faster than the rival, on every task
ROUNDING = 1e-9  # relative; values nearer than this are equal
BELIEVABLE = 0.999  # the rival is within 0.03 % of the truth here; far below it is wrong
STEADY_MIB = 2  # growth of memory with the steps that still counts as none


@dataclass(frozen=True)
class Run:
    """``steps`` steps of the Gaussian mechanism with noise ``scale``, sampled at ``rate``."""

    scale: float
    rate: float
    steps: int


@dataclass(frozen=True)
class Task:
    """What to compute: epsilon of ``runs`` at each delta, or the scale that meets ``target``."""

    title: str
    runs: tuple[Run, ...]
    deltas: tuple[float, ...] = (1e-5,)
    shown: int = 0  # which of the values the table prints
    target: float | None = None  # an epsilon; then the scale of the only run is sought

    def varied(self, call: int) -> "Task":
        """The same task, different in its last digits."""
        name = "scale" if self.target is None else "rate"
        factor = 1 + 1e-12 * call
        runs = [replace(run, **{name: getattr(run, name) * factor}) for run in self.runs]
        return replace(self, runs=tuple(runs))


TASKS = {
    "mnist": Task("14,062 steps, q=256/60000, σ=1.1: ε", (Run(1.1, 256 / 60000, 14_062),)),
    "long": Task("the same, 10,000,000 steps: ε", (Run(1.1, 256 / 60000, 10_000_000),)),
    "distinct": Task(
        "100 distinct σ in [1, 2.98], q=0.01, 100 steps each: ε",
        tuple(Run(1 + i / 50, 0.01, 100) for i in range(100)),
    ),
    "curve": Task(
        "ε at 100 values of δ (shown: the 51st), q=0.003, σ=0.6, 10,000 steps",
        (Run(0.6, 0.003, 10_000),),
        deltas=tuple(np.geomspace(1e-10, 1e-2, 100).tolist()),
        shown=50,
    ),
    "calibrate": Task("σ for ε=1, q=0.01, 10,000 steps", (Run(math.nan, 0.01, 10_000),), target=1),
}


@dataclass(frozen=True)
class Solver:
    """How a library solves a Task; each function below imports one library and returns this."""

    epsilons: Callable[[tuple[Run, ...], tuple[float, ...]], Iterable[float]]
    calibrate: Callable[[Run, float, float], float]

    def __call__(self, task: Task) -> Iterable[float]:
        if task.target is None:
            return self.epsilons(task.runs, task.deltas)
        (run,), (delta,) = task.runs, task.deltas
        return [self.calibrate(run, task.target, delta)]


def indistinct() -> Solver:
    from indistinct import Budget, Gaussian, calibrate

    def mechanism(run, scale):
        return run.steps * Gaussian(scale=scale, sensitivity=1).subsample(run.rate)

    def epsilons(runs, deltas):
        composed = functools.reduce(operator.add, (mechanism(run, run.scale) for run in runs))
        guarantee = composed.guarantee()
        many = len(deltas) > 1
        return np.atleast_1d(guarantee.epsilon(delta=np.array(deltas) if many else deltas[0]))

    def calibrated_scale(run, epsilon, delta):
        return calibrate(lambda s: mechanism(run, s), Budget(epsilon=epsilon, delta=delta)).parameter

    return Solver(epsilons, calibrated_scale)


def dp_accounting(kind: str) -> Solver:
    import dp_accounting as dp

    accountant = {"PLD": dp.pld.PLDAccountant, "RDP": dp.rdp.RdpAccountant}[kind]

    def event(run, scale):
        return dp.PoissonSampledDpEvent(run.rate, dp.GaussianDpEvent(scale))

    def epsilons(runs, deltas):
        composed = accountant()
        for run in runs:
            composed.compose(event(run, run.scale), run.steps)
        return [composed.get_epsilon(delta) for delta in deltas]

    def calibrate(run, epsilon, delta):
        return dp.calibrate_dp_mechanism(
            accountant, lambda s: dp.SelfComposedDpEvent(event(run, s), run.steps), epsilon, delta
        )

    return Solver(epsilons, calibrate)


def opacus(mechanism: str) -> Solver:
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    def epsilons(runs, deltas):
        accountant = create_accountant(mechanism)
        accountant.history = [(run.scale, run.rate, run.steps) for run in runs]
        return [accountant.get_epsilon(delta) for delta in deltas]

    def calibrate(run, epsilon, delta):
        target = {"target_epsilon": epsilon, "target_delta": delta, "accountant": mechanism}
        return get_noise_multiplier(sample_rate=run.rate, steps=run.steps, **target)

    return Solver(epsilons, calibrate)


def autodp() -> Solver:
    from autodp.calibrator_zoo import eps_delta_calibrator
    from autodp.mechanism_zoo import GaussianMechanism
    from autodp.transformer_zoo import AmplificationBySampling, Composition

    def composed(runs):
        sample = AmplificationBySampling(PoissonSampling=True)
        bases = [(GaussianMechanism(sigma=run.scale), run.rate) for run in runs]
        sampled = [sample(*base, improved_bound_flag=True) for base in bases]
        return Composition()(sampled, [run.steps for run in runs])

    def epsilons(runs, deltas):
        mechanism = composed(runs)
        return [mechanism.get_approxDP(delta) for delta in deltas]

    def calibrate(run, epsilon, delta):
        tried = []  # the last one makes the result; autodp itself does not keep its noise

        def family(scale):
            tried.append(scale)
            return composed([replace(run, scale=scale)])

        eps_delta_calibrator()(family, epsilon, delta, bounds=(0.5, 50))
        return tried[-1]

    return Solver(epsilons, calibrate)


LIBRARIES: dict[str, Callable[[], Solver]] = {
    OURS: indistinct,
    RIVAL: functools.partial(dp_accounting, "PLD"),
    "dp-accounting RDP": functools.partial(dp_accounting, "RDP"),
    "Opacus PRV": functools.partial(opacus, "prv"),
    "Opacus RDP": functools.partial(opacus, "rdp"),
    "autodp RDP": autodp,
}


def loaded(names: list[str]) -> dict[str, Solver | str]:
    """Each library's solver, or why there is none."""
    solvers = {}
    for name in names:
        try:
            solvers[name] = LIBRARIES[name]()
        except ImportError as error:
            solvers[name] = f"not importable: {error}"
    return solvers


@dataclass
class Cell:
    """One measured (task, library): what the forked process managed to report."""

    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # the first call, then the others
    mib: float = math.nan
    note: str = ""

    @property
    def usual(self) -> float:  # without the first call, unless that is all there is
        return statistics.median(self.seconds[1:] or self.seconds or [math.nan])


def work(solver: Solver, task: Task, limits: argparse.Namespace, pipe) -> None:
    """In the forked process: solve the task again and again, report after each call."""
    Path("/proc/self/oom_score_adj").write_text("1000")  # should memory end, end this process
    resource.setrlimit(resource.RLIMIT_AS, (int(limits.memory * 2**30),) * 2)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cell, before = Cell(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        for call in range(16):
            share = 0.9 if call == 1 else 0.5  # a second call if at all possible
            if call and sum(cell.seconds) + max(cell.seconds) > share * limits.timeout:
                break
            varied = task.varied(call)
            gc.collect()
            start = time.perf_counter()
            values = solver(varied)
            cell.seconds.append(time.perf_counter() - start)
            cell.values = cell.values or [float(value) for value in values]
            cell.mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            pipe.send(cell)
    except MemoryError:
        cell.note = f"out of memory (cap {limits.memory:g} GiB)"
    except Exception as error:  # whatever a library raises belongs in its row
        cell.note = f"fails: {type(error).__name__}: {error}".splitlines()[0]
    pipe.send(cell)


def measured(solver: Solver | str, task: Task, limits: argparse.Namespace) -> Cell:
    """Run one cell in a process forked from this one."""
    if isinstance(solver, str):
        return Cell(note=solver)
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    process = fork.Process(target=work, args=(solver, task, limits, send))
    process.start()
    send.close()
    cell, deadline = Cell(), time.monotonic() + limits.timeout
    try:
        while receive.poll(max(0.0, deadline - time.monotonic())):
            cell = receive.recv()
        cell.note = "" if cell.seconds else f"no answer in {limits.timeout:g} s"
        process.kill()
    except EOFError:  # the process has ended
        process.join()
        if process.exitcode:
            cell.note = f"process ended with status {process.exitcode}"
    process.join()
    return cell


COLUMNS = "{:<10} {:<18} {:>12} {:>11} {:>11} {:>5} {:>9} {:>8}  {}"
NAMES = ("task", "library", "value", "median ms", "first ms", "calls", "ratio", "MiB", "note")


def number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def row(name: str, library: str, cell: Cell, ours: Cell) -> str:
    value = cell.values[TASKS[name].shown] if cell.values else math.nan
    first, *_ = cell.seconds or [math.nan]
    times = [number(seconds * 1e3, ",.3f") for seconds in (cell.usual, first)]
    ratio, mib = number(cell.usual / ours.usual, ",.1f"), number(cell.mib, ",.1f")
    cells = [number(value, ".6f"), *times, len(cell.seconds), ratio, mib, cell.note[:60]]
    return COLUMNS.format(name, library, *cells).rstrip()


def compared(name: str, cells: dict[str, Cell]) -> tuple[bool, str]:
    """Whether we are faster by the bar, and nowhere looser, than dp-accounting's PLD."""
    ours, rival = cells[OURS], cells[RIVAL]
    if not (ours.seconds and rival.seconds):
        return False, f"{name}: nothing to compare ({ours.note or rival.note})"
    ratio = rival.usual / ours.usual
    relative = np.array(ours.values) / np.array(rival.values)
    tighter = BELIEVABLE <= relative.min() and relative.max() <= 1 + ROUNDING
    what = "ε" if TASKS[name].target is None else "σ"
    text = f"{name}: {OURS} is {ratio:,.0f}x faster than {RIVAL} (bar {BAR}x), "
    text += f"{what} tighter or equal: {'yes' if tighter else 'no'}"
    return bool(ratio >= BAR and tighter), text


def steady(short: Cell, long: Cell) -> tuple[bool, str]:
    """Whether 700 times the steps need no more memory."""
    text = f"memory of {OURS} does not grow with the steps: "
    text += f"{short.mib:.1f} MiB for 14,062, {long.mib:.1f} MiB for 10,000,000"
    return long.mib <= short.mib + STEADY_MIB, text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"only {OURS} and {RIVAL}")
    parser.add_argument("--task", choices=TASKS, help="only this task")
    parser.add_argument("--timeout", type=float, default=60, help="seconds per cell (60)")
    parser.add_argument("--memory", type=float, default=20, help="address space, GiB (20)")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    names = [options.task] if options.task else list(TASKS)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    solvers = loaded([OURS, RIVAL] if options.quick else list(LIBRARIES))
    gc.freeze()  # what the imports left is no burden to any library's calls
    packages = ("numpy", "scipy", "dp-accounting", "opacus", "torch", "autodp")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"Python {sys.version.split()[0]}, {multiprocessing.cpu_count()} cores, {versions}\n")
    print(*(f"{name}: {TASKS[name].title}" for name in names), sep="\n")
    print("\n" + COLUMNS.format(*NAMES))
    table: dict[str, dict[str, Cell]] = {name: {} for name in names}
    for name, cells in table.items():
        for library, solver in solvers.items():
            cells[library] = measured(solver, TASKS[name], options)
            print(row(name, library, cells[library], cells[OURS]), flush=True)
    print()
    verdicts = [compared(name, table[name]) for name in names]
    if {"mnist", "long"} <= table.keys():
        verdicts.append(steady(table["mnist"][OURS], table["long"][OURS]))
    for passed, text in verdicts:
        print(f"{'PASS' if passed else 'FAIL'}: {text}")
    print(f"\n{time.monotonic() - started:.0f} s in all")
    return 0 if all(passed for passed, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
