"""Private answers from a real table, with one plan file: run me with `make demo`.

The table comes inside a package that is installed for it (statsmodels): the RAND Health Insurance Experiment,
with up to five years of doctor visits of each of 5,912 people. It is written to out/ beside the plan, and the
plan is run as `indistinct run` does. A second call finds everything released and draws nothing again.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import duckdb

from indistinct.cli import main

HERE, OUT = Path(__file__).parent, Path("out")
TABLE, PLAN = OUT / "randhie.parquet", OUT / "doctor_visits.toml"

found = importlib.util.find_spec("statsmodels")
if found is None or found.origin is None:
    sys.exit('the table comes with statsmodels: pip install "indistinct[demo]"')
OUT.mkdir(exist_ok=True)
if not TABLE.exists():  # an interrupted run is finished only with the very file that it began with
    source = Path(found.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"
    duckdb.read_csv(str(source)).project(
        "zper AS person, xage AS age, mdvis AS visits, coins AS paid_share,"
        " CASE female WHEN 1 THEN 'female' ELSE 'male' END AS sex"
    ).write_parquet(str(TABLE))
shutil.copyfile(HERE / PLAN.name, PLAN)

sys.exit(main(["run", str(PLAN), "--out", str(OUT / "doctor_visits")]))
