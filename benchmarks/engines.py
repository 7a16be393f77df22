"""How long bounded sums take over a Parquet file larger than the memory they may use, against plain DuckDB.

    .venv/bin/python benchmarks/engines.py            # 1e8 rows, 1 GB for DuckDB
    .venv/bin/python benchmarks/engines.py --quick    # 1e7 rows

Each query runs in a process of its own, so that its peak memory is its own; times are the best of
two times three runs. The exit status is 1 when a line says FAIL: a histogram slower than 1.5 times
DuckDB's own GROUP BY, or anything beyond 2 GiB.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from indistinct.data import (
    Bins,
    BoundedSum,
    Boxed,
    Categories,
    Cells,
    Numbers,
    Records,
    UserRecords,
    read_parquet,
)
from indistinct.data.engines.sandbox import Sandbox

MEMORY = "1GB"
MOST_TIMES, MOST_BYTES = 1.5, 2 * 2**30  # of plain DuckDB for a histogram; of memory for everything
GROUP = Categories(list(range(100)))
BINS = Bins(2.5, 97.5, 100)

CASES = {
    "histogram of 100 categories": (
        BoundedSum(Cells((("g", GROUP),))),
        "SELECT g, count(*) FROM '{path}' GROUP BY g",
    ),
    "histogram of 100 bins": (
        BoundedSum(Cells((("x", BINS),))),
        "SELECT floor((x - 2.5) / 0.95) AS bin, count(*) FROM '{path}' GROUP BY bin",
    ),
    "100 categories by 100 bins": (
        BoundedSum(Cells((("g", GROUP), ("x", BINS)))),
        "SELECT g, floor((x - 2.5) / 0.95) AS bin, count(*) FROM '{path}' GROUP BY g, bin",
    ),
    "clipped sum": (
        BoundedSum(Boxed((("x", Numbers(0, 90)),))),
        "SELECT sum(least(greatest(x, 0), 90)) FROM '{path}'",
    ),
    "100 categories, 3 records a user": (
        BoundedSum(Cells((("g", GROUP),)), UserRecords("u", 3)),
        "SELECT g, count(*) FROM (SELECT g, row_number() OVER (PARTITION BY u ORDER BY hash(x)) AS place "
        "FROM '{path}') WHERE place <= 3 GROUP BY g",
    ),
}
BY_USER = "100 categories, 3 records a user"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1e7 rows")
    parser.add_argument("--one", nargs=3, metavar=("CASE", "WHO", "PATH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    rows = 10**7 if arguments.quick else 10**8
    with tempfile.TemporaryDirectory() as folder:
        path, users = Path(folder) / "rows.parquet", Path(folder) / "users.parquet"
        size = write(path, rows, "(hash(i) % 100)::INT AS g, (hash(i + 1) % 100000) / 1000.0::DOUBLE AS x")
        write(users, rows // 10, "(hash(i) % 100)::INT AS g, hash(i + 1) % 1000003::BIGINT AS x, "
              "(hash(i + 2) % 200000)::BIGINT AS u")  # fmt: skip
        print(f"{rows:,} rows of two columns, {size / 2**20:,.0f} MiB of Parquet, {MEMORY} for DuckDB")
        print(f"(by user: {rows // 10:,} rows of {200_000:,} users)\n")
        print(f"{'':34}{'ours':>9}{'plain':>9}{'ratio':>7}{'peak memory':>14}")
        failed = False
        for case in CASES:
            file = users if case == BY_USER else path
            # By turns, because a shared machine is slower at times.
            runs = [(run(case, "ours", file), run(case, "plain", file)) for _ in range(2)]
            ours, plain = (min(pair[side]["seconds"] for pair in runs) for side in (0, 1))
            peak = max(pair[0]["peak"] for pair in runs)
            # Below a second or so starting up counts more than counting: the bar is for all rows.
            slow = "FAIL" if not bounded_by_bar(case, ours / plain, peak) and not arguments.quick else ""
            failed |= bool(slow)
            print(f"{case:34}{ours:8.2f}s{plain:8.2f}s{ours / plain:7.2f}{peak / 2**20:10,.0f} MiB  {slow}")
    sys.exit(failed)


def bounded_by_bar(case: str, ratio: float, peak: float) -> bool:
    histogram = isinstance(CASES[case][0].unit, Records) and isinstance(CASES[case][0].encoding, Cells)
    return peak < MOST_BYTES and (ratio <= MOST_TIMES or not histogram)


def write(path: Path, rows: int, columns: str) -> int:
    duckdb.connect().execute(
        f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path.stat().st_size


def run(case: str, who: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", case, who, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(case: str, who: str, path: str) -> dict[str, float]:
    bounded, plain = CASES[case]
    table = read_parquet(path, memory=MEMORY)
    sandbox = Sandbox(MEMORY, None, files=(path,))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        if who == "ours":
            table.total(bounded)
        else:
            sandbox.connection.sql(plain.format(path=path)).fetchall()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    main()
