"""How long bounded sums take over files larger than the memory they may use, against plain DuckDB.

    .venv/bin/python benchmarks/engines.py            # 1e8 rows, 1 GB
    .venv/bin/python benchmarks/engines.py --quick    # 1e7 rows

Each query runs in a process of its own, so that its peak memory is its own; times are the best of two runs.
The exit status is 1 when a line says FAIL: a histogram slower than 1.5 times DuckDB's own GROUP BY or beyond
300 MiB, five statistics of 32 groups slower than twice DuckDB's own or beyond 500 MiB, CSV slower than 1.5
times DuckDB's own read of declared types, or anything beyond 1 GiB.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from indistinct.data import (
    Bins,
    Categories,
    Count,
    GroupBy,
    Histogram,
    Mean,
    Norm,
    Numbers,
    Quantiles,
    Query,
    Sum,
    UserRecords,
    UserTotals,
    Variance,
    read_csv,
    read_parquet,
)
from indistinct.data.engines.sandbox import Sandbox

MEMORY = "1GB"
GROUP = Categories(list(range(100)))
BINS = Bins(2.5, 97.5, 100)
BIN = "floor((x - 2.5) / 0.95)"
CLIPPED = "least(greatest(x, 0), 90)"
COLUMNS = "{'g': 'INTEGER', 'x': 'DOUBLE', 'u': 'BIGINT', 'd': 'INTEGER'}"
FILES = {
    "rows.parquet": (1, "(hash(i) % 100)::INT AS g, (hash(i + 1) % 100000) / 1000.0::DOUBLE AS x"),
    "users.parquet": (
        2,
        "(hash(i) % 100)::INT AS g, (hash(i + 1) % 100000) / 1000.0::DOUBLE AS x, "
        "(hash(i + 2) % 10000000)::BIGINT AS u",
    ),
    "groups.parquet": (
        1,
        "(hash(i) % 16)::INT AS educ, (hash(i + 1) % 2)::INT AS sex, "
        "(hash(i + 2) % 100000) / 1000.0::DOUBLE AS x",
    ),
    "lines.csv": (
        10,
        "(hash(i) % 100)::INT AS g, (hash(i + 1) % 100000) / 1000.0::DOUBLE AS x, "
        "(hash(i + 2) % 2000000)::BIGINT AS u, (i % 7)::INT AS d",
    ),
}
"""Names, one in how many of the rows they have, and columns."""


@dataclass(frozen=True)
class Case:
    """Queries, the file they are asked of, the same in plain SQL, and how much it may take."""

    queries: tuple[Query, ...]
    file: str
    plain: str
    times: float | None = None
    mebibytes: int = 1024


CASES = {
    "histogram of 100 categories": Case(
        (Histogram({"g": GROUP}),), "rows.parquet", "SELECT g, count(*) FROM {file} GROUP BY g", 1.5, 300
    ),
    "histogram of 100 bins": Case(
        (Histogram({"x": BINS}),),
        "rows.parquet",
        f"SELECT {BIN} AS b, count(*) FROM {{file}} GROUP BY b",
        1.5,
        300,
    ),
    "100 categories by 100 bins": Case(
        (Histogram({"g": GROUP, "x": BINS}),),
        "rows.parquet",
        f"SELECT g, {BIN} AS b, count(*) FROM {{file}} GROUP BY g, b",
        1.5,
        300,
    ),
    "5 statistics of 32 groups": Case(
        tuple(
            GroupBy({"educ": Categories(list(range(16))), "sex": Categories([0, 1])}, query)
            for query in (
                Count(),
                Sum("x", Numbers(0, 90)),
                Mean("x", Numbers(0, 90)),
                Variance("x", Numbers(0, 90)),
                Quantiles("x", Bins(0, 90, 64), [0.5]),
            )
        ),
        "groups.parquet",
        f"SELECT educ, sex, count(*), sum({CLIPPED}), avg({CLIPPED}), var_pop({CLIPPED}), "
        f"approx_quantile({CLIPPED}, 0.5) FROM {{file}} GROUP BY educ, sex",
        2.0,
        500,
    ),
    "clipped sum": Case((Sum("x", Numbers(0, 90)),), "rows.parquet", f"SELECT sum({CLIPPED}) FROM {{file}}"),
    "total of each user, clipped": Case(
        (Sum("x", Numbers(0, 90), UserTotals("u", Norm.L2, 300)),),
        "users.parquet",
        f"SELECT sum(least(t, 300)) FROM (SELECT sum({CLIPPED}) AS t FROM {{file}} GROUP BY u)",
    ),
    "3 records of each user": Case(
        (Histogram({"g": GROUP}, UserRecords("u", 3)),),
        "users.parquet",
        "SELECT g, count(*) FROM (SELECT unnest(arg_min(g, hash(x), 3)) AS g FROM {file} GROUP BY u) "
        "GROUP BY g",
    ),
    "CSV: 100 categories by 100 bins": Case(
        (Histogram({"g": GROUP, "x": BINS}),),
        "lines.csv",
        f"SELECT g, {BIN} AS b, count(*) FROM {{file}} GROUP BY g, b",
        1.5,
    ),
    "CSV: clipped sum": Case(
        (Sum("x", Numbers(0, 90)),), "lines.csv", f"SELECT sum({CLIPPED}) FROM {{file}}", 1.5
    ),
    "CSV: total of each user, clipped": Case(
        (Sum("x", Numbers(0, 90), UserTotals("u", Norm.L2, 300)),),
        "lines.csv",
        f"SELECT sum(least(t, 300)) FROM (SELECT sum({CLIPPED}) AS t FROM {{file}} GROUP BY u)",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1e7 rows")
    parser.add_argument("--only", default="", help="cases whose name has these words")
    parser.add_argument("--one", nargs=3, metavar=("CASE", "WHO", "PATH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    rows = 10**7 if arguments.quick else 10**8
    chosen = {name: case for name, case in CASES.items() if arguments.only in name}
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted({case.file for case in chosen.values()}):
            share, columns = FILES[file]
            size = write(Path(folder, file), rows // share, columns)
            print(f"{file}: {rows // share:,} rows, {size / 2**20:,.0f} MiB")
        print(f"\n{MEMORY} of memory\n{'':34}{'ours':>9}{'plain':>9}{'ratio':>7}{'peak memory':>14}")
        failed = False
        for name, case in chosen.items():
            # By turns, because a shared machine is slower at times.
            runs = [
                tuple(run(name, who, Path(folder, case.file)) for who in ("ours", "plain")) for _ in range(2)
            ]
            ours, plain = (min(pair[side]["seconds"] for pair in runs) for side in (0, 1))
            peak = max(pair[0]["peak"] for pair in runs) / 2**20
            # Below a second or so starting up counts more than counting: the bar is for all rows.
            bad = peak > case.mebibytes or (ours / plain > (case.times or 1e9) and not arguments.quick)
            failed |= bad
            told = f"{ours:8.2f}s{plain:8.2f}s{ours / plain:7.2f}{peak:10,.0f} MiB"
            print(f"{name:34}{told}  {'FAIL' if bad else ''}", flush=True)
    sys.exit(failed)


def write(path: Path, rows: int, columns: str) -> int:
    kind = "csv, HEADER" if path.suffix == ".csv" else "parquet"
    query = f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT {kind})"
    duckdb.connect().execute(query)
    return path.stat().st_size


def run(case: str, who: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", case, who, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(name: str, who: str, path: str) -> dict[str, float]:
    case, lines = CASES[name], path.endswith(".csv")
    table = read_csv(path, memory=MEMORY) if lines else read_parquet(path, memory=MEMORY)
    sandbox = Sandbox(MEMORY, None, files=(path,))
    declared = f"read_csv('{path}', columns = {COLUMNS}, header = true, auto_detect = false)"
    plain = case.plain.format(file=declared if lines else f"'{path}'")
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        if who == "ours":
            table.totals([query.bounded for query in case.queries])
        else:
            try:
                sandbox.connection.sql(plain).fetchall()
            except duckdb.OutOfMemoryException:
                return {"seconds": float("inf"), "peak": 0}
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    main()
